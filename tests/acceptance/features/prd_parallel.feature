@E-prd-parallel
Feature: Tasks at the same time, and people at the same branch

  Each attempt has a working tree of its own. Commits go onto the branch one after the other, and checks
  on what came of both decide. What people do to the branch meanwhile is theirs.

  @E-FR-16
  Scenario: Three tasks at the same time become one line of commits
    Given a repository with the tasks
      | id | title  |
      | A  | First  |
      | B  | Second |
      | C  | Third  |
    And a worker
      """
      echo "$TMPDIR" >>"$LOGS/folders"
      pwd >>"$LOGS/trees"
      touch "$LOGS/begun-$RONDO_TASK_ID"
      while [ "$(ls "$LOGS" | grep -c begun-)" -lt 3 ]; do sleep 0.05; done
      touch "$TMPDIR/mine" "$RONDO_TASK_ID"
      """
    When I run `rondo prd run prd.json --jobs 3 -- ./worker.sh`
    Then the exit code is 0
    And the log "folders" has 3 different lines
    And the log "trees" has 3 different lines
    And the branch "feature/demo" has changed the files "A", "B", "C"
    And my files and branch are as they were
    And no working tree is left

  Scenario: Tasks that change the same line: one begins again with what the other has made
    Given a repository with the tasks
      | id | title  |
      | A  | First  |
      | B  | Second |
    And a worker
      """
      touch "$LOGS/begun-$RONDO_TASK_ID"
      while [ "$(ls "$LOGS" | grep -c begun-)" -lt 2 ]; do sleep 0.05; done
      echo "$RONDO_TASK_ID" >>README.md
      """
    When I run `rondo prd run prd.json --jobs 2 --attempts 1 -- ./worker.sh`
    Then the exit code is 0
    And stdout mentions "2 of 2 tasks done; 2 commits"
    And the branch "feature/demo" has changed the file "README.md"
    And no working tree is left

  Scenario: Two changes that are bad together do not both come onto the branch
    Given a repository with the tasks
      | id | title  |
      | A  | First  |
      | B  | Second |
    And a worker
      """
      touch "$LOGS/begun-$RONDO_TASK_ID" "$RONDO_TASK_ID"
      while [ "$(ls "$LOGS" | grep -c begun-)" -lt 2 ]; do sleep 0.05; done
      """
    When I run `rondo prd run prd.json --jobs 2 --attempts 1 --gate "one=! test -e A || ! test -e B" -- ./worker.sh`
    Then the exit code is 3
    And stdout mentions "1 of 2 tasks done, 1 failed; 1 commit"
    And no working tree is left

  Scenario: A branch that I check out is not moved below me
    Given a repository with the tasks
      | id | title |
      | A  | First |
    And a worker
      """
      git -C "$PROJECT" switch -q feature/demo
      echo once >>"$LOGS/ran"
      touch a
      """
    When I run `rondo prd run prd.json -- ./worker.sh`
    Then the exit code is 4
    And stdout mentions "branch feature/demo is checked out in"
    And stdout mentions "rondo resume"
    And the branch "feature/demo" has no commits
    When I run `git switch -q main`
    And I run `rondo resume last`
    Then the exit code is 0
    And the branch "feature/demo" has changed the file "a"
    And the log "ran" has 1 different lines
    And no working tree is left

  Scenario: A check whose file is not committed is left out, and said
    Given a repository with the tasks
      | id | title |
      | A  | First |
    And a file "Makefile" with
      """
      test:
      	false
      """
    And a worker
      """
      touch a
      """
    When I run `rondo prd run prd.json -- ./worker.sh`
    Then the exit code is 0
    And stderr mentions "Makefile: target test is not in the commits of the branch"
    And the branch "feature/demo" has changed the file "a"
