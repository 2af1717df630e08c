Feature: Agents of others, people, and a server between them

  # The real server, the real Python client, people with tokens. The founding document of handoffs gives the rows.

  Background:
    Given a server
    And the foreign agent "sec-triage-01"
      """
      import json, sys
      import relaytrace as rt

      log = lambda *words: print(*words, flush=True)
      seen = lambda decision: log("decision", decision.status, decision.operator_role, decision.guidance)

      @rt.guarded(impact=3, risk_level=2, confidence=0.55, reversible=True,
                  summary="The host sends spam.")
      def isolate_host(host: str, hours: int = 24):
          log("isolated", host, hours)
          return {"host": host}

      @rt.relaytrace_supervised(
          agent_id="sec-triage-01", supervisors=["operators"], lane=lambda host, **_: host, run="run-1",
          on_decision=seen)
      def run_agent(host, **more):
          return isolate_host(host, **more)

      try:
          log("returned", run_agent("host-17"))
      except rt.HandoffRejected as no:
          log("rejected", no.reason_code, no.guidance)
      except rt.HandoffExpired:
          log("expired")
      except rt.HandoffNeedsInfo as question:
          log("questions", *question.questions)
          rt.answer(question.request_id, ["by the firewall"])
          log("returned", run_agent("host-17"))
      """

  # ---- 3 Triggers ----

  @C-3
  Scenario: Each trigger of the founding document asks a person, and all that apply are named
    Then of these actions the policies of the agent say
      | context                                                              | outcome | reasons                                             |
      | {}                                                                   | allow   |                                                     |
      | {"confidence": 0.5}                                                  | allow   |                                                     |
      | {"confidence": 0.5, "impact": 2}                                     | handoff | low_confidence_high_impact                          |
      | {"violation_score": 0.5}                                             | handoff | policy_violation_risk                               |
      | {"classification": {"label": "spam", "margin": 0.05}}                | handoff | ambiguous_classification                            |
      | {"reversible": false, "evidence_required": 2}                        | handoff | missing_evidence_irreversible                       |
      | {"human_required": true}                                             | handoff | explicit_agent_rule                                 |
      | {"human_required": true, "violation_score": 0.6}                     | handoff | policy_violation_risk, explicit_agent_rule          |
      | {"violation_score": 0.95}                                            | deny    |                                                     |

  @C-3
  Scenario: Other profiles are compared with those that count before they do
    Given a file "candidate.cedar" with
      """
      @id("all") permit (principal, action == RelayTrace::Action::"execute", resource);
      @id("never") forbid (principal, action == RelayTrace::Action::"execute", resource) when { context.impact >= 2 };
      """
    And of these actions the policies of the agent say
      | context                           | outcome | reasons                    |
      | {}                                | allow   |                            |
      | {"confidence": 0.5, "impact": 2}  | handoff | low_confidence_high_impact |
      | {"human_required": true}          | handoff | explicit_agent_rule        |
    Then soon `rondo policy what-if candidate.cedar` mentions "2 of 3 evaluations would have another outcome"
    And stdout mentions "handoff to allow: 1"
    And stdout mentions "handoff to deny: 1"
    And stdout mentions "isolate_host"

  # ---- 4, 5, 6 Request, decision, continuation ----

  @C-4
  Scenario: A person sees what the founding document's request has
    When the foreign agent starts
    Then Ann soon sees in the request that waits
      | agent_id                      | sec-triage-01                  |
      | tool                          | isolate_host                   |
      | action.args                   | {"host":"host-17","hours":24}  |
      | risk_level                    | high                           |
      | priority                      | high                           |
      | trigger_reason                | low_confidence_high_impact     |
      | request.event_type            | handoff.requested              |
      | request.workflow.run_id       | run-1                          |
      | request.routing.supervisors   | ["operators"]                  |
      | request.intent.summary        | The host sends spam.           |
      | request.intent.confidence     | 0.55                           |
      | request.checkpoint.mode       | external_ref                   |
      | request.trigger.policy_rule_id | ds.01.low-confidence-high-impact |

  @C-4
  Scenario: A terminal shows all that is approved, and marks what the agent says
    When the foreign agent starts
    Then Ann sees 1 request waiting
    When I show the call that waits
    Then stdout mentions "run           run-1"
    And stdout mentions "lane          host-17"
    And stdout mentions "why           low_confidence_high_impact"
    And stdout mentions "policy        ds.01.low-confidence-high-impact"
    And stdout mentions "agent says    The host sends spam."
    When I approve the call that waits
    Then stderr does not mention "rondo resume"
    And the foreign agent soon says "isolated host-17 24"

  @C-5 @C-6
  Scenario: What is approved is made once, with the approved arguments
    When the foreign agent starts
    Then Ann sees 1 request waiting
    And the foreign agent has not said "isolated"
    When Ann approves what waits
    Then the foreign agent soon says "decision approved"
    And the foreign agent soon says "isolated host-17 24"
    And the foreign agent ends
    And Ann sees 0 requests waiting

  @C-5 @C-6
  Scenario: A constraint narrows the arguments
    When the foreign agent starts
    And Ann approves what waits with the constraint
      """
      {"kind": "max", "pointer": "/hours", "value": 2}
      """
    Then the foreign agent soon says "isolated host-17 2"
    And the foreign agent ends

  @C-5 @C-6
  Scenario: A rejection ends the lane, with the person's words
    When the foreign agent starts
    And Ann rejects what waits, saying "it is the mail gateway"
    Then the foreign agent soon says "rejected rejected it is the mail gateway"
    And the foreign agent has not said "isolated"
    When the foreign agent starts
    Then the foreign agent soon says "rejected"
    And Ann sees 0 requests waiting

  @C-5 @C-6
  Scenario: A question is answered, and the decision is about the answers
    When the foreign agent starts
    And Ann asks "Who saw it?" about what waits
    Then the foreign agent soon says "questions Who saw it?"
    And Ann soon sees in the request that waits
      | request.answers | [{"answer":"by the firewall","question":"Who saw it?"}] |
    When Ann approves what waits
    Then the foreign agent soon says "isolated host-17 24"

  @C-6
  Scenario: A request that is passed on is still one request, and its agent waits
    When I run `printf 'format: 1\npeople: {Ann: {roles: [first]}, Ben: {roles: [second]}}\ndesks: {operators: {roles: [first]}, leads: {roles: [second]}}\n' >"$STATE/desks.yaml" && rondo desks check`
    Then the exit code is 0
    When the foreign agent starts
    And Ben tries to approve what waits
    Then the answer is 403
    And the answer mentions "you are not"
    When Ann passes what waits on to "leads"
    And Ben approves what waits
    Then the foreign agent soon says "isolated host-17 24"

  # ---- 6.1 Lanes ----

  @C-6.1
  Scenario: Of 100 events one waits, and 99 are done meanwhile
    Given a file "events.py" with
      """
      import concurrent.futures
      import relaytrace as rt

      @rt.guarded(impact=lambda args: 3 if args["event"] == 41 else 0, risk_level=0, confidence=0.5,
                  reversible=True)
      def handle(event):
          return event

      @rt.relaytrace_supervised(agent_id="sec-triage-01", lane=lambda event: f"event-{event}", run="run-2")
      def agent(event):
          return handle(event)

      with concurrent.futures.ThreadPoolExecutor(8) as pool:
          done = [pool.submit(agent, event) for event in range(100)]
          for number, future in enumerate(concurrent.futures.as_completed(done), 1):
              if number == 99:
                  open("ninety-nine", "w").write("done\n")
          print("flagged", done[41].result())
      """
    When I start `python3 events.py`
    Then the file "ninety-nine" soon has the line "done"
    And Ann sees 1 request waiting
    When Ann approves what waits
    And it has ended
    Then the exit code is 0
    And stdout mentions "flagged 41"

  # ---- 8 Reliability ----

  @C-8
  Scenario: A killed agent finds its request, and the decision that came meanwhile
    When the foreign agent starts
    Then Ann sees 1 request waiting
    When the foreign agent is killed
    And Ann approves what waits
    And the foreign agent starts
    Then the foreign agent soon says "isolated host-17 24"
    And Ann sees 0 requests waiting

  @C-8
  Scenario: A killed server forgets neither requests nor decisions
    When the foreign agent starts
    Then Ann sees 1 request waiting
    When I end the server with KILL
    And the server starts again
    And Ann approves what waits
    Then the foreign agent soon says "isolated host-17"
    And the foreign agent ends
    When I run `rondo audit verify`
    Then the exit code is 0

  @C-8
  Scenario: A request that nobody decides is escalated, and then it is as rejected
    When I run `printf 'format: 1\npeople: {Ann: {roles: [first]}, Ben: {roles: [second]}}\ndesks: {operators: {roles: [first], escalates_to: leads}, leads: {roles: [second]}}\nrules: {sla: {high: 12s}, notify_percent: 5, escalate_percent: 10}\n' >"$STATE/desks.yaml" && rondo desks check`
    Then the exit code is 0
    When the foreign agent starts
    Then Ann soon sees in the request that waits
      | state            | escalated |
      | escalation_level | 1         |
    And the foreign agent soon says "expired"
    And the foreign agent has not said "isolated"
    And Ann sees 0 requests waiting
    When I run `rondo audit export`
    Then stdout mentions "handoff.expired"
    And stdout mentions "system:time"

  @C-8
  Scenario: The next desk decides what was escalated
    When I run `printf 'format: 1\npeople: {Ann: {roles: [first]}, Ben: {roles: [second]}}\ndesks: {operators: {roles: [first], escalates_to: leads}, leads: {roles: [second]}}\nrules: {sla: {high: 80s}, notify_percent: 5, escalate_percent: 10}\n' >"$STATE/desks.yaml" && rondo desks check`
    Then the exit code is 0
    When the foreign agent starts
    And Ben tries to approve what waits
    Then the answer is 403
    And Ann soon sees in the request that waits
      | escalation_level | 1 |
    When Ben approves what waits
    Then the foreign agent soon says "isolated host-17 24"

  @C-8
  Scenario: A malformed request is a dead letter, and nobody is asked
    When I post to "/v1/hitl/requests" as the agent
      """
      {"event_type": "handoff.requested", "agent": {"agent_id": "sec-triage-01"}, "secret": "hunter2"}
      """
    Then the answer is 422
    And the answer mentions "dead letter"
    And the answer does not mention "hunter2"
    And Ann sees 0 requests waiting

  # ---- 9, 10 ----

  @C-9
  Scenario: No token can both ask and decide, and none asks for another agent
    When I post to "/v1/actions/evaluate" as the agent
      """
      {"agent_id": "other", "action": {"tool": "t", "args": {}}, "context": {}}
      """
    Then the answer is 403
    When the foreign agent starts
    Then Ann sees 1 request waiting
    When the agent tries to approve its own request
    Then the answer is 403
    And the foreign agent has not said "isolated"

  @C-10
  Scenario: Ratios count requests, decisions and evaluations
    When the foreign agent starts
    And Ann approves what waits
    Then the foreign agent ends
    And "/metrics" soon mentions "relaytrace_handoff_requests_total"
    And "/metrics" soon mentions "relaytrace_handoff_decisions_total"
