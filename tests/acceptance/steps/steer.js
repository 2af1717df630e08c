// SPDX-License-Identifier: Apache-2.0
// Steps about the commands that steer runs and look after a store.
"use strict";

const { Then } = require("@cucumber/cucumber");
const assert = require("node:assert/strict");
const fs = require("node:fs");
const path = require("node:path");
const { checkpoints, events, lines } = require("./journal");

function listed(world, ...words) {
  const result = world.ask(...words);
  assert.equal(result.code, 0, result.stderr);
  return lines(result.stdout);
}

const runs = (world) => listed(world, "runs", "--all", "--json");

// Also before there is a store.
function statuses(world) {
  return lines(world.ask("runs", "--all", "--json").stdout)
    .filter((one) => one.type !== "error")
    .map((run) => `${run.agent_id} ${run.status}`);
}

// ---- What was printed ----

// A value as it is, or with * around it for a part of it; $RUN is the first run of the store.
function fits(found, wanted) {
  const text = typeof found === "string" ? found : JSON.stringify(found);
  if (/^\*.*\*$/.test(wanted)) return text !== undefined && text.includes(wanted.slice(1, -1));
  return text === wanted;
}

Then("stdout is JSON with", function (table) {
  const [object, ...others] = lines(this.last.stdout);
  assert.equal(others.length, 0, this.last.stdout);
  for (const [name, value] of table.raw()) {
    const wanted = value === "$RUN" ? runs(this).at(-1).run_id : value;
    assert.ok(fits(object[name], wanted), `${name} is not ${wanted} in ${this.last.stdout}`);
  }
});

Then("stdout lists the runs", function (table) {
  const seen = lines(this.last.stdout).map((run) => [run.agent_id, run.status]);
  assert.deepEqual(seen.sort(), table.raw().sort());
});

Then("`rondo runs` soon says that {string} is {string}", async function (agent, status) {
  await this.until("it", () => statuses(this).includes(`${agent} ${status}`)).catch((error) => {
    throw new Error(`${error.message}\n${statuses(this).join("\n")}`);
  });
});

Then(/^`rondo (warnings [^`]+)` soon lists$/, async function (words, table) {
  const seen = () =>
    listed(this, ...words.split(" "))
      .map((one) => [one.agent_id, one.kind])
      .sort();
  const wanted = JSON.stringify(table.raw().sort());
  await this.until(words, () => JSON.stringify(seen()) === wanted).catch((error) => {
    throw new Error(`${error.message}\n${JSON.stringify(seen())}`);
  });
});

Then("`rondo sinks deliveries` soon lists nothing", async function () {
  await this.until(
    "no delivery waits",
    () => listed(this, "sinks", "deliveries", "--json").length === 0,
  );
});

// ---- What came of it ----

Then("between the pause and its end no iteration began", function () {
  const types = events(this).map(({ type }) => type);
  const held = types.slice(types.indexOf("run.paused"), types.indexOf("run.continued"));
  assert.ok(held.length > 0, types.join());
  assert.ok(!held.includes("iteration.started"), held.join());
});

Then(
  "the run that was forked has its {int} iterations and {int} checkpoints as before",
  function (iterations, count) {
    const run = runs(this).at(-1).run_id;
    const finished = events(this, run).filter(({ type }) => type === "iteration.finished");
    assert.deepEqual(
      finished.map(({ iteration }) => iteration),
      Array.from({ length: iterations }, (_, i) => i + 1),
    );
    assert.equal(checkpoints(this, run).length, count);
  },
);

Then("the token that was printed is in no file", function () {
  const { token } = JSON.parse(this.last.stdout);
  const folder = this.state();
  const names = fs.readdirSync(folder);
  assert.ok(names.length > 0);
  for (const name of names)
    assert.ok(!fs.readFileSync(path.join(folder, name)).includes(token), name);
});
