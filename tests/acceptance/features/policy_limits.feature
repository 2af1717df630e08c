Feature: Rondo's policies enforce iteration limits
  As a platform administrator
  I want Rondo's policies to enforce iteration limits
  So agents cannot run indefinitely

  # ---- User Story 4 ----

  @A-US4-1 @A-FR-002 @A-FR-008
  Scenario: Policy stops agent at iteration limit
    Given the agent program "policy.c"
    And Rondo's policies have the Cedar rule "max_iterations: 100"
    When it is compiled against librondo
    And the program runs with "-a fixer -u false"
    Then its output has the line "bodies 100"
    And the journal has no event "iteration.started" with
      | iteration | 101 |
    And its output has the line "turn RONDO_POLICY_VIOLATED"
    And its output has the line "status max_iterations"
    And its output has the line "violation policy=limit.iterations limit_name=iterations limit=100 value=100 iteration=101"
    And its output has the line "violation code=forbidden needs_approval=no"
    And its output has the line "violation reason: enough is enough"
    And the program names the digest of the policies in force
    And the journal has an event "gate.denied" with
      | iteration  | 101                  |
      | action     | iterate              |
      | status     | max_iterations       |
      | policy     | limit.iterations     |
      | policies   | ["limit.iterations"] |
      | limit_name | iterations           |
      | limit      | 100                  |
      | value      | 100                  |
      | reason     | forbidden            |
      | verdict    | deny                 |
      | decision   | deny                 |
      | message    | *enough is enough*   |
    And the denial names the digest of the policies in force

  @A-US1-2
  Scenario: Agent implements loop with custom iteration limit via policy
    Given the agent program "policy.c"
    And Rondo's policies have the Cedar rule "max_iterations: 50"
    When it is compiled against librondo
    And the program runs with ""
    Then its output has the line "bodies 50"
    And its output has the line "turn RONDO_POLICY_VIOLATED"
    And its output has the line "violation policy=limit.iterations limit_name=iterations limit=50 value=50 iteration=51"

  @A-US4-1 @A-FR-008
  Scenario: The command line says which policy stopped the agent, and has an exit code for it
    Given Rondo's policies have the Cedar rule "max_iterations: 100"
    And a worker
      """
      true
      """
    When I run `rondo loop -- ./worker.sh`
    Then the exit code is 5
    And iterations 1 to 100 finished once each
    And stderr mentions "iteration 101 denied by limit.iterations"
    And stderr mentions "the limit of 100 iterations is used up (100 so far); set by policy `limit.iterations`: enough is enough"
    And the last event is "run.finished" with status "max_iterations"

  @A-US4-2
  Scenario: Agent exits before limit when conditions met
    Given an agent is executing with a policy limit of 100 iterations
    And a worker
      """
      echo "$RONDO_ITERATION" >turn
      """
    When I run `rondo loop --until 'done=grep -qx 25 turn' -- ./worker.sh`
    Then the exit code is 0
    And iterations 1 to 25 finished once each
    And the journal has no event "gate.denied"
    And the journal has no event "limit.warning"
    And the last event is "run.finished" with status "completed"

  @A-US4-3 @A-FR-010
  Scenario: Operators are warned at 80 per cent of the limit
    Given an agent is executing with a policy limit of 100 iterations
    And a worker that stops to wait in iteration 80
      """
      true
      """
    When I start `rondo loop -- ./worker.sh`
    And iteration 80 is being worked on
    And I follow `rondo logs -f --json last`
    Then what I follow comes to an event "limit.warning" with iteration 80
    And the messages of the one that runs mention "near a limit: 80 of 100 iterations, 20 left"
    And the journal has an event "limit.warning" with
      | iteration  | 80                            |
      | value      | 80                            |
      | limit      | 100                           |
      | limit_name | iterations                    |
      | message    | 80 of 100 iterations, 20 left |
    When the worker may go on
    And it has ended
    Then its exit code is 5
    And there was exactly one warning, when iteration 80 of 100 began

  @A-US4-4 @A-FR-011
  Scenario: Administrator updates the policy limit during execution
    Given an agent is executing with a policy limit of 100 iterations
    And a worker that stops to wait in iteration 90
      """
      true
      """
    When I start `rondo loop -- ./worker.sh`
    And iteration 90 is being worked on
    And the administrator updates the Cedar policy to max_iterations: 200
    And the worker may go on
    And it has ended
    Then its exit code is 5
    And iterations 1 to 200 finished once each
    And the policy update is in the journal: from 100 to 200 iterations
    And the change before iteration 91 is from digest to digest, by "owner"
    And the journal has an event "iteration.started" with
      | iteration | 91  |
      | limit     | 200 |
    And the journal has an event "gate.denied" with
      | iteration | 201 |
      | limit     | 200 |
    And the warnings are 80 of 100 iterations, 160 of 200 iterations

  # ---- Limits per agent, FR-002 ----

  @A-FR-002
  Scenario Outline: Each agent has its own limit: <agent>
    Given the policies
      """
      permit (principal, action, resource);
      @id("limit.own")
      forbid (principal, action == Action::"iterate", resource)
      when { principal has max_iterations && context.iteration >= principal.max_iterations };
      @id("limit.group")
      forbid (principal in Group::"juniors", action == Action::"iterate", resource)
      when { context.iteration >= 3 };
      @id("limit.linked")
      forbid (principal == ?principal, action == Action::"iterate", resource)
      when { context.iteration >= 4 };
      @id("limit.all")
      forbid (principal, action == Action::"iterate", resource)
      when { context.iteration >= 7 };
      """
    And the entities
      """
      [{"uid": {"type": "Agent", "id": "own"}, "attrs": {"max_iterations": 5}, "parents": []},
       {"uid": {"type": "Agent", "id": "junior"}, "attrs": {"max_iterations": 6},
        "parents": [{"type": "Group", "id": "trainees"}]},
       {"uid": {"type": "Group", "id": "trainees"}, "attrs": {},
        "parents": [{"type": "Group", "id": "juniors"}]}]
      """
    And the template links
      """
      [{"templateId": "limit.linked", "newId": "limit.ada", "values": {"?principal": {"type": "Agent", "id": "ada"}}}]
      """
    When I run `rondo loop --agent <agent> -- true`
    Then the exit code is 5
    And the journal has an event "gate.denied" with
      | policy    | <policy> |
      | limit     | <limit>  |
      | value     | <limit>  |
    And iterations 1 to <limit> finished once each

    Examples:
      | agent  | policy      | limit |
      | own    | limit.own   | 5     |
      | junior | limit.group | 3     |
      | ada    | limit.ada   | 4     |
      | other  | limit.all   | 7     |

  @A-FR-002
  Scenario: A policy and an option limit together, and the lower one counts
    Given the policies
      """
      permit (principal, action, resource);
      @id("limit.all")
      forbid (principal, action == Action::"iterate", resource) when { context.iteration >= 4 };
      """
    When I run `rondo loop --max-iterations 2 -- true`
    Then the journal has an event "gate.denied" with
      | policy | limit.iterations |
      | limit  | 2                |
    And stderr mentions "raise it with --max-iterations"
    When I run `rondo loop --max-iterations 9 -- true`
    Then the journal has an event "gate.denied" with
      | policy | limit.all |
      | limit  | 4         |

  @A-FR-002
  Scenario: A policy with the id of a limit takes the place of the option
    Given an agent is executing with a policy limit of 4 iterations
    When I run `rondo loop --max-iterations 2 -- true`
    Then the exit code is 5
    And iterations 1 to 4 finished once each

  @A-FR-008
  Scenario Outline: Limits on other things end a run with their own status: <name>
    Given the policies
      """
      permit (principal, action, resource);
      @id("limit.own")
      forbid (principal, action == Action::"iterate", resource) when { <condition> };
      """
    And a worker
      """
      echo '{"usage": {"tokens": 60, "cost": 0.4}}' >"$RONDO_RESULT_FILE"
      """
    When I run `rondo loop --max-iterations 9 -- ./worker.sh`
    Then the exit code is <code>
    And the journal has an event "gate.denied" with
      | iteration  | 3         |
      | policy     | limit.own |
      | limit_name | <name>    |
      | limit      | <limit>   |
      | value      | <value>   |
    And the last event is "run.finished" with status "<status>"

    Examples:
      | name   | condition                                              | code | status           | limit  | value  |
      | tokens | context.tokens >= 100                                  | 7    | budget_exceeded  | 100    | 120    |
      | cost   | context.cost_usd.greaterThanOrEqual(decimal("0.70"))   | 7    | budget_exceeded  | 700000 | 800000 |

  Scenario: A policy that is no limit denies as a violation
    Given the policies
      """
      permit (principal, action, resource);
      @id("closed") @reason("nobody works after 2020")
      forbid (principal, action == Action::"iterate", resource)
      when { context.now > datetime("2020-12-31T23:59:59Z") };
      """
    When I run `rondo loop -- touch ran`
    Then the exit code is 6
    And stderr mentions "policy `closed` forbids `iterate`: nobody works after 2020"
    And the file "ran" does not exist
    And the journal has an event "gate.denied" with
      | iteration | 1                |
      | status    | policy_violation |
      | policy    | closed           |
      | reason    | forbidden        |

  Scenario: A denial names the value at which it came, also when the limit could only be estimated
    Given the policies
      """
      permit (principal, action, resource);
      @id("odd")
      forbid (principal, action == Action::"iterate", resource) when { context.iteration * 2 == 4 };
      """
    When I run `rondo loop --max-iterations 100 -- true`
    Then the exit code is 5
    And stderr mentions "the limit of 2 iterations is used up (2 so far); set by policy `odd`"

  # ---- Measurable outcomes and edge cases ----

  @A-SC-008 @A-FR-010
  Scenario Outline: The warning comes at 80 per cent, neither early nor late: <limit> iterations
    Given an agent is executing with a policy limit of <limit> iterations
    When I run `rondo loop -q -- true`
    Then the exit code is 5
    And there was exactly one warning, when iteration <at> of <limit> began

    Examples:
      | limit | at |
      | 1     | 1  |
      | 2     | 2  |
      | 3     | 3  |
      | 4     | 4  |
      | 5     | 4  |
      | 6     | 5  |
      | 9     | 8  |
      | 10    | 8  |
      | 11    | 9  |
      | 33    | 27 |
      | 125   | 100 |

  @A-SC-008
  Scenario: Every limit has its own warning, also when 80 per cent are jumped over
    Given the policies
      """
      permit (principal, action, resource);
      @id("limit.tokens")
      forbid (principal, action == Action::"iterate", resource) when { context.tokens >= 1000 };
      @id("limit.cost") @warn_at("50")
      forbid (principal, action == Action::"iterate", resource)
      when { context.cost_usd.greaterThanOrEqual(decimal("10.00")) };
      """
    And a worker
      """
      echo '{"usage": {"tokens": 450, "cost": 0.1}}' >"$RONDO_RESULT_FILE"
      if [ "$RONDO_ITERATION" = 2 ]; then echo '{"usage": {"tokens": 500, "cost": 8}}' >"$RONDO_RESULT_FILE"; fi
      """
    When I run `rondo loop --max-iterations 10 -- ./worker.sh`
    Then the exit code is 7
    And the warnings are 950 of 1000 tokens, 8100000 of 10000000 cost

  @A-SC-008
  Scenario: A limit of few seconds is warned of, too
    Given the policies
      """
      permit (principal, action, resource);
      @id("limit.time")
      forbid (principal, action == Action::"iterate", resource) when { context.elapsed_s >= 2 };
      """
    When I run `rondo loop -q --max-iterations 1000 -- sleep 0.1`
    Then the exit code is 8
    And the journal has an event "limit.warning" with
      | limit_name | time       |
      | limit      | 2000000000 |

  @A-SC-008
  Scenario: A lowered limit that is near already is warned of at once
    Given an agent is executing with a policy limit of 100 iterations
    And a worker that stops to wait in iteration 20
      """
      true
      """
    When I start `rondo loop -q -- ./worker.sh`
    And iteration 20 is being worked on
    And the administrator updates the Cedar policy to max_iterations: 22
    And the worker may go on
    And it has ended
    Then its exit code is 5
    And the warnings are 21 of 22 iterations

  @A-SC-008
  Scenario: A resume does not warn of the same limit again
    Given an agent is executing with a policy limit of 5 iterations
    And a worker that stops to wait in iteration 4
      """
      true
      """
    When I start `rondo loop -q -- ./worker.sh`
    And iteration 4 is being worked on
    And I kill it with KILL
    And the worker may go on
    And I run `rondo resume last`
    Then the exit code is 5
    And the warnings are 4 of 5 iterations

  @A-SC-005
  Scenario: Of many sessions each terminates: by its conditions, a policy limit, or an error
    Given the policies
      """
      permit (principal, action, resource);
      @id("limit.all")
      forbid (principal, action == Action::"iterate", resource) when { context.iteration >= 6 };
      @id("limit.tokens")
      forbid (principal, action == Action::"iterate", resource) when { context.tokens >= 100 };
      @id("closed")
      forbid (principal, action == Action::"iterate", resource)
      when { resource has max_tokens && resource.max_tokens == 77 };
      @id("no.finish")
      forbid (principal, action == Action::"finish", resource)
      when { resource has max_tokens && resource.max_tokens == 78 };
      @id("fails")
      forbid (principal, action == Action::"iterate", resource)
      when { resource has max_tokens && resource.max_tokens == 79 && principal.max_tokens > 1 };
      """
    And a file "tokens.sh" with
      """
      echo '{"usage": {"tokens": 60}}' >"$RONDO_RESULT_FILE"
      """
    And a file "done.sh" with
      """
      echo '{"finish": {"status": "completed"}}' >"$RONDO_RESULT_FILE"
      """
    When these run at the same time, 4 times each, and end with
      | status           | code | options                                  |
      | completed        | 0    | --until ok=true -- true                  |
      | completed        | 0    | -- sh done.sh                            |
      | max_iterations   | 5    | --until never=false -- true              |
      | max_iterations   | 5    | --max-iterations 2 -- true               |
      | max_iterations   | 5    | --max-tokens 78 --until ok=true -- true  |
      | budget_exceeded  | 7    | -- sh tokens.sh                          |
      | policy_violation | 6    | --max-tokens 77 -- true                  |
      | policy_violation | 6    | --max-tokens 79 -- true                  |
      | failed           | 3    | -- false                                 |
      | error            | 1    | -- ./no-such-worker                      |
    Then all 40 sessions have ended as they should

  @A-EDGE-4
  Scenario: Many agents reach their limits simultaneously, each is stopped at its own
    Given the policies
      """
      permit (principal, action, resource);
      @id("limit.own")
      forbid (principal, action == Action::"iterate", resource)
      unless { principal has max_iterations && context.iteration < principal.max_iterations };
      """
    And entities for 16 agents, where agent N may take N iterations
    And a worker
      """
      if [ "$RONDO_AGENT_ID" = "agent-$RONDO_ITERATION" ]; then
        touch "last-$RONDO_AGENT_ID"
        while [ "$(ls -d last-* | wc -l)" -lt 16 ]; do sleep 0.02; done
      fi
      """
    When 16 agents run at the same time
    Then each of them exits with code 5
    And each of the 16 agents was stopped at its own limit by "limit.own"
