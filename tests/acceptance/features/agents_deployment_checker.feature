@B-example
Feature: The deployment checker of InitRunner's examples
  The role file is run as it was published. Only the environment says where the model, the staging
  server and Slack are.

  Background:
    Given the role "deployment-checker.yaml" of InitRunner, unchanged
    And a Slack webhook

  Scenario: It checks the addresses, tells Slack, and finishes
    Given a staging server where "/health" answers 204
    And a model that answers about those servers
      | says               | calls                                                                                                                                                            |
      | I plan.            | update_plan {"steps": [{"description": "Check /health", "status": "in_progress"}, {"description": "Check /gone"}, {"description": "Report"}]}                    |
      |                    | run_shell {"command": "curl -sSL -o /dev/null -w \"%{http_code} %{time_total}s\" $STAGING/health"} & run_shell {"command": "curl -sSL -o /dev/null -w \"%{http_code}\" $STAGING/gone"} |
      |                    | update_plan {"steps": [{"description": "Check /health", "status": "completed", "notes": "204"}, {"description": "Check /gone", "status": "failed", "notes": "404"}, {"description": "Report", "status": "in_progress"}]} |
      | One is up.         |                                                                                                                                                                  |
      |                    | send_slack_message {"text": "1 of 2 healthy"}                                                                                                                    |
      |                    | finish_task {"summary": "/health is up, /gone is not there", "status": "failed"}                                                                                 |
    When I run `rondo run deployment-checker.yaml -p 'Verify the staging deployment at $STAGING/health and $STAGING/gone' -a --allow-host $SLACK_HOST`
    Then the exit code is 3
    And stdout mentions "Status: failed | Iterations: 2/6"
    And stdout mentions "Summary: /health is up, /gone is not there"
    And request 1 offers the tools finish_task, run_shell, send_slack_message, update_plan
    And request 1 has no setting "temperature"
    And the call of "run_shell" in turn 2 ended as ok, saying "204 0."
    And the staging server was asked for "/health" 1 time
    And the staging server was asked for "/gone" 1 time
    And Slack got 1 message
    And Slack got a message with
      | text       | 1 of 2 healthy     |
      | channel    | #deployments       |
      | username   | Deploy Checker     |
      | icon_emoji | :white_check_mark: |
    And the last message of request 5 mentions "1. [x] Check /health (completed)"
    And the last message of request 5 mentions "2. [!] Check /gone (failed)"
    And between iterations there were at least 990 milliseconds
    And stderr or stdout does not mention "secret-part"

  Scenario: It may run nothing but curl
    Given a staging server where "/" answers 200
    And a model that answers
      | calls                                                                                 |
      | run_shell {"command": "cat /etc/passwd"} & run_shell {"command": "curl x \| cat"} |
      | finish_task {"summary": "no", "status": "blocked"}                                    |
    When I run `rondo run deployment-checker.yaml -p x -a`
    Then the exit code is 4
    And the call of "run_shell" in turn 1 ended as error, saying "is not in the allowed list: ['curl']"
    And the last message of request 2 mentions "shell operator '|' is not allowed"

  Scenario: Its six iterations are a limit
    Given a model that answers
      | calls                                            | says    | times |
      |                                                  | Well.   | 1     |
      | update_plan {"steps": [{"description": "try"}]}  |         | 1     |
      |                                                  | Well.   | 1     |
    When I run `rondo run deployment-checker.yaml -p x -a --max-iterations 2`
    Then the exit code is 5
    And stdout mentions "Iterations: 2/2"

  Scenario: Its budget is 30,000 tokens
    Given a model that answers
      | says  | calls                                           | tokens     |
      |       | update_plan {"steps": [{"description": "try"}]} | 29000/1000 |
      | Well. |                                                 | 100/1      |
    When I run `rondo run deployment-checker.yaml -p x -a`
    Then the exit code is 7
    And the model was asked 1 time

  Scenario: A Slack that nobody allowed is not reached when its address is private
    Given a model that answers
      | calls                                               |
      | send_slack_message {"text": "hello"}                |
      | finish_task {"summary": "no", "status": "blocked"}  |
    When I run `rondo run deployment-checker.yaml -p x -a`
    Then the exit code is 4
    And Slack got 0 messages
    And the call of "send_slack_message" in turn 1 ended as error, saying "SSRF blocked"
    And stderr or stdout does not mention "secret-part"

  Scenario: Without SLACK_WEBHOOK_URL the tool says what is missing
    Given the variable "SLACK_WEBHOOK_URL" is not set
    And a model that answers
      | calls                                               |
      | send_slack_message {"text": "hello"}                |
      | finish_task {"summary": "no", "status": "blocked"}  |
    When I run `rondo run deployment-checker.yaml -p x -a`
    Then the call of "send_slack_message" in turn 1 ended as error, saying "SLACK_WEBHOOK_URL"

  Scenario: A dry run of it needs neither key nor servers
    Given the variable "SLACK_WEBHOOK_URL" is not set
    When I run `rondo run deployment-checker.yaml -p x -a --dry-run --max-iterations 1`
    Then the exit code is 5
    And Slack got 0 messages
