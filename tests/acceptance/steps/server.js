// SPDX-License-Identifier: Apache-2.0
// Steps that start a server, talk to it over HTTP, and follow what it tells.
"use strict";

const { After, Given, Then, When } = require("@cucumber/cucumber");
const assert = require("node:assert/strict");
const { Follower } = require("../support/events");
const { stats } = require("./agents");
const { find } = require("./journal");

After(async function () {
  if (this.reader !== undefined) await this.reader.end();
});

// ---- The server ----

async function serve(world, options = "", command = "serve") {
  const isBound = options.includes("--listen");
  const line = `rondo ${command} ${isBound ? "" : `--listen ${world.address ?? "127.0.0.1:0"}`} ${options}`;
  const server = world.start(line.replace(/  +/g, " "), "server");
  world.it ??= server;
  Object.assign(server, { options, command });
  const isTaken = () => !isBound && /address already in use/i.test(server.stderr);
  const match = await world.until(`a server\n${line}`, () => {
    if (server.end !== undefined && isTaken()) return "taken";
    if (server.end !== undefined) throw new Error(`the server ended:\n${server.stderr}`);
    return /on http:\/\/(\S+:(\d+))/.exec(server.stderr);
  });
  if (match === "taken") {
    // Its port was free while it was down, and the kernel has given it to somebody else's program.
    world.address = undefined;
    return serve(world, options, command);
  }
  world.address = isBound ? undefined : match[1];
  world.base = `http://127.0.0.1:${match[2]}`;
  world.values.$ADDRESS = match[1];
  return undefined;
}

Given("a server", function () {
  return serve(this);
});

Given(/^a server with `(.+)`$/, function (options) {
  return serve(this, options);
});

Given("a daemon of the role", function () {
  return serve(this, "", "daemon role.yaml");
});

When(/^I end the server with (TERM|KILL)$/, async function (signal) {
  this.server.child.kill(`SIG${signal}`);
  await this.hasEnded(this.server);
});

When("the server starts again", function () {
  return serve(this, this.server.options, this.server.command);
});

Then("the server ended with {int}", function (code) {
  assert.equal(this.server.code, code, this.server.stderr);
});

Then("the server says {string}", async function (text) {
  await this.until(`"${text}" of the server`, () => this.server.stderr.includes(text));
});

// ---- Requests ----

async function ask(world, method, path, { body, headers = {} } = {}) {
  const url = world.base + path.replaceAll("$RUN", world.runId);
  const sent = {
    method,
    headers: { ...(world.authorization && { authorization: world.authorization }), ...headers },
  };
  if (body !== undefined) {
    sent.body = body;
    sent.headers["content-type"] = "application/json";
  }
  const answer = await fetch(url, sent);
  const text = await answer.text();
  let json;
  try {
    json = JSON.parse(text);
  } catch {
    json = undefined;
  }
  world.answer = { status: answer.status, headers: answer.headers, text, json };
  const isRun = path === "/v1/runs" && method === "POST" && answer.status < 300;
  if (isRun) world.runId = json.run_id;
  return world.answer;
}

// fetch() sets Host and Origin itself, so these go over a plain request.
async function askPlainly(world, method, path, header, body) {
  const http = require("node:http");
  const at = header.indexOf(": ");
  const headers = {
    [header.slice(0, at)]: header.slice(at + 2),
    "content-type": "application/json",
  };
  world.answer = await new Promise((resolve, reject) => {
    const request = http.request(world.base + path, { method, headers }, (answer) => {
      let text = "";
      answer.setEncoding("utf8").on("data", (part) => {
        text += part;
      });
      answer.on("end", () =>
        resolve({
          status: answer.statusCode,
          text,
          json: JSON.parse(text),
          headers: new Headers(),
        }),
      );
    });
    request.on("error", reject);
    request.end(body);
  });
}

function printedToken(world) {
  return { authorization: `Bearer ${/rondo_\S+/.exec(world.created ?? world.last.stdout)[0]}` };
}

When("I post to {string}", function (path, body) {
  return ask(this, "POST", path, { body });
});

When("I post to {string} {int} times and wait for no answer", function (path, count, body) {
  const headers = { "content-type": "application/json" };
  const post = () => fetch(this.base + path, { method: "POST", headers, body });
  this.unanswered = Array.from({ length: count }, () =>
    post().then(
      ({ status }) => status,
      () => 0,
    ),
  );
});

Then("no post that I sent was answered with 201", async function () {
  assert.ok(!(await Promise.all(this.unanswered)).includes(201));
});

When("I post to {string} with the key {string}", function (path, key, body) {
  return ask(this, "POST", path, { body, headers: { "idempotency-key": key } });
});

When("I post to {string} with the token that was printed", function (path, body) {
  return ask(this, "POST", path, { body, headers: printedToken(this) });
});

When("I post to {string} with the header {string}", function (path, header, body) {
  return askPlainly(this, "POST", path, header, body);
});

When("I ask for {string} without a token", function (path) {
  return ask(this, "GET", path);
});

When("I ask for {string} with the token that was printed", function (path) {
  this.created ??= this.last.stdout;
  return ask(this, "GET", path, { headers: printedToken(this) });
});

When("I ask for {string} with the header {string}", function (path, header) {
  return askPlainly(this, "GET", path, header);
});

When("I put to {string} the limit of {int} iterations", function (path, limit) {
  const text =
    "permit (principal, action, resource);\n" +
    '@id("limit.iterations")\n' +
    'forbid (principal, action == Action::"iterate", resource)\n' +
    `when { context.iteration >= ${limit} };\n`;
  return ask(this, "PUT", path, { body: JSON.stringify({ text }) });
});

When("I post these to {string}", async function (path, table) {
  for (const [body] of table.raw()) {
    const { status, text } = await ask(this, "POST", path, { body });
    assert.equal(status, 201, text);
  }
});

async function startMany(world, count, iterations) {
  const statuses = [];
  world.manyIds = await Promise.all(
    Array.from({ length: count }, async (_, i) => {
      const body = JSON.stringify({
        command: ["./worker.sh"],
        agent_id: `agent-${i}`,
        max_iterations: iterations,
      });
      const { status, json } = await ask(world, "POST", "/v1/runs", { body });
      statuses.push(status);
      return json.run_id;
    }),
  );
  return statuses;
}

When("I start {int} run(s) of {int} iterations over HTTP", async function (count, iterations) {
  const statuses = await startMany(this, count, iterations);
  assert.deepEqual([...new Set(statuses)], [201]);
});

When(
  "I start {int} runs of {int} iterations over HTTP, of which {int} wait",
  async function (count, iterations, waiting) {
    const statuses = await startMany(this, count, iterations);
    assert.equal(statuses.filter((status) => status === 202).length, waiting);
  },
);

// ---- Answers ----

Then("the answer is {int}", function (status) {
  assert.equal(this.answer.status, status, this.answer.text);
});

Then("the answer is {int} with", function (status, table) {
  assert.equal(this.answer.status, status, this.answer.text);
  for (const [name, value] of table.raw())
    assert.equal(String(this.answer.json[name]), value, name);
});

Then("the answer has, among others", function (table) {
  const member = (name) => name.split(".").reduce((object, key) => object?.[key], this.answer.json);
  for (const [name, value] of table.raw())
    assert.equal(String(member(name)), value, `${name} in ${this.answer.text}`);
});

Then("the answer is {int} and says that it is a repetition", function (status) {
  assert.equal(this.answer.status, status, this.answer.text);
  assert.equal(this.answer.headers.get("idempotency-replayed"), "true");
});

Then("the answer is the problem {string} with {int}", function (code, status) {
  const { json } = this.answer;
  assert.deepEqual(
    [json.code, this.answer.status, json.status],
    [code, status, status],
    this.answer.text,
  );
  assert.ok(json.detail.length > 10);
});

Then("the answer mentions {string}", function (text) {
  assert.ok(this.answer.text.includes(text), this.answer.text);
});

Then("{string} soon mentions {string}", async function (path, text) {
  await this.until(text, async () => (await ask(this, "GET", path)).text.includes(text));
});

Then("the answer has the header {string}", function (name) {
  assert.ok(this.answer.headers.has(name), JSON.stringify([...this.answer.headers]));
});

Then("each of these is answered with 200 within {int} seconds", async function (seconds, table) {
  const [run] = (await ask(this, "GET", "/v1/runs")).json.runs;
  this.runId = run?.run_id;
  // Of three times the best one: the others may be those of a machine that has other work.
  for (const [path] of table.raw()) {
    const times = [];
    for (let i = 0; i < 3; i += 1) {
      const begin = Date.now();
      const { status, text } = await ask(this, "GET", path.trim());
      assert.equal(status, 200, `${path}: ${text}`);
      times.push(Date.now() - begin);
    }
    assert.ok(Math.min(...times) < this.within(seconds), `${path}: ${times} ms`);
  }
});

Then("{string} is soon answered with {int}", async function (path, status) {
  await this.until(
    `${status} of ${path}`,
    async () => (await ask(this, "GET", path)).status === status,
  );
});

// ---- Runs ----

async function runsOf(world, agent) {
  return (await ask(world, "GET", `/v1/runs?agent=${agent}`)).json.runs;
}

async function soonHas(world, id, status) {
  let seen = "";
  await world
    .until(`status ${status} of ${id}`, async () => {
      seen = (await ask(world, "GET", `/v1/runs/${id}`)).json.status;
      return seen === status;
    })
    .catch((error) => {
      throw new Error(`${error.message}; it is ${seen}\n${world.server.stderr}`);
    });
}

Then("the run soon has the status {string}", function (status) {
  return soonHas(this, this.runId, status);
});

Then("all of them soon have the status {string}", async function (status) {
  for (const id of this.manyIds) await soonHas(this, id, status);
});

Then("the runs soon have the statuses", async function (table) {
  for (const [agent, status] of table.raw()) {
    const [run] = await runsOf(this, agent);
    await soonHas(this, run.run_id, status);
  }
});

Then("the last event of each run is {string}", async function (type) {
  for (const { run_id: id } of (await ask(this, "GET", "/v1/runs?limit=500")).json.runs) {
    const { events } = (await ask(this, "GET", `/v1/runs/${id}/events?order=desc&limit=1`)).json;
    assert.equal(events[0].type, type, id);
  }
});

Then("each of the nine runs was denied once, its iteration {int}", async function (iteration) {
  for (const id of this.manyIds) {
    const { events } = (await ask(this, "GET", `/v1/runs/${id}/events?types=gate.denied`)).json;
    assert.deepEqual(
      events.map(({ data }) => data.iteration),
      [iteration],
      id,
    );
  }
});

Then("the run of {string} soon has the status {string}", async function (agent, status) {
  const [run] = await runsOf(this, agent);
  this.runId = run.run_id;
  await soonHas(this, run.run_id, status);
});

Then(/^the agent "([^"]*)" soon has (\d+) runs?$/, async function (agent, count) {
  await this.until(
    `${count} runs of ${agent}`,
    async () => (await runsOf(this, agent)).length === Number(count),
  );
});

Then(/^the agent "([^"]*)" has (\d+) runs?$/, async function (agent, count) {
  assert.equal((await runsOf(this, agent)).length, Number(count));
});

Then("the run has come to iteration {int}", async function (iteration) {
  await this.until(
    `iteration ${iteration}`,
    async () => (await ask(this, "GET", `/v1/runs/${this.runId}`)).json.iteration >= iteration,
  );
});

When("the run of {string} has come to iteration {int}", async function (agent, iteration) {
  await this.until(`iteration ${iteration} of ${agent}`, async () =>
    (await runsOf(this, agent)).some((run) => run.iteration >= iteration),
  );
});

Then("the server executes {int} runs", async function (count) {
  await this.until(
    `${count} runs executed`,
    async () => (await ask(this, "GET", "/v1/health")).json.loops.running === count,
  );
});

Then("the server has {int} paused runs", async function (count) {
  await this.until(
    `${count} paused runs`,
    async () => (await ask(this, "GET", "/v1/health")).json.loops.paused === count,
  );
});

Then("the run soon goes on", async function () {
  const iteration = async () => (await ask(this, "GET", `/v1/runs/${this.runId}`)).json.iteration;
  const before = await iteration();
  await this.until(`an iteration after ${before}`, async () => (await iteration()) > before);
});

Then("the journal soon has an event {string}", async function (type) {
  await this.until(type, () => find(this, type).length > 0);
});

Then("the file {string} counts from {int} to {int}", function (name, first, last) {
  const seen = this.read(name).trim().split("\n").map(Number);
  assert.deepEqual(
    seen,
    Array.from({ length: last - first + 1 }, (_, i) => first + i),
  );
});

Then(
  "the file {string} has each of {int} to {int} at least once and at most one of them twice",
  function (name, first, last) {
    const seen = this.read(name).trim().split("\n").map(Number);
    for (let i = first; i <= last; i += 1) assert.ok(seen.includes(i), `${i} is missing: ${seen}`);
    assert.ok(seen.length <= last - first + 2, String(seen));
  },
);

// An answer may have come that was not recorded when the process died: for each kill one request more.
Then(
  "at most {int} requests were repeated, with the same body and the same idempotency key",
  async function (count) {
    const { turns, went_back: wentBack, refused } = await stats(this);
    const repeated = turns.filter(({ received }) => received > 1);
    const times = repeated.reduce((sum, { received }) => sum + received - 1, 0);
    assert.ok(times <= count, JSON.stringify(repeated));
    assert.ok(
      repeated.every((turn) => turn.same_body && turn.same_key),
      JSON.stringify(repeated),
    );
    assert.deepEqual([wentBack, refused], [0, 0]);
  },
);

// ---- Following ----

When("I follow the events of the run", async function () {
  this.reader = new Follower(`${this.base}/v1/runs/${this.runId}/events`);
  await this.reader.begin();
});

When("I follow all events", async function () {
  this.reader = new Follower(`${this.base}/v1/events`);
  await this.reader.begin();
});

When("I follow the table of runs", async function () {
  this.reader = new Follower(`${this.base}/v1/stream`);
  await this.reader.begin();
});

Then("the table soon says {string} of {string}", async function (type, text) {
  await this.until(`${type} of ${text} on the table`, () =>
    this.reader.events.some(
      (event) => event.type === type && JSON.stringify(event.data).includes(text),
    ),
  );
});

When("I follow on where I was", async function () {
  await this.reader.end();
  await this.reader.begin(`${this.base}/v1/runs/${this.runId}/events`);
});

When("I follow all events on where I was", async function () {
  await this.reader.end();
  await this.reader.begin(`${this.base}/v1/events`);
});

async function comesTo(world, type, iteration) {
  await world.until(`${type} on the stream`, () =>
    world.reader.events.some(
      (event) =>
        event.type === type && (iteration === undefined || event.data.data.iteration === iteration),
    ),
  );
}

Then("what I follow comes to {string} with iteration {int}", function (type, iteration) {
  return comesTo(this, type, iteration);
});

Then("what I follow comes to {string}", function (type) {
  return comesTo(this, type);
});

function assertGapless(seqs) {
  assert.ok(seqs.length > 3);
  assert.deepEqual(
    seqs,
    seqs.map((_, i) => i + 1),
  );
}

Then("what I followed has the numbers from 1 on without gap", function () {
  assertGapless(this.reader.events.map((event) => event.data.seq));
});

Then("what I followed of agent {string} has the numbers from 1 on without gap", function (agent) {
  const { events } = this.reader;
  const created = events.find(
    ({ data }) => data.type === "run.created" && data.data.agent_id === agent,
  );
  const own = events.filter(({ data }) => data.run_id === created.data.run_id);
  assertGapless(own.map((event) => event.data.seq));
});

Then("each event reached me within {int} seconds of its time", function (seconds) {
  for (const { data, at } of this.reader.events) {
    assert.ok(at - Date.parse(data.time) < this.within(seconds), JSON.stringify(data));
  }
});

module.exports = { ask, serve };
