Feature: Agents on duty

  @B-daemon-start
  Scenario: A role without a trigger is no daemon
    Given a role
    When I run `rondo daemon role.yaml --listen 127.0.0.1:0`
    Then the exit code is 2
    And stderr mentions "no role has a trigger that works"

  @B-daemon-triggers
  Scenario: A changed file starts one run, and what it comes from stays in its journal
    Given a file "turns.jsonl" with
      """
      {"text":"done"}
      """
    And a file "inbox/first.txt" with
      """
      hello
      """
    And a role with
      """
      model: {provider: scripted, name: turns.jsonl}
      triggers:
        - {type: file_watch, paths: [inbox], debounce_seconds: 0.1}
      """
    And a daemon of `role.yaml`
    And the source of type "file_watch" is soon on duty
    When I write "inbox/second.txt"
    Then 1 run of "worker" soon is "completed"
    When I run `rondo logs last --json`
    Then stdout mentions "\"kind\":\"file_watch\""

  @B-daemon-troubleshooting
  Scenario: A trigger that cannot work is named, and the others work
    Given a role with
      """
      triggers:
        - {type: discord}
        - {type: cron, schedule: "0 0 29 2 *", prompt: leap}
      """
    And a daemon of `role.yaml`
    Then the server says "is left out: it needs a connection by WebSocket"
    And the source of type "cron" is soon on duty

  @hold
  Scenario: A role that an agent put into the folder of a daemon is on duty only when a person has confirmed it
    Given a file "roles/one.yaml" with
      """
      apiVersion: initrunner/v1
      kind: Agent
      metadata: {name: one}
      spec:
        role: You test.
        model: {provider: scripted, name: turns.jsonl}
        triggers: [{type: cron, schedule: "0 0 29 2 *", prompt: leap}]
      """
    And a daemon of `roles`
    When I run `sed 's/name: one/name: two/; s/type: cron, schedule: "0 0 29 2 [*]", prompt: leap/type: heartbeat, file: x.md, interval_seconds: 86400/' roles/one.yaml >roles/two.yaml`
    Then the server says "roles/two.yaml is not confirmed"
    When I run `rondo trust --yes roles/two.yaml`
    Then the exit code is 0
    And the source of type "heartbeat" is soon on duty

  @B-daemon-signals
  Scenario: A daemon ends in good order, and the next one continues
    Given a role with
      """
      triggers: [{type: cron, schedule: "0 0 29 2 *", prompt: leap}]
      """
    And a daemon of `role.yaml`
    When I end the server with TERM
    Then the server ended with 0
    When the daemon starts again
    Then the source of type "cron" is soon on duty
