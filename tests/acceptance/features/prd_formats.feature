@E-prd
Feature: PRDs as people and tools write them

  A PRD is read by a parser, checked with places, and converted so that it can be converted again.
  Nothing that cannot be read is ever written over.

  Background:
    Given a file "PRD.md" with
      """
      # PRD: Task list

      > Branch: feature/task-list

      ## Introduction

      Show the tasks of a project.

      ## Quality Gates

      - `make check` - all tests

      ## User Stories

      ### US-001: Store a task
      **Description:** Tasks survive a restart.

      **Acceptance Criteria:**
      - [ ] `make test-store` passes
      - [ ] A task has a title

      ### US-002: Show the list
      **Priority:** P1
      **Depends on:** US-001

      **Acceptance Criteria:**
      - [ ] The list shows titles
      """

  # ---- Conversion ----

  @E-PRD-TO-JSON
  Scenario: A PRD in Markdown becomes tasks with criteria, state and counts
    When I run `rondo prd convert PRD.md -o prd.json`
    Then the exit code is 0
    And stderr mentions "2 tasks written"
    And the tasks of "prd.json" are
      | US-001 | Store a task  |        |
      | US-002 | Show the list | US-001 |
    And the criteria of "US-001" in "prd.json" are
      | `make test-store` passes |
      | A task has a title       |
    And the head of "prd.json" has
      | name         | "Task list"                    |
      | branchName   | "feature/task-list"            |
      | goal         | "Show the tasks of a project." |
      | qualityGates | ["make check"]                 |
    And the task "US-001" of "prd.json" has
      | description  | "Tasks survive a restart." |
      | status       | "pending"                  |
      | passes       | false                      |
      | attemptCount | 0                          |
    And the metadata of "prd.json" count 2 tasks, 0 done and 0 failed
    When I run `rondo prd check --strict prd.json`
    Then the exit code is 0
    And stdout mentions "prd.json: 2 tasks (arete), 0 errors, 0 warnings"

  @E-PRD-TO-JSON
  Scenario Outline: A PRD becomes a file for <dialect>
    When I run `rondo prd convert PRD.md --dialect <dialect> -o prd.json`
    And I run `rondo prd check prd.json`
    Then the exit code is 0
    And stdout mentions "2 tasks (<dialect>), 0 errors, 0 warnings"
    And the task "US-001" of "prd.json" has
      | passes | false |
    And the task "US-001" of "prd.json" has no "<never>"

    Examples:
      | dialect   | never        |
      | ralph-tui | status       |
      | ralph-tui | attemptCount |

  @E-PRD-TO-JSON
  Scenario: A task list of spec-kit keeps its order
    Given a file "tasks.md" with
      """
      # Tasks: Login

      ## Phase 1: Setup

      - [ ] T001 Create the project
      - [ ] T002 [P] Add a linter
      - [X] T003 [P] Add a formatter

      ## Phase 2: User Story 1

      - [ ] T004 [US1] Store users in src/store.c
      """
    When I run `rondo prd convert tasks.md -o prd.json`
    Then the exit code is 0
    And the tasks of "prd.json" are
      | T001 | Create the project         |            |
      | T002 | Add a linter               | T001       |
      | T003 | Add a formatter            | T001       |
      | T004 | Store users in src/store.c | T002, T003 |
    And the derived criteria of "T004" in "prd.json" are
      | Store users in src/store.c |
    And the task "T003" of "prd.json" has
      | passes | false |

  @E-PRD-TO-JSON
  Scenario: A feature is a task and a scenario is a criterion
    Given a file "login.feature" with
      """
      Feature: Login
        As a user

        Scenario: Right password
          When I log in
          Then I am in

        Scenario: Wrong password
          When I log in wrongly
          Then I am out
      """
    When I run `rondo prd convert login.feature -o prd.json`
    Then the exit code is 0
    And the tasks of "prd.json" are
      | login | Login | |
    And the criteria of "login" in "prd.json" are
      | Right password / - When I log in / - Then I am in          |
      | Wrong password / - When I log in wrongly / - Then I am out |

  @E-PRD-TO-JSON
  Scenario: What was not written as a criterion is marked as derived
    Given a file "own.md" with
      """
      # PRD: Own

      ## US-001: Store
      **Acceptance Criteria:**
      - [ ] It is stored

      **Tests:**
      - It survives a restart
      """
    When I run `rondo prd convert own.md -o prd.json`
    Then the criteria of "US-001" in "prd.json" are
      | It is stored          |
      | It survives a restart |
    And the derived criteria of "US-001" in "prd.json" are
      | It survives a restart |

  # ---- Converting again ----

  @E-PRD-TO-JSON
  Scenario: A PRD that is converted again keeps the state and what people added
    Given a file "prd.json" with
      """
      {"userStories": [
        {"id": "US-001", "title": "Store a task", "acceptanceCriteria": ["`make test-store` passes", "A task has a title"],
         "status": "complete", "passes": true, "attemptCount": 2, "commitSha": "0123abc", "myOwn": {"n": 1.50e+3}},
        {"id": "US-009", "title": "Old", "acceptanceCriteria": ["x"], "status": "pending", "passes": false, "attemptCount": 0}
      ]}
      """
    And I run `cp prd.json before.json`
    When I run `rondo prd convert PRD.md -o prd.json`
    Then the exit code is 0
    And stderr mentions "added US-002: Show the list"
    And stderr mentions "removed US-009: Old"
    And stderr mentions "1 added"
    And stderr mentions "1 removed"
    And the tasks of "prd.json" are
      | US-001 | Store a task  |        |
      | US-002 | Show the list | US-001 |
    And the task "US-001" of "prd.json" has
      | status       | "complete" |
      | passes       | true       |
      | attemptCount | 2          |
      | commitSha    | "0123abc"  |
      | myOwn        | {"n":1500} |
    And the files "before.json" and ".prd.json.bak" are equal
    When I run `cp prd.json once.json && rondo prd convert PRD.md -o prd.json`
    Then the exit code is 0
    And stderr mentions "0 added, 0 changed, 0 removed, 2 unchanged"
    And the files "once.json" and "prd.json" are equal
    And the files "before.json" and ".prd.json.bak" are equal

  @E-TRAP-3.2
  Scenario: A ticked box means done only if I say so
    Given a file "ticked.md" with
      """
      # PRD: Ticked

      ## US-001: Store
      **Acceptance Criteria:**
      - [x] one
      - [X] two

      ## US-002: Show
      **Acceptance Criteria:**
      - [x] one
      - [ ] two
      """
    When I run `rondo prd convert ticked.md -o prd.json`
    Then the task "US-001" of "prd.json" has
      | passes | false |
    When I run `rondo prd convert ticked.md --checked-are-done -o done.json`
    Then the task "US-001" of "done.json" has
      | passes | true       |
      | status | "complete" |
    And the task "US-002" of "done.json" has
      | passes | false |

  # ---- What other tools take for something else ----

  @E-TRAP-1.2 @E-TRAP-3.2
  Scenario: A date in brackets is no box, and code has no stories
    Given a file "traps.md" with
      """
      # PRD: Traps

      ## US-001: Store
      - [2026-01-30] first seen by a user
      - [note] not a box either

      ```markdown
      ## US-008: Only an example
      - [ ] in a fence
      ```

      ~~~
      ## US-009: Another
      ~~~

      <!--
      ## US-010: Left out
      - [ ] in a comment
      -->

      **Acceptance Criteria:**
      - [ ] It is stored
      """
    When I run `rondo prd convert traps.md -o prd.json`
    Then the exit code is 0
    And the tasks of "prd.json" are
      | US-001 | Store | |
    And the criteria of "US-001" in "prd.json" are
      | It is stored |

  @E-TRAP-3.2
  Scenario: All kinds of bullets, boxes, indentation and line ends are read
    Given a file "windows.md" with a byte order mark, CRLF and
      """
      # PRD: Windows

      ## US-001: Store
      **Acceptance Criteria:**
      - [ ] a dash
      * [X] a star
      + [x] a plus
      - no box
      	- below it, by a tab
      1. a number
      """
    When I run `rondo prd convert windows.md -o prd.json`
    Then the exit code is 0
    And the criteria of "US-001" in "prd.json" are
      | a dash                          |
      | a star                          |
      | a plus                          |
      | no box / - below it, by a tab |
      | a number                        |
    And the head of "prd.json" has
      | name | "Windows" |

  @E-TRAP-3.2
  Scenario: Requirements, non-goals and headings in other languages are no stories
    Given a file "other.md" with
      """
      # PRD: Liste

      ## Функциональные требования
      - FR-1: The list has titles
      - [ ] FR-2: The list is sorted

      ## Non-Goals
      - No colours

      ### Task 1: Titel speichern
      #### Akzeptanz
      - [ ] Der Titel wird gespeichert
      """
    When I run `rondo prd convert other.md -o prd.json`
    Then the exit code is 0
    And the tasks of "prd.json" are
      | task-1 | Titel speichern | |
    And the criteria of "task-1" in "prd.json" are
      | Der Titel wird gespeichert |

  # ---- Checking ----

  @E-PRD-SCHEMA
  Scenario Outline: A file of the dialect <dialect> is understood
    Given a file "prd.json" with
      """
      <text>
      """
    When I run `rondo prd check --strict prd.json`
    Then stdout mentions "1 task (<dialect>), 0 errors, 0 warnings"
    And the exit code is 0
    When I run `rondo prd status prd.json --json`
    Then stdout mentions '"total":1,"done":1,"failed":0'

    Examples:
      | dialect     | text                                                                                                                                    |
      | arete       | {"userStories":[{"id":"a","title":"t","acceptanceCriteria":["x"],"status":"complete","passes":true,"attemptCount":1}]}                  |
      | arete       | {"tasks":[{"id":"a","title":"t","acceptanceCriteria":["x"],"status":"complete","passes":true,"attemptCount":1}]}                        |
      | ralph       | {"project":"p","branchName":"b","userStories":[{"id":"US-1","title":"t","acceptanceCriteria":["x"],"priority":1,"passes":true}]}        |
      | ralph-tui   | {"name":"p","userStories":[{"id":"US-1","title":"t","acceptanceCriteria":["x"],"priority":1,"passes":true,"dependsOn":[]}]}             |
      | stories     | {"project":"p","stories":[{"id":"US-1","title":"t","acceptanceCriteria":["x"],"status":"done","dependsOn":[]}]}                         |
      | task-master | {"master":{"tasks":[{"id":1,"title":"t","status":"done","dependencies":[],"priority":"high","testStrategy":"run it","subtasks":[]}]}}   |
      | list        | [{"id":1,"title":"t","acceptanceCriteria":["x"],"passes":true}]                                                                         |

  @E-PRD-SCHEMA
  Scenario: Whatever is wrong has its place
    Given a file "prd.json" with
      """
      {"userStories": [
        {"id": "a", "title": "t", "acceptanceCriteria": ["x"], "dependsOn": ["b"], "passes": false},
        {"id": "b", "title": "t", "acceptanceCriteria": ["x"], "dependsOn": ["c"], "passes": false},
        {"id": "c", "title": "t", "acceptanceCriteria": ["x"], "dependsOn": ["a"], "passes": false},
        {"id": "a", "title": "t", "acceptanceCriteria": ["x"], "passes": false},
        {"id": "d", "title": "t", "acceptanceCriteria": ["x"], "dependsOn": ["nobody", "d"], "passes": false},
        {"id": "e", "title": "", "acceptanceCriteria": ["x"], "passes": false}
      ]}
      """
    When I run `rondo prd check prd.json`
    Then the exit code is 1
    And stdout mentions "prd.json:5:3: error: the id "
    And stdout mentions "is already used by the task in line 2"
    And stdout mentions "prd.json:6:3: error: task "
    And stdout mentions "which does not exist"
    And stdout mentions "depends on itself"
    And stdout mentions "a circle of 3: a -> b -> c -> a"
    And stdout mentions "prd.json:7:3: error: task "
    And stdout mentions "prd.json: 6 tasks (ralph-tui), 5 errors, 0 warnings"
    When I run `rondo prd check prd.json --json`
    Then the exit code is 1
    And every line of stdout is a JSON object
    And stdout mentions '"rule":"cycle","line":2,"column":3'

  @E-PRD-SCHEMA
  Scenario: Errors of a PRD in Markdown have their lines, and nothing is written
    Given a file "bad.md" with
      """
      # PRD: Bad

      ## US-001: One
      - [ ] x

      ## US-001: Another
      **Depends on:** US-007
      - [ ] x
      """
    When I run `rondo prd check bad.md`
    Then the exit code is 1
    And stdout mentions "bad.md:6:1: error: "
    And stdout mentions "which does not exist"
    When I run `rondo prd convert bad.md -o prd.json`
    Then the exit code is 1
    And stderr mentions "bad.md:6:1: error: "
    And stderr mentions "nothing was written"
    And the file "prd.json" does not exist

  @E-PRD-SCHEMA
  Scenario: A task whose status says done while it does not pass is not done
    Given a file "prd.json" with
      """
      {"tasks": [
        {"id": "a", "title": "t", "acceptanceCriteria": ["x"], "status": "complete", "passes": false, "attemptCount": 1}
      ]}
      """
    When I run `rondo prd status prd.json`
    Then the exit code is 0
    And stdout mentions "disputed"
    And stdout mentions "0 of 1 done"
    When I run `rondo prd check prd.json`
    Then the exit code is 0
    And stdout mentions "prd.json:2:68: warning"
    When I run `rondo prd check --strict prd.json`
    Then the exit code is 1

  # ---- What cannot be read ----

  @E-TRAP-1.2
  Scenario: A file that is not valid is never written over
    Given a file "prd.json" with
      """
      {"userStories": [
        {"id": "a", "title": "half wri
      """
    And I run `cp prd.json before.json`
    When I run `rondo prd check prd.json`
    Then the exit code is 2
    And stderr mentions "prd.json: 2:"
    And stderr mentions "(byte "
    When I run `rondo prd convert PRD.md -o prd.json`
    Then the exit code is 2
    And stderr mentions "prd.json: 2:"
    And stderr mentions "nothing was written"
    And the files "before.json" and "prd.json" are equal
    And the file ".prd.json.bak" does not exist

  Scenario: A file of another tool that cannot be merged stays as it is
    Given a file "prd.json" with
      """
      {"stories": [{"id": "a", "title": "t", "status": "open"}]}
      """
    And I run `cp prd.json before.json`
    When I run `rondo prd convert PRD.md -o prd.json`
    Then the exit code is 1 or 2
    And stderr mentions "prd.json: "
    And stderr mentions "nothing was written"
    And the files "before.json" and "prd.json" are equal

  Scenario: The version before is offered when a file got broken
    When I run `rondo prd convert PRD.md -o prd.json`
    And I run `rondo prd convert PRD.md -o prd.json && sed -i s/US-001/US-003/ PRD.md && rondo prd convert PRD.md -o prd.json`
    And I run `truncate -s 100 prd.json`
    And I run `rondo prd status prd.json`
    Then the exit code is 2
    And stderr mentions ".prd.json.bak next to it"
    When I run `rondo prd check .prd.json.bak`
    Then the exit code is 0

  Scenario Outline: <what> in place of a PRD is refused without waiting
    Given a file "secret/prd.json" with
      """
      {"tasks": [{"id": "SECRET-WORDS", "title": "t"}]}
      """
    When I run `sh -c 'mkdir project && cp PRD.md project && cd project && <command> && exec rondo prd <verb>'`
    Then the exit code is 1 or 2
    And stderr mentions "<words>"
    And stderr or stdout does not mention "SECRET-WORDS"
    And the file "secret/prd.json" has the line '{"tasks": [{"id": "SECRET-WORDS", "title": "t"}]}'

    Examples:
      | what        | command                          | verb                       | words            |
      | A link      | ln -s ../secret/prd.json prd.json | check prd.json             | symbolic link    |
      | A link      | ln -s ../secret/prd.json prd.json | status prd.json            | symbolic link    |
      | A link      | ln -s ../secret/prd.json prd.json | convert PRD.md -o prd.json | symbolic link    |
      | A new link  | ln -s ../secret/new prd.json      | convert PRD.md -o prd.json | symbolic link    |
      | A hard link | ln ../secret/prd.json prd.json    | convert PRD.md -o prd.json | is a hard link   |
      | A FIFO      | mkfifo prd.json                   | check prd.json             | is a FIFO        |
      | A FIFO      | mkfifo prd.json                   | convert PRD.md -o prd.json | is a FIFO        |
      | A huge file | truncate -s 1T prd.json           | check prd.json             | is larger than   |
      | A folder    | mkdir prd.json                    | status prd.json            | is a folder      |

  Scenario: What a PRD says does not reach the terminal as control sequences
    Given a file "prd.json" with
      """
      {"tasks": [{"id": "a", "title": "\u001b[2Jgone\r\u0008", "dependsOn": ["\u001b[31m"], "status": "\u001b[1m"}]}
      """
    When I run `rondo prd status prd.json`
    Then stdout mentions "gone"
    And there are no terminal control sequences
    When I run `rondo prd check prd.json`
    Then the exit code is 1
    And there are no terminal control sequences
