// SPDX-License-Identifier: Apache-2.0
// Steps that start a daemon and follow what it makes of events.
"use strict";

const { Given, Then, When } = require("@cucumber/cucumber");
const assert = require("node:assert/strict");
const { serve } = require("./server");

Given(/^a daemon of `(.+)`$/, function (words) {
  return serve(this, words, "daemon");
});

When("the daemon starts again", function () {
  return serve(this, this.server.options, "daemon");
});

/** Lines of a command that writes JSON. */
function listed(world, ...words) {
  return world
    .ask(...words, "--json")
    .stdout.split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line));
}

Then("{int} run(s) of {string} soon is/are {string}", async function (count, agent, status) {
  let runs = [];
  const are = () => {
    runs = listed(this, "runs", "--agent", agent);
    return runs.filter((run) => run.status === status).length === count;
  };
  await this.until(`${count} runs of ${agent} that are ${status}`, are).catch((error) => {
    throw new Error(`${error.message}\n${JSON.stringify(runs)}\n${this.server.stderr}`);
  });
});

Given("a store in a file", () => {}); // As every scenario has, unless it names another one.

Then("at least {int} runs of {string} are soon {string}", async function (count, agent, status) {
  await this.until(`${count} runs of ${agent} that are ${status}`, () => {
    const runs = listed(this, "runs", "--agent", agent);
    return runs.filter((run) => run.status === status).length >= count;
  });
});

// Of the clock that started it.
Then("each run of {string} has another time", function (agent) {
  const times = listed(this, "runs", "--agent", agent).map(({ run_id: id }) => {
    const { stdout } = this.ask("logs", id, "--json");
    return /scheduled_for\W+([\d-]+T[\d:.]+)/.exec(stdout)[1];
  });
  assert.equal(new Set(times).size, times.length, times.sort().join("\n"));
});

Then("the source of type {string} is soon on duty", async function (type) {
  await this.until(`a source of type ${type}`, () =>
    listed(this, "sources").some((source) => source.type === type && source.problem === null),
  );
});

When("I write {string}", function (name) {
  this.replace(name, "hello\n");
});

When("I send the server TERM", function () {
  this.server.child.kill("SIGTERM");
});

Then("the server has ended with {int}", async function (code) {
  await this.hasEnded(this.server);
  assert.equal(this.server.code, code, this.server.stderr);
});
