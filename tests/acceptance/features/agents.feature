Feature: Agents of role files work autonomously
  A role file that was written for InitRunner is run as it is: the agent plans, works, is shown its
  plan again in each turn, and ends the run with finish_task, or a limit does.

  # ---- Quick start ----

  @B-quick-start
  Scenario: The minimal role file of the quick start
    Given a file "my-agent.yaml" with
      """
      apiVersion: initrunner/v1
      kind: Agent
      metadata:
        name: my-agent
        description: An autonomous agent
      spec:
        role: |
          You are a helpful assistant. Break complex tasks into steps,
          track progress with update_plan, and call finish_task when done.
        model:
          provider: openai
          name: gpt-5-mini
        guardrails:
          max_iterations: 10
      """
    And a model that answers
      | says            | calls                                                                                                                 |
      | First a plan.   | update_plan {"steps": [{"description": "Compare caching", "status": "in_progress"}, {"description": "Write it up"}]} |
      | REST is cached. |                                                                                                                       |
      |                 | finish_task {"summary": "REST has resources, GraphQL has one endpoint"}                                               |
    When I run `rondo run my-agent.yaml -p 'Summarize the key differences between REST and GraphQL' -a`
    Then the exit code is 0
    And the summary is
      """
      Status: completed | Iterations: 2/10
      """
    And stdout mentions "Summary: REST has resources, GraphQL has one endpoint"
    And the model was asked 3 times
    And the model server has refused nothing
    And request 1 has the setting "model" "gpt-5-mini"
    And request 1 has no setting "temperature"
    And request 1 has the messages system, user
    And the last message of request 1 is
      """
      Summarize the key differences between REST and GraphQL
      """
    And request 1 offers the tools finish_task, update_plan
    And request 1 has the header "Authorization: Bearer sk-acceptance-0123456789"
    And the key is nowhere in what was printed or recorded

  @B-quick-start
  Scenario: Without -a there is one answer, on stdout alone
    Given a role
    And a model that answers
      | says         |
      | Hello there. |
    When I run `rondo run role.yaml -p 'Say hello'`
    Then the exit code is 0
    And stdout is exactly "Hello there."
    And request 1 offers no tools
    And the model was asked 1 time

  # ---- How the loop works ----

  @B-loop-2 @B-config-continuation_prompt
  Scenario: Each later iteration begins with the continuation prompt and the state of the plan
    Given a role with
      """
      autonomy:
        continuation_prompt: On with it.
      """
    And a model that answers
      | says     | calls                                                                                                                                                                                                                                                             |
      |          | think {"thought": "there is no such tool"}                                                                                                                                                                                                                        |
      | Thinking |                                                                                                                                                                                                                                                                   |
      |          | update_plan {"steps": [{"description": "Dig", "status": "completed", "notes": "10 m"}, {"description": "Fill", "status": "in_progress"}, {"description": "Pave"}, {"description": "Paint", "status": "failed"}, {"description": "Sing", "status": "skipped"}]} |
      | Planned  |                                                                                                                                                                                                                                                                   |
      |          | finish_task {"summary": "done"}                                                                                                                                                                                                                                  |
    When I run `rondo run role.yaml -p 'Build a road' -a`
    Then the exit code is 0
    And the last message of request 3 is
      """
      On with it.

      CURRENT STATUS:
      (No plan created yet)
      """
    And the last message of request 4 is
      """
      Plan updated: 1 completed, 1 failed, 1 in_progress, 1 pending, 1 skipped
      """
    And the last message of request 5 is
      """
      On with it.

      CURRENT STATUS:
      Current Plan:
        1. [x] Dig (completed)
             10 m
        2. [ ] Fill (in_progress)
        3. [ ] Pave (pending)
        4. [!] Paint (failed)
        5. [-] Sing (skipped)
      """

  @B-config-continuation_prompt
  Scenario: The continuation prompt has a default that names finish_task
    Given a role
    And a model that answers
      | says | calls                           |
      | hm   |                                 |
      |      | finish_task {"summary": "done"} |
    When I run `rondo run role.yaml -p x -a`
    Then the exit code is 0
    And the last message of request 2 mentions "Continue working on the task."
    And the last message of request 2 mentions "finish_task"

  @B-tools-update_plan
  Scenario: A plan is replaced whole, not patched
    Given a role
    And a model that answers
      | calls                                                                        |
      | update_plan {"steps": [{"description": "one"}, {"description": "two"}]}      |
      | update_plan {"steps": [{"description": "three", "status": "of no such kind"}]} |
      | finish_task {"summary": "done"}                                              |
    When I run `rondo run role.yaml -p x -a`
    Then the exit code is 0
    And the plan of the last update is
      | description | status  | notes |
      | three       | pending |       |

  @B-config-max_plan_steps
  Scenario Outline: max_plan_steps is <most>: steps beyond it are dropped without a word
    Given a role with
      """
      autonomy: {<setting>}
      """
    And a model that answers
      | calls                           |
      | update_plan <steps>             |
      | finish_task {"summary": "done"} |
    When I run `rondo run role.yaml -p x -a`
    Then the exit code is 0
    And the plan of the last update has <most> steps
    And the last message of request 2 is
      """
      Plan updated: <most> pending
      """

    Examples:
      | setting           | most | steps |
      | max_plan_steps: 2 | 2    | {"steps": [{"description": "a"}, {"description": "b"}, {"description": "c"}]} |
      |                   | 20   | {"steps": [{"description": "1"}, {"description": "2"}, {"description": "3"}, {"description": "4"}, {"description": "5"}, {"description": "6"}, {"description": "7"}, {"description": "8"}, {"description": "9"}, {"description": "10"}, {"description": "11"}, {"description": "12"}, {"description": "13"}, {"description": "14"}, {"description": "15"}, {"description": "16"}, {"description": "17"}, {"description": "18"}, {"description": "19"}, {"description": "20"}, {"description": "21"}]} |

  @B-loop-3 @B-config-max_history_messages
  Scenario Outline: With max_history_messages <most> the oldest go, the first stays, and calls keep their answers
    Given a role with
      """
      tools: [{type: think}]
      autonomy: {<setting>}
      guardrails: {max_iterations: 30}
      """
    And a model that answers
      | says  | calls                                             | times |
      | a     | think {"thought": "b"} & think {"thought": "c"} | 1     |
      | d     |                                                   | 1     |
      | e     | think {"thought": "f"}                            | 1     |
      | g     |                                                   | 1     |
      | h     | think {"thought": "i"} & think {"thought": "j"} | 1     |
      | k     |                                                   | 1     |
      | l     | think {"thought": "m"}                            | 1     |
      | n     |                                                   | 1     |
      | o     | think {"thought": "p"}                            | 1     |
      | q     |                                                   | 1     |
      |       | finish_task {"summary": "done"}                   | 1     |
    When I run `rondo run role.yaml -p 'The task' -a`
    Then the exit code is 0
    And the model was asked 11 times
    And the model server has refused nothing
    And each request begins with the system prompt and "The task"
    And in each request every answer of a tool follows its call, and every call has its answer
    And the longest request has <longest> messages besides the system prompt
    And the journal has an event "history.trimmed"

    Examples:
      | setting                 | most | longest |
      | max_history_messages: 2 | 2    | 6       |
      | max_history_messages: 5 | 5    | 9       |
      | max_history_messages: 6 | 6    | 9       |
      | max_history_messages: 7 | 7    | 9       |

  @B-config-max_history_messages
  Scenario: Without a setting 40 messages are kept
    Given a role with
      """
      tools: [{type: think}]
      guardrails: {max_iterations: 60}
      """
    And a model that calls "think" with {"thought": "of {turn}"} in 40 iterations
    When I run `rondo run role.yaml -p 'The task' -a`
    Then the exit code is 0
    And no request has more than 43 messages besides the system prompt
    And the longest request has 43 messages besides the system prompt
    And each request begins with the system prompt and "The task"
    And in each request every answer of a tool follows its call, and every call has its answer

  @B-config-compaction
  Scenario: A summary takes the place of old messages, and trimming keeps it
    Given a role with
      """
      tools: [{type: think}]
      autonomy:
        max_history_messages: 8
        max_no_tool_call_iterations: 9
        compaction: {enabled: true, threshold: 5, tail_messages: 2, model_override: "scripted:summary.jsonl"}
      """
    And a file "summary.jsonl" with
      """
      {"text": "Thoughts were had.", "usage": {"input": 300, "output": 20}, "forever": true}
      """
    And a model that answers
      | says | calls                           | times |
      |      | think {"thought": "a"}          | 1     |
      | b    |                                 | 1     |
      | c    |                                 | 1     |
      |      | think {"thought": "d"}          | 1     |
      | e    |                                 | 1     |
      | f    |                                 | 1     |
      |      | finish_task {"summary": "done"} | 1     |
    When I run `rondo run role.yaml -p 'The task' -a`
    Then the exit code is 0
    And each request begins with the system prompt and "The task"
    And in each request every answer of a tool follows its call, and every call has its answer
    And the journal has an event "history.compacted"
    And a message of request 7 mentions "Thoughts were had."

  @B-config-compaction
  Scenario: A model that fails leaves the conversation trimmed, and the run says so
    Given a role with
      """
      tools: [{type: think}]
      autonomy:
        max_no_tool_call_iterations: 9
        compaction: {enabled: true, threshold: 3, tail_messages: 2, model_override: "scripted:summary.jsonl"}
      """
    And a file "summary.jsonl" with
      """
      {"error": "bad_request", "message": "no luck", "forever": true}
      """
    And a model that answers
      | says | calls                           |
      |      | think {"thought": "a"}          |
      | b    |                                 |
      | c    |                                 |
      |      | finish_task {"summary": "done"} |
    When I run `rondo run role.yaml -p 'The task' -a`
    Then the exit code is 0
    And stderr mentions "conversation not compacted, only trimmed: no luck"

  @B-loop-6 @B-config-iteration_delay_seconds @B-safety-iteration_delay_seconds
  Scenario: The delay is kept between iterations
    Given a role with
      """
      autonomy: {iteration_delay_seconds: 1, max_no_tool_call_iterations: 9}
      """
    And a model that answers
      | says | calls                           |
      | one  |                                 |
      |      | finish_task {"summary": "done"} |
    When I run `rondo run role.yaml -p x -a`
    Then the exit code is 0
    And between iterations there were at least 990 milliseconds

  @B-loop-6 @B-config-iteration_delay_seconds
  Scenario: There is no delay after the last iteration
    Given a role with
      """
      autonomy: {iteration_delay_seconds: 600}
      """
    And a model that answers
      | says | calls                           |
      |      | finish_task {"summary": "done"} |
    When I run `rondo run role.yaml -p x -a`
    Then the exit code is 0

  @B-config-iteration_delay_seconds
  Scenario: Without a setting there is no delay
    Given a role with
      """
      autonomy: {max_no_tool_call_iterations: 31}
      guardrails: {max_iterations: 30}
      """
    And a model that answers
      | says | times |
      | on   | 30    |
    When I run `rondo run role.yaml -p x -a`
    Then the exit code is 5
    And the run took less than 25 seconds

  # ---- Terminal conditions ----

  @B-terminal-finish_task @B-tools-finish_task
  Scenario Outline: finish_task with the status <status> ends the run at once
    Given a role with
      """
      tools: [{type: think}]
      """
    And a model that answers
      | calls                                                                                        |
      | think {"thought": "first this"} & finish_task {"summary": "so it is", "status": "<status>"} |
      | think {"thought": "never asked for"}                                                        |
    When I run `rondo run role.yaml -p x -a`
    Then the exit code is <code>
    And the summary is
      """
      Status: <status> | Iterations: 1/10
      """
    And stdout mentions "Summary: so it is"
    And the model was asked 1 time
    And the tool "think" was called 1 time
    And the run has the status "<status>" after 1 iteration

    Examples:
      | status    | code |
      | completed | 0    |
      | blocked   | 4    |
      | failed    | 3    |

  @B-tools-finish_task
  Scenario: The status of finish_task is completed when it is not given, and a wrong one is an answer to the model
    Given a role
    And a model that answers
      | calls                                              |
      | finish_task {"summary": "eh", "status": "perhaps"} |
      | finish_task {"summary": "yes"}                     |
    When I run `rondo run role.yaml -p x -a`
    Then the exit code is 0
    And the run has the status "completed" after 1 iteration
    And the call of "finish_task" in turn 1 ended as error, saying "status"

  @B-terminal-error
  Scenario: An execution error ends the run with the model's own words
    Given a role
    And a model that answers
      | faults        |
      | 400, 400, 400 |
    When I run `rondo run role.yaml -p x -a`
    Then the exit code is 1
    And stdout mentions "Status: error | Iterations: 1/10"
    And stderr or stdout mentions "Model API error:"
    And the model was asked 1 time
    And the run has the status "error" after 1 iteration

  @B-terminal-max_iterations @B-config-max_iterations @B-safety-max_iterations @B-trouble-never-finishes
  Scenario Outline: After <limit> iterations the run ends with max_iterations
    Given a role with
      """
      tools: [{type: think}]
      guardrails: {<setting>}
      """
    And a model that answers
      | says | calls                  | times |
      |      | think {"thought": "a"} | 1     |
      | on   |                        | 1     |
      |      | think {"thought": "b"} | 1     |
      | on   |                        | 1     |
      |      | think {"thought": "c"} | 1     |
      | on   |                        | 1     |
      |      | think {"thought": "d"} | 1     |
      | on   |                        | 1     |
      |      | think {"thought": "e"} | 1     |
      | on   |                        | 1     |
      |      | think {"thought": "f"} | 1     |
      | on   |                        | 1     |
      |      | think {"thought": "g"} | 1     |
      | on   |                        | 1     |
      |      | think {"thought": "h"} | 1     |
      | on   |                        | 1     |
      |      | think {"thought": "i"} | 1     |
      | on   |                        | 1     |
      |      | think {"thought": "j"} | 1     |
      | on   |                        | 1     |
      |      | think {"thought": "k"} | 1     |
      | on   |                        | 1     |
    When I run `rondo run role.yaml -p x -a <option>`
    Then the exit code is 5
    And stdout mentions "Status: max_iterations | Iterations: <limit>/<limit>"
    And iterations 1 to <limit> finished once each
    And stdout mentions "rondo resume"

    Examples:
      | setting           | option             | limit |
      |                   |                    | 10    |
      | max_iterations: 3 |                    | 3     |
      | max_iterations: 3 | --max-iterations 5 | 5     |

  @B-terminal-budget_exceeded @B-config-autonomous_token_budget @B-loop-4 @B-safety-autonomous_token_budget @B-trouble-budget
  Scenario Outline: The run ends with budget_exceeded before the request that would come after the budget (<option>)
    Given a role with
      """
      autonomy: {max_no_tool_call_iterations: 30}
      guardrails: {<setting>}
      """
    And a model that answers
      | says | tokens | times |
      | on   | 400/100 | 9    |
    When I run `rondo run role.yaml -p x -a <option>`
    Then the exit code is 7
    And stdout mentions "Status: budget_exceeded | Iterations: <asked>/10 | Tokens: <tokens>"
    And the model was asked <asked> times
    And stderr or stdout mentions "<budget>"

    Examples:
      | setting                       | option              | budget | asked | tokens |
      | autonomous_token_budget: 1000 |                     | 1000   | 2     | 1,000  |
      | autonomous_token_budget: 1001 |                     | 1001   | 3     | 1,500  |
      | autonomous_token_budget: 1000 | --token-budget 1501 | 1501   | 4     | 2,000  |
      |                               | --token-budget 500  | 500    | 1     | 500    |

  @B-config-autonomous_token_budget
  Scenario: Without a budget tokens are not limited
    Given a role with
      """
      autonomy: {max_no_tool_call_iterations: 30}
      guardrails: {max_iterations: 4}
      """
    And a model that answers
      | says | tokens         | times |
      | on   | 40000000/40000 | 4     |
    When I run `rondo run role.yaml -p x -a`
    Then the exit code is 5
    And the model was asked 4 times

  Scenario: A time limit ends the run as timeout
    Given a role with
      """
      autonomy: {max_no_tool_call_iterations: 30, iteration_delay_seconds: 120}
      guardrails: {autonomous_timeout_seconds: 1}
      """
    And a model that answers
      | says | times |
      | on   | 9     |
    When I run `rondo run role.yaml -p x -a`
    Then the exit code is 8
    And stdout mentions "Status: timeout"
    And the run took less than 60 seconds

  @B-trouble-no-tool-calls
  Scenario Outline: Words without tools are answered with a nudge; after <limit> such iterations the run is blocked
    Given a role with
      """
      autonomy: {<setting>}
      """
    And a model that answers
      | says | times |
      | Well | 9     |
    When I run `rondo run role.yaml -p x -a`
    Then the exit code is 4
    And stdout mentions "Summary: Stopped: no tool calls for <limit> consecutive iterations."
    And the model was asked <limit> times
    And the last message of request 2 mentions "finish_task"

    Examples:
      | setting                        | limit |
      |                                | 2     |
      | max_no_tool_call_iterations: 3 | 3     |

  @B-trouble-no-tool-calls
  Scenario: A run that was blocked for saying words only begins to count anew when it is resumed
    Given a role
    And a model that answers
      | says | calls                           |
      | Well |                                 |
      | Hm   |                                 |
      | Ah   |                                 |
      |      | finish_task {"summary": "done"} |
    When I run `rondo run role.yaml -p x -a`
    Then the exit code is 4
    When I run `rondo run --resume last`
    Then the exit code is 0
    And the run has the status "completed" after 4 iterations

  # ---- Limits of one iteration ----

  @B-safety-max_tokens_per_run
  Scenario Outline: max_tokens_per_run counts what the model writes in one iteration (<setting>)
    Given a role with
      """
      tools: [{type: think}]
      guardrails: {<setting>}
      """
    And a model that answers
      | calls                           | tokens     |
      | think {"thought": "a"}          | 9/<first>  |
      | think {"thought": "b"}          | 9/<second> |
      | finish_task {"summary": "done"} | 9/1        |
    When I run `rondo run role.yaml -p x -a`
    Then the exit code is <code>
    And the model was asked <asked> times
    And stderr or stdout mentions "<text>"

    Examples:
      | setting                 | first | second | code | asked | text                                                                            |
      | max_tokens_per_run: 100 | 50    | 51     | 1    | 2     | Usage limit exceeded: 101 tokens in one iteration; max_tokens_per_run is 100    |
      | max_tokens_per_run: 100 | 50    | 50     | 1    | 2     | Usage limit exceeded: 100 tokens in one iteration; max_tokens_per_run is 100    |
      | max_tokens_per_run: 101 | 50    | 49     | 0    | 3     | completed                                                                       |
      |                         | 49000 | 1001   | 1    | 2     | Usage limit exceeded: 50001 tokens in one iteration; max_tokens_per_run is 50000 |

  @B-safety-max_tool_calls
  Scenario Outline: max_tool_calls counts the calls of one iteration (<setting>)
    Given a role with
      """
      tools: [{type: think}]
      guardrails: {<setting>}
      """
    And a model that answers
      | says | calls                  | times  |
      |      | think {"thought": "a"} | <made> |
    When I run `rondo run role.yaml -p x -a`
    Then the exit code is 1
    And stderr or stdout mentions "max_tool_calls is <most>"
    And the tool "think" was called <most> times

    Examples:
      | setting           | made | most |
      | max_tool_calls: 2 | 4    | 2    |
      | max_tool_calls: 0 | 4    | 0    |
      |                   | 24   | 20   |

  @B-safety-max_tool_calls
  Scenario: The calls are counted anew in each iteration
    Given a role with
      """
      tools: [{type: think}]
      guardrails: {max_tool_calls: 1}
      """
    And a model that answers
      | says | calls                           |
      |      | think {"thought": "a"}          |
      | on   |                                 |
      |      | think {"thought": "b"}          |
      | on   |                                 |
      |      | finish_task {"summary": "done"} |
    When I run `rondo run role.yaml -p x -a`
    Then the exit code is 0
    And the tool "think" was called 2 times

  @B-safety-timeout_seconds
  Scenario: timeout_seconds ends an iteration whose model does not answer
    Given a role with
      """
      guardrails: {timeout_seconds: 1}
      """
    And a model that answers
      | says    | faults        |
      | at last | stall_headers |
    When I run `rondo run role.yaml -p x -a`
    Then the exit code is 1
    And stderr or stdout mentions "TimeoutError: the iteration took longer than timeout_seconds, 1 s"
    And the run took less than 60 seconds

  @B-safety-timeout_seconds @B-config-max_iterations
  Scenario: The defaults of all limits, as validate shows them
    Given a role with
      """
      autonomy: {}
      """
    When I run `rondo validate role.yaml --json`
    Then the exit code is 0
    And the normal form has at "spec.autonomy"
      | max_history_messages       | 40    |
      | max_plan_steps             | 20    |
      | iteration_delay_seconds    | 0     |
      | max_scheduled_per_run      | 3     |
      | max_scheduled_total        | 50    |
      | max_schedule_delay_seconds | 86400 |
    And the normal form has at "spec.guardrails"
      | max_iterations            | 10    |
      | autonomous_token_budget   | null  |
      | max_tokens_per_run        | 50000 |
      | max_tool_calls            | 20    |
      | timeout_seconds           | 300   |
      | daemon_token_budget       | null  |
      | daemon_daily_token_budget | null  |

  # ---- Troubleshooting ----

  @B-trouble-never-finishes
  Scenario: A run that ended at its limit goes on with a higher one
    Given a role with
      """
      tools: [{type: think}]
      """
    And a model that calls "think" with {"thought": "{turn}"} in 4 iterations
    When I run `rondo run role.yaml -p x -a --max-iterations 2`
    Then the exit code is 5
    When I run `rondo run --resume last --max-iterations 10`
    Then the exit code is 0
    And iterations 1 to 4 finished once each
    And the model server has answered each turn at most once

  @B-trouble-budget
  Scenario: A run that used up its budget goes on with a larger one
    Given a role with
      """
      tools: [{type: think}]
      guardrails: {autonomous_token_budget: 10}
      """
    And a model that calls "think" with {"thought": "{turn}"} in 2 iterations
    When I run `rondo run role.yaml -p x -a`
    Then the exit code is 7
    When I run `rondo run --resume last --token-budget 100000`
    Then the exit code is 0
    And the model server has answered each turn at most once
