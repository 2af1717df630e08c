// SPDX-License-Identifier: Apache-2.0
// Steps of those who come with the wrong token, by another name, or from another site.
"use strict";

const { Given, Then, When } = require("@cucumber/cucumber");
const assert = require("node:assert/strict");
const os = require("node:os");
const { answersOf, exchange, proxy, request, silentProxy } = require("../support/raw");
const { Follower } = require("../support/events");
const {
  administer,
  callAll,
  header,
  isProblem,
  operations,
  pause,
  portOf,
  remember,
  scopes,
  stateOf,
  token,
  unknownRun,
} = require("../support/operations");

Then("nothing has changed", function () {
  assert.equal(stateOf(this), this.before);
});

Given("a run of the agent {string}", function (agent) {
  const { code, stderr } = this.ask(
    "loop",
    "-q",
    "--agent",
    agent,
    "--max-iterations",
    "1",
    "--",
    "true",
  );
  assert.equal(code, 5, stderr);
  this.runId = JSON.parse(this.ask("runs", "--json").stdout.split("\n")[0]).run_id;
  remember(this);
});

// ---- Tokens ----

async function guarded(world) {
  return (await operations(world)).filter(({ scope }) => scope > 0);
}

Then(
  "every operation that is not public answers {int} {string} to",
  async function (status, code, table) {
    const chosen = await guarded(this);
    for (const [name, text] of table.raw()) {
      await callAll(this, chosen, text === "" ? {} : header(this, text), (answer, what) => {
        isProblem(answer, `${name}: ${what}`, status, code);
        assert.match(answer.headers["www-authenticate"], /^Bearer/);
      });
    }
  },
);

Then(
  "every operation that is not public answers {int} {string} to it",
  async function (status, code) {
    const headers = { authorization: `Bearer ${this.held}` };
    await callAll(this, await guarded(this), headers, (answer, what) =>
      isProblem(answer, what, status, code),
    );
  },
);

Then(
  "every operation that is not public answers {string} to two tokens at once",
  async function (code) {
    const chief = token(this, "chief", "--scope", "administer");
    const headers = [
      "authorization",
      `Bearer rondo_${"A".repeat(43)}`,
      "authorization",
      `Bearer ${chief}`,
    ];
    for (const { method, path } of await guarded(this)) {
      const lines = `${headers[0]}: ${headers[1]}\r\n${headers[2]}: ${headers[3]}\r\n`;
      const bytes = `${method} ${path} HTTP/1.1\r\nHost: localhost\r\n${lines}Connection: close\r\nContent-Length: 0\r\n\r\n`;
      const [answer] = answersOf((await exchange(portOf(this), bytes)).text);
      assert.deepEqual([answer.status, JSON.parse(answer.body).code], [400, code], path);
    }
  },
);

When("the token {string} of {int} second is over", async function (name, seconds) {
  this.held = token(this, name, "--scope", "administer", "--expires", `${seconds}s`);
  const headers = { authorization: `Bearer ${this.held}` };
  await this.until(
    "the end of the token",
    async () => (await request(this.base, "GET", "/v1/me", { headers })).status === 401,
  );
});

When("the token {string} is revoked", async function (name) {
  this.held = token(this, name, "--scope", "administer");
  const headers = { authorization: `Bearer ${this.held}` };
  assert.equal((await request(this.base, "GET", "/v1/me", { headers })).status, 200);
  assert.equal(this.ask("token", "revoke", name).code, 0);
});

When("I have a token of the scope {string}", function (scope) {
  this.heldRights = scopes[scope];
  this.held = token(this, scope, "--scope", scope);
});

When("I have a token of the scope {string} for the agent {string}", function (scope, agent) {
  this.heldRights = scopes[scope];
  this.held = token(this, agent, "--scope", scope, "--agent", agent);
  this.created = this.held;
});

Then("every other operation answers {int} {string}", async function (status, code) {
  const chosen = (await operations(this)).filter(
    ({ right }) => right !== "none" && !this.heldRights.includes(right),
  );
  assert.ok(chosen.length > 5);
  const headers = { authorization: `Bearer ${this.held}` };
  await callAll(this, chosen, headers, (answer, what) => isProblem(answer, what, status, code));
});

Then("every operation that it has the right to answers something else", async function () {
  // But not those that would change the run: they are there for their own scenarios.
  const chosen = (await operations(this)).filter(
    ({ right, id }) =>
      this.heldRights.includes(right) && !/^(resume|fork|continue|stop|pause|change)/.test(id),
  );
  const headers = { authorization: `Bearer ${this.held}` };
  await callAll(this, chosen, headers, (answer, what) =>
    assert.ok(![401, 403].includes(answer.status), what),
  );
});

Then(
  "every operation on that run answers {int}, as for a run that does not exist",
  async function (status) {
    const chosen = (await operations(this)).filter(({ pattern }) => pattern.includes("{run}"));
    assert.ok(chosen.length > 10);
    const headers = { authorization: `Bearer ${this.held}` };
    const texts = new Map();
    const without = (text, id) => text.replaceAll(id, "RUN");
    await callAll(this, chosen, headers, (answer, what, { method, pattern }) => {
      isProblem(answer, what, status, "not_found");
      texts.set(method + pattern, without(answer.text, this.runId));
    });
    const others = chosen.map((one) => ({
      ...one,
      path: one.path.replace(this.runId, unknownRun),
    }));
    await callAll(this, others, headers, (answer, what, { method, pattern }) => {
      assert.equal(without(answer.text, unknownRun), texts.get(method + pattern), what);
    });
  },
);

Then("no list or stream has anything of the agent {string}", async function (agent) {
  const headers = { authorization: `Bearer ${this.held}` };
  for (const path of [
    "/v1/runs",
    `/v1/runs?agent=${agent}`,
    "/v1/events?after=0",
    `/v1/events?after=0&agent=${agent}`,
    "/v1/warnings",
    "/v1/health",
  ]) {
    const { status, text } = await request(this.base, "GET", path, { headers });
    assert.ok(status === 200 || (status === 403 && path.includes("agent=")), `${path}: ${text}`);
    assert.ok(!text.includes(this.runId) && !text.includes(`"${agent}"`), `${path}: ${text}`);
  }
  for (const path of ["/v1/events?after=0", "/v1/stream?after=0"]) {
    const reader = new Follower(this.base + path, headers);
    await reader.begin();
    assert.equal(
      this.ask("loop", "-q", "--agent", agent, "--max-iterations", "1", "--", "true").code,
      5,
    );
    assert.equal(
      this.ask("loop", "-q", "--agent", "other", "--max-iterations", "1", "--", "true").code,
      5,
    );
    await this.until("the own run", () =>
      reader.events.some(({ data }) => JSON.stringify(data).includes('"other"')),
    );
    await reader.end();
    assert.ok(!JSON.stringify(reader.events).includes(`"${agent}"`), JSON.stringify(reader.events));
  }
});

Then("everything of the whole server answers {int} {string}", async function (status, code) {
  const headers = { authorization: `Bearer ${this.held}` };
  const chosen = (await operations(this)).filter(({ pattern }) =>
    /policies|sinks|deliveries|tokens|metrics/.test(pattern),
  );
  assert.ok(chosen.length > 10);
  await callAll(this, chosen, headers, (answer, what) => isProblem(answer, what, status, code));
});

Then(
  "no public operation has the words {string}, {string} or the run's id",
  async function (one, other) {
    const chosen = (await operations(this)).filter(
      ({ scope, id }) => scope === 0 && !/Asset|Dashboard|Description/.test(id),
    );
    await callAll(this, chosen, {}, (answer, what) => {
      assert.ok(
        [one, other, this.runId, this.project].every((word) => !answer.text.includes(word)),
        what,
      );
    });
  },
);

Then(
  "going on with that run is refused with {int} {string} on every way",
  async function (status, code) {
    const headers = { authorization: `Bearer ${this.held}`, "content-type": "application/json" };
    const [run] = (await request(this.base, "GET", "/v1/runs", { headers })).json.runs;
    for (const way of ["resume", "continue", "checkpoints/1/fork"]) {
      const path = `/v1/runs/${run.run_id}/${way}`;
      isProblem(await request(this.base, "POST", path, { headers, body: "{}" }), way, status, code);
    }
  },
);

Then("the worker ran once", function () {
  assert.equal(this.read("bodies"), "ran\n");
});

// ---- Proxies and names ----

Given("a {word} proxy of the same user in front of it", async function (style) {
  this.front =
    style === "silent" ? await silentProxy(portOf(this)) : await proxy(portOf(this), style);
  this.cleanups.push(() => {
    this.front.closeAllConnections();
    this.front.close();
  });
});

async function keep(world, base, path, options) {
  const answer = await request(base, "GET", path, options);
  world.answer = { ...answer, headers: new Headers(answer.headers) };
}

When("I ask the proxy for {string}", function (path) {
  return keep(this, `http://127.0.0.1:${this.front.address().port}`, path, {
    headers: { host: "rondo.example.org" },
  }).then(async () => {
    // A server without --host does not know that name: so a proxy that keeps it is of no use to anybody.
    if (this.answer.status !== 421) return;
    await keep(this, `http://127.0.0.1:${this.front.address().port}`, path);
  });
});

When("I ask the server itself for {string}", function (path) {
  return keep(this, this.base, path);
});

Then("it has said so once", function () {
  assert.equal(this.server.stderr.split("through a proxy").length, 2, this.server.stderr);
});

Then(
  "under the machine's own addresses it answers {int} without a token and {int} with one",
  async function (without, withOne) {
    const addresses = Object.values(os.networkInterfaces())
      .flat()
      .filter(({ family, internal }) => family === "IPv4" && !internal)
      .map(({ address }) => address);
    const headers = administer(this);
    for (const address of addresses) {
      const base = `http://${address}:${portOf(this)}`;
      assert.equal((await request(base, "GET", "/v1/me")).status, without, base);
      assert.equal((await request(base, "GET", "/v1/me", { headers })).status, withOne, base);
    }
    if (addresses.length === 0) this.log("this machine has no address but the loopback");
  },
);

Then("under these names it answers {int} with a token", async function (status, table) {
  for (const [name] of table.raw()) {
    const headers = { ...administer(this), ...header(this, `Host: ${name}`) };
    const answer = await request(this.base, "GET", "/v1/me", { headers });
    assert.equal(answer.status, status, `${name}: ${answer.text}`);
  }
});

// ---- Pages of other sites ----

async function everyOperation(world, chosen, status, code, table) {
  for (const [name, text] of table.raw()) {
    await callAll(world, chosen, header(world, text), (answer, what) => {
      isProblem(answer, `${name}: ${what}`, status, code);
      for (const key of Object.keys(answer.headers))
        assert.ok(!key.startsWith("access-control"), what);
    });
  }
}

Then("every operation answers {int} {string} to", async function (status, code, table) {
  await everyOperation(this, await operations(this), status, code, table);
});

Then(
  "every operation below {string} answers {int} {string} to",
  async function (top, status, code, table) {
    const chosen = (await operations(this)).filter(({ path }) => path.startsWith(`${top}/`));
    await everyOperation(this, chosen, status, code, table);
  },
);

Then("no answer allows another origin to read it", async function () {
  const chosen = (await operations(this)).filter(
    ({ method, path }) => method === "GET" && !path.endsWith("events"),
  );
  await callAll(this, chosen, {}, (answer, what) => {
    assert.equal(answer.headers["cross-origin-resource-policy"], "same-origin", what);
    for (const key of Object.keys(answer.headers))
      assert.ok(!key.startsWith("access-control"), what);
  });
});

When("I post to {string} as {string}", async function (path, type, body) {
  remember(this);
  const headers = type === "nothing" ? {} : { "content-type": type };
  const answer = await request(this.base, "POST", path, {
    headers: { ...headers, "content-length": body.length },
    body,
  });
  this.answer = { ...answer, headers: new Headers(answer.headers) };
});
