@serve
Feature: People are warned before a limit is reached

  Background:
    Given somebody who listens at an address
    And I run `rondo sinks add ops --webhook $HOOK/warnings`

  @A-US4-3 @A-FR-010 @A-SC-008
  Scenario: Operators are told at 80 per cent, with what is left
    Given an agent is executing with a policy limit of 10 iterations
    And a worker
      """
      true
      """
    And a server
    When I run `rondo loop --agent near -- ./worker.sh`
    Then somebody is told of a warning of kind "limit" with
      | agent_id   | near       |
      | limit_name | iterations |
      | limit      | 10         |
      | value      | 8          |
      | remaining  | 2          |
    And somebody is told of a warning of kind "policy" with
      | agent_id | near |
    And every message is signed with the secret that was printed
    And `rondo warnings` names "near"

  @A-US4-3 @A-SC-008
  Scenario: A step that jumps over the threshold warns too
    Given a worker
      """
      echo '{"usage":{"tokens":95}}' >"$RONDO_RESULT_FILE"
      """
    And a server
    When I run `rondo loop --agent jumper --max-tokens 100 --max-iterations 5 -- ./worker.sh`
    Then somebody is told of a warning of kind "limit" with
      | limit_name | tokens |
      | limit      | 100    |
      | value      | 95     |
      | remaining  | 5      |

  @A-US4-3 @A-SC-008
  Scenario: A run that completes in its last step was near its limit all the same
    Given a worker
      """
      echo '{"usage":{"tokens":90}}' >"$RONDO_RESULT_FILE"
      """
    And a server
    When I run `rondo loop --agent done --max-tokens 100 --until ok=true -- ./worker.sh`
    Then the exit code is 0
    And somebody is told of a warning of kind "limit" with
      | limit_name | tokens |
      | value      | 90     |

  @A-US4-4 @A-FR-011 @A-SC-008
  Scenario: After a raise over HTTP the run goes on and the new threshold counts
    Given an agent is executing with a policy limit of 10 iterations
    And a worker that stops to wait in iteration 9
      """
      true
      """
    And a server
    When I start `rondo loop --agent raised -- ./worker.sh`
    And iteration 9 is being worked on
    And I put to "/v1/policies" the limit of 20 iterations
    Then the answer is 200
    When the worker may go on
    And it has ended
    Then its exit code is 5
    And iterations 1 to 20 finished once each
    And the journal has an event "policy.changed"
    And somebody is told of a warning of kind "limit" with
      | limit | 20 |
      | value | 16 |
    And somebody was told of 2 warnings of kind "limit"

  @A-SC-008
  Scenario: A warning is not lost while nobody serves, and comes once
    Given an agent is executing with a policy limit of 10 iterations
    And a worker
      """
      true
      """
    When I run `rondo loop --agent early -- ./worker.sh`
    And a server
    Then somebody is told of a warning of kind "limit" with
      | agent_id | early |
    When I end the server with KILL
    And the server starts again
    And I run `rondo loop --agent late -- ./worker.sh`
    Then somebody is told of a warning of kind "limit" with
      | agent_id | late |
    And somebody was told of 2 warnings of kind "limit"

  Scenario: A listener that is down is tried again
    Given a worker
      """
      exit 1
      """
    And the listener answers 503 once
    And a server
    When I run `rondo loop --agent failing --max-failures 1 -- ./worker.sh`
    Then somebody is told of a warning of kind "ended" with
      | agent_id | failing |
      | status   | failed  |
    And the same message came 2 times

  Scenario: A command is told as well
    Given a worker
      """
      exit 1
      """
    And I run `rondo sinks add pager --command -- sh -c 'echo "$RONDO_WARNING_KIND $RONDO_WARNING_AGENT" >>$PROJECT/paged'`
    And a server
    When I run `rondo loop --agent failing --max-failures 1 -- ./worker.sh`
    And the file "paged" appears
    Then the file "paged" has the line "ended failing"

  @A-US4-3 @A-FR-010 @A-SC-008
  Scenario: A policy says itself from where on it warns
    Given the policies
      """
      permit (principal, action, resource);
      @id("half") @warn_at("50")
      forbid (principal, action == Action::"iterate", resource) when { context.iteration >= 6 };
      """
    And a worker
      """
      true
      """
    And a server
    When I run `rondo loop --agent careful -- ./worker.sh`
    Then somebody is told of a warning of kind "limit" with
      | limit     | 6 |
      | value     | 3 |
      | remaining | 3 |
    And somebody was told of 1 warning of kind "limit"

  @A-US4-4 @A-SC-008
  Scenario: A limit that is lowered below what is used up warns
    Given a worker that stops to wait in iteration 5
      """
      true
      """
    And a server
    When I post to "/v1/runs"
      """
      {"command": ["./worker.sh"], "agent_id": "lowered", "max_iterations": 1000}
      """
    And iteration 5 is being worked on
    And I post to "/v1/runs/$RUN/limits"
      """
      {"max_iterations": 4}
      """
    Then the answer is 202
    When the worker may go on
    Then the run soon has the status "max_iterations"
    And somebody is told of a warning of kind "limit" with
      | agent_id  | lowered |
      | limit     | 4       |
      | value     | 5       |
      | remaining | 0       |
    And iterations 1 to 5 finished once each

  @A-SC-008
  Scenario Outline: Every kind of limit warns: <limit>
    Given a worker
      """
      <worker>
      """
    And a server
    When I run `rondo loop --agent spender --max-iterations 4 <option> -- ./worker.sh`
    Then somebody is told of a warning of kind "limit" with
      | limit_name | <limit> |
      | limit      | <most>  |

    Examples:
      | limit      | most       | option             | worker                                               |
      | iterations | 4          |                    | true                                                 |
      | tokens     | 100        | --max-tokens 100   | echo '{"usage":{"tokens":30}}' >"$RONDO_RESULT_FILE" |
      | cost       | 1          | --max-cost 1       | echo '{"usage":{"cost":0.45}}' >"$RONDO_RESULT_FILE" |
      | time       | 1000000000 | --time-limit 1s    | sleep 0.3                                            |
      | time       | 400000000  | --time-limit 400ms | sleep 4                                              |

  @A-SC-008 @A-SC-005
  Scenario: A run whose process is killed behind the threshold has warned once when it is taken over
    Given a worker that stops to wait in iteration 9
      """
      true
      """
    And a server
    When I start `rondo loop --agent orphan --max-iterations 10 -- ./worker.sh`
    And iteration 9 is being worked on
    Then somebody is told of a warning of kind "limit" with
      | value | 8 |
    When I kill it with KILL
    And the worker may go on
    Then the run of "orphan" soon has the status "max_iterations"
    And somebody is told of a warning of kind "policy" with
      | agent_id | orphan |
    And somebody was told of 1 warning of kind "limit"

  @A-FR-010 @A-SC-008 @A-EDGE-4
  Scenario: Many runs that come near their limits at the same time are each told once
    Given a worker
      """
      true
      """
    And a server
    When I start 30 runs of 5 iterations over HTTP
    Then all of them soon have the status "max_iterations"
    And somebody is told of each of them once, at 4 of 5

  @A-EDGE-2
  Scenario: Checkpoints that cannot be saved are told
    Given a store on a disk of 1 MiB
    And I run `rondo sinks add ops --webhook $HOOK/warnings`
    And a worker that keeps the disk full from iteration 2 on and empties it in iteration 4
    And a server
    When I run `rondo loop --agent full --max-iterations 5 --durability best-effort -- ./worker.sh`
    Then the exit code is 5
    And somebody is told of a warning of kind "storage" with
      | agent_id | full |

  @A-EDGE-2 @A-SC-005
  Scenario: A server whose disk is full says that it is not ready, tells people when it has room, and its run goes on
    Given a store on a disk of 1 MiB
    And I run `rondo sinks add ops --webhook $HOOK/warnings`
    And a worker that stops to wait in iteration 2
      """
      head -c 100000 /dev/urandom >"$RONDO_STATE_FILE"
      """
    And a server
    When I post to "/v1/runs"
      """
      {"command": ["./worker.sh"], "agent_id": "full", "max_iterations": 3, "durability": "strict"}
      """
    And iteration 2 is being worked on
    And the disk is full
    And the worker may go on
    Then "/readyz" is soon answered with 503
    When the disk has room again
    Then "/readyz" is soon answered with 200
    And the run soon has the status "max_iterations"
    And somebody is told of a warning of kind "storage" with
      | agent_id | full |
    And iterations 1 to 3 finished once each

  @A-EDGE-1
  Scenario: A run that cannot go on is told
    Given a worker
      """
      rm worker.sh
      """
    And a server
    When I run `rondo loop --agent broken --max-iterations 3 -- ./worker.sh`
    Then the exit code is 1
    And somebody is told of a warning of kind "ended" with
      | agent_id | broken |
      | status   | error  |

  Scenario: A run that has gone silent is told
    Given a worker that stops to wait in iteration 2
      """
      true
      """
    And a server with `--stall-after 500ms`
    When I start `rondo loop --agent silent --max-iterations 2 -- ./worker.sh`
    Then somebody is told of a warning of kind "stalled" with
      | agent_id | silent |
    When the worker may go on
    And it has ended
    Then its exit code is 5

  Scenario: Policies that cannot be read are told
    Given an agent is executing with a policy limit of 3 iterations
    And a worker that stops to wait in iteration 2
      """
      true
      """
    And a server
    When I start `rondo loop --agent kept -- ./worker.sh`
    And iteration 2 is being worked on
    And the administrator replaces the policies with
      """
      premit (principal, action, resource);
      """
    And the worker may go on
    And it has ended
    Then its exit code is 5
    And iterations 1 to 3 finished once each
    And somebody is told of a warning of kind "policy_refused" with
      | agent_id | kept |
