@D-outage
Feature: Outages of the forge lose nothing and double nothing

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

  Scenario Outline: <what> fails once
    Given the fault '[<faults>]'
    When I run `rondo work $FORGE --once -- ./worker.sh`
    Then the exit code is 0
    And the forge made each fault
    And issue 1 has the labels "code, rondo:in-review"
    And issue 1 has 1 comment
    And a comment on issue 1 mentions "in-review"
    And there is 1 pull request
    And the pull request of "rondo/issue-1-add-a-greeting" is "draft, open"
    And its branch has 1 commit more than "main"
    And the claim of issue 1 names pull request 2

    Examples:
      | what                   | faults |
      | Each write             | {"kind": "status", "status": 500, "method": "POST", "path": "/shop/labels$"}, {"kind": "status", "status": 500, "method": "POST", "path": "/1/labels$"}, {"kind": "status", "status": 500, "method": "POST", "path": "/1/comments$"}, {"kind": "status", "status": 500, "method": "PATCH"}, {"kind": "status", "status": 500, "method": "DELETE"}, {"kind": "status", "status": 500, "method": "POST", "path": "/pulls$"} |
      | Git                    | {"kind": "status", "status": 500, "path": "upload-pack$", "skip": 2}, {"kind": "status", "status": 500, "path": "receive-pack$"}, {"kind": "status", "status": 500, "path": "receive-pack$", "skip": 3} |

    @long
    Examples:
      | what                   | faults |
      | Reading the issues     | {"kind": "status", "status": 500, "path": "/issues.*labels=code"}, {"kind": "status", "status": 503, "path": "/issues/1$"} |
      | Reading about people   | {"kind": "status", "status": 500, "path": "/issues/1/events"}, {"kind": "drop-before", "path": "/permission$"} |
      | Reading comments       | {"kind": "status", "status": 500, "method": "GET", "path": "/1/comments"}, {"kind": "garbage", "method": "GET", "path": "/1/comments"} |
      | Looking for a pull     | {"kind": "status", "status": 500, "method": "GET", "path": "/pulls"}, {"kind": "empty-object", "method": "GET", "path": "/pulls[?]"} |

  Scenario Outline: The answer to <write> is lost after it was done
    Given the fault '[<faults>]'
    When I run `rondo work $FORGE --once -- ./worker.sh`
    Then the exit code is 0
    And the forge made each fault
    And issue 1 has the labels "code, rondo:in-review"
    And issue 1 has 1 comment
    And there is 1 pull request
    And the pull request of "rondo/issue-1-add-a-greeting" is "draft, open"
    And its branch has 1 commit more than "main"
    And the claim of issue 1 names pull request 2

    Examples:
      | write            | faults |
      | the pull request | {"kind": "drop-after", "method": "POST", "path": "/pulls$"} |
      | the push         | {"kind": "drop-after", "times": 2, "skip": 1, "method": "POST", "path": "receive-pack$"} |

    @long
    Examples:
      | write            | faults |
      | each label       | {"kind": "drop-after", "method": "POST", "path": "/1/labels$"}, {"kind": "status-after", "method": "DELETE"} |
      | the comment      | {"kind": "drop-after", "method": "POST", "path": "/1/comments$"}, {"kind": "cut", "method": "PATCH"} |
      | the pull request, half of which comes | {"kind": "cut", "method": "POST", "path": "/pulls$"} |
      | the claim        | {"kind": "drop-after", "times": 2, "method": "POST", "path": "receive-pack$"} |

  Scenario Outline: The limit of requests is reached: <what>
    Given the fault '{<fault>}'
    When I run `rondo work $FORGE --once -- ./worker.sh`
    Then the exit code is 0
    And the forge made each fault
    And for 2 seconds after that nothing was asked of the API
    And issue 1 has the labels "code, rondo:in-review"
    And issue 1 has 1 comment
    And there is 1 pull request

    Examples:
      | what                       | fault |
      | the secondary one, a write | "kind": "limit-secondary", "seconds": 2, "method": "POST", "path": "/1/comments$"                    |

    @long
    Examples:
      | what                       | fault |
      | the primary one, a read    | "kind": "limit-primary", "seconds": 2, "path": "/issues/1$"                                         |
      | with 429                   | "kind": "status", "status": 429, "headers": {"Retry-After": "2"}, "method": "POST", "path": "/pulls$" |

  Scenario Outline: <what> in place of the issues cancels nothing
    Given a worker that waits for my word, and then
      """
      echo "made for issue $RONDO_TASK_ID" >made.txt
      """
    When I start `rondo work $FORGE --once --sandbox none -- ./worker.sh`
    And issue 1 gets the label "rondo:in-progress"
    And the fault '{"kind": "<kind>", "times": 0, "path": "/issues(/1)?([?]|$)"}'
    And the forge has made 3 faults
    And the forge has no more faults
    And the worker may go on
    And it ends
    Then the exit code is 0
    And issue 1 has the labels "code, rondo:in-review"
    And there is 1 pull request

    Examples:
      | what           | kind         |
      | An empty list  | empty-list   |

    @long
    Examples:
      | what           | kind         |
      | An empty object | empty-object |
      | Another page   | garbage      |

  Scenario Outline: The issue is <what> while it is worked on
    Given a worker
      """
      sleep 1000
      """
    When I start `rondo work $FORGE --once -- ./worker.sh`
    And issue 1 gets the label "rondo:in-progress"
    And a person does '<actions>'
    And it ends
    Then the exit code is 130
    And there are 0 pull requests
    And the claims at the remote are ""
    And no process of "sleep 1000" is left
    When I run `rondo work list --all`
    Then stdout mentions "issue_gone"

    Examples:
      | what        | actions |
      | deleted     | {"do": "delete-issue", "number": 1} |
      | transferred | [{"do": "create-repository", "repository": "acme/other"}, {"do": "transfer", "number": 1, "to": "acme/other"}] |

  Scenario: The repository becomes read-only
    Given a worker that waits for my word, and then
      """
      echo "made for issue $RONDO_TASK_ID" >made.txt
      """
    When I start `rondo work $FORGE --once --sandbox none -- ./worker.sh`
    And issue 1 gets the label "rondo:in-progress"
    And a person does '{"do": "set-repository", "archived": true}'
    And the worker may go on
    And it ends
    Then the exit code is 4
    And there are 0 pull requests
    When I run `rondo work list --all`
    Then stdout mentions "read_only"
    # Nothing begins there, and it says why.
    When I run `rondo work $FORGE --once --sandbox none -- ./worker.sh`
    Then stderr mentions "read-only"

  Scenario: The base is replaced by another history
    Given a worker that waits for my word, and then
      """
      echo "made for issue $RONDO_TASK_ID" >made.txt
      """
    When I start `rondo work $FORGE --once --sandbox none -- ./worker.sh`
    And issue 1 gets the label "rondo:in-progress"
    And a person does '{"do": "push", "parent": "", "files": {"new.txt": "new"}}'
    And the worker may go on
    And it ends
    Then the exit code is 4
    And issue 1 has the labels "code, rondo:blocked"
    And a comment on issue 1 mentions "replaced by another history"
    And there are 0 pull requests
    And the claims at the remote are ""
    When a person does '{"do": "unlabel", "number": 1, "label": "rondo:blocked"}'
    And I run `rondo work $FORGE --once --sandbox none -- ./worker.sh`
    Then the exit code is 0
    And the pull request of "rondo/issue-1-add-a-greeting" is "draft, open"
    And its branch has 1 commit more than "main"

  Scenario: The token expires, and is renewed
    Given a worker that waits for my word, and then
      """
      echo "made for issue $RONDO_TASK_ID" >made.txt
      """
    When I start `rondo work $FORGE --once --sandbox none -- ./worker.sh`
    And issue 1 gets the label "rondo:in-progress"
    And a person does '{"do": "expire-token", "token": "token-rondo-bot"}'
    And the forge has refused 5 requests with 401
    And a person does '{"do": "renew-token", "token": "token-rondo-bot"}'
    And the worker may go on
    And it ends
    Then the exit code is 0
    And issue 1 has the labels "code, rondo:in-review"
    And issue 1 has 1 comment
    And there is 1 pull request

  Scenario: The branch is protected
    Given a person does '{"do": "set-repository", "protected": ["refs/heads/rondo/*"]}'
    When I run `rondo work $FORGE --once -- ./worker.sh`
    Then the exit code is 4
    And issue 1 has the labels "code, rondo:blocked"
    And a comment on issue 1 mentions "refused"
    And the claims at the remote are ""
    And there are 0 pull requests

  Scenario: Claims are protected: nothing begins
    Given a person does '{"do": "set-repository", "protected": ["refs/rondo/*"]}'
    When I run `rondo work $FORGE --once -- ./worker.sh`
    Then stderr mentions "issues cannot be claimed"
    And nothing was written at the forge

  Scenario: A claim that cannot be given back is reported, and given back later
    Given a worker that waits for my word, and then
      """
      exit 1
      """
    When I start `rondo work $FORGE --once --sandbox none --attempts 1 -- ./worker.sh`
    And issue 1 gets the label "rondo:in-progress"
    And a person does '{"do": "set-repository", "protected": ["refs/rondo/*"]}'
    And the worker may go on
    And it ends
    Then the exit code is 3
    And issue 1 has the labels "code, rondo:blocked"
    And the claims at the remote are "1"
    When I run `rondo work status 1`
    Then stdout mentions "the claim cannot be given back: "
    When a person does '{"do": "set-repository", "protected": []}'
    And I run `rondo work $FORGE --once --sandbox none -- ./worker.sh`
    Then the claims at the remote are ""
    And issue 1 has the labels "code, rondo:blocked"

  Scenario: Missing credentials of git are reported as such
    Given the fault '{"kind": "status", "status": 401, "times": 0, "path": "upload-pack"}'
    When I start `rondo work $FORGE --poll 10ms -- ./worker.sh`
    And the forge has refused 6 requests with 401
    And I send it TERM
    And it ends
    Then stdout mentions "git has no valid credentials for the remote" once
    And stdout does not mention "does not answer"

  Scenario: Somebody else pushes to the branch
    Given a worker that waits for my word, and then
      """
      echo "made for issue $RONDO_TASK_ID" >made.txt
      """
    When I start `rondo work $FORGE --once --sandbox none -- ./worker.sh`
    And issue 1 gets the label "rondo:in-progress"
    And a person does '{"do": "push", "branch": "rondo/issue-1-add-a-greeting", "files": {"theirs.txt": "x"}}'
    And the worker may go on
    And it ends
    Then the exit code is 4
    And issue 1 has the labels "code, rondo:blocked"
    And a comment on issue 1 mentions "conflict"
    And there are 0 pull requests
    And the claims at the remote are ""

  Scenario: Without a forge nothing begins, and the command says so
    Given the fault '{"kind": "status", "status": 502, "times": 0, "path": "/api/"}'
    When I run `rondo work $FORGE --once -- ./worker.sh`
    Then the exit code is 10
    And stderr mentions "502"
    And nothing was written at the forge
