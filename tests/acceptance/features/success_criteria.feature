Feature: Measurable outcomes

  @A-SC-001
  Scenario: The first iteration begins within five seconds
    Given a worker
      """
      true
      """
    When I run `rondo loop --max-iterations 1 -- ./worker.sh`
    Then the first iteration began within 5 seconds of the command

  @A-SC-002
  Scenario: A verifier has thirty seconds unless told otherwise
    Given a worker
      """
      true
      """
    When I run `rondo loop --max-iterations 1 --until ok=true -- ./worker.sh`
    Then the recorded options give condition "ok" 30 seconds
    And every evaluation took less than 30 seconds

  @A-SC-005 @A-FR-007
  Scenario Outline: Every way to end has its status: <status>
    Given a worker
      """
      <worker>
      """
    When I run `rondo loop <options> -- ./worker.sh`
    Then the exit code is <code>
    And the last event is "run.finished" with status "<status>"

    Examples:
      | status          | code | options                                        | worker                                                                       |
      | completed       | 0    | --until ok=true                                | true                                                                         |
      | error           | 1    | --max-iterations 2                             | rm worker.sh                                                                 |
      | failed          | 3    | --max-failures 2                               | exit 1                                                                       |
      | blocked         | 4    | --until ok=false                               | echo '{"finish":{"status":"blocked","summary":"no key"}}' >"$RONDO_RESULT_FILE" |
      | max_iterations  | 5    | --max-iterations 2                             | true                                                                         |
      | budget_exceeded | 7    | --max-tokens 100                               | echo '{"usage":{"tokens":60}}' >"$RONDO_RESULT_FILE"                         |
      | timeout         | 8    | --time-limit 500ms --max-iterations 1000       | sleep 0.1                                                                    |

  @A-SC-006
  Scenario Outline: A kill costs at most the iteration in flight: interval <interval>
    Given a worker that stops to wait in iteration 5
      """
      echo "$RONDO_ITERATION" >>bodies
      """
    When I start `rondo loop --max-iterations 7 --checkpoint-interval <interval> -- ./worker.sh`
    And iteration 5 is being worked on
    And I kill it with KILL
    And the worker may go on
    And I run `rondo resume last`
    Then the exit code is 5
    And the journal has an event "iteration.started" with
      | iteration | 5 |
      | attempt   | 2 |
    And iterations 1 to 7 finished once each
    And the file "bodies" has each of 1 to 7 once but 5 at most twice

    Examples:
      | interval |
      | 1        |
      | 3        |

  @A-SC-007
  Scenario: Nine agents work at the same time, none waits for the end of another
    Given a worker that ends each iteration only when nine runs are in it
    When nine agents run 5 iterations each at the same time
    Then each of them exits with code 5
