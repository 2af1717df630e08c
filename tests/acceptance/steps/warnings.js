// SPDX-License-Identifier: Apache-2.0
// Steps about warnings that reach people.
"use strict";

const { Given, Then, When } = require("@cucumber/cucumber");
const assert = require("node:assert/strict");
const { spawnSync } = require("node:child_process");
const crypto = require("node:crypto");
const fs = require("node:fs");
const { Listener } = require("../support/listener");

Given("somebody who listens at an address", async function () {
  this.listener = new Listener();
  await this.listener.listen();
  this.cleanups.push(() => this.listener.close());
  Object.assign(this.values, { $HOOK: this.listener.url, $PROJECT: this.project });
});

Given("the listener answers 503 once", function () {
  this.listener.refusals = 1;
});

Given("the variable {string} is that address", function (name) {
  this.env[name] = this.listener.url;
});

Then("somebody gets a result with", async function (table) {
  const results = () =>
    this.listener.requests.map(({ body }) => JSON.parse(body)).filter((one) => "success" in one);
  const isIt = (one) => table.raw().every(([name, value]) => String(one[name]) === value);
  await this.until("a result", () => results().some(isIt)).catch((error) => {
    throw new Error(`${error.message}\n${JSON.stringify(results())}`);
  });
});

function told(world, kind) {
  const messages = new Map();
  for (const { headers, body } of world.listener.requests) {
    messages.set(headers["webhook-id"], JSON.parse(body));
  }
  return [...messages.values()]
    .filter((one) => one.type === `run.warning.${kind}`)
    .map((one) => one.data);
}

Then("somebody is told of a warning of kind {string} with", async function (kind, table) {
  const wanted = table.raw();
  const isIt = (data) => wanted.every(([name, value]) => String(data[name]) === value);
  await this.until(`a warning of kind ${kind}`, () => told(this, kind).some(isIt)).catch(
    (error) => {
      throw new Error(
        `${error.message}\n${JSON.stringify(told(this, kind))}\n${this.server.stderr}`,
      );
    },
  );
});

Then("somebody was told of {int} warning(s) of kind {string}", function (count, kind) {
  assert.equal(told(this, kind).length, count, JSON.stringify(told(this, kind)));
});

Then("somebody is told of each of them once, at {int} of {int}", async function (value, limit) {
  const ids = () =>
    told(this, "limit")
      .map((one) => one.run_id)
      .sort();
  await this.until("all of them", () => ids().length >= this.manyIds.length);
  assert.deepEqual(ids(), [...this.manyIds].sort());
  for (const one of told(this, "limit")) assert.deepEqual([one.value, one.limit], [value, limit]);
});

Then("the same message came {int} times", async function (count) {
  const ids = () => this.listener.requests.map(({ headers }) => headers["webhook-id"]);
  await this.until(`${count} attempts`, () => ids().length >= count);
  assert.equal(new Set(ids()).size, 1);
});

// Standard Webhooks 1.0: HMAC-SHA256 over id.timestamp.body.
Then("every message is signed with the secret that was printed", function () {
  const [, printed] = /whsec_(\S+)/.exec(this.children.map(({ stdout }) => stdout).join("\n"));
  const secret = Buffer.from(printed, "base64");
  assert.ok(this.listener.requests.length > 0);
  for (const { headers, body } of this.listener.requests) {
    const text = `${headers["webhook-id"]}.${headers["webhook-timestamp"]}.${body}`;
    const wanted = crypto.createHmac("sha256", secret).update(text).digest("base64");
    assert.equal(headers["webhook-signature"], `v1,${wanted}`);
  }
});

Then(/^`rondo warnings` names "([^"]*)"$/, function (agent) {
  const { stdout, stderr } = this.ask("warnings");
  assert.ok(stdout.includes(agent), stdout + stderr);
});

When("the disk is full", function () {
  spawnSync("sh", ["-c", "cat /dev/zero >>disk/fill 2>/dev/null"], { cwd: this.project });
});

When("the disk has room again", function () {
  fs.rmSync(this.path("disk/fill"));
});
