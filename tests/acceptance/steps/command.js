// SPDX-License-Identifier: Apache-2.0
// Steps that prepare a project, run commands in it, and look at what they printed and left.
"use strict";

const { Given, Then, When } = require("@cucumber/cucumber");
const assert = require("node:assert/strict");
const fs = require("node:fs");
const path = require("node:path");
const os = require("node:os");
const { events, find, lines } = require("./journal");

const head = "#!/bin/sh\n";

// ---- The project ----

Given("a worker", function (script) {
  this.write("worker.sh", `${head}${script}\n`, 0o755);
});

// Runs that did not work at the same time would wait here until their iteration is cut off.
Given("a worker that ends each iteration only when nine runs are in it", function () {
  const wait =
    'touch "in-$RONDO_ITERATION-$RONDO_RUN_ID"\n' +
    'while [ "$(ls | grep -c "^in-$RONDO_ITERATION-")" -lt 9 ]; do sleep 0.05; done\n';
  this.write("worker.sh", `${head}${wait}`, 0o755);
});

// The body waits for the file `go` in one iteration, after the rest of its work.
Given("a worker that stops to wait in iteration {int}", function (iteration, script) {
  const wait =
    `if [ "$RONDO_ITERATION" = ${iteration} ] && [ ! -e go ]; then\n` +
    '    touch "at-$RONDO_ITERATION"\n    while [ ! -e go ]; do sleep 0.02; done\nfi\n';
  this.write("worker.sh", `${head}${script}\n${wait}`, 0o755);
});

// A stand-in for the command line of a coding agent: it keeps what it was told in `tasks`.
Given("a coding agent {string} that has read its task and runs", function (name, script) {
  const folder = path.join(this.top, "agents");
  fs.mkdirSync(folder, { recursive: true });
  fs.writeFileSync(path.join(folder, name), `#!/bin/sh\ncat >>tasks\n${script}\n`, { mode: 0o755 });
  if (!this.env.PATH.startsWith(folder)) this.env.PATH = `${folder}:${this.env.PATH}`;
});

Given("a Makefile with the target {string} that runs {string}", function (target, command) {
  this.write("Makefile", `${target}:\n\t${command}\n`);
});

Given("a file {string} with", function (name, text) {
  this.write(name, `${text}\n`);
});

Given("the project is a git repository", async function () {
  await this.run("git init -q .");
});

// ---- Running ----

When(/^I run `(.+)`$/, async function (line) {
  await this.run(line);
});

When(/^I start `(.+)`$/, function (line) {
  this.start(line);
});

When("these run at the same time", async function (table) {
  this.many = table.raw().map(([line]) => this.start(line));
  await Promise.all(this.many.map(({ ended }) => ended));
});

When("iteration {int} is being worked on", async function (iteration) {
  await this.until(`iteration ${iteration}; ${this.it.stderr}`, () =>
    fs.existsSync(this.path(`at-${iteration}`)),
  );
});

When("the worker may go on", function () {
  this.write("go", "");
});

When("I kill it with KILL", async function () {
  this.it.child.kill("SIGKILL");
  await this.hasEnded(this.it);
});

// As `pkill -9 -f rondo` does: neither has time to end what it started.
When("I kill it and its supervisor with KILL", async function () {
  const { pid } = this.it.child;
  process.kill(pid, "SIGSTOP");
  const supervisors = fs
    .readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8")
    .split(" ")
    .filter((child) => child !== "")
    .filter((child) => fs.readFileSync(`/proc/${child}/cmdline`, "utf8").includes("__supervise"));
  assert.equal(supervisors.length, 1);
  process.kill(Number(supervisors[0]), "SIGKILL");
  this.it.child.kill("SIGKILL");
  await this.hasEnded(this.it);
});

When(/^I send it (STOP|CONT)$/, function (signal) {
  this.it.child.kill(`SIG${signal}`);
});

When(/^I start another one: `(.+)`$/, function (line) {
  this.start(line, "other");
});

// Signals of which this process has not taken note yet: a second one of a kind would be lost.
function pending(pid) {
  try {
    const status = fs.readFileSync(`/proc/${pid}/status`, "utf8");
    return BigInt(`0x${/^ShdPnd:\s*(\w+)$/m.exec(status)[1]}`);
  } catch {
    return 0n;
  }
}

When(/^I send it (INT|TERM)$/, async function (signal) {
  const { child } = this.it;
  child.kill(`SIG${signal}`);
  const bit = 1n << BigInt(os.constants.signals[`SIG${signal}`] - 1);
  await this.until(`that ${signal} is taken`, () => (pending(child.pid) & bit) === 0n);
});

When(/^I end the other one with (INT|TERM)$/, async function (signal) {
  this.other.child.kill(`SIG${signal}`);
  this.last = await this.hasEnded(this.other);
});

When("it has ended", async function () {
  this.last = await this.hasEnded(this.it);
});

When("the file {string} appears", async function (name) {
  await this.until(`file ${name}`, () => fs.existsSync(this.path(name)));
});

// A part of what one prints while it runs.
async function says(world, one, text) {
  await world.until(`"${text}" of ${one.line}`, () => {
    const isOver = one.end !== undefined;
    const isSaid = (one.stdout + one.stderr).includes(text);
    assert.ok(isSaid || !isOver, `${one.stdout}${one.stderr}`);
    return isSaid;
  });
}

When("it has said {string}", function (text) {
  return says(this, this.it, text);
});

When("the other one says {string}", function (text) {
  return says(this, this.other, text);
});

// ---- How it ended ----

function assertCode(result, codes) {
  assert.ok(
    codes.includes(result.code),
    `exit code ${result.code ?? result.signal}, not ${codes.join(" or ")}\n` +
      `${result.line}\n${result.stdout.slice(-1500)}\n${result.stderr.slice(-1500)}`,
  );
}

const codes = /^(?:the|its) exit code is (\d+(?: or \d+)*)$/;
Then(codes, function (list) {
  assertCode(this.last, list.split(" or ").map(Number));
});

Then("each of them exits with code {int}", function (code) {
  for (const result of this.many) assertCode(result, [code]);
});

// ---- What it printed ----

function assertMentions(where, text) {
  assert.ok(where.includes(text), `no "${text}" in:\n${where.slice(-3000)}`);
}

Then("stdout mentions {string}", function (text) {
  assertMentions(this.last.stdout, text);
});

Then(/^a line of stdout matches `(.+)`$/, function (pattern) {
  assert.match(this.last.stdout, new RegExp(pattern, "m"));
});

Then("stdout mentions {string} once", function (text) {
  assert.equal(this.last.stdout.split(text).length - 1, 1, this.last.stdout);
});

Then("stderr or stdout mentions {string} once", function (text) {
  const out = this.last.stderr + this.last.stdout;
  assert.equal(out.split(text).length - 1, 1, out);
});

Then("stdout does not mention {string}", function (text) {
  assert.ok(!this.last.stdout.includes(text), this.last.stdout);
});

Then("stderr does not mention {string}", function (text) {
  assert.ok(!this.last.stderr.includes(text), this.last.stderr);
});

Then("stderr mentions {string}", function (text) {
  assertMentions(this.last.stderr.toLowerCase(), text.toLowerCase());
});

Then("stderr or stdout mentions {string}", function (text) {
  assertMentions(this.last.stderr + this.last.stdout, text);
});

Then("the messages say that {string} is checked by {string}", function (condition, command) {
  const text = this.last.stderr + this.last.stdout;
  const isSaid = text
    .split("\n")
    .some((line) => line.includes(condition) && line.includes(command));
  assert.ok(isSaid, text);
});

Then("there are no terminal control sequences", function () {
  // eslint-disable-next-line no-control-regex
  assert.doesNotMatch(this.last.stderr + this.last.stdout, /[\x1b\r\x08]/);
});

Then("every line of stdout is a JSON object", function () {
  for (const line of lines(this.last.stdout)) assert.equal(typeof line, "object");
});

Then("the events in stdout are numbered from 1 without gap", function () {
  const numbers = lines(this.last.stdout)
    .filter((line) => line.seq !== undefined)
    .map((line) => line.seq);
  assert.deepEqual(
    numbers,
    numbers.map((_, i) => i + 1),
  );
  assert.ok(numbers.length > 5);
});

Then(
  "the last line of stdout has the status {string} and exit code {int}",
  function (status, code) {
    const last = lines(this.last.stdout).pop();
    assert.deepEqual([last.status, last.exit_code], [status, code], JSON.stringify(last));
  },
);

function runs(world) {
  return lines(world.last.stdout).flatMap((line) => line.runs ?? [line]);
}

Then(
  "stdout lists the agents {string}, {string} with the statuses {string}, {string}",
  function (a, b, c, d) {
    const seen = runs(this).map((run) => [run.agent_id, run.status]);
    assert.deepEqual(seen, [
      [a, c],
      [b, d],
    ]);
  },
);

Then(/^stdout lists (\d+) runs?$/, function (count) {
  assert.equal(runs(this).length, Number(count), this.last.stdout);
});

When("I run `rondo show` with a unique prefix of the first run's id", async function () {
  const all = runs({ last: this.ask("runs", "--json") });
  const id = all[all.length - 1].run_id;
  const others = all.map((run) => run.run_id).filter((other) => other !== id);
  let length = 1;
  while (others.some((other) => other.startsWith(id.slice(0, length)))) length += 1;
  await this.run(`rondo show ${id.slice(0, length)}`);
});

Then(
  "each agent {string}, {string}, {string}, {string} has one run with status {string} after {int} iterations",
  function (a, b, c, d, status, count) {
    const all = runs({ last: this.ask("runs", "--json") });
    for (const agent of [a, b, c, d]) {
      const [run, ...others] = all.filter((one) => one.agent_id === agent);
      assert.equal(others.length, 0);
      assert.deepEqual([run.status, run.iteration], [status, count]);
      const denied = events(this, run.run_id).filter((event) => event.type === "gate.denied");
      assert.deepEqual(
        denied.map((event) => event.iteration),
        [count + 1],
      );
    }
  },
);

// ---- What it left ----

Then("the file {string} does not exist", function (name) {
  assert.ok(!fs.existsSync(this.path(name)));
});

Then("the file {string} soon has the line {string}", function (name, line) {
  return this.until(
    `the line ${line}`,
    () => fs.existsSync(this.path(name)) && this.read(name).split("\n").includes(line),
  );
});

Then("the file {string} has the line {string}", function (name, line) {
  const all = this.read(name).split("\n");
  assert.ok(all.includes(line), all.join("\n"));
});

Then(/^the file "([^"]*)" has the lines (.*)$/, function (name, list) {
  const wanted = [...list.matchAll(/"([^"]*)"/g)].map((match) => match[1]);
  assert.deepEqual(this.read(name).replace(/\n$/, "").split("\n"), wanted);
});

Then("the file {string} names the run's id as {string}", function (name, variable) {
  const [created] = find(this, "run.created");
  assert.ok(this.read(name).split("\n").includes(`${variable}=${created.run_id}`));
});

Then("the files {string} and {string} are equal", function (one, other) {
  assert.deepEqual(fs.readFileSync(this.path(one)), fs.readFileSync(this.path(other)));
});

Then("the file {string} has the mode {int}", function (name, mode) {
  assert.equal((fs.statSync(this.path(name)).mode & 0o777).toString(8), String(mode));
});

Then(
  "the file {string} has each of {int} to {int} once but {int} at most twice",
  function (name, first, last, twice) {
    const seen = this.read(name).trim().split("\n").map(Number);
    for (let i = first; i <= last; i += 1) {
      const count = seen.filter((one) => one === i).length;
      assert.ok(count === 1 || (count === 2 && i === twice), `${i}: ${count} times`);
    }
  },
);

Then("iteration {int} found the state {string}", function (iteration, state) {
  const name = `found-${iteration}`;
  if (state === "*none") assert.ok(!fs.existsSync(this.path(name)));
  else assert.equal(this.read(name).trim(), state);
});

Then("the file {string} mentions {string}", function (name, text) {
  assert.ok(this.read(name).includes(text), this.read(name));
});

Then("no process of {string} is left", function (text) {
  assert.deepEqual(this.processes(text), []);
});

Then("soon no process of {string} is left", async function (text) {
  await this.until(`no process of ${text}`, () => this.processes(text).length === 0);
});

function feedback(world, iteration) {
  return JSON.parse(world.read(`feedback-${iteration}.json`));
}

Then("the feedback of iteration {int} is empty", function (iteration) {
  assert.deepEqual(feedback(this, iteration).conditions, []);
});

Then(
  "the feedback of iteration {int} says that {string} is {string} because {string} with exit code {int}",
  function (iteration, name, status, reason, code) {
    const one = feedback(this, iteration).conditions.find((condition) => condition.name === name);
    assert.deepEqual([one.status, one.reason, one.exit_code], [status, reason, code]);
  },
);

Then("the feedback of iteration {int} contains the output {string}", function (iteration, text) {
  assertMentions(
    feedback(this, iteration)
      .conditions.map((one) => one.output)
      .join("\n"),
    text,
  );
});

/** The calls that wait for a person, newest last. */
const inbox = (world) =>
  world
    .ask("inbox", "--json")
    .stdout.split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line));

async function decide(world, verb, comment = "") {
  const [entry] = inbox(world);
  world.decided = entry.request_id;
  await world.run(`rondo ${verb} ${entry.request_id} ${comment}`);
}

When("I approve the call that waits", async function () {
  await decide(this, "approve");
});

When("I show the call that waits", async function () {
  const [entry] = inbox(this);
  await this.run(`rondo inbox show ${entry.request_id}`);
});

When("I reveal {string} of the call that waits", async function (pointer) {
  const [entry] = inbox(this);
  await this.run(`rondo inbox reveal ${entry.request_id} ${pointer}`);
});

Given("a desk file that hides {string} from me, who may reveal it", function (pointer) {
  const me = os.userInfo().username;
  const text = `format: 1
people: {${me}: {roles: [me]}}
desks: {operators: {roles: [me]}}
redaction: [{tool: run_shell, pointers: [${pointer}], hidden_from: [me], reveal: [me]}]
`;
  this.write("STATE/desks.yaml", text, 0o600);
});

When("I reject the call that waits", async function () {
  await decide(this, "reject");
});

When("I reject the call that waits, saying {string}", async function (comment) {
  await decide(this, "reject", `-m '${comment}'`);
});

When("I reject the same call, saying {string}", async function (comment) {
  await this.run(`rondo reject ${this.decided} -m '${comment}'`);
});
