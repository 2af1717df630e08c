@E-prd-run
Feature: A PRD becomes verified commits

  Each task is one attempt or several, each in a fresh working tree and a fresh run of the worker.
  What the worker says decides nothing: checks that Rondo runs do.

  # ---- The whole way ----

  @E-US-1 @E-FR-2 @E-FR-3 @E-FR-7 @E-SC-1
  Scenario: Three tasks in Markdown become three commits, from one command
    Given a repository
    And a file "PRD.md" with
      """
      # PRD: Calculator

      ### US-001: Add a function
      - [ ] `sh -c '. ./sum.sh; [ "$(sum 1 2)" = 3 ]'` passes

      ### US-002: Write tests
      **Depends on:** US-001
      - [ ] Run `sh test.sh`

      ### US-003: Update the documents
      **Depends on:** US-002
      - [ ] The README says how to add
      """
    And a worker
      """
      case $RONDO_TASK_ID in
        US-001) echo 'sum() { echo $(($1 + $2)); }' >sum.sh ;;
        US-002) echo '. ./sum.sh; [ "$(sum 2 2)" = 4 ]' >test.sh ;;
        US-003) echo 'Add with sum.' >>README.md ;;
      esac
      """
    When I run `rondo prd run PRD.md -- ./worker.sh`
    Then the exit code is 0
    And stdout mentions "3 of 3 tasks done; 3 commits"
    And the branch "prd/calculator" has the commits
      | [PRD: Calculator] Task US-001: Add a function       |
      | [PRD: Calculator] Task US-002: Write tests          |
      | [PRD: Calculator] Task US-003: Update the documents |
    And the branch "prd/calculator" has changed the files "README.md", "sum.sh", "test.sh"
    And prd.json says of the tasks
      | US-001 | complete | true | 1 |
      | US-002 | complete | true | 1 |
      | US-003 | complete | true | 1 |
    And the commit of "US-003" in prd.json is the tip of "prd/calculator"
    And my files and branch are as they were
    And no working tree is left

  @E-FR-7
  Scenario: A commit says who made it, and from what
    Given a repository with the tasks
      | id | title              |
      | A  | Title: with [signs] |
    And a worker
      """
      git config user.name Liar 2>/dev/null
      echo x >a
      """
    When I run `rondo prd run prd.json -- ./worker.sh`
    Then the branch "feature/demo" has no commits
    When I run `git config user.name Pat`
    And a worker
      """
      export GIT_AUTHOR_NAME=Liar GIT_COMMITTER_NAME=Liar
      echo x >a
      """
    And I run `rondo prd run prd.json -- ./worker.sh`
    Then the exit code is 0
    And the branch "feature/demo" has the commits
      | [PRD: demo] Task A: Title: with [signs] |
    And each commit of "feature/demo" is by "Pat <pat@example.org>"
    And the last commit of "feature/demo" has the trailers
      | Rondo-Run     | * |
      | Rondo-Task    | A |
      | Rondo-Attempt | * |
      | Rondo-Agent   | worker.sh |

  # ---- What a worker gets ----

  @E-FR-5 @E-US-1
  Scenario: A worker gets the task, its criteria, the checks and what was learned, and nothing else
    Given a repository with the tasks
      | id | title  | criteria                                 | depends |
      | A  | First  | A has a name; `test -e a` passes         |         |
      | B  | Second | B has a name; `sh -c 'test -e b'` passes | A       |
    And a file "progress.txt" with
      """
      # Progress Log

      ## Codebase Patterns
      - Names are short here.

      ---
      """
    And a worker
      """
      cat "$RONDO_PROMPT_FILE" >>"$LOGS/prompt-$RONDO_TASK_ID"
      env | grep -E '^(RONDO_TASK|TMPDIR)' | sort >>"$LOGS/env-$RONDO_TASK_ID"
      [ "$RONDO_TASK_ID" = A ] && touch a || touch b
      echo '{"finish":{"status":"completed","summary":"Names must be lower case."}}' >"$RONDO_RESULT_FILE"
      """
    When I run `rondo prd run prd.json --gate 'well=true' --protect 'spec/*' -- ./worker.sh`
    Then the exit code is 0
    And the log "prompt-A" mentions "Task A: First"
    And the log "prompt-A" mentions "Make what A needs."
    And the log "prompt-A" mentions "- A has a name"
    And the log "prompt-A" mentions "- well: true"
    And the log "prompt-A" mentions "- spec/*"
    And the log "prompt-A" mentions "Names are short here."
    And the log "prompt-A" mentions "A goal of the whole."
    And the log "prompt-A" does not mention "Second"
    And the log "prompt-B" mentions "Names must be lower case."
    And the log "env-A" mentions "RONDO_TASK_ID=A"
    And the log "env-B" mentions "RONDO_TASK_ATTEMPT=1"

  @E-FR-4
  Scenario: Each task begins in a fresh context
    Given a repository with the tasks
      | id | title  | depends |
      | A  | First  |         |
      | B  | Second | A       |
    And a worker
      """
      ls -A >"$LOGS/tree-$RONDO_TASK_ID"
      ls -A "$TMPDIR" >>"$LOGS/tree-$RONDO_TASK_ID"
      echo "$RONDO_RUN_ID" >>"$LOGS/runs"
      cat "$RONDO_STATE_FILE" >>"$LOGS/states"
      echo left >"$RONDO_STATE_FILE"
      echo left >"$TMPDIR/left"
      mkdir -p build && echo left >build/left && echo build >.gitignore
      echo x >"$RONDO_TASK_ID"
      """
    When I run `rondo prd run prd.json -- ./worker.sh`
    Then the exit code is 0
    And the log "tree-A" has the lines ".git", "README.md"
    And the log "tree-B" has the lines ".git", ".gitignore", "A", "README.md"
    And the log "states" is empty
    And the log "runs" has 2 different lines

  # ---- Order and state ----

  @E-FR-3
  Scenario: Dependencies come first, then priorities, then places in the file
    Given a repository with the tasks
      | id | title | depends | priority |
      | A  | a     | D       | 1        |
      | B  | b     |         | 3        |
      | C  | c     |         | 2        |
      | D  | d     |         | 2        |
    And a worker
      """
      echo x >"$RONDO_TASK_ID"
      """
    When I run `rondo prd run prd.json -- ./worker.sh`
    Then the exit code is 0
    And the branch "feature/demo" has the commits
      | [PRD: demo] Task C: c |
      | [PRD: demo] Task D: d |
      | [PRD: demo] Task A: a |
      | [PRD: demo] Task B: b |

  @E-FR-1 @E-FR-8
  Scenario: The file says what is in progress, and only that
    Given a repository with the tasks
      | id | title  |
      | A  | First  |
      | B  | Second |
    And a worker
      """
      cp "$PROJECT/prd.json" "$LOGS/prd-$RONDO_TASK_ID.json"
      echo x >"$RONDO_TASK_ID"
      """
    When I run `rondo prd run prd.json -- ./worker.sh`
    Then the exit code is 0
    And the log "prd-A.json" says of the tasks
      | A | in_progress | false | 1 |
      | B | pending     | false | 0 |
    And the log "prd-B.json" says of the tasks
      | A | complete    | true  | 1 |
      | B | in_progress | false | 1 |
    And stdout mentions "2 of 2 tasks done"

  @E-FR-3 @E-AREE-recon
  Scenario: What is done already is not done again
    Given a repository with the tasks
      | id | title  | criteria                  |
      | A  | First  | `test -e README.md` passes |
      | B  | Second | It is there               |
      | C  | Third  | `test -e README.md` passes |
    And the task "B" says
      | status | "complete" |
      | passes | true       |
    And the task "C" says
      | status | "complete" |
    And a worker
      """
      touch "$LOGS/ran"
      """
    When I run `rondo prd run prd.json -- ./worker.sh`
    Then the exit code is 0
    And the log "ran" does not exist
    And the branch "feature/demo" has no commits
    And stdout mentions "3 of 3 tasks done; 0 commits"
    And the attempts ended as
      | A | 1 | already_done |
      | C | 1 | already_done |
    And prd.json says of the tasks
      | A | complete | true | 1 |
      | B | complete | true | 0 |
      | C | complete | true | 1 |

  @E-FR-6
  Scenario: The project's own checks are found and decide
    Given a repository with the tasks
      | id | title |
      | A  | First |
    And the committed files
      | Makefile | test:\n\ttest -e a |
    And a worker
      """
      [ "$RONDO_TASK_ATTEMPT" = 2 ] && touch a || touch b
      """
    When I run `rondo prd run prd.json -- ./worker.sh`
    Then the exit code is 0
    And the attempts ended as
      | A | 1 | checks_failed |
      | A | 2 | committed     |
    And the branch "feature/demo" has changed the file "a"

  # ---- The progress log ----

  @E-FR-9 @E-FR-15
  Scenario: The progress log is appended by Rondo and committed by nobody
    Given a repository with the tasks
      | id | title  |
      | A  | First  |
      | B  | Second |
    And a file "progress.txt" with
      """
      What a person wrote.
      """
    And a worker
      """
      [ "$RONDO_TASK_ID" = B ] && exit 1
      echo x >a
      """
    When I run `rondo prd run prd.json -- ./worker.sh`
    Then the exit code is 3
    And the first line of "progress.txt" is "What a person wrote."
    And the file "progress.txt" mentions "## Task A: First" once
    And the file "progress.txt" mentions "Completed: 20" once
    And the file "progress.txt" mentions "- a" once
    And the file "progress.txt" mentions "## Task B: Second" once
    And the file "progress.txt" mentions "It failed after 3 attempts" once
    And the branch "feature/demo" has changed the file "a"

  # ---- Who works ----

  @E-US-1
  Scenario: A coding agent of my own settings works, and its usage counts
    Given a repository with the tasks
      | id | title |
      | A  | First |
    And my own coding agent "mine" of the format "claude" that runs
      """
      cat >"$LOGS/task"
      echo "$@" >"$LOGS/arguments"
      echo x >a
      echo '{"type":"system","subtype":"init","session_id":"s","model":"m"}'
      echo '{"type":"result","subtype":"success","is_error":false,"result":"I wrote a.","session_id":"s","total_cost_usd":0.25,"usage":{"input_tokens":10,"output_tokens":5}}'
      """
    When I run `rondo prd run prd.json --agent mine`
    Then the exit code is 0
    And the log "task" mentions "Task A: First"
    And the log "arguments" mentions "--go"
    And stdout mentions "0.25"
    And the last commit of "feature/demo" has the trailers
      | Rondo-Agent | mine |
    And the file "progress.txt" mentions "I wrote a." once

  @E-US-1
  Scenario: A coding agent in a sandbox has its working tree and no other
    Given a repository with the tasks
      | id | title |
      | A  | First |
    And my own coding agent "mine" of the format "claude" that runs
      """
      cat >/dev/null
      echo x >a
      git status >/dev/null || exit 1
      echo bad >"$PROJECT/README.md"
      echo '{"type":"result","subtype":"success","is_error":false,"result":"Done."}'
      """
    When I run `rondo prd run prd.json --agent mine --sandbox namespace --sandbox-env PROJECT`
    Then the exit code is 0
    And the branch "feature/demo" has changed the file "a"
    And my files and branch are as they were

  @E-FR-6
  Scenario: An attempt can have several iterations, which end when the checks pass
    Given a repository with the tasks
      | id | title |
      | A  | First |
    And a worker
      """
      echo "$RONDO_ITERATION" >>a
      cat "$RONDO_FEEDBACK_FILE" >>"$LOGS/feedback"
      """
    When I run `rondo prd run prd.json --iterations 5 --gate 'lines=[ $(wc -l <a) = 3 ]' -- ./worker.sh`
    Then the exit code is 0
    And the attempts ended as
      | A | 1 | committed |
    And the log "feedback" mentions "lines"
    And on the branch "feature/demo" the file "a" has 3 lines

  @E-TRAP-2
  Scenario: A coding agent that was denied everything has done no work
    Given a repository with the tasks
      | id | title |
      | A  | First |
    And my own coding agent "mine" of the format "claude" that runs
      """
      cat >/dev/null
      echo x >a
      echo '{"type":"result","subtype":"success","is_error":false,"permission_denials":[{"tool_name":"Bash"}]}'
      """
    When I run `rondo prd run prd.json --agent mine`
    Then the exit code is 3
    And the attempts ended as
      | A | 1 | denied |
      | A | 2 | denied |
    And the reason of "A" mentions "Bash"
    And stderr mentions "stopped early: 2 attempts in a row were denied"
    And the branch "feature/demo" has no commits

  @E-US-1
  Scenario: The agent of a role works
    Given a repository with the tasks
      | id | title |
      | A  | First |
    And a role with
      """
      tools:
        - type: filesystem
          root_path: .
          read_only: false
      """
    And a model that answers
      | says | calls                                                |
      |      | write_file {"path": "a.txt", "content": "by a role"} |
      |      | finish_task {"summary": "a.txt is there"}            |
    When I run `rondo prd run prd.json --role role.yaml`
    Then the exit code is 0
    And on the branch "feature/demo" the file "a.txt" is "by a role"
    And the last message of request 1 mentions "Task A: First"
    And the file "progress.txt" mentions "a.txt is there" once

  @E-US-1
  Scenario: Commands of a role's agent run in the working tree, not beside the role
    Given a repository with the tasks
      | id | title |
      | A  | First |
    And a role with
      """
      tools: [{type: shell, require_confirmation: false}]
      """
    And a model that answers
      | says | calls                                 |
      |      | run_shell {"command": "touch a"}      |
      |      | finish_task {"summary": "a is there"} |
    When I run `FOR_CHECKS=yes rondo prd run prd.json --role role.yaml --sandbox-env FOR_CHECKS --gate 'told=test "$FOR_CHECKS" = yes'`
    Then the exit code is 0
    And the branch "feature/demo" has changed the file "a"
    And the file "a" does not exist

  @E-US-1 @E-US-3
  Scenario: A call that a person must decide is waited for, also over an interruption
    Given a repository with the tasks
      | id | title |
      | A  | First |
    And a role with
      """
      tools:
        - type: filesystem
          root_path: .
          read_only: false
          require_confirmation: true
      """
    And a model that answers
      | says | calls                                              |
      |      | write_file {"path": "a.txt", "content": "approved"} |
      |      | finish_task {"summary": "a.txt is there"}          |
    When I start `rondo prd run prd.json --role role.yaml`
    And a person is asked
    And I send it INT
    And it has ended
    Then its exit code is 130
    When I start `rondo resume last`
    And a person is asked
    And I approve the call that waits
    And it has ended
    Then its exit code is 0
    And the attempts ended as
      | A | 1 | committed |
    And on the branch "feature/demo" the file "a.txt" is "approved"

  # ---- Preparing and putting away ----

  @E-FR-6
  Scenario: Each working tree is prepared before the work, and what that makes is not committed
    Given a repository with the tasks
      | id | title  |
      | A  | First  |
      | B  | Second |
    And the committed files
      | .gitignore | deps |
    And a worker
      """
      cp deps/made "$LOGS/$RONDO_TASK_ID" && echo x >"$RONDO_TASK_ID"
      """
    When I run `rondo prd run prd.json --setup 'mkdir deps && echo made >deps/made' -- ./worker.sh`
    Then the exit code is 0
    And the log "A" mentions "made"
    And the log "B" mentions "made"
    And the branch "feature/demo" has changed the files "A", "B"

  @E-FR-14
  Scenario: A finished PRD goes into an archive, and a second one of the same day next to it
    Given a repository with the tasks
      | id | title |
      | A  | First |
    And a worker
      """
      date +%N >a
      """
    When I run `rondo prd run prd.json --archive -- ./worker.sh`
    Then the exit code is 0
    And the archives are "DATE-demo"
    And the last archive has the files "prd.json", "progress.txt"
    And the file "prd.json" does not exist
    And the file "progress.txt" does not exist
    Given the tasks
      | id | title |
      | B  | Next  |
    When I run `rondo prd run prd.json --archive -- ./worker.sh`
    Then the exit code is 0
    And the archives are "DATE-demo", "DATE-demo-2"
    And the branch "feature/demo" has the commits
      | [PRD: demo] Task A: First |
      | [PRD: demo] Task B: Next  |

  @E-FR-14
  Scenario: What has failed is not put away
    Given a repository with the tasks
      | id | title |
      | A  | First |
    And a worker
      """
      exit 1
      """
    When I run `rondo prd run prd.json --archive --attempts 1 -- ./worker.sh`
    Then the exit code is 3
    And prd.json says of the tasks
      | A | failed | false | 1 |
    And the archives are
