@D-restart
Feature: A queue that dies anywhere continues where it was

  The stand-in forge does what it is asked and keeps the answer, or does not even do it; then the
  queue is killed. What it has noted until then, and what the forge shows, decides what comes next.

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

  Scenario Outline: Killed after <effect>: nothing is lost, and nothing is there twice
    Given the fault '{"seconds": 600, <fault>}'
    When I start `rondo work $FORGE --once -- ./worker.sh`
    And the forge keeps an answer
    And I kill it with KILL
    And I run `rondo work $FORGE --once -- ./worker.sh`
    Then the exit code is 0
    And issue 1 has the labels "code, rondo:in-review"
    And issue 1 has 1 comment
    And a comment on issue 1 mentions "in-review"
    And there is 1 pull request
    And the pull request of "rondo/issue-1-add-a-greeting" is "draft, open"
    And its branch has the file "made.txt" with "made for issue 1"
    And its branch has 1 commit more than "main"
    And the claims at the remote are "1"
    And the claim of issue 1 names pull request 2

    Examples:
      | effect                  | fault                                                                          |
      | the claim               | "kind": "delay-after", "path": "git-receive-pack$", "method": "POST"           |
      | the push                | "kind": "delay-after", "skip": 1, "method": "POST", "path": "receive-pack$"    |
      | the pull request        | "kind": "delay-after", "method": "POST", "path": "/pulls$"                     |
      | the last label          | "kind": "delay-after", "body_has": "rondo:in-review", "path": "/1/labels$"     |

    @long
    Examples:
      | effect                  | fault                                                                          |
      | making a label          | "kind": "delay-after", "path": "/shop/labels$", "method": "POST"               |
      | the first label         | "kind": "delay-after", "path": "/issues/1/labels$", "method": "POST"           |
      | the comment             | "kind": "delay-after", "path": "/issues/1/comments$", "method": "POST"         |
      | the assignee            | "kind": "delay-after", "path": "/assignees$", "method": "POST"                 |
      | the next label          | "kind": "delay-after", "body_has": "rondo:in-progress", "path": "/1/labels$"   |
      | taking off a label      | "kind": "delay-after", "method": "DELETE", "path": "/rondo%3Aassigned$"        |
      | the edit of the comment | "kind": "delay-after", "method": "PATCH"                                       |
      | the commit              | "kind": "hang", "skip": 1, "method": "POST", "path": "git-receive-pack$"       |
      | the renewed claim       | "kind": "delay-after", "skip": 2, "method": "POST", "path": "receive-pack$"    |
      | the last edit           | "kind": "delay-after", "skip": 1, "method": "PATCH"                            |

  Scenario: Killed at work: the worker ends, and the next start makes another attempt
    Given a worker
      """
      echo "made for issue $RONDO_TASK_ID" >made.txt
      sleep 1000
      """
    When I start `rondo work $FORGE --once -- ./worker.sh`
    And issue 1 gets the label "rondo:in-progress"
    And I kill it with KILL
    Then soon no process of "sleep 1000" is left
    Given a worker
      """
      echo "made for issue $RONDO_TASK_ID" >made.txt
      """
    When I run `rondo work $FORGE --once -- ./worker.sh`
    Then the exit code is 0
    And issue 1 has the labels "code, rondo:in-review"
    And issue 1 has 1 comment
    And there is 1 pull request

  Scenario Outline: Killed as it clears up, after <effect>
    When I run `rondo work $FORGE --once -- ./worker.sh`
    And a person does '[{"do": "ready", "pull": 2}, {"do": "merge", "pull": 2}]'
    And the fault '{"kind": "delay-after", "seconds": 600, <fault>}'
    And I start `rondo work $FORGE --once -- ./worker.sh`
    And the forge keeps an answer
    And I kill it with KILL
    And I run `rondo work $FORGE --once -- ./worker.sh`
    Then the exit code is 0
    And issue 1 has the labels "code"
    And issue 1 has 1 comment
    And the claims at the remote are ""
    And the remote has no branch "rondo/issue-1-add-a-greeting"

    Examples:
      | effect              | fault                                                    |
      | deleting the claim  | "skip": 1, "method": "POST", "path": "receive-pack$"     |

    @long
    Examples:
      | effect              | fault                                                    |
      | taking off a label  | "method": "DELETE", "path": "/rondo%3Ain-review$"        |
      | deleting the branch | "method": "POST", "path": "receive-pack$"                |

  Scenario: Killed as it blocks the issue, after the claim was given back
    Given the fault '{"kind": "delay-after", "seconds": 600, "skip": 1, "method": "POST", "path": "receive-pack$"}'
    When I start `rondo work $FORGE --once --attempts 1 --gate 'never=exit 1' -- ./worker.sh`
    And the forge keeps an answer
    And I kill it with KILL
    And I run `rondo work $FORGE --once --attempts 1 --gate 'never=exit 1' -- ./worker.sh`
    Then issue 1 has the labels "code, rondo:blocked"
    And issue 1 has 1 comment
    And a comment on issue 1 mentions "attempts_spent"
    And the claims at the remote are ""
    And there are 0 pull requests

  Scenario: Killed twice at the same step: a person decides
    Given the fault '{"kind": "hang", "times": 2, "method": "POST", "path": "/pulls$"}'
    When I start `rondo work $FORGE --once -- ./worker.sh`
    And the forge keeps an answer
    And I kill it with KILL
    And I start `rondo work $FORGE --once -- ./worker.sh`
    And the forge keeps 2 answers
    And I kill it with KILL
    And I run `rondo work $FORGE --once -- ./worker.sh`
    Then the exit code is 4
    And issue 1 has the labels "code, rondo:blocked"
    And issue 1 has 1 comment
    And a comment on issue 1 mentions "crashed_twice"
    And the claims at the remote are ""
    And there are 0 pull requests

  Scenario: A signal parks the work, and the next start goes on with it
    Given a worker
      """
      echo "made for issue $RONDO_TASK_ID" >made.txt
      sleep 1000
      """
    When I start `rondo work $FORGE --once -- ./worker.sh`
    # Another request takes the label of the state before off.
    And soon issue 1 has the labels "code, rondo:in-progress"
    And I send it TERM
    And it ends
    Then no process of "sleep 1000" is left
    And issue 1 has the labels "code, rondo:in-progress"
    And the claims at the remote are "1"
    Given a worker
      """
      echo "made for issue $RONDO_TASK_ID" >made.txt
      """
    When I run `rondo work $FORGE --once -- ./worker.sh`
    Then the exit code is 0
    And issue 1 has the labels "code, rondo:in-review"
    And issue 1 has 1 comment
    And there is 1 pull request
    When I run `rondo runs --json`
    Then stdout lists 1 run

  Scenario: A store is lost with an issue in review: another machine clears up after the merge
    When I run `rondo work $FORGE --once -- ./worker.sh`
    And a person does '[{"do": "clock", "offset_s": 3600}, {"do": "ready", "pull": 2}]'
    And I run `rondo work $FORGE --once --store elsewhere -- false`
    Then stdout does not mention "taken over"
    # So shortly after the merge its machine may be about to do it.
    When a person does '{"do": "merge", "pull": 2}'
    And I run `rondo work $FORGE --once --store elsewhere -- false`
    Then stdout does not mention "taken over"
    And the claims at the remote are "1"
    When a person does '{"do": "clock", "offset_s": 7200}'
    And I run `rondo work $FORGE --once --store elsewhere -- false`
    Then the exit code is 0
    And stdout mentions "taken over to end it: its owner is gone"
    And issue 1 has the labels "code"
    And issue 1 has 1 comment
    And the claims at the remote are ""
    And the remote has no branch "rondo/issue-1-add-a-greeting"
    # Its machine comes back all the same.
    When I run `rondo work $FORGE --once -- false`
    Then the exit code is 0
    And issue 1 has the labels "code"
    And issue 1 has 1 comment

  Scenario Outline: A store is lost, and then <what>
    When I run `rondo work $FORGE --once -- ./worker.sh`
    And a person does '<deeds>'
    And a person does '{"do": "clock", "offset_s": 7200}'
    And I run `rondo work $FORGE --once --store elsewhere -- false`
    Then stdout mentions "taken over to end it: its owner is gone"
    And issue 1 has the labels "<labels>"
    And a comment on issue 1 mentions "<reason>"
    And issue 1 has 1 comment
    And the claims at the remote are ""
    And the pull request of "rondo/issue-1-add-a-greeting" is "draft, closed"
    And its branch has the file "made.txt" with "made for issue 1"

    Examples:
      | what                       | deeds                                                        | labels              | reason          |
      | the pull request is closed | {"do": "close", "number": 2}                                 | code, rondo:blocked | closed_unmerged |
      | both are closed            | [{"do": "close", "number": 2}, {"do": "close", "number": 1}] | code                | issue_closed    |

  Scenario: A machine is gone for good at work, and the issue is closed
    Given a worker
      """
      sleep 1000
      """
    When I start `rondo work $FORGE --once -- ./worker.sh`
    And issue 1 gets the label "rondo:in-progress"
    And I kill it with KILL
    And a person does '[{"do": "close", "number": 1}, {"do": "clock", "offset_s": 3600}]'
    And I run `rondo work $FORGE --once --store elsewhere -- false`
    Then the exit code is 0
    And issue 1 has the labels "code"
    And a comment on issue 1 mentions "issue_closed"
    And the claims at the remote are ""

  Scenario: An issue was released and then closed: the mark of the release does not stay
    When I start `rondo work $FORGE --once --gate 'slow=sleep 1000' -- ./worker.sh`
    And issue 1 gets the label "rondo:in-progress"
    And I run `rondo work release 1`
    And it ends
    And a person does '{"do": "close", "number": 1}'
    Then the claims at the remote are "1"
    When a person does '{"do": "clock", "offset_s": 7200}'
    And I run `rondo work $FORGE --once --store elsewhere -- false`
    Then the exit code is 0
    And the claims at the remote are ""
    And issue 1 has the labels "code"

  Scenario: Two processes of one machine work on one issue at a time
    Given the issues
      | title | labels |
      | One   | code   |
      | Two   | code   |
    And a worker
      """
      case $RONDO_TASK_ID in 1) sleep 1000 ;; esac
      echo "made for issue $RONDO_TASK_ID" >made.txt
      """
    When I start `rondo work $FORGE -- ./worker.sh`
    And issue 1 gets the label "rondo:in-progress"
    And I start another one: `rondo work $FORGE -- ./worker.sh`
    And the other one says "as many as --max-concurrent allows (1): this one waits"
    And the forge was asked 6 more times for its issues
    And I end the other one with INT
    Then stdout mentions "works on issues of" once
    And stdout mentions "as many as --max-concurrent allows (1): this one waits" once
    And issue 2 has the labels "code"
    # More are allowed by who asks for them, and nobody keeps a place who is gone.
    When I run `rondo work $FORGE --once --max-concurrent 2 -- ./worker.sh`
    Then issue 2 has the labels "code, rondo:in-review"
    When I kill it with KILL
    And I start another one: `rondo work $FORGE -- ./worker.sh`
    And the other one says "taken up again"
    And I end the other one with INT
    Then stdout does not mention "this one waits"
    And stdout mentions "taken up again"
