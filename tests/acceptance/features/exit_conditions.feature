Feature: Exit conditions are verified by the runtime
  A loop ends when commands say that the work is done, not when a worker claims it.

  Background:
    Given a worker
      """
      echo "$RONDO_ITERATION" >turn
      """

  @A-US3-1 @A-FR-003 @A-FR-004
  Scenario: all_tests_pass runs the project's tests
    Given a Makefile with the target "test" that runs "test -e turn"
    When I run `rondo loop --until all_tests_pass -- ./worker.sh`
    Then the exit code is 0
    And the messages say that "all_tests_pass" is checked by "make test"
    And condition "all_tests_pass" ended as "met" with reason "passed" and exit code 0
    And iterations 1 to 1 finished once each
    And the last event is "run.finished" with status "completed"

  @A-US3-2 @A-FR-004
  Scenario: build_succeeds runs the project's build
    Given a Makefile with the target "build" that runs "grep -q 2 turn"
    When I run `rondo loop --until build_succeeds -- ./worker.sh`
    Then the exit code is 0
    And condition "build_succeeds" ended as "met" with reason "passed" and exit code 0
    And iterations 1 to 2 finished once each

  @A-US3-3 @A-FR-004
  Scenario: linting_clean runs the project's linter
    Given a Makefile with the target "lint" that runs "true"
    When I run `rondo loop --until linting_clean -- ./worker.sh`
    Then the exit code is 0
    And condition "linting_clean" ended as "met" with reason "passed" and exit code 0

  @A-FR-004
  Scenario: security_scan_clean runs the given scanner
    Given a file "src/config" with
      """
      password=letmein
      """
    And a worker
      """
      if [ "$RONDO_ITERATION" = 2 ]; then : >src/config; fi
      """
    When I run `rondo loop --until 'security_scan_clean=! grep -rq password= src' -- ./worker.sh`
    Then the exit code is 0
    And condition "security_scan_clean" ended as "met" with reason "passed" and exit code 0
    And iterations 1 to 2 finished once each

  @A-US3-5
  Scenario: With some conditions met the loop goes on
    When I run `rondo loop --until 'all_tests_pass=true' --until 'build_succeeds=grep -q 3 turn' -- ./worker.sh`
    Then the exit code is 0
    And after iteration 1 condition "all_tests_pass" was "met"
    And after iteration 1 condition "build_succeeds" was "not_met"
    And after iteration 3 condition "build_succeeds" was "met"
    And iterations 1 to 3 finished once each

  @A-US3-6 @A-FR-007
  Scenario: With all three conditions met the loop ends and says so
    When I run `rondo loop --until all_tests_pass=true --until build_succeeds=true --until linting_clean=true -- ./worker.sh`
    Then the exit code is 0
    And the journal has an event "verification.finished" with
      | iteration | 1 |
      | met       | 3 |
      | total     | 3 |
    And condition "all_tests_pass" ended as "met" with reason "passed" and exit code 0
    And condition "build_succeeds" ended as "met" with reason "passed" and exit code 0
    And condition "linting_clean" ended as "met" with reason "passed" and exit code 0

  @A-FR-007
  Scenario: A condition that was met once does not count when it no longer is
    When I run `rondo loop --max-iterations 3 --until 'first=grep -q 1 turn' --until 'second=grep -q 2 turn' -- ./worker.sh`
    Then the exit code is 5
    And after iteration 1 condition "first" was "met"
    And after iteration 2 condition "first" was "not_met"
    And after iteration 2 condition "second" was "met"

  @A-FR-003
  Scenario: A standard condition without a command is an error before the first iteration
    When I run `rondo loop --until all_tests_pass -- ./worker.sh`
    Then the exit code is 2
    And stderr mentions "all_tests_pass"
    And stderr mentions "--until"
    And the file "turn" does not exist

  @A-FR-003
  Scenario: A name of one's own needs a command
    When I run `rondo loop --until my_check -- ./worker.sh`
    Then the exit code is 2
    And stderr mentions "my_check"
    And the file "turn" does not exist

  @A-FR-003
  Scenario Outline: The command of a standard condition is concluded from the project
    Given a file "<file>" with
      """
      <content>
      """
    When I run `rondo loop --max-iterations 1 --until <condition> -- ./worker.sh`
    Then the messages say that "<condition>" is checked by "<command>"

    Examples:
      | file         | content                            | condition      | command             |
      | Makefile     | check: ; true                      | all_tests_pass | make check          |
      | package.json | {"scripts": {"test": "true"}}      | all_tests_pass | npm test --silent   |
      | Cargo.toml   | [package]                          | build_succeeds | cargo build         |
      | go.mod       | module x                           | linting_clean  | go vet ./...        |
      | pytest.ini   | [pytest]                           | all_tests_pass | python3 -m pytest   |

  Scenario: What a verifier printed reaches the next iteration
    Given a worker
      """
      cp "$RONDO_FEEDBACK_FILE" "feedback-$RONDO_ITERATION.json"
      """
    When I run `rondo loop --max-iterations 2 --until 'check=echo the third test fails; exit 7' -- ./worker.sh`
    Then the feedback of iteration 1 is empty
    And the feedback of iteration 2 says that "check" is "not_met" because "failed" with exit code 7
    And the feedback of iteration 2 contains the output "the third test fails"

  Scenario: Verifiers that use the same tool do not disturb each other
    When I run `rondo loop --max-iterations 1 --until 'a=mkdir busy && sleep 0.3 && rmdir busy' --until 'b=mkdir busy && rmdir busy' -- ./worker.sh`
    Then the exit code is 0

  Scenario: Independent verifiers run side by side
    When I run `rondo loop --max-iterations 1 --until 'a=touch a; while ! test -e b; do sleep 0.02; done' --until 'b=: >b; while ! test -e a; do sleep 0.02; done' -- ./worker.sh`
    Then the exit code is 0
