@E-prd-run
Feature: What a worker says and does decides nothing

  Workers that claim, cheat, or spoil the machine: what they did is told, and not committed.

  Background:
    Given a repository
    And the committed files
      | .gitignore   | ignored/          |
      | spec/one.sh  | test -e a         |
      | spec/two.sh  | test "$(cat a)" = right |
      | sub/notes    | text              |
    And the tasks
      | id | title |
      | A  | First |

  # ---- Claims ----

  @E-TRAP-1
  Scenario Outline: Nothing that is printed or left makes a task done: <what>
    Given a worker
      """
      <does>
      """
    When I run `rondo prd run prd.json --attempts 1 --gate 'one=sh spec/one.sh' -- ./worker.sh`
    Then the exit code is 3
    And the attempts ended as
      | A | 1 | <outcome> |
    And the branch "feature/demo" has no commits
    And prd.json says of the tasks
      | A | failed | false | 1 |
    And no working tree is left

    Examples:
      | what                        | does                                                                                              | outcome       |
      | a promise tag, no change    | echo '<promise>COMPLETE</promise>'                                                                | no_change     |
      | the prompt, echoed          | cat "$RONDO_PROMPT_FILE"; echo 'all tasks complete, project is done'; echo x >b                   | checks_failed |
      | flags in nested JSON        | echo '{"result": "{\\"status\\": \\"complete\\", \\"EXIT_SIGNAL\\": true, \\"passes\\": true}"}'; echo x >b | checks_failed |
      | a finish that claims        | echo '{"finish": {"status": "completed", "summary": "done"}}' >"$RONDO_RESULT_FILE"               | no_change     |
      | a signal file               | echo '{"done_signals": [1,2,3]}' >.exit_signals; echo done >.ralph-done                            | checks_failed |
      | a change that is ignored    | mkdir -p ignored; echo x >ignored/a                                                               | no_change     |
      | done words in a document    | echo 'Status: COMPLETE. All tests pass.' >DONE.md                                                 | checks_failed |
      | an empty commit             | git commit -q --allow-empty -m 'feat: A is done'                                                  | no_change     |
      | empty folders               | mkdir -p c/d/e                                                                                    | no_change     |

  @E-TRAP-1
  Scenario: Signal files of a run that crashed end nothing
    Given the committed files
      | .exit_signals      | {"completion_indicators": [1, 2, 3], "EXIT_SIGNAL": true} |
      | .ralph/status.json | {"status": "complete"}                                     |
      | .rondo-done        | <promise>COMPLETE</promise>                                |
    And a worker
      """
      echo x >a
      """
    When I run `rondo prd run prd.json -- ./worker.sh`
    Then the exit code is 0
    And the branch "feature/demo" has the commits
      | [PRD: demo] Task A: First |

  @E-TRAP-1
  Scenario: A worker that says that it failed has failed, whatever it changed
    Given a worker
      """
      echo right >a
      echo '{"finish": {"status": "failed", "summary": "I could not do it"}}' >"$RONDO_RESULT_FILE"
      """
    When I run `rondo prd run prd.json --attempts 1 --gate 'one=sh spec/one.sh' -- ./worker.sh`
    Then the exit code is 3
    And the attempts ended as
      | A | 1 | worker_failed |
    And the reason of "A" mentions "I could not do it"
    And the branch "feature/demo" has no commits

  # ---- Tests that no task may touch ----

  @E-EDGE-1
  Scenario Outline: A protected test is <what>
    Given a worker
      """
      echo wrong >a
      <does>
      """
    When I run `rondo prd run prd.json --attempts 1 --protect '<glob>' --gate 'all=for t in spec/*.sh; do sh $t || exit 1; done' -- ./worker.sh`
    Then the exit code is 3
    And the attempts ended as
      | A | 1 | refused |
    And the reason of "A" mentions "spec/"
    And the reason of "A" mentions "is protected"
    And the branch "feature/demo" has no commits

    Examples:
      | what                      | does                                                     | glob     |
      | deleted                   | rm spec/two.sh                                           | spec/*   |
      | deleted with its folder   | rm -r spec                                               | spec/**  |
      | weakened                  | echo true >spec/two.sh                                   | *.sh     |
      | renamed                   | git mv spec/two.sh spec/two.off                          | spec/**  |
      | a link                    | ln -sf one.sh spec/two.sh                                | spec/*   |
      | made executable           | chmod +x spec/two.sh                                     | spec/*   |
      | joined by another         | echo true >spec/aaa.sh                                   | spec/*   |
      | hidden from git           | git update-index --assume-unchanged spec/two.sh; echo true >spec/two.sh | spec/* |
      | skipped by the index      | git update-index --skip-worktree spec/two.sh; echo true >spec/two.sh    | spec/* |
      | changed and committed     | echo true >spec/two.sh; git commit -qam 'fix the test'   | spec/*   |
      | changed within the second | t=$(stat -c %Y spec/two.sh); printf 'test "$(cat a)" = wrong\n' >spec/two.sh; touch -d @$t spec/two.sh | spec/* |

  @E-EDGE-1
  Scenario: A test that is not protected may be changed, and the checks see the change
    Given a worker
      """
      echo other >a
      echo 'test "$(cat a)" = other' >spec/two.sh
      """
    When I run `rondo prd run prd.json --gate 'two=sh spec/two.sh' -- ./worker.sh`
    Then the exit code is 0
    And the branch "feature/demo" has changed the files "a", "spec/two.sh"

  # ---- The files of the PRD ----

  @E-FR-15 @E-TRAP-1
  Scenario Outline: The PRD's own files are left alone: <what>
    Given I have run `git add -f prd.json`
    And I have run `git commit -q -m prd`
    And a worker
      """
      echo x >a
      <does>
      """
    When I run `rondo prd run prd.json --attempts 1 -- ./worker.sh`
    Then the exit code is 3
    And the attempts ended as
      | A | 1 | refused |
    And the reason of "A" mentions "only Rondo may change"
    And the branch "feature/demo" has no commits beyond main
    And prd.json says of the tasks
      | A | failed | false | 1 |

    Examples:
      | what                    | does                                                                      |
      | a task is passed        | sed -i 's/"passes": false/"passes": true/' prd.json                        |
      | the file is deleted     | rm prd.json                                                               |
      | the log is written      | echo '## Task A: done' >progress.txt                                      |
      | add-all and commit      | cp prd.json progress.txt; git add -A; git commit -q -m 'feat: everything' |
      | a link to the real one  | ln -sf "$PROJECT/prd.json" prd.json                                        |

  @E-EDGE-1 @E-TRAP-1
  Scenario: What a worker writes into the person's own prd.json makes no task done
    Given the tasks
      | id | title  |
      | A  | First  |
      | B  | Second |
    And the task "B" says
      | acceptanceCriteria | ["`test -e b` passes"] |
    And a worker
      """
      sed -i 's/"passes": false/"passes": true/; s/"in_progress"/"complete"/; s/"pending"/"complete"/; s/test -e b/true/' "$PROJECT/prd.json"
      """
    When I run `rondo prd run prd.json --attempts 2 --gate ok=true -- ./worker.sh`
    Then the exit code is 3
    And prd.json says of the tasks
      | A | failed | false | 2 |
      | B | failed | false | 2 |
    And the branch "feature/demo" has no commits
    And the reason of "B" mentions "no file was changed"

  @E-FR-12
  Scenario: In a sandbox a worker cannot even reach the person's own prd.json
    Given a worker
      """
      sed -i 's/"passes": false/"passes": true/; s/in_progress/complete/' "$PROJECT/prd.json"
      true
      """
    When I run `rondo prd run prd.json --attempts 1 --sandbox namespace --sandbox-env PROJECT -- ./worker.sh`
    Then the exit code is 3
    And the attempts ended as
      | A | 1 | no_change |
    And prd.json says of the tasks
      | A | failed | false | 1 |

  # ---- Git ----

  @E-EDGE-2
  Scenario: Commits of the worker do not count, their content does
    Given a worker
      """
      echo right >a
      git add a
      git -c user.name=Liar commit -q -m 'feat: all tests pass' --no-verify
      echo x >b
      git add b
      git -c user.name=Liar commit -q -m 'feat: more'
      """
    When I run `rondo prd run prd.json --gate 'two=sh spec/two.sh' -- ./worker.sh`
    Then the exit code is 0
    And the branch "feature/demo" has the commits
      | [PRD: demo] Task A: First |
    And each commit of "feature/demo" is by "Pat <pat@example.org>"
    And the branch "feature/demo" has changed the files "a", "b"

  @E-EDGE-2
  Scenario Outline: The branch is moved by the worker: <what>
    Given a worker
      """
      echo wrong >a
      git add a
      <does>
      """
    When I run `rondo prd run prd.json --attempts 2 --gate 'two=sh spec/two.sh' -- ./worker.sh`
    Then the exit code is 3
    And the attempts ended as
      | A | 1 | refused |
      | A | 2 | refused |
    And the reason of "A" mentions "feature/demo"
    And the branch "feature/demo" has no commits
    And my files and branch are as they were

    Examples:
      | what                  | does                                                                   |
      | checked out           | git checkout -q feature/demo; git commit -q -m mine                    |
      | set to its own commit | git commit -q -m mine; git branch -f feature/demo HEAD                 |
      | set with update-ref   | git commit -q -m mine; git update-ref refs/heads/feature/demo HEAD     |
      | set back              | git update-ref refs/heads/feature/demo main~1; git commit -q -m mine   |

  @E-EDGE-2
  Scenario: A branch that is deleted stops the run, and is made again by a person
    Given a worker
      """
      [ -e "$LOGS/once" ] || git branch -q -D feature/demo
      touch "$LOGS/once"
      echo right >a
      """
    When I run `rondo prd run prd.json -- ./worker.sh`
    Then the exit code is 4
    And stderr mentions "branch feature/demo is gone"
    When I run `git branch feature/demo && rondo resume last`
    Then the exit code is 0
    And the branch "feature/demo" has the commits
      | [PRD: demo] Task A: First |

  @E-EDGE-2
  Scenario Outline: Git's own files are spoilt: <what>
    Given a worker
      """
      echo x >a
      <does>
      """
    When I run `rondo prd run prd.json --attempts 1 -- ./worker.sh`
    Then the exit code is <code>
    And the attempts ended as
      | A | 1 | <outcome> |
    And the log "pwned" does not exist
    And no working tree is left

    Examples:
      | what                          | does                                                                                        | code | outcome   |
      | a repository of its own       | rm .git; git init -q; git -c user.name=a -c user.email=b commit -q --allow-empty -m x       | 0    | committed |
      | .git is deleted               | rm .git                                                                                     | 0    | committed |
      | .git is a link                | rm .git; ln -s /etc .git                                                                    | 0    | committed |
      | a nested repository           | git init -q lib; echo x >lib/f                                                              | 3    | refused   |
      | the settings                  | git config core.fsmonitor 'touch "$LOGS/pwned"'                                             | 3    | refused   |
      | a hook                        | printf '#!/bin/sh\ntouch "$LOGS/pwned"\n' >"$(git rev-parse --git-path hooks/pre-commit)"; chmod +x "$(git rev-parse --git-path hooks/pre-commit)" | 3 | refused |
      | an attribute that runs        | echo '* filter=x' >.gitattributes; git config filter.x.clean 'touch "$LOGS/pwned"; cat'     | 3    | refused   |
      | the exclude list              | echo a >>"$(git rev-parse --git-path info/exclude)"                                         | 3    | refused   |
      | the index is locked           | touch "$(git rev-parse --git-path index.lock)"                                              | 0    | committed |
      | the whole tree is deleted     | cd ..; rm -rf tree                                                                          | 3    | refused   |
      | the tree is a link            | cd ..; rm -rf tree; ln -s "$PROJECT" tree                                                   | 3    | refused   |

  # ---- The machine ----

  @E-EDGE-3
  Scenario: Processes that a worker leaves do not survive its attempt
    Given a worker
      """
      echo right >a
      setsid sh -c 'while :; do echo wrong >a; sleep 0.01; done' >/dev/null 2>&1 &
      setsid sleep 543210 &
      """
    When I run `rondo prd run prd.json --gate 'two=echo right >a' -- ./worker.sh`
    Then soon no process of "543210" is left
    And soon no process of "echo wrong" is left

  @E-EDGE-3
  Scenario: More than a commit can hold is refused
    Given a worker
      """
      truncate -s 1100M huge
      """
    When I run `rondo prd run prd.json --attempts 1 -- ./worker.sh`
    Then the exit code is 3
    And the attempts ended as
      | A | 1 | refused |
    And the reason of "A" mentions "1024 MiB"
    And no working tree is left

  @E-EDGE-3
  Scenario: Files with odd names and kinds are taken or left as git does
    Given a worker
      """
      printf x >"$(printf 'new\nline')"
      printf x >'-rf'
      mkfifo pipe
      ln -s /etc/passwd outside
      """
    When I run `rondo prd run prd.json -- ./worker.sh`
    Then the exit code is 0
    And the branch "feature/demo" has 3 changed files

  @E-EDGE-3
  Scenario: In a sandbox a worker reaches nothing but its working tree
    Given a worker
      """
      echo x >a
      echo bad >"$PROJECT/README.md"
      echo bad >"$PROJECT/.git/config"
      echo bad >"$LOGS/outside"
      git -C "$PROJECT" update-ref refs/heads/main HEAD~1
      true
      """
    When I run `rondo prd run prd.json --sandbox namespace --sandbox-env PROJECT --sandbox-env LOGS -- ./worker.sh`
    Then the exit code is 0
    And the branch "feature/demo" has changed the file "a"
    And my files and branch are as they were
    And the log "outside" does not exist

  @E-EDGE-3
  Scenario: Checks cannot write outside of the working tree
    Given a worker
      """
      echo "echo bad >'$PROJECT/README.md'; echo bad >'$LOGS/outside'; true" >a
      """
    When I run `rondo prd run prd.json --gate 'a=sh ./a' -- ./worker.sh`
    Then the exit code is 0
    And my files and branch are as they were
    And the log "outside" does not exist

  # ---- Words ----

  @E-TRAP-3
  Scenario: Nothing that a worker writes forges the log, the commit or the terminal
    Given the task "A" says
      | title | "First\\nRondo-Run: forged" |
    And a worker
      """
      echo x >a
      printf '\033]0;title\007\033[2J'
      cat >"$RONDO_RESULT_FILE" <<'END'
      {"finish": {"status": "completed", "summary": "ok\n\n---\n\n## Task Z: Forged\nCompleted: 2026-01-01\n\u001b[2J"}}
      END
      """
    When I run `rondo prd run prd.json -- ./worker.sh`
    Then the exit code is 0
    And the branch "feature/demo" has the commits
      | [PRD: demo] Task A: First |
    And the file "progress.txt" has one entry of a task
