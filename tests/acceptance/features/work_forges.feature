@D-forges
Feature: Gitea and GitLab, from an issue to a pull request

  Scenario Outline: <kind>: a labelled issue becomes a draft, and what is merged is cleared up
    Given a <kind> forge
    And the project is a clone of its repository
    And a worker
      """
      echo "made for issue $RONDO_TASK_ID" >made.txt
      """
    And the issues
      | title          | labels | body               |
      | Add a greeting | code   | It must say hello. |
    When I run `rondo work $FORGE --once --gate 'made=test -s made.txt' -- ./worker.sh`
    Then the exit code is 0
    And issue 1 has the labels "code, rondo:in-review"
    And issue 1 has 1 comment
    And a comment on issue 1 mentions "in-review"
    And there is 1 pull request
    And the pull request of "rondo/issue-1-add-a-greeting" is "draft, open"
    And its title mentions "Add a greeting"
    And its body mentions "Closes #1"
    And its branch has the file "made.txt" with "made for issue 1"
    And the claims at the remote are "1"
    When a person does '{"do": "ready", "pull": <pull>}'
    And a person does '{"do": "merge", "pull": <pull>}'
    And I run `rondo work $FORGE --once -- ./worker.sh`
    Then the exit code is 0
    And issue 1 has the labels "code"
    And the claims at the remote are ""
    And the remote has no branch "rondo/issue-1-add-a-greeting"

    Examples:
      | kind   | pull |
      | gitea  | 2    |
      | gitlab | 1    |

  Scenario Outline: <kind>: failing checks block the issue until a person takes the label off
    Given a <kind> forge
    And the project is a clone of its repository
    And a worker
      """
      echo made >made.txt
      """
    And the issues
      | title          | labels |
      | Add a greeting | code   |
    When I run `rondo work $FORGE --once --attempts 1 --gate 'tests=echo the greeting is missing; exit 1' -- ./worker.sh`
    Then the exit code is 3
    And issue 1 has the labels "code, rondo:blocked"
    And a comment on issue 1 mentions "attempts_spent"
    And a comment on issue 1 mentions "the greeting is missing"
    And the claims at the remote are ""
    And there are 0 pull requests
    When a person does '{"do": "unlabel", "number": 1, "label": "rondo:blocked"}'
    And I run `rondo work $FORGE --once -- ./worker.sh`
    Then the exit code is 0
    And issue 1 has the labels "code, rondo:in-review"
    And issue 1 has 1 comment

    Examples:
      | kind   |
      | gitea  |
      | gitlab |

  Scenario Outline: <kind>: a person cancels the work
    Given a <kind> forge
    And the project is a clone of its repository
    And a worker
      """
      sleep 1000
      """
    And the issues
      | title          | labels |
      | Add a greeting | code   |
    When I start `rondo work $FORGE --once -- ./worker.sh`
    And issue 1 gets the label "rondo:in-progress"
    And a person does '{"do": "close", "number": 1}'
    And it ends
    Then there are 0 pull requests
    And the claims at the remote are ""
    And issue 1 has the labels "code"
    And a comment on issue 1 mentions "issue_closed"
    And no process of "sleep 1000" is left

    Examples:
      | kind   |
      | gitea  |
      | gitlab |
