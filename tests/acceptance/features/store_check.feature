@store
Feature: A store is checked and brought up to date

  Background:
    Given a worker
      """
      echo "state $RONDO_ITERATION" >"$RONDO_STATE_FILE"
      """

  Scenario: A store that is whole
    When I run `rondo loop -q --max-iterations 3 -- ./worker.sh`
    And I run `rondo store check`
    Then the exit code is 0
    And stdout mentions "1 run, "
    And stdout mentions "3 checkpoints"
    And stdout mentions "the store is intact"
    When I run `rondo store check --json`
    Then the exit code is 0
    And stdout mentions "\"is_healthy\":true"

  Scenario: A damaged checkpoint is found, and named with its run
    When I run `rondo loop -q --max-iterations 3 -- ./worker.sh`
    And the newest checkpoint is damaged
    And I run `rondo store check`
    Then the exit code is 1
    And stdout mentions "checkpoint 3 of iteration 3: its"
    And stdout mentions "the store is not intact"

  Scenario Outline: Damage of one run does not hide what others have: <change>
    When I run `rondo loop -q -n 1 --agent first -- ./worker.sh`
    And I run `rondo loop -q -n 1 --agent second -- ./worker.sh`
    And the first events are damaged: "<change>"
    And I run `rondo store check --json`
    Then the exit code is 1
    And stdout mentions "2 runs, "
    And stdout mentions "<detail>"

    Examples:
      | change                         | detail                          |
      | data = '[]' WHERE position = 1 | a value that Rondo never writes |
      | seq = 9 WHERE position = 3     | event 3                         |

  Scenario: A row that cannot be read is damage
    When I run `rondo loop -q -n 1 --agent first -- ./worker.sh`
    And I run `rondo loop -q -n 1 --agent second -- ./worker.sh`
    And the row of the run of "first" is damaged: "status = 99"
    And I run `rondo store check`
    Then the exit code is 1
    And stdout mentions "1 run, "
    And stdout mentions "of a run has a value that Rondo never writes"

  Scenario: A document that cannot be read is damage
    When I run `rondo loop -q -n 1 -- ./worker.sh`
    And the store is changed: "INSERT INTO documents VALUES ('notes', 'one', 1, 1, '{}'), ('later', 'two', 1, 1, '{}')"
    And I run `rondo store check`
    Then the exit code is 0
    And stdout mentions "2 documents"
    When the store is changed: "UPDATE documents SET data = '{' WHERE key = 'two'"
    And I run `rondo store check`
    Then the exit code is 1
    And stdout mentions "of a document has a value that Rondo never writes"
    And stdout mentions "1 document, "

  Scenario: A store of an older Rondo is brought up to date, and a newer one is left as it is
    When I run `rondo loop -q -n 1 -- ./worker.sh`
    And the store is changed: "ALTER TABLE runs DROP COLUMN parent; PRAGMA user_version = 8"
    And I run `rondo store migrate`
    Then the exit code is 0
    And stdout mentions "was migrated from schema 8 to 9"
    When I run `rondo store migrate`
    Then the exit code is 0
    And stdout mentions "has schema 9 already"
    When I run `rondo store migrate --json`
    Then stdout mentions "\"from\":9,\"to\":9"
    When the store is changed: "PRAGMA user_version = 10"
    And I run `rondo store migrate`
    Then the exit code is 10
    And stderr mentions "has schema version 10, but this program knows versions up to 9"

  Scenario: A store that does not exist is not made
    When I run `rondo store check nothing.db`
    Then the exit code is 2
    And stderr mentions "cannot open the store"
    When I run `rondo store migrate nothing.db`
    Then the exit code is 2
    And the file "nothing.db" does not exist

  @postgres
  Scenario: A store in PostgreSQL is checked and has its schema
    Given a PostgreSQL store
    When I run `rondo loop -q --max-iterations 3 -- ./worker.sh`
    And I run `rondo store check`
    Then the exit code is 0
    And stdout mentions "3 checkpoints"
    And stdout mentions "synchronous_commit=on"
    When I run `rondo store migrate`
    Then the exit code is 0
    And stdout mentions "has schema 12 already"
    When the database performs "UPDATE rondo.checkpoints SET state = 'ruined'::bytea WHERE number = 2"
    And the database performs "DELETE FROM rondo.events WHERE seq = 4"
    And I run `rondo store check`
    Then the exit code is 1
    And stdout mentions "checkpoint 2 of iteration 2: its"
    And stdout mentions "the store is not intact"
