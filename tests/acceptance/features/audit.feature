Feature: The record of what people decided

  Background:
    Given a command "note" in the project
      """
      echo "$*" >>notes
      """
    And a role with
      """
      tools: [{type: shell}]
      """
    And a model that answers
      | calls                               |
      | run_shell {"command": "./note one"} |
      | finish_task {"summary": "done"}     |
    When I run `rondo run role.yaml -p x -a`
    And I approve the call that waits
    And I run `rondo resume last`
    Then the exit code is 0

  @C-9
  Scenario: An auditor verifies an exported chain without the store
    When I run `rondo audit verify`
    Then the exit code is 0
    And stdout mentions "entries in order"
    When I run `rondo audit head > head.json`
    And I run `rondo audit export > audit.jsonl`
    And I run `rondo audit verify audit.jsonl --head head.json --store nowhere.db`
    Then the exit code is 0
    When I run `sed -i s/handoff.approved/handoff.rejected/ audit.jsonl`
    And I run `rondo audit verify audit.jsonl`
    Then the exit code is 10
    And stderr mentions "of the audit chain was changed"

  @C-9
  @file-store
  Scenario Outline: Whoever changes the record of the store is noticed
    When I run `rondo audit head > head.json`
    And somebody changes the store: "<sql>"
    And I run `rondo audit verify --head head.json`
    Then the exit code is 10
    And stderr mentions "<message>"

    Examples:
      | sql                                                                                          | message                   |
      | UPDATE documents SET data = replace(data, 'user:', 'user:x') WHERE collection = 'audit'      | was changed               |
      | DELETE FROM documents WHERE collection = 'audit' AND key LIKE '%2'                           | is missing or was moved   |
      | DELETE FROM documents WHERE collection LIKE 'audit%'                                         | was cut off               |
      | UPDATE documents SET data = replace(data, 'root', 'r') WHERE collection = 'audit-signed-head' | cannot be read            |

  @C-9
  Scenario: A head that was signed with another key is not trusted
    When I run `rondo audit head > head.json`
    And I run `rondo audit rotate-key`
    And I run `rondo audit verify --head head.json`
    Then the exit code is 0
    When the keys of the audit chain are lost
    And I run `rondo audit verify --head head.json`
    Then the exit code is 10
    And stderr mentions "which is not one of yours"
