// SPDX-License-Identifier: Apache-2.0
// Steps about what the runtime recorded, read with the commands that a user would use.
"use strict";

const { Then } = require("@cucumber/cucumber");
const assert = require("node:assert/strict");

function lines(text) {
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line));
}

// Events of a run, each as one flat object: its fields beside seq, type and time.
function events(world, run = "last") {
  const result = world.ask("logs", run, "--json");
  assert.equal(result.code, 0, result.stderr);
  return lines(result.stdout)
    .filter((line) => line.seq !== undefined)
    .map(flat);
}

function flat(line) {
  return { ...line.data, seq: line.seq, type: line.type, time: line.time, run_id: line.run_id };
}

function matches(event, wanted) {
  return Object.entries(wanted).every(([key, value]) => {
    const isPlain = typeof event[key] !== "object";
    const found =
      event[key] === undefined
        ? undefined
        : isPlain
          ? String(event[key])
          : JSON.stringify(event[key]);
    if (value === "*") return found !== undefined;
    if (/^\*.*\*$/.test(value)) return found !== undefined && found.includes(value.slice(1, -1));
    return found === value;
  });
}

function find(world, type, wanted = {}) {
  return events(world).filter((event) => event.type === type && matches(event, wanted));
}

function show(list) {
  return list.map((event) => JSON.stringify(event).slice(0, 300)).join("\n");
}

function checkpoints(world, run = "last") {
  const result = world.ask("checkpoints", run, "--json");
  assert.equal(result.code, 0, result.stderr);
  return lines(result.stdout)
    .flatMap((line) => line.checkpoints ?? [line])
    .sort((a, b) => a.number - b.number);
}

// One checkpoint whole; its state as a Buffer.
function checkpoint(world, number, run = "last") {
  const result = world.ask("checkpoints", run, String(number), "--json");
  assert.equal(result.code, 0, result.stderr);
  const [whole] = lines(result.stdout);
  whole.bytes =
    whole.state_base64 !== undefined
      ? Buffer.from(whole.state_base64, "base64")
      : Buffer.from(whole.state ?? "");
  return whole;
}

function ofIteration(world, iteration) {
  const found = checkpoints(world)
    .filter((one) => one.iteration === iteration)
    .pop();
  assert.ok(found, `no checkpoint of iteration ${iteration}`);
  return checkpoint(world, found.number);
}

function assertFinishedOnce(world, first, last) {
  const finished = find(world, "iteration.finished").map((event) => event.iteration);
  const wanted = Array.from({ length: last - first + 1 }, (_, i) => first + i);
  assert.deepEqual(finished, wanted);
}

Then("the journal has an event {string} with", function (type, table) {
  const all = events(this);
  assert.ok(find(this, type, table.rowsHash()).length > 0, `no such event among\n${show(all)}`);
});

Then("the journal has an event {string}", function (type) {
  assert.ok(find(this, type).length > 0, `no such event among\n${show(events(this))}`);
});

Then("the run was paused {int} times", function (count) {
  assert.equal(find(this, "run.paused").length, count);
});

Then("the journal has no event {string} with", function (type, table) {
  assert.equal(find(this, type, table.rowsHash()).length, 0);
});

Then("the journal has no event {string}", function (type) {
  assert.equal(find(this, type).length, 0);
});

Then("the last event is {string} with status {string}", function (type, status) {
  const last = events(this).pop();
  assert.deepEqual([last.type, last.status], [type, status]);
});

Then("iterations {int} to {int} finished once each", function (first, last) {
  assertFinishedOnce(this, first, last);
});

Then("iterations {int} to {int} were each started and finished once", function (first, last) {
  assertFinishedOnce(this, first, last);
  assert.equal(find(this, "iteration.started").length, last - first + 1);
});

Then("{int} iterations have finished", function (count) {
  const finished = find(this, "iteration.finished").filter((event) => event.interrupted !== true);
  assert.equal(finished.length, count, show(events(this)));
});

Then("no iteration finished twice", function () {
  const finished = find(this, "iteration.finished").map((event) => event.iteration);
  assert.equal(new Set(finished).size, finished.length);
});

Then("the newest checkpoint is of iteration {int}", function (iteration) {
  assert.equal(checkpoints(this).pop().iteration, iteration);
});

Then(/^there are checkpoints of the iterations ([\d, ]+)$/, function (list) {
  const wanted = list.split(", ").map(Number);
  assert.deepEqual(
    checkpoints(this).map((one) => one.iteration),
    wanted,
  );
});

Then("the checkpoint of iteration {int} has the state {string}", function (iteration, state) {
  assert.equal(ofIteration(this, iteration).bytes.toString().trim(), state);
});

Then("the checkpoint of that event holds the state {string}", function (state) {
  const [event] = find(this, "checkpoint.saved", { how: "demand" });
  assert.equal(checkpoint(this, event.number).bytes.toString(), state);
});

Then(
  "the checkpoint of iteration {int} has a time within the last {int} minutes",
  function (iteration, minutes) {
    const { time } = ofIteration(this, iteration);
    const age = Date.now() - new Date(time).getTime();
    assert.ok(age >= 0 && age < minutes * 60000, `time ${time}`);
  },
);

Then("the checkpoint of iteration {int} has a SHA-256 digest", function (iteration) {
  assert.match(ofIteration(this, iteration).sha256, /^[0-9a-f]{64}$/);
});

Then(/^the checkpoint of iteration (\d+) has the custom data (.*)$/, function (iteration, json) {
  assert.deepEqual(ofIteration(this, Number(iteration)).custom_data, JSON.parse(json));
});

Then(/^the checkpoint of iteration (\d+) has the conditions (.*)$/, function (iteration, json) {
  assert.deepEqual(ofIteration(this, Number(iteration)).conditions, JSON.parse(json));
});

Then("condition {string} ended as {string} with reason {string}", function (name, status, reason) {
  const last = find(this, "condition.evaluated", { name }).pop();
  assert.deepEqual([last?.status, last?.reason], [status, reason], JSON.stringify(last));
});

Then(
  "condition {string} ended as {string} with reason {string} and exit code {int}",
  function (name, status, reason, code) {
    const last = find(this, "condition.evaluated", { name }).pop();
    assert.deepEqual([last?.status, last?.reason, last?.exit_code], [status, reason, code]);
  },
);

Then("after iteration {int} condition {string} was {string}", function (iteration, name, status) {
  const last = find(this, "condition.evaluated", { name, iteration: String(iteration) }).pop();
  assert.equal(last?.status, status);
});

Then("iteration {int} was started again after {string} was its state", function (iteration, state) {
  const starts = find(this, "iteration.started", { iteration: String(iteration) });
  assert.deepEqual(
    starts.map((event) => event.attempt),
    [1, 2],
  );
  const seen = this.read("seen").trim().split("\n");
  assert.deepEqual(
    seen.filter((line) => line === state),
    [state, state],
  );
});

Then("the recorded options give condition {string} {int} seconds", function (name, seconds) {
  const [created] = find(this, "run.created");
  const condition = created.spec.conditions.find((one) => one.name === name);
  assert.equal(condition.timeout_ns, seconds * 1e9);
});

Then("every evaluation took less than {int} seconds", function (seconds) {
  for (const event of find(this, "condition.evaluated")) {
    assert.ok(event.duration_ns < this.within(seconds) * 1e6);
  }
});

Then("the first iteration began within {int} seconds of the command", function (seconds) {
  const [started] = find(this, "iteration.started");
  const delay = new Date(started.time).getTime() - this.last.begun;
  assert.ok(delay < this.within(seconds), `${delay} ms`);
});

Then("between iterations there were at least {int} milliseconds", function (ms) {
  const finished = find(this, "iteration.finished").map((event) => new Date(event.time).getTime());
  const started = find(this, "iteration.started").map((event) => new Date(event.time).getTime());
  for (let i = 1; i < started.length; i += 1) {
    assert.ok(started[i] - finished[i - 1] >= ms, `${started[i] - finished[i - 1]} ms`);
  }
});

Then("the kept output of iteration {int} ends with {string}", function (iteration, text) {
  const [event] = find(this, "iteration.finished", { iteration: String(iteration) });
  assert.ok(event.output.trimEnd().endsWith(text), event.output.slice(-200));
});

Then(
  "the kept output of iteration {int} has at most {int} bytes of more than {int}",
  function (iteration, kept, total) {
    const [event] = find(this, "iteration.finished", { iteration: String(iteration) });
    assert.ok(Buffer.byteLength(event.output) <= kept);
    assert.ok(event.output_bytes > total, String(event.output_bytes));
  },
);

module.exports = { assertFinishedOnce, checkpoints, events, find, flat, lines };
