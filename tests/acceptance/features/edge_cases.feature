Feature: Edge cases of autonomous execution

  @A-EDGE-1
  Scenario: A worker that cannot be started ends the run with status error
    When I run `rondo loop -- ./no-such-worker`
    Then the exit code is 1
    And stderr mentions "no-such-worker"
    And the last event is "run.finished" with status "error"

  @A-EDGE-1
  Scenario: An error ends the run with a final checkpoint when the interval was not reached
    Given a worker
      """
      echo "$RONDO_ITERATION" >"$RONDO_STATE_FILE"
      if [ "$RONDO_ITERATION" = 2 ]; then rm worker.sh; fi
      """
    When I run `rondo loop --checkpoint-interval 10 -- ./worker.sh`
    Then the exit code is 1
    And the newest checkpoint is of iteration 3

  @A-EDGE-2
  Scenario: On a full disk a strict run ends with a clear error
    Given a store on a disk of 1 MiB
    And a worker that keeps the disk full from iteration 2 on
    When I run `rondo loop --max-iterations 4 --durability strict -- ./worker.sh`
    Then the exit code is 10 or 1
    And stderr mentions "space"
    And after the disk has room again the store is intact

  @A-EDGE-2
  Scenario: On a full disk a best-effort run goes on and says so
    Given a store on a disk of 1 MiB
    And a worker that keeps the disk full from iteration 2 on and empties it in iteration 4
    When I run `rondo loop --max-iterations 5 --durability best-effort -- ./worker.sh`
    Then the exit code is 5
    And stderr mentions "checkpoint"
    And the journal has an event "storage.degraded" with
      | failures | * |
    And iterations 1 to 5 finished once each
    And after the disk has room again the store is intact

  @file-store
  Scenario Outline: A limit of file sizes is a clear error and no sudden death: <blocks> blocks
    Given a worker
      """
      head -c 20000 /dev/urandom >"$RONDO_STATE_FILE"
      """
    When I run `sh -c 'ulimit -f <blocks>; exec rondo loop --max-iterations 40 -- ./worker.sh'`
    Then the exit code is 10
    And stderr mentions "limit of file sizes"
    When I run `rondo loop --max-iterations 1 -- ./worker.sh`
    Then the exit code is 5

    Examples:
      | blocks |
      | 20     |
      | 60     |
      | 200    |
      | 801    |

  Scenario: Children get the default action for files that are too large
    Given a worker
      """
      ulimit -f 1
      head -c 20000 /dev/zero >"$RONDO_STATE_FILE"
      """
    When I run `rondo loop --max-failures 1 -- ./worker.sh`
    Then the exit code is 3
    And the journal has an event "iteration.finished" with
      | exit_code | 153 |

  @A-EDGE-3
  Scenario: A verifier that takes too long leaves its condition unmet
    Given a worker
      """
      echo "$RONDO_ITERATION" >turn
      """
    When I run `rondo loop --max-iterations 3 --verify-timeout 4s --until 'slow=grep -q 2 turn || sleep 60' -- ./worker.sh`
    Then the exit code is 0
    And after iteration 1 condition "slow" was "not_met"
    And the journal has an event "condition.evaluated" with
      | iteration | 1         |
      | name      | slow      |
      | status    | not_met   |
      | reason    | timed_out |
    And after iteration 2 condition "slow" was "met"
    And no process of "sleep 60" is left

  @A-EDGE-3
  Scenario: A verifier that crashes leaves its condition unmet
    Given a worker
      """
      true
      """
    When I run `rondo loop --max-iterations 1 --until 'broken=kill -SEGV $$' -- ./worker.sh`
    Then the exit code is 5
    And the journal has an event "condition.evaluated" with
      | name   | broken  |
      | status | not_met |
      | reason | crashed |

  @A-EDGE-4
  Scenario: Several agents reach their limits at the same time, each by itself
    Given a worker
      """
      true
      """
    When these run at the same time
      | rondo loop --agent a1 --max-iterations 3 -- ./worker.sh |
      | rondo loop --agent a2 --max-iterations 3 -- ./worker.sh |
      | rondo loop --agent a3 --max-iterations 3 -- ./worker.sh |
      | rondo loop --agent a4 --max-iterations 3 -- ./worker.sh |
    Then each of them exits with code 5
    And each agent "a1", "a2", "a3", "a4" has one run with status "max_iterations" after 3 iterations

  @A-EDGE-5 @A-FR-013
  Scenario: Exit conditions cannot be changed while a run executes
    Given a worker that stops to wait in iteration 2
      """
      true
      """
    When I start `rondo loop --max-iterations 3 --until never=false -- ./worker.sh`
    And iteration 2 is being worked on
    And I run `rondo resume last --max-iterations 9`
    Then the exit code is 9
    When the worker may go on
    And it has ended
    Then its exit code is 5
    And the journal has no event "run.options"

  @A-EDGE-6
  Scenario: Conditions that contradict each other are reported, not judged
    Given a worker
      """
      if [ $((RONDO_ITERATION % 2)) = 0 ]; then touch mark; else rm -f mark; fi
      """
    When I run `rondo loop --max-iterations 4 --until 'with=test -e mark' --until 'without=test ! -e mark' -- ./worker.sh`
    Then the exit code is 5
    And after iteration 1 condition "with" was "not_met"
    And after iteration 1 condition "without" was "met"
    And after iteration 2 condition "with" was "met"
    And after iteration 2 condition "without" was "not_met"

  @A-EDGE-7
  @file-store
  Scenario Outline: A damaged checkpoint is reported and never used: <policy>
    Given a worker
      """
      cat "$RONDO_STATE_FILE" >"found-$RONDO_ITERATION"; echo "state $RONDO_ITERATION" >"$RONDO_STATE_FILE"
      """
    When I run `rondo loop --max-iterations 3 -- ./worker.sh`
    And the newest checkpoint is damaged
    And I run `rondo resume last --max-iterations 4 --on-corrupt <policy>`
    Then the exit code is <code>
    And stderr mentions "checkpoint"
    And iteration 4 found the state "<state>"

    Examples:
      | policy   | code | state   |
      | previous | 5    | state 2 |
      | fresh    | 5    |         |
      | fail     | 10   | *none   |

  @A-EDGE-7
  @file-store
  Scenario: The journal says which checkpoint was damaged
    Given a worker
      """
      echo "state $RONDO_ITERATION" >"$RONDO_STATE_FILE"
      """
    When I run `rondo loop --max-iterations 3 -- ./worker.sh`
    And the newest checkpoint is damaged
    And I run `rondo resume last --max-iterations 4`
    Then the journal has an event "checkpoint.corrupt" with
      | number | 3 |
