@store @postgres
Feature: Many machines share a store in PostgreSQL

  Scenario: A run is killed on one machine and resumed on another
    Given a PostgreSQL store
    And a worker that stops to wait in iteration 2
      """
      echo "state $RONDO_ITERATION" >"$RONDO_STATE_FILE"
      """
    When I start `rondo loop --max-iterations 3 --lease 2s -- ./worker.sh`
    And iteration 2 is being worked on
    And I kill it with KILL
    And the worker may go on
    And I am on machine 2
    And I run `rondo resume last`
    Then the exit code is 5
    And iterations 1 to 3 finished once each
    And the newest checkpoint is of iteration 3

  Scenario: Of two processes on two machines one has the run
    Given a PostgreSQL store
    And a worker that stops to wait in iteration 1
      """
      true
      """
    When I start `rondo loop --agent one --exclusive --max-iterations 2 -- ./worker.sh`
    And iteration 1 is being worked on
    And I am on machine 2
    And I run `rondo resume last`
    Then the exit code is 9
    And stderr mentions "is executed by"
    When the worker may go on
    And it has ended
    Then its exit code is 5
    And iterations 1 to 2 finished once each

  Scenario: The page of one machine shows what runs on another
    Given a PostgreSQL store
    And a worker
      """
      true
      """
    When I run `rondo loop --agent far --max-iterations 2 -- ./worker.sh`
    And I am on machine 2
    And a server with `--listen 127.0.0.1:0`
    Then "/v1/runs" soon mentions "far"
    And "/v1/health" soon mentions "postgresql://rondo@/rondo?host="

  Scenario: A reader whose server is killed misses nothing at the server of another machine
    Given a PostgreSQL store
    And a worker
      """
      sleep 0.05
      """
    And a server
    And I follow all events
    When I start `rondo loop --agent elsewhere --max-iterations 30 -- ./worker.sh`
    Then what I follow comes to "iteration.finished" with iteration 4
    When I end the server with KILL
    And I am on machine 2
    And a server with `--listen 127.0.0.1:0`
    And I follow all events on where I was
    Then what I follow comes to "run.finished"
    And what I followed of agent "elsewhere" has the numbers from 1 on without gap

  Scenario: A call that waits on one machine is approved on another
    Given a PostgreSQL store
    And a file "note" with
      """
      #!/bin/sh
      echo "$1" >>notes
      """
    And I run `chmod +x note`
    And a role with
      """
      tools: [{type: shell}]
      """
    And a model that answers
      | calls                               |
      | run_shell {"command": "./note one"} |
      | finish_task {"summary": "done"}     |
    When I run `rondo run role.yaml -p x -a`
    Then the exit code is 11
    When I am on machine 2
    And I run `rondo inbox`
    Then stdout mentions "run_shell"
    When I approve the call that waits
    Then the exit code is 0
    When I run `rondo resume last`
    Then the exit code is 0
    And the file "notes" has the lines "one"

  Scenario: The table and the inbox of one machine show what another one does
    Given a PostgreSQL store
    And a file "note" with
      """
      #!/bin/sh
      echo "$1" >>notes
      """
    And I run `chmod +x note`
    And a role with
      """
      tools: [{type: shell}]
      """
    And a model that answers
      | calls                               |
      | run_shell {"command": "./note one"} |
      | finish_task {"summary": "done"}     |
    And a server
    And I follow the table of runs
    When I am on machine 2
    And I run `rondo run role.yaml -p x -a`
    Then the exit code is 11
    And the table soon says "runs" of "worker"
    And the table soon says "inbox" of "run_id"
    When I approve the call that waits
    And I run `rondo resume last`
    Then the exit code is 0
    And the table soon says "inbox" of "approved"
    And the table soon says "runs" of "completed"

  Scenario: Two servers on two machines see the same runs, and one executes each
    Given a PostgreSQL store
    And a worker
      """
      echo "$RONDO_RUN_ID $RONDO_ITERATION" >>done
      """
    And a server
    When I start 4 runs of 3 iterations over HTTP
    And I am on machine 2
    And a server with `--listen 127.0.0.1:0`
    Then all of them soon have the status "max_iterations"
    And the file "done" has 12 different lines

  Scenario: Policies that are set on one machine are in force at the next gate of another
    Given a PostgreSQL store
    And a file "strict.cedar" with
      """
      @id("two") forbid (principal, action == Action::"iterate", resource) when { context.iteration > 2 };
      """
    And a worker that stops to wait in iteration 2
      """
      true
      """
    When I start `rondo loop --max-iterations 9 -- ./worker.sh`
    And iteration 2 is being worked on
    And I am on machine 2
    And I run `rondo policy set strict.cedar --by carol`
    Then the exit code is 0
    When the worker may go on
    And it has ended
    Then the journal has an event "policy.changed" with
      | by | carol |
    And iterations 1 to 2 finished once each
    When I am on machine 3
    And I run `rondo policy show`
    Then stdout mentions "context.iteration > 2"
    And the history of policies is "set", the oldest first

  Scenario: A database that is killed: the loop stops before its next effect, and continues
    Given a PostgreSQL store
    And a worker that stops to wait in iteration 2
      """
      echo "$RONDO_ITERATION" >>done
      """
    When I start `rondo loop --max-iterations 4 -- ./worker.sh`
    And iteration 2 is being worked on
    And the database is killed
    And the worker may go on
    Then stderr of the one that runs soon mentions "the store does not answer"
    And the file "done" has the lines "1", "2"
    When the database starts again
    And it has ended
    Then its exit code is 5
    And stderr of the one that runs soon mentions "the store answers again"
    And iterations 1 to 4 finished once each
    And the file "done" has the lines "1", "2", "3", "4"

  Scenario: A server outlives its database
    Given a PostgreSQL store
    And a worker that stops to wait in iteration 2
      """
      echo "$RONDO_ITERATION" >>done
      """
    And a server
    When I start 1 run of 4 iterations over HTTP
    And iteration 2 is being worked on
    And the database is killed
    And the worker may go on
    Then the server says "the store does not answer"
    When the database starts again
    Then all of them soon have the status "max_iterations"
    And the file "done" has the lines "1", "2", "3", "4"
    And "/v1/health" is soon answered with 200

  Scenario: A stop ends the wait for a database
    Given a PostgreSQL store
    And a worker that stops to wait in iteration 1
      """
      true
      """
    When I start `rondo loop --max-iterations 4 -- ./worker.sh`
    And iteration 1 is being worked on
    And the database is stopped
    And the worker may go on
    Then stderr of the one that runs soon mentions "`rondo resume` continues later"
    When I send it INT
    And it has ended
    And the database starts again
    And I run `rondo resume last`
    Then the exit code is 5
    And iterations 1 to 4 finished once each

  Scenario: The primary is killed, and its synchronous standby takes its place
    Given a PostgreSQL store
    And a standby that commits wait for
    And a worker that stops to wait in iteration 2
      """
      echo "$RONDO_ITERATION" >>done
      """
    When I start `rondo loop --max-iterations 4 -- ./worker.sh`
    And iteration 2 is being worked on
    And the primary is killed and the standby promoted
    And the worker may go on
    And it has ended
    Then its exit code is 5
    And iterations 1 to 4 finished once each
    And the file "done" has the lines "1", "2", "3", "4"

  Scenario: A loop waits for a frozen database
    Given a PostgreSQL store
    And a worker that stops to wait in iteration 2
      """
      true
      """
    When I start `rondo loop --max-iterations 3 -- ./worker.sh`
    And iteration 2 is being worked on
    And the database is paused
    And the worker may go on
    And the database continues
    And it has ended
    Then its exit code is 5
    And iterations 1 to 3 finished once each

  Scenario: Commands report that the database is absent
    Given a PostgreSQL store
    When the database is stopped
    And I run `rondo runs`
    Then the exit code is 10
    And stderr mentions "cannot connect to postgresql://rondo@/rondo?host="
    When I run `rondo doctor`
    Then the exit code is 1

  Scenario: A runner's role executes runs of its agents, sees no others, and changes no policies
    Given a PostgreSQL store
    And a file "strict.cedar" with
      """
      forbid (principal, action == Action::"iterate", resource) when { context.iteration > 2 };
      """
    And a worker
      """
      true
      """
    When I run `rondo loop -q --agent other --max-iterations 1 -- ./worker.sh`
    And the database performs "CREATE ROLE team LOGIN"
    And I run `rondo store grant team --as runner --agents 'team-*'`
    Then the exit code is 0
    When I run `rondo store grants --json`
    Then stdout mentions "[{\"role\":\"team\",\"as\":\"runner\",\"agents\":[\"team-*\"]}]"
    When I connect as the role "team"
    And I run `rondo loop -q --agent team-one --max-iterations 2 -- ./worker.sh`
    Then the exit code is 5
    When I run `rondo runs`
    Then stdout mentions "team-one"
    And stdout does not mention "other"
    When I run `rondo loop -q --agent other --max-iterations 1 -- ./worker.sh`
    Then the exit code is 2
    And stderr mentions "may not create runs of the agent other: it has no right for this agent"
    When I run `rondo policy set strict.cedar`
    Then the exit code is 2
    And stderr mentions "it needs the right operator, and has runner"
    When I run `rondo gc --older-than 1s`
    Then the exit code is 2
    And stderr mentions "the role team may not"
    When I run `rondo store copy "$RONDO_STORE" copy.db`
    Then the exit code is 2
    And stderr mentions "only the owner of the schema can copy or compare the store"
    When I run `test ! -e copy.db`
    Then the exit code is 0
    When I run `rondo store grant team --as operator`
    Then the exit code is 2
    When I run `rondo doctor`
    Then the exit code is 0
    And stdout mentions "team, runner of the agents team-*"

  Scenario: A daemon works as a runner of all agents
    Given a PostgreSQL store
    And a file "turns.jsonl" with
      """
      {"text":"done"}
      """
    And a file "todo.md" with
      """
      - [ ] look
      """
    And a role with
      """
      model: {provider: scripted, name: turns.jsonl}
      triggers:
        - {type: heartbeat, file: todo.md, interval_seconds: 1}
      """
    When I run `rondo run role.yaml -p hello`
    Then the exit code is 0
    When the database performs "CREATE ROLE fleet LOGIN"
    And I run `rondo store grant fleet --as runner`
    Then the exit code is 0
    When I connect as the role "fleet"
    And a daemon of `role.yaml`
    Then at least 2 runs of "worker" are soon "completed"

  Scenario: A password is shown and kept nowhere
    Given a PostgreSQL store with a password
    And a worker that stops to wait in iteration 1
      """
      env
      tr '\0' '\n' </proc/$PPID/cmdline
      """
    When I start `rondo loop --max-iterations 1 --store $STORE -- ./worker.sh` on it
    And iteration 1 is being worked on
    Then the arguments of the one that runs do not have the password
    When the worker may go on
    And it has ended
    Then its exit code is 5
    When I run `rondo runs --store $STORE`
    Then stderr mentions "~/.pgpass"
    When I run `rondo doctor --store $STORE`
    And I run `rondo resume nothing --store $STORE`
    Then no output and no file has the password
    And no row of the database has the password

  Scenario: A password of the environment is not the worker's
    Given a PostgreSQL store with a password
    And a worker
      """
      env >environment
      """
    When I run `PGPASSWORD=only-for-tests PGPASSFILE=/nonexistent rondo loop --max-iterations 1 --store '$PLAIN' -- ./worker.sh`
    Then the exit code is 5
    And the worker had no variable that opens the database
    And no output and no file has the password

  Scenario: The doctor looks at the database
    Given a PostgreSQL store
    When I run `rondo loop --max-iterations 1 -- true`
    And I run `rondo doctor`
    Then the exit code is 0
    And stdout mentions "postgresql://rondo@/rondo?host="
    And stdout mentions "libpq"
    And stdout mentions "primary"
    And stdout mentions "connections"

  Scenario: The doctor and the metrics look at standbys and connections
    Given a PostgreSQL store
    And a standby that commits wait for
    And a server
    When I run `rondo doctor`
    Then a line of stdout matches `replication +1 standby, [0-9.]+ s and 0\.[0-9] MiB behind`
    And a line of stdout matches `connection budget +1 server needs up to 5 of [0-9]+ connections`
    And "/metrics" soon mentions "rondo_store_standbys 1"
    And "/metrics" soon mentions "rondo_store_replication_lag_seconds 0"
    And "/metrics" soon mentions 'rondo_store_connections{state="open"}'
    When the standby is killed
    And I run `rondo doctor`
    Then a line of stdout matches `replication +no standby is connected, but synchronous_standby_names is set`
