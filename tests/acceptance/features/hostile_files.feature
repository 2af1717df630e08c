Feature: Files in the workspace that agents can change

  What an agent left in the workspace is read as hostile input: no link leads out of it, nothing
  waits for the other end of a FIFO, and nothing is written through a link.

  Background:
    Given a file "secret/words" with
      """
      SECRET-WORDS
      """
    And a file "secret/skill.md" with
      """
      ---
      name: style
      description: how to write
      ---
      SECRET-WORDS
      """
    And a file "project/role.yaml" with
      """
      apiVersion: initrunner/v1
      kind: Agent
      metadata: {name: helper, description: it helps}
      spec:
        role: Be brief.
        model: {provider: scripted, name: dry-run}
      """
    And a file "project/skilled.yaml" with
      """
      apiVersion: initrunner/v1
      kind: Agent
      metadata: {name: helper, description: it helps}
      spec:
        role: Be brief.
        skills: [style]
        model: {provider: scripted, name: dry-run}
      """
    And a file "project/keyed.yaml" with
      """
      apiVersion: initrunner/v1
      kind: Agent
      metadata: {name: helper, description: it helps}
      spec:
        role: Be brief.
        model: {provider: openai, name: gpt-5-mini}
      """

  Scenario Outline: <what> that is a link out of the workspace is refused
    When I run `sh -c 'cd project && mkdir skills && ln -s <target> <name> && exec rondo <command>'`
    Then the exit code is 1 or 2
    And stderr mentions "symbolic link"
    And stderr or stdout does not mention "SECRET-WORDS"
    And the file "secret/words" has the lines "SECRET-WORDS"

    Examples:
      | what           | target                | name            | command                                                      |
      | A prompt file  | ../secret/words       | task            | loop --max-iterations 1 --prompt-file task -- true           |
      | A prompt file  | /proc/self/environ    | task            | loop --max-iterations 1 --prompt-file task -- true           |
      | A prompt below | ../secret             | linked          | loop --max-iterations 1 --prompt-file linked/words -- true   |
      | A role file    | ../secret/words       | other.yaml      | run other.yaml -p x --dry-run                                |
      | A skill        | ../../secret/skill.md | skills/style.md | run skilled.yaml -p x --dry-run                              |
      | A key file     | ../secret/words       | .env            | run keyed.yaml -p x                                          |
      | A recording    | ../secret/words       | tape            | run role.yaml -p x --dry-run --record tape                   |
      | A new record   | ../secret/new         | tape            | run role.yaml -p x --dry-run --record tape                   |
      | A project file | ../secret/words       | Makefile        | loop --until all_tests_pass -- true                          |
      | A settings file | ../secret/words      | settings.json   | loop --config settings.json -- true                          |
      | A policy       | ../secret/words       | p.cedar         | policy set p.cedar                                           |

  Scenario Outline: <what> in place of a prompt file is refused without waiting
    When I run `sh -c 'cd project && <command> && exec rondo loop --max-iterations 1 --prompt-file task -- true'`
    Then the exit code is 1 or 2
    And stderr mentions "<words>"

    Examples:
      | what        | command                 | words                   |
      | A FIFO      | mkfifo task             | is a FIFO               |
      | A hard link | ln ../secret/words task | is a hard link          |
      | A huge file | truncate -s 1T task     | is larger than          |
      | A folder    | mkdir task              | is a folder             |

  Scenario: A person's own links outside of the workspace are followed
    When I run `sh -c 'ln -s secret mine && cd project && exec rondo loop --max-iterations 1 --prompt-file ../mine/words -- sh -c "echo got \$RONDO_PROMPT"'`
    Then the exit code is 5
    And the kept output of iteration 1 ends with "got SECRET-WORDS"
