@E-seen
Feature: What the run of a PRD does is seen

  Everybody who looks at a PRD's run sees its tasks as the journal has them: state, attempts, time,
  cost, commit, and why a task is not done. Nothing of it comes from what a worker says of itself.

  Background:
    Given I run `git init -q -b main && git config user.name Ada && git config user.email ada@example.org`
    And a file "prd.json" with
      """
      {"name": "Task list", "userStories": [
        {"id": "US-001", "title": "Store a task", "passes": false, "status": "pending",
         "acceptanceCriteria": ["`test -e made` passes"]},
        {"id": "US-002", "title": "Show the list", "passes": false, "status": "pending",
         "dependsOn": ["US-001"], "acceptanceCriteria": ["It is shown"]},
        {"id": "US-003", "title": "Sort it", "passes": false, "status": "pending",
         "acceptanceCriteria": ["`test -e sorted` passes"]},
        {"id": "US-004", "title": "Print it", "passes": false, "status": "pending",
         "dependsOn": ["US-003"], "acceptanceCriteria": ["It is printed"]}
      ]}
      """
    And a file "work.sh" with
      """
      case $RONDO_TASK_ID in
        US-001) echo one >made ;;
        US-002) echo two >shown ;;
        *) echo "$RONDO_TASK_ATTEMPT" >unsorted ;;
      esac
      """
    And I run `git add -A && git commit -qm start`

  @E-STATUS
  Scenario: The last run is shown beside the file
    When I run `rondo prd status prd.json`
    Then the exit code is 0
    And stdout does not mention "last run"
    When I run `rondo prd run prd.json -q --sandbox none -- sh work.sh`
    Then the exit code is 3
    When I run `rondo prd status prd.json`
    Then the exit code is 0
    And the table in stdout is
      | TASK   | FILE    | RUN     | ATTEMPTS |
      | US-001 | done    | done    | 1        |
      | US-002 | done    | done    | 1        |
      | US-003 | failed  | failed  | 3        |
      | US-004 | pending | blocked | 0        |
    And stdout mentions "US-003: checks_failed: `test -e sorted` failed"
    And stdout mentions "US-004: depends on US-003"
    And stdout mentions "failed, branch prd/Task-list, 5 attempts, 2 commits"

  @E-STATUS
  Scenario: What a person changes in the file afterwards is seen beside what the run did
    When I run `rondo prd run prd.json -q --sandbox none --attempts 1 -- sh work.sh`
    And I run `sed -i 's/"failed"/"pending"/' prd.json`
    And I run `rondo prd status prd.json`
    Then the table in stdout is
      | TASK   | FILE    | RUN     | ATTEMPTS |
      | US-001 | done    | done    | 1        |
      | US-002 | done    | done    | 1        |
      | US-003 | pending | failed  | 1        |
      | US-004 | pending | blocked | 0        |

  @E-STATUS
  Scenario: A run is shown with its tasks, and an attempt's run names its task
    When I run `rondo prd run prd.json -q --sandbox none --attempts 1 -- sh work.sh`
    And I run `rondo show --json last`
    Then the tasks of the run are
      | US-001 | done    | 1 | committed |           |
      | US-002 | done    | 1 | committed |           |
      | US-003 | failed  | 1 |           |           |
      | US-004 | blocked | 0 |           | US-003    |
    When I show the run of the last attempt at "US-003"
    Then stdout mentions "US-003, attempt 1, of run"

  @E-CI
  Scenario: The result for programs has all tasks, after a line for each event
    When I run `rondo prd run prd.json --json --sandbox none --attempts 2 -- sh work.sh`
    Then the exit code is 3
    And every line of stdout is a JSON object
    And the tasks of the run are
      | US-001 | done    | 1 | committed |        |
      | US-002 | done    | 1 | committed |        |
      | US-003 | failed  | 2 |           |        |
      | US-004 | blocked | 0 |           | US-003 |

  @E-TRAP-terminal
  Scenario: Titles and messages cannot control the terminal
    Given a file "prd.json" with
      """
      {"name": "Task list", "userStories": [
        {"id": "US-001", "title": "\u001b]0;owned\u0007Store \u001b[2Ja task\u202e", "passes": false,
         "status": "pending", "acceptanceCriteria": ["`printf '\\033[31mred'; false` passes"]}
      ]}
      """
    When I run `rondo prd run prd.json --sandbox none --attempts 1 -- sh work.sh`
    Then the exit code is 3
    And there are no terminal control sequences
    When I run `rondo prd status prd.json`
    Then there are no terminal control sequences
    And stdout mentions "Store a task"

  @E-RUNS
  Scenario: Runs of attempts are listed below the PRD's run, on demand
    When I run `rondo prd run prd.json -q --sandbox none --attempts 1 -- sh work.sh`
    And I run `rondo runs --json`
    Then stdout lists 1 run
    When I run `rondo runs --json --children`
    Then stdout lists 4 runs
    And all runs but the first one work for the first one
    When I run `rondo runs --json --agent sh`
    Then stdout lists 3 runs

  @serve @dashboard @E-PAGE
  Scenario: The page of a PRD's run shows its tasks while they are worked on
    Given a file "wait.sh" with
      """
      project=$(dirname "$(git rev-parse --path-format=absolute --git-common-dir)")
      until [ -e "$project/go" ]; do sleep 0.05; done
      . ./work.sh
      """
    And I run `git add -A && git commit -qm wait`
    And a server
    When I start `rondo prd run prd.json -q --sandbox none --attempts 1 -- sh wait.sh`
    And the operator opens the dashboard
    And opens the tasks of the run of "prd-Task_list"
    Then the board soon shows
      | pending | US-002, US-003, US-004 |
      | working | US-001                 |
    When the worker may go on
    Then the board soon shows
      | done    | US-001, US-002 |
      | failed  | US-003         |
      | blocked | US-004         |
    When the operator opens the task "US-001" and its changes
    Then the changes are of the file "made", with the line "one" added
    And the page names the check "criterion-1"
    And no page had an error

  @serve @E-TOLD
  Scenario: People are told of a task that failed, once, and not of single attempts
    Given a server
    When I run `rondo prd run prd.json -q --sandbox none --attempts 2 -- sh work.sh`
    Then "/v1/warnings?kind=task" soon mentions "US-003"
    And "/v1/warnings?kind=ended" soon mentions "1 failed, 1 blocked"
    And "/metrics" soon mentions "rondo_tasks_total{outcome=\"failed\"} 1"
    And "/metrics" soon mentions "rondo_task_attempts_total{outcome=\"checks_failed\"} 2"
    And "/v1/warnings" lists 2 warnings, none of them of the agent "sh"

  @serve @E-TOLD
  Scenario: People are told that all tasks are done
    Given a server
    And a file "prd.json" with
      """
      {"name": "Task list", "userStories": [
        {"id": "US-001", "title": "Store a task", "passes": false, "status": "pending",
         "acceptanceCriteria": ["`test -e made` passes"]}
      ]}
      """
    When I run `rondo prd run prd.json -q --sandbox none -- sh work.sh`
    Then the exit code is 0
    And "/v1/warnings?kind=task" soon mentions "1 of 1 task"
