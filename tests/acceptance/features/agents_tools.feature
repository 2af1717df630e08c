Feature: Tools and providers of agents

  Scenario: A model of Anthropic is asked in its own language
    Given a role with
      """
      model: {provider: anthropic, name: claude-sonnet-4-5}
      tools: [{type: think}]
      """
    And a model that answers
      | says  | calls                           |
      | Well. | think {"thought": "hm"}         |
      |       | finish_task {"summary": "done"} |
    When I run `rondo run role.yaml -p 'The task' -a`
    Then the exit code is 0
    And the model was asked 2 times
    And the model server has refused nothing
    And request 1 has the header "x-api-key: sk-acceptance-0123456789"
    And request 2 has the messages user, assistant, user
    And the run has the status "completed" after 1 iteration

  Scenario: base_url and api_key_env in the role: any server that speaks the same
    Given a model that answers
      | says |
      | yes  |
    And the variable "HOUSE_KEY" is "sk-house"
    And a role that names servers, with
      """
      model:
        provider: house
        name: house-1
        base_url: $BASE
        api_key_env: HOUSE_KEY
      """
    When I run `rondo run role.yaml -p x`
    Then the exit code is 0
    And stdout is exactly "yes"
    And request 1 has the header "Authorization: Bearer sk-house"
    And request 1 has the setting "model" "house-1"

  Scenario: Files are read and written below one folder
    Given a file "data/in.txt" with
      """
      forty-two
      """
    And a file "outside.txt" with
      """
      a secret
      """
    And a role with
      """
      tools: [{type: filesystem, root_path: data, read_only: false}]
      """
    And a model that answers
      | calls                                                       |
      | read_file {"path": "in.txt"}                                |
      | read_file {"path": "../outside.txt"}                        |
      | write_file {"path": "deep/out.txt", "content": "forty-two"} |
      | list_directory {"path": "."}                                |
      | finish_task {"summary": "done"}                             |
    When I run `rondo run role.yaml -p x -a`
    Then the exit code is 0
    And the call of "read_file" in turn 1 ended as ok, saying "forty-two"
    And the call of "read_file" in turn 2 ended as error, saying "is outside allowed directories"
    And the file "data/deep/out.txt" has the lines "forty-two"
    And the call of "list_directory" in turn 4 ended as ok, saying "in.txt"

  Scenario: A server is asked over HTTP when the role allows its private address
    Given a staging server where "/health" answers 204
    And a role that names servers, with
      """
      tools: [{type: http, base_url: $STAGING}]
      execution: {allow_hosts: ["127.0.0.1"]}
      """
    And a model that answers
      | calls                                               |
      | http_request {"method": "GET", "path": "/health"}   |
      | http_request {"method": "DELETE", "path": "/health"} |
      | finish_task {"summary": "done"}                     |
    When I run `rondo run role.yaml -p x -a`
    Then the exit code is 0
    And the call of "http_request" in turn 1 ended as ok, saying "204"
    And the call of "http_request" in turn 2 ended as error, saying "DELETE"
    And the staging server was asked for "/health" 1 time

  Scenario: A script of the role gets its parameters as variables
    Given a role with
      """
      tools:
        - type: script
          scripts:
            - name: greet
              description: Greets
              body: 'echo "hello $NAME"; exit 3'
              parameters: [{name: name, required: true}]
      """
    And a model that answers
      | calls                           |
      | greet {"name": "$(id) world"}   |
      | finish_task {"summary": "done"} |
    When I run `rondo run role.yaml -p x -a`
    Then the exit code is 0
    And the last message of request 2 mentions "hello $(id) world"

  @A-US3-2 @A-FR-004
  Scenario: build_succeeds is verified by a tool of the role
    Given a Makefile with the target "build" that runs "test -e source"
    And a role with
      """
      tools:
        - {type: shell, require_confirmation: false}
      autonomy:
        exit_conditions:
          - {name: build_succeeds, tool: run_shell, arguments: {command: make build}}
      """
    And a model that answers
      | calls                                 |
      | finish_task {"summary": "done"}       |
      | run_shell {"command": "touch source"} |
      | finish_task {"summary": "done"}       |
    When I run `rondo run role.yaml -p x -a`
    Then the exit code is 0
    And the call of "finish_task" in turn 1 ended as error, saying "build_succeeds: not met"
    And condition "build_succeeds" ended as "met" with reason "passed" and exit code 0

  Scenario: Calls of one reply that only read are made side by side, and answered in order
    Given a role with
      """
      tools: [{type: think}, {type: datetime}]
      """
    And a model that answers
      | calls                                                                                |
      | think {"thought": "a"} & current_time {"timezone": "UTC"} & think {"thought": "b"} |
      | finish_task {"summary": "done"}                                                      |
    When I run `rondo run role.yaml -p x -a`
    Then the exit code is 0
    And request 2 has the messages system, user, assistant, tool, tool, tool
    And in each request every answer of a tool follows its call, and every call has its answer
    And each call of a tool has one result

  Scenario: A skill brings its text and its tools
    Given a file "skills/notes/SKILL.md" with
      """
      ---
      name: notes
      description: Keeping notes
      tools:
        - type: think
      ---
      Write everything down.
      """
    And a role with
      """
      skills: [notes]
      """
    And a model that answers
      | says |
      | yes  |
    When I run `rondo run role.yaml -p x`
    Then the exit code is 0
    And request 1 offers the tools think
    And the system prompt of request 1 mentions "Write everything down."

  Scenario: A skill that the role does not name is listed, and read when it is needed
    Given a file ".agents/skills/invoices/SKILL.md" with
      """
      ---
      name: invoices
      description: Checking invoices
      ---
      Add up every line twice.
      """
    And a role with
      """
      auto_skills: {enabled: true}
      """
    And a model that answers
      | says | calls                               |
      |      | activate_skill {"name": "invoices"} |
      | done |                                     |
    When I run `rondo run role.yaml -p x`
    Then the exit code is 0
    And request 1 offers the tools activate_skill
    And the system prompt of request 1 mentions "- invoices: Checking invoices"
    When I run `rondo logs last --json`
    Then stdout mentions "Add up every line twice."

  Scenario Outline: An MCP server that cannot be used is told before the run begins: <what>
    Given a command "dies" in the project
      """
      exit 3
      """
    And a role with
      """
      tools:
        - {type: mcp, <server>}
      """
    And a model that answers
      | says |
      | no   |
    When I run `rondo run role.yaml -p x -a`
    Then the exit code is 1 or 2
    And stderr mentions "spec.tools[0]"
    And stderr mentions "<word>"
    And the model was asked 0 times

    Examples:
      | what           | server                                                     | word  |
      | no program     | command: ./nope                                            | nope  |
      | it dies        | command: ./dies                                            | dies  |
      | no such server | transport: streamable-http, url: "http://127.0.0.1:1/mcp" | 127.0 |

  @B-ingest
  Scenario: An agent searches the documents of its role
    Given a file "docs/faq.md" with
      """
      Refunds take five days.
      """
    And a file "turns.jsonl" with
      """
      {"tool_calls":[{"name":"search_documents","arguments":{"query":"refund"}}]}
      {"text":"five days"}
      """
    And a role with
      """
      model: {provider: scripted, name: turns.jsonl}
      ingest: {sources: ["./docs/**/*.md"]}
      """
    When I run `rondo run role.yaml -p 'How long?'`
    Then the exit code is 0
    When I run `rondo logs last --json`
    Then stdout mentions "[Source: docs/faq.md | Score: "

  @B-tools-delegate
  Scenario: Work is given to another role, in a run of its own that counts for the one who gave it
    Given a file "helper.yaml" with
      """
      apiVersion: initrunner/v1
      kind: Agent
      metadata: {name: helper, description: Knows numbers}
      spec:
        role: You help.
        model: {provider: scripted, name: helper.jsonl}
      """
    And a file "helper.jsonl" with
      """
      {"text": "Forty-two.", "usage": {"input": 300, "output": 20}}
      """
    And a role with
      """
      tools: [{type: delegate, agents: [{name: helper, role_file: helper.yaml}]}]
      """
    And a model that answers
      | calls                                       |
      | delegate_to_helper {"prompt": "What is it?"} |
      | finish_task {"summary": "done"}             |
    When I run `rondo run role.yaml -p x -a`
    Then the exit code is 0
    And the last message of request 2 is
      """
      Forty-two.
      """
    When I run `rondo runs --agent helper`
    Then stdout mentions "completed"

  @B-tools-delegate
  Scenario: Roles that give work to each other in a circle stop at the depth
    Given a file "helper.yaml" with
      """
      apiVersion: initrunner/v1
      kind: Agent
      metadata: {name: helper}
      spec:
        role: You help.
        model: {provider: scripted, name: helper.jsonl}
        tools: [{type: delegate, max_depth: 2, agents: [{name: helper, role_file: helper.yaml}]}]
      """
    And a file "helper.jsonl" with
      """
      {"tool_calls": [{"name": "delegate_to_helper", "arguments": {"prompt": "again"}}]}
      {"text": "Enough."}
      """
    And a role with
      """
      tools: [{type: delegate, max_depth: 2, agents: [{name: helper, role_file: helper.yaml}]}]
      """
    And a model that answers
      | calls                                       |
      | delegate_to_helper {"prompt": "What is it?"} |
      | finish_task {"summary": "done"}             |
    When I run `rondo run role.yaml -p x -a`
    Then the exit code is 0
    And the last message of request 2 is
      """
      Enough.
      """

  @B-tools-delegate
  Scenario: A role file that is missing is named before anything runs
    Given a role with
      """
      tools: [{type: delegate, agents: [{name: helper, role_file: nowhere.yaml}]}]
      """
    When I run `rondo run role.yaml -p x -a`
    Then the exit code is 2
    And stderr mentions "nowhere.yaml"
