Feature: What agents of others may ask, and who may answer

  # The desk file, tokens and signatures, with the real server. The foreign agent says nothing here: it posts.

  Background:
    Given a server
    And the foreign agent "sec-triage-01"
      """
      """

  # ---- 6.1 Lanes ----

  @C-6.1
  Scenario: The desk file says where a request goes, and that there is no room for more
    When I run `printf 'format: 1\npeople: {Ann: {roles: [first]}, Ben: {roles: [night]}}\ndesks: {operators: {roles: [first]}, night: {roles: [night]}}\nrouting: [{id: r, agent: "sec-*", desk: night}]\nlanes: {per_lane: 1, on_full: reject_new}\n' >"$STATE/desks.yaml" && rondo desks check`
    Then the exit code is 0
    When the agent asks to isolate "host-1"
    Then the answer is 201
    When the agent asks to isolate "host-2"
    Then the answer is 409
    And the answer mentions "queue_full"
    And Ben soon sees in the request that waits
      | desk        | night                |
      | action.args | {"host":"host-1"}    |
    When Ann tries to approve what waits
    Then the answer is 403
    When Ben approves what waits
    And the agent asks to isolate "host-2"
    Then the answer is 201

  @C-6.1
  Scenario: The oldest request of low priority makes room
    When I run `printf 'format: 1\npeople: {Ann: {roles: [first]}}\ndesks: {operators: {roles: [first]}}\nlanes: {per_lane: 1, on_full: shed_oldest_low}\n' >"$STATE/desks.yaml" && rondo desks check`
    Then the exit code is 0
    When the agent asks to isolate "host-1", at low risk
    And the agent asks to isolate "host-2"
    Then the answer is 201
    And Ann soon sees in the request that waits
      | action.args | {"host":"host-2"} |
    When I run `rondo audit export`
    Then stdout mentions "system:lanes"
    When the agent asks to isolate "host-3"
    Then the answer is 429

  @C-6.1
  Scenario: The same action is asked about once in a lane
    When the agent asks to isolate "host-1"
    Then the answer is 201
    When the agent asks to isolate "host-1" for the second time
    Then the answer is 200
    And Ann sees 1 request waiting

  @C-8
  Scenario: What nobody decides in time goes once to the next desk
    When I run `printf 'format: 1\npeople: {Ann: {roles: [first]}, Ben: {roles: [night]}}\ndesks: {operators: {roles: [first]}, night: {roles: [night]}}\nrules: {sla: {medium: 10s}}\nlanes: {on_timeout: {reroute: night}}\n' >"$STATE/desks.yaml" && rondo desks check`
    Then the exit code is 0
    When the agent asks to isolate "host-1"
    Then Ben soon sees in the request that waits
      | desk  | night  |
      | state | routed |
    When Ben approves what waits
    Then Ben sees 0 requests waiting

  # ---- 9 Who may answer ----

  @C-9
  Scenario: Nobody approves what an agent of theirs asks for, by whichever token
    When I run `rondo token create second --scope agent --agent sec-triage-01 --person Ann`
    And the agent asks to isolate "host-1"
    And Ann tries to approve what waits
    Then the answer is 403
    And the answer mentions "self_approval"
    When Ben approves what waits
    Then Ben sees 0 requests waiting

  @C-9
  Scenario: An agent gets no token that decides
    When I run `rondo token create phone --scope decide --person sec-triage-01`
    Then the exit code is 2
    And stderr mentions "choose another name"

  @C-9
  Scenario: A token that signs is nothing without its secret
    Given the foreign agent signs
    When the agent asks to isolate "host-1"
    Then the answer is 401
    And the answer mentions "signature_missing"
    And Ann sees 0 requests waiting
    When the agent asks to isolate "host-1", signed
    Then the answer is 201
    And the answer is signed
    When the same bytes are sent again
    Then the answer is 401
    And the answer mentions "signature_replayed"
    When I run `rondo token rotate signing`
    And the agent asks to isolate "host-2", signed
    Then the answer is 201
    And "/metrics" soon mentions "relaytrace_verify_failures_total"

  # ---- The record ----

  @C-8
  Scenario: A receipt that is sent twice is one entry
    When I post to "/v1/audit/receipts" as the agent
      """
      {"agent_id": "sec-triage-01", "kind": "executed", "receipt_id": "r-1"}
      """
    Then the answer is 201
    When I post to "/v1/audit/receipts" as the agent
      """
      {"agent_id": "sec-triage-01", "kind": "executed", "receipt_id": "r-1"}
      """
    Then the answer is 200

  @C-8
  Scenario: Old decisions are deleted, and the chain proves them still
    When the agent asks to isolate "host-1"
    And Ann rejects what waits, saying "no"
    And I run `rondo gc --older-than 0s`
    Then stdout mentions "deleted 1 request to people"
    When I run `rondo audit verify`
    Then the exit code is 0
    When I run `rondo audit export`
    Then stdout mentions "handoff.rejected"

  @C-8
  Scenario: People are warned of a wrong desk file
    When I run `printf 'format: 1\ndesks: {a: {escalates_to: b}}\n' >"$STATE/desks.yaml"`
    Then "/v1/warnings" soon mentions "there is no desk"
