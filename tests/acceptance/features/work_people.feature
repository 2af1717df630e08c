@D-people
Feature: People change their minds while an issue is worked on

  Background:
    Given a forge
    And the project is a clone of its repository
    And the issues
      | title          | labels | body  |
      | Add a greeting | code   | Hello |
    And a worker
      """
      echo begun >made.txt
      sleep 1000
      """

  Scenario Outline: <what> cancels the work
    When I start `rondo work $FORGE --once -- ./worker.sh`
    And issue 1 gets the label "rondo:in-progress"
    And a person does '<action>'
    And it ends
    Then there are 0 pull requests
    And the claims at the remote are ""
    And issue 1 has the labels "<labels>"
    And a comment on issue 1 mentions "<reason>"
    And no process of "sleep 1000" is left

    Examples:
      | what                 | action                                               | labels | reason       |
      | Closing              | {"do": "close", "number": 1}                         | code   | issue_closed |
      | Taking the label off | {"do": "unlabel", "number": 1, "label": "code"}      |        | unlabelled   |
      | Another assignee     | {"do": "assign", "number": 1, "login": "maria"}      | code   | reassigned   |
      | Another text         | {"do": "edit-issue", "number": 1, "body": "Goodbye"} | code   | edited       |

  Scenario: A member asks in a comment to stop, and later to begin again
    When I start `rondo work $FORGE --once -- ./worker.sh`
    And issue 1 gets the label "rondo:in-progress"
    And a person does '{"do": "comment", "number": 1, "as": "sam", "body": "/rondo release"}'
    And a person does '{"do": "comment", "number": 1, "body": "Later, please.\n\n/rondo release"}'
    And it ends
    Then issue 1 has the labels "code"
    And a comment on issue 1 mentions "by_person"
    And a comment on issue 1 mentions "Left alone until"
    # All machines leave it alone for an hour: this one, and one that has never seen it.
    When I run `rondo work $FORGE --once -- false`
    Then the exit code is 0
    And stdout mentions "no issue is ready"
    When I run `rondo work $FORGE --once --store elsewhere -- false`
    Then the exit code is 0
    And stdout mentions "no issue is ready"
    When I run `rondo work $FORGE --dry-run --store elsewhere -- false`
    Then stdout mentions "left alone, released by a person until "
    When I run `rondo work list --all`
    Then stdout mentions "by_person, left alone until "
    When I run `rondo work status 1`
    Then stdout mentions "by_person, left alone until "
    And issue 1 has the labels "code"
    # A person ends that.
    When a person does '{"do": "comment", "number": 1, "as": "sam", "body": "/rondo retry"}'
    And I run `rondo work $FORGE --once --store elsewhere -- false`
    Then stdout mentions "no issue is ready"
    When a person does '{"do": "comment", "number": 1, "body": "/rondo retry"}'
    And I run `rondo work $FORGE --once --store elsewhere -- sh -c 'echo "hello" >made.txt'`
    Then the exit code is 0
    And issue 1 has the labels "code, rondo:in-review"

  Scenario Outline: What was released is worked on again: <what>
    When I start `rondo work $FORGE --once -- ./worker.sh`
    And issue 1 gets the label "rondo:in-progress"
    And I run `rondo work release 1`
    And it ends
    Then the claims at the remote are "1"
    And issue 1 has the labels "code"
    When <deed>
    And I run `rondo work $FORGE <options> -- sh -c 'echo "hello" >made.txt'`
    Then the exit code is 0
    And issue 1 has the labels "code, rondo:in-review"
    And no comment on issue 1 mentions "Attempts | 2"

    Examples:
      | what                     | deed                                             | options                  |
      | after an hour            | a person does '{"do": "clock", "offset_s": 3700}' | --once --store elsewhere |
      | a person asks here       | I run `rondo work retry 1`                       | --once                   |
      | a person asks for it     | I run `rondo work list`                          | --issue 1                |

  Scenario: A person stops the run of an issue: it is not continued until a person asks for it
    When I start `rondo work $FORGE --once -- ./worker.sh`
    And issue 1 gets the label "rondo:in-progress"
    And I run `rondo stop $(rondo work status 1 --json | sed 's/.*"run_id":"//; s/".*//')`
    And it ends
    Then the exit code is 130
    And issue 1 has the labels "code, rondo:blocked"
    And a comment on issue 1 mentions "its run was stopped by"
    And the claims at the remote are ""
    And no process of "sleep 1000" is left
    When I run `rondo work $FORGE --once -- false`
    Then stdout mentions "no issue is ready"
    When I run `rondo work retry 1`
    And I run `rondo work $FORGE --once -- sh -c 'echo "hello" >made.txt'`
    Then the exit code is 0
    And issue 1 has the labels "code, rondo:in-review"

  Scenario: A member asks in a comment to try a blocked issue again
    When I run `rondo work $FORGE --once --attempts 1 -- false`
    Then issue 1 has the labels "code, rondo:blocked"
    When a person does '{"do": "comment", "number": 1, "body": "/rondo retry"}'
    And I run `rondo work $FORGE --once -- sh -c 'echo "hello" >made.txt'`
    Then the exit code is 0
    And issue 1 has the labels "code, rondo:in-review"

  Scenario: Labels that people change by mistake are repaired
    When I start `rondo work $FORGE --once -- ./worker.sh`
    And issue 1 gets the label "rondo:in-progress"
    And a person does '[{"do": "unlabel", "number": 1, "label": "rondo:in-progress"}, {"do": "create-label", "label": "rondo:in-review"}, {"do": "label", "number": 1, "label": "rondo:in-review"}]'
    Then issue 1 gets the label "rondo:in-progress"
    And soon issue 1 has the labels "code, rondo:in-progress"
    When a person does '{"do": "close", "number": 1}'
    And it ends
    Then issue 1 has the labels "code"
