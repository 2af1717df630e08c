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
    And the listener answers 503 twice
    And a server
    When I run `rondo loop --agent failing --max-failures 1 -- ./worker.sh`
    Then somebody is told of a warning of kind "ended" with
      | agent_id | failing |
      | status   | failed  |
    And the same message came 3 times

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
