Feature: A sandboxed command sees neither other runs nor the store
  Wherever the store is: in the state folder, in .rondo, or in the workspace.

  Background:
    Given a workspace that is in no temporary folder
    And a file "look.sh" with
      """
      # What another run was told, by its folder's name and by searching.
      one=first
      own=$(dirname "$RONDO_STATE_FILE")
      for place in "$own/.." "$own/../.." "$own/../../.." . .. "$HOME" "$1"; do
          grep -rqs "the $one one's secret" "$place" && echo "FOUND in $place"
      done
      for run in "$1"/*; do
          test "${run##*/}" != "$RONDO_RUN_ID" && test -e "$run/1" && echo '{"finish":"completed"}' 2>/dev/null >"$run/1/result.json" && echo "WRITTEN"
      done
      echo looked
      """

  Scenario Outline: Another run's prompt is not read, and its result not written: <tier>, <store>
    When I start `rondo loop -q --agent first <options> --prompt "the first one's secret" --max-iterations 1 -- sh -c 'touch here; until test -e go; do sleep 0.05; done'`
    And the file "here" appears
    And I run `rondo loop --agent second <options> --sandbox <tier> --max-iterations 1 -- sh look.sh <work>`
    Then the exit code is 5
    When I run `rondo logs last <options> --json`
    Then stdout mentions "looked"
    And stdout does not mention "FOUND"
    And stdout does not mention "WRITTEN"
    When the worker may go on
    And it has ended
    Then its exit code is 5

    Examples:
      | tier      | store                | options                  | work                |
      | namespace | in the state folder  |                          | "$STATE/work"       |
      | landlock  | in the state folder  |                          | "$STATE/work"       |
      | namespace | in the workspace     | --store mine.db          | mine.db.work        |
      | landlock  | in the workspace     | --store mine.db          | mine.db.work        |
      | namespace | of the version before | --store .rondo/rondo.db | .rondo/work         |
      | landlock  | of the version before | --store .rondo/rondo.db | .rondo/work         |

  Scenario Outline: A store in the workspace is neither read nor changed: <tier>, <command>
    Given a worker
      """
      true
      """
    When I run `rondo loop -q --store mine.db --max-iterations 1 -- ./worker.sh`
    And I run `rondo loop -q --store mine.db --sandbox <tier> --max-iterations 1 -- sh -c '<command>; true'`
    Then the exit code is 5
    When I run `rondo runs --store mine.db --json`
    Then stdout lists 2 runs
    When I run `test ! -e taken && test "$(stat -c %h mine.db)" = 1 && head -c 15 mine.db`
    Then stdout mentions "SQLite format 3"

    Examples:
      | tier      | command                                                 |
      | namespace | head -c 15 mine.db \| grep SQLite >taken \|\| rm -f taken |
      | landlock  | head -c 15 mine.db \| grep SQLite >taken \|\| rm -f taken |
      | namespace | echo x >mine.db; mv mine.db taken; ln mine.db taken     |
      | landlock  | echo x >mine.db; mv mine.db taken; ln mine.db taken     |
      | namespace | echo x >mine.db-wal; rm -f mine.db mine.db-wal mine.db-shm |
      | landlock  | echo x >mine.db-wal; rm -f mine.db mine.db-wal mine.db-shm |

  Scenario Outline: A rollback journal that a command left beside the store is not played back: <tier>
    Given a worker
      """
      true
      """
    When I run `rondo loop -q --store mine.db --max-iterations 1 -- ./worker.sh`
    And I run `rondo loop -q --store mine.db --sandbox <tier> --max-iterations 1 -- sh -c 'head -c 4096 /dev/urandom >mine.db-journal; true'`
    Then the exit code is 5
    When I run `if test -s mine.db-journal; then rondo runs --store mine.db; else echo "mine.db-journal is not Rondo's" >&2; fi`
    Then stderr mentions "mine.db-journal is not Rondo's"
    When I run `rm -f mine.db-journal && rondo runs --store mine.db --json`
    Then stdout lists 2 runs

    Examples:
      | tier      |
      | namespace |
      | landlock  |

  Scenario Outline: A log is not planted beside another store that nobody has open: <tier>
    Given a worker
      """
      true
      """
    When I run `rondo loop -q --store other.db --max-iterations 1 -- ./worker.sh`
    And I run `rondo loop -q --store mine.db --sandbox <tier> --max-iterations 1 -- sh -c 'for i in wal shm journal; do rm -f other.db-$i; echo planted >other.db-$i; done; true'`
    Then the exit code is 5
    When I run `if grep -l planted other.db-*; then false; else rondo runs --store other.db --json; fi`
    Then the exit code is 0
    And stdout lists 1 run
    When I run `rm other.db-wal; echo planted >other.db-wal; rondo runs --store other.db`
    Then the exit code is 2
    And stderr mentions "other.db-wal is not Rondo's, and would change the store"

    Examples:
      | tier      |
      | namespace |
      | landlock  |

  Scenario Outline: A store of another run's is not changed either: <tier>
    Given a worker
      """
      true
      """
    When I run `rondo loop -q --store .rondo/rondo.db --max-iterations 1 -- ./worker.sh`
    And I run `rondo loop -q --store elsewhere.db --sandbox <tier> --max-iterations 1 -- sh -c 'echo x >.rondo/rondo.db; rm -rf .rondo; mv .rondo gone; true'`
    And I run `rondo resume -q last --store .rondo/rondo.db --max-iterations 2`
    Then the exit code is 5

    Examples:
      | tier      |
      | namespace |
      | landlock  |
