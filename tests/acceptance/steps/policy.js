// SPDX-License-Identifier: Apache-2.0
// Steps about policies: writing them as an administrator does, and what they did to runs.
"use strict";

const { Given, Then, When } = require("@cucumber/cucumber");
const assert = require("node:assert/strict");
const fs = require("node:fs");
const { events, find, lines } = require("./journal");

const beside = "STATE/rondo.cedar";
const entities = "STATE/rondo.entities.json";
const links = "STATE/rondo.links.json";

// Put a file in the place of another one at once, as careful editors do.
function replace(world, name, text) {
  world.write(`${name}.new`, `${text}\n`);
  fs.renameSync(world.path(`${name}.new`), world.path(name));
}

function limited(count, id = "limit.iterations") {
  return (
    "permit (principal, action, resource);\n" +
    `@id("${id}") @reason("enough is enough")\n` +
    'forbid (principal, action == Action::"iterate", resource)\n' +
    `unless { context.iteration < ${count} };`
  );
}

// ---- The administrator ----

Given(/^Rondo's policies have the Cedar rule "max_iterations: (\d+)"$/, function (count) {
  replace(this, beside, limited(count));
});

Given("an agent is executing with a policy limit of {int} iterations", function (count) {
  replace(this, beside, limited(count));
});

Given("the policies", function (text) {
  replace(this, beside, text);
});

Given("the policies {string}", function (name, text) {
  replace(this, name, text);
});

Given("the entities", function (text) {
  replace(this, entities, text);
});

Given("the entities {string}", function (name, text) {
  replace(this, name, text);
});

Given("the template links", function (text) {
  replace(this, links, text);
});

Given("entities for {int} agents, where agent N may take N iterations", function (count) {
  const all = Array.from({ length: count }, (_, i) => ({
    uid: { type: "Agent", id: `agent-${i + 1}` },
    attrs: { max_iterations: i + 1 },
    parents: [],
  }));
  replace(this, entities, JSON.stringify(all));
});

When("the administrator updates the Cedar policy to max_iterations: {int}", function (count) {
  replace(this, beside, limited(count));
});

When("the administrator replaces the policies with", function (text) {
  replace(this, beside, text);
});

When("the administrator replaces the entities with", function (text) {
  replace(this, entities, text);
});

When(
  "the administrator writes into the policy file, where it is, a limit of {int} iterations",
  function (count) {
    fs.writeFileSync(this.path(beside), `${limited(count)}\n`);
  },
);

When("the administrator removes the policy file", function () {
  fs.rmSync(this.path(beside));
});

When("a copy of the policy file is kept", function () {
  this.kept = this.read(beside);
});

Then("the policy file is as it was", function () {
  assert.equal(this.read(beside), this.kept);
});

// ---- Runs that are told apart by their agents ----

function runs(world) {
  return lines(world.ask("runs", "--limit", "1000", "--json").stdout).flatMap(
    (line) => line.runs ?? [line],
  );
}

function runOf(world, agent) {
  const found = runs(world).filter((run) => run.agent_id === agent);
  assert.equal(found.length, 1, `${found.length} runs of ${agent}`);
  return found[0];
}

When("{int} agents run at the same time", async function (count) {
  const line = (i) => `rondo loop -q --agent agent-${i} -- ./worker.sh`;
  this.many = Array.from({ length: count }, (_, i) => this.start(line(i + 1)));
  await Promise.all(this.many.map(({ ended }) => ended));
});

Then("each of the {int} agents was stopped at its own limit by {string}", function (count, policy) {
  for (let i = 1; i <= count; i += 1) {
    const run = runOf(this, `agent-${i}`);
    assert.deepEqual([run.status, run.iteration], ["max_iterations", i]);
    const denied = events(this, run.run_id).filter((event) => event.type === "gate.denied");
    assert.deepEqual(
      denied.map((event) => [event.iteration, event.limit, event.value, event.policy]),
      [[i + 1, i, i, policy]],
    );
  }
});

Then(
  "the run of agent {string} has the status {string} after {int} iteration(s)",
  function (agent, status, count) {
    const run = runOf(this, agent);
    assert.deepEqual([run.status, run.iteration], [status, count]);
  },
);

When(
  "agents {string}, {string} and {string} work in processes of their own",
  async function (a, b, c) {
    this.many = [a, b, c].map((agent) =>
      this.start(`rondo loop -q --agent ${agent} -- ./worker.sh`),
    );
    for (const agent of [a, b, c]) {
      await this.until(`work of ${agent}`, () => fs.existsSync(this.path(`at-${agent}`)));
    }
  },
);

When("all of them have ended", async function () {
  await Promise.all(this.many.map((one) => this.hasEnded(one)));
});

Then(
  "each of them was told of the same change from {int} to {int} iterations",
  function (before, after) {
    const digests = new Set();
    for (const run of runs(this)) {
      const [, change, ...more] = events(this, run.run_id).filter(
        (event) => event.type === "policy.changed",
      );
      assert.equal(more.length, 0);
      assert.deepEqual([change.old_limits.iterations, change.limits.iterations], [before, after]);
      digests.add(`${change.old_sha256} ${change.sha256}`);
    }
    assert.equal(digests.size, 1);
  },
);

// `lines` are command lines with the status that each has to end with.
When("these run at the same time, {int} times each, and end with", async function (times, table) {
  const rows = table.hashes();
  const all = rows.flatMap((row, i) =>
    Array.from({ length: times }, (_, j) => ({ ...row, agent: `kind-${i}-${j}` })),
  );
  const started = all.map((row) => this.start(`rondo loop -q --agent ${row.agent} ${row.options}`));
  await Promise.all(started.map((one) => this.hasEnded(one)));
  this.sessions = all.map((row, i) => ({ ...row, result: started[i] }));
});

Then("all {int} sessions have ended as they should", function (count) {
  assert.equal(this.sessions.length, count);
  for (const { agent, status, code, result } of this.sessions) {
    assert.equal(String(result.code), code, `${result.line}\n${result.stderr}`);
    const run = runOf(this, agent);
    const last = events(this, run.run_id).pop();
    assert.deepEqual(
      [run.status, last.type, last.status],
      [status, "run.finished", status],
      result.line,
    );
  }
});

// ---- What is on record ----

function changes(world) {
  return find(world, "policy.changed");
}

Then(
  "the policy update is in the journal: from {int} to {int} iterations",
  function (before, after) {
    const [first, second, ...more] = changes(this);
    assert.equal(more.length, 0);
    assert.deepEqual(
      [first.limits.iterations, second.old_limits.iterations, second.limits.iterations],
      [before, before, after],
    );
    assert.match(second.sha256, /^[0-9a-f]{64}$/);
    assert.notEqual(second.sha256, first.sha256);
    assert.equal(second.old_sha256, first.sha256);
    assert.equal(second.source, this.path(beside));
    assert.ok(second.by.length > 0);
  },
);

Then("the denial names the digest of the policies in force", function () {
  const [denied] = find(this, "gate.denied");
  assert.equal(denied.sha256, changes(this).pop().sha256);
});

Then("the program names the digest of the policies in force", function () {
  const [, printed] = /^violation sha256 ([0-9a-f]{64})$/m.exec(this.last.stdout);
  assert.equal(printed, changes(this).pop().sha256);
});

Then(
  "the change before iteration {int} is from digest to digest, by {string}",
  function (iteration, by) {
    const all = events(this);
    const [first, second] = changes(this);
    const start = all.find(
      (event) => event.type === "iteration.started" && event.iteration === iteration,
    );
    assert.equal(second.old_sha256, first.sha256);
    assert.notEqual(second.sha256, first.sha256);
    assert.ok(second.by.includes(by), second.by);
    assert.ok(second.seq < start.seq);
  },
);

Then(/^the warnings are (.+)$/, function (list) {
  const seen = find(this, "limit.warning").map(
    (event) => `${event.value} of ${event.limit} ${event.limit_name}`,
  );
  assert.deepEqual(seen, list.split(", "));
});

Then(
  "there was exactly one warning, when iteration {int} of {int} began",
  function (iteration, limit) {
    const warnings = find(this, "limit.warning", { limit_name: "iterations" });
    assert.deepEqual(
      warnings.map((event) => [event.iteration, event.value, event.limit]),
      [[iteration, iteration, limit]],
    );
    const start = find(this, "iteration.started", { iteration: String(iteration) })[0];
    assert.equal(warnings[0].seq + 1, start.seq);
  },
);

Then("the messages of the one that runs mention {string}", async function (text) {
  await this.until(text, () => (this.it.stderr + this.it.stdout).includes(text));
});

function history(world) {
  return lines(world.ask("policy", "history", "--json").stdout).sort((a, b) => a.number - b.number);
}

Then(/^the history of policies is (.+), the oldest first$/, function (list) {
  const all = history(this);
  assert.deepEqual(all.map((entry) => `"${entry.how}"`).join(", "), list);
  assert.equal(all.pop().digest, changes(this).pop().sha256);
});

When("I show the policies that were in force before", async function () {
  await this.run(`rondo policy show ${history(this).slice(-2)[0].digest.slice(0, 12)}`);
});

Then("the policies were recorded once", function () {
  assert.equal(changes(this).length, 1);
});
