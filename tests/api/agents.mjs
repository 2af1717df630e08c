// SPDX-License-Identifier: Apache-2.0
/* The routes for agents that Rondo does not run: each of them, with success and with an error. */

import assert from "node:assert/strict";

const NO = "01900000-0000-7000-8000-000000000000";
const action = (host) => ({ tool: "isolate_host", args: { host } });
const context = {
  risk_level: 0,
  impact: 0,
  reversible: true,
  evidence_count: 0,
  evidence_required: 0,
  evidence_missing: [],
  violation_score: 0,
  human_required: true,
  rework_count: 0,
};
const wanted = (host) => ({
  event_type: "handoff.requested",
  agent: { agent_id: "foreign" },
  lane_id: "lane-a",
  action: action(host),
});

export async function agents(tour, { server }) {
  const headers = await server.token("foreign", "--scope", "agent", "--agent", "foreign");
  const call = (id, status, more) => tour.call(id, status, { headers, ...more });
  const ask = (host) => call("submitRequest", [200, 201], { body: wanted(host) });
  const decide = async (id, status, more = {}) => {
    const entry = await tour.call("getInboxEntry", 200, { path: { id } });
    await tour.call("decideHandoff", 200, {
      path: { id },
      headers: { "if-match": `"${entry.version}"`, "idempotency-key": `${id}-${status}` },
      body: { status, revision: entry.revision, action_digest: entry.action_digest, ...more },
    });
  };
  const lane = { agent_id: "foreign", lane_id: "lane-a" };
  await call("openLane", 201, { body: lane });
  await call("openLane", 200, { body: lane });
  await call("openLane", 403, { body: { ...lane, agent_id: "other" } });
  await call("evaluateAction", 200, {
    body: { agent_id: "foreign", action: action("a"), context },
  });
  await call("evaluateAction", 403, { body: { agent_id: "other", action: action("a"), context } });

  const { request_id: request } = await ask("a");
  await ask("a");
  await call("submitRequest", 422, {
    body: { ...wanted("a"), request_id: "e6a19e20-f630-5f7a-91bd-71be0c3eae0d" },
  });
  await call("getRequest", 200, { path: { request }, query: "?wait_ms=10" });
  await call("getRequest", 404, { path: { request: NO } });
  await call("takeRequest", 409, { path: { request }, body: { consumer: "one" } });
  await decide(request, "needs_info", { questions: ["Which host?"] });
  const asked = await call("getRequest", 200, { path: { request } });
  const { action_digest } = asked;
  const answers = { revision: 2, action_digest, answers: ["a"] };
  await call("resubmitRequest", 200, { path: { request }, body: answers });
  await call("resubmitRequest", 404, { path: { request: NO }, body: answers });
  await decide(request, "approved", { context: "fine" });
  const consumer = "one";
  await call("takeRequest", 200, { path: { request }, body: { consumer } });
  await call("startRequest", 404, { path: { request: NO }, body: { consumer, action_digest } });
  await call("startRequest", 200, { path: { request }, body: { consumer, action_digest } });
  const result = { consumer, result_digest: action_digest, ok: true };
  await call("finishRequest", 200, { path: { request }, body: result });
  await call("finishRequest", 404, { path: { request: NO }, body: result });

  const other = (await ask("b")).request_id;
  await decide(other, "approved");
  await call("takeRequest", 200, { path: { request: other }, body: { consumer } });
  await call("returnRequest", 200, { path: { request: other }, body: { consumer } });
  await call("returnRequest", 409, { path: { request: other }, body: { consumer } });
  const third = (await ask("c")).request_id;
  await call("cancelRequest", 200, { path: { request: third }, body: { reason: "over" } });
  await call("cancelRequest", 404, { path: { request: NO } });

  const path = { agent: "foreign" };
  const pull = async () => (await call("pullOutbox", 200, { path, body: { consumer } })).messages;
  const [{ seq }] = await pull();
  await call("pullOutbox", 409, { path, body: { consumer: "two" } });
  await call("ackOutbox", 200, { path, body: { consumer, seq } });
  await call("ackOutbox", 409, { path, body: { consumer, seq: seq + 1000 } });
  await call("nackOutbox", 409, { path, body: { consumer, seq: seq + 1000 } });
  const [next] = await pull();
  for (let i = 0; i < 5; i++) {
    await pull();
    await call("nackOutbox", 200, { path, body: { consumer, seq: next.seq, reason: "broken" } });
  }
  await call("changeLane", 200, {
    path: { lane: "lane-a" },
    body: { agent_id: "foreign", state: "done" },
  });
  await call("changeLane", 404, {
    path: { lane: "none" },
    body: { agent_id: "foreign", state: "done" },
  });
  const receipt = { agent_id: "foreign", kind: "executed", result_digest: action_digest };
  await call("addReceipt", 201, { body: receipt });
  await call("addReceipt", 403, { body: { ...receipt, agent_id: "other" } });
  await call("addReceipt", 200, { body: receipt });
  const finding = { agent_id: "foreign", class: "missed_handoff" };
  await call("addFinding", 201, { body: finding });
  await call("addFinding", 403, { body: { ...finding, agent_id: "other" } });

  const { letters } = await tour.call("listDeadLetters", 200, { query: "?limit=10" });
  await tour.call("listDeadLetters", 400, { query: "?limit=0", is_wrong: true });
  const of = (queue) => letters.find((each) => each.queue === queue).id;
  await tour.call("replayDeadLetter", 200, { path: { letter: of("delivery") } });
  await tour.call("replayDeadLetter", 409, { path: { letter: of("intake") } });
  await tour.call("discardDeadLetter", 200, { path: { letter: of("intake") } });
  await tour.call("discardDeadLetter", 404, { path: { letter: of("intake") } });

  await server.token("signs", "--scope", "agent", "--agent", "signs", "--signing", "optional");
  await tour.call("rotateKey", 200, { body: { token: "signs", overlap_seconds: 0 } });
  await tour.call("rotateKey", 200, { body: {} });
  await tour.call("rotateKey", 404, { body: { token: "nobody" } });

  await tour.call("listAuditEntries", 200, { query: "?after=0&limit=10" });
  await tour.call("listAuditEntries", 400, { query: "?limit=0", is_wrong: true });
  await tour.call("verifyAudit", 200);
  await call("verifyAudit", 403);
  await tour.call("getHandoffStatistics", 200);
  const profiles = 'permit (principal, action == RelayTrace::Action::"execute", resource);';
  const answer = await tour.call("tryProfiles", 200, { body: { profiles } });
  assert.ok(answer.evaluations > 0 && answer.changed > 0 && answer.samples.length > 0);
  await tour.call("tryProfiles", 200, { body: { profiles, agent_id: "nobody", limit: 1 } });
  await tour.call("tryProfiles", 422, { body: { profiles: "permit (" } });
  await tour.call("tryProfiles", 422, { body: { profiles, limit: 0 }, is_wrong: true });
  await call("getHandoffStatistics", 403);
}
