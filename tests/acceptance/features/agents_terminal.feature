Feature: Agents on a terminal

  Background:
    Given a command "note" in the project
      """
      echo "$*" >>notes
      """

  Scenario: A person sees the plan, the tools, each iteration and the end
    Given a role with
      """
      tools: [{type: shell, require_confirmation: false}]
      """
    And a model that answers
      | says               | calls                                                                                              | tokens |
      |                    | update_plan {"steps": [{"description": "Dig", "status": "completed"}, {"description": "Fill"}]} | 10/10  |
      |                    | run_shell {"command": "./note one"}                                                                | 10/10  |
      | It is **half** done. |                                                                                                  | 10/10  |
      |                    | finish_task {"summary": "All is dug"}                                                              | 10/10  |
    When I run `rondo run role.yaml -p x -a` on a terminal
    Then the exit code is 0
    And the terminal shows "Autonomous mode — agent: worker"
    And the terminal shows "[x] Dig"
    And the terminal shows "[ ] Fill"
    And the terminal shows "tool run_shell: ok"
    And the terminal shows "Agent (iteration 1/10)"
    And the terminal shows "It is half done."
    And the terminal shows "tokens: 30in/30out"
    And the terminal shows "Autonomous Run Complete"
    And the terminal shows "Status: completed | Iterations: 2/10 | Tokens: 80"
    And request 1 has the setting "stream" true

  Scenario: Without a terminal nothing is streamed
    Given a role
    And a model that answers
      | says |
      | yes  |
    When I run `rondo run role.yaml -p x`
    Then request 1 is not streamed

  Scenario Outline: A person who is asked and says <answer>
    Given a role with
      """
      tools: [{type: shell}]
      """
    And a model that answers
      | calls                               |
      | run_shell {"command": "./note one"} |
      | finish_task {"summary": "done"}     |
    When I run `rondo run role.yaml -p x -a` on a terminal, and answer "Allow tool run_shell" with "<answer>"
    Then the exit code is 0
    And the call of "run_shell" in turn 1 ended as <outcome>
    And the terminal shows "this role requires confirmation (y = once, a = always for this tool, n = refuse)"

    Examples:
      | answer | outcome |
      | y      | ok      |
      | n      | refused |

  Scenario: A policy that wants approval asks a person with the policy's reason
    Given the policies
      """
      permit (principal, action, resource);
      @id("four.eyes") @on_deny("ask") @reason("a person looks at each note")
      forbid (principal, action == Action::"call_tool", resource == Tool::"run_shell")
      unless { context.approved };
      """
    And a role with
      """
      tools: [{type: shell, require_confirmation: false}]
      """
    And a model that answers
      | calls                               |
      | run_shell {"command": "./note one"} |
      | finish_task {"summary": "done"}     |
    When I run `rondo run role.yaml -p x -a` on a terminal, and answer "Allow tool run_shell" with "y"
    Then the exit code is 0
    And the file "notes" has the lines "one"
    And the terminal shows "a person looks at each note"

  Scenario: A model cannot move the cursor or colour the terminal
    Given a role
    And a model that answers
      | says                                                       |
      | \u001b[2J\u001b]0;owned\u0007\u001b[8mhidden words, in full |
    When I run `rondo run role.yaml -p x` on a terminal
    Then the exit code is 0
    And the terminal shows "hidden words, in full"
    And the terminal got no "\u001b[2J"
    And the terminal got no "\u001b[8m"
    And the terminal got no "\u001b]0;"

  Scenario Outline: A stream that fails (<fault>) is asked for again
    Given a role
    And a model that answers
      | says                                 | faults  |
      | The answer in full, from end to end. | <fault> |
    When I run `rondo run role.yaml -p x` on a terminal
    Then the exit code is 0
    And request 1 has the setting "stream" true
    And the model was asked 2 times
    And the terminal shows "The answer in full, from end to end."
    And the journal has an event "model.replied" with
      | outcome | ok                                   |
      | output  | The answer in full, from end to end. |

    Examples:
      | fault        |
      | cut          |
      | stream_error |
      | empty        |
      | 503          |

  Scenario: A stream that comes byte by byte is read all the same
    Given a role
    And a model that answers
      | says             | faults |
      | Slow, but there. | drip   |
    When I run `rondo run role.yaml -p x` on a terminal
    Then the exit code is 0
    And the model was asked 1 time
    And the journal has an event "model.replied" with
      | outcome | ok               |
      | output  | Slow, but there. |

  Scenario: A stream that stalls is given up when timeout_seconds are over
    Given a role with
      """
      guardrails: {timeout_seconds: 1}
      """
    And a model that answers
      | says            | faults |
      | never all of it | stall  |
    When I run `rondo run role.yaml -p x -a` on a terminal
    Then the exit code is 1
    And the terminal shows "TimeoutError"
    And the run took less than 60 seconds

  Scenario: Ctrl-C on a terminal stops an answer under way
    Given a role
    And a model that answers
      | says  | faults        |
      | never | stall_headers |
    When I run `rondo run role.yaml -p x -a` on a terminal, and press Ctrl-C when the model has been asked
    Then the exit code is 130
    And the terminal shows "rondo resume"

  Scenario: A run on a terminal says that it comes near a limit
    Given a worker
      """
      exit 0
      """
    When I run `rondo loop --max-iterations 5 -- ./worker.sh` on a terminal
    Then the exit code is 5
    And the terminal shows "warning: near a limit: 4 of 5 iterations, 1 left"
