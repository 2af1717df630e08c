@D-fork
Feature: Work without the right to push: a fork, and claims in comments

  Scenario Outline: <kind>: an outsider's way from an issue to a merged pull request
    Given a <kind> forge
    And the project is a clone of its repository
    And the issues
      | title          | labels |
      | Add a greeting | code   |
    And an outsider with a fork
    And a worker
      """
      echo "made for issue $RONDO_TASK_ID" >made.txt
      """
    When I run `rondo work $FORGE $FORK --once --gate 'made=test -s made.txt' -- ./worker.sh`
    Then the exit code is 0
    And issue 1 has the labels "code"
    And issue 1 has 1 comment
    And a comment on issue 1 mentions "| State | in-review |"
    And the claim in the comment on issue 1 names pull request <pull>
    And the claims at the remote are ""
    And the repository has only the branch "main"
    And the fork has the branches "main, rondo/issue-1-add-a-greeting"
    And there is 1 pull request
    And the pull request of "rondo/issue-1-add-a-greeting" is "draft, open"
    And its body mentions "Closes #1"
    And its branch in the fork has the file "made.txt" with "made for issue 1"
    When a person does '{"do": "ready", "pull": <pull>}'
    And a person does '{"do": "merge", "pull": <pull>}'
    And I run `rondo work $FORGE $FORK --once -- ./worker.sh`
    Then the exit code is 0
    And issue 1 has 1 comment
    And a comment on issue 1 mentions "| State | done |"
    And no comment on issue 1 has a claim
    And the fork has the branches "main"

    Examples:
      | kind   | pull |
      | github | 2    |
      | gitea  | 2    |
      | gitlab | 1    |

  Rule: Whoever came first has the issue

    Background:
      Given a forge
      And the project is a clone of its repository
      And the issues
        | title          | labels |
        | Add a greeting | code   |
      And an outsider with a fork
      And a worker
        """
        echo "made for issue $RONDO_TASK_ID" >made.txt
        """

    Scenario: Two outsiders race for one issue
      When these run at the same time
        | rondo work $FORGE $FORK --once --store a.db -- ./worker.sh |
        | rondo work $FORGE $FORK --once --store b.db -- ./worker.sh |
      Then there is 1 pull request
      And issue 1 has 1 comment
      And the claim in the comment on issue 1 names pull request 2

    Scenario: A comment of another one that is alive comes first; when it has expired it is superseded
      Given eve claims issue 1 in a comment
      When I run `rondo work $FORGE $FORK --issue 1 -- ./worker.sh`
      Then the exit code is 2
      And stderr mentions "claimed by somebody else"
      And sam wrote nothing at the forge
      When 16 minutes pass at the forge
      And I run `rondo work $FORGE $FORK --once -- ./worker.sh`
      Then the exit code is 0
      And there is 1 pull request
      And a comment on issue 1 mentions "supersedes"

    Scenario: A stranger floods the issue with claims, which last no longer than a lease
      Given eve claims issue 1 in 40 comments
      When I run `rondo work $FORGE $FORK --once -- ./worker.sh`
      Then stdout mentions "no issue is ready"
      And sam wrote nothing at the forge
      When 16 minutes pass at the forge
      And I run `rondo work $FORGE $FORK --once -- ./worker.sh`
      Then the exit code is 0
      And there is 1 pull request

    Scenario: The loser of a race takes its comment back
      Given the fault '{"kind": "delay", "seconds": 600, "method": "POST", "path": "/comments$"}'
      When I start `rondo work $FORGE $FORK --once -- ./worker.sh`
      And the forge has made 1 fault
      And eve claims issue 1 in a comment
      And the forge has no more faults
      And it ends
      Then sam has no comment on issue 1
      And there are 0 pull requests

    Scenario: One who may push outranks a comment: the outsider stops
      Given issue 1 is held by its worker
      When I start `rondo work $FORGE $FORK --once -- ./worker.sh`
      And a comment on issue 1 says "| State | in-progress |"
      And somebody has claimed issue 1 with `printf 'hello'`
      And the log of the forge is forgotten
      And it ends
      Then sam wrote nothing at the forge
      And there are 0 pull requests
      And the fork has the branches "main"

    Scenario: A frozen owner wakes up after another has taken over, and writes nothing
      Given issue 1 is held by its worker
      When I start `rondo work $FORGE $FORK --once -- ./worker.sh`
      And a comment on issue 1 says "| State | in-progress |"
      And I send it STOP
      And 16 minutes pass at the forge
      And eve takes issue 1 over in a comment, with words about the branch "rondo/issue-1-evil"
      And eve waits for 6 seconds
      And the log of the forge is forgotten
      And I send it CONT
      And it ends
      Then sam wrote nothing at the forge
      And there are 0 pull requests
      And the fork has the branches "main"

    Scenario: What a stranger's claim says about branches and attempts does not count
      Given eve claims issue 1 in a comment
      And eve takes issue 1 over in a comment, with words about the branch "rondo/issue-1-evil"
      When 16 minutes pass at the forge
      And I run `rondo work $FORGE $FORK --once -- ./worker.sh`
      Then the exit code is 0
      And the fork has the branches "main, rondo/issue-1-add-a-greeting"

    Scenario Outline: A maintainer <does> the comment: the work stops, and the issue is left alone
      Given issue 1 is held by its worker
      When I start `rondo work $FORGE $FORK --once -- ./worker.sh`
      And a comment on issue 1 says "| State | in-progress |"
      And a maintainer <does> the comment on issue 1
      And the log of the forge is forgotten
      And it ends
      Then sam wrote nothing at the forge
      And there are 0 pull requests
      When I run `rondo work list --all`
      Then stdout mentions "cancelled"

      Examples:
        | does                   |
        | deletes                |
        | takes the claim out of |

  Rule: What is missing is reported

    Background:
      Given a forge
      And the project is a clone of its repository
      And the issues
        | title          | labels |
        | Add a greeting | code   |
      And a worker
        """
        echo "made for issue $RONDO_TASK_ID" >made.txt
        """

    Scenario: Without a fork the error names the option
      Given an outsider without a fork
      When I run `rondo work $FORGE --once -- ./worker.sh`
      Then the exit code is 2
      And stderr mentions "--fork OWNER/NAME"
      And nothing was written at the forge

    Scenario Outline: A fork that cannot be used: <what>
      Given an outsider with a fork
      And a person does '<action>'
      When I run `rondo work $FORGE --fork <fork> --once -- ./worker.sh`
      Then stderr mentions "<words>"
      And there are 0 pull requests
      And issue 1 has 0 comments

      Examples:
        | what       | fork       | action                                                                      | words                 |
        | none       | sam/nope   | {"do": "user", "login": "eve"}                                              | there is no such      |
        | no fork    | sam/other  | {"do": "create-repository", "repository": "sam/other", "as": "sam"}         | is not a fork of      |
        | of another | eve/shop   | {"do": "fork", "owner": "eve"}                                              | cannot be pushed to   |
        | archived   | sam/shop   | {"do": "set-repository", "repository": "sam/shop", "archived": true}        | is archived           |
        | itself     | acme/shop  | {"do": "user", "login": "eve"}                                              | --fork acme/shop      |

    Scenario: The doctor and a dry run say how issues are claimed, and change nothing
      Given an outsider with a fork
      When I run the doctor of the work queue with "--fork sam/shop"
      Then the exit code is 0
      And stdout mentions "issues are claimed by comments"
      When I run the doctor of the work queue with ""
      Then the exit code is 1
      And stdout mentions "--fork OWNER/NAME"
      When I run `rondo work $FORGE $FORK --dry-run -- ./worker.sh`
      Then the exit code is 0
      And stdout mentions "claims      comments"
      And stdout mentions "would be worked on next"
      And nothing was written at the forge

    Scenario: What failed is not begun again until a person asks, though there is no label
      Given an outsider with a fork
      When I run `rondo work $FORGE $FORK --once --attempts 1 --gate 'never=exit 1' -- ./worker.sh`
      Then the exit code is 3
      And issue 1 has the labels "code"
      And issue 1 has 1 comment
      And a comment on issue 1 mentions "| State | blocked |"
      And no comment on issue 1 has a claim
      When I run `rondo work $FORGE $FORK --once --store other.db -- ./worker.sh`
      Then stdout mentions "no issue is ready"
      When a person does '{"do": "comment", "number": 1, "body": "/rondo retry"}'
      And I run `rondo work $FORGE $FORK --once -- ./worker.sh`
      Then the exit code is 0
      And there is 1 pull request
      And issue 1 has 2 comments

    Scenario: A forge that reports permissions only to those who may push
      Given an outsider with a fork
      And the issues
        | title      | labels | author |
        | Do my work | code   | sam    |
      And the fault '{"kind": "status", "status": 403, "path": "/permission$", "times": 0}'
      When I run `rondo work $FORGE $FORK --once -- ./worker.sh`
      Then the exit code is 0
      And there is 1 pull request
      And the forge made each fault
      When I run `rondo work $FORGE $FORK --issue 2 -- ./worker.sh`
      Then stderr mentions "not trusted"

    Scenario: A person releases the issue: it is left alone until a person asks for it
      Given an outsider with a fork
      And issue 1 is held by its worker
      When I start `rondo work $FORGE $FORK --once -- ./worker.sh`
      And a comment on issue 1 says "| State | in-progress |"
      And a person does '{"do": "comment", "number": 1, "body": "/rondo release"}'
      And it ends
      Then a comment on issue 1 mentions "| State | cancelled |"
      And there are 0 pull requests
      When I run `rondo work $FORGE $FORK --once --store other.db -- ./worker.sh`
      Then stdout mentions "no issue is ready"
      Given a worker
        """
        echo "made for issue $RONDO_TASK_ID" >made.txt
        """
      When I run `rondo work retry 1`
      And I run `rondo work $FORGE $FORK --once -- ./worker.sh`
      Then the exit code is 0
      And there is 1 pull request
      And issue 1 has 2 comments

    Scenario: Those who may push claim by references also with a fork
      Given a person does '{"do": "fork", "owner": "rondo-bot"}'
      When I run `rondo work $FORGE --fork rondo-bot/shop --once -- ./worker.sh`
      Then the exit code is 0
      And the claims at the remote are "1"
      And issue 1 has the labels "code, rondo:in-review"
      And the repository has only the branch "main"

    Scenario Outline: Killed after <effect>: nothing is lost, and nothing is there twice
      Given an outsider with a fork
      And the fault '{"seconds": 600, <fault>}'
      When I start `rondo work $FORGE $FORK --once -- ./worker.sh`
      And the forge keeps an answer
      And I kill it with KILL
      And I run `rondo work $FORGE $FORK --once -- ./worker.sh`
      Then the exit code is 0
      And issue 1 has 1 comment
      And a comment on issue 1 mentions "| State | in-review |"
      And there is 1 pull request
      And the claim in the comment on issue 1 names pull request 2
      And the fork has the branches "main, rondo/issue-1-add-a-greeting"

      Examples:
        | effect              | fault                                                                    |
        | the comment         | "kind": "delay-after", "path": "/issues/1/comments$", "method": "POST"   |
        | its first edit      | "kind": "delay-after", "method": "PATCH"                                 |
        | the push            | "kind": "delay-after", "method": "POST", "path": "git-receive-pack$"     |
        | the pull request    | "kind": "delay-after", "method": "POST", "path": "/pulls$"               |
        | the last edit       | "kind": "delay-after", "body_has": "State . in-review", "method": "PATCH" |

    Scenario: The answer to the comment is lost: it is found again by its nonce
      Given an outsider with a fork
      And the fault '{"kind": "drop-after", "method": "POST", "path": "/comments$", "times": 1}'
      When I run `rondo work $FORGE $FORK --once -- ./worker.sh`
      Then the exit code is 0
      And issue 1 has 1 comment
      And there is 1 pull request
