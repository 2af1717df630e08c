Feature: What policies decide, and what is heard of it
  Every step of a run is put before the policies. What they deny is not done, and
  the journal, the command line and the program say which policy it was and why.

  # ---- Where policies come from ----

  Scenario: A folder of policies
    Given the policies "rules/10-base.cedar"
      """
      permit (principal, action, resource);
      """
    And the policies "rules/20-limits.cedar"
      """
      @id("limit.own")
      forbid (principal, action == Action::"iterate", resource)
      when { principal has max_iterations && context.iteration >= principal.max_iterations };
      """
    And the entities "rules/entities.json"
      """
      [{"uid": {"type": "Agent", "id": "fixer"}, "attrs": {"max_iterations": 3}, "parents": []}]
      """
    When I run `rondo loop --policy rules --agent fixer -- true`
    Then the exit code is 5
    And the journal has an event "gate.denied" with
      | policy | limit.own |
      | limit  | 3         |

  Scenario: A program names policies for its store, and others for one loop
    Given the agent program "policy.c"
    And the policies "store.cedar"
      """
      permit (principal, action, resource);
      @id("limit.store")
      forbid (principal, action == Action::"iterate", resource) when { context.iteration >= 2 };
      """
    And the policies "loop.cedar"
      """
      permit (principal, action, resource);
      @id("limit.loop")
      forbid (principal, action == Action::"iterate", resource) when { context.iteration >= 3 };
      """
    When it is compiled against librondo
    And the program runs with "-s store.cedar"
    Then its output has the line "violation policy=limit.store limit_name=iterations limit=2 value=2 iteration=3"
    When the program runs with "-s store.cedar -p loop.cedar"
    Then its output has the line "violation policy=limit.loop limit_name=iterations limit=3 value=3 iteration=4"

  Scenario Outline: A run does not begin under policies that are wrong: <what>
    Given the policies "own.cedar"
      """
      <text>
      """
    When I run `rondo loop --policy own.cedar -- touch ran`
    Then the exit code is 2
    And stderr mentions "own.cedar:1:"
    And stderr mentions "<message>"
    And the file "ran" does not exist
    When I run `rondo runs --json`
    Then stdout lists 0 runs

    Examples:
      | what                 | text                                                                      | message                              |
      | the shorthand        | max_iterations: 100                                                       | unless { context.iteration < 100 };  |
      | an unknown attribute | permit (principal, action, resource) when { context.iterations < 100 };   | did you mean `iteration`             |
      | a wrong type         | permit (principal, action, resource) when { context.cost_usd < 5 };       | decimal                              |

  Scenario: One policy for Rondo and for an AgentCore gateway
    Given the policies
      """
      permit (principal, action, resource);
      @id("limit.gateway")
      forbid (principal, action in AgentCore::Action::"loop___iterate", resource)
      when { context.input has iteration && context.input.iteration >= 3 };
      """
    When I run `rondo loop -- true`
    Then the exit code is 5
    And the journal has an event "gate.denied" with
      | policy     | limit.gateway |
      | limit_name | iterations    |
      | limit      | 3             |

  # ---- Steps inside a run ----

  Scenario: A finish that is denied lets the run go on
    Given the policies
      """
      permit (principal, action, resource);
      @id("not.yet") @reason("three at least")
      forbid (principal, action == Action::"finish", resource) when { context.iteration < 3 };
      """
    When I run `rondo loop --until ok=true -- true`
    Then the exit code is 0
    And iterations 1 to 3 finished once each
    And stderr mentions "finish denied: policy `not.yet` forbids `finish`: three at least"
    And the journal has an event "step.denied" with
      | iteration | 2         |
      | action    | finish    |
      | policy    | not.yet   |
      | reason    | forbidden |
      | verdict   | deny      |
      | decision  | deny      |
    And the last event is "run.finished" with status "completed"

  Scenario: The word of a worker does not get past a denied finish
    Given the policies
      """
      permit (principal, action, resource);
      @id("never") forbid (principal, action == Action::"finish", resource);
      """
    And a worker
      """
      echo '{"finish": {"status": "completed"}}' >"$RONDO_RESULT_FILE"
      """
    When I run `rondo loop --max-iterations 2 -- ./worker.sh`
    Then the exit code is 5
    And iterations 1 to 2 finished once each
    And the journal has an event "step.denied" with
      | action | finish |

  Scenario: A worker may give up whatever the policies say about finishing
    Given the policies
      """
      permit (principal, action, resource);
      @id("never") forbid (principal, action == Action::"finish", resource);
      """
    And a worker
      """
      echo '{"finish": {"status": "blocked", "summary": "no key"}}' >"$RONDO_RESULT_FILE"
      """
    When I run `rondo loop -- ./worker.sh`
    Then the exit code is 4
    And the journal has no event "step.denied"

  Scenario: A condition whose verifier may not run is not met
    Given the policies
      """
      permit (principal, action, resource);
      @id("no.deploy") @reason("nobody deploys from here")
      forbid (principal, action == Action::"verify", resource) when { context.condition == "deployed" };
      """
    When I run `rondo loop --max-iterations 1 --until 'deployed=touch ran' --until ok=true -- true`
    Then the exit code is 5
    And the file "ran" does not exist
    And condition "deployed" ended as "not_met" with reason "denied"
    And condition "ok" ended as "met" with reason "passed"
    And the journal has an event "step.denied" with
      | action  | verify                     |
      | name    | deployed                   |
      | policy  | no.deploy                  |
      | message | *nobody deploys from here* |
    And stderr mentions "nobody deploys from here"

  Scenario: A program is told that its checkpoint and its evaluation were denied
    Given the agent program "policy.c"
    And the policies
      """
      permit (principal, action, resource);
      @id("no.save") @reason("states are secret")
      forbid (principal, action == Action::"checkpoint", resource);
      @id("no.verify") forbid (principal, action == Action::"verify", resource);
      @id("limit.own")
      forbid (principal, action == Action::"iterate", resource) when { context.iteration >= 1 };
      """
    When it is compiled against librondo
    And the program runs with "-c -u true -e"
    Then its output has the line "checkpoint RONDO_ERR_DENIED"
    And its output has the line "checkpoint message: no checkpoint was saved: policy `no.save` forbids `checkpoint`: states are secret"
    And its output has the line "evaluated not_met denied"
    And the journal has an event "step.denied" with
      | action    | checkpoint |
      | iteration | 1          |
      | policy    | no.save    |
    And the journal has an event "checkpoint.saved" with
      | how | interval |
    And its output has the line "violation policy=limit.own limit_name=iterations limit=1 value=1 iteration=2"

  # ---- Denials that are no plain "forbidden" ----

  Scenario: What needs approval is denied and says so
    Given the agent program "policy.c"
    And the policies
      """
      permit (principal, action, resource);
      @id("ask.third") @on_deny("ask") @reason("the third costs money")
      forbid (principal, action == Action::"iterate", resource)
      when { context.iteration >= 2 } unless { context.approved };
      """
    When I run `rondo loop -- true`
    Then the exit code is 6
    And stderr mentions "policy `ask.third` requires a person's approval of `iterate`: the third costs money"
    And the journal has an event "gate.denied" with
      | iteration | 3                |
      | status    | policy_violation |
      | reason    | approval_needed  |
      | verdict   | ask              |
      | decision  | deny             |
    When it is compiled against librondo
    And the program runs with ""
    Then its output has the line "violation code=approval_needed needs_approval=yes"

  Scenario: A hard limit weighs more than the wish for approval
    Given the policies
      """
      permit (principal, action, resource);
      @id("ask") @on_deny("ask")
      forbid (principal, action == Action::"iterate", resource) when { context.iteration >= 2 };
      @id("hard")
      forbid (principal, action == Action::"iterate", resource) when { context.iteration >= 2 };
      """
    When I run `rondo loop -- true`
    Then the exit code is 5
    And the journal has an event "gate.denied" with
      | verdict  | deny           |
      | policies | ["ask","hard"] |

  Scenario: A forbid that cannot be evaluated denies
    Given the policies
      """
      permit (principal, action, resource);
      @id("limit.own")
      forbid (principal, action == Action::"iterate", resource)
      unless { context.iteration < principal.max_iterations };
      """
    And the entities
      """
      [{"uid": {"type": "Agent", "id": "known"}, "attrs": {"max_iterations": 2}, "parents": []}]
      """
    When I run `rondo loop --agent known -- true`
    Then the exit code is 5
    When I run `rondo loop --agent unknown -- true`
    Then the exit code is 6
    And stderr mentions "policy `limit.own` could not be evaluated, which counts as a denial"
    And stderr mentions "max_iterations"
    And the journal has an event "gate.denied" with
      | iteration | 1                |
      | status    | policy_violation |
      | policy    | limit.own        |
      | reason    | policy_error     |
      | verdict   | deny             |
      | decision  | allow            |
      | errors    | *no_attribute*   |

  Scenario: What no policy permits is denied
    Given the agent program "policy.c"
    And the policies
      """
      @id("verify.only") permit (principal, action == Action::"verify", resource);
      """
    When I run `rondo loop -- touch ran`
    Then the exit code is 6
    And the file "ran" does not exist
    And stderr mentions "no policy permits `iterate`"
    And the journal has an event "gate.denied" with
      | policy   |               |
      | policies | []            |
      | reason   | not_permitted |
    When it is compiled against librondo
    And the program runs with ""
    Then its output has the line "bodies 0"
    And its output has the line "violation code=not_permitted needs_approval=no"

  Scenario: A permit with a condition is a limit, too
    Given the policies
      """
      @id("some") permit (principal, action == Action::"iterate", resource) when { context.iteration < 3 };
      """
    When I run `rondo loop -- true`
    Then the exit code is 5
    And the journal has an event "gate.denied" with
      | policy     | some          |
      | reason     | not_permitted |
      | limit_name | iterations    |
      | limit      | 3             |

  # ---- The rules and those who are judged by them ----

  Scenario Outline: A sandboxed command neither reads nor changes the rules: <command>
    Given a workspace that is in no temporary folder
    And an agent is executing with a policy limit of 2 iterations
    And the policies "own.cedar"
      """
      permit (principal, action, resource);
      @id("limit.own")
      forbid (principal, action == Action::"iterate", resource) when { context.iteration >= 2 };
      """
    And a copy of the policy file is kept
    When I run `rondo loop <options> --until 'change=<command>' -- true`
    Then the exit code is 5
    And condition "change" ended as "not_met" with reason "failed"
    And the policy file is as it was
    And iterations 1 to 2 finished once each
    And the journal has no event "policy.refused"

    Examples:
      | options            | command                                                                                     |
      |                    | grep -q permit "$STATE/rondo.cedar"                                                         |
      |                    | echo "permit (principal, action, resource);" >"$STATE/rondo.cedar"; false                   |
      | --policy own.cedar | grep -q permit own.cedar                                                                    |
      | --policy own.cedar | echo "permit (principal, action, resource);" >own.new && mv own.new own.cedar; false        |
