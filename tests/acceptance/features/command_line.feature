Feature: The command line as a newcomer meets it

  Background:
    Given a worker
      """
      echo "working on $RONDO_ITERATION"
      """

  Scenario: Help names the commands
    When I run `rondo --help`
    Then the exit code is 0
    And stdout mentions "loop"
    And stdout mentions "resume"
    And stdout mentions "doctor"

  Scenario Outline: Every command has help: <command>
    When I run `rondo <command> --help`
    Then the exit code is 0
    And stdout mentions "Usage"

    Examples:
      | command     |
      | loop        |
      | resume      |
      | runs        |
      | show        |
      | logs        |
      | checkpoints |
      | stop        |
      | pause       |
      | continue    |
      | limit       |
      | fork        |
      | gc          |
      | doctor      |
      | version     |
      | inbox       |
      | desks       |
      | reroute     |
      | ask         |
      | claim       |
      | release     |
      | escalate    |

  Scenario: The version
    When I run `rondo version`
    Then the exit code is 0
    And stdout mentions "0.1"

  Scenario Outline: A wrong call is an error that says what to do: <call>
    When I run `<call>`
    Then the exit code is 2
    And stderr mentions "<hint>"

    Examples:
      | call                                         | hint           |
      | rondo frobnicate                             | frobnicate     |
      | rondo chat                                   | rondo run ROLE |
      | rondo audit prune                            | rondo logs RUN |
      | rondo memory clear                           | memory forget  |
      | rondo setup                                  | rondo doctor   |
      | rondo run role.yaml --daemon                 | rondo daemon   |
      | rondo run role.yaml -p x --format=json       | --json         |
      | rondo validate --explain role.yaml           | rondo validate |
      | rondo loop                                   | COMMAND        |
      | rondo loop --no-such-option -- ./worker.sh   | no-such-option |
      | rondo loop --max-iterations 0 -- ./worker.sh | max-iterations |
      | rondo loop --delay soon -- ./worker.sh       | soon           |
      | rondo loop --agent 'a b' -- ./worker.sh      | a b            |

  Scenario: A run that does not exist
    When I run `rondo loop --max-iterations 1 -- ./worker.sh`
    And I run `rondo show 0123456789ab`
    Then the exit code is 1 or 2
    And stderr mentions "0123456789ab"

  Scenario: Piped, progress is plain lines
    When I run `rondo loop --max-iterations 2 --until never=false -- ./worker.sh`
    Then stderr or stdout mentions "working on 2"
    And there are no terminal control sequences
    And stderr or stdout mentions "max_iterations"

  Scenario: With --json stdout is one JSON object a line, without gaps
    When I run `rondo loop --max-iterations 3 --until never=false --json -- ./worker.sh`
    Then the exit code is 5
    And every line of stdout is a JSON object
    And the events in stdout are numbered from 1 without gap
    And the last line of stdout has the status "max_iterations" and exit code 5

  Scenario: Lists and details of runs
    When I run `rondo loop --agent a --max-iterations 2 -- ./worker.sh`
    And I run `rondo loop --agent b --until ok=true -- ./worker.sh`
    And I run `rondo runs --json`
    Then stdout lists the agents "b", "a" with the statuses "completed", "max_iterations"
    When I run `rondo runs`
    Then stdout mentions "max_iterations"
    When I run `rondo show last`
    Then stdout mentions "completed"
    And stdout mentions "ok"
    When I run `rondo show` with a unique prefix of the first run's id
    Then stdout mentions "max_iterations"
    When I run `rondo logs last`
    Then stdout mentions "iteration 1 ok"
    And stdout mentions "completed after 1 iteration"
    When I run `rondo checkpoints last`
    Then the exit code is 0

  Scenario: Following a run's journal shows it live and ends with it
    Given a worker that stops to wait in iteration 2
      """
      true
      """
    When I start `rondo loop --max-iterations 3 -- ./worker.sh`
    And iteration 2 is being worked on
    And I follow `rondo logs -f --json last`
    Then what I follow comes to an event "iteration.started" with iteration 2
    When the worker may go on
    Then what I follow comes to an event "run.finished" and ends
    And what I followed is numbered from 1 without gap

  Scenario: Old runs are removed on request only
    When I run `rondo loop --max-iterations 1 -- ./worker.sh`
    And I run `rondo gc --older-than 0s --dry-run`
    Then the exit code is 0
    When I run `rondo runs --json`
    Then stdout lists 1 run
    When I run `rondo gc --older-than 0s`
    And I run `rondo runs --json`
    Then stdout lists 0 runs

  Scenario Outline: Commands that steer a run say with --json in JSON what is wrong
    When I run `rondo loop --max-iterations 1 -- ./worker.sh`
    And I run `rondo <command> --json`
    Then the exit code is 2
    And every line of stdout is a JSON object
    And stdout mentions "RONDO_ERR_INVALID"
    And stderr mentions "is not a run"

    Examples:
      | command                            |
      | stop nosuchrun                     |
      | pause nosuchrun                    |
      | limit nosuchrun --max-iterations 3 |
      | fork nosuchrun                     |

  Scenario: Commands about sinks say with --json in JSON what became of them
    When I run `rondo sinks add ops --command --json -- true`
    And I run `rondo sinks test ops --json`
    Then every line of stdout is a JSON object
    And stdout mentions "queued"
    When I run `rondo sinks remove ops --json`
    Then stdout is exactly
      """
      {"name":"ops","outcome":"removed"}
      """
    When I run `rondo sinks remove ops --json`
    Then the exit code is 2
    And every line of stdout is a JSON object
    When I run `rondo sinks retry none --json`
    Then the exit code is 2
    And every line of stdout is a JSON object

  Scenario: doctor says what this machine offers
    When I run `rondo doctor`
    Then stdout mentions "namespace"
    And stdout mentions "libcurl"
    And stdout mentions "dashboard"
    And stdout mentions "store"
    When I run `rondo doctor --json`
    Then every line of stdout is a JSON object

  @file-store
  Scenario: The store is out of the project, and private
    Given the project is a git repository
    When I run `rondo loop --max-iterations 1 -- ./worker.sh`
    Then the file "STATE/rondo.db" has the mode 600
    And the file ".rondo" does not exist
    When I run `git add -A && git ls-files`
    Then stdout mentions "worker.sh"
    And stdout does not mention ".rondo"

  Scenario: A store of a parent folder is used
    When I run `rondo loop --max-iterations 1 -- ./worker.sh`
    And I run `mkdir -p deep/down && cd deep/down && rondo loop --max-iterations 1 -- true`
    Then the file "deep/down/.rondo" does not exist
    When I run `rondo runs --json`
    Then stdout lists 2 runs

  Scenario: RONDO_STORE says where the store is
    When I run `RONDO_STORE=$PWD/elsewhere.db rondo loop --max-iterations 1 -- ./worker.sh`
    Then the file ".rondo" does not exist
    And the file "elsewhere.db" has the mode 600

  Scenario: No colours and no control sequences with NO_COLOR
    When I run `NO_COLOR=1 rondo loop --max-iterations 1 -- ./worker.sh`
    Then there are no terminal control sequences
