@E-prd-run
Feature: A PRD is not begun where work could be lost

  Each refusal says what to do, and leaves the repository and the files of the PRD as they were.

  Background:
    Given a repository with the tasks
      | id | title |
      | A  | First |
    And a worker
      """
      touch "$LOGS/ran"
      echo x >a
      """

  @E-FR-12 @E-TRAP-3
  Scenario Outline: Refused: <what>
    Given I have run `<before>`
    And I have run `<then>`
    When I run `rondo prd run prd.json -- ./worker.sh`
    Then the exit code is <code>
    And stderr mentions "<says>"
    And stderr mentions "<do>"
    And the log "ran" does not exist
    And prd.json says of the tasks
      | A | pending | false | 0 |
    And the file "progress.txt" does not exist

    Examples:
      | what                        | before                        | then                                 | code | says                      | do                 |
      | a detached HEAD             | git switch -q --detach        | git status                           | 2    | HEAD is detached          | git switch         |
      | the branch is checked out   | git switch -q -c feature/demo | git status                           | 2    | is checked out in         | --branch           |
      | … in another working tree   | git branch feature/demo       | git worktree add -q ../w feature/demo | 2   | is checked out in         | --branch           |
      | a staged file               | git mv README.md R            | git status                           | 2    | changes that are not      | git stash          |
      | a bisect in progress        | git bisect start              | git status                           | 2    | bisect is in progress     | git bisect reset   |
      | no commit yet               | git switch -q --orphan fresh  | git status                           | 2    | no commit yet             | git commit         |
      | nobody makes the commits    | git config user.email ''      | git status                           | 2    | user.email                | git config         |

  @E-FR-12 @E-TRAP-3
  Scenario: Refused: changed tracked files, but not those of the PRD
    Given the committed files
      | notes | one |
    And I have run `git add prd.json`
    And I have run `git commit -q -m prd`
    And a file "notes" with
      """
      two
      """
    When I run `rondo prd run prd.json -- ./worker.sh`
    Then the exit code is 2
    And stderr mentions "notes"
    And stderr mentions "git stash"
    And the log "ran" does not exist
    Given I have run `git checkout -q notes`
    And the task "A" says
      | notes | "a remark" |
    When I run `rondo prd run prd.json -- ./worker.sh`
    Then the exit code is 0
    And the branch "feature/demo" has changed the files "a", "prd.json"

  @E-FR-12 @E-TRAP-3
  Scenario Outline: Refused: a <operation> in progress
    Given the committed files
      | f | one |
    And I have run `git switch -q -c other`
    And the committed files
      | f | two |
    And I have run `git switch -q main`
    And the committed files
      | f | three |
    When I run `git <command>`
    And I run `rondo prd run prd.json -- ./worker.sh`
    Then the exit code is 2
    And stderr mentions "a <operation> is in progress"
    And stderr mentions "git <operation> --abort"
    And the log "ran" does not exist

    Examples:
      | operation   | command           |
      | merge       | merge other       |
      | rebase      | rebase other      |
      | cherry-pick | cherry-pick other |
      | revert      | revert HEAD~1     |

  @E-FR-12
  Scenario: Refused: no repository, no git, a bare one
    When I run `mkdir ../alone && cp prd.json ../alone && rondo prd run ../alone/prd.json -- ./worker.sh`
    Then the exit code is 2
    And stderr mentions "git init"
    When I run `git clone -q --bare . ../bare.git && cp prd.json ../bare.git && rondo prd run ../bare.git/prd.json -- ./worker.sh`
    Then the exit code is 2
    And stderr mentions "bare"
    And the log "ran" does not exist

  @E-FR-3
  Scenario Outline: Refused: a command line that makes no sense: <what>
    When I run `rondo prd run <arguments>`
    Then the exit code is 2
    And stderr mentions "<says>"
    And the log "ran" does not exist

    Examples:
      | what                 | arguments                                        | says              |
      | nobody works         | prd.json                                         | no worker given   |
      | two work             | prd.json --agent claude -- ./worker.sh           | give one of       |
      | an unknown agent     | prd.json --agent nobody-knows-it                 | nobody-knows-it   |
      | a program not there  | prd.json -- ./there-is-none                      | there-is-none     |
      | … not in PATH        | prd.json -- there-is-none                        | there-is-none     |
      | a branch's name      | prd.json --branch a..b -- ./worker.sh            | a..b              |
      | no file              | none.json -- ./worker.sh                         | none.json         |
      | no attempts          | prd.json --attempts 0 -- ./worker.sh             | --attempts        |
      | a check without name | prd.json --gate =true -- ./worker.sh             | not a name            |

  @E-FR-1
  Scenario Outline: Refused: a PRD with <what>
    Given a file "prd.json" with
      """
      <text>
      """
    When I run `cp prd.json before.json; rondo prd run prd.json -- ./worker.sh`
    Then the exit code is 2
    And stderr mentions "<says>"
    And the log "ran" does not exist
    And the files "prd.json" and "before.json" are equal

    Examples:
      | what          | text                                                                                                                    | says     |
      | no JSON       | {"userStories": [                                                                                                       | prd.json |
      | no tasks      | {"userStories": []}                                                                                                     | no tasks |
      | a cycle       | {"userStories": [{"id": "A", "title": "a", "dependsOn": ["B"]}, {"id": "B", "title": "b", "dependsOn": ["A"]}]}         | circle   |
      | two of one id | {"userStories": [{"id": "A", "title": "a"}, {"id": "A", "title": "b"}]}                                                 | A        |
      | an unknown id | {"userStories": [{"id": "A", "title": "a", "dependsOn": ["Z"]}]}                                                        | Z        |

  @E-US-3
  Scenario: A second run of the same PRD does not begin while the first works
    Given a worker
      """
      touch "$LOGS/first"
      while [ ! -e "$LOGS/go" ]; do sleep 0.02; done
      echo x >a
      """
    When I start `rondo prd run prd.json -- ./worker.sh`
    And the log "first" appears
    And I run `rondo prd run prd.json -- ./worker.sh`
    Then the exit code is 9
    When I write the log "go"
    And it has ended
    Then its exit code is 0
    And the branch "feature/demo" has the commits
      | [PRD: demo] Task A: First |

  Scenario Outline: An option of another kind of worker is refused: <option>
    When I run `rondo prd run prd.json <option> -- ./worker.sh`
    Then the exit code is 2
    And stderr mentions "<says>"
    And the log "ran" does not exist

    Examples:
      | option            | says             |
      | --model m         | requires --agent |
      | --agent-home /tmp | require --agent  |
      | --resume-session  | require --agent  |
      | --remote origin   | requires --push  |
      | --review-model m  | requires --review |
