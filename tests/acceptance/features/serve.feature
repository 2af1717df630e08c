@serve
Feature: A server holds the runs of a store

  # ---- Runs over HTTP ----

  Scenario: A program starts, follows and stops a run
    Given a worker
      """
      sleep 0.1
      """
    And a server
    When I post to "/v1/runs"
      """
      {"command": ["./worker.sh"], "agent_id": "fixer", "max_iterations": 1000}
      """
    Then the answer is 201 with
      | agent_id | fixer   |
      | status   | running |
    When I follow the events of the run
    Then what I follow comes to "iteration.finished" with iteration 3
    When I post to "/v1/runs/$RUN/stop"
      """
      {}
      """
    Then the answer is 202
    And what I follow comes to "run.finished"
    And what I followed has the numbers from 1 on without gap
    And the run soon has the status "cancelled"

  Scenario: The same request twice starts one run
    Given a worker
      """
      true
      """
    And a server
    When I post to "/v1/runs" with the key "monday-1"
      """
      {"command": ["./worker.sh"], "agent_id": "once", "max_iterations": 2}
      """
    Then the answer is 201
    When I post to "/v1/runs" with the key "monday-1"
      """
      {"command": ["./worker.sh"], "agent_id": "once", "max_iterations": 2}
      """
    Then the answer is 201 and says that it is a repetition
    And the agent "once" has 1 run
    When I post to "/v1/runs" with the key "monday-1"
      """
      {"command": ["./worker.sh"], "agent_id": "other", "max_iterations": 2}
      """
    Then the answer is the problem "idempotency_mismatch" with 422

  Scenario: A run is paused and goes on
    Given a worker
      """
      sleep 0.05
      """
    And a server
    When I post to "/v1/runs"
      """
      {"command": ["./worker.sh"], "agent_id": "sleeper", "max_iterations": 100000}
      """
    And I post to "/v1/runs/$RUN/pause"
      """
      {}
      """
    Then the answer is 202
    And the run soon has the status "paused"
    And the journal soon has an event "run.paused"
    And the server executes 0 runs
    When I post to "/v1/runs/$RUN/continue"
      """
      {}
      """
    Then the run soon has the status "running"
    And the journal soon has an event "run.continued"

  Scenario: The limit of a run is raised while it runs
    Given a worker that stops to wait in iteration 3
      """
      true
      """
    And a server
    When I post to "/v1/runs"
      """
      {"command": ["./worker.sh"], "agent_id": "longer", "max_iterations": 3}
      """
    And iteration 3 is being worked on
    And I post to "/v1/runs/$RUN/limits"
      """
      {"max_iterations": 6}
      """
    Then the answer is 202
    When the worker may go on
    Then the run soon has the status "max_iterations"
    And iterations 1 to 6 finished once each

  Scenario: What is wrong with a request is said by name
    Given a server
    When I post to "/v1/runs"
      """
      {"command": ["true"], "agent_id": "a", "max_iteration": 3}
      """
    Then the answer is the problem "invalid" with 422
    And the answer mentions "max_iteration"
    When I post to "/v1/runs"
      """
      {"command": ["true"
      """
    Then the answer is the problem "malformed" with 400

  Scenario: More runs than there is room for wait their turn, and then are refused
    Given a worker
      """
      while [ ! -e go ]; do sleep 0.02; done
      """
    And a server with `--max-loops 1 --max-queue 1`
    When I post to "/v1/runs"
      """
      {"command": ["./worker.sh"], "agent_id": "first", "max_iterations": 1}
      """
    Then the answer is 201
    When I post to "/v1/runs"
      """
      {"command": ["./worker.sh"], "agent_id": "second", "max_iterations": 1}
      """
    Then the answer is 202 with
      | status | queued |
    When I post to "/v1/runs"
      """
      {"command": ["./worker.sh"], "agent_id": "third", "max_iterations": 1}
      """
    Then the answer is the problem "admission_full" with 429
    And the answer has the header "retry-after"
    And the agent "third" has 0 runs
    When the worker may go on
    Then the run of "second" soon has the status "max_iterations"

  # ---- Restarts ----

  Scenario: Runs outlive a restart in good order
    Given a worker
      """
      echo "$RONDO_ITERATION" >>bodies
      sleep 0.1
      """
    And a server
    When I post to "/v1/runs"
      """
      {"command": ["./worker.sh"], "agent_id": "lasting", "max_iterations": 20}
      """
    And the run has come to iteration 3
    And I end the server with TERM
    Then the server ended with 0
    When the server starts again
    Then the run soon has the status "max_iterations"
    And iterations 1 to 20 finished once each
    And the file "bodies" counts from 1 to 20

  @A-SC-006
  Scenario: Runs outlive a server that is killed
    Given a worker
      """
      echo "$RONDO_ITERATION" >>bodies
      sleep 0.1
      """
    And a server
    When I post to "/v1/runs"
      """
      {"command": ["./worker.sh"], "agent_id": "lasting", "max_iterations": 12}
      """
    And the run has come to iteration 4
    And I end the server with KILL
    And the server starts again
    Then the run soon has the status "max_iterations"
    And iterations 1 to 12 finished once each
    And the file "bodies" has each of 1 to 12 at least once and at most one of them twice

  @A-SC-005
  Scenario: A run whose process was killed is taken over
    Given a worker that stops to wait in iteration 2
      """
      true
      """
    And a server
    When I start `rondo loop --agent orphan --max-iterations 15 -- ./worker.sh`
    And iteration 2 is being worked on
    And I kill it with KILL
    And the worker may go on
    Then the run of "orphan" soon has the status "max_iterations"
    And iterations 1 to 15 finished once each

  @A-SC-005
  Scenario: A run that nobody can take over is closed as error
    Given a server with `--orphans close --close-after 1s`
    And a worker
      """
      sleep 0.1
      """
    When I start `rondo loop --agent orphan --max-iterations 1000 -- ./worker.sh`
    And the run of "orphan" has come to iteration 2
    And I kill it with KILL
    Then the run of "orphan" soon has the status "error"

  Scenario: A run of a server is paused, continued and stopped on the command line
    Given a worker
      """
      sleep 0.05
      """
    And a server
    When I post to "/v1/runs"
      """
      {"command": ["./worker.sh"], "agent_id": "sleeper", "max_iterations": 100000}
      """
    And I run `rondo pause last`
    Then the run soon has the status "paused"
    And the server executes 0 runs
    When I run `rondo continue last`
    Then the exit code is 0
    And the run soon has the status "running"
    And the run soon goes on
    When I run `rondo pause last`
    Then the run soon has the status "paused"
    When I run `rondo stop last`
    Then the run soon has the status "cancelled"
    And the server has 0 paused runs

  Scenario: A paused run is paused after a restart too
    Given a worker
      """
      sleep 0.05
      """
    And a server
    When I post to "/v1/runs"
      """
      {"command": ["./worker.sh"], "agent_id": "sleeper", "max_iterations": 100000}
      """
    And I post to "/v1/runs/$RUN/pause"
      """
      {}
      """
    Then the run soon has the status "paused"
    When I end the server with TERM
    And the server starts again
    Then the run soon has the status "paused"
    And the server executes 0 runs
    When I post to "/v1/runs/$RUN/continue"
      """
      {}
      """
    Then the run soon has the status "running"
    And the run soon goes on

  @A-SC-005
  Scenario Outline: A run whose process was killed and that somebody <act> is not left running
    Given a worker that stops to wait in iteration 2
      """
      true
      """
    When I start `rondo loop --agent orphan --max-iterations 30 -- ./worker.sh`
    And iteration 2 is being worked on
    And I kill it with KILL
    And the worker may go on
    And I run `<command>`
    Then the exit code is 0
    When I run `rondo continue last`
    And a server
    Then the run of "orphan" soon has the status "max_iterations"
    And iterations 1 to 30 finished once each

    Examples:
      | act                  | command                             |
      | paused and continued | rondo pause last                    |
      | gave a limit         | rondo limit last --max-tokens 1000  |

  # ---- Looking ----

  Scenario: Runs of other processes are followed live
    Given a worker
      """
      sleep 0.05
      """
    And a server
    And I follow all events
    When I start `rondo loop --agent elsewhere --max-iterations 5 -- ./worker.sh`
    Then what I follow comes to "run.finished"
    And what I followed of agent "elsewhere" has the numbers from 1 on without gap

  @A-EDGE-8
  Scenario: A reader that comes back misses nothing, whatever happened to the server
    Given a worker
      """
      sleep 0.05
      """
    And a server
    When I post to "/v1/runs"
      """
      {"command": ["./worker.sh"], "agent_id": "watched", "max_iterations": 30}
      """
    And I follow the events of the run
    Then what I follow comes to "iteration.finished" with iteration 4
    When I end the server with KILL
    And the server starts again
    And I follow on where I was
    Then what I follow comes to "run.finished"
    And what I followed has the numbers from 1 on without gap

  @A-SC-004
  Scenario: An event reaches its readers within five seconds of its commit
    Given a worker
      """
      sleep 0.2
      """
    And a server
    And I follow all events
    When I start `rondo loop --agent elsewhere --max-iterations 5 -- ./worker.sh`
    Then what I follow comes to "run.finished"
    And each event reached me within 5 seconds of its time

  @A-SC-009
  Scenario: Questions are answered within two seconds
    Given a worker
      """
      true
      """
    When I run `rondo loop --until ok=true -- ./worker.sh`
    And a server
    Then each of these is answered with 200 within 2 seconds
      | /v1/runs                          |
      | /v1/runs/$RUN                     |
      | /v1/runs/$RUN/events              |
      | /v1/runs/$RUN/conditions          |
      | /v1/runs/$RUN/checkpoints         |
      | /v1/runs/$RUN/checkpoints/latest  |
      | /v1/runs/$RUN/limits              |
      | /v1/policies                      |
      | /v1/warnings                      |
      | /v1/health                        |
      | /metrics                          |

  @A-SC-007 @A-EDGE-4
  Scenario: Nine agents in one server work at the same time, and reach their limits each by itself
    Given a worker that ends each iteration only when nine runs are in it
    And a server
    When I start 9 runs of 5 iterations over HTTP
    Then all of them soon have the status "max_iterations"
    And each of the nine runs was denied once, its iteration 6

  # ---- Ends ----

  @A-US4-1 @A-FR-008
  Scenario: The policies stop a run over HTTP, and the program reads why
    Given an agent is executing with a policy limit of 3 iterations
    And a worker
      """
      true
      """
    And a server
    When I post to "/v1/runs"
      """
      {"command": ["./worker.sh"], "agent_id": "stopped", "max_iterations": null}
      """
    Then the run soon has the status "max_iterations"
    And the answer has, among others
      | exit_code              | 5                |
      | iteration              | 3                |
      | violation.policy       | limit.iterations |
      | violation.limit_name   | iterations       |
      | violation.limit        | 3                |
      | violation.iteration    | 4                |
      | violation.verdict      | deny             |
    And iterations 1 to 3 finished once each
    And the journal has an event "gate.denied" with
      | iteration | 4                |
      | policy    | limit.iterations |

  @A-US4-2
  Scenario: A run over HTTP ends when its conditions are met, the limit is never reached
    Given an agent is executing with a policy limit of 100 iterations
    And a worker
      """
      touch "made-$RONDO_ITERATION"
      """
    And a server
    When I post to "/v1/runs"
      """
      {"command": ["./worker.sh"], "agent_id": "early", "conditions": [{"name": "third", "command": "test -e made-3"}]}
      """
    Then the run soon has the status "completed"
    And the answer has, among others
      | exit_code        | 0    |
      | iteration        | 3    |
      | conditions_met   | 1    |
      | conditions_total | 1    |
      | violation        | null |
    And the journal has no event "gate.denied"

  @A-SC-005 @A-FR-007 @A-EDGE-1
  Scenario: Every run of a server ends in a final status
    Given the policies
      """
      permit (principal, action, resource);
      @id("barred") forbid (principal == Agent::"barred", action == Action::"iterate", resource);
      """
    And a worker
      """
      case "$1" in
        fail) exit 1 ;;
        spend) echo '{"usage":{"tokens":60}}' >"$RONDO_RESULT_FILE" ;;
        give-up) echo '{"finish":{"status":"blocked","summary":"no key"}}' >"$RONDO_RESULT_FILE" ;;
        sleep) sleep 0.1 ;;
      esac
      """
    And a server
    When I post these to "/v1/runs"
      | {"command": ["./worker.sh"], "agent_id": "completed", "conditions": [{"name": "ok", "command": "true"}]}          |
      | {"command": ["./worker.sh", "fail"], "agent_id": "failed", "max_failures": 2}                                     |
      | {"command": ["./worker.sh"], "agent_id": "max_iterations", "max_iterations": 2}                                   |
      | {"command": ["./worker.sh", "spend"], "agent_id": "budget_exceeded", "max_tokens": 100}                           |
      | {"command": ["./worker.sh", "give-up"], "agent_id": "blocked", "conditions": [{"name": "no", "command": "false"}]} |
      | {"command": ["./worker.sh", "sleep"], "agent_id": "timeout", "time_limit_ns": 300000000, "max_iterations": 1000}   |
      | {"command": ["./missing.sh"], "agent_id": "error"}                                                               |
      | {"command": ["./worker.sh"], "agent_id": "barred"}                                                               |
      | {"command": ["./worker.sh", "sleep"], "agent_id": "cancelled", "max_iterations": 100000}                           |
    And I post to "/v1/runs/$RUN/stop"
      """
      {"reason": "seen enough"}
      """
    Then the runs soon have the statuses
      | completed       | completed        |
      | failed          | failed           |
      | max_iterations  | max_iterations   |
      | budget_exceeded | budget_exceeded  |
      | blocked         | blocked          |
      | timeout         | timeout          |
      | error           | error            |
      | barred          | policy_violation |
      | cancelled       | cancelled        |
    And the last event of each run is "run.finished"
    And the server executes 0 runs

  @A-EDGE-5
  Scenario: Exit conditions cannot be changed over HTTP while a run executes
    Given a worker that stops to wait in iteration 2
      """
      true
      """
    And a server
    When I post to "/v1/runs"
      """
      {"command": ["./worker.sh"], "agent_id": "fixed", "max_iterations": 3, "conditions": [{"name": "never", "command": "false"}]}
      """
    And iteration 2 is being worked on
    And I post to "/v1/runs/$RUN/limits"
      """
      {"max_iterations": 4, "conditions": [{"name": "always", "command": "true"}]}
      """
    Then the answer is the problem "invalid" with 422
    And the answer mentions "conditions"
    When I post to "/v1/runs/$RUN/resume"
      """
      {"conditions": []}
      """
    Then the answer is the problem "invalid" with 422
    And the answer mentions "conditions"
    When the worker may go on
    Then the run soon has the status "max_iterations"
    And iterations 1 to 3 finished once each
    And condition "never" ended as "not_met" with reason "failed"

  @A-EDGE-7
  Scenario: A damaged checkpoint is an error over HTTP, and the one before it is used
    Given a worker
      """
      cat "$RONDO_STATE_FILE" >"found-$RONDO_ITERATION"; echo "state $RONDO_ITERATION" >"$RONDO_STATE_FILE"
      """
    When I run `rondo loop --agent ruined --max-iterations 3 -- ./worker.sh`
    And the newest checkpoint is damaged
    And a server
    Then the run of "ruined" soon has the status "max_iterations"
    When I ask for "/v1/runs/$RUN/checkpoints/3" without a token
    Then the answer is the problem "conflict" with 409
    And the answer mentions "damaged"
    When I post to "/v1/runs/$RUN/resume"
      """
      {"max_iterations": 4}
      """
    Then the answer is 200
    And the journal soon has an event "checkpoint.corrupt"
    And the run soon has the status "max_iterations"
    And iteration 4 found the state "state 2"

  # ---- Stores that were damaged or deleted ----

  Scenario Outline: A run that cannot be read does not hide the others: <change>
    Given a worker
      """
      true
      """
    When I run `rondo loop -q -n 1 --agent first -- ./worker.sh`
    And I run `rondo loop -q -n 1 --agent second -- ./worker.sh`
    And I run `rondo loop -q -n 1 --agent third -- ./worker.sh`
    And the row of the run of "second" is damaged: "<change>"
    And I run `rondo runs`
    Then the exit code is 10
    And stdout mentions "first"
    And stdout mentions "third"
    And stderr mentions "1 of the runs cannot be read"
    Given a server
    When I ask for "/v1/runs?limit=2&order=asc" without a token
    Then the answer is 200
    And the answer mentions "first"
    And the answer mentions "third"
    And the answer mentions "a value that Rondo never writes"
    When I ask for "/v1/runs?limit=1&order=asc&sort=agent" without a token
    Then the answer mentions "first"
    And the answer mentions "next_cursor"

    Examples:
      | change                     |
      | status = 99                |
      | id = 'nothing'             |
      | created_ns = -1, epoch = 5 |

  Scenario Outline: An event that cannot be read does not hide those of other runs: <change>
    Given a worker
      """
      false
      """
    When I run `rondo loop -q -n 1 --agent first -- ./worker.sh`
    And the first events are damaged: "<change>"
    Given a server
    When I run `rondo loop -q -n 1 --agent second -- ./worker.sh`
    And I ask for "/v1/events?after=0" without a token
    Then the answer is 200
    And the answer mentions "second"
    And "/v1/warnings" soon mentions "second"

    Examples:
      | change                         |
      | data = '[]'                    |
      | data = '[]' WHERE position = 1 |
      | type = '' WHERE position > 1   |

  @file-store
  Scenario: A server whose store was deleted says so to everybody
    Given a worker
      """
      true
      """
    When I run `rondo loop -q -n 1 -- ./worker.sh`
    Given a server
    When somebody deletes the store
    And I post to "/v1/runs"
      """
      {"command": ["./worker.sh"]}
      """
    Then the answer is the problem "store_failed" with 503
    And the answer mentions "was deleted or replaced while it was in use"
    And the answer mentions "Restore it from a backup"
    When I ask for "/v1/runs" without a token
    Then the answer is the problem "store_failed" with 503
    When I ask for "/readyz" without a token
    Then the answer is the problem "store_failed" with 503
    And the answer mentions "the store fails; the messages of the server say why"
    When I post to "/v1/runs" with the key "monday-1"
      """
      {"command": ["./worker.sh"]}
      """
    Then the answer is the problem "store_failed" with 503

  # ---- Agents of role files ----

  Scenario: An agent is started over HTTP and followed to its end
    Given a model that answers
      | says     | calls                                                                          | tokens |
      | Let me.  | think {"thought": "what is it?"}                                               | 100/10 |
      |          | update_plan {"steps": [{"description": "Look at it", "status": "in_progress"}]} | 10/2   |
      |          | finish_task {"summary": "all good"}                                            | 120/8  |
    And a role with
      """
      tools: [{type: think}]
      """
    And a server
    When I post to "/v1/runs"
      """
      {"role_file": "role.yaml", "prompt": "The task"}
      """
    Then the answer is 201 with
      | agent_id | worker  |
      | status   | running |
    When I follow the events of the run
    Then what I follow comes to "run.finished"
    And what I followed has the numbers from 1 on without gap
    And the run soon has the status "completed"
    And the answer has, among others
      | kind               | role        |
      | summary            | all good    |
      | tokens             | 250         |
      | plan.0.description | Look at it  |
      | plan.0.status      | in_progress |
    And the model was asked 3 times

  Scenario: Agents whose servers of tools say nothing hold up nobody
    Given the variable "OPENAI_API_KEY" is "sk-never-used"
    And a role with
      """
      tools: [{type: mcp, transport: stdio, command: sleep, args: ["1000"]}]
      """
    And a server with `--drain 1s`
    When I post to "/v1/runs" 6 times and wait for no answer
      """
      {"role_file": "role.yaml", "prompt": "The task"}
      """
    Then the server executes 6 runs
    And each of these is answered with 200 within 5 seconds
      | /healthz   |
      | /v1/runs   |
      | /v1/health |
    When I end the server with TERM
    Then the server ended with 0
    And no post that I sent was answered with 201

  @A-SC-005 @A-SC-006
  Scenario: The server is killed while the model thinks: the run is taken over, and no answer is paid for twice
    Given a command "note" in the project
      """
      echo "$*" >>notes
      """
    And a role with
      """
      tools: [{type: shell, require_confirmation: false}]
      """
    And a model that calls "run_shell" with {"command": "./note turn {turn}"} in 6 iterations, and hangs in turn 6
    And a server
    When I post to "/v1/runs"
      """
      {"role_file": "role.yaml", "prompt": "The task"}
      """
    Then the answer is 201
    When the model has been asked 6 times
    And I end the server with KILL
    And the server starts again
    Then the run soon has the status "completed"
    And iterations 1 to 6 finished once each
    And the model server has answered each turn at most once
    And a repeated request had the same body and the same idempotency key
    And each call of a tool has one result
    And the file "notes" has no line twice
    And the journal has an event "run.claimed" with
      | how | takeover |

  @A-SC-005 @A-SC-006
  Scenario: The server is killed twice at any time: what is recorded is not asked again, what is not, by the same key
    Given a role with
      """
      tools: [{type: think}]
      """
    And a model that calls "think" with {"thought": "{turn}"} in 30 iterations
    And a server
    When I post to "/v1/runs"
      """
      {"role_file": "role.yaml", "prompt": "The task", "max_iterations": 40}
      """
    And the run has come to iteration 5
    And I end the server with KILL
    And the server starts again
    And the run has come to iteration 15
    And I end the server with KILL
    And the server starts again
    Then the run soon has the status "completed"
    And iterations 1 to 30 finished once each
    And at most 2 requests were repeated, with the same body and the same idempotency key

  # ---- Who may ----

  Scenario: Tokens say who may do what
    Given a server with `--require-token`
    When I ask for "/v1/runs" without a token
    Then the answer is the problem "unauthorized" with 401
    When I run `rondo token create watcher --scope read`
    And I ask for "/v1/runs" with the token that was printed
    Then the answer is 200
    When I post to "/v1/runs" with the token that was printed
      """
      {"command": ["true"], "agent_id": "a"}
      """
    Then the answer is the problem "forbidden" with 403
    When I run `rondo token revoke watcher`
    And I ask for "/v1/runs" with the token that was printed
    Then the answer is the problem "unauthorized" with 401

  Scenario: A page of another site cannot use the server
    Given a server
    When I ask for "/v1/runs" with the header "Host: evil.example"
    Then the answer is the problem "bad_host" with 421
    When I post to "/v1/runs" with the header "Origin: https://evil.example"
      """
      {"command": ["true"], "agent_id": "a"}
      """
    Then the answer is the problem "bad_origin" with 403

  Scenario: An address that is taken is named
    Given a server
    When I run `rondo serve --listen $ADDRESS --store other.db`
    Then the exit code is 1
    And stderr mentions "address already in use"
