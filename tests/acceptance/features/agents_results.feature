Feature: Results of agents go to the sinks of their roles

  Background:
    Given a file "turns.jsonl" with
      """
      {"text":"all is well"}
      """

  @B-sinks
  Scenario: A run without a server writes its result to a file
    Given a role with
      """
      model: {provider: scripted, name: turns.jsonl}
      sinks: [{type: file, path: ./logs/results.json}, {type: file, path: all.log, format: text}]
      """
    When I run `rondo run role.yaml -p check`
    Then the exit code is 0
    When I run `cat logs/results.json all.log`
    Then stdout mentions "\"prompt\":\"check\",\"output\":\"all is well\",\"success\":true"
    And stdout mentions "worker | OK | all is well"

  @B-sinks @serve
  Scenario: A result that its sink does not take now is delivered by a server later
    Given somebody who listens at an address
    And the variable "RESULTS" is that address
    And the listener answers 503 once
    And a role with
      """
      model: {provider: scripted, name: turns.jsonl}
      execution: {allow_hosts: [127.0.0.1]}
      sinks: [{type: webhook, url: "${RESULTS}/x", headers: {X-From: worker}}]
      """
    When I run `rondo run role.yaml -p check`
    Then the exit code is 0
    And stderr mentions "the result waits for 1 sink"
    When I run `rondo sinks deliveries`
    Then stdout mentions "worker/webhook-0"
    And a server
    And somebody gets a result with
      | agent_name | worker      |
      | output     | all is well |
      | status     | completed   |

  @B-sinks
  Scenario: A command is named, and runs only as somebody has added it
    Given a role with
      """
      model: {provider: scripted, name: turns.jsonl}
      sinks: [{type: command, name: keep}]
      """
    When I run `rondo run role.yaml -p check`
    And I run `rondo sinks deliveries --dead`
    Then stdout mentions "no command sink keep"
    And I run `rondo sinks add keep --command --agents nobody -- true`
    And I run `rondo run role.yaml -p check`
    And I run `rondo sinks deliveries`
    Then stdout does not mention "worker/command-0"

  @B-sinks
  Scenario: What was not sent before a kill is sent by the next daemon
    Given a file "inbox/first.txt" with
      """
      hello
      """
    And a role with
      """
      model: {provider: scripted, name: turns.jsonl}
      triggers: [{type: file_watch, paths: [inbox], debounce_seconds: 0.1}]
      sinks: [{type: file, path: results.json}]
      """
    And a daemon of `role.yaml`
    And the source of type "file_watch" is soon on duty
    When I write "inbox/second.txt"
    Then 1 run of "worker" soon is "completed"
    When I end the server with KILL
    And the daemon starts again
    And the file "results.json" appears
    And I run `cat results.json`
    Then stdout mentions "\"trigger_type\":\"file_watch\""
