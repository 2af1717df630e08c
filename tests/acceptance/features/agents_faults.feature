Feature: Agents outlive what goes wrong around them

  # ---- Models ----

  @B-model-fallback
  Scenario: Another model takes over when the role's own fails
    Given a role with
      """
      model: {provider: scripted, name: own.jsonl, fallback: ["scripted:other.jsonl"]}
      """
    And a file "own.jsonl" with
      """
      {"error": "overloaded", "message": "busy", "forever": true}
      """
    And a file "other.jsonl" with
      """
      {"text": "I am here.", "expect": {"last_contains": "Are you"}}
      """
    When I run `rondo run role.yaml -p 'Are you there?'`
    Then the exit code is 0
    And stdout is exactly "I am here."
    When I run `rondo logs last --json`
    Then stdout mentions "model_fallback"
    And stdout mentions "scripted:other.jsonl"

  Scenario: A limit of rate is waited out as long as the server asks
    Given a role
    And a model that answers
      | calls                           | faults      |
      | finish_task {"summary": "done"} | 429 after 1 |
    When I run `rondo run role.yaml -p x -a`
    Then the exit code is 0
    And the model was asked 2 times
    And the run took at least 1000 milliseconds
    And a repeated request had the same body and the same idempotency key
    And the journal has an event "model.retrying" with
      | attempt | 1 |
    And stderr mentions "next attempt"

  Scenario Outline: A request that fails with <fault> is sent again, and only that request
    Given a command "note" in the project
      """
      echo "$*" >>notes
      """
    And a role with
      """
      tools: [{type: shell, require_confirmation: false}]
      """
    And a model that answers
      | calls                               | faults  |
      | run_shell {"command": "./note one"} |         |
      | finish_task {"summary": "done"}     | <fault> |
    When I run `rondo run role.yaml -p x -a`
    Then the exit code is 0
    And the model was asked 3 times
    And the file "notes" has the lines "one"
    And a repeated request had the same body and the same idempotency key

    Examples:
      | fault |
      | 429   |
      | 500   |
      | 503   |
      | close |
      | cut   |

  Scenario: Errors without end are given up, and the run can be resumed
    Given a role with
      """
      guardrails: {timeout_seconds: 3}
      """
    And a model that answers
      | calls                           | faults                       |
      | finish_task {"summary": "done"} | 500, 500, 500, 500, 500, 500 |
    When I run `rondo run role.yaml -p x -a`
    Then the exit code is 1
    And stdout mentions "Status: error"
    And the run took less than 60 seconds

  Scenario Outline: What a model must not answer is an error with a reason: <fault>
    Given a role
    And a model that answers
      | says | faults                                      |
      | no   | <fault>, <fault>, <fault>, <fault>, <fault> |
    When I run `rondo run role.yaml -p x -a`
    Then the exit code is 1
    And stdout mentions "Status: error"
    And stderr or stdout mentions "<text>"

    Examples:
      | fault        | text            |
      | malformed    | JSON            |
      | content_type | Model API error |
      | 401          | key             |
      | 404          | Model API error |

  Scenario: A reply of 50 MB is refused, and takes no memory for it
    Given a role with
      """
      guardrails: {timeout_seconds: 20}
      """
    And a model that answers
      | says | faults           |
      | no   | huge, huge, huge |
    When I run `rondo run role.yaml -p x -a`
    Then the exit code is 1
    And stdout mentions "Status: error"
    And stderr or stdout mentions "Model API error"

  Scenario: A reply that stalls is given up when timeout_seconds are over
    Given a role with
      """
      guardrails: {timeout_seconds: 1}
      """
    And a model that answers
      | says                           | faults |
      | a long answer that never comes | stall  |
    When I run `rondo run role.yaml -p x -a`
    Then the exit code is 1
    And stderr or stdout mentions "TimeoutError"
    And the run took less than 60 seconds

  Scenario Outline: The time limit of the run holds for a request under way: <faults>
    Given a role
    And a model that answers
      | says              | faults   |
      | never heard of it | <faults> |
    When I run `rondo run role.yaml -p x --time-limit 5s`
    Then the exit code is 8
    And stderr mentions "the time limit of the run, 5.0 s"
    And the model was asked 1 times
    And the run took less than 60 seconds

    Examples:
      | faults      |
      | stall       |
      | 429 after 5 |

  Scenario: An answer of nothing is none
    Given a role
    And a model that answers
      | says |
      | \\n |
    When I run `rondo run role.yaml -p x`
    Then the exit code is 3
    And stderr mentions "the reply has no text and no calls"

  Scenario: Tokens of a failed iteration count
    Given a role with
      """
      tools: [{type: think}]
      guardrails: {max_tool_calls: 1}
      """
    And a model that answers
      | calls                  | tokens |
      | think {"thought": "a"} | 100/10 |
      | think {"thought": "b"} | 200/20 |
    When I run `rondo run role.yaml -p x -a --json`
    Then the exit code is 1
    And the last line of stdout has
      | tokens | 330 |

  # ---- Crashes ----

  Scenario: After kill -9 while the model thinks, the run goes on, and no answer is paid for twice
    Given a command "note" in the project
      """
      echo "$*" >>notes
      """
    And a role with
      """
      tools: [{type: shell, require_confirmation: false}]
      """
    And a model that calls "run_shell" with {"command": "./note turn {turn}"} in 6 iterations, and hangs in turn 6
    When I start `rondo run role.yaml -p 'The task' -a`
    And the model has been asked 6 times
    And I kill it with KILL
    And I run `rondo runs`
    Then stdout mentions "interrupted"
    When I run `rondo resume last`
    Then the exit code is 0
    And iterations 1 to 6 finished once each
    And the model server has answered each turn at most once
    And a repeated request had the same body and the same idempotency key
    And each call of a tool has one result
    And the file "notes" has no line twice

  Scenario: After kill -9 during a call, the call is in doubt, and is not repeated on a guess
    Given a command "hold" in the project
      """
      echo once >>notes
      touch holding
      while [ ! -e go ]; do sleep 0.02; done
      """
    And a role with
      """
      tools: [{type: shell, require_confirmation: false}]
      """
    And a model that answers
      | calls                           |
      | run_shell {"command": "./hold"} |
      | finish_task {"summary": "done"} |
    When I start `rondo run role.yaml -p x -a`
    And the file "holding" appears
    And I kill it with KILL
    Then soon no process of "hold" is left
    When I run `rondo run --resume last`
    Then the exit code is 0
    And the file "notes" has the lines "once"
    And the call of "run_shell" in turn 1 ended as in_doubt, saying "It is not known whether it took effect"
    And the model server has answered each turn at most once

  @B-tools-delegate
  Scenario: After kill -9 while another agent works, its run continues with the one that gave it away
    Given a command "hold" in the project
      """
      echo once >>notes
      touch holding
      while [ ! -e go ]; do sleep 0.02; done
      """
    And a file "helper.yaml" with
      """
      apiVersion: initrunner/v1
      kind: Agent
      metadata: {name: helper}
      spec:
        role: You help.
        model: {provider: scripted, name: helper.jsonl}
        tools: [{type: shell, require_confirmation: false}]
      """
    And a file "helper.jsonl" with
      """
      {"tool_calls": [{"name": "run_shell", "arguments": {"command": "./hold"}}]}
      {"text": "I looked.", "expect": {"last_contains": "It is not known whether it took effect"}}
      """
    And a role with
      """
      tools: [{type: delegate, agents: [{name: helper, role_file: helper.yaml}]}]
      """
    And a model that answers
      | calls                                |
      | delegate_to_helper {"prompt": "Look"} |
      | finish_task {"summary": "done"}      |
    When I start `rondo run role.yaml -p x -a`
    And the file "holding" appears
    And I kill it with KILL
    Then soon no process of "hold" is left
    When I run `rondo resume last`
    Then the exit code is 0
    And the file "notes" has the lines "once"
    And the last message of request 2 is
      """
      I looked.
      """
    And the model server has answered each turn at most once
    When I run `rondo runs --agent helper | grep -c completed`
    Then stdout is exactly "1"

  @B-config-compaction
  Scenario: After kill -9 while a model summarises, it is not asked a second time
    Given a role with
      """
      tools: [{type: think}]
      autonomy:
        max_no_tool_call_iterations: 9
        compaction: {enabled: true, threshold: 5, tail_messages: 2, model_override: "scripted:summary.jsonl"}
      """
    And a file "summary.jsonl" with
      """
      {"text": "It was summarised.", "delay_ms": 600000, "forever": true}
      """
    And a file "wait.sh" with
      """
      until rondo logs last --json 2>/dev/null | grep -q history.compacting; do sleep 0.05; done
      """
    And a model that answers
      | says | calls                           |
      |      | think {"thought": "a"}          |
      | b    |                                 |
      | c    |                                 |
      |      | finish_task {"summary": "done"} |
    When I start `rondo run role.yaml -p x -a`
    And I run `sh wait.sh`
    Then the exit code is 0
    When I kill it with KILL
    And I run `rondo resume last`
    Then the exit code is 0
    When I run `rondo logs last --json | grep -c history.compacting`
    Then stdout is exactly "1"
    When I run `rondo logs last --json | grep history.compacted`
    Then stdout mentions "interrupted"

  Scenario: Ctrl-C stops a run, which can be resumed
    Given a role with
      """
      tools: [{type: think}]
      """
    And a model that calls "think" with {"thought": "{turn}"} in 4 iterations, and hangs in turn 3
    When I start `rondo run role.yaml -p x -a`
    And the model has been asked 3 times
    And I send it INT
    And it has ended
    Then the exit code is 130
    When I run `rondo run --resume last`
    Then the exit code is 0
    And the model server has answered each turn at most once

  Scenario: Another process stops an agent's run
    Given a role
    And a model that calls "think" with {"thought": "{turn}"} in 4 iterations, and hangs in turn 2
    When I start `rondo run role.yaml -p x -a`
    And the model has been asked 2 times
    And I run `rondo stop last`
    And it has ended
    Then the exit code is 130
    When I run `rondo runs`
    Then stdout mentions "cancelled"
    When I run `rondo resume last`
    Then the exit code is 0
    And the model server has answered each turn at most once

  Scenario: A run that is executed is not executed a second time
    Given a role
    And a model that calls "think" with {"thought": "{turn}"} in 4 iterations, and hangs in turn 1
    When I start `rondo run role.yaml -p x -a`
    And the model has been asked 1 time
    And I run `rondo run --resume last`
    Then the exit code is 9

  # ---- Tools ----

  Scenario: An MCP server that dies is started again for the next call
    Given the security scanner of the tests is at "scanner"
    And a file "src/config" with
      """
      user=me
      """
    And a file "scanner-mode" with
      """
      die
      """
    And a role with
      """
      tools:
        - {type: shell, require_confirmation: false}
        - {type: mcp, command: ./scanner}
      """
    And a model that answers
      | calls                               |
      | scan {"path": "src"}                |
      | run_shell {"command": "cp src/config scanner-mode"} |
      | scan {"path": "src"}                |
      | finish_task {"summary": "done"}     |
    When I run `rondo run role.yaml -p x -a`
    Then the exit code is 0
    And the call of "scan" in turn 1 ended as error, saying "Error:"
    And the call of "scan" in turn 3 ended as ok, saying "no vulnerabilities"
    And the scanner was started 2 times

  Scenario: A command that takes too long is ended, and the agent goes on
    Given a role with
      """
      tools: [{type: shell, require_confirmation: false, timeout_seconds: 1}]
      """
    And a model that answers
      | calls                              |
      | run_shell {"command": "sleep 305"} |
      | finish_task {"summary": "done"}    |
    When I run `rondo run role.yaml -p x -a`
    Then the exit code is 0
    And the last message of request 2 mentions "timed out after 1s"
    And no process of "sleep 305" is left

  Scenario: The output of a tool is bounded
    Given a command "flood" in the project
      """
      head -c 300000 /dev/zero | tr '\\0' a
      """
    And a role with
      """
      tools: [{type: shell, require_confirmation: false, max_output_bytes: 1000}]
      """
    And a model that answers
      | calls                            |
      | run_shell {"command": "./flood"} |
      | finish_task {"summary": "done"}  |
    When I run `rondo run role.yaml -p x -a`
    Then the exit code is 0
    And the last message of request 2 mentions "[truncated]"
    And the last message of request 2 has at most 1100 characters
