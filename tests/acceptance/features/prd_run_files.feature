@E-prd-run
Feature: What a run writes into the files of a PRD

  # ---- Dialects ----

  @E-TRAP-3 @E-FR-8
  Scenario Outline: A file of <tool> stays one: only what its tool knows is changed
    Given a repository
    And a file "prd.json" with
      """
      <before>
      """
    And a worker
      """
      echo x >"$RONDO_TASK_ID"
      """
    When I run `rondo prd run prd.json --branch work -- ./worker.sh`
    Then the exit code is 0
    And the file "prd.json" is, but for commits,
      """
      <after>
      """

    Examples:
      | tool        | before                                                                                                                                                                     | after |
      | Areté       | {"name": "n",  "branchName":"b", "x": [1,2],  "userStories": [{"id": "A", "title": "t", "description": "d", "acceptanceCriteria": ["c"], "status": "pending", "passes": false, "attemptCount": 0, "filesToRead": []}]} | {"name": "n",  "branchName":"b", "x": [1,2],  "userStories": [{"id": "A", "title": "t", "description": "d", "acceptanceCriteria": ["c"], "status": "complete", "passes": true, "attemptCount": 1, "filesToRead": [], "commitSha": "COMMIT"}]} |
      | ralph.sh    | {"project": "n", "branchName": "b", "description": "d", "userStories": [{"id": "A", "title": "t", "description": "d", "acceptanceCriteria": ["c"], "priority": 1, "passes": false, "notes": ""}]} | {"project": "n", "branchName": "b", "description": "d", "userStories": [{"id": "A", "title": "t", "description": "d", "acceptanceCriteria": ["c"], "priority": 1, "passes": true, "notes": ""}]} |
      | ralph-tui   | {"name": "n", "userStories": [{"id": "A", "title": "t", "acceptanceCriteria": ["c"], "priority": 1, "passes": false, "dependsOn": [], "labels": []}]}                    | {"name": "n", "userStories": [{"id": "A", "title": "t", "acceptanceCriteria": ["c"], "priority": 1, "passes": true, "dependsOn": [], "labels": []}]} |
      | task-master | {"master": {"tasks": [{"id": 1, "title": "t", "status": "pending", "dependencies": [], "priority": "high"}], "metadata": {}}}                                            | {"master": {"tasks": [{"id": 1, "title": "t", "status": "done", "dependencies": [], "priority": "high"}], "metadata": {}}} |

  @E-TRAP-3
  Scenario: The states of a task in a file that knows times
    Given a repository
    And a file "prd.json" with
      """
      {"stories": [{"id": "A", "title": "t", "status": "open"}, {"id": "B", "title": "u", "status": "open"}]}
      """
    And a worker
      """
      [ "$RONDO_TASK_ID" = A ] && echo x >A
      """
    When I run `rondo prd run prd.json --branch work --attempts 1 -- ./worker.sh`
    Then the exit code is 3
    And the file "prd.json" mentions "completedAt" once
    And the file "prd.json" mentions "\"done\"" once

  @E-FR-1
  Scenario: The counts of the file are those of its tasks
    Given a repository with the tasks
      | id | title  |
      | A  | First  |
      | B  | Second |
      | C  | Third  |
    And a worker
      """
      [ "$RONDO_TASK_ID" != B ] && echo x >"$RONDO_TASK_ID"
      """
    When I run `rondo prd run prd.json --attempts 1 -- ./worker.sh`
    Then the exit code is 3
    And the metadata of "prd.json" say 3 tasks, 2 done and 1 failed

  @E-FR-2
  Scenario: A PRD in Markdown that has changed is merged, and what was done stays done
    Given a repository
    And a file "PRD.md" with
      """
      # PRD: Demo

      ### US-1: First
      - [ ] It is there
      """
    And a worker
      """
      echo x >"$RONDO_TASK_ID"
      """
    When I run `rondo prd run PRD.md -- ./worker.sh`
    Then the exit code is 0
    When I run `printf '\n### US-2: Second\n- [x] It is there [2026-01-30]\n' >>PRD.md; rondo prd run PRD.md -- ./worker.sh`
    Then the exit code is 0
    And prd.json says of the tasks
      | US-1 | complete | true | 1 |
      | US-2 | complete | true | 1 |
    And the branch "prd/demo" has the commits
      | [PRD: Demo] Task US-1: First  |
      | [PRD: Demo] Task US-2: Second |

  # ---- The log ----

  @E-TRAP-3 @E-FR-9
  Scenario: Of a long log a worker gets the patterns and the last entries
    Given a repository with the tasks
      | id | title |
      | A  | First |
    And a progress log with the pattern "Use tabs." and 40 entries of 2000 bytes
    And a worker
      """
      cat "$RONDO_PROMPT_FILE" >"$LOGS/prompt"
      echo x >a
      """
    When I run `rondo prd run prd.json -- ./worker.sh`
    Then the exit code is 0
    And the log "prompt" mentions "Use tabs."
    And the log "prompt" mentions "entry 40"
    And the log "prompt" does not mention "entry 35 "
    And the log "prompt" has fewer than 20000 bytes
    And the file "progress.txt" mentions "entry 1 " once

  @E-EDGE-3
  Scenario Outline: A log that is <what> is not followed, and the work is not lost
    Given a repository with the tasks
      | id | title |
      | A  | First |
    And a worker
      """
      echo x >a
      """
    When I run `<make> && rondo prd run prd.json -- ./worker.sh`
    Then the exit code is 4
    And stdout mentions "1 of 1 tasks done; 1 commit"
    And the branch "feature/demo" has the commits
      | [PRD: demo] Task A: First |
    When I run `rm -r progress.txt; rondo resume last`
    Then the exit code is 0
    And the file "progress.txt" mentions "## Task A: First" once

    Examples:
      | what     | make                            |
      | a link   | ln -s ../outside progress.txt   |
      | a folder | mkdir progress.txt              |
      | a FIFO   | mkfifo progress.txt             |

  # ---- Archives ----

  @E-FR-14
  Scenario: The name of a PRD leads nowhere else
    Given a repository with the tasks
      | id | title |
      | A  | First |
    And the head of the PRD says
      | name       | "../../x/ y"   |
      | branchName | null           |
    And a worker
      """
      echo x >a
      """
    When I run `rondo prd run prd.json --archive -- ./worker.sh`
    Then the exit code is 0
    And the archives are "DATE-x-y"
    And the branch "prd/x-y" has changed the file "a"

  @E-FR-14
  Scenario: What cannot be archived now is archived by a resume
    Given a repository with the tasks
      | id | title |
      | A  | First |
    And a file "archive" with
      """
      a person's own
      """
    And a worker
      """
      echo x >a
      """
    When I run `rondo prd run prd.json --archive -- ./worker.sh`
    Then the exit code is 4
    And prd.json says of the tasks
      | A | complete | true | 1 |
    When I run `rm archive; rondo resume last`
    Then the exit code is 0
    And the archives are "DATE-demo"
    And the last archive has the files "prd.json", "progress.txt"

  @E-FR-14
  Scenario: A run that was killed keeps its files until it is resumed or stopped
    Given a repository with the tasks
      | id | title |
      | A  | First |
    And a worker
      """
      touch "$LOGS/began"
      exec sleep 600
      """
    When I start `rondo prd run prd.json -- ./worker.sh`
    And the log "began" appears
    And I kill it with KILL
    And I run `rondo prd archive prd.json`
    Then the exit code is 9
    And stderr mentions "rondo resume"
    And the archives are
    When I run `rondo stop last && rondo prd archive prd.json`
    Then the exit code is 0
    And the archives are "DATE-demo"

  @E-FR-14
  Scenario: What has failed is put away when a person says so, but never while it is worked on
    Given a repository with the tasks
      | id | title |
      | A  | First |
    And a worker
      """
      touch "$LOGS/began"
      while [ ! -e "$LOGS/go" ]; do sleep 0.02; done
      exit 1
      """
    When I start `rondo prd run prd.json --attempts 1 -- ./worker.sh`
    And the log "began" appears
    And I run `rondo prd archive prd.json`
    Then the exit code is 9
    And stderr mentions "rondo stop"
    And the archives are
    When I write the log "go"
    And it has ended
    And I run `rondo prd archive prd.json`
    Then the exit code is 0
    And the archives are "DATE-demo"
    And the last archive has the files "prd.json", "progress.txt"
    When I run `rondo prd archive prd.json`
    Then the exit code is 2
    And stderr mentions "prd.json"
    Given the tasks
      | id | title |
      | B  | Next  |
    When I run `rondo prd archive .`
    Then the exit code is 2
    When I run `rondo prd archive prd.json`
    Then the exit code is 0
    And the archives are "DATE-demo", "DATE-demo-2"
    And the last archive has the files "prd.json"

  # ---- Two PRDs ----

  @E-TRAP-1
  Scenario: Two PRDs of one repository are worked on at the same time
    Given a repository with the tasks
      | id | title |
      | A  | First |
    And a worker
      """
      touch "$LOGS/in-$RONDO_TASK_ID"
      while [ ! -e "$LOGS/in-A" ] || [ ! -e "$LOGS/in-B" ]; do sleep 0.02; done
      echo x >"$RONDO_TASK_ID"
      """
    When I run `mkdir other; sed 's/"A"/"B"/; s/demo/other/' prd.json >other/prd.json`
    And these run at the same time
      | rondo prd run prd.json -- ./worker.sh                 |
      | rondo prd run other/prd.json -b other -- ./worker.sh |
    Then each of them exits with code 0
    And the branch "feature/demo" has changed the file "A"
    And the branch "other" has changed the file "B"
    And the file "progress.txt" mentions "## Task" once
    And the file "other/progress.txt" mentions "## Task" once
