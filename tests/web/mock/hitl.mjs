// SPDX-License-Identifier: Apache-2.0
// Statistics of requests to people, and the audit chain, as the mocked server has them.

const share = (part, whole, low = 0, high = 1) => ({
  value: whole ? part / whole : null,
  part,
  whole,
  low,
  high,
  is_enough: whole >= 20,
});

const NO_DATA = share(0, 0);

export function hitl(now = Date.now()) {
  return {
    from: new Date(now - 7 * 86_400_000).toISOString(),
    to: new Date(now).toISOString(),
    is_complete: true,
    requests: 214,
    evaluations: {
      count: 5120,
      is_complete: true,
      per_day: 731,
      allow: 4870,
      handoff: 214,
      deny: 36,
      hitl_ratio: share(214, 2480, 0.075, 0.098),
    },
    decisions: {
      approved: share(148, 205, 0.66, 0.78),
      rejected: share(31, 205, 0.11, 0.21),
      rerouted: share(9, 205, 0.02, 0.08),
      needs_info: share(17, 205, 0.05, 0.13),
    },
    outcomes: {
      approved: share(148, 193, 0.7, 0.82),
      rejected: share(31, 193, 0.11, 0.22),
      expired: share(8, 193, 0.02, 0.08),
      cancelled: share(5, 193, 0.01, 0.06),
      superseded: share(1, 193, 0, 0.03),
      dead_lettered: share(0, 193, 0, 0.02),
    },
    decision_latency: { count: 193, p50_s: 412, p95_s: 9860 },
    escalation_rate: share(12, 214, 0.03, 0.1),
    rework_rate: share(14, 17, 0.59, 0.94),
    rework_success: share(11, 14, 0.52, 0.92),
    triggers: [
      {
        trigger_reason: "low_confidence_high_impact",
        requests: 96,
        expired: 3,
        false_positive: share(22, 88, 0.17, 0.35),
        over_trigger: share(9, 66, 0.07, 0.24),
      },
      {
        trigger_reason: "missing_evidence_irreversible",
        requests: 11,
        expired: 0,
        false_positive: share(4, 10, 0.17, 0.69),
        over_trigger: share(0, 6, 0, 0.39),
      },
    ],
    rules: [
      {
        policy_rule_id: "ds.01.low-confidence-high-impact",
        policy_hash: `sha256:${"3f2a90c1".repeat(8)}`,
        share: share(96, 107, 0.82, 0.94),
      },
      {
        policy_rule_id: "ds.04.irreversible-evidence-gap",
        policy_hash: `sha256:${"3f2a90c1".repeat(8)}`,
        share: share(11, 107, 0.06, 0.18),
      },
    ],
    confidence: [0, 1, 2, 3, 4].map((i) => ({
      from: i / 5,
      to: (i + 1) / 5,
      approved: i ? share(10 * i + 4, 12 * i + 10, 0.3 + i / 10, 0.6 + i / 12) : NO_DATA,
    })),
    waiting: [
      { desk: "operators", state: "routed", count: 6, stale: 2, oldest_age_s: 5400 },
      { desk: "leads", state: "escalated", count: 1, stale: 1, oldest_age_s: 88_000 },
    ],
  };
}

export function letters(now = Date.now()) {
  const at = (ms) => new Date(now - ms).toISOString();
  return [
    {
      id: "intake-5f",
      queue: "intake",
      caller: "triage",
      code: "invalid_request",
      reason: "intent.risk_level must be low, medium, high or critical",
      count: 12,
      first_at: at(86_400_000),
      last_at: at(60_000),
      can_replay: false,
    },
    {
      id: "delivery-sec-triage-01~9",
      queue: "delivery",
      agent_id: "sec-triage-01",
      request_id: "r",
      code: "handoff.approved",
      reason: "checkpoint not found",
      count: 5,
      last_at: at(600_000),
      can_replay: true,
    },
  ];
}

function whatIf() {
  return {
    evaluations: 5120,
    with_approval: 180,
    from: "2026-01-01T00:00:00.000Z",
    to: "2026-01-08T00:00:00.000Z",
    policy_hash: "sha256:a",
    candidate_hash: "sha256:b",
    changed: 73,
    changes: [
      { from: "allow", to: "handoff", count: 61 },
      { from: "handoff", to: "deny", count: 12 },
    ],
    rules: [
      { policy_rule_id: "ds.01.low-confidence-high-impact", before: 96, after: 157 },
      { policy_rule_id: "none", before: 4870, after: 4809 },
      { policy_rule_id: "ds.06.risk-floor", before: 11, after: 11 },
    ],
    samples: [
      {
        at: new Date(Date.now() - 3_600_000).toISOString(),
        agent_id: "sec-triage-01",
        tool: "isolate_host",
        action_digest: "sha256:c",
        from: "allow",
        to: "handoff",
        rule_before: null,
        rule_after: "ds.01.low-confidence-high-impact",
      },
    ],
  };
}

export const HITL_ROUTES = {
  "GET metrics/hitl": ["read", ({ world }) => world.hitl],
  "GET dlq": ["read", ({ world }) => ({ letters: world.letters })],
  "POST dlq/:id/replay": [
    "administer",
    ({ world }, { path }) => {
      world.calls.push({ replay: path[1] });
      world.letters = world.letters.filter(({ id }) => id !== path[1]);
      return { is_done: true };
    },
  ],
  "POST dlq/:id/discard": [
    "administer",
    ({ world }, { path }) => {
      world.calls.push({ discard: path[1] });
      world.letters = world.letters.filter(({ id }) => id !== path[1]);
      return { is_done: true };
    },
  ],
  "POST policies/what-if": [
    "read",
    (server, { body }) => {
      if (!body.profiles.includes("permit"))
        server.refuse(422, "profiles: profiles.cedar:1:1: expected permit or forbid");
      return whatIf();
    },
  ],
  "GET audit/verify": [
    "read",
    () => ({ valid: true, entries: 1412, signed_heads: 9, redacted: 0, problem: null }),
  ],
};

/** A server on which nobody was asked yet. */
export function quiet() {
  const stats = hitl();
  const none = (shares) => Object.fromEntries(Object.keys(shares).map((key) => [key, NO_DATA]));
  return {
    ...stats,
    requests: 0,
    evaluations: {
      count: 0,
      is_complete: true,
      per_day: 0,
      allow: 0,
      handoff: 0,
      deny: 0,
      hitl_ratio: NO_DATA,
    },
    decisions: none(stats.decisions),
    outcomes: none(stats.outcomes),
    triggers: [],
    rules: [],
    waiting: [],
  };
}
