Feature: Verifiers run in a sandbox
  A verifier executes what an agent has just written. It may change the workspace
  and nothing else.

  Background:
    Given a workspace that is in no temporary folder
    And a worker
      """
      true
      """

  Scenario: Writing inside the workspace works
    When I run `rondo loop --max-iterations 1 --until 'check=echo x >inside' -- ./worker.sh`
    Then the exit code is 0
    And the file "inside" has the line "x"

  Scenario Outline: What a verifier may not do: <what>
    Given a secret file in the home folder
    And a symbolic link "link" to the folder above the workspace
    When I run `rondo loop --max-iterations 1 --until 'check=<command>' -- ./worker.sh`
    Then the exit code is 5
    And condition "check" ended as "not_met" with reason "failed"
    And nothing outside the workspace has changed

    Examples:
      | what                         | command                                                        |
      | write to the system          | echo x >/usr/rondo-was-here                                    |
      | read a secret of the home    | cat "$SECRET_PATH"                                             |
      | read the secret by its path  | cat ../home/.ssh/id_ed25519                                    |
      | see an environment secret    | test -n "$API_TOKEN"                                           |
      | reach the network            | bash -c "exec 3<>/dev/tcp/$LISTENER"                           |
      | see the runtime's processes  | grep -lq "[r]ondo-outside" /proc/[0-9]*/cmdline                  |
      | kill a process outside       | kill -0 $OUTSIDE_PID                                           |
      | change the run's own store   | echo x >"$STATE/rondo.db"; false                               |
      | read the runtime's store     | head -c 16 "$STATE/rondo.db" \| grep -q SQLite                 |
      | gain privileges              | mount -t tmpfs none /mnt                                       |

  Scenario Outline: What a verifier writes beside the workspace never reaches the machine: <way>
    Refused, or lost with the private folder that stands in for the one above the workspace.

    Given a symbolic link "link" to the folder above the workspace
    When I run `rondo loop --max-iterations 1 --until 'check=<command>' -- ./worker.sh`
    Then the journal has an event "condition.evaluated" with
      | name | check |
    And nothing outside the workspace has changed

    Examples:
      | way               | command              |
      | by its path       | echo x >../outside   |
      | through a symlink | echo x >link/outside |

  Scenario: /tmp is private
    Given a file in the machine's /tmp
    When I run `rondo loop --max-iterations 1 --until 'check=test ! -e $TMP_FILE && echo x >/tmp/rondo-private' -- ./worker.sh`
    Then the exit code is 0
    And the machine's /tmp has no "rondo-private"

  Scenario: A fork bomb ends at the process limit and at the deadline
    When I run `rondo loop --max-iterations 1 --verify-timeout 2s --until 'check=f() { f | f & }; f; sleep 90' -- ./worker.sh`
    Then the exit code is 5
    And soon no process of "sleep 90" is left
    And the journal has an event "condition.evaluated" with
      | name   | check   |
      | status | not_met |

  Scenario: A verifier cannot outlive its evaluation
    When I run `rondo loop --max-iterations 1 --until 'check=(setsid sleep 94 &) ; true' -- ./worker.sh`
    Then the exit code is 0
    And soon no process of "sleep 94" is left

  Scenario: Without a sandbox only when it is asked for
    When I run `rondo loop --max-iterations 1 --sandbox none --until 'check=echo x >../outside' -- ./worker.sh`
    Then the exit code is 0
    And the file "../outside" has the line "x"

  Scenario: A tier that is missing is not replaced by a weaker one
    Given a machine without bubblewrap
    When I run `rondo loop --max-iterations 1 --until 'check=touch ran' -- ./worker.sh`
    Then the exit code is 2
    And stderr mentions "bubblewrap"
    And stderr mentions "--sandbox"
    And the file "ran" does not exist

  Scenario: A tier that goes missing on the way leaves the condition unmet and says why
    Given a machine where bubblewrap can break
    And a worker
      """
      rm ../bin/bwrap; printf '#!/bin/sh\necho forbidden >&2; exit 1\n' >../bin/bwrap; chmod +x ../bin/bwrap
      """
    When I run `rondo loop --max-iterations 1 --until 'check=touch ran' -- ./worker.sh`
    Then the exit code is 5
    And condition "check" ended as "not_met" with reason "not_run"
    And the file "ran" does not exist

  Scenario: The network can be allowed
    Given a listener on the machine
    When I run `rondo loop --max-iterations 1 --sandbox-network --until 'check=bash -c "exec 3<>/dev/tcp/$LISTENER"' --sandbox-env LISTENER -- ./worker.sh`
    Then the exit code is 0

  Scenario Outline: A sandboxed worker gets its hand-over and nothing else of the runtime: <tier>
    Given a worker
      """
      test -n "$RONDO_RUN_ID" && test "$RONDO_PROMPT" = "mend it" && test -s "$RONDO_FEEDBACK_FILE" || exit 1
      printf x >>"$RONDO_STATE_FILE" || exit 1
      echo y 2>/dev/null >/usr/rondo-was-here
      printf '{"custom_data":{"seen":true}}' >"$RONDO_RESULT_FILE"
      """
    When I run `rondo loop --max-iterations 3 --sandbox <tier> --prompt "mend it" -- ./worker.sh`
    Then the exit code is 5
    And iterations 1 to 3 finished once each
    And the checkpoint of iteration 3 has the state "xxx"
    And nothing outside the workspace has changed

    Examples:
      | tier      |
      | namespace |
      | landlock  |

  Scenario Outline: A link that a command planted where a path is named opens nothing in the next run: <tier>
    Given a worker
      """
      mkdir -p a && ln -s ../.. a/out && git init -q sub 2>/dev/null; true
      """
    When I run `rondo loop --max-iterations 1 --sandbox <tier> -- ./worker.sh`
    Then the exit code is 5
    When I run `rondo loop --max-iterations 1 --sandbox <tier> --sandbox-write a/out -- ./worker.sh`
    Then the exit code is 2
    And stderr mentions "symbolic link"
    And nothing outside the workspace has changed

    Examples:
      | tier      |
      | namespace |
      | landlock  |

  Scenario Outline: What a worker leaves for the user's git is disarmed, and its output says so: <tier>
    Given a worker
      """
      mkdir -p sub/.git/objects sub/.git/refs; echo ref: refs/heads/main >sub/.git/HEAD
      printf '[core]\n\tfsmonitor = touch ../../pwned\n' >sub/.git/config
      """
    When I run `rondo loop --max-iterations 1 --sandbox <tier> -- ./worker.sh`
    Then the exit code is 5
    And the file "sub/.git/config" does not exist
    And stderr mentions "could make git run a program"

    Examples:
      | tier      |
      | namespace |
      | landlock  |
