@steer
Feature: Runs are steered and looked after on the command line
  Pausing, changed limits, forks, whom warnings reach, who may use a server: each command for people
  and, with --json, for programs. Exit code 2 says that nothing was changed.

  # ---- Pause and continue ----

  Scenario: A run in a terminal is paused before its next iteration, and goes on
    Given a worker that stops to wait in iteration 2
      """
      echo "$RONDO_ITERATION" >>bodies
      """
    When I start `rondo loop --agent fixer --max-iterations 4 -- ./worker.sh`
    And iteration 2 is being worked on
    And I run `rondo pause last --json`
    Then the exit code is 0
    And stdout is JSON with
      | run_id  | $RUN   |
      | outcome | posted |
    When the worker may go on
    Then the journal soon has an event "run.paused"
    And `rondo runs` soon says that "fixer" is "paused"
    And the file "bodies" has the lines "1", "2"
    When I run `rondo continue last`
    Then the exit code is 0
    And stdout mentions "will continue"
    When it has ended
    Then its exit code is 5
    And the file "bodies" has the lines "1", "2", "3", "4"
    And the journal has an event "run.continued"
    And between the pause and its end no iteration began

  Scenario: A run that nobody executes is paused and continued where it stands
    Given a worker that stops to wait in iteration 2
      """
      true
      """
    When I start `rondo loop --agent left --max-iterations 3 -- ./worker.sh`
    And iteration 2 is being worked on
    And I kill it with KILL
    And I run `rondo pause last --json`
    Then stdout is JSON with
      | outcome | done |
    And `rondo runs` soon says that "left" is "paused"
    When I run `rondo pause last --json`
    Then stdout is JSON with
      | outcome | nothing |
    When I run `rondo continue last`
    Then the exit code is 0
    And stdout mentions "resume with: rondo resume"
    When I run `rondo continue last`
    Then the exit code is 0
    And stdout mentions "is not paused"
    When the worker may go on
    And I run `rondo resume last`
    Then the exit code is 5
    And iterations 1 to 3 finished once each

  Scenario: A paused run can be stopped, and then resumed
    Given a worker that stops to wait in iteration 1
      """
      true
      """
    When I start `rondo loop --agent held --max-iterations 3 -- ./worker.sh`
    And iteration 1 is being worked on
    And I run `rondo pause last`
    And the worker may go on
    Then the journal soon has an event "run.paused"
    When I run `rondo stop last --json`
    Then the exit code is 0 or 130
    And it has ended
    And the last event is "run.finished" with status "cancelled"
    When I run `rondo resume last`
    Then the exit code is 5
    And iterations 1 to 3 finished once each

  # ---- Limits ----

  Scenario: A limit is raised while a run executes
    Given a worker that stops to wait in iteration 2
      """
      true
      """
    When I start `rondo loop --max-iterations 2 -- ./worker.sh`
    And iteration 2 is being worked on
    And I run `rondo limit last --max-iterations 4 --json`
    Then stdout is JSON with
      | outcome | posted |
    When the worker may go on
    And it has ended
    Then its exit code is 5
    And iterations 1 to 4 finished once each
    And the journal has an event "run.options"

  Scenario: A limit below what is used up ends the run there
    Given a worker that stops to wait in iteration 3
      """
      true
      """
    When I start `rondo loop --max-iterations 50 -- ./worker.sh`
    And iteration 3 is being worked on
    And I run `rondo limit last --max-iterations 2`
    Then stdout mentions "will use the new limits from its next step"
    When the worker may go on
    And it has ended
    Then its exit code is 5
    And iterations 1 to 3 finished once each
    And the last event is "run.finished" with status "max_iterations"

  Scenario: A limit of tokens is taken away
    Given a worker that stops to wait in iteration 1
      """
      echo '{"usage":{"tokens":60}}' >"$RONDO_RESULT_FILE"
      """
    When I start `rondo loop --max-tokens 100 --max-iterations 4 -- ./worker.sh`
    And iteration 1 is being worked on
    And I run `rondo limit last --max-tokens none`
    And the worker may go on
    And it has ended
    Then its exit code is 5
    And iterations 1 to 4 finished once each

  # ---- Forks ----

  Scenario: A fork begins where a checkpoint stands, and leaves the other run alone
    Given a worker
      """
      cat "$RONDO_STATE_FILE" >"found-$RONDO_ITERATION"; echo "state $RONDO_ITERATION" >"$RONDO_STATE_FILE"
      """
    When I run `rondo loop --agent tried --max-iterations 4 -- ./worker.sh`
    And I run `rondo fork last 2 --max-iterations 6 --json`
    Then the exit code is 0
    And stdout is JSON with
      | forked_from | $RUN |
    And `rondo runs` soon says that "tried" is "parked"
    When I run `rondo resume last`
    Then the exit code is 5
    And iteration 3 found the state "state 2"
    And iterations 1 to 6 finished once each
    And the journal has an event "run.forked" with
      | checkpoint | 2 |
    And the run that was forked has its 4 iterations and 4 checkpoints as before

  Scenario: Of the newest checkpoint, for people
    Given a worker
      """
      true
      """
    When I run `rondo loop --max-iterations 2 -- ./worker.sh`
    And I run `rondo fork last`
    Then the exit code is 0
    And stdout mentions "resume with: rondo resume"

  # ---- What cannot be done ----

  Scenario Outline: What cannot be done is said, and changes nothing: <command>
    Given a worker
      """
      true
      """
    When I run `rondo loop --max-iterations 1 -- ./worker.sh`
    And I run `rondo <command>`
    Then the exit code is 2
    And stderr mentions "<says>"
    And the last event is "run.finished" with status "max_iterations"

    Examples:
      | command                              | says                         |
      | pause last                           | has ended already            |
      | continue last                        | has ended already            |
      | limit last --max-iterations 9        | has ended already            |
      | limit last                           | no limit is given            |
      | limit last --max-iterations many     | is not a whole number        |
      | limit last --max-cost=-1             | --max-cost                   |
      | pause                                | an argument is missing       |
      | pause nosuch                         | is not a run                 |
      | continue nosuch                      | is not a run                 |
      | limit nosuch --max-tokens 5          | is not a run                 |
      | fork nosuch                          | is not a run                 |
      | fork last 77                         | has no such checkpoint       |
      | fork last first                      | is not a whole number        |
      | fork last 1 2                        | too many arguments           |
      | warnings --kind nosuch               | unknown kind of warning      |
      | warnings --run nosuch                | is not a run                 |
      | sinks add ops                        | expected one of --webhook    |
      | sinks add ops --webhook ftp://x      | expected an http             |
      | sinks add 'a b' --webhook http://x   | name                         |
      | sinks add ops --webhook http://x --kinds nosuch | no kind of warning |
      | sinks add ops --command              | --command requires a command          |
      | sinks remove nosuch                  | there is no sink             |
      | sinks test nosuch                    | there is no sink             |
      | sinks retry nosuch                   | no such dead letter          |
      | token create ci --scope all          | read\|operate\|administer\|decide\|reveal\|agent |
      | token create ci --scope agent        | names the agents             |
      | token create ci --person ann         | a person's                   |
      | token create ci --expires yesterday  | is not a duration            |
      | token create 'a b'                   | letters, digits              |
      | token revoke nosuch                  | there is no token            |

  Scenario Outline: Programs get the error as JSON: <command>
    Given a worker
      """
      true
      """
    When I run `rondo loop --max-iterations 1 -- ./worker.sh`
    And I run `rondo <command> --json`
    Then the exit code is 2
    And stdout is JSON with
      | type      | error  |
      | code      | <code> |
      | exit_code | 2      |

    Examples:
      | command                        | code                |
      | pause last                     | RONDO_ERR_STATE     |
      | continue last                  | RONDO_ERR_STATE     |
      | limit last --max-tokens 5      | RONDO_ERR_STATE     |
      | fork last 77                   | RONDO_ERR_NOT_FOUND |
      | pause nosuch                   | RONDO_ERR_INVALID   |
      | sinks add ops --webhook ftp:/x | RONDO_ERR_INVALID   |
      | token revoke nosuch            | RONDO_ERR_NOT_FOUND |

  # ---- The list of runs ----

  Scenario: The list tells how each run stands
    Given a worker that waits for my word in each iteration
      """
      true
      """
    When I start `rondo loop --agent killed --max-iterations 3 -- ./worker.sh`
    And `rondo runs` soon says that "killed" is "running"
    And I kill it with KILL
    And I start `rondo loop --agent held --max-iterations 3 -- ./worker.sh`
    And `rondo runs` soon says that "held" is "running"
    And I run `rondo pause last`
    And iteration 1 may end
    Then `rondo runs` soon says that "held" is "paused"
    When I run `rondo loop --agent done --max-iterations 1 -- ./worker.sh`
    And I run `rondo fork last`
    And I start `rondo loop --agent busy --max-iterations 3 -- ./worker.sh`
    Then `rondo runs` soon says that "busy" is "running"
    When I run `rondo runs --json`
    Then every line of stdout is a JSON object
    And stdout lists the runs
      | busy   | running        |
      | done   | parked         |
      | done   | max_iterations |
      | held   | paused         |
      | killed | interrupted    |
    When I run `rondo runs --running --json`
    Then stdout lists the runs
      | busy   | running     |
      | done   | parked      |
      | held   | paused      |
      | killed | interrupted |
    When I run `rondo runs --agent held`
    Then stdout mentions "paused"
    And stdout does not mention "busy"

  # ---- Sinks ----

  Scenario: A sink is added, listed, changed and removed
    When I run `rondo sinks add ops --webhook https://ops.example/very/secret/path --kinds limit,ended --agents fixer --json`
    Then the exit code is 0
    And stdout is JSON with
      | name   | ops      |
      | secret | *whsec_* |
    When I run `rondo sinks list --json`
    Then stdout is JSON with
      | name   | ops                 |
      | kind   | webhook             |
      | url    | https://ops.example |
      | kinds  | ["limit","ended"]   |
      | agents | ["fixer"]           |
    And stdout does not mention "whsec_"
    When I run `rondo sinks add ops --command -- logger -t rondo`
    And I run `rondo sinks list`
    Then stdout mentions "logger -t rondo"
    And stdout does not mention "webhook"
    When I run `rondo sinks remove ops`
    Then the exit code is 0
    When I run `rondo sinks list --json`
    Then the exit code is 0
    And stdout lists 0 runs

  Scenario: The address of a sink can be kept out of the list of processes
    Given a file "address" with
      """
      https://chat.example/T1/secret
      """
    When I run `rondo sinks add chat --slack - <address`
    Then the exit code is 0
    When I run `rondo sinks list`
    Then stdout mentions "https://chat.example"
    And stdout does not mention "secret"

  @serve
  Scenario: A sink is tried out
    Given somebody who listens at an address
    When I run `rondo sinks add ops --webhook $HOOK/hook`
    And I run `rondo sinks test ops`
    Then the exit code is 0
    And stderr mentions "queued"
    When I run `rondo sinks deliveries --json`
    Then stdout is JSON with
      | sink     | ops   |
      | is_dead  | false |
      | attempts | 0     |
    Given a server
    Then somebody is told of a warning of kind "test" with
      | message | test of this sink; nothing happened   |
    And every message is signed with the secret that was printed
    And `rondo sinks deliveries` soon lists nothing

  # ---- Warnings ----

  @serve @A-US4-3
  Scenario: Warnings are listed, and chosen by run, agent and kind
    Given a worker
      """
      true
      """
    And a server
    When I run `rondo loop --agent near --max-iterations 5 -- ./worker.sh`
    And I run `rondo loop --agent bad --max-failures 1 -- false`
    Then `rondo warnings --json` soon lists
      | bad  | ended  |
      | near | limit  |
      | near | policy |
    And `rondo warnings --json --agent near` soon lists
      | near | limit  |
      | near | policy |
    And `rondo warnings --json --kind ended` soon lists
      | bad | ended |
    And `rondo warnings --json --run last` soon lists
      | bad | ended |
    When I run `rondo warnings --limit 1`
    Then stdout mentions "bad"
    And stdout does not mention "near"

  # ---- Tokens ----

  Scenario: A token is made, listed and revoked, and is nowhere in the store
    When I run `rondo token create ci --scope operate --agent fixer --agent tester --expires 30d --json`
    Then the exit code is 0
    And stdout is JSON with
      | name  | ci       |
      | scope | operate  |
      | token | *rondo_* |
    And the token that was printed is in no file
    When I run `rondo token create ci`
    Then the exit code is 2
    And stderr mentions "there is a token named ci already"
    When I run `rondo token list --json`
    Then stdout is JSON with
      | name      | ci                 |
      | scope     | operate            |
      | agents    | ["fixer","tester"] |
      | expires   | *Z*                |
      | last_used | null               |
    And stdout does not mention "rondo_"
    When I run `rondo token revoke ci --json`
    Then stdout is JSON with
      | name | ci |
    When I run `rondo token list`
    Then stdout does not mention "ci "
