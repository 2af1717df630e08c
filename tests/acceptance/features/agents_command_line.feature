Feature: Agents on the command line

  # ---- Rules of the options ----

  @B-cli
  Scenario Outline: A wrong call says what would be right: <call>
    Given a role
    And a file "broken.yaml" with
      """
      apiVersion: initrunner/v1
      kind: Agent
      """
    When I run `<call>`
    Then the exit code is 2
    And stderr mentions "<hint>"

    Examples:
      | call                                                | hint                                                       |
      | rondo run role.yaml -a                              | --autonomous requires --prompt (-p).                       |
      | rondo run role.yaml -p x -a -i                      | --autonomous and --interactive are mutually exclusive.     |
      | rondo run role.yaml -p '' -a                        | --autonomous requires --prompt (-p).                       |
      | rondo run role.yaml -p x -a --record no/such/tape   | no/such/tape                                               |
      | rondo run -p x -a                                   | no role file given                                         |
      | rondo run missing.yaml -p x -a                      | missing.yaml                                               |
      | rondo run broken.yaml -p x -a                       | spec                                                       |
      | rondo run role.yaml -p x -a --max-iterations -1     | max-iterations                                             |
      | rondo run role.yaml -p x -a --token-budget none     | token-budget                                               |
      | rondo run role.yaml -p x --model gpt-5-mini         | provider:name                                              |
      | rondo run role.yaml -p x --model nobody:gpt-5-mini  | nobody                                                     |
      | rondo run --resume last -p x                        | --resume uses the prompt of the run                        |
      | rondo run role.yaml -p x -a --until all_tests_pass  | all_tests_pass                                             |

  @B-cli
  Scenario Outline: <command> has help
    When I run `rondo <command> --help`
    Then the exit code is 0
    And stdout mentions "Usage"
    And stdout mentions "<word>"

    Examples:
      | command    | word             |
      | run        | --autonomous     |
      | run        | --max-iterations |
      | run        | --dry-run        |
      | validate   | --strict         |
      | tools list | --server         |
      | tools call | ARGUMENTS        |

  @B-cli
  Scenario: Without a key nothing begins, and the message says where a key belongs
    Given a role
    When I run `rondo run role.yaml -p x -a`
    Then the exit code is 2
    And stderr mentions "OPENAI_API_KEY"
    And stderr mentions ".env"
    And the file "STATE/rondo.db" holds no run

  @B-cli
  Scenario: A key in a file .env beside the role
    Given a role
    And a model that answers
      | says |
      | yes  |
    And the variable "OPENAI_API_KEY" is not set
    And a file ".env" with
      """
      # for the agents
      export OPENAI_API_KEY="sk-from-a-file"
      """
    When I run `rondo run role.yaml -p x`
    Then the exit code is 0
    And request 1 has the header "Authorization: Bearer sk-from-a-file"

  @B-cli @B-config-max_iterations
  Scenario: --model asks another model of the same role
    Given a role
    And a model that answers
      | says |
      | yes  |
    When I run `rondo run role.yaml -p x --model openai:gpt-4o-mini`
    Then the exit code is 0
    And request 1 has the setting "model" "gpt-4o-mini"
    And request 1 has the setting "temperature" 0.1

  @B-cli
  Scenario: A prompt from a file
    Given a role
    And a file "task.txt" with
      """
      Do this,
      then that.
      """
    And a model that answers
      | says |
      | yes  |
    When I run `rondo run role.yaml --prompt-file task.txt`
    Then the exit code is 0
    And the last message of request 1 mentions "Do this,"
    And the last message of request 1 mentions "then that."

  # ---- Dry run ----

  @B-dry-run
  Scenario: A dry run needs no key, asks no model and calls no tool
    Given a role with
      """
      tools:
        - type: shell
      """
    When I run `rondo run role.yaml -p 'Test the agentic loop' -a --dry-run`
    Then the exit code is 4
    And stderr or stdout mentions "[dry-run] Simulated response."
    And stdout mentions "Status: blocked | Iterations: 2/10"
    And the journal has no event "tool.requested"

  @B-dry-run
  Scenario: A dry run without -a is one answer
    Given a role
    When I run `rondo run role.yaml -p x --dry-run`
    Then the exit code is 0
    And stdout is exactly "[dry-run] Simulated response."

  @B-dry-run
  Scenario: Every agent of InitRunner's examples starts a dry run, without any key
    Given the example roles of InitRunner, unchanged
    When I make a dry run of each
    Then each of them is blocked after two answers without a tool call, but "secure-api-gateway" is not protected

  @B-role-files
  Scenario: What InitRunner's examples say is honoured, or named
    Given the example roles of InitRunner, unchanged
    When I validate each
    Then none of them loses
      | memory.max_memories            |
      | memory.max_sessions            |
      | triggers[0]                    |
      | observability.backend          |
      | observability.trace_tool_calls |
    And at least 31 of them lose nothing

  # ---- Output ----

  @B-cli
  Scenario: The head and the end of an autonomous run, as users of role files know them
    Given a role with
      """
      guardrails: {max_iterations: 3, autonomous_token_budget: 5000}
      """
    And a model that answers
      | calls                                                | tokens |
      | finish_task {"summary": "done", "status": "blocked"} | 20/5   |
    When I run `rondo run role.yaml -p x -a`
    Then stderr or stdout mentions "Autonomous mode — agent: worker"
    And stderr or stdout mentions "Max iterations: 3"
    And stderr or stdout mentions "Token budget: 5,000"
    And stdout mentions "Autonomous Run Complete"
    And stdout mentions "Status: blocked | Iterations: 1/3 | Tokens: 25"
    And stdout mentions "Summary: done"
    And there are no terminal control sequences

  Scenario: A piped answer is plain text, without the model's escapes
    Given a role
    And a model that answers
      | says                                         |
      | **Bold** and \u001b[31mred\u001b[0m and \u0007 |
    When I run `rondo run role.yaml -p x`
    Then the exit code is 0
    And there are no terminal control sequences
    And stdout mentions "Bold"

  Scenario: With --json stdout is one object a line: the events, then the result
    Given a role with
      """
      tools: [{type: think}]
      """
    And a model that answers
      | calls                           | tokens |
      | think {"thought": "hm"}         | 100/10 |
      | finish_task {"summary": "done"} | 120/12 |
    When I run `rondo run role.yaml -p x -a --json`
    Then the exit code is 0
    And every line of stdout is a JSON object
    And the events in stdout are numbered from 1 without gap
    And the last line of stdout has the status "completed" and exit code 0
    And the last line of stdout has
      | type       | result |
      | summary    | done   |
      | iterations | 1      |
      | tokens     | 242    |
      | agent_id   | worker |
    And the journal has an event "tool.finished" with
      | name    | think              |
      | outcome | ok                 |
      | output  | Thought recorded. |
    And the journal has an event "model.replied" with
      | turn       | 1   |
      | tokens_in  | 100 |
      | tokens_out | 10  |

  Scenario: An answer that cannot be written is no success
    Given a role
    When I run `rondo run role.yaml -p x --dry-run >/dev/full`
    Then the exit code is 1
    And stderr mentions "cannot be written"

  Scenario: An error with --json is an object, too
    Given a role
    When I run `rondo run role.yaml -p x -a --json`
    Then the exit code is 2
    And every line of stdout is a JSON object

  Scenario: What a run cost is told, by a price table of one's own
    Given a role with
      """
      model:
        provider: openai
        name: house-model
        price: {input: 1000, output: 2000}
      """
    And a model that answers
      | calls                           | tokens   |
      | finish_task {"summary": "done"} | 1000/100 |
    When I run `rondo run role.yaml -p x -a --json`
    Then the exit code is 0
    And the last line of stdout has
      | cost | 1.2 |

  Scenario: The cost of a run can be limited
    Given a role with
      """
      model:
        provider: openai
        name: house-model
        price: {input: 1000, output: 2000}
      autonomy: {max_no_tool_call_iterations: 9}
      """
    And a model that answers
      | says | tokens   | times |
      | on   | 1000/100 | 9     |
    When I run `rondo run role.yaml -p x -a --max-cost 2.40`
    Then the exit code is 7
    And the model was asked 2 times

  Scenario: Lists and details name the agent's run
    Given a role with
      """
      tools: [{type: think}]
      """
    And a model that answers
      | calls                           |
      | think {"thought": "hm"}         |
      | finish_task {"summary": "done"} |
    When I run `rondo run role.yaml -p 'The task' -a`
    And I run `rondo runs`
    Then stdout mentions "worker"
    And stdout mentions "completed"
    When I run `rondo show last`
    Then stdout mentions "role.yaml"
    And stdout mentions "openai:gpt-5-mini"
    And stdout mentions "The task"
    When I run `rondo logs last`
    Then stdout mentions "calling think"
    And stdout mentions "finish_task: ok"

  # ---- Conversations ----

  Scenario: A conversation takes line by line and keeps what was said
    Given a role
    And a model that answers
      | says             |
      | Good day.        |
      | You said hello.  |
    When I run `printf 'hello\nwhat did I say?\n' | rondo run role.yaml -i`
    Then the exit code is 0
    And stdout is exactly
      """
      Good day.
      You said hello.
      """
    And request 2 has the messages system, user, assistant, user
    And the last message of request 2 is
      """
      what did I say?
      """

  Scenario: A failure does not end a conversation
    Given a role
    And a model that answers
      | says  | faults |
      | a, b  |        |
      | c     | 400    |
      | d     |        |
    When I run `printf 'one\ntwo\nthree\n' | rondo run role.yaml`
    Then the exit code is 0
    And stderr mentions "Model API error"
    And stdout is exactly
      """
      a, b
      d
      """
    And the last message of request 3 is
      """
      three
      """

  Scenario: A conversation can be gone on with later
    Given a role
    And a model that answers
      | says |
      | ah   |
      | oh   |
    When I run `printf 'one\n' | rondo run role.yaml -i`
    Then the exit code is 0
    And stderr mentions "rondo resume"
    When I run `printf 'two\n' | rondo run --resume last`
    Then the exit code is 0
    And stdout is exactly "oh"
    And request 2 has the messages system, user, assistant, user

  Scenario: After kill -9 a conversation goes on with what was said
    Given a role
    And a model that answers
      | says     | faults        |
      | Hello.   |               |
      | Again.   | stall_headers |
      | Finally. |               |
    When I start `(printf 'one\ntwo\n'; sleep 305) | rondo run role.yaml -i`
    And the model has been asked 2 times
    And the run is killed with KILL
    And I run `printf 'three\n' | rondo run --resume last`
    Then the exit code is 0
    And stdout mentions "Again."
    And stdout mentions "Finally."
    And the model server has answered each turn at most once

  @B-observability
  Scenario: Traces for the console are on stderr when the run is over
    Given a role with
      """
      observability: {backend: console, service_name: checker, trace_tool_calls: true}
      tools: [{type: think}]
      """
    And a model that answers
      | says    | calls                       |
      |         | think {"thought": "what?"}  |
      | Thought |                             |
    When I run `rondo run role.yaml -p x`
    Then the exit code is 0
    And stdout is exactly "Thought"
    And stderr mentions "resourceSpans"
    And stderr mentions "execute_tool think"
    And stderr mentions "gen_ai.usage.input_tokens"
    And stderr mentions "checker"

  # ---- Recording ----

  Scenario: A recorded run is replayed without a model, with the same answers
    Given a role with
      """
      tools: [{type: think}]
      """
    And a model that answers
      | says        | calls                                    |
      | Let me see. | think {"thought": "hm"}                  |
      | Not yet.    |                                          |
      |             | finish_task {"summary": "The sky, blue"} |
    When I run `rondo run role.yaml -p 'Which colour?' -a --record tape.jsonl`
    Then the exit code is 0
    And the model was asked 3 times
    When the answers of the last run are kept
    And the model server is gone, and no key is set
    And I run `rondo run role.yaml -p 'Which colour?' -a --model scripted:tape.jsonl`
    Then the exit code is 0
    And stdout mentions "Summary: The sky, blue"
    And the answers of the last run are the same

  Scenario: A new run makes a new recording
    Given a role
    And a file "tape.jsonl" with
      """
      {"text": "an old answer", "forever": true}
      """
    And a model that answers
      | says         |
      | A new answer |
    When I run `rondo run role.yaml -p x --record tape.jsonl`
    And I run `rondo run role.yaml -p x --model scripted:tape.jsonl`
    Then stdout is exactly "A new answer"
    And the file "tape.jsonl" does not mention "an old answer"

  Scenario: A model cannot be given to a run that has none
    When I run `rondo loop --max-iterations 1 -- true`
    And I run `rondo run --resume last --model openai:gpt-5-mini`
    Then the exit code is 2
    And stderr mentions "does not use a role file"
