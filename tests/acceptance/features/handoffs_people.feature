Feature: Calls of Rondo's own agents before people with tokens

  # What handoffs.feature shows at a terminal, here with people of an inbox, policies that say how grave a call is, and
  # the sections of the founding document of handoffs that concern an agent's own side.

  Background:
    Given a command "note" in the project
      """
      echo "$*" >>notes
      """
    And a role with
      """
      tools: [{type: shell}]
      """

  # ---- 3 Triggers ----

  @C-3
  Scenario: What a role wants confirmed is a policy that is shown like any other
    When I run `rondo policy show`
    Then stdout mentions "@id(\"confirm.tool\")"
    And stdout mentions "resource.needs_confirmation"
    When I run `rondo policy explain --tool run_shell --needs-confirmation`
    Then the exit code is 6
    And stdout mentions "confirm.tool"
    And stdout mentions "this role requires confirmation"
    When I run `rondo policy explain --tool run_shell`
    Then the exit code is 0
    When I run `rondo validate role.yaml`
    Then stdout mentions "confirmed"
    And stdout mentions "policy `confirm.tool`"

  @C-3
  Scenario: An administrator's policy takes its place, and explains itself
    Given the policies
      """
      permit (principal, action, resource);
      @id("confirm.tool") @on_deny("ask") @severity("critical") @handoff("shell_command")
      @reason("commands need two persons")
      forbid (principal, action == Action::"call_tool", resource == Tool::"run_shell")
      unless { context.approved };
      """
    When I run `rondo policy explain --tool run_shell`
    Then the exit code is 6
    And stdout mentions "confirm.tool"
    And stdout mentions "commands need two persons"

  @C-3
  Scenario: A severity that is misspelt is refused, because it would need fewer persons
    Given the policies
      """
      permit (principal, action, resource);
      @id("pay") @on_deny("ask") @severity("Critical")
      forbid (principal, action == Action::"call_tool", resource) unless { context.approved };
      """
    When I run `rondo policy check`
    Then stdout mentions "low, medium, high or critical"
    When I run `rondo run role.yaml -p x -a`
    Then the exit code is 2

  @C-3 @C-4
  Scenario: All reasons that apply are told, the gravest first, and give risk and priority
    Given the policies
      """
      permit (principal, action, resource);
      @id("audit.note") @on_deny("ask") @severity("low") @handoff("notes_are_read")
      forbid (principal, action == Action::"call_tool", resource) unless { context.approved };
      @id("money") @on_deny("ask") @severity("critical") @handoff("large_payment") @reason("it pays")
      forbid (principal, action == Action::"call_tool", resource == Tool::"run_shell")
      unless { context.approved };
      """
    And a model that answers
      | calls                               |
      | run_shell {"command": "./note one"} |
      | finish_task {"summary": "done"}     |
    And a server
    When I post to "/v1/runs"
      """
      {"role_file": "role.yaml", "prompt": "The task"}
      """
    Then the run soon has the status "waiting"
    And Ann soon sees in the request that waits
      | risk_level                      | critical                                                 |
      | priority                        | critical                                                 |
      | tool                            | run_shell                                                |
      | approvals_required              | 2                                                        |
      | trigger_reason                  | large_payment                                            |
      | request.trigger.trigger_reasons | ["large_payment","explicit_agent_rule","notes_are_read"] |
      | request.trigger.policy_rule_ids | ["money","confirm.tool","audit.note"]                    |
      | request.trigger.policy_rule_id  | money                                                    |
      | request.event_type              | handoff.requested                                        |

  @C-3 @C-9
  Scenario: A policy that cannot be evaluated denies, and nobody is asked
    Given the policies
      """
      permit (principal, action, resource);
      @id("ask") @on_deny("ask") forbid (principal, action == Action::"call_tool", resource)
      unless { context.approved };
      @id("broken") forbid (principal, action == Action::"call_tool", resource)
      when { context.iteration + 9223372036854775807 + 1 > 0 };
      """
    And a model that answers
      | calls                               |
      | run_shell {"command": "./note one"} |
      | finish_task {"summary": "done"}     |
    When I run `rondo run role.yaml -p x -a`
    Then the exit code is 0
    And the file "notes" does not exist
    When I run `rondo inbox`
    Then stderr mentions "no call waits for a decision"

  # ---- 5, 6 Decisions ----

  @C-5 @C-6
  Scenario: What is critical needs two persons, whoever starts the run
    Given the policies
      """
      permit (principal, action, resource);
      @id("money") @on_deny("ask") @severity("critical") @reason("it pays")
      forbid (principal, action == Action::"call_tool", resource == Tool::"run_shell")
      unless { context.approved };
      """
    And a model that answers
      | calls                               |
      | run_shell {"command": "./note one"} |
      | finish_task {"summary": "done"}     |
    And a server
    When I post to "/v1/runs"
      """
      {"role_file": "role.yaml", "prompt": "The task"}
      """
    Then the run soon has the status "waiting"
    When Ann tries to approve what waits
    Then the answer mentions "Another person must approve it"
    And the file "notes" does not exist
    When Ann tries to approve what waits
    Then the answer mentions "second_person_required"
    When Ben approves what waits
    Then the run soon has the status "completed"
    And the file "notes" has the line "one"

  @C-5 @C-6
  Scenario: One rejection beats an approval of a critical call
    Given the policies
      """
      permit (principal, action, resource);
      @id("money") @on_deny("ask") @severity("critical")
      forbid (principal, action == Action::"call_tool", resource == Tool::"run_shell")
      unless { context.approved };
      """
    And a model that answers
      | calls                               |
      | run_shell {"command": "./note one"} |
      | finish_task {"summary": "done"}     |
    And a server
    When I post to "/v1/runs"
      """
      {"role_file": "role.yaml", "prompt": "The task"}
      """
    Then the run soon has the status "waiting"
    When Ann tries to approve what waits
    And Ben rejects what waits, saying "not this month"
    Then the run soon has the status "completed"
    And the file "notes" does not exist
    And the last message of request 2 mentions "not this month"

  @C-5 @C-6
  Scenario: A question reaches the agent, its answer the person, and the decision is about both
    Given a model that answers
      | calls                                          |
      | run_shell {"command": "./note one"}            |
      | answer_questions {"answers": "it was planned"} |
      | finish_task {"summary": "done"}                |
    And a server
    When I post to "/v1/runs"
      """
      {"role_file": "role.yaml", "prompt": "The task"}
      """
    Then the run soon has the status "waiting"
    When Ann asks "Why now?" about what waits
    Then Ann soon sees in the request that waits
      | revision        | 2              |
      | request.answers | it was planned |
    And the last message of request 2 mentions "Why now?"
    And the file "notes" does not exist
    When Ann approves what waits
    Then the run soon has the status "completed"
    And the file "notes" has the line "one"

  @C-6
  Scenario: Policies that become graver after an approval make it void
    Given the policies
      """
      permit (principal, action, resource);
      """
    And a model that answers
      | calls                               |
      | run_shell {"command": "./note one"} |
      | finish_task {"summary": "done"}     |
    When I run `rondo run role.yaml -p x -a`
    Then the exit code is 11
    When I approve the call that waits
    And the policies
      """
      permit (principal, action, resource);
      @id("money") @on_deny("ask") @severity("critical")
      forbid (principal, action == Action::"call_tool", resource == Tool::"run_shell")
      unless { context.approved };
      """
    And I run `rondo resume last`
    Then the exit code is 11
    And the file "notes" does not exist
    When I show the call that waits
    Then stdout mentions "money"

  # ---- 8 Reliability ----

  @C-8
  Scenario: A call that nobody decides expires, and the agent is told
    Given a model that answers
      | calls                               |
      | run_shell {"command": "./note one"} |
      | finish_task {"summary": "done"}     |
    When I run `mkdir -p "$STATE" && printf 'format: 1\npeople: {Ann: {roles: [first]}}\ndesks: {operators: {roles: [first]}}\nrules: {sla: {medium: 3s}}\n' >"$STATE/desks.yaml" && rondo desks check`
    Then the exit code is 0
    Given a server
    When I post to "/v1/runs"
      """
      {"role_file": "role.yaml", "prompt": "The task"}
      """
    Then the run soon has the status "completed"
    And the file "notes" does not exist
    And the last message of request 2 mentions "nobody decided about it in time"

  @C-8
  Scenario: The request of a run that was stopped is taken back, and a late decision is refused
    Given a model that answers
      | calls                               |
      | run_shell {"command": "./note one"} |
      | finish_task {"summary": "done"}     |
    And a server
    When I post to "/v1/runs"
      """
      {"role_file": "role.yaml", "prompt": "The task"}
      """
    Then the run soon has the status "waiting"
    When I run `rondo stop last`
    Then the run soon has the status "cancelled"
    And Ann sees 0 requests waiting
    And the file "notes" does not exist

  # ---- Workers ----

  @C-2
  Scenario: A coding agent that is a worker reaches the same inbox, for its run
    Given a server
    And a worker
      """
      event='{"session_id": "s", "cwd": "/work", "hook_event_name": "PreToolUse", "tool_name": "Bash",
        "tool_input": {"command": "make deploy"}}'
      printf '%s' "$event" | rondo hook --server "$RELAYTRACE_ENDPOINT" --wait 300s >answer
      grep -q '"permissionDecision":"allow"' answer && echo deployed >>notes
      """
    And the foreign agent "claude-code"
      """
      """
    When I start `RONDO_TOKEN=$RELAYTRACE_TOKEN rondo loop --max-iterations 1 -- ./worker.sh`
    Then Ann soon sees in the request that waits
      | agent_id                | claude-code                |
      | tool                    | Bash                       |
      | action.args             | {"command":"make deploy"}  |
    When Ann approves what waits
    And it has ended
    Then the file "notes" has the line "deployed"

  @C-2 @C-8
  Scenario: A worker that is killed while it waits finds the decision in its next attempt
    Given a server with `--orphans leave`
    And a worker
      """
      event="{\"session_id\": \"$RONDO_ATTEMPT\", \"cwd\": \"/work\", \"hook_event_name\": \"PreToolUse\",
        \"tool_name\": \"Bash\", \"tool_input\": {\"command\": \"make deploy\"}}"
      printf '%s' "$event" | rondo hook --server "$RELAYTRACE_ENDPOINT" --wait 300s >answer
      grep -q '"permissionDecision":"allow"' answer && echo deployed >>notes
      """
    And the foreign agent "claude-code"
      """
      """
    When I start `env RONDO_TOKEN=$RELAYTRACE_TOKEN rondo loop --max-iterations 1 -- ./worker.sh`
    Then Ann sees 1 request waiting
    When I kill it with KILL
    # Else it may still take the decision, and be killed with it.
    Then soon no process of "rondo hook" is left
    When Ann approves what waits
    And I run `RONDO_TOKEN=$RELAYTRACE_TOKEN rondo resume last`
    Then the file "notes" has the line "deployed"
    And Ann sees 0 requests waiting

  # ---- 10 Metrics ----

  @C-10
  Scenario: Requests of Rondo's own agents are counted by their reason and risk
    Given a model that answers
      | calls                               |
      | run_shell {"command": "./note one"} |
      | finish_task {"summary": "done"}     |
    And a server
    When I post to "/v1/runs"
      """
      {"role_file": "role.yaml", "prompt": "The task"}
      """
    Then the run soon has the status "waiting"
    When Ann approves what waits
    Then the run soon has the status "completed"
    And "/metrics" soon mentions "relaytrace_handoff_requests_total"
    And "/metrics" soon mentions "trigger_reason=\"explicit_agent_rule\""
    When I run `rondo audit verify`
    Then the exit code is 0
