@D-servers
Feature: Servers that work on issues, and what is checked before any work

  Background:
    Given a forge
    And the project is a clone of its repository
    And the issues
      | title          | labels |
      | Add a greeting | code   |
    And a worker
      """
      process=$$
      while [ "$process" -gt 1 ]; do
        tr '\0' '\n' </proc/$process/environ
        process=$(awk '/^PPid/ { print $2 }' /proc/$process/status)
      done >environments.txt
      wc -l <environments.txt >lines.txt
      grep -c token-rondo-bot environments.txt >tokens.txt
      rm environments.txt
      echo hello >made.txt
      """

  @serve
  Scenario: A server works on the repositories of a file
    Given I run `git config --global user.name Bot`
    And I run `git config --global user.email bot@example.org`
    And a file "work.yaml" about the forge with
      """
      defaults:
        write-gap: 1ms
        poll: 200ms
      repositories:
        - repo: "{address}/acme/shop"
          forge: {kind}
          api: "{api}"
          command: [./worker.sh]
          sandbox: none
      """
    And a server with `--work work.yaml`
    Then issue 1 gets the label "rondo:in-review"
    And there is 1 pull request
    And the pull request of "rondo/issue-1-add-a-greeting" is "draft, open"
    And its branch has the file "tokens.txt" with "0"
    When I end the server with TERM
    Then the server ended with 0

  Scenario: A daemon needs no role to work on issues
    Given I run `git config --global user.name Bot`
    And I run `git config --global user.email bot@example.org`
    And a file "work.yaml" about the forge with
      """
      repositories:
        - repo: "{address}/acme/shop"
          forge: {kind}
          api: "{api}"
          write-gap: 1ms
          command: [./worker.sh]
      """
    When I start `rondo daemon --auto-work work.yaml --listen 127.0.0.1:0`
    Then issue 1 gets the label "rondo:in-review"
    And there is 1 pull request

  Scenario Outline: A file that is wrong is refused before anything begins: <what>
    Given a file "work.yaml" about the forge with
      """
      repositories:
        - {repo: acme/shop, agent: claude}
        - {<second>}
      """
    When I run `rondo serve --work work.yaml`
    Then the exit code is 2
    And stderr mentions "work.yaml:3: <words>"
    And nothing was written at the forge

    Examples:
      | what               | second                                 | words                        |
      | an unknown key     | repo: a/b, agent: x, lables: [code]    | unknown key                  |
      | no repository      | agent: claude                          | the key repo is missing      |
      | no worker          | repo: a/b                              | no worker given              |
      | the same once more | repo: ACME/shop, agent: claude         | ACME/shop is in line 2       |
      | a key twice        | repo: a/b, agent: x, agent: y          | the key agent is given twice |

  Scenario Outline: The agent does not have the token, in a <sandbox> sandbox
    When I run `rondo work $FORGE --once --sandbox <sandbox> -- ./worker.sh`
    Then the exit code is 0
    And there is 1 pull request
    And the pull request of "rondo/issue-1-add-a-greeting" is "draft, open"
    And its branch has the file "tokens.txt" with "0"

    Examples:
      | sandbox   |
      | none      |
      | namespace |

  Scenario: The token cannot be passed to the agent by an option
    When I run `rondo work $FORGE --once --sandbox-env 'GH_*' -- ./worker.sh`
    Then the exit code is 2
    And stderr mentions "--sandbox-env GH_* passes GH_TOKEN"
    And nothing was written at the forge

  Scenario: The doctor finds what is there, and changes nothing
    When I run the doctor of the work queue
    Then the exit code is 0
    And stdout mentions "logged in as rondo-bot; default branch main"
    And stdout mentions "1 open with the label code"
    And stdout mentions "created when needed: rondo:assigned, rondo:in-progress, rondo:in-review,"
    And stdout mentions "ready to work on issues"
    And stdout does not mention "token-rondo-bot"
    And nothing was written at the forge

  Scenario: The doctor says what a token may not do
    Given a person does '{"do": "set-permission", "login": "rondo-bot", "permission": "read"}'
    When I run the doctor of the work queue
    Then the exit code is 1
    And stdout mentions "branches and claims cannot be pushed"
    And stdout mentions "a person has to create rondo:assigned, "
    And stdout mentions "not ready"
    And nothing was written at the forge

  Scenario: A word that is no command is not taken for a worker
    When I run `rondo work lsit`
    Then the exit code is 2
    And stderr mentions "there is no command 'work lsit'; did you mean `list`"
