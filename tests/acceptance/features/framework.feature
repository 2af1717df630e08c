Feature: An agent of one's own on top of librondo
  An agent developer keeps the loop in their own program. The library adds
  checkpoints, a journal, limits and exit conditions around it.

  @A-US1-1 @A-FR-001
  Scenario: Default settings are enough to get checkpoints and a journal
    Given the agent program "default.c"
    When it is compiled against librondo
    And the program runs with "3"
    Then the exit code is 0
    And its output has the line "status completed"
    And iterations 1 to 3 were each started and finished once
    And the newest checkpoint is of iteration 3
    And the last event is "run.finished" with status "completed"

  @A-US1-2
  Scenario: A limit of 50 iterations stops the agent and tells it why
    Given the agent program "limit.c"
    When it is compiled against librondo
    And the program runs with "50"
    Then the exit code is 0
    And its output has the line "bodies 50"
    And its output has the line "status max_iterations"
    And its output has the line "violation policy=limit.iterations limit_name=iterations limit=50 value=50 iteration=51"
    And the journal has an event "gate.denied" with
      | iteration  | 51               |
      | status     | max_iterations   |
      | policy     | limit.iterations |
      | limit_name | iterations       |
      | limit      | 50               |
    And the journal has no event "iteration.started" with
      | iteration | 51 |

  @A-US1-2
  Scenario: A token budget that is used up is a violation with its own status
    Given the agent program "budget.c"
    When it is compiled against librondo
    And the program runs with "100"
    Then its output has the line "status budget_exceeded"
    And its output has the line "violation policy=limit.tokens limit_name=tokens limit=100 value=120 iteration=5"

  @A-US1-3 @A-FR-003 @A-FR-004
  Scenario: The agent evaluates its exit conditions through the library
    Given a Makefile with the target "test" that runs "true"
    And the agent program "conditions.c"
    When it is compiled against librondo
    And the program runs with "all_tests_pass build_succeeds=false"
    Then its output has the line "condition all_tests_pass command=make test"
    And its output has the line "evaluated all_tests_pass met passed"
    And its output has the line "evaluated build_succeeds not_met failed"
    And its output has the line "all met no"
    When the program runs with "all_tests_pass build_succeeds=true"
    Then its output has the line "all met yes"
    And its output has the line "status completed"

  @A-US1-4 @A-FR-005
  Scenario: A checkpoint on demand carries the iteration and is in the journal
    Given the agent program "checkpoint.c"
    When it is compiled against librondo
    And the program runs with "save 2"
    Then its output has the line "saved in iteration 2"
    And the journal has an event "checkpoint.saved" with
      | iteration | 2      |
      | how       | demand |
    And the checkpoint of that event holds the state "state of iteration 2"

  @A-EDGE-1
  Scenario: An unrecoverable error ends the run with a final checkpoint
    Given the agent program "abort.c"
    When it is compiled against librondo
    And the program runs with "3"
    Then its output has the line "status error"
    And the newest checkpoint is of iteration 3
    And the journal has an event "iteration.finished" with
      | iteration | 3               |
      | outcome   | error           |
      | message   | the disk melted |
    And the last event is "run.finished" with status "error"

  @A-FR-012 @A-US2-4
  Scenario: The agent resumes from its checkpoint after a kill
    Given the agent program "checkpoint.c"
    When it is compiled against librondo
    And the program runs with "die 15"
    Then the program was killed
    When the program runs with "resume 18"
    Then its output has the line "resumed state state of iteration 14"
    And its output has the line "first iteration 15"
    And its output has the line "status completed"
    And no iteration finished twice

  @A-FR-013
  Scenario: A run that executes cannot be entered a second time
    Given the agent program "reentry.c"
    When it is compiled against librondo
    And the program runs with ""
    Then its output has the line "second entry RONDO_ERR_BUSY"
    And its output has the line "the message names the holder"
    And its output has the line "exclusive agent RONDO_ERR_BUSY"

  @A-SC-003
  Scenario: A saved checkpoint is durable within ten seconds
    Given the agent program "checkpoint.c"
    When it is compiled against librondo
    And the program runs with "time 1048576"
    Then the printed "milliseconds" is at most 10000
