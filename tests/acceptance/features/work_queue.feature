@D-queue
Feature: From an issue to a pull request

  Background:
    Given a forge
    And the project is a clone of its repository
    And a worker
      """
      echo "made for issue $RONDO_TASK_ID" >made.txt
      """

  Scenario: A labelled issue becomes a draft pull request
    Given the issues
      | title          | labels | body             |
      | Add a greeting | code   | It must say hello. |
    When I run `rondo work $FORGE --once --gate 'made=test -s made.txt' -- ./worker.sh`
    Then the exit code is 0
    And issue 1 has the labels "code, rondo:in-review"
    And there is 1 pull request
    And the pull request of "rondo/issue-1-add-a-greeting" is "draft, open"
    And its title mentions "Add a greeting"
    And its body mentions "Closes #1"
    And its body mentions "made"
    And its branch has the file "made.txt" with "made for issue 1"
    And issue 1 has 1 comment
    And a comment on issue 1 mentions "pull"
    And the claims at the remote are "1"
    When I run `git log --all --format=%s --grep 'Rondo-Task: 1'`
    Then stdout mentions "Add a greeting (#1)"

  Scenario: What is merged is cleared up
    Given the issues
      | title          | labels |
      | Add a greeting | code   |
    When I run `rondo work $FORGE --once -- ./worker.sh`
    And a person does '{"do": "ready", "pull": 2}'
    And a person does '{"do": "merge", "pull": 2}'
    And I run `rondo work $FORGE --once -- ./worker.sh`
    Then the exit code is 0
    And the claims at the remote are ""
    And the remote has no branch "rondo/issue-1-add-a-greeting"
    And no working tree is left
    When I run `rondo work list --all --json`
    Then stdout mentions "done"

  Scenario: Without work there is nothing to do
    Given the issues
      | title       | labels |
      | Not for you | bug    |
    When I run `rondo work $FORGE --once -- ./worker.sh`
    Then the exit code is 0
    And nothing was written at the forge

  Scenario: An issue that is asked for and absent is an error, never another one
    Given the issues
      | title          | labels |
      | Add a greeting | code   |
    When I run `rondo work $FORGE --issue 7 -- ./worker.sh`
    Then the exit code is 2
    And stderr mentions "no issue #7"
    And nothing was written at the forge

  Scenario: A dry run says what would be done, and writes nothing
    Given the issues
      | title          | labels            |
      | Add a greeting | code              |
      | Stuck          | code, blocked     |
      | Urgent         | code, P0          |
    When I run `rondo work $FORGE --dry-run -- ./worker.sh`
    Then the exit code is 0
    And stdout mentions "#3 Urgent: would be worked on next on branch rondo/issue-3-urgent"
    And stdout mentions "#1 Add a greeting: waits for its turn"
    And stdout mentions "#2 Stuck: left alone"
    And nothing was written at the forge

  Scenario: A dry run outside of a clone looks at the clone of earlier work
    Given the issues
      | title          | labels |
      | Add a greeting | code   |
      | Add a farewell | code   |
    When I run `git config --global user.name Bot && git config --global user.email bot@example.org`
    And I run `cd $HOME && rondo work $FORGE --repo $WEB --dry-run -- true && test ! -e .cache/rondo/clones`
    Then the exit code is 0
    And stdout mentions "#1 Add a greeting: would be worked on next"
    When I run `worker=$PWD/worker.sh && cd $HOME && rondo work $FORGE --repo $WEB --once -- $worker`
    Then the exit code is 0
    When I run `cd $HOME && rondo work $FORGE --repo $WEB --dry-run -- true`
    Then the exit code is 0
    And stdout mentions "#2 Add a farewell: would be worked on next"

  Scenario: Failing checks block the issue, and a person finds out why there
    Given the issues
      | title          | labels |
      | Add a greeting | code   |
    When I run `rondo work $FORGE --once --attempts 2 --gate 'tests=echo the greeting is missing; exit 1' -- ./worker.sh`
    Then the exit code is 3
    And issue 1 has the labels "code, rondo:blocked"
    And a comment on issue 1 mentions "attempts_spent"
    And a comment on issue 1 mentions "the greeting is missing"
    And the claims at the remote are ""
    And there are 0 pull requests
    # A person takes the label off: it is tried again, with new attempts.
    When a person does '{"do": "unlabel", "number": 1, "label": "rondo:blocked"}'
    And I run `rondo work $FORGE --once -- ./worker.sh`
    Then the exit code is 0
    And issue 1 has the labels "code, rondo:in-review"
    And issue 1 has 1 comment

  Scenario: The most urgent comes first, then the oldest
    Given the issues
      | title  | labels   |
      | First  | code     |
      | Second | code     |
      | Urgent | code, P1 |
    When I run `rondo work $FORGE --once -- ./worker.sh`
    Then issue 3 has the labels "code, P1, rondo:in-review"
    When I run `rondo work $FORGE --once -- ./worker.sh`
    Then issue 1 has the labels "code, rondo:in-review"
    And issue 2 has the labels "code"

  Scenario: When nothing had to be changed, a person decides
    Given a worker
      """
      true
      """
    And the issues
      | title           | labels |
      | It works by now | code   |
    When I run `rondo work $FORGE --once --attempts 1 -- ./worker.sh`
    Then issue 1 has the labels "code, rondo:needs-human"
    And there are 0 pull requests
    And the claims at the remote are ""

  Scenario: A worker that changes nothing while checks fail has not done the work
    Given a worker
      """
      true
      """
    And the issues
      | title           | labels |
      | It works by now | code   |
    When I run `rondo work $FORGE --once --attempts 1 --gate 'made=test -s made.txt' -- ./worker.sh`
    Then the exit code is 3
    And issue 1 has the labels "code, rondo:blocked"
    And a comment on issue 1 mentions "attempts_spent"

  Scenario: A pull request that is closed unmerged blocks the issue
    Given the issues
      | title          | labels |
      | Add a greeting | code   |
    When I run `rondo work $FORGE --once -- ./worker.sh`
    And a person does '{"do": "close", "number": 2}'
    And I run `rondo work $FORGE --once -- ./worker.sh`
    Then issue 1 has the labels "code, rondo:blocked"
    And a comment on issue 1 mentions "closed_unmerged"
    And the claims at the remote are ""
