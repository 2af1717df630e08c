Feature: Strategies of autonomous agents
  With the tool `todo` an agent keeps a list, and the section `reasoning` of its role says how it is
  led: by the list, by a phase of planning, by reviews of its result.

  Scenario: An agent is led by its list, and is done when the list is
    Given a role with
      """
      autonomy: {}
      tools: [{type: todo}]
      """
    And a model that answers
      | says | calls                                                                  |
      |      | add_todo {"description": "write it", "priority": "high"}               |
      | One. |                                                                        |
      |      | update_todo {"item_id": "488eb284", "status": "completed"}                   |
      | Two. |                                                                        |
    When I run `rondo run role.yaml -p 'Write' -a`
    Then the exit code is 0
    And the summary is
      """
      Status: completed | Iterations: 2/10
      """
    And stdout mentions "Every item of the list is done."

  Scenario: An agent plans before it works
    Given a role with
      """
      autonomy: {}
      reasoning: {pattern: plan_execute}
      tools: [{type: todo}]
      """
    And a model that answers
      | says | calls                                       |
      |      | finalize_plan {}                            |
      |      | add_todo {"description": "write it"}        |
      |      | finalize_plan {}                            |
      | One. |                                             |
      |      | finish_task {"summary": "written"}          |
    When I run `rondo run role.yaml -p 'Write' -a`
    Then the exit code is 0
    And the last message of request 1 mentions "PHASE 1 - PLANNING"
    And the last message of request 5 mentions "PHASE 2 - EXECUTION"

  Scenario: An agent reviews its result before it is taken
    Given a role with
      """
      autonomy: {}
      reasoning: {reflection_rounds: 2, success_criteria: [it rhymes]}
      """
    And a model that answers
      | says | calls                               |
      |      | finish_task {"summary": "first"}    |
      |      | finish_task {"summary": "second"}   |
      |      | finish_task {"summary": "third"}    |
    When I run `rondo run role.yaml -p 'Write' -a`
    Then the exit code is 0
    And the last message of request 2 mentions "REFLECTION (1/2) -- CORRECTNESS"
    And the last message of request 3 mentions "REFLECTION (2/2) -- COMPLETENESS"
    And stdout mentions "Summary: third"

  Scenario: An answer for a program is checked against the schema of the role
    Given a role with
      """
      output:
        type: json_schema
        schema: {type: object, properties: {total: {type: number}}, required: [total]}
      """
    And a file "good.jsonl" with
      """
      {"text": "{\"total\": 4.5}"}
      """
    And a file "bad.jsonl" with
      """
      {"text": "About four."}
      """
    When I run `rondo run role.yaml -p 'Add' --model scripted:good.jsonl`
    Then the exit code is 0
    And stdout mentions "4.5"
    When I run `rondo run role.yaml -p 'Add' --model scripted:bad.jsonl`
    Then the exit code is 3
    And stderr mentions "does not fit the schema of spec.output: it is not one JSON object"

  Scenario: An autonomous agent ends with an answer that fits the schema of a file
    Given a file "total.json" with
      """
      {"type": "object", "properties": {"total": {"type": "number"}}, "required": ["total"]}
      """
    And a role with
      """
      autonomy: {}
      output: {type: json_schema, schema_file: total.json}
      """
    And a model that answers
      | says | calls                                    |
      |      | finish_task {"summary": "About four."}   |
      |      | finish_task {"summary": "{\"total\":4}"} |
    When I run `rondo run role.yaml -p 'Add' -a`
    Then the exit code is 0
    And the last message of request 2 mentions "does not fit the schema of the output: it is not one JSON object"
    And stdout mentions "{\"total\":4}"

  Scenario: A schema that cannot be read is named before a run
    Given a role with
      """
      output: {type: json_schema, schema_file: missing.json}
      """
    When I run `rondo run role.yaml -p 'Add' --dry-run`
    Then the exit code is 2
    And stderr mentions "spec.output.schema_file: cannot open"
