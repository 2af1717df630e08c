Feature: Role files are checked before they are run

  Scenario Outline: What is wrong is told with line, column and field: <field>
    Given a file "role.yaml" with
      """
      apiVersion: initrunner/v1
      kind: Agent
      metadata:
        name: <name>
      spec:
        role: hello
        model:
          provider: openai
          name: gpt-5-mini
          temperature: <temperature>
        guardrails:
          max_iterations: <iterations>
        <key>: {}
      """
    When I run `rondo validate role.yaml`
    Then the exit code is <code>
    And a finding at <line>:<column> of "role.yaml" is an "<kind>" about "<field>"

    Examples:
      | name    | temperature | iterations | key         | code | line | column | kind    | field                          |
      | My Name | 0.1         | 10         | autonomy    | 1    | 4    | 9      | error   | metadata.name                  |
      | worker  | 2.5         | 10         | autonomy    | 1    | 10   | 18     | error   | spec.model.temperature         |
      | worker  | 0.1         | 0          | autonomy    | 1    | 12   | 21     | error   | spec.guardrails.max_iterations |
      | worker  | 0.1         | soon       | autonomy    | 1    | 12   | 21     | error   | spec.guardrails.max_iterations |
      | worker  | 0.1         | 10         | guardrials  | 0    | 13   | 3      | unprotected | guardrials                 |

  Scenario: A slip in a key is met with what it might have been
    Given a role with
      """
      guardrials: {max_iterations: 3}
      """
    When I run `rondo validate role.yaml`
    Then the exit code is 0
    And stderr or stdout mentions "guardrails"
    When I run `rondo validate --strict role.yaml`
    Then the exit code is 1

  Scenario: All errors of a file are told at once
    Given a file "role.yaml" with
      """
      apiVersion: initrunner/v2
      kind: Robot
      metadata:
        name: x
      spec:
        model:
          provider: openai
      """
    When I run `rondo validate role.yaml`
    Then the exit code is 1
    And stderr or stdout mentions "apiVersion"
    And stderr or stdout mentions "kind"
    And stderr or stdout mentions "metadata.name"
    And stderr or stdout mentions "spec.role"
    And stderr or stdout mentions "spec.model.name"
    When I run `rondo run role.yaml -p x -a`
    Then the exit code is 2
    And stderr mentions "spec.model.name"

  Scenario: What run does not do yet is validated, and named when the agent is run
    Given a role with
      """
      triggers:
        - {type: discord, token_env: TOKEN, allowed_user_ids: ["1"]}
      observability: {backend: logfire}
      tools:
        - {type: custom, module: tools}
      """
    When I run `rondo validate role.yaml`
    Then the exit code is 0
    When I run `rondo run role.yaml -p x --dry-run`
    Then the exit code is 0
    And stdout is exactly "[dry-run] Simulated response."
    And stderr mentions "spec.triggers"
    And stderr mentions "spec.observability"
    And stderr mentions "custom"

  Scenario: A file with a byte order mark and Windows' ends of lines
    Given a role
    When I run `printf '\357\273\277' >windows.yaml && sed 's/$/\r/' role.yaml >>windows.yaml && rondo validate --strict windows.yaml`
    Then the exit code is 0

  Scenario: A flat file is run as its envelope is
    Given a file "role.yaml" with
      """
      name: worker
      prompt: You help.
      tools:
        - think
        - shell: {allowed_commands: [ls]}
      """
    When I run `rondo validate --strict role.yaml`
    Then the exit code is 0
    And stdout mentions "chosen when it is run"
    When I run `rondo run role.yaml -p x --dry-run`
    Then stdout is exactly "[dry-run] Simulated response."

  Scenario: A role without a model gets one, which is said in one line
    Given a file "role.yaml" with
      """
      name: worker
      prompt: You help.
      """
    And a file "turns.jsonl" with
      """
      {"text": "Hello."}
      """
    When I run `RONDO_MODEL=scripted:$PWD/turns.jsonl rondo run role.yaml -p x`
    Then the exit code is 0
    And stdout is exactly "Hello."
    And stderr mentions "The role names no model; using scripted:"
    And stderr mentions "(RONDO_MODEL)"
    When I run `RONDO_MODEL=gpt rondo run role.yaml -p x`
    Then the exit code is 2
    And stderr mentions "RONDO_MODEL"

  Scenario: A file beside the role does not name the model
    Given a file "role.yaml" with
      """
      name: worker
      prompt: You help.
      """
    And a file ".env" with
      """
      RONDO_MODEL=scripted:turns.jsonl
      """
    When I run `env -u OPENAI_API_KEY -u ANTHROPIC_API_KEY -u GOOGLE_API_KEY -u GROQ_API_KEY -u MISTRAL_API_KEY -u CO_API_KEY -u XAI_API_KEY rondo run role.yaml -p x`
    Then the exit code is 2
    And stderr mentions "the role names no model, and none can be chosen"

  # ---- rondo tools ----

  Scenario: The tools of a role are listed, with those of its MCP server
    Given the security scanner of the tests is at "scanner"
    And a role with
      """
      tools:
        - type: think
        - type: mcp
          command: ./scanner
          tool_prefix: sec
      """
    When I run `rondo tools list --role role.yaml`
    Then the exit code is 0
    And stdout mentions "think"
    And stdout mentions "sec_scan"
    When I run `rondo tools list --role role.yaml --json`
    Then every line of stdout is a JSON object
    And stdout mentions "Look for secrets in the files of a folder."

  Scenario: A server is tried without a role
    Given the security scanner of the tests is at "scanner"
    And a file "src/config" with
      """
      user=me
      password=letmein
      """
    When I run `rondo tools list -- ./scanner`
    Then the exit code is 0
    And stdout mentions "scan"
    When I run `rondo tools call scan '{"path": "src"}' -- ./scanner`
    Then stdout mentions "src/config:2: a password"
    When I run `rondo tools call --json scan '{"path": "src"}' -- ./scanner`
    Then stdout mentions "exit_code"
    When I run `rondo tools call scan '{"folder": "src"}' -- ./scanner`
    Then the exit code is 2
    And stderr or stdout mentions "path"
    When I run `rondo tools call sacn '{"path": "src"}' -- ./scanner`
    Then the exit code is 2
    And stderr or stdout mentions "scan"

  Scenario: A server of rondo.yaml is called by its name
    Given the security scanner of the tests is at "scanner"
    And a file "rondo.yaml" that names servers, with
      """
      mcp_servers:
        scanner:
          command: ./scanner
      """
    When I run `mkdir src && rondo tools call --server scanner scan '{"path": "src"}'`
    Then the exit code is 0
    And stdout mentions "no vulnerabilities"
    When I run `rondo tools list --server scaner`
    Then the exit code is 2
    And stderr mentions "scanner"

  Scenario: Permissions hold for rondo tools call, too
    Given a role with
      """
      tools:
        - type: shell
          require_confirmation: false
          permissions: {default: deny, allow: ["command=echo *"]}
      """
    When I run `rondo tools call --role role.yaml run_shell '{"command": "echo hello"}'`
    Then the exit code is 0
    And stdout mentions "hello"
    When I run `rondo tools call --role role.yaml run_shell '{"command": "ls /"}'`
    Then the exit code is 1 or 2
    And stderr or stdout mentions "Permission denied: run_shell"
