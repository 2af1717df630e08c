@D-follow-ups
Feature: Reviews of a pull request are followed up

  Background:
    Given a forge
    And the project is a clone of its repository
    And the issues
      | title          | labels |
      | Add a greeting | code   |
    And a worker
      """
      echo hello >>made.txt
      case $RONDO_PROMPT in *goodbye*) echo goodbye >>made.txt ;; esac
      """
    And I run `rondo work $FORGE --once --follow-ups 1 -- ./worker.sh`
    And issue 1 has the labels "code, rondo:in-review"

  Scenario: A member requests a change
    When a person does '{"do": "review", "pull": 2, "state": "CHANGES_REQUESTED", "body": "Please say goodbye, too."}'
    And I run `rondo work $FORGE --once --follow-ups 1 -- ./worker.sh`
    Then the exit code is 0
    And there is 1 pull request
    And issue 1 has the labels "code, rondo:in-review"
    And issue 1 has 1 comment
    When I run `git fetch -q origin rondo/issue-1-add-a-greeting && git show FETCH_HEAD:made.txt | tr '\n' ' '`
    Then stdout mentions "hello hello goodbye"
    # The budget of follow-ups is used up.
    When a person does '{"do": "review", "pull": 2, "state": "CHANGES_REQUESTED", "body": "And once more."}'
    And I run `rondo work $FORGE --once --follow-ups 1 -- ./worker.sh`
    And I run `git fetch -q origin rondo/issue-1-add-a-greeting && git show FETCH_HEAD:made.txt | tr '\n' ' '`
    Then stdout mentions "hello hello goodbye"

  Scenario: The words of a stranger change nothing
    When a person does '{"do": "review", "as": "sam", "pull": 2, "state": "CHANGES_REQUESTED", "body": "Please say goodbye, too."}'
    And I run `rondo work $FORGE --once --follow-ups 1 -- ./worker.sh`
    And I run `git fetch -q origin rondo/issue-1-add-a-greeting && git show FETCH_HEAD:made.txt | tr '\n' ' '`
    Then stdout does not mention "goodbye"

  Scenario: A check of the forge fails
    When a person does '{"do": "check", "pull": 2, "name": "ci", "conclusion": "failure", "summary": "broken"}'
    And I run `rondo work $FORGE --once --follow-ups 1 -- ./worker.sh`
    Then the exit code is 0
    When I run `git fetch -q origin rondo/issue-1-add-a-greeting && git show FETCH_HEAD:made.txt | tr '\n' ' '`
    Then stdout mentions "hello hello"
