@D-plans
Feature: The parts of an issue are commits on one branch

  Background:
    Given a forge
    And the project is a clone of its repository
    And a worker
      """
      echo "$RONDO_TASK_ID" >>parts.txt
      """

  Scenario: Each open box of a list is a commit
    Given an issue "Three things" with the body
      """
      - [ ] Do `touch escaped.txt`
      - [x] Done before
      ```
      - [ ] an example
      ```
      <!--
      - [ ] Do what nobody sees
      -->
      1. [ ] Do the second
      """
    When I run `rondo work $FORGE --once --plans -- ./worker.sh`
    Then the exit code is 0
    And there is 1 pull request
    And the pull request of "rondo/issue-1-three-things" is "draft, open"
    When I run `git log --reverse --format=%s main..rondo/issue-1-three-things`
    Then stdout mentions "Do the second (#1)"
    When I run `git show rondo/issue-1-three-things:parts.txt | tr '\n' ' '`
    Then stdout mentions "1.1 1.2"

  Scenario: Each open sub-issue is a commit, but for those of strangers
    Given the issues
      | title  | labels | author |
      | Epic   | code   |        |
      | Part A |        |        |
      | Part B |        | sam    |
      | Part C |        |        |
    When a person does '[{"do": "sub-issue", "number": 1, "child": 2}, {"do": "sub-issue", "number": 1, "child": 3}, {"do": "sub-issue", "number": 1, "child": 4}]'
    And I run `rondo work $FORGE --once --plans -- ./worker.sh`
    Then the exit code is 0
    When I run `git show rondo/issue-1-epic:parts.txt | tr '\n' ' '`
    Then stdout mentions "2 4"

  Scenario: A part that fails blocks the issue, and no pull request is opened
    Given an issue "Two things" with the body
      """
      - [ ] one
      - [ ] two
      """
    When I run `rondo work $FORGE --once --plans --attempts 1 --gate 'one=test $(wc -l <parts.txt) -lt 2' -- ./worker.sh`
    Then the exit code is 3
    And issue 1 has the labels "code, rondo:blocked"
    And there are 0 pull requests
