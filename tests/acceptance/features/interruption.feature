Feature: Interruptions, resuming, and one executor at a time

  Scenario: The first interrupt stops after a final checkpoint and can be resumed
    Given a worker that stops to wait in iteration 2
      """
      echo "state $RONDO_ITERATION" >"$RONDO_STATE_FILE"
      """
    When I start `rondo loop --max-iterations 3 -- ./worker.sh`
    And iteration 2 is being worked on
    And I send it INT
    And it has ended
    Then its exit code is 130
    And the last event is "run.finished" with status "cancelled"
    And the newest checkpoint is of iteration 1
    When the worker may go on
    And I run `rondo resume last`
    Then the exit code is 5
    And iterations 1 to 3 finished once each

  Scenario: TERM stops it like an interrupt
    Given a worker that stops to wait in iteration 1
      """
      true
      """
    When I start `rondo loop -- ./worker.sh`
    And iteration 1 is being worked on
    And I send it TERM
    And it has ended
    Then its exit code is 130
    And the last event is "run.finished" with status "cancelled"

  Scenario: The second interrupt stops at once, even when the worker ignores the first
    Given a worker
      """
      trap '' INT TERM; touch at-1; while :; do sleep 0.05; done
      """
    When I start `rondo loop -- ./worker.sh`
    And the file "at-1" appears
    And I send it INT
    And I send it INT
    And it has ended
    Then its exit code is 130
    # Five seconds after the first one the worker would have been killed.
    And stderr mentions "stopped at once by a second signal"
    And soon no process of "worker.sh" is left

  Scenario: A worker that ignores TERM is killed five seconds after the limit of time
    Given a worker
      """
      trap '' TERM; sleep 96 & while :; do sleep 0.05; done
      """
    When I run `rondo loop --time-limit 1s -- ./worker.sh`
    Then the exit code is 8
    And the last event is "run.finished" with status "timeout"
    And the run took less than 30 seconds
    And no process of "worker.sh" is left
    And no process of "sleep 96" is left

  Scenario: After kill -9 nothing of the worker is left and the run goes on
    Given a worker that stops to wait in iteration 2
      """
      sleep 95 &
      """
    When I start `rondo loop --max-iterations 3 -- ./worker.sh`
    And iteration 2 is being worked on
    And I kill it with KILL
    Then soon no process of "worker.sh" is left
    And soon no process of "sleep 95" is left
    When the worker may go on
    And I run `rondo resume last`
    Then the exit code is 5
    And the journal has an event "run.claimed" with
      | epoch | 2 |
    And iterations 1 to 3 finished once each

  Scenario Outline: When Rondo and its supervisor are killed together, a resume starts no worker beside what is left: <options>
    Given a file "out/beats" with
      """
      x
      """
    And a worker
      """
      if [ "$RONDO_ATTEMPT" = 1 ]; then
        setsid sh -c '<daemon>; while sleep 0.02; do printf x >>out/beats; done' &
        printf x >out/started
        sleep 95
      fi
      before=$(wc -c <out/beats); sleep 0.3
      [ "$before" = "$(wc -c <out/beats)" ] || printf x >out/beside
      """
    When I start `rondo loop --max-iterations 1 <options> -- ./worker.sh`
    And the file "out/started" appears
    And I kill it and its supervisor with KILL
    And I run `rondo resume last`
    Then the exit code is 5
    And the file "out/beside" does not exist
    And no process of "sleep 0.02" is left
    And no process of "sleep 95" is left
    And iterations 1 to 1 finished once each

    Examples:
      | options                                 | daemon                  |
      | --max-tokens 9                          | true                    |
      | --max-tokens 8                          | exec <&- >&- 2>&-       |
      | --max-tokens 7                          | unset RONDO_RUN_ID      |
      | --sandbox namespace --sandbox-write out | exec <&- >&- 2>&-       |
      | --sandbox landlock --sandbox-write out  | exec <&- >&- 2>&-       |

  Scenario: Limits count across a crash
    Given a worker that stops to wait in iteration 3
      """
      echo '{"usage": {"tokens": 10}}' >"$RONDO_RESULT_FILE"
      """
    When I start `rondo loop --max-iterations 100 --max-tokens 40 -- ./worker.sh`
    And iteration 3 is being worked on
    And I kill it with KILL
    And the worker may go on
    And I run `rondo resume last`
    Then the exit code is 7
    And iterations 1 to 4 finished once each

  Scenario: A run that ended at its limit can be resumed with a higher one
    Given a worker
      """
      true
      """
    When I run `rondo loop --max-iterations 2 -- ./worker.sh`
    And I run `rondo resume last --max-iterations 4`
    Then the exit code is 5
    And iterations 1 to 4 finished once each
    And the journal has an event "run.options"

  Scenario: A completed run cannot be resumed
    Given a worker
      """
      true
      """
    When I run `rondo loop --until ok=true -- ./worker.sh`
    And I run `rondo resume last`
    Then the exit code is 2 or 1
    And stderr mentions "completed"

  @A-FR-013
  Scenario: A second executor is told who holds the run
    Given a worker that stops to wait in iteration 1
      """
      true
      """
    When I start `rondo loop --max-iterations 1 -- ./worker.sh`
    And iteration 1 is being worked on
    And I run `rondo resume last`
    Then the exit code is 9
    And stderr mentions the process id of the holder

  @A-FR-013
  Scenario: An exclusive agent does not execute twice
    Given a worker that stops to wait in iteration 1
      """
      true
      """
    When I start `rondo loop --agent only --exclusive --max-iterations 1 -- ./worker.sh`
    And iteration 1 is being worked on
    And I run `rondo loop --agent only --exclusive --max-iterations 1 -- ./worker.sh`
    Then the exit code is 9
    And stderr mentions the process id of the holder
    When I run `rondo loop --agent another --exclusive --max-iterations 1 -- true`
    Then the exit code is 5

  @A-FR-013
  Scenario: Of two that resume at the same moment exactly one wins, ten times over
    Given a worker that stops to wait in iteration 2
      """
      true
      """
    Then ten races to resume a killed run each have exactly one winner

  @A-FR-013
  Scenario: A frozen owner that wakes after a take-over writes nothing more
    Given a worker that stops to wait in iteration 2
      """
      true
      """
    When I start `rondo loop --max-iterations 4 --lease 1s -- ./worker.sh`
    And iteration 2 is being worked on
    And I send it STOP
    And I resume the run as soon as its lease has ended
    Then the exit code is 5
    When the frozen one wakes up and has ended
    Then its exit code is 9 or 1 or 10
    And iterations 1 to 4 finished once each
    And no event of the former owner follows the take-over

  Scenario: Stop from another terminal
    Given a worker that stops to wait in iteration 2
      """
      true
      """
    When I start `rondo loop -- ./worker.sh`
    And iteration 2 is being worked on
    And I run `rondo stop last`
    Then the exit code is 0
    When it has ended
    Then its exit code is 130
    And the last event is "run.finished" with status "cancelled"
