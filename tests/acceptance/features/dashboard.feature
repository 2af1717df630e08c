@serve @dashboard
Feature: A human views the progress of agents' loops
  The dashboard of `rondo serve`, in a real browser: what it shows comes from the events, the
  checkpoints and the policies of runs, through the API, and is kept up as they happen.

  @A-US5-1 @A-FR-009
  Scenario: Dashboard queries Observability for current iteration
    Given an agent is executing with a policy limit of 10 iterations
    And a worker that waits for my word in each iteration
      """
      true
      """
    And a server
    When I start `rondo loop --agent shown -- ./worker.sh`
    And iterations 1 to 3 may end
    And the operator opens the dashboard
    Then the list shows the agent "shown" in iteration 4 at "40%"
    When the operator opens the run of "shown"
    Then the page shows iteration 4 of 10, which is "40%"
    And the page says that the limit of iterations is from the policy "limit.iterations"
    And the page has asked for "/v1/runs/$RUN"
    And the page has asked for "/v1/runs/$RUN/events"
    And no page had an error

  @A-US5-2 @A-FR-009
  Scenario: Dashboard displays exit condition status from traces
    Given a worker that waits for my word in each iteration
      """
      touch "made-$RONDO_ITERATION"
      """
    And a server
    When I start `rondo loop --agent judged --max-iterations 9 --until first='test -e made-1' --until second='test -e made-2' --until never=false -- ./worker.sh`
    And the operator opens the run of "judged"
    Then the page shows "0/3" exit conditions met
    When iteration 1 may end
    Then the page shows "1/3" exit conditions met
    And the page lists the exit conditions
      | first  | met     |
      | second | not_met |
      | never  | not_met |
    When iteration 2 may end
    Then the page shows "2/3" exit conditions met
    And the page lists the exit conditions
      | first  | met     |
      | second | met     |
      | never  | not_met |
    And no page had an error

  @A-US5-3 @A-FR-009 @A-FR-014
  Scenario: Dashboard shows recent activity from Observability traces
    Given a collector of traces
    And a worker that waits for my word in each iteration
      """
      true
      """
    And a server
    When I start `rondo loop --agent busy --max-iterations 5 -- ./worker.sh`
    And iterations 1 to 3 may end
    And the operator opens the run of "busy"
    Then the page shows iteration 4 of 5, which is "80%"
    And the page lists the last 12 actions in chronological order, each with its time
    When the worker may go on
    And it has ended
    Then the page shows the status "max_iterations"
    And the page lists the last 12 actions in chronological order, each with its time
    When the operator looks at the run's timeline
    Then each iteration on the page has the times of its span
    And no page had an error

  @A-US5-4 @A-FR-009 @A-SC-004
  Scenario: Dashboard updates in real time via Observability streaming
    Given a worker that waits for my word in each iteration
      """
      true
      """
    And a server
    When I start `rondo loop --agent swift --max-iterations 20 -- ./worker.sh`
    And the operator opens the run of "swift"
    Then the page shows iteration 1 of 20, which is "5%"
    When the operator watches the page
    And iteration 1 may end
    Then the page shows iteration 2 of 20, which is "10%"
    When iteration 2 may end
    Then the page shows iteration 3 of 20, which is "15%"
    When iteration 3 may end
    Then the page shows iteration 4 of 20, which is "20%"
    And the page showed the end of iterations 1 to 3 within 1 second of their commit
    And the page showed iterations 2 to 4 within 1 second of their commit
    And no page had an error

  @A-US5-4 @A-SC-004
  Scenario: The list of runs is kept up in real time, for runs of the server and of others
    Given a worker that waits for my word in each iteration
      """
      true
      """
    And a server
    When the operator opens the dashboard
    Then the page soon says "No runs yet"
    When I start `rondo loop --agent elsewhere --max-iterations 4 -- ./worker.sh`
    Then the list shows the agent "elsewhere" in iteration 1 at "25%"
    When I post to "/v1/runs"
      """
      {"command": ["./worker.sh"], "agent_id": "here", "max_iterations": 4}
      """
    Then the list shows the agent "here" in iteration 1 at "25%"
    When iteration 1 may end
    Then the list shows the agent "elsewhere" in iteration 2 at "50%"
    And the list shows the agent "here" in iteration 2 at "50%"
    When the worker may go on
    Then the list shows the agent "elsewhere" with the status "max_iterations"
    And the list shows the agent "here" with the status "max_iterations"
    And no page had an error

  @A-US5-5 @A-FR-009 @A-FR-006
  Scenario: Dashboard displays checkpoint history from Memory
    Given a worker
      """
      printf '{"done": %d, "queue": ["a", "b%d"]}' "$RONDO_ITERATION" "$RONDO_ITERATION" >"$RONDO_STATE_FILE"
      printf '{"custom_data": {"progress": "%d of many"}}' "$RONDO_ITERATION" >"$RONDO_RESULT_FILE"
      """
    When I run `rondo loop --agent saver --max-iterations 7 --checkpoint-interval 2 --until never=false -- ./worker.sh`
    And a server
    And the operator opens the run of "saver"
    And the operator looks at the run's checkpoints
    Then the page lists the checkpoints of iterations 7, 6, 4, 2
    When the operator selects checkpoint 3
    Then it was saved in iteration 6, with "never not met"
    And its full state is
      """
      {"done": 6, "queue": ["a", "b6"]}
      """
    And its custom data is
      """
      {"progress": "6 of many"}
      """
    And its digest is said to be "intact"
    When the operator selects checkpoint 1
    Then its full state is
      """
      {"done": 2, "queue": ["a", "b2"]}
      """
    And no page had an error

  @A-US5-5
  Scenario: A checkpoint that is saved while the operator looks is listed
    Given a worker that waits for my word in each iteration
      """
      printf '{"done": %d}' "$RONDO_ITERATION" >"$RONDO_STATE_FILE"
      """
    And a server
    When I start `rondo loop --agent saver --max-iterations 9 -- ./worker.sh`
    And iterations 1 to 2 may end
    And the operator opens the run of "saver"
    And the operator looks at the run's checkpoints
    And the run has begun iteration 3
    Then the page lists the checkpoints of iterations 2, 1
    When iteration 3 may end
    And the run has begun iteration 4
    Then the page lists the checkpoints of iterations 3, 2, 1
    And no page had an error

  # ---- Network interruptions ----

  @A-EDGE-8
  Scenario: The server is killed and starts again under the open page
    Given a worker that waits for my word in each iteration
      """
      true
      """
    And a server
    When I start `rondo loop --agent survivor --max-iterations 50 -- ./worker.sh`
    And iteration 1 may end
    And the operator opens the run of "survivor"
    Then the page shows iteration 2 of 50, which is "4%"
    When the operator looks at the run's timeline
    And I end the server with KILL
    Then the page says that it is not connected
    When iterations 2 to 6 may end
    And the journal has come to iteration 7
    And the server starts again
    Then the page is live again
    And the timeline has all events of the run, none missing and none doubled
    When iteration 7 may end
    And the run has begun iteration 8
    Then the timeline has all events of the run, none missing and none doubled
    When the operator looks at the run's overview
    Then the page shows iteration 8 of 50, which is "16%"

  @A-EDGE-8
  Scenario: The operator's network is cut and comes back
    Given a worker that waits for my word in each iteration
      """
      true
      """
    And a server
    And a network between the operator and the server
    When I start `rondo loop --agent distant --max-iterations 50 -- ./worker.sh`
    And iteration 1 may end
    And the operator opens the run of "distant"
    Then the page shows iteration 2 of 50, which is "4%"
    When the operator looks at the run's timeline
    And the network of the operator is cut
    Then the page says that it is not connected
    When iterations 2 to 6 may end
    And the run has begun iteration 7
    And the network of the operator is back
    Then the page is live again
    And the timeline has all events of the run, none missing and none doubled

  @A-EDGE-8
  Scenario: The list of runs catches up after the server was gone
    Given a worker that waits for my word in each iteration
      """
      true
      """
    And a server
    When I start `rondo loop --agent survivor --max-iterations 4 -- ./worker.sh`
    And the operator opens the dashboard
    Then the list shows the agent "survivor" in iteration 1 at "25%"
    When I end the server with KILL
    Then the page says that it is not connected
    When iterations 1 to 2 may end
    And the journal has come to iteration 3
    And I run `rondo loop --agent unseen --max-iterations 2 -- ./worker.sh`
    And the server starts again
    Then the list shows the agent "survivor" in iteration 3 at "75%"
    And the list shows the agent "unseen" with the status "max_iterations"

  # ---- Limits, seen and changed ----

  @A-US4-1 @A-FR-009
  Scenario: A run that the policies stopped says which rule it was
    Given an agent is executing with a policy limit of 3 iterations
    And a worker
      """
      true
      """
    And a server
    When I run `rondo loop --agent stopped --until never=false -- ./worker.sh`
    Then the exit code is 5
    When the operator opens the run of "stopped"
    Then the page shows iteration 3 of 3, which is "100%"
    And the page shows the status "max_iterations"
    And the page says of the end "Policy limit.iterations denied iteration 4"
    And no page had an error

  @A-US4-2 @A-FR-009
  Scenario: A run that met its conditions before the limit is shown as completed
    Given an agent is executing with a policy limit of 100 iterations
    And a worker
      """
      touch "made-$RONDO_ITERATION"
      """
    And a server
    When I run `rondo loop --agent early --until third='test -e made-3' -- ./worker.sh`
    Then the exit code is 0
    When the operator opens the run of "early"
    Then the page shows iteration 3 of 100, which is "3%"
    And the page shows the status "completed"
    And the page shows "1/1" exit conditions met
    And the page lists the exit conditions
      | third | met |
    And no page had an error

  @A-US4-3 @A-FR-010 @A-SC-008
  Scenario: Operators who look at the dashboard are warned there
    Given an agent is executing with a policy limit of 10 iterations
    And a worker that waits for my word in each iteration
      """
      true
      """
    And a server
    When I start `rondo loop --agent near -- ./worker.sh`
    And the operator opens the dashboard
    Then the list shows the agent "near" in iteration 1 at "10%"
    When iterations 1 to 7 may end
    Then a message on the page says "8 of 10"
    And the list shows the agent "near" in iteration 8 at "80%"
    When the operator opens the run of "near"
    Then the page lists under "Warnings" 1 entry, the last with "8 of 10"
    When the operator opens the page of warnings
    Then the page of warnings lists "Near a limit" with "8 of 10 · 2 left"
    And no page had an error

  @A-US4-4 @A-FR-011
  Scenario: An administrator extends the limit in the dashboard while the run executes
    Given an agent is executing with a policy limit of 4 iterations
    And a worker that waits for my word in each iteration
      """
      true
      """
    And a server
    When I start `rondo loop --agent extended -- ./worker.sh`
    And iterations 1 to 3 may end
    And the operator opens the run of "extended"
    Then the page shows iteration 4 of 4, which is "100%"
    When the operator opens the page of policies
    And the administrator writes 8 for 4 into the policies, and puts them in force
    And the worker may go on
    And it has ended
    Then its exit code is 5
    And iterations 1 to 8 finished once each
    When the operator opens the run of "extended"
    Then the page shows iteration 8 of 8, which is "100%"
    And the page lists under "Policy changes" 2 entries, the last with "local user"
    And no page had an error

  @A-FR-009
  Scenario: A watcher sees everything and can change nothing
    Given a worker that waits for my word in each iteration
      """
      true
      """
    And a server with `--require-token`
    When I start `rondo loop --agent watched --max-iterations 5 -- ./worker.sh`
    And iteration 1 may end
    And I run `rondo token create watcher --scope read`
    And the operator opens the dashboard with the token that was printed
    Then the list shows the agent "watched" in iteration 2 at "40%"
    When the operator opens the run of "watched"
    Then the page shows iteration 2 of 5, which is "40%"
    And the page has no button that can be pressed to change the run
    When the operator opens the page of policies
    Then the policies cannot be changed there
    And no page had an error

  # ---- What went wrong ----

  @A-EDGE-1 @A-EDGE-3 @A-EDGE-7 @A-FR-009
  Scenario: Errors, time-outs and damaged checkpoints are seen for what they are
    Given a worker
      """
      echo "state $RONDO_ITERATION" >"$RONDO_STATE_FILE"
      if [ "$RONDO_ITERATION" = 2 ]; then rm worker.sh; fi
      """
    When I run `rondo loop --agent unlucky --max-iterations 5 --verify-timeout 200ms --until 'slow=sleep 60' -- ./worker.sh`
    Then the exit code is 1
    When the newest checkpoint is damaged
    And a server
    And the operator opens the run of "unlucky"
    Then the page shows the status "error"
    And the page says of the end "worker.sh"
    And the page says that the condition "slow" is not met because it "timed out"
    When the operator looks at the run's checkpoints
    Then the page soon says "the checkpoint is damaged"
    When the operator selects checkpoint 1
    Then its digest is said to be "intact"
    And no page had an error

  # ---- Many runs, long runs ----

  @A-SC-009 @A-FR-009
  Scenario: Two thousand runs are listed
    Given a store with 2000 runs of 4 events
    And a server
    When the operator opens the dashboard
    Then the list has 2000 runs
    When the operator scrolls to the end of the list, which has 2000 runs
    Then the page keeps fewer than 100 rows
    And each question of the page was answered within 2 seconds
    And no page had an error

  @A-SC-009 @A-FR-009
  Scenario: A run of ten thousand events is read whole
    Given a store with 1 run of 10000 events
    And a server
    When the operator opens the run of "agent-00"
    Then the page lists the last 12 actions in chronological order, each with its time
    When the operator looks at the run's timeline
    Then the timeline has 10000 events
    And the page keeps fewer than 100 rows
    And each question of the page was answered within 2 seconds
    And no page had an error
