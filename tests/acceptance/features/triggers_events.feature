@serve
Feature: Triggers by webhooks, files and chats

  @B-daemon-triggers
  Scenario: A signed webhook starts a run, once for each delivery
    Given the variable "HOOK_SECRET" is "s3cret"
    And a role with
      """
      triggers:
        - type: webhook
          port: 0
          secret: ${HOOK_SECRET}
          prompt_template: "Look at {body.issue.title}"
      """
    And a model that answers
      | says          |
      | Looked at it. |
    And a daemon of the role
    When GitHub delivers "d1" to "/hooks/worker", signed with "s3cret"
      """
      {"issue": {"title": "Disk full"}}
      """
    Then the answer is 202
    And the run soon has the status "completed"
    And the prompt of the run has the data "Disk full"
    When GitHub delivers "d1" to "/hooks/worker", signed with "s3cret"
      """
      {"issue": {"title": "Disk full"}}
      """
    Then the answer is 202 and names the same run
    And the agent "worker" has 1 run

  @B-daemon-triggers
  Scenario: A webhook with another secret, from a page, or to another name starts nothing
    Given the variable "HOOK_SECRET" is "s3cret"
    And a role with
      """
      triggers:
        - {type: webhook, port: 0, secret: "${HOOK_SECRET}"}
      """
    And a daemon of the role
    When GitHub delivers "d1" to "/hooks/worker", signed with "guess"
      """
      {}
      """
    Then the answer is 403
    And the answer mentions "invalid signature"
    When GitHub delivers "d1" to "/hooks/other", signed with "s3cret"
      """
      {}
      """
    Then the answer is 404
    And the agent "worker" has 0 runs

  @B-daemon-triggers
  Scenario: A file that changes starts a run, also when it changed before the daemon started
    Given a role with
      """
      triggers:
        - type: file_watch
          paths: [inbox]
          extensions: [.md]
          debounce_seconds: 0.1
          prompt_template: "{path} was {change}"
      """
    And a file "inbox/old.md" with
      """
      old
      """
    And a model that answers
      | says     |
      | Read it. |
      | Read it. |
    And a daemon of the role
    When I write the file "inbox/a.md"
    Then the agent "worker" soon has 1 run with the prompt "inbox/a.md"
    When I end the server with TERM
    And I write the file "inbox/old.md"
    And the server starts again
    Then the agent "worker" soon has 2 runs with the prompt "inbox/old.md"
