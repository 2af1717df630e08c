@E-branches
Feature: Branches of a PRD's tasks

  Background:
    Given the project is a git repository with a commit
    And a file "prd.json" with
      """
      {"name": "List", "userStories": [
        {"id": "T1", "title": "one", "acceptanceCriteria": ["x"]},
        {"id": "T2", "title": "two", "acceptanceCriteria": ["x"], "dependsOn": ["T1"]},
        {"id": "T 3", "title": "three", "acceptanceCriteria": ["x"]},
        {"id": "T4", "title": "four", "acceptanceCriteria": ["x"], "dependsOn": ["T2", "T 3"]}]}
      """
    And a worker
      """
      echo "$RONDO_TASK_ID" >"$(echo "$RONDO_TASK_ID" | tr -d ' ')"
      """

  Scenario: Each task has a branch, which begins where those are that it depends on
    When I run `rondo prd run prd.json --branch-per-task --jobs 2 -- ./worker.sh`
    Then the exit code is 0
    When I run `git branch --format='%(refname:short)'`
    Then stdout mentions "prd/List/T1"
    And stdout mentions "prd/List/T-3-"
    When I run `git ls-tree --name-only prd/List/T1`
    Then stdout mentions "T1"
    And stdout does not mention "T3"
    When I run `git ls-tree --name-only prd/List/T2`
    Then stdout mentions "T1"
    And stdout mentions "T2"
    And stdout does not mention "T3"
    When I run `git ls-tree --name-only prd/List/T4`
    Then stdout mentions "T3"
    And stdout mentions "T2"
    And stdout mentions "T4"
    When I run `git log -2 --format='%p|%s' prd/List/T4`
    Then stdout mentions "Task T4: merge what it depends on"
    When I run `git rev-list --count prd/List/T2`
    Then stdout mentions "3"

  Scenario: Branches that do not merge are told, and the others are done
    Given a worker
      """
      echo "$RONDO_TASK_ID" >same
      """
    When I run `rondo prd run prd.json --branch-per-task --attempts 1 -- ./worker.sh`
    Then the exit code is 3
    And the journal has an event "task.ended" with
      | task    | T4                                                              |
      | outcome | conflict                                                        |
      | message | the branches that this task depends on do not merge: same |
    And the journal has an event "task.committed" with
      | task | T2 |

  Scenario: A branch where git has one already is refused before anything runs
    When I run `git branch prd/List`
    And I run `rondo prd run prd.json --branch-per-task -- ./worker.sh`
    Then the exit code is 2
    And stderr mentions "there is a branch prd/List, so git cannot have branches prd/List/ID"
    And stderr mentions "--branch"

  Scenario: A task that is reopened continues its own branch
    When I run `rondo prd run prd.json --branch-per-task -- ./worker.sh`
    And I run `sed -i '/"T1"/,/T2/ {s/"passes": true/"passes": false/; s/"status": "complete"/"status": "pending"/}' prd.json`
    And I run `rondo prd run prd.json --branch-per-task -- sh -c 'echo again >>T1'`
    Then the exit code is 0
    When I run `git log --format=%s prd/List/T1`
    Then stdout mentions "first"
    When I run `git show prd/List/T1:T1`
    Then stdout mentions "again"
    And stdout mentions "T1"

  Scenario: A run that was killed continues on the branches that there are
    Given a worker
      """
      [ "$RONDO_TASK_ID" != T2 ] || [ -e "$HOME/go" ] || { touch "$HOME/at"; sleep 100; }
      echo "$RONDO_TASK_ID" >"$(echo "$RONDO_TASK_ID" | tr -d ' ')"
      """
    When I start `rondo prd run prd.json --branch-per-task -- ./worker.sh`
    And the file "../home/at" appears
    And I kill it with KILL
    And I run `touch "$HOME/go" && rondo resume last`
    Then the exit code is 0
    When I run `git rev-list --count prd/List/T1 && git log --format=%s prd/List/T2`
    Then stdout mentions "2"
    And stdout mentions "Task T1: one"
    And stdout mentions "Task T2: two"

  Scenario: What a person commits on a task's branch meanwhile is kept
    Given a worker
      """
      [ "$RONDO_TASK_ID" != T2 ] || git -C "$PROJECT" update-ref refs/heads/prd/List/T2 "$(git -C "$PROJECT" commit-tree -p prd/List/T1 -m theirs "$(git -C "$PROJECT" rev-parse prd/List/T1^{tree})")"
      echo "$RONDO_TASK_ID" >"$(echo "$RONDO_TASK_ID" | tr -d ' ')"
      """
    When I run `PROJECT="$PWD" rondo prd run prd.json --branch-per-task -- ./worker.sh`
    Then the exit code is 0
    When I run `git log --format=%s prd/List/T2`
    Then stdout mentions "theirs"
    And stdout mentions "Task T2: two"
