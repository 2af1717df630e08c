// SPDX-License-Identifier: Apache-2.0
// Steps about agents of role files: what their models were sent, and what came of it.
"use strict";

const { Then, When } = require("@cucumber/cucumber");
const assert = require("node:assert/strict");
const fs = require("node:fs");
const path = require("node:path");
const { stats } = require("./agents");
const { events, find, lines } = require("./journal");

// ---- What the model was sent ----

// All requests, in order: bodies with their headers.
function requests(world) {
  const folder = world.model.keep;
  return fs
    .readdirSync(folder)
    .filter((name) => name.endsWith(".json"))
    .sort()
    .map((name) => ({
      ...JSON.parse(fs.readFileSync(path.join(folder, name), "utf8")),
      headers: fs.readFileSync(path.join(folder, name.replace(".json", ".headers")), "utf8"),
    }));
}

function request(world, number) {
  const all = requests(world);
  assert.ok(all.length >= number, `there were ${all.length} requests`);
  return all[number - 1];
}

function words({ content }) {
  if (Array.isArray(content)) return content.map((part) => part.text ?? "").join("");
  return content ?? "";
}

Then("the model was asked {int} time(s)", async function (count) {
  assert.equal((await stats(this)).requests, count);
});

Then("the model server has answered each turn at most once", async function () {
  const seen = await stats(this);
  assert.deepEqual(
    [seen.repeated_turns, seen.went_back, seen.refused],
    [0, 0, 0],
    JSON.stringify(seen),
  );
});

Then("the model server has refused nothing", async function () {
  assert.equal((await stats(this)).refused, 0);
});

Then("a repeated request had the same body and the same idempotency key", async function () {
  const repeated = (await stats(this)).turns.filter((turn) => turn.received > 1);
  assert.ok(repeated.length > 0);
  for (const turn of repeated) assert.deepEqual([turn.same_body, turn.same_key], [true, true]);
});

Then("the last message of request {int} is", function (number, text) {
  assert.equal(words(request(this, number).messages.at(-1)), text);
});

Then("the last message of request {int} mentions {string}", function (number, text) {
  const said = words(request(this, number).messages.at(-1));
  assert.ok(said.includes(text), said);
});

Then("a message of request {int} mentions {string}", function (number, text) {
  const said = request(this, number).messages.map(words);
  assert.ok(
    said.some((one) => one.includes(text)),
    said.join("\n"),
  );
});

Then(/^request (\d+) has the messages (.+)$/, function (number, list) {
  assert.equal(
    request(this, Number(number))
      .messages.map((one) => one.role)
      .join(", "),
    list,
  );
});

Then("no request has more than {int} messages besides the system prompt", function (count) {
  const most = Math.max(...requests(this).map((one) => one.messages.length - 1));
  assert.ok(most <= count, String(most));
});

Then("the longest request has {int} messages besides the system prompt", function (count) {
  assert.equal(Math.max(...requests(this).map((one) => one.messages.length - 1)), count);
});

Then("each request begins with the system prompt and {string}", function (prompt) {
  for (const { messages } of requests(this)) {
    assert.deepEqual(
      messages.slice(0, 2).map((one) => one.role),
      ["system", "user"],
    );
    assert.equal(words(messages[1]), prompt);
  }
});

// A provider refuses an answer without its call, and a call without its answer.
Then(
  "in each request every answer of a tool follows its call, and every call has its answer",
  function () {
    for (const { messages } of requests(this)) {
      let open = [];
      for (const message of messages) {
        if (message.role === "tool") {
          assert.ok(
            open.includes(message.tool_call_id),
            `an answer without its call: ${message.tool_call_id}`,
          );
          open = open.filter((id) => id !== message.tool_call_id);
        } else {
          assert.deepEqual(open, [], "calls without answers");
          open = (message.tool_calls ?? []).map((call) => call.id);
        }
      }
      assert.deepEqual(open, []);
    }
  },
);

Then(/^request (\d+) offers the tools (.+)$/, function (number, list) {
  const { tools = [] } = request(this, Number(number));
  assert.deepEqual(
    tools
      .map((one) => one.function.name)
      .sort()
      .join(", "),
    list,
  );
});

Then("request {int} offers no tools", function (number) {
  assert.equal(request(this, number).tools, undefined);
});

Then(/^request (\d+) has the setting "(\w+)" (.+)$/, function (number, key, value) {
  assert.deepEqual(request(this, Number(number))[key], JSON.parse(value));
});

Then("request {int} has no setting {string}", function (number, key) {
  assert.equal(request(this, number)[key], undefined);
});

Then("request {int} has the header {string}", function (number, header) {
  const { headers } = request(this, number);
  assert.ok(headers.toLowerCase().includes(header.toLowerCase()), headers);
});

Then("the key is nowhere in what was printed or recorded", function () {
  const key = this.env.OPENAI_API_KEY;
  const logs = this.ask("logs", "last", "--json", "--output").stdout;
  assert.ok(!`${this.last.stdout}${this.last.stderr}${logs}`.includes(key));
});

// ---- What happened ----

Then("the summary is", function (text) {
  assert.ok(this.last.stdout.includes(text), this.last.stdout);
});

Then("stdout is exactly", function (text) {
  assert.equal(this.last.stdout, `${text}\n`);
});

Then("stdout is exactly {string}", function (text) {
  assert.equal(this.last.stdout, `${text}\n`);
});

Then("the run has the status {string} after {int} iteration(s)", function (status, iterations) {
  const last = events(this).pop();
  assert.deepEqual(
    [last.type, last.status, last.iteration],
    ["run.finished", status, iterations],
    JSON.stringify(last),
  );
});

Then(
  /^the call of "(\w+)" in turn (\d+) ended as (\w+), saying "(.*)"$/,
  function (name, turn, outcome, text) {
    const [done] = find(this, "tool.finished", { name, turn: String(turn) });
    assert.equal(done?.outcome, outcome, JSON.stringify(done));
    assert.ok(done.output.includes(text), done.output);
  },
);

Then(/^the call of "(\w+)" in turn (\d+) ended as (\w+)$/, function (name, turn, outcome) {
  const [done] = find(this, "tool.finished", { name, turn: String(turn) });
  assert.equal(done?.outcome, outcome, JSON.stringify(done));
});

Then("the tool {string} was called {int} time(s)", function (name, count) {
  const made = find(this, "tool.finished", { name }).filter(({ outcome }) =>
    ["ok", "error"].includes(outcome),
  );
  assert.equal(made.length, count);
});

Then("each call of a tool has one result", function () {
  const results = find(this, "tool.finished").map(({ turn, index }) => `${turn}/${index}`);
  assert.equal(new Set(results).size, results.length);
  const calls = find(this, "tool.requested").map(({ turn, index }) => `${turn}/${index}`);
  assert.deepEqual([...new Set(calls)].sort(), results.sort());
});

Then("the plan of the last update is", function (table) {
  const { plan } = find(this, "plan.updated").pop();
  const rows = plan.map(({ description, status, notes }) => [description, status, notes ?? ""]);
  assert.deepEqual(rows, table.rows());
});

Then("the plan of the last update has {int} step(s)", function (count) {
  assert.equal(find(this, "plan.updated").pop().plan.length, count);
});

Then("the run took less than {int} seconds", function (seconds) {
  assert.ok(
    this.last.end - this.last.begun < this.within(seconds),
    `${this.last.end - this.last.begun} ms`,
  );
});

Then("the run took at least {int} milliseconds", function (ms) {
  assert.ok(this.last.end - this.last.begun >= ms, `${this.last.end - this.last.begun} ms`);
});

Then("the last line of stdout has", function (table) {
  const last = lines(this.last.stdout).pop();
  for (const [key, value] of Object.entries(table.rowsHash())) {
    const found = typeof last[key] === "object" ? JSON.stringify(last[key]) : String(last[key]);
    assert.equal(found, value, JSON.stringify(last));
  }
});

// A line such as "role.yaml:7:5: error: spec.model.temperature: ..."
Then(
  "a finding at {int}:{int} of {string} is an {string} about {string}",
  function (line, column, file, kind, field) {
    const text = this.last.stderr + this.last.stdout;
    const isSaid = text
      .split("\n")
      .some(
        (one) =>
          one.includes(`${file}:${line}:${column}:`) && one.includes(kind) && one.includes(field),
      );
    assert.ok(isSaid, text);
  },
);

When("the model has been asked {int} time(s)", async function (count) {
  await this.until(`request ${count}`, async () => (await stats(this)).requests >= count);
});

Then("the normal form has at {string}", function (field, table) {
  const whole = JSON.parse(this.last.stdout);
  const part = field.split(".").reduce((object, key) => object[key], whole.normal ?? whole);
  for (const [key, value] of table.rows().concat([table.raw()[0]])) {
    assert.equal(part[key], JSON.parse(value), key);
  }
});

Then("the file {string} holds no run", function (name) {
  if (!fs.existsSync(this.path(name))) return;
  assert.equal(this.ask("runs", "--json").stdout.trim(), "");
});

Then("stderr or stdout does not mention {string}", function (text) {
  assert.ok(!`${this.last.stderr}${this.last.stdout}`.includes(text), this.last.stderr);
});

Then("the file {string} does not mention {string}", function (name, text) {
  assert.ok(!this.read(name).includes(text));
});

Then("the file {string} has no line twice", function (name) {
  const all = this.read(name).trim().split("\n");
  assert.equal(new Set(all).size, all.length, all.join("\n"));
});

Then("the last message of request {int} has at most {int} characters", function (number, most) {
  const { length } = words(request(this, number).messages.at(-1));
  assert.ok(length <= most, String(length));
});

Then("request {int} is not streamed", function (number) {
  assert.ok(!request(this, number).stream);
});

Then("the system prompt of request {int} mentions {string}", function (number, text) {
  const said = words(request(this, number).messages[0]);
  assert.ok(said.includes(text), said);
});

// ---- Recordings ----

function answers(world) {
  return find(world, "model.replied").map(({ turn, output, calls, tokens }) => ({
    turn,
    output,
    tokens,
    calls: (calls ?? []).map((call) => [call.name, call.arguments]),
  }));
}

When("the answers of the last run are kept", function () {
  this.answers = answers(this);
});

Then("the answers of the last run are the same", function () {
  assert.ok(this.answers.length > 0);
  assert.deepEqual(answers(this), this.answers);
});

When("the model server is gone, and no key is set", function () {
  this.model.child.kill();
  delete this.env.OPENAI_API_KEY;
  delete this.env.OPENAI_BASE_URL;
});

// Not the shell around it.
When("the run is killed with KILL", async function () {
  const [claimed] = find(this, "run.claimed");
  process.kill(Number(/pid=(\d+)/.exec(claimed.owner)[1]), "SIGKILL");
  await this.until("the end of the run", () =>
    this.ask("runs", "--json").stdout.includes("interrupted"),
  );
});
