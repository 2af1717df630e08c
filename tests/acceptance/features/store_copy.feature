@store
Feature: A store is copied

  Background:
    Given a worker
      """
      echo "state $RONDO_ITERATION" >"$RONDO_STATE_FILE"
      """

  @postgres
  Scenario: A store goes from a file to a database and back, and its runs go on
    Given a command "note" in the project
      """
      echo "$*" >>notes
      """
    And a role with
      """
      tools: [{type: shell}]
      """
    And a model that answers
      | calls                               |
      | run_shell {"command": "./note one"} |
      | finish_task {"summary": "done"}     |
    When I run `RONDO_STORE=old.db rondo loop -q --max-iterations 3 -- ./worker.sh`
    And I run `RONDO_STORE=old.db rondo memory add --agent fixer "The staging host is stage-2."`
    Then the exit code is 0
    When I run `RONDO_STORE=old.db rondo run role.yaml -p x -a`
    Then the exit code is 11
    Given a PostgreSQL store
    When I run `rondo store copy old.db "$RONDO_STORE"`
    Then the exit code is 0
    And stdout mentions " is a copy: 2 runs, "
    And stdout mentions "1 memory"
    And stdout mentions "compared by SHA-256"
    When I run `rondo store check`
    Then the exit code is 0
    And stdout mentions "the store is intact"
    When I run `rondo store copy --verify old.db "$RONDO_STORE"`
    Then the exit code is 0
    And stdout mentions " has the same content: 2 runs, "
    When I run `rondo store copy old.db "$RONDO_STORE"`
    Then the exit code is 0
    And stdout mentions "was copied before"
    When I run `rondo store copy "$RONDO_STORE" new.db`
    Then the exit code is 0
    And stdout mentions " is a copy: 2 runs, "
    When I run `rondo store copy --verify old.db new.db`
    Then the exit code is 0
    When I run `rondo memory search --agent fixer staging`
    Then stdout mentions "stage-2"
    When I approve the call that waits
    Then the exit code is 0
    When I run `rondo resume last`
    Then the exit code is 0
    And the file "notes" has the lines "one"
    When I run `rondo store copy --verify old.db "$RONDO_STORE"`
    Then the exit code is 1
    And stdout mentions "its journal differs"

  Scenario: The policies in force are in force in the copy
    Given a file "policies.cedar" with
      """
      permit (principal, action, resource);
      @id("limit.two") @reason("enough")
      forbid (principal, action == Action::"iterate", resource) unless { context.iteration < 2 };
      """
    When I run `rondo loop -q -n 1 -- ./worker.sh`
    And I run `rondo policy set policies.cedar`
    Then the exit code is 0
    When I run `rondo store copy "$STATE/rondo.db" ../copies/new.db`
    Then the exit code is 0
    And stdout mentions "rondo.cedar"
    And the files "STATE/rondo.cedar" and "../copies/rondo.cedar" are equal
    When I run `rondo loop -q -n 5 --store ../copies/new.db -- ./worker.sh`
    Then stdout mentions "max_iterations after 2 iterations"

  Scenario: A policy file that is there already is not replaced
    Given a file "policies.cedar" with
      """
      permit (principal, action, resource);
      """
    And a file "copies/rondo.cedar" with
      """
      forbid (principal, action, resource);
      """
    When I run `rondo loop -q -n 1 -- ./worker.sh`
    And I run `rondo policy set policies.cedar`
    And I run `rondo store copy "$STATE/rondo.db" copies/new.db`
    Then the exit code is 2
    And stderr mentions "is not what is beside the other store"
    When I run `rondo runs --store copies/new.db`
    Then stderr mentions "that is not finished; run `rondo store copy` again with the same two stores"
    When I run `rm copies/rondo.cedar`
    And I run `rondo store copy "$STATE/rondo.db" copies/new.db`
    Then the exit code is 0
    When I run `rondo runs --store copies/new.db`
    Then the exit code is 0

  Scenario: A run that is being executed is not copied
    Given a worker that stops to wait in iteration 1
      """
      true
      """
    When I start `rondo loop --agent busy --max-iterations 1 -- ./worker.sh`
    And iteration 1 is being worked on
    And I run `rondo store copy "$STATE/rondo.db" new.db`
    Then the exit code is 9
    And stderr mentions "of busy in "
    And stderr mentions "stop all processes that use that store"
    When the worker may go on
    And it has ended
    And I run `rondo store copy "$STATE/rondo.db" new.db`
    Then the exit code is 0

  Scenario: What cannot be a target is refused
    When I run `rondo loop -q -n 1 --store one.db -- ./worker.sh`
    And I run `rondo loop -q -n 1 --store two.db -- ./worker.sh`
    And I run `rondo store copy one.db two.db`
    Then the exit code is 2
    And stderr mentions "two.db has runs already"
    When I run `rondo store copy one.db one.db`
    Then stderr mentions "are the same store"
    When I run `rondo store copy none.db three.db`
    Then stderr mentions "cannot open the store"
    And the file "three.db" does not exist
    When I run `rondo store copy --verify one.db two.db --json`
    Then the exit code is 1
    And stdout mentions "\"outcome\":\"different\""
    And stdout mentions "is not in"
