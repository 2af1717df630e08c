@E-prd-run
Feature: Tasks that fail, and when a run gives up

  # ---- Attempts ----

  @E-US-2 @E-FR-10
  Scenario: An attempt is told what the one before failed with, and begins from the same tree
    Given a repository with the tasks
      | id | title | criteria           |
      | A  | First | `sh ok.sh` passes  |
    And a worker
      """
      cat "$RONDO_PROMPT_FILE" >"$LOGS/prompt-$RONDO_TASK_ATTEMPT"
      ls >"$LOGS/tree-$RONDO_TASK_ATTEMPT"
      echo "echo wrong-$RONDO_TASK_ATTEMPT; [ $RONDO_TASK_ATTEMPT = 3 ]" >ok.sh
      """
    When I run `rondo prd run prd.json -- ./worker.sh`
    Then the exit code is 0
    And the attempts ended as
      | A | 1 | checks_failed |
      | A | 2 | checks_failed |
      | A | 3 | committed     |
    And the log "prompt-1" does not mention "attempt"
    And the log "prompt-2" mentions "This is attempt 2"
    And the log "prompt-2" mentions "wrong-1"
    And the log "prompt-2" mentions "sh ok.sh"
    And the log "prompt-3" mentions "wrong-2"
    And the log "prompt-3" does not mention "wrong-1"
    And the log "tree-3" has the lines "README.md"
    And the branch "feature/demo" has the commits
      | [PRD: demo] Task A: First |
    And the last commit of "feature/demo" has the trailers
      | Rondo-Attempt | 3 |
    And prd.json says of the tasks
      | A | complete | true | 3 |

  @E-US-2 @E-FR-11 @E-FR-16
  Scenario: After three attempts a task has failed, those that need it are blocked, the others go on
    Given a repository with the tasks
      | id | title  | depends |
      | A  | First  |         |
      | B  | Second | A       |
      | C  | Third  | B       |
      | D  | Fourth |         |
    And a worker
      """
      echo x >"$RONDO_TASK_ID"
      [ "$RONDO_TASK_ID" != A ] || { echo "it hurts" >&2; exit 7; }
      """
    When I run `rondo prd run prd.json -- ./worker.sh`
    Then the exit code is 3
    And the attempts ended as
      | A | 1 | worker_failed |
      | A | 2 | worker_failed |
      | A | 3 | worker_failed |
      | D | 1 | committed     |
    And stdout mentions "1 of 4 tasks done, 1 failed, 2 blocked; 1 commit"
    And the branch "feature/demo" has the commits
      | [PRD: demo] Task D: Fourth |
    And prd.json says of the tasks
      | A | failed   | false | 3 |
      | B | pending  | false | 0 |
      | C | pending  | false | 0 |
      | D | complete | true  | 1 |
    And the notes of "A" in prd.json mention "exit code 7"
    And the patch of "A" mentions "+++ b/A"
    And no working tree is left
    When I run `rondo prd status prd.json`
    Then stdout mentions "1 of 4 done, 1 failed"

  @E-FR-10
  Scenario: The number of attempts at one task is an option
    Given a repository with the tasks
      | id | title |
      | A  | First |
    And a worker
      """
      exit 1
      """
    When I run `rondo prd run prd.json --attempts 2 -- ./worker.sh`
    Then the exit code is 3
    And the attempts ended as
      | A | 1 | worker_failed |
      | A | 2 | worker_failed |

  @E-US-3 @E-FR-11
  Scenario: A resume tries again what has failed, and a reopened task begins anew
    Given a repository with the tasks
      | id | title  | depends |
      | A  | First  |         |
      | B  | Second | A       |
    And a worker
      """
      [ -e "$LOGS/go" ] || exit 1
      echo x >"$RONDO_TASK_ID"
      """
    And the task "A" says
      | notes | "A remark." |
    When I run `rondo prd run prd.json --attempts 2 -- ./worker.sh`
    Then the exit code is 3
    And the notes of "A" in prd.json mention "A remark."
    And the notes of "A" in prd.json mention "[Rondo] worker_failed: "
    When I write the log "go"
    And I run `rondo resume last`
    Then the exit code is 0
    And the attempts ended as
      | A | 1 | worker_failed |
      | A | 2 | worker_failed |
      | A | 3 | committed     |
      | B | 1 | committed     |
    And prd.json says of the tasks
      | A | complete | true | 3 |
      | B | complete | true | 1 |
    And the notes of "A" in prd.json are "A remark."

  @E-FR-6
  Scenario: The repository's own hook decides as well
    Given a repository with the tasks
      | id | title |
      | A  | First |
    And a file ".git/hooks/pre-commit" with
      """
      #!/bin/sh
      echo "the hook looks at $(git diff --cached --name-only)"
      ! git diff --cached --name-only | grep -q bad
      """
    And a worker
      """
      [ "$RONDO_TASK_ATTEMPT" = 2 ] && touch good || touch bad
      """
    When I run `chmod +x .git/hooks/pre-commit`
    And I run `rondo prd run prd.json -- ./worker.sh`
    Then the exit code is 0
    And the attempts ended as
      | A | 1 | hook_failed |
      | A | 2 | committed   |
    And the branch "feature/demo" has changed the file "good"
    And stderr mentions "pre-commit hook refused the commit"

  @E-FR-6
  Scenario: The checks that the PRD names decide beside those of the command line
    Given a repository with the tasks
      | id | title |
      | A  | First |
    And the head of the PRD says
      | qualityGates | ["test -e b"] |
    And a worker
      """
      echo x >a
      [ "$RONDO_TASK_ATTEMPT" = 1 ] || echo x >b
      """
    When I run `rondo prd run prd.json --gate 'a=test -e a' -- ./worker.sh`
    Then the exit code is 0
    And the attempts ended as
      | A | 1 | checks_failed |
      | A | 2 | committed     |

  @E-FR-6
  Scenario: A preparation that fails says what it lacks
    Given a repository with the tasks
      | id | title |
      | A  | First |
    And a worker
      """
      touch "$LOGS/ran"
      """
    When I run `rondo prd run prd.json --attempts 1 --setup 'echo cannot fetch; false' -- ./worker.sh`
    Then the exit code is 3
    And the reason of "A" mentions "--sandbox-network"
    And the log "ran" does not exist

  @E-FR-6
  Scenario: A check that hangs is ended, and the attempt has failed
    Given a repository with the tasks
      | id | title |
      | A  | First |
    And a worker
      """
      echo x >a
      """
    When I run `rondo prd run prd.json --attempts 1 --gate 'slow=sleep 876543' --verify-timeout 500ms -- ./worker.sh`
    Then the exit code is 3
    And the attempts ended as
      | A | 1 | checks_failed |
    And soon no process of "876543" is left

  @E-FR-10 @E-TRAP-2
  Scenario: A worker that hangs is ended at its deadline
    Given a repository with the tasks
      | id | title |
      | A  | First |
    And a worker
      """
      echo x >a
      sleep 765432 &
      setsid sleep 765432 &
      sleep 765432
      """
    When I run `rondo prd run prd.json --attempts 1 --iteration-timeout 500ms -- ./worker.sh`
    Then the exit code is 3
    And the attempts ended as
      | A | 1 | worker_failed |
    And the reason of "A" mentions "timeout"
    And soon no process of "765432" is left

  # ---- Limits ----

  @E-FR-13
  Scenario: There are at most twenty attempts, unless something else is said
    Given a repository with the tasks
      | id | title |
      | A  | First |
    And a worker
      """
      echo x >a
      """
    When I run `rondo prd run prd.json -- ./worker.sh`
    And I run `rondo show last`
    Then stdout mentions "20 iterations"

  @E-FR-13 @E-FR-16
  Scenario: The limit of attempts ends the run, and what was not begun stays as it was
    Given a repository with the tasks
      | id | title  |
      | A  | First  |
      | B  | Second |
      | C  | Third  |
    And a worker
      """
      echo x >"$RONDO_TASK_ID"
      """
    When I run `rondo prd run prd.json --max-attempts 2 -- ./worker.sh`
    Then the exit code is 5
    And prd.json says of the tasks
      | A | complete | true  | 1 |
      | B | complete | true  | 1 |
      | C | pending  | false | 0 |
    And the branch "feature/demo" has the commits
      | [PRD: demo] Task A: First  |
      | [PRD: demo] Task B: Second |
    When I run `rondo prd run prd.json -- ./worker.sh`
    Then the exit code is 0
    And stdout mentions "3 of 3 tasks done; 1 commit"

  @E-FR-13
  Scenario: The last allowed attempt can finish the PRD
    Given a repository with the tasks
      | id | title  |
      | A  | First  |
      | B  | Second |
    And a worker
      """
      echo x >"$RONDO_TASK_ID"
      """
    When I run `rondo prd run prd.json --max-attempts 2 -- ./worker.sh`
    Then the exit code is 0
    And stdout mentions "2 of 2 tasks done; 2 commits"

  @E-FR-13
  Scenario Outline: What the attempts use counts towards the limit of the whole: <what>
    Given a repository with the tasks
      | id | title  |
      | A  | First  |
      | B  | Second |
      | C  | Third  |
    And a worker
      """
      echo '{"usage": {"tokens": 600, "cost": 0.6}}' >"$RONDO_RESULT_FILE"
      echo x >"$RONDO_TASK_ID"
      """
    When I run `rondo prd run prd.json <option> -- ./worker.sh`
    Then the exit code is 7
    And the branch "feature/demo" has the commits
      | [PRD: demo] Task A: First  |
      | [PRD: demo] Task B: Second |
    And prd.json says of the tasks
      | A | complete | true  | 1 |
      | B | complete | true  | 1 |
      | C | pending  | false | 0 |
    And stdout mentions "<total>"

    Examples:
      | what   | option            | total |
      | cost   | --max-cost 1      | 1.20  |
      | tokens | --max-tokens 1000 | 1200  |

  @E-FR-13
  Scenario: An attempt that the limit of the whole cuts off does not count
    Given a repository with the tasks
      | id | title |
      | A  | First |
    And a role with
      """
      tools: [{type: filesystem, root_path: ., read_only: false}]
      """
    And a model that answers
      | says | calls                                        | tokens |
      |      | write_file {"path": "half", "content": "x"}  | 400/10 |
      |      | write_file {"path": "a.txt", "content": "x"} | 400/10 |
      |      | finish_task {"summary": "a.txt is there"}    | 400/10 |
    When I run `rondo prd run prd.json --role role.yaml --gate 'a=test -e a.txt' --max-tokens 400`
    Then the exit code is 7
    And the attempts ended as
      | A | 1 | interrupted |
    And prd.json says of the tasks
      | A | pending | false | 1 |
    When I run `rondo resume last --max-tokens 5000`
    Then the exit code is 0
    And the attempts ended as
      | A | 1 | interrupted |
      | A | 2 | committed   |
    And the branch "feature/demo" has changed the files "a.txt", "half"

  @E-FR-13
  Scenario: The time of the whole is over in the middle of an attempt
    Given a repository with the tasks
      | id | title  |
      | A  | First  |
      | B  | Second |
    And a worker
      """
      echo x >"$RONDO_TASK_ID"
      [ "$RONDO_TASK_ID" = A ] || sleep 654321
      """
    When I run `rondo prd run prd.json --max-attempts 1 -- ./worker.sh`
    And I run `rondo prd run prd.json --time-limit 2s -- ./worker.sh`
    Then the exit code is 8
    And the journal has no event "task.ended"
    And soon no process of "654321" is left
    And the branch "feature/demo" has the commits
      | [PRD: demo] Task A: First |

  # ---- Giving up ----

  @E-TRAP-1
  Scenario: Three tasks that fail in a row end the run
    Given a repository with the tasks
      | id | title  |
      | A  | First  |
      | B  | Second |
      | C  | Third  |
      | D  | Fourth |
    And a worker
      """
      echo "$RONDO_TASK_ID cannot be done"
      exit 1
      """
    When I run `rondo prd run prd.json --attempts 1 -- ./worker.sh`
    Then the exit code is 3
    And the attempts ended as
      | A | 1 | worker_failed |
      | B | 1 | worker_failed |
      | C | 1 | worker_failed |
    And stderr mentions "stopped early: 3 tasks in a row failed"
    And prd.json says of the tasks
      | A | failed  | false | 1 |
      | B | failed  | false | 1 |
      | C | failed  | false | 1 |
      | D | pending | false | 0 |

  @E-TRAP-1
  Scenario: Three tasks that are done in a row end nothing
    Given a repository with the tasks
      | id | title  |
      | A  | First  |
      | B  | Second |
      | C  | Third  |
      | D  | Fourth |
      | E  | Fifth  |
    And a worker
      """
      echo "error: everything is the same; rate limit; no progress"
      echo x >"$RONDO_TASK_ID"
      """
    When I run `rondo prd run prd.json -- ./worker.sh`
    Then the exit code is 0
    And stdout mentions "5 of 5 tasks done; 5 commits"

  @E-TRAP-1
  Scenario: Five attempts that fail in the same way end the run
    Given a repository with the tasks
      | id | title  |
      | A  | First  |
      | B  | Second |
      | C  | Third  |
    And a worker
      """
      echo "connection refused by port $$ at $(date +%N)"
      exit 1
      """
    When I run `rondo prd run prd.json -- ./worker.sh`
    Then the exit code is 3
    And the attempts ended as
      | A | 1 | worker_failed |
      | A | 2 | worker_failed |
      | A | 3 | worker_failed |
      | B | 1 | worker_failed |
      | B | 2 | worker_failed |
    And stderr mentions "stopped early: 5 attempts in a row failed in the same way"
    And prd.json says of the tasks
      | A | failed  | false | 3 |
      | B | pending | false | 2 |
      | C | pending | false | 0 |

  @E-TRAP-1
  Scenario: Attempts that policies deny end the run after the second
    Given a repository with the tasks
      | id | title  |
      | A  | First  |
      | B  | Second |
    And the policies "own.cedar"
      """
      permit (principal, action, resource);
      @id("not-this-one")
      forbid (principal == Agent::"worker.sh", action == Action::"iterate", resource);
      """
    And a worker
      """
      touch "$LOGS/ran"
      """
    When I run `rondo prd run prd.json --policy own.cedar -- ./worker.sh`
    Then the exit code is 3
    And the attempts ended as
      | A | 1 | denied |
      | A | 2 | denied |
    And stderr mentions "stopped early: 2 attempts in a row were denied"
    And the log "ran" does not exist

  @E-FR-13
  Scenario: A policy that limits the whole run is heard between attempts
    Given a repository with the tasks
      | id | title  |
      | A  | First  |
      | B  | Second |
    And the policies "own.cedar"
      """
      permit (principal, action, resource);
      @id("one-only")
      forbid (principal == Agent::"prd-demo", action == Action::"iterate", resource)
      when { context.iteration >= 1 };
      """
    And a worker
      """
      echo x >"$RONDO_TASK_ID"
      """
    When I run `rondo prd run prd.json --policy own.cedar -- ./worker.sh`
    Then the exit code is 5
    And the branch "feature/demo" has the commits
      | [PRD: demo] Task A: First |

  @E-TRAP-1 @E-TRAP-2
  Scenario: An overloaded service uses up no attempts
    Given a repository with the tasks
      | id | title |
      | A  | First |
    And my own coding agent "mine" of the format "claude" that runs
      """
      cat >/dev/null
      echo '{"type":"result","subtype":"success","is_error":true,"api_error_status":529,"result":"API Error: 529 overloaded"}'
      touch "$LOGS/refused"
      exit 1
      """
    When I start `rondo prd run prd.json --agent mine`
    And the log "refused" appears
    And a run of the agent "mine" waits
    And I send it INT
    And it has ended
    Then its exit code is 130
    And the journal has no event "task.ended"
    And prd.json says of the tasks
      | A | in_progress | false | 1 |

  @E-TRAP-1 @E-TRAP-2
  Scenario: A refused key ends the run at once, uses up no attempts, and says what to do
    Given a repository with the tasks
      | id | title  |
      | A  | First  |
      | B  | Second |
    And my own coding agent "mine" of the format "claude" that runs
      """
      cat >/dev/null
      if [ -e "$LOGS/logged-in" ]; then
        echo "$RONDO_TASK_ID" >"$RONDO_TASK_ID"
        echo '{"type":"result","subtype":"success","is_error":false,"result":"done"}'
        exit 0
      fi
      echo '{"type":"result","subtype":"success","is_error":true,"api_error_status":401,"result":"API Error: 401 authentication_error"}'
      exit 1
      """
    When I run `rondo prd run prd.json --agent mine`
    Then the exit code is 4
    And the attempts ended as
      | A | 1 | interrupted |
    And stderr mentions "Log in with"
    And stderr mentions "rondo resume"
    When I run `touch "$LOGS/logged-in"; rondo resume last`
    Then the exit code is 0
    And the branch "feature/demo" has the commits
      | [PRD: demo] Task A: First  |
      | [PRD: demo] Task B: Second |

  @E-TRAP-2
  Scenario: A quota is waited for, and the attempt counts once
    Given a repository with the tasks
      | id | title |
      | A  | First |
    And my own coding agent "mine" of the format "claude" that runs
      """
      cat >/dev/null
      if [ ! -e "$LOGS/waited" ]; then
        touch "$LOGS/waited"
        echo '{"type":"result","subtype":"success","is_error":true,"api_error_status":429,"result":"Claude AI usage limit reached|'$(($(date +%s) + 1))'"}'
        exit 1
      fi
      echo x >a
      echo '{"type":"result","subtype":"success","is_error":false,"result":"Done."}'
      """
    When I run `rondo prd run prd.json --agent mine`
    Then the exit code is 0
    And the attempts ended as
      | A | 1 | committed |
