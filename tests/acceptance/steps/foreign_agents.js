// SPDX-License-Identifier: Apache-2.0
// Agents that Rondo does not run, with the Python client, and people with tokens who decide.
"use strict";

const { Given, Then, When } = require("@cucumber/cucumber");
const assert = require("node:assert/strict");
const crypto = require("node:crypto");
const { root } = require("./world");

const ASKS = "requested routed rerouted escalated needs_info".split(" ");

function token(world, name, ...options) {
  const { code, stdout, stderr } = world.ask("token", "create", name, ...options);
  assert.equal(code, 0, stderr);
  return stdout.trim().split("\n")[0];
}

// ---- Agents ----

Given("the foreign agent {string}", function (name, code) {
  Object.assign(this.env, {
    PYTHONPATH: `${root}/sdk/python`,
    RELAYTRACE_ENDPOINT: this.base,
    RELAYTRACE_TOKEN: token(this, name, "--scope", "agent", "--agent", name),
    RELAYTRACE_STATE_DIR: `${this.top}/relaytrace`,
  });
  this.write("agent.py", `${code}\n`);
});

When("the foreign agent starts", function () {
  this.start("python3 agent.py", "agent");
});

When("the foreign agent is killed", async function () {
  this.agent.child.kill("SIGKILL");
  await this.hasEnded(this.agent);
});

Then("the foreign agent soon says {string}", async function (text) {
  await this.until(`"${text}" of the agent\n${this.agent.stderr}`, () => {
    const isOver = this.agent.end !== undefined;
    assert.ok(!isOver || this.agent.stdout.includes(text), this.agent.stderr || this.agent.stdout);
    return this.agent.stdout.includes(text);
  });
});

Then("the foreign agent has not said {string}", function (text) {
  assert.ok(!this.agent.stdout.includes(text), this.agent.stdout);
});

Then("the foreign agent ends", async function () {
  await this.hasEnded(this.agent);
  assert.equal(this.agent.code, 0, this.agent.stderr);
});

async function askAs(world, method, path, body, headers = {}) {
  const answer = await fetch(world.base + path, {
    method,
    headers: {
      authorization: `Bearer ${world.env.RELAYTRACE_TOKEN}`,
      "content-type": "application/json",
      ...headers,
    },
    body,
  });
  world.answer = { status: answer.status, text: await answer.text(), headers: answer.headers };
}

When("I post to {string} as the agent", function (path, body) {
  return askAs(this, "POST", path, body);
});

When("the agent tries to approve its own request", async function () {
  const [entry] = await waiting(this, "Ann");
  const { json, headers } = await call(this, "Ann", "GET", `/v1/inbox/${entry.request_id}`);
  const { revision, action_digest } = json;
  const body = JSON.stringify({ status: "approved", revision, action_digest });
  await askAs(this, "POST", `/v1/hitl/decisions/${entry.request_id}`, body, {
    "idempotency-key": crypto.randomUUID(),
    "if-match": headers.get("etag"),
  });
});

Then("the answer does not mention {string}", function (text) {
  assert.ok(!this.answer.text.includes(text), this.answer.text);
});

// ---- People ----

async function call(world, person, method, path, body, headers = {}) {
  world.people ??= {};
  world.people[person] ??= token(world, person, "--scope", "decide");
  const answer = await fetch(world.base + path, {
    method,
    headers: {
      authorization: `Bearer ${world.people[person]}`,
      ...(body && { "content-type": "application/json" }),
      ...headers,
    },
    body: body && JSON.stringify(body),
  });
  const text = await answer.text();
  world.answer = { status: answer.status, text, json: JSON.parse(text), headers: answer.headers };
  return world.answer;
}

async function waiting(world, person, state) {
  const { json } = await call(world, person, "GET", "/v1/inbox");
  return json.handoffs.filter((entry) =>
    state ? entry.state === state : ASKS.includes(entry.state),
  );
}

async function decideOnce(world, person, decision) {
  const [entry] = await world.until("something that waits", async () => {
    const entries = await waiting(world, person);
    return entries.length > 0 && entries;
  });
  const { json, headers } = await call(world, person, "GET", `/v1/inbox/${entry.request_id}`);
  const { revision, action_digest } = json;
  return call(
    world,
    person,
    "POST",
    `/v1/hitl/decisions/${entry.request_id}`,
    { revision, action_digest, ...decision },
    { "idempotency-key": crypto.randomUUID(), "if-match": headers.get("etag") },
  );
}

// A request may have changed since the person looked, for instance because it was just routed.
async function decide(world, person, decision) {
  let answer;
  do answer = await decideOnce(world, person, decision);
  while (answer.json.error?.code === "version_changed");
  return answer;
}

async function decided(world, person, decision) {
  const { status, text } = await decide(world, person, decision);
  assert.equal(status, 200, text);
}

When("{word} approves what waits", function (person) {
  return decided(this, person, { status: "approved" });
});

When("{word} approves what waits with the constraint", function (person, constraint) {
  return decided(this, person, { status: "approved", constraints: [JSON.parse(constraint)] });
});

When("{word} rejects what waits, saying {string}", function (person, context) {
  return decided(this, person, { status: "rejected", context });
});

When("{word} asks {string} about what waits", function (person, question) {
  return decided(this, person, { status: "needs_info", questions: [question] });
});

When("{word} passes what waits on to {string}", function (person, target) {
  return decided(this, person, { status: "rerouted", target });
});

When("{word} tries to approve what waits", function (person) {
  return decide(this, person, { status: "approved" });
});

Then("{word} sees {int} request(s) waiting", async function (person, count) {
  await this.until(`${count} requests`, async () => (await waiting(this, person)).length === count);
});

async function lookAt(world, person) {
  const [entry] = await waiting(world, person);
  return entry && (await call(world, person, "GET", `/v1/inbox/${entry.request_id}`)).json;
}

const text = (value) => (typeof value === "string" ? value : JSON.stringify(value));

// All at the same time: a request changes.
Then("{word} soon sees in the request that waits", async function (person, table) {
  const wanted = table.raw();
  let shown;
  const isSeen = async () => {
    const json = await lookAt(this, person);
    shown = wanted.map(([path]) => [
      path,
      text(path.split(".").reduce((at, name) => at?.[name], json)),
    ]);
    return shown.every(([, value], i) => value === wanted[i][1]);
  };
  await this.until("the request", isSeen).catch(() => assert.deepEqual(shown, wanted));
});

// ---- Policies ----

Then("of these actions the policies of the agent say", async function (table) {
  for (const { context, outcome, reasons } of table.hashes()) {
    const facts = {
      confidence: 0.95, risk_level: 0, impact: 0, reversible: true, evidence_count: 1, evidence_required: 1,
      evidence_missing: [], violation_score: 0, human_required: false, rework_count: 0, ...JSON.parse(context),
    }; // prettier-ignore
    const answer = await fetch(`${this.base}/v1/actions/evaluate`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${this.env.RELAYTRACE_TOKEN}`,
        "content-type": "application/json",
      },
      body: JSON.stringify({
        agent_id: "sec-triage-01",
        action: { tool: "isolate_host", args: { host: "a" } },
        context: facts,
      }),
    });
    const json = await answer.json();
    assert.equal(json.outcome, outcome, context);
    assert.equal(json.trigger_reasons.join(", "), reasons, context);
    assert.equal(json.risk_level, facts.risk_level);
    assert.equal(json.trigger_reason, json.trigger_reasons[0] ?? null);
    assert.equal(json.policy_rule_id?.startsWith("ds.") ?? false, outcome !== "allow");
  }
});

// ---- Requests without the client ----

function wanted(host, risk = "medium", attempt = 1) {
  return JSON.stringify({
    event_type: "handoff.requested",
    agent: { agent_id: "sec-triage-01" },
    lane_id: "lane-a",
    intent: { risk_level: risk },
    action: { tool: "isolate_host", args: { host } },
    attempt,
  });
}

function sign(secret, id, time, body) {
  const key = Buffer.from(secret.replace("whsec_", ""), "base64");
  const code = crypto.createHmac("sha256", key).update(`${id}.${time}.${body}`).digest("base64");
  return { "webhook-id": id, "webhook-timestamp": time, "webhook-signature": `v1,${code}` };
}

When("the agent asks to isolate {string}", function (host) {
  return askAs(this, "POST", "/v1/hitl/requests", wanted(host));
});

When("the agent asks to isolate {string}, at low risk", function (host) {
  return askAs(this, "POST", "/v1/hitl/requests", wanted(host, "low"));
});

When("the agent asks to isolate {string} for the second time", function (host) {
  return askAs(this, "POST", "/v1/hitl/requests", wanted(host, "medium", 2));
});

Given("the foreign agent signs", function () {
  const { code, stdout, stderr } = this.ask(
    ..."token create signing --scope agent --agent sec-triage-01 --signing required".split(" "),
  );
  assert.equal(code, 0, stderr);
  [this.env.RELAYTRACE_TOKEN, this.signingSecret] = stdout.trim().split("\n");
});

When("the agent asks to isolate {string}, signed", function (host) {
  const body = wanted(host);
  const time = String(Math.floor(Date.now() / 1000));
  this.sent = [body, sign(this.signingSecret, crypto.randomUUID(), time, body)];
  return askAs(this, "POST", "/v1/hitl/requests", ...this.sent);
});

When("the same bytes are sent again", function () {
  return askAs(this, "POST", "/v1/hitl/requests", ...this.sent);
});

Then("the answer is signed", function () {
  const { headers, text } = this.answer;
  const [id, time] = ["webhook-id", "webhook-timestamp"].map((name) => headers.get(name));
  const own = sign(this.signingSecret, id, time, text)["webhook-signature"];
  assert.ok(headers.get("webhook-signature").split(" ").includes(own));
});

Then(/^soon `([^`]*)` mentions "([^"]*)"$/, async function (line, text) {
  await this.until(text, async () => {
    await this.run(line);
    return this.last.stdout.includes(text);
  });
});
