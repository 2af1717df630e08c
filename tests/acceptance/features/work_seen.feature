@D-seen @serve
Feature: What the work queue does is seen

  Background:
    Given a forge
    And the project is a clone of its repository
    And the issues
      | title                   | labels | body              |
      | Add a greeting <b>1</b> | code   | It must say hello |
    And a worker
      """
      project=$(dirname "$(git rev-parse --path-format=absolute --git-common-dir)")
      until [ -e "$project/go" ]; do sleep 0.05; done
      echo hello >made.txt
      """
    And a server

  @dashboard
  Scenario: The page shows an issue from its claim to its pull request, and its run
    When I start `rondo work $FORGE --once --sandbox none -- ./worker.sh`
    And the operator opens the page of work
    Then the page soon lists issue 1 as "In progress"
    And the title of issue 1 is shown as "Add a greeting <b>1</b>"
    When the worker may go on
    Then the page soon lists issue 1 as "In review"
    And it links to the pull request at the forge
    When the operator opens the work item of issue 1
    Then its history goes from "Claimed" to "In review"
    When the operator follows its run
    Then the page shows the status "completed"
    And no page had an error

  @dashboard
  Scenario: An operator has a blocked issue tried again
    When I run `rondo work $FORGE --once --attempts 1 -- false`
    Then issue 1 has the labels "code, rondo:blocked"
    When the operator opens the page of work
    Then the page soon lists issue 1 as "Blocked"
    When the operator opens the work item of issue 1
    And requests "Retry" with "Retry the issue"
    And I run `rondo work $FORGE --once -- sh -c 'echo hello >made.txt'`
    Then the exit code is 0
    And issue 1 has the labels "code, rondo:in-review"
    And the page soon says that the state is "In review"
    And no page had an error

  Scenario: A program has the work on an issue stopped over HTTP
    When I start `rondo work $FORGE --once -- ./worker.sh`
    And issue 1 gets the label "rondo:in-progress"
    And I post a release of issue 1
    Then the answer is 202
    When it ends
    Then issue 1 has the labels "code"
    And "/v1/work?state=cancelled" soon mentions "by_person"
    And no process of "./worker.sh" is left
