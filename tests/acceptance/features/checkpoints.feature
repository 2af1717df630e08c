Feature: Checkpoints of a worker command
  The state that a worker leaves behind is kept at iteration boundaries, so that
  an interruption costs at most the iteration that was being worked on.

  Background:
    Given a worker
      """
      echo "iteration $RONDO_ITERATION" >"$RONDO_STATE_FILE"
      """

  @A-US2-1 @A-FR-005 @A-FR-006
  Scenario: A checkpoint at every third iteration
    When I run `rondo loop --max-iterations 7 --checkpoint-interval 3 -- ./worker.sh`
    Then the exit code is 5
    And there are checkpoints of the iterations 3, 6, 7
    And the checkpoint of iteration 3 has the state "iteration 3"
    And the checkpoint of iteration 3 has a time within the last 5 minutes
    And the checkpoint of iteration 3 has a SHA-256 digest

  @A-US2-1
  Scenario: Without an option there is a checkpoint at every iteration
    When I run `rondo loop --max-iterations 4 -- ./worker.sh`
    Then there are checkpoints of the iterations 1, 2, 3, 4

  @A-US2-2
  Scenario: Custom data of the worker is in the checkpoint
    Given a worker
      """
      echo '{"custom_data": {"progress": "50%"}}' >"$RONDO_RESULT_FILE"
      """
    When I run `rondo loop --max-iterations 1 -- ./worker.sh`
    Then the checkpoint of iteration 1 has the custom data {"progress":"50%"}
    And the journal has an event "checkpoint.saved" with
      | iteration | 1 |

  @A-US2-3 @A-FR-006
  Scenario: Statuses of the exit conditions are in the checkpoint
    When I run `rondo loop --max-iterations 1 --until good=true --until bad=false -- ./worker.sh`
    Then the checkpoint of iteration 1 has the conditions {"good":"met","bad":"not_met"}

  @A-US2-4 @A-SC-006 @A-FR-012
  Scenario: A run killed after iteration 15 goes on with iteration 16
    Given a worker that stops to wait in iteration 16
      """
      cat "$RONDO_STATE_FILE" >>seen; echo "iteration $RONDO_ITERATION" >"$RONDO_STATE_FILE"
      """
    When I start `rondo loop --max-iterations 18 -- ./worker.sh`
    And iteration 16 is being worked on
    And I kill it with KILL
    And the worker may go on
    And I run `rondo resume last`
    Then the exit code is 5
    And iteration 16 was started again after "iteration 15" was its state
    And iterations 1 to 18 finished once each

  Scenario: A state of several megabytes comes back byte for byte
    Given a worker
      """
      if [ "$RONDO_ITERATION" = 1 ]; then
        head -c 3000000 /dev/urandom >"$RONDO_STATE_FILE"; sha256sum <"$RONDO_STATE_FILE" >one
      else
        sha256sum <"$RONDO_STATE_FILE" >two
      fi
      """
    When I run `rondo loop --max-iterations 2 -- ./worker.sh`
    Then the files "one" and "two" are equal

  Scenario: A worker that removes its state file has none in the next iteration
    Given a worker
      """
      wc -c <"$RONDO_STATE_FILE" >>sizes
      if [ "$RONDO_ITERATION" = 1 ]; then echo abc >"$RONDO_STATE_FILE"; else rm "$RONDO_STATE_FILE"; fi
      """
    When I run `rondo loop --max-iterations 3 -- ./worker.sh`
    Then the file "sizes" has the lines "0", "4", "0"
