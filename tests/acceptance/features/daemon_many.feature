@serve
Feature: Several daemons with one role on one store

  Scenario Outline: Each beat starts one run, also when one of two daemons is killed (<store>)
    Given <store>
    And a file "turns.jsonl" with
      """
      {"text":"done"}
      """
    And a file "todo.md" with
      """
      - [ ] look
      """
    And a role with
      """
      model: {provider: scripted, name: turns.jsonl}
      triggers:
        - {type: heartbeat, file: todo.md, interval_seconds: 1}
      """
    And a daemon of `role.yaml`
    And I am on machine <second>
    And a daemon of `role.yaml --listen 127.0.0.1:0`
    Then at least 3 runs of "worker" are soon "completed"
    When I kill it with KILL
    Then at least 6 runs of "worker" are soon "completed"
    And each run of "worker" has another time

    @postgres
    Examples:
      | store              | second |
      | a PostgreSQL store | 2      |

    Examples:
      | store            | second |
      | a store in a file | 1      |

  Scenario Outline: A webhook that comes to two daemons starts one run (<store>)
    Given <store>
    And a file "turns.jsonl" with
      """
      {"text":"done"}
      """
    And the variable "HOOK" is "sesame"
    And a role with
      """
      model: {provider: scripted, name: turns.jsonl}
      triggers:
        - {type: webhook, name: push, port: 0, secret: "${HOOK}"}
      """
    And a daemon of `role.yaml`
    When GitHub delivers "d-1" to "/hooks/push", signed with "sesame"
      """
      {"number":1}
      """
    And I am on machine <second>
    And a daemon of `role.yaml --listen 127.0.0.1:0`
    And GitHub delivers "d-1" to "/hooks/push", signed with "sesame"
      """
      {"number":1}
      """
    Then the answer is 202 and names the same run
    And 1 run of "worker" soon is "completed"

    @postgres
    Examples:
      | store              | second |
      | a PostgreSQL store | 2      |

    Examples:
      | store            | second |
      | a store in a file | 1      |
