// SPDX-License-Identifier: Apache-2.0
// What waits for people, as the mock server tells of it, and decisions about it.
import { createHash } from "node:crypto";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** Text that tries everything which a page must not fall for. */
export const NASTY = '<img src=x onerror="window.hit=1">\u202egpj.exe\u200b\u0007</script>';

const id = (n) => `64db98${String(n).padStart(2, "0")}-adb0-50dc-8205-24be71fefa26`;
const run = "01a2079f-3a10-72f0-a4b7-76fe9c42fd97";

export const SECRETS = {
  "/action/args/password": "hunter-2-new",
  "/action/args/note": "the new one is hunter-2-new",
};

const hidden = (pointer, length) => ({
  redacted: true,
  reason: `a rule hides ${pointer}`,
  hmac: `hmac-sha256:${"7e".repeat(32)}`,
  length,
});

function entry(at, n, tool, args, more = {}) {
  const { trigger = {}, request = {}, action = {}, ...members } = more;
  const whole = { tool, args, ...action };
  return {
    request_id: id(n),
    state: "routed",
    application: "none",
    agent_id: "deploy-bot",
    lane_id: run,
    run_id: run,
    revision: 1,
    version: 3,
    risk_level: "medium",
    priority: more.risk_level ?? "medium",
    action_digest: `sha256:${createHash("sha256").update(JSON.stringify(whole)).digest("hex")}`,
    is_idempotent: false,
    desk: "operators",
    custody: ["operators"],
    hops: 0,
    escalation_level: 0,
    requested_at: at(-12 * MINUTE),
    due_at: at(23 * HOUR),
    approvals_required: 1,
    approvals: [],
    tool,
    why: "this role requires confirmation",
    trigger_reason: "explicit_agent_rule",
    action: whole,
    request: {
      action: whole,
      trigger: { trigger_reason: "explicit_agent_rule", ...trigger },
      ...request,
    },
    thread: [],
    ...members,
  };
}

export function inbox(now = Date.now()) {
  const at = (ms) => new Date(now + ms).toISOString();
  return [
    entry(
      at,
      1,
      "isolate_host",
      { host: "db-03.example", reason: "beacon to 203.0.113.9", minutes: 240, notify: true },
      {
        agent_id: "sec-triage-01",
        risk_level: "critical",
        due_at: at(11 * MINUTE),
        requested_at: at(-49 * MINUTE),
        desk: "leads",
        custody: ["operators", "leads"],
        hops: 1,
        escalation_level: 1,
        state: "escalated",
        approvals_required: 2,
        approvals: [{ operator_id: "user:ben", at: at(-4 * MINUTE) }],
        why: "the host is in production",
        trigger: {
          trigger_reasons: ["low_confidence_high_impact", "missing_evidence_irreversible"],
          policy_rule_id: "ds.01.low-confidence-high-impact",
          confidence_score: 0.62,
        },
        request: {
          reversible: false,
          evidence: { count: 1, required: 3, missing: ["netflow", "owner"] },
          intent: {
            summary: "Isolate db-03, it talks to a known command server.",
            proposed_action: "Cut it off for four hours.",
          },
          rollback: "Release the isolation in the console.",
          context: { messages: ["alert 7741: beacon", "no owner found"], citations: [] },
        },
        thread: [
          {
            kind: "handoff.asked",
            by: "user:ann",
            at: at(-30 * MINUTE),
            details: { questions: ["Who owns the host?", "Since when does it beacon?"] },
          },
          {
            kind: "handoff.resubmitted",
            by: "sec-triage-01",
            at: at(-26 * MINUTE),
            details: { answers: "Nobody is registered. Since 06:12." },
          },
          {
            kind: "handoff.rerouted",
            by: "user:ann",
            at: at(-20 * MINUTE),
            details: { target: "leads", comment: "Over my limit." },
          },
        ],
      },
    ),
    entry(
      at,
      2,
      "write_file",
      {
        path: "deploy/production.yaml",
        content: "replicas: 6\nimage: ledger:2.4.1\nregion: eu-west-1\nprobe: /healthz\n",
      },
      {
        risk_level: "high",
        due_at: at(3 * HOUR),
        claimed_by: "user:ben",
        claim_until: at(9 * MINUTE),
        action: {
          operands: [
            {
              path: "deploy/production.yaml",
              digest: `sha256:${"5f".repeat(32)}`,
              content: "replicas: 3\nimage: ledger:2.4.0\nregion: eu-west-1\nprobe: /healthz\n",
            },
          ],
        },
      },
    ),
    entry(at, 3, "run_shell", { command: "./deploy.sh production --region eu-west-1" }),
    entry(
      at,
      4,
      "send_mail",
      { to: NASTY, subject: NASTY, [NASTY]: NASTY },
      {
        agent_id: NASTY,
        tool: NASTY,
        why: NASTY,
        risk_level: "low",
        due_at: at(6 * 24 * HOUR),
        desk: NASTY,
        custody: [NASTY],
        request: {
          trigger: { trigger_reasons: [NASTY], policy_rule_id: NASTY },
          intent: { summary: NASTY },
          context: { messages: [NASTY] },
          evidence: { missing: [NASTY] },
        },
        thread: [
          {
            kind: NASTY,
            by: NASTY,
            at: at(-MINUTE),
            details: { comment: NASTY, questions: [NASTY], target: NASTY, [NASTY]: NASTY },
          },
        ],
      },
    ),
    entry(
      at,
      5,
      "run_python",
      { code: "print('x')\n".repeat(400), timeout: 30 },
      {
        due_at: at(20 * HOUR),
      },
    ),
    entry(
      at,
      6,
      "http_request",
      { url: "https://example.org/hook", method: "POST" },
      {
        state: "needs_info",
        asked_by: "user:ann",
        due_at: at(22 * HOUR),
      },
    ),
    entry(
      at,
      7,
      "set_password",
      {
        user: "eve",
        password: hidden("/action/args/password", 12),
        note: "the new one is [redacted]",
        looks_hidden: { redacted: true, reason: "forged", hmac: "x", length: 1 },
      },
      {
        due_at: at(23.5 * HOUR),
        redacted: ["/action/args/password", "/action/args/note"],
      },
    ),
  ];
}

const OPEN = ["routed", "rerouted", "escalated"];
const isWaiting = ({ state }) => OPEN.includes(state) || state === "needs_info";

function list({ world, me }, { values }) {
  const all = world.inbox.filter(isWaiting);
  const isMine = (one) => OPEN.includes(one.state) && [undefined, me].includes(one.claimed_by);
  const fits = all.filter(
    (one) =>
      (values.get("mine") !== "true" || isMine(one)) &&
      (!values.get("priority") || one.priority === values.get("priority")) &&
      (!values.get("desk") || one.desk === values.get("desk")) &&
      (!values.get("run") || one.run_id === values.get("run")) &&
      (!values.get("q") || JSON.stringify(one).includes(values.get("q"))),
  );
  const time = (one) => (one.state === "needs_info" ? Infinity : Date.parse(one.due_at));
  fits.sort((a, b) => time(a) - time(b));
  const from = Number(values.get("cursor") ?? 0);
  const to = from + Number(values.get("limit") ?? 50);
  const count = (by) => all.filter(by).length;
  return {
    handoffs: fits.slice(from, to).map(({ action, request, thread, ...row }) => {
      const text = JSON.stringify(action.args);
      return { ...row, args: { text: text.slice(0, 200), bytes: Buffer.byteLength(text) } };
    }),
    counts: {
      waiting: all.length,
      mine: count(isMine),
      priority: Object.fromEntries(
        ["low", "medium", "high", "critical"].map((level) => [
          level,
          count(({ priority }) => priority === level),
        ]),
      ),
      desks: [...new Set(all.map(({ desk }) => desk))].map((name) => ({
        name,
        count: count(({ desk }) => desk === name),
      })),
    },
    next: to < fits.length ? String(to) : null,
    now: new Date().toISOString(),
  };
}

function find({ world, refuse }, { path }, at = 1) {
  const found = world.inbox.find(({ request_id: one }) => one === path[at]);
  if (!found) refuse(404, "there is no such handoff");
  return found;
}

/** Change an entry, and tell all streams. */
export function settle(server, one, kind, change) {
  Object.assign(one, change, { version: one.version + 1 });
  server.tell("inbox", {
    kind,
    request_id: one.request_id,
    agent_id: one.agent_id,
    run_id: one.run_id,
    state: one.state,
    version: one.version,
    claimed_by: one.claimed_by ?? null,
    decided_by: one.decided_by ?? null,
  });
  return { outcome: "done", message: null, decision_id: "d", is_returned: false, handoff: one };
}

function decide(server, asked) {
  const one = find(server, asked, 2);
  const { request, body } = asked;
  server.world.calls.push({ decision: body, key: request.headers["idempotency-key"] });
  if (!isWaiting(one))
    server.refuse(409, `It is ${one.state} already, by ${one.decided_by}.`, {
      decided_by: one.decided_by,
      state: one.state,
    });
  if (request.headers["if-match"] !== `"${one.version}"`)
    server.refuse(409, "It has changed since you looked at it; look again.");
  if (body.action_digest !== one.action_digest || body.revision !== one.revision)
    server.refuse(422, "It has changed since you looked at it; look again.");
  const thread = [
    ...one.thread,
    {
      kind: `handoff.${body.status}`,
      by: server.me,
      at: new Date().toISOString(),
      details: { comment: body.context, questions: body.questions, target: body.target },
    },
  ];
  const isOver = ["approved", "rejected"].includes(body.status);
  const isBack = ["withdrawn", "rerouted"].includes(body.status);
  return settle(server, one, `handoff.${body.status}`, {
    thread,
    state: isBack ? "routed" : body.status,
    claimed_by: undefined,
    ...(isOver ? { decided_by: server.me, decided_at: new Date().toISOString() } : {}),
    ...(body.status === "approved" ? { application: "available" } : {}),
    ...(body.target ? { desk: body.target, hops: one.hops + 1 } : {}),
  });
}

function claim(server, asked, by) {
  const one = find(server, asked);
  if (one.claimed_by && one.claimed_by !== server.me)
    server.refuse(409, `${one.claimed_by} has claimed it.`);
  return settle(server, one, by ? "handoff.claimed" : "handoff.released", {
    claimed_by: by,
    claim_until: by && new Date(Date.now() + 15 * MINUTE).toISOString(),
  });
}

function reveal(server, asked) {
  const one = find(server, asked);
  const { pointer } = asked.body;
  server.world.calls.push({ reveal: pointer });
  if (!one.redacted?.includes(pointer)) server.refuse(422, "the value is not hidden from you");
  return { pointer, value: SECRETS[pointer] };
}

/** "METHOD path" to [right, handler(server, asked)] */
export const INBOX_ROUTES = {
  "GET inbox": ["read", list],
  "GET inbox/:id": ["read", (server, asked) => find(server, asked)],
  "POST inbox/:id/claim": ["decide", (server, asked) => claim(server, asked, server.me)],
  "POST inbox/:id/release": ["decide", (server, asked) => claim(server, asked, undefined)],
  "POST inbox/:id/reveal": ["reveal", reveal],
  "POST hitl/decisions/:id": ["decide", decide],
};
