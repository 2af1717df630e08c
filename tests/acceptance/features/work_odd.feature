@D-queue
Feature: One odd issue, claim or answer does not stop or mislead the queue

  Background:
    Given a forge
    And the project is a clone of its repository
    And a worker
      """
      echo "made for issue $RONDO_TASK_ID" >made.txt
      """

  Scenario Outline: A label of a state makes nobody trusted: <label>
    Given the issues
      | title      | labels        | author |
      | Do my work | code, <label> | sam    |
    When I run `rondo work $FORGE --once -- ./worker.sh`
    Then nothing was written at the forge
    And the claims at the remote are ""

    Examples:
      | label             |
      | rondo:assigned    |
      | rondo:in-progress |
      | rondo:retry-later |

  Scenario: A label of a state does not hide who asked for the work
    Given the issues
      | title      | labels         |
      | Do my work | rondo:assigned |
    When a person does '{"do": "label", "number": 1, "label": "code", "as": "sam"}'
    And I run `rondo work $FORGE --once -- ./worker.sh`
    Then nothing was written at the forge
    And the claims at the remote are ""

  Scenario: An issue that cannot be judged waits for the next look, and says why
    Given the issues
      | title          | labels |
      | Add a greeting | code   |
    And the fault '{"kind": "status", "status": 403, "path": "/dependencies/blocked_by", "times": 2}'
    When I run `rondo work $FORGE --once -- ./worker.sh`
    Then the exit code is 0
    And stdout mentions "issue #1 has to wait"
    And there is 1 pull request

  Scenario: A git remote that does not answer for a while is no lack of work
    Given the issues
      | title          | labels |
      | Add a greeting | code   |
    And the fault '{"kind": "status", "status": 503, "path": "git-upload-pack", "times": 5}'
    When I run `rondo work $FORGE --once -- ./worker.sh`
    Then the exit code is 0
    And stdout mentions "the git remote does not answer"
    And there is 1 pull request

  Scenario: Pull requests that are switched off are no fault that passes
    Given the issues
      | title          | labels |
      | Add a greeting | code   |
    And the fault '{"kind": "status", "status": 404, "method": "POST", "path": "/pulls$", "times": 0}'
    When I run `rondo work $FORGE --once -- ./worker.sh`
    Then issue 1 has the labels "code, rondo:blocked"
    And a comment on issue 1 mentions "refused"
    And the claims at the remote are ""

  Scenario: A comment that the forge refuses does not keep an issue from being worked on
    Given the issues
      | title          | labels |
      | Add a greeting | code   |
    And the fault '{"kind": "status", "status": 422, "method": "POST", "path": "/issues/1/comments$", "times": 0}'
    When I run `rondo work $FORGE --once -- ./worker.sh`
    Then the exit code is 0
    And there is 1 pull request
    And issue 1 has the labels "code, rondo:in-review"

  Scenario: Who shares the login of the queue is heard, and also after a fault
    Given the issues
      | title          | labels |
      | Add a greeting | code   |
    When I run `rondo work $FORGE --once --attempts 1 -- false`
    Then issue 1 has the labels "code, rondo:blocked"
    When a person does '{"do": "comment", "number": 1, "as": "rondo-bot", "body": "/rondo retry"}'
    And the fault '{"kind": "status", "status": 403, "method": "GET", "path": "/issues/1/comments", "times": 1}'
    And I start `rondo work $FORGE --continuous -- ./worker.sh`
    And issue 1 gets the label "rondo:in-review"
    Then there is 1 pull request

  @file-store
  Scenario: A claim that its pull request kept is taken over when that is closed and its worker gone
    Given the issues
      | title          | labels |
      | Add a greeting | code   |
    When I run `rondo work $FORGE --once -- ./worker.sh`
    Then there is 1 pull request
    When a person does '[{"do": "close", "number": 2}, {"do": "unlabel", "number": 1, "label": "rondo:in-review"}, {"do": "clock", "offset_s": 3600}]'
    And I run `env XDG_STATE_HOME=$HOME/other-state rondo work $FORGE --once -- ./worker.sh`
    Then stdout mentions "taken over"
    And issue 1 has the labels "code, rondo:blocked"
    And the claims at the remote are ""

  Scenario: An issue that is assigned to the queue's own login is taken
    Given the issues
      | title          | labels |
      | Add a greeting | code   |
    When a person does '{"do": "assign", "number": 1, "login": "rondo-bot"}'
    And I run `rondo work $FORGE --once -- ./worker.sh`
    Then there is 1 pull request

  @file-store
  Scenario: A command that was carried out is none for another machine
    Given the issues
      | title          | labels |
      | Add a greeting | code   |
    When I run `rondo work $FORGE --once --attempts 1 -- false`
    And a person does '{"do": "comment", "number": 1, "body": "/rondo retry"}'
    And I run `sh -c "sleep 1.2; rondo work $FORGE --once --attempts 1 -- false"`
    Then issue 1 has the labels "code, rondo:blocked"
    When I run `env XDG_STATE_HOME=$HOME/other-state rondo work $FORGE --once -- ./worker.sh`
    Then stdout mentions "no issue is ready to be worked on"
    And there are 0 pull requests
    When a person does '{"do": "clock", "offset_s": 10}'
    And a person does '{"do": "comment", "number": 1, "body": "/rondo retry"}'
    And I run `env XDG_STATE_HOME=$HOME/other-state rondo work $FORGE --once -- ./worker.sh`
    Then there is 1 pull request

  Scenario: What a person has released is not taken again at once
    Given the issues
      | title          | labels |
      | Add a greeting | code   |
    And a worker
      """
      sleep 1000
      """
    When I start `rondo work $FORGE --continuous -- ./worker.sh`
    And issue 1 gets the label "rondo:in-progress"
    And a person does '{"do": "comment", "number": 1, "body": "/rondo release"}'
    And soon issue 1 has the labels "code"
    And soon the claims at the remote are "1"
    And I run `sleep 5`
    Then issue 1 has the labels "code"
    When I run `rondo work status 1`
    Then stdout mentions "left alone until"

  Scenario: Checks that fail whatever the issue is stop the queue
    Given the issues
      | title | labels |
      | One   | code   |
      | Two   | code   |
      | Three | code   |
      | Four  | code   |
    When I start `rondo work $FORGE --attempts 1 --gate 'made=no-such-tool --at $PWD' -- ./worker.sh`
    And issue 3 gets the label "rondo:blocked"
    And it has said "the checks of 3 issues in a row failed in the same way"
    And the forge was asked 3 more times for its issues
    And I send it TERM
    And it ends
    Then stdout mentions "the checks of 3 issues in a row failed in the same way" once
    And stdout mentions "no-such-tool"
    And issue 1 has the labels "code, rondo:blocked"
    And issue 4 has the labels "code"

  Scenario: Old items are deleted once nobody needs them
    Given the issues
      | title | labels |
      | One   | code   |
      | Two   | code   |
    When I run `rondo work $FORGE --issue 1 -- ./worker.sh`
    And a person does '{"do": "ready", "pull": 3}'
    And a person does '{"do": "merge", "pull": 3}'
    And I run `rondo work $FORGE --once --attempts 1 -- false`
    And I run `rondo gc --older-than 0s --dry-run`
    Then stdout mentions "would delete 1 work item"
    When I run `rondo gc --older-than 0s`
    Then stdout mentions "deleted 1 work item"
    When I run `rondo work list --all`
    Then stdout mentions "shop#2"
    And stdout does not mention "shop#1"
