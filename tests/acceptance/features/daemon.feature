@serve
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

  @B-daemon-signals
  Scenario: What ends before the deadline is finished, and the rest is parked for the next daemon
    Given a command "wait-for-go" in the project
      """
      touch began
      while ! test -e go; do sleep 0.05; done
      """
    And a role with
      """
      tools: [{type: shell, require_confirmation: false}]
      triggers:
        - {type: webhook, port: 0, unsigned: true}
        - {type: webhook, name: other, path: /other, port: 0, unsigned: true}
      """
    And a model that answers
      | says      | calls                                  | faults        |
      |           | run_shell {"command": "./wait-for-go"} |               |
      | Quick.    |                                        |               |
      | At last.  |                                        | stall_headers |
    And a daemon of `role.yaml --drain 60s`
    When GitHub delivers "a" to "/hooks/worker", signed with "x"
      """
      {}
      """
    And the file "began" appears
    And I send the server TERM
    Then the server says "shutting down"
    When I write "go"
    Then the server has ended with 0
    When I run `rondo runs --json`
    Then stdout mentions "\"status\":\"completed\""
    Given a daemon of `role.yaml --drain 1s`
    # The stand-in for the model tells a new turn from a repeated one by what it is sent.
    When GitHub delivers "b" to "/hooks/other", signed with "x"
      """
      {"another": "event"}
      """
    And the model has been asked 3 times
    And I end the server with TERM
    Then the server ended with 0
    When the daemon starts again
    Then 2 runs of "worker" soon are "completed"
    And the model was asked 4 times

  @B-daemon-start
  Scenario: The role files of a folder are validated together
    Given a file "roles/good.yaml" with
      """
      apiVersion: initrunner/v1
      kind: Agent
      metadata: {name: good}
      spec:
        role: You test.
        model: {provider: openai, name: gpt-5-mini}
      """
    And a file "roles/notes.txt" with
      """
      no role
      """
    When I run `rondo validate roles`
    Then the exit code is 0
    When I run `sed 's/name: good/name: B/' roles/good.yaml >roles/bad.yml`
    And I run `rondo validate roles`
    Then the exit code is 1
    And stdout mentions "good: valid"
    And stdout mentions "2 role files: 1 valid, 1 not"
    And stderr mentions "roles/bad.yml"
    When I run `rondo validate roles --json`
    Then the exit code is 1
    And stdout mentions "\"ok\":true,\"file\":\"roles/good.yaml\""
    When I run `mkdir empty && rondo validate empty`
    Then the exit code is 2
    And stderr mentions "empty has no role files"

  @B-daemon-queue
  Scenario: The queue says which events wait for a daemon that has their role
    Given a role with
      """
      daemon: {max_running: 1}
      triggers: [{type: webhook, port: 0, unsigned: true}]
      """
    And a model that answers
      | says | faults        |
      | One. | stall_headers |
      | Two. |               |
    And a daemon of `role.yaml`
    When GitHub delivers "a" to "/hooks/worker", signed with "x"
      """
      {}
      """
    And the model has been asked 1 times
    And GitHub delivers "b" to "/hooks/worker", signed with "x"
      """
      {}
      """
    And I run `rondo queue`
    Then stdout mentions "waits for its turn"
    When I end the server with KILL
    And I run `rondo queue`
    Then stdout mentions "no daemon has the role on duty"
    When I run `rondo queue --json`
    Then stdout mentions "\"on_duty\":false"
    When the daemon starts again
    Then 2 runs of "worker" soon are "completed"
    When I run `rondo queue`
    Then stderr mentions "nothing waits"
