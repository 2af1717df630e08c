Feature: Policies change while loops run
  As a platform administrator
  I want to update Cedar policies during execution
  So that limits can be extended or tightened without stopping anybody

  # ---- Changes while runs execute, FR-011 ----

  @A-FR-011
  Scenario: A lowered limit stops the agent before its next iteration
    Given an agent is executing with a policy limit of 100 iterations
    And a worker that stops to wait in iteration 20
      """
      true
      """
    When I start `rondo loop -- ./worker.sh`
    And iteration 20 is being worked on
    And the administrator updates the Cedar policy to max_iterations: 5
    And the worker may go on
    And it has ended
    Then its exit code is 5
    And iterations 1 to 20 finished once each
    And the policy update is in the journal: from 100 to 5 iterations
    And the journal has an event "gate.denied" with
      | iteration | 21 |
      | limit     | 5  |
      | value     | 20 |

  @A-FR-011
  Scenario Outline: A bad update changes nothing and is said: <what>
    Given an agent is executing with a policy limit of 4 iterations
    And a worker that stops to wait in iteration 2
      """
      true
      """
    When I start `rondo loop -- ./worker.sh`
    And iteration 2 is being worked on
    And the administrator replaces the policies with
      """
      permit (principal, action, resource);
      <text>
      """
    And the worker may go on
    And it has ended
    Then its exit code is 5
    And iterations 1 to 4 finished once each
    And the journal has an event "policy.refused" with
      | message | *<message>* |
      | by      | *owner*     |
    And stderr mentions "<message>"
    And stderr mentions "the previous policies stay in force"
    And the journal has an event "gate.denied" with
      | limit  | 4                |
      | policy | limit.iterations |
    And the denial names the digest of the policies in force

    Examples:
      | what                 | text                                                                      | message                                               |
      | no Cedar             | forbid (principal, action, resource) when { 1 +  };                       | rondo.cedar:2:                                        |
      | an unknown attribute | forbid (principal, action, resource) when { context.iterations > 5 };     | did you mean                                          |
      | an unknown action    | forbid (principal, action == Action::"iterrate", resource);               | did you mean                                          |
      | the shorthand        | max_iterations: 200                                                       | rondo.cedar:2:1: `max_iterations: 200` is the shorthand |
      | an id used twice     | @id("a") permit (principal, action, resource); @id("a") permit (principal, action, resource); | rondo.cedar:2:                    |

  @A-FR-011
  Scenario: After a bad update a good one counts
    Given an agent is executing with a policy limit of 4 iterations
    And a worker that stops to wait in iteration 2
      """
      if [ "$RONDO_ITERATION" = 4 ]; then touch at-4; while [ ! -e go-4 ]; do sleep 0.02; done; fi
      """
    When I start `rondo loop -- ./worker.sh`
    And iteration 2 is being worked on
    And the administrator replaces the policies with
      """
      max_iterations: 6
      """
    And the worker may go on
    And iteration 4 is being worked on
    And the administrator updates the Cedar policy to max_iterations: 6
    And I run `touch go-4`
    And it has ended
    Then its exit code is 5
    And iterations 1 to 6 finished once each
    And the journal has an event "policy.refused"
    And the policy update is in the journal: from 4 to 6 iterations

  @A-FR-011
  Scenario: Removing the policy file lifts no limit
    Given an agent is executing with a policy limit of 4 iterations
    And a worker that stops to wait in iteration 2
      """
      true
      """
    When I start `rondo loop -- ./worker.sh`
    And iteration 2 is being worked on
    And the administrator removes the policy file
    And the worker may go on
    And it has ended
    Then its exit code is 5
    And iterations 1 to 4 finished once each
    And the journal has an event "policy.refused" with
      | message | *is gone* |

  @A-FR-011
  Scenario: A file that is edited in its place counts when it has come to rest
    Given an agent is executing with a policy limit of 1000000 iterations
    And a worker that stops to wait in iteration 2
      """
      true
      """
    When I start `rondo loop -q --delay 10ms -- ./worker.sh`
    And iteration 2 is being worked on
    And the administrator writes into the policy file, where it is, a limit of 3 iterations
    And the worker may go on
    And it has ended
    Then its exit code is 5
    And the policy update is in the journal: from 1000000 to 3 iterations

  @A-FR-011
  Scenario: A change of the entities is a change of the policies
    Given the policies
      """
      permit (principal, action, resource);
      @id("limit.own")
      forbid (principal, action == Action::"iterate", resource)
      unless { principal has max_iterations && context.iteration < principal.max_iterations };
      """
    And the entities
      """
      [{"uid": {"type": "Agent", "id": "fixer"}, "attrs": {"max_iterations": 3}, "parents": []}]
      """
    And a worker that stops to wait in iteration 2
      """
      true
      """
    When I start `rondo loop --agent fixer -- ./worker.sh`
    And iteration 2 is being worked on
    And the administrator replaces the entities with
      """
      [{"uid": {"type": "Agent", "id": "fixer"}, "attrs": {"max_iterations": 6}, "parents": []}]
      """
    And the worker may go on
    And it has ended
    Then its exit code is 5
    And iterations 1 to 6 finished once each
    And the policy update is in the journal: from 3 to 6 iterations

  @A-FR-011
  Scenario: Touching the policy file changes nothing
    Given an agent is executing with a policy limit of 4 iterations
    And a worker
      """
      touch "$STATE/rondo.cedar"
      """
    When I run `rondo loop -- ./worker.sh`
    Then the exit code is 5
    And the policies were recorded once

  @A-FR-011
  Scenario: All processes that use the store follow a change
    Given an agent is executing with a policy limit of 5 iterations
    And a worker
      """
      touch "at-$RONDO_AGENT_ID"
      while [ ! -e go ]; do sleep 0.02; done
      """
    When agents "ada", "bob" and "eve" work in processes of their own
    And the administrator updates the Cedar policy to max_iterations: 8
    And the worker may go on
    And all of them have ended
    Then each of them exits with code 5
    And each of them was told of the same change from 5 to 8 iterations
    And the run of agent "ada" has the status "max_iterations" after 8 iterations
    And the run of agent "bob" has the status "max_iterations" after 8 iterations
    And the run of agent "eve" has the status "max_iterations" after 8 iterations
    And the history of policies is "found", "edited", the oldest first

  @A-FR-011
  Scenario: The change of an administrator is recorded with a name, and the text before is kept
    Given an agent is executing with a policy limit of 4 iterations
    And a worker that stops to wait in iteration 3
      """
      true
      """
    And a file "new.cedar" with
      """
      permit (principal, action, resource);
      @id("limit.new")
      forbid (principal, action == Action::"iterate", resource) when { context.iteration >= 6 };
      """
    When I start `rondo loop -- ./worker.sh`
    And iteration 3 is being worked on
    And I run `rondo policy set new.cedar --by 'ada, ticket 4711'`
    Then the exit code is 0
    And stdout mentions "iteration limit 4 -> 6"
    When the worker may go on
    And it has ended
    Then its exit code is 5
    And iterations 1 to 6 finished once each
    And the policy update is in the journal: from 4 to 6 iterations
    And the change before iteration 4 is from digest to digest, by "ada, ticket 4711"
    And the journal has an event "gate.denied" with
      | policy | limit.new |
    And the history of policies is "found", "set", the oldest first
    When I show the policies that were in force before
    Then stdout mentions "context.iteration < 4"
    And stdout does not mention "limit.new"

  @A-FR-011
  Scenario: A text with an error is not set
    Given an agent is executing with a policy limit of 4 iterations
    And a copy of the policy file is kept
    And a worker that stops to wait in iteration 2
      """
      true
      """
    When I start `rondo loop -- ./worker.sh`
    And iteration 2 is being worked on
    And I run `echo 'max_iterations: 200' | rondo policy set -`
    Then the exit code is 1
    And stderr or stdout mentions "shorthand"
    And the policy file is as it was
    When the worker may go on
    And it has ended
    Then its exit code is 5
    And the policies were recorded once
    And the journal has no event "policy.refused"
    And the history of policies is "found", the oldest first

  Scenario: Why a run stands still is explained, and what would let it go on is tried before
    Given an agent is executing with a policy limit of 3 iterations
    And a file "cases.json" with
      """
      {"cases": [
        {"name": "three are not enough", "context": {"iteration": 3}, "expect": "allow"},
        {"name": "five are", "context": {"iteration": 5}, "expect": "deny", "policies": ["limit.iterations"]}
      ]}
      """
    When I run `rondo loop -q -- true`
    And I run `rondo policy explain --run last`
    Then the exit code is 6
    And stdout mentions "context.iteration < 3 is false: context.iteration is 3"
    When I run `rondo policy test cases.json`
    Then the exit code is 1
    And stdout mentions "not ok 1 - three are not enough"
    When the administrator updates the Cedar policy to max_iterations: 5
    And I run `rondo policy test cases.json`
    Then the exit code is 0
    When I run `rondo policy check --strict`
    Then the exit code is 0
    When I run `rondo policy explain --run last`
    Then the exit code is 0
    When I run `rondo resume -q last`
    Then iterations 1 to 5 finished once each

  @A-FR-011
  Scenario: A program follows a change of the policies
    Given the agent program "policy.c"
    And an agent is executing with a policy limit of 3 iterations
    When it is compiled against librondo
    And I start `./agent -w 2`
    And iteration 2 is being worked on
    And the administrator updates the Cedar policy to max_iterations: 6
    And the worker may go on
    And it has ended
    Then its output has the line "bodies 6"
    And its output has the line "violation policy=limit.iterations limit_name=iterations limit=6 value=6 iteration=7"
    And the policy update is in the journal: from 3 to 6 iterations

  # ---- Resuming ----

  @A-FR-011
  Scenario: A run that ended at its limit goes on when the policies allow more
    Given an agent is executing with a policy limit of 3 iterations
    When I run `rondo loop -- true`
    And the administrator updates the Cedar policy to max_iterations: 5
    And I run `rondo resume last`
    Then the exit code is 5
    And iterations 1 to 5 finished once each
    And the change before iteration 4 is from digest to digest, by "owner"

  Scenario: A run that was killed goes on under the policies of now
    Given an agent is executing with a policy limit of 9 iterations
    And a worker that stops to wait in iteration 4
      """
      true
      """
    When I start `rondo loop -- ./worker.sh`
    And iteration 4 is being worked on
    And I kill it with KILL
    And the administrator updates the Cedar policy to max_iterations: 5
    And the worker may go on
    And I run `rondo resume last`
    Then the exit code is 5
    And iterations 1 to 5 finished once each

  Scenario: A run is not resumed under policies that are wrong
    Given an agent is executing with a policy limit of 3 iterations
    When I run `rondo loop -- true`
    And the administrator replaces the policies with
      """
      permit (principal, action, resource
      """
    And I run `rondo resume last`
    Then the exit code is 2
    And stderr mentions "rondo.cedar:2:"
    And the last event is "run.finished" with status "max_iterations"
    When the administrator updates the Cedar policy to max_iterations: 4
    And I run `rondo resume last`
    Then the exit code is 5
    And iterations 1 to 4 finished once each

  Scenario: A run remembers which policies it was given
    Given the policies "strict.cedar"
      """
      permit (principal, action, resource);
      @id("limit.strict")
      forbid (principal, action == Action::"iterate", resource) when { context.iteration >= 2 };
      """
    And the policies "lax.cedar"
      """
      permit (principal, action, resource);
      @id("limit.lax")
      forbid (principal, action == Action::"iterate", resource) when { context.iteration >= 4 };
      """
    When I run `rondo loop --policy strict.cedar -- true`
    And I run `rondo resume last`
    Then the exit code is 5
    And iterations 1 to 2 finished once each
    When I run `rondo resume last --policy lax.cedar`
    Then the exit code is 5
    And iterations 1 to 4 finished once each
    And the journal has an event "gate.denied" with
      | policy | limit.lax |
