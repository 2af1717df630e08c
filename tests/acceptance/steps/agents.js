// SPDX-License-Identifier: Apache-2.0
// Steps that prepare agents of role files: a model server that says what a scenario wants, roles,
// and servers that agents reach.
"use strict";

const { Given, Then, When } = require("@cucumber/cucumber");
const assert = require("node:assert/strict");
const { spawn } = require("node:child_process");
const fs = require("node:fs");
const http = require("node:http");
const path = require("node:path");
const { build, root } = require("./world");

// ---- The model ----

// Start the mock model server, once in a scenario, and make it the provider `openai`.
async function serve(world) {
  if (world.model !== undefined) return world.model;
  const keep = path.join(world.top, "requests");
  fs.mkdirSync(keep);
  const child = spawn(
    path.join(build, "bench/mock_model"),
    ["--keep-bodies", keep, "--die-with-parent"],
    { stdio: ["ignore", "pipe", "inherit"] },
  );
  const ended = new Promise((resolve) => {
    child.on("close", resolve);
  });
  world.cleanups.push(() => {
    child.kill();
    return ended;
  });
  const port = await new Promise((resolve, reject) => {
    child.on("error", reject);
    child.stdout.once("data", (text) => resolve(Number(/\d+/.exec(String(text))[0])));
  });
  world.model = { child, address: `http://127.0.0.1:${port}`, keep };
  world.env.OPENAI_BASE_URL = `${world.model.address}/c/c/v1`;
  world.env.OPENAI_API_KEY = "sk-acceptance-0123456789";
  world.env.ANTHROPIC_BASE_URL = `${world.model.address}/c/c`;
  world.env.ANTHROPIC_API_KEY = "sk-acceptance-0123456789";
  world.values.$BASE = world.env.OPENAI_BASE_URL;
  return world.model;
}

async function setScript(world, text) {
  const model = await serve(world);
  const reply = await fetch(`${model.address}/c/c/script`, {
    method: "PUT",
    body: JSON.stringify(text),
  });
  assert.equal(reply.status, 200, await reply.text());
}

async function stats(world) {
  return (await fetch(`${world.model.address}/c/c/stats`)).json();
}

// "think {"thought": "a"} & finish_task {"summary": "b"}"
function callsOf(cell) {
  return cell
    .split(/ & (?=[a-z_]+ )/)
    .filter((one) => one !== "")
    .map((one) => {
      const [, name, text] = /^(\w+) ?(.*)$/s.exec(one);
      if (text === "") return { name, arguments: {} };
      try {
        return { name, arguments: JSON.parse(text) };
      } catch {
        return { name, arguments: text };
      }
    });
}

// "429 after 1", "500", "stall", "malformed": what happens first instead of the answer
function faultsOf(cell) {
  return cell
    .split(", ")
    .filter((one) => one !== "")
    .map((one) => {
      const [, what, seconds] = /^(\w+)(?: after (\d+))?$/.exec(one);
      if (!/^\d+$/.test(what)) return { kind: what };
      return { kind: "status", status: Number(what), ...(seconds && { retry_after: seconds }) };
    });
}

function turnsOf(table) {
  return table
    .hashes()
    .flatMap(({ says = "", calls = "", tokens = "", faults = "", times = "1" }) => {
      const [input, output] = tokens.split("/").map(Number);
      const turn = {
        ...(says !== "" && { text: JSON.parse(`"${says}"`) }),
        calls: callsOf(calls),
        ...(tokens !== "" && { usage: { input, output } }),
        faults: faultsOf(faults),
      };
      return Array.from({ length: Number(times) }, () => turn);
    });
}

Given("a model that answers", async function (table) {
  await setScript(this, { turns: turnsOf(table), turns_by: "count", after: "error" });
});

// For runs that are cut off: turns are told by the history, so that a repeated request gets the same.
Given(
  "a model that calls {string} with {} in {int} iterations",
  async function (tool, json, iterations) {
    await setScript(this, { loop: { iterations, tool, arguments: JSON.parse(json) } });
  },
);

Given(
  "a model that calls {string} with {} in {int} iterations, and hangs in turn {int}",
  async function (tool, json, iterations, turn) {
    const loop = { iterations, tool, arguments: JSON.parse(json) };
    await setScript(this, { loop, faults: { [turn]: [{ kind: "stall_headers" }] } });
  },
);

Given("the variable {string} is {string}", function (name, value) {
  this.env[name] = value;
});

Given("the variable {string} is not set", function (name) {
  delete this.env[name];
});

// ---- Roles ----

const head = `apiVersion: initrunner/v1
kind: Agent
metadata:
  name: worker
spec:
  role: You do what you are told.
`;
const model = `  model:
    provider: openai
    name: gpt-5-mini
`;

function indent(text) {
  return text
    .split("\n")
    .map((line) => (line === "" ? "" : `  ${line}`))
    .join("\n");
}

Given("a role", function () {
  this.write("role.yaml", `${head}${model}`);
});

function writeRole(world, text) {
  world.write("role.yaml", `${head}${/^model:/m.test(text) ? "" : model}${indent(text)}\n`);
}

// Put in what stands for addresses that are known late.
function fill(world, template) {
  return Object.entries(world.values).reduce(
    (text, [name, value]) => text.replaceAll(name, value),
    template,
  );
}

Given("a role with", function (text) {
  writeRole(this, text);
});

// Somebody has looked at the file and confirmed it.
Given("a file {string} that names servers, with", function (name, text) {
  this.write(name, `${fill(this, text)}\n`);
  this.ask("trust", name, "--yes");
});

Given(/^a role that names (?:servers|times), with$/, function (text) {
  writeRole(this, fill(this, text));
});

Given("the role {string} of InitRunner, unchanged", function (name) {
  const file = path.join(root, `../shared/data/initrunner/roles-v1.0.0/examples/roles/${name}`);
  if (!fs.existsSync(file)) {
    this.log(`skipped: there is no ${path.relative(root, file)}`);
    return "skipped";
  }
  fs.copyFileSync(file, this.path(name));
  return undefined;
});

const examples = path.join(root, "../shared/data/initrunner/roles-v1.0.0");

Given("the example roles of InitRunner, unchanged", async function () {
  if (!fs.existsSync(examples)) {
    this.log(`skipped: there is no ${path.relative(root, examples)}`);
    return "skipped";
  }
  fs.cpSync(examples, this.project, { recursive: true });
  await this.run("git init -q .");
  const files = fs
    .readdirSync(this.project, { recursive: true })
    .filter((name) => name.endsWith(".yaml"));
  this.roles = files.filter((name) => /^kind: Agent$/m.test(this.read(name))).sort();
  assert.equal(this.roles.length, 40);
  return undefined;
});

When("I make a dry run of each", async function () {
  this.dryRuns = [];
  for (const role of this.roles) {
    this.dryRuns.push(await this.run(`rondo run ${role} -p 'Test the agentic loop' -a --dry-run`));
  }
});

When("I validate each", async function () {
  this.reports = [];
  for (const role of this.roles) {
    const { code, stdout, stderr } = await this.run(`rondo validate ${role}`);
    assert.equal(code, 0, role);
    const without = stdout.replace(/^.*?^ {2}unsupported/ms, "unsupported");
    this.reports.push({ role, text: stderr + without });
  }
});

// What the agent does without, or has in another form: paths of settings.
function lost({ text }) {
  const lines = /^(?:\S+: (?:warning|unprotected):|unsupported| {16}) *([a-z_.[\]0-9]+): /gm;
  return [...text.matchAll(lines)].map(([, setting]) => setting.replace(/^spec\./, ""));
}

Then("none of them loses", function (table) {
  for (const one of this.reports) {
    for (const [setting] of table.raw()) {
      const found = lost(one).filter((path) => path === setting);
      assert.deepEqual(found, [], one.role);
    }
  }
});

Then("at least {int} of them lose nothing", function (count) {
  const whole = this.reports.filter((one) => lost(one).length === 0);
  assert.ok(whole.length >= count, `${whole.length} lose nothing`);
});

// The one that asks for filters of texts is refused, since Rondo does not have them.
Then(
  "each of them is blocked after two answers without a tool call, but {string} is not protected",
  function (name) {
    let refused = 0;
    for (const { code, stdout, stderr, line } of this.dryRuns) {
      if (line.includes(name)) {
        refused += 1;
        assert.equal(code, 2, `${line}\n${stderr}`);
        assert.match(stderr, /--accept-unprotected/);
        continue;
      }
      assert.equal(code, 4, `${line}\n${stderr}`);
      assert.match(stdout, /Status: blocked \| Iterations: 2\//);
    }
    assert.equal(refused, 1);
  },
);

// ---- Servers and commands ----

Given("a command {string} in the project", function (name, script) {
  this.write(name, `#!/bin/sh\n${script}\n`, 0o755);
});

// A server that notes requests; `reply` gives status, headers and body.
async function listen(world, reply) {
  const seen = [];
  const server = http.createServer((request, response) => {
    let body = "";
    request
      .setEncoding("utf8")
      .on("data", (text) => {
        body += text;
      })
      .on("end", () => {
        const one = { method: request.method, url: request.url, headers: request.headers, body };
        seen.push(one);
        const { status = 200, text = "ok" } = reply(one);
        response.writeHead(status, { "Content-Type": "text/plain" });
        response.end(text);
      });
  });
  await new Promise((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  world.cleanups.push(
    () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(resolve);
      }),
  );
  return { seen, port: server.address().port };
}

Given("a staging server where {string} answers {int}", async function (url, status) {
  this.staging = await listen(this, (request) => ({ status: request.url === url ? status : 404 }));
  this.values.$STAGING = `http://127.0.0.1:${this.staging.port}`;
});

Given("a Slack webhook", async function () {
  this.slack = await listen(this, () => ({ text: "ok" }));
  this.values.$SLACK_HOST = `127.0.0.1:${this.slack.port}`;
  this.env.SLACK_WEBHOOK_URL = `http://127.0.0.1:${this.slack.port}/services/T0/B0/secret-part`;
});

// The scripts of models hold the addresses of servers, which are known late.
Given("a model that answers about those servers", async function (table) {
  const text = fill(this, JSON.stringify(turnsOf(table)));
  await setScript(this, { turns: JSON.parse(text), turns_by: "count", after: "error" });
});

Then("the staging server was asked for {string} {int} time(s)", function (url, count) {
  assert.equal(this.staging.seen.filter((one) => one.url === url).length, count);
});

Then("Slack got {int} message(s)", function (count) {
  assert.equal(this.slack.seen.length, count);
});

Then("Slack got a message with", function (table) {
  const got = this.slack.seen.map(({ body }) => JSON.parse(body));
  const wanted = table.rowsHash();
  const isThere = got.some((one) =>
    Object.entries(wanted).every(([key, value]) => one[key] === value),
  );
  assert.ok(isThere, JSON.stringify(got));
});

Given("the security scanner of the tests is at {string}", function (name) {
  fs.copyFileSync(path.join(root, "tests/acceptance/support/scanner.js"), this.path(name));
  fs.chmodSync(this.path(name), 0o755);
  this.env.PATH = `${path.dirname(process.execPath)}:${this.env.PATH}`;
});

Given("the security scanner of the tests listens with the token {string}", async function (token) {
  const child = spawn(
    process.execPath,
    [path.join(root, "tests/acceptance/support/scanner.js"), "--http", token],
    { cwd: this.project, stdio: ["ignore", "pipe", "inherit"] },
  );
  const ended = new Promise((resolve) => {
    child.on("close", resolve);
  });
  this.cleanups.push(() => {
    child.kill();
    return ended;
  });
  const port = await new Promise((resolve, reject) => {
    child.on("error", reject);
    child.stdout.once("data", (text) => resolve(Number(text)));
  });
  this.values.$SCANNER = `http://127.0.0.1:${port}/mcp`;
});

Then("the scanner has looked {int} time(s)", function (count) {
  assert.equal(
    fs.existsSync(this.path("scans")) ? this.read("scans").trim().split("\n").length : 0,
    count,
  );
});

Then("the scanner was started {int} time(s)", function (count) {
  assert.equal(this.read("scanner-pids").trim().split("\n").length, count);
});

module.exports = { stats };

// Everything in the state folder, or in the project but for the files that were given.
Then("nothing that Rondo stored has {string}", function (text) {
  const folders = [this.env.XDG_STATE_HOME, this.home];
  let count = 0;
  for (const folder of folders.filter((one) => one && fs.existsSync(one))) {
    for (const name of fs.readdirSync(folder, { recursive: true })) {
      const file = path.join(folder, name);
      if (!fs.lstatSync(file).isFile()) continue;
      count += 1;
      assert.ok(!fs.readFileSync(file).includes(text), file);
    }
  }
  this.stored = count;
});
