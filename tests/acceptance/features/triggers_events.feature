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
  Scenario: A webhook of a role without a secret has one that Rondo made
    Given a role with
      """
      triggers: [{type: webhook, port: 0}]
      """
    And a model that answers
      | says       |
      | Looked at. |
    And a daemon of the role
    When GitHub delivers "d1" to "/hooks/worker", signed with "guessed"
      """
      {"a": 1}
      """
    Then the answer is 403
    When GitHub delivers "d2" to "/hooks/worker", signed with the secret that Rondo made
      """
      {"a": 1}
      """
    Then the answer is 202
    And the run soon has the status "completed"

  @B-daemon-triggers
  Scenario: Requests about one issue are turns of one conversation, each with its run
    Given a role with
      """
      triggers:
        - type: webhook
          port: 0
          unsigned: true
          prompt_template: "{body.text}"
          conversation: "{body.issue}"
      """
    And a file "show.sh" with
      """
      # show.sh: the conversation, once both turns have their answer
      id=$(rondo conversations list --json | sed 's/.*"id":"\([^"]*\)".*/\1/')
      until test "$(rondo conversations show "$id" | grep -c 'Noted it')" = 2; do sleep 0.1; done
      rondo conversations show "$id"
      """
    And a model that answers
      | says      |
      | Noted it. |
      | Noted it. |
    And a daemon of the role
    When GitHub delivers "d1" to "/hooks/worker", signed with "x"
      """
      {"issue": 17, "text": "The disk is full"}
      """
    Then the run soon has the status "completed"
    When GitHub delivers "d2" to "/hooks/worker", signed with "x"
      """
      {"issue": 17, "text": "And now?"}
      """
    Then the agent "worker" soon has 2 runs
    When I run `rondo conversations list`
    Then stdout mentions "worker  webhook  17   "
    When I run `sh show.sh`
    Then stdout mentions "The disk is full"
    And stdout mentions "And now?"
    And stdout mentions "2 turns"

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

  @B-daemon-triggers @B-webhook-signatures
  Scenario: Standard Webhooks are accepted when they are signed and fresh, and once for each id
    Given the variable "HOOK_SECRET" is "whsec_c2VjcmV0LW9mLXRoZS1ob29r"
    And a role with
      """
      triggers:
        - {type: webhook, port: 0, secret: "${HOOK_SECRET}", prompt_template: "{body.text}"}
      """
    And a model that answers
      | says   |
      | Noted. |
    And a daemon of the role
    When a message "msg_1" comes to "/hooks/worker", signed with "whsec_Z3Vlc3NlZA==" 0 seconds ago
      """
      {"text": "forged"}
      """
    Then the answer is 403
    And the answer mentions "invalid signature"
    When a message "msg_1" comes to "/hooks/worker", signed with "whsec_c2VjcmV0LW9mLXRoZS1ob29r" 360 seconds ago
      """
      {"text": "stale"}
      """
    Then the answer is 403
    And the agent "worker" has 0 runs
    When a message "msg_1" comes to "/hooks/worker", signed with "whsec_c2VjcmV0LW9mLXRoZS1ob29r" 0 seconds ago
      """
      {"text": "real"}
      """
    Then the answer is 202
    And the run soon has the status "completed"
    And the prompt of the run has the data "real"
    When a message "msg_1" comes to "/hooks/worker", signed with "whsec_c2VjcmV0LW9mLXRoZS1ob29r" 10 seconds ago
      """
      {"text": "real"}
      """
    Then the answer is 202 and names the same run
    And the agent "worker" has 1 run

  @B-daemon-triggers @B-telegram
  Scenario: A chat with a bot is a conversation, over restarts, for those who may use it
    Given a role with
      """
      triggers:
        - {type: telegram, allowed_user_ids: [7]}
      """
    And a Telegram bot
    And a model that answers
      | says                    |
      | The disk is full.       |
      | I said: it is full.     |
    And a daemon of the role
    When the user 8 writes "Who are you?" to the bot
    And the user 7 writes "What is wrong?" to the bot
    Then the bot soon has answered 7 with "The disk is full."
    And the server says "8"
    When I end the server with TERM
    And the user 7 writes "What did you say?" to the bot
    And the server starts again
    Then the bot soon has answered 7 with "I said: it is full."
    And the bot has answered 2 times
    And request 2 has the messages system, user, assistant, user
    And the model was asked 2 times
    When I run `rondo conversations list`
    Then stdout mentions "telegram"
