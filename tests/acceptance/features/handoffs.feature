Feature: Calls that wait for the decision of a person

  Background:
    Given a command "note" in the project
      """
      echo "$*" >>notes
      """

  Scenario: A call waits, the others are made, and the approved call is made once
    Given a role with
      """
      tools: [{type: shell}, {type: datetime}]
      """
    And a model that answers
      | calls                                                                  |
      | run_shell {"command": "./note one"} & parse_date {"text": "2026-01-01"} |
      | finish_task {"summary": "done"}                                        |
    When I run `rondo run role.yaml -p x -a`
    Then the exit code is 11
    And stderr mentions "rondo inbox"
    And the file "notes" does not exist
    And the journal has an event "tool.requested" with
      | name | parse_date |
    When I run `rondo inbox`
    Then stdout mentions "run_shell"
    And stdout mentions "this role requires confirmation"
    When I run `rondo resume last`
    Then the exit code is 11
    When I approve the call that waits
    Then the exit code is 0
    When I run `rondo resume last`
    Then the exit code is 0
    And the file "notes" has the line "one"
    And the call of "run_shell" in turn 1 ended as ok, saying ""
    When I run `rondo inbox`
    Then stderr mentions "no call waits for a decision"

  Scenario: The agent is told why a call was rejected, and continues
    Given a role with
      """
      tools: [{type: shell}]
      """
    And a model that answers
      | calls                                              |
      | run_shell {"command": "./note one"}                |
      | run_shell {"command": "./note one"}                |
      | finish_task {"summary": "no", "status": "blocked"} |
    When I run `rondo run role.yaml -p x -a`
    Then the exit code is 11
    When I reject the call that waits, saying "not on a Friday"
    Then the exit code is 0
    When I run `rondo resume last`
    Then the exit code is 4
    And the file "notes" does not exist
    And the last message of request 2 mentions "not on a Friday"
    And the last message of request 3 mentions "a person refused it"

  Scenario: A rejection needs a comment, and of two decisions the first one counts
    Given a role with
      """
      tools: [{type: shell}]
      """
    And a model that answers
      | calls                               |
      | run_shell {"command": "./note one"} |
      | finish_task {"summary": "done"}     |
    When I run `rondo run role.yaml -p x -a`
    And I reject the call that waits
    Then the exit code is 2
    And stderr mentions "it needs a text: a comment"
    When I approve the call that waits
    Then the exit code is 0
    When I reject the same call, saying "too late"
    Then the exit code is 2
    And stderr mentions "It is approved already, by user:"

  Scenario: A server continues the run when somebody decides in a terminal
    Given a role with
      """
      tools: [{type: shell}]
      """
    And a model that answers
      | calls                               |
      | run_shell {"command": "./note one"} |
      | finish_task {"summary": "done"}     |
    And somebody who listens at an address
    And I run `rondo sinks add ops --webhook $HOOK/warnings`
    And a server
    When I post to "/v1/runs"
      """
      {"role_file": "role.yaml", "prompt": "The task"}
      """
    Then the answer is 201
    And the run soon has the status "waiting"
    And the file "notes" does not exist
    And somebody is told of a warning of kind "handoff" with
      | agent_id | worker |
    When I approve the call that waits
    Then the exit code is 0
    And the run soon has the status "completed"
    And the file "notes" has the line "one"

  Scenario: What was decided while no server was running counts when it starts again
    Given a role with
      """
      tools: [{type: shell}]
      """
    And a model that answers
      | calls                               |
      | run_shell {"command": "./note one"} |
      | finish_task {"summary": "done"}     |
    And a server
    When I post to "/v1/runs"
      """
      {"role_file": "role.yaml", "prompt": "The task"}
      """
    Then the run soon has the status "waiting"
    When I end the server with KILL
    And I approve the call that waits
    And the server starts again
    Then the run soon has the status "completed"
    And the file "notes" has the line "one"

  Scenario: A run that waits twice is continued twice, and not in between
    Given a role with
      """
      tools: [{type: shell}]
      """
    And a model that answers
      | calls                               |
      | run_shell {"command": "./note one"} |
      | run_shell {"command": "./note two"} |
      | finish_task {"summary": "done"}     |
    And a server
    When I post to "/v1/runs"
      """
      {"role_file": "role.yaml", "prompt": "The task"}
      """
    Then the run soon has the status "waiting"
    When I approve the call that waits
    Then the file "notes" soon has the line "one"
    And the run soon has the status "waiting"
    When I approve the call that waits
    Then the run soon has the status "completed"
    And the file "notes" has the line "two"
    And the run was paused 2 times

  @C-operands
  Scenario: A script that is replaced while its call waits is shown again before it runs
    Given a role with
      """
      tools: [{type: shell}]
      """
    And a command "deploy" in the project
      """
      echo "$*" >>notes
      """
    And a model that answers
      | calls                                 |
      | run_shell {"command": "./deploy one"} |
      | finish_task {"summary": "done"}       |
    When I run `rondo run role.yaml -p x -a`
    Then the exit code is 11
    When I show the call that waits
    Then stdout mentions "file"
    And stdout mentions "deploy (sha256:"
    When I approve the call that waits
    And a command "deploy" in the project
      """
      echo harm >>notes
      """
    And I run `rondo resume last`
    Then the exit code is 11
    And stderr mentions "deploy has changed since the call was requested"
    And the file "notes" does not exist
    When I approve the call that waits
    And I run `rondo resume last`
    Then the exit code is 0
    And the file "notes" has the line "harm"

  Scenario: A value that the desk file hides is shown only when it is revealed, with an entry in the audit chain
    Given a role with
      """
      tools: [{type: shell}]
      """
    And a model that answers
      | calls                                     |
      | run_shell {"command": "./note topsecret"} |
      | finish_task {"summary": "done"}           |
    And a desk file that hides "/action/args/command" from me, who may reveal it
    When I run `rondo run role.yaml -p x -a`
    Then the exit code is 11
    When I show the call that waits
    Then stdout mentions "a rule hides /action/args/command"
    And stdout does not mention "topsecret"
    When I run `rondo inbox --json`
    Then stdout does not mention "topsecret"
    When I reveal "/action/args/timeout_seconds" of the call that waits
    Then the exit code is 2
    When I reveal "/action/args/command" of the call that waits
    Then the exit code is 0
    And stdout mentions "topsecret"
    When I run `rondo audit export`
    Then stdout mentions "handoff.revealed"
    And stdout does not mention "topsecret"
    When I approve the call that waits
    And I run `rondo resume last`
    Then the file "notes" has the line "topsecret"

  Scenario: A person's own pause of a run that waits is kept after the decision
    Given a role with
      """
      tools: [{type: shell}]
      """
    And a model that answers
      | calls                               |
      | run_shell {"command": "./note one"} |
      | finish_task {"summary": "done"}     |
    And a server
    When I post to "/v1/runs"
      """
      {"role_file": "role.yaml", "prompt": "The task"}
      """
    Then the run soon has the status "waiting"
    When I run `rondo pause last`
    Then the exit code is 0
    And the run soon has the status "paused"
    When I approve the call that waits
    Then the exit code is 0
    And the run soon has the status "paused"
    And the file "notes" does not exist
    When I run `rondo continue last`
    Then the run soon has the status "completed"
    And the file "notes" has the line "one"
