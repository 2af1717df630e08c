Feature: Agents end their loop when verification tools say so
  As an agent developer
  I want my agent to evaluate exit conditions using Gateway tools
  So the agent knows when to stop the autonomous loop

  Background:
    Given the security scanner of the tests is at "scanner"
    And a command "fix" in the project
      """
      : >src/config
      """
    And a file "src/config" with
      """
      password=letmein
      """

  @A-US3-1 @A-FR-003 @A-FR-004
  Scenario: A condition of the role that a command verifies
    Given a Makefile with the target "test" that runs "! grep -q password= src/config"
    And a role with
      """
      tools: [{type: shell, require_confirmation: false}]
      autonomy: {exit_conditions: [all_tests_pass]}
      """
    And a model that answers
      | calls                           |
      | run_shell {"command": "./fix"}  |
      | finish_task {"summary": "done"} |
    When I run `rondo run role.yaml -p x -a`
    Then the exit code is 0
    And condition "all_tests_pass" ended as "met" with reason "passed" and exit code 0
    And the last event is "run.finished" with status "completed"

  @A-US3-4 @A-FR-003 @A-FR-004
  Scenario: security_scan_clean is verified by the tool of an MCP server that the role declares
    Given a role with
      """
      tools:
        - {type: shell, require_confirmation: false}
        - {type: mcp, command: ./scanner, tool_prefix: sec}
      autonomy:
        exit_conditions:
          - {name: security_scan_clean, tool: sec_scan, arguments: {path: src}}
      """
    And a model that answers
      | calls                           |
      | run_shell {"command": "./fix"}  |
      | finish_task {"summary": "done"} |
    When I run `rondo run role.yaml -p x -a`
    Then the exit code is 0
    And the scanner has looked 1 time
    And condition "security_scan_clean" ended as "met" with reason "passed" and exit code 0
    And the journal has an event "verification.finished" with
      | met   | 1 |
      | total | 1 |
    And soon no process of "scanner" is left

  @A-US3-4 @A-FR-003 @A-FR-004
  Scenario: security_scan_clean is verified by a server that rondo.yaml registers for all roles
    Given a file "rondo.yaml" that names servers, with
      """
      mcp_servers:
        scanner:
          command: ./scanner
      """
    And a role with
      """
      tools: [{type: shell, require_confirmation: false}]
      autonomy:
        exit_conditions:
          - {name: security_scan_clean, server: scanner, tool: scan, arguments: {path: src}}
      """
    And a model that answers
      | calls                            |
      | finish_task {"summary": "done"}  |
      | run_shell {"command": "./fix"}   |
      | finish_task {"summary": "done!"} |
    When I run `rondo run role.yaml -p x -a`
    Then the exit code is 0
    And request 1 offers the tools finish_task, run_shell, update_plan
    And the scanner has looked 2 times
    And the scanner was started 1 time
    And stdout mentions "Summary: done!"

  @A-US3-4 @A-FR-003 @A-FR-004
  Scenario: security_scan_clean is verified by a server over HTTP that a user registered for all projects
    Given the security scanner of the tests listens with the token "s3cr3t-token"
    And the variable "SCANNER_TOKEN" is "s3cr3t-token"
    And a file "../home/.config/rondo/rondo.yaml" that names servers, with
      """
      mcp_servers:
        scanner:
          url: $SCANNER
          headers: {Authorization: "Bearer ${SCANNER_TOKEN}"}
      """
    And a role with
      """
      tools: [{type: shell, require_confirmation: false}]
      autonomy:
        exit_conditions:
          - {name: security_scan_clean, server: scanner, tool: scan, arguments: {path: src}}
      """
    And a model that answers
      | calls                            |
      | finish_task {"summary": "done"}  |
      | run_shell {"command": "./fix"}   |
      | finish_task {"summary": "done!"} |
    When I run `rondo run role.yaml -p x -a`
    Then the exit code is 0
    And the last message of request 2 mentions "src/config:1: a password"
    And condition "security_scan_clean" ended as "met" with reason "passed" and exit code 0
    And stderr or stdout does not mention "s3cr3t-token"
    When I run `rondo logs last --json`
    Then stdout does not mention "s3cr3t-token"

  @A-FR-003
  Scenario: A scanner that refuses the token leaves the condition not met
    Given the security scanner of the tests listens with the token "s3cr3t-token"
    And the variable "SCANNER_TOKEN" is "of-another"
    And a file "rondo.yaml" that names servers, with
      """
      mcp_servers:
        scanner:
          url: $SCANNER
          headers: {Authorization: "Bearer ${SCANNER_TOKEN}"}
      """
    And a role with
      """
      autonomy:
        exit_conditions:
          - {name: security_scan_clean, server: scanner, tool: scan, arguments: {path: src}}
      """
    And a model that answers
      | calls                                              |
      | finish_task {"summary": "done"}                    |
      | finish_task {"summary": "no", "status": "blocked"} |
    When I run `rondo run role.yaml -p x -a`
    Then the exit code is 4
    And condition "security_scan_clean" ended as "not_met" with reason "not_run"
    And the last message of request 2 mentions "401"

  @A-US3-5
  Scenario: A finish that is not borne out is answered with what failed, and the agent goes on
    Given a role with
      """
      tools:
        - {type: shell, require_confirmation: false}
        - {type: mcp, command: ./scanner, tool_prefix: sec}
      autonomy:
        exit_conditions:
          - {name: all_tests_pass, command: "echo 3 tests passed"}
          - {name: build_succeeds, command: "test -e built || { echo nothing is built; exit 7; }"}
          - {name: security_scan_clean, tool: sec_scan, arguments: {path: src}}
      """
    And a model that answers
      | calls                                                               |
      | finish_task {"summary": "I think it is done"}                       |
      | run_shell {"command": "./fix"} & run_shell {"command": "touch built"} |
      | finish_task {"summary": "Now it is"}                                |
    When I run `rondo run role.yaml -p x -a`
    Then the exit code is 0
    And stdout mentions "Summary: Now it is"
    And the call of "finish_task" in turn 1 ended as error, saying "exit conditions are not met"
    And the last message of request 2 mentions "all_tests_pass: met"
    And the last message of request 2 mentions "build_succeeds: not met, exit code 7"
    And the last message of request 2 mentions "nothing is built"
    And the last message of request 2 mentions "security_scan_clean: not met, exit code 1"
    And the last message of request 2 mentions "src/config:1: a password"
    And the run has the status "completed" after 1 iteration

  @A-US3-6 @A-FR-007
  Scenario: With all conditions met by tools and commands the loop ends and says so
    Given a role with
      """
      tools:
        - {type: shell, require_confirmation: false}
        - {type: mcp, command: ./scanner, tool_prefix: sec}
      autonomy:
        exit_conditions:
          - {name: all_tests_pass, command: "true"}
          - {name: linting_clean, command: "true"}
          - {name: security_scan_clean, tool: sec_scan, arguments: {path: src}}
      """
    And a model that answers
      | calls                           |
      | run_shell {"command": "./fix"}  |
      | finish_task {"summary": "done"} |
    When I run `rondo run role.yaml -p x -a`
    Then the exit code is 0
    And the journal has an event "verification.finished" with
      | met   | 3 |
      | total | 3 |
    And stdout mentions "all exit conditions are met"

  @A-US3-6
  Scenario: What the conditions say is shown to the agent in each turn, and ends the run as soon as all are met
    Given a role with
      """
      tools: [{type: shell, require_confirmation: false}]
      autonomy:
        exit_conditions: [{name: all_tests_pass, command: "! grep -n password= src/config"}]
      """
    And a model that answers
      | says    | calls                          |
      | Let us. |                                |
      |         | run_shell {"command": "./fix"} |
      | Fixed.  |                                |
    When I run `rondo run role.yaml -p x -a`
    Then the exit code is 0
    And the last message of request 2 mentions "all_tests_pass: not met"
    And the last message of request 2 mentions "1:password=letmein"
    And the run has the status "completed" after 2 iterations

  @A-FR-003
  Scenario Outline: A scanner that <does> leaves the condition not met
    Given a file "scanner-mode" with
      """
      <mode>
      """
    And a command "clean" in the project
      """
      : >src/config
      """
    And a role with
      """
      tools:
        - {type: shell, require_confirmation: false}
        - {type: mcp, command: ./scanner, tool_prefix: sec}
      autonomy:
        exit_conditions:
          - {name: security_scan_clean, tool: sec_scan, arguments: {path: src}, timeout_seconds: <seconds>}
      """
    And a model that answers
      | calls                                              |
      | run_shell {"command": "./clean"}                   |
      | finish_task {"summary": "done"}                    |
      | finish_task {"summary": "no", "status": "blocked"} |
    When I run `rondo run role.yaml -p x -a`
    Then the exit code is 4
    And condition "security_scan_clean" ended as "not_met" with reason "<reason>"
    And the last message of request 3 mentions "<text>"

    Examples:
      | does               | mode    | seconds | reason    | text                               |
      | reports an error   | error   | 60      | not_run   | the tool reports an error          |
      | gives no exit code | no-code | 60      | not_run   | the tool's result has no exit code |
      | does not answer    | silent  | 1       | timed_out | no answer in time                  |
      | dies               | die     | 60      | not_run   | not met                            |

  @A-FR-003
  Scenario Outline: A condition that nothing can verify is an error before the first request: <what>
    Given a role with
      """
      autonomy:
        exit_conditions: [<condition>]
      """
    And a model that answers
      | says |
      | no   |
    When I run `rondo run role.yaml -p x -a`
    Then the exit code is 1 or 2
    And stderr mentions "<word>"
    And the model was asked 0 times

    Examples:
      | what                 | condition                                  | word           |
      | no command is known  | all_tests_pass                             | all_tests_pass |
      | no such server       | {name: scanned, server: sonar, tool: scan} | sonar          |
      | no such tool         | {name: scanned, tool: scan_all}            | scan_all       |

  @A-FR-003
  Scenario: Conditions of the command line come to those of the role
    Given a role with
      """
      autonomy:
        exit_conditions: [{name: first, command: "true"}]
      """
    And a model that answers
      | calls                                              |
      | finish_task {"summary": "done"}                    |
      | finish_task {"summary": "no", "status": "blocked"} |
    When I run `rondo run role.yaml -p x -a --until second=false`
    Then the exit code is 4
    And the last message of request 2 mentions "first: met"
    And the last message of request 2 mentions "second: not met"

  @A-FR-003
  Scenario: An agent that gives up is not held against the conditions
    Given a role with
      """
      autonomy:
        exit_conditions: [{name: first, command: "touch verified; false"}]
      """
    And a model that answers
      | calls                                                    |
      | finish_task {"summary": "I cannot", "status": "failed"} |
    When I run `rondo run role.yaml -p x -a`
    Then the exit code is 3
    And the model was asked 1 time
