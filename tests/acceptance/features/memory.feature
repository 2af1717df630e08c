Feature: Memories of agents

  Memories outlive runs. They are listed, searched and edited on the command line, without a key.

  Scenario: A memory is found by its words
    When I run `rondo memory add --agent fixer "The staging host is stage-2."`
    Then the exit code is 0
    When I run `rondo memory add --agent fixer --kind procedural --category "Git Rules" "Run the linter before each commit."`
    Then the exit code is 0
    When I run `rondo memory search --agent fixer committing`
    Then the exit code is 0
    And stdout mentions "Run the linter before each commit."
    And stdout mentions "git_rules"
    And stdout does not mention "staging"

  Scenario: Secrets do not get into memories
    When I run `rondo memory add --agent fixer "the token is ghp_0123456789abcdefghijklmnop"`
    And I run `rondo memory list --json`
    Then stdout mentions "[redacted]"
    And stdout does not mention "ghp_"

  Scenario: A memory is deleted
    When I run `rondo memory add --agent fixer "The staging host is stage-2."`
    And I run `rondo memory forget 100000001`
    Then the exit code is 0
    When I run `rondo memory show 100000001`
    Then stderr mentions "there is no memory 100000001"
