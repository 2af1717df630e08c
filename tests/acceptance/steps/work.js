// SPDX-License-Identifier: Apache-2.0
// Steps about the work queue: a forge (tests/forge), what people do there, and what they see.
"use strict";

const { Given, Then, When } = require("@cucumber/cucumber");
const { spawn, spawnSync } = require("node:child_process");
const assert = require("node:assert/strict");
const http = require("node:http");
const path = require("node:path");

async function startForge(world, kind) {
  const folder = path.join(world.top, "forge");
  const program = path.join(world.root, "tests/forge/standin.py");
  const child = spawn("python3", [program, "--kind", kind, "--folder", folder], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  world.cleanups.push(() => child.kill("SIGKILL"));
  let text = "";
  child.stdout.setEncoding("utf8").on("data", (part) => {
    text += part;
  });
  await world.until("the forge", () => text.includes("\n"));
  world.forge = JSON.parse(text);
  const { api, tokens } = world.forge;
  world.env.FORGE = `--forge ${kind} --api ${api} --write-gap 1ms --poll 200ms`;
  world.values.$FORGE = world.env.FORGE;
  world.values.$GIT = world.forge.git;
  world.values.$REMOTES = world.forge.address;
  world.env.API = api;
  world.env.WEB = world.forge.git.replace(/\.git$/, "");
  world.token = tokens["rondo-bot"];
  const variable = { github: "GH_ENTERPRISE_TOKEN", gitea: "GITEA_TOKEN", gitlab: "GITLAB_TOKEN" };
  world.env[variable[kind]] = world.token;
}

async function control(world, method, name, body) {
  const answer = await fetch(`${world.forge.control}/${name}`, {
    method,
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  const text = await answer.text();
  assert.equal(answer.status, 200, `${method} ${name} ${JSON.stringify(body)}: ${text}`);
  return JSON.parse(text);
}

const act = (world, action) => control(world, "POST", "act", action);

async function repository(world) {
  const state = await control(world, "GET", "state");
  return state.repositories[world.forge.repository];
}

async function requests(world) {
  const log = await control(world, "GET", "log");
  return log.requests ?? log;
}

/** Run a script with git in the project; $0 is the address of the remote. */
function git(world, script, ...words) {
  const done = spawnSync("sh", ["-c", script, world.forge.git, ...words], {
    cwd: world.project,
    env: world.env,
    encoding: "utf8",
  });
  assert.equal(done.status, 0, done.stderr);
  return done.stdout.trim();
}

const byNumber = (list, number) =>
  Object.values(list).find((item) => Number(item.number) === Number(number));

async function issueOf(world, number) {
  const issue = byNumber((await repository(world)).issues, number);
  assert.ok(issue, `there is no issue ${number}`);
  return issue;
}

const pullsOf = async (world) =>
  (await repository(world)).pulls.map((issue) => ({ ...issue, ...issue.pull }));
const words = (text) => (text === "" ? [] : text.split(", "));

// ---- What is there ----

Given("a {word} forge", async function (kind) {
  await startForge(this, kind);
});

Given("a forge", async function () {
  await startForge(this, "github");
});

// Columns: title, labels, body, author.
Given("the issues", async function (table) {
  for (const { title, labels, body, author } of table.hashes()) {
    await act(this, {
      do: "create-issue",
      title,
      labels: words(labels ?? ""),
      body: (body ?? "").replaceAll("\\n", "\n"),
      ...(author ? { as: author } : {}),
    });
  }
});

Given("an issue {string} with the body", async function (title, body) {
  await act(this, { do: "create-issue", title, labels: ["code"], body });
});

Given("an issue {string} with a body of {int} bytes", async function (title, size) {
  const body = "All work and no play. ".repeat(size / 22 + 1).slice(0, size);
  await act(this, { do: "create-issue", title, labels: ["code"], body });
});

Given("an issue {string} with {int} labels", async function (title, count) {
  const labels = Array.from({ length: count - 1 }, (_, i) => `label-${i}`);
  await act(this, { do: "create-issue", title, labels: ["code", ...labels] });
});

// It asks for a name and a password, as a git server does, and keeps what it was asked.
Given("another server that asks for passwords", async function () {
  this.asked = [];
  const server = http.createServer((request, response) => {
    this.asked.push({ url: request.url, password: request.headers.authorization });
    response.writeHead(401, { "WWW-Authenticate": 'Basic realm="x"' }).end();
  });
  this.cleanups.push(() => server.close());
  this.cleanups.push(() => server.closeAllConnections());
  await new Promise((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  this.elsewhere = `127.0.0.1:${server.address().port}`;
  this.values.$ELSEWHERE = `http://${this.elsewhere}`;
});

/** A commit without parent at the place of a claim, with what a command prints as its message. */
Given("somebody has claimed issue {int} with `{}`", function (number, command) {
  const script =
    "id=$($1 | git hash-object -t commit --literally -w --stdin) &&" +
    ' git push -q "$0" "$id:refs/rondo/claims/$2"';
  const head =
    "printf 'tree %s\\nauthor x <x@y> 0 +0000\\ncommitter x <x@y> 0 +0000\\n\\n'" +
    " $(git mktree </dev/null)";
  const address = this.forge.git.replace("://", `://x:${this.forge.tokens.maria}@`);
  git(
    { ...this, forge: { git: address } },
    script.replace("$1", `{ ${head}; ${command}; }`),
    "",
    String(number),
  );
});

Given("the project is a clone of its repository", function () {
  const script =
    'git clone -q "$0" . && git config user.name Bot && git config user.email bot@example.org &&' +
    " echo 'worker.sh' >>.git/info/exclude";
  git(this, script);
});

// It ends when it is told so, not by the time: what happens meanwhile happens while it works.
// Only without a sandbox it sees the project of the person.
Given("a worker that waits for my word, and then", function (script) {
  const wait =
    'project=$(dirname "$(git rev-parse --path-format=absolute --git-common-dir)")\n' +
    'until [ -e "$project/go" ]; do sleep 0.05; done\n';
  this.write("worker.sh", `#!/bin/sh\n${wait}${script}\n`, 0o755);
});

Given("the fault {string}", async function (rule) {
  await control(this, "POST", "faults", JSON.parse(rule));
});

// ---- What people do ----

When("a person does {string}", async function (action) {
  await act(this, JSON.parse(action));
});

When("the forge has no more faults", async function () {
  await control(this, "DELETE", "faults");
});

// The forge has done what was asked, or not even that, and does not answer: nothing else follows.
async function keepAnswers(world, count) {
  await world.until(`${count} kept answers\n${world.it.stdout}${world.it.stderr}`, async () => {
    const kept = (await requests(world)).filter(
      ({ fault, wrote }) => fault === "hang" || (fault === "delay-after" && wrote),
    );
    return kept.length >= count;
  });
}

When("the forge keeps an answer", function () {
  return keepAnswers(this, 1);
});

When("the forge keeps {int} answers", function (count) {
  return keepAnswers(this, count);
});

When("the forge has made {int} fault(s)", async function (count) {
  await this.until(`${count} faults`, async () => {
    const made = (await requests(this)).filter(({ fault }) => fault !== null);
    return made.length >= count;
  });
});

When("the forge has refused {int} requests with {int}", async function (count, status) {
  await this.until(`${count} answers with ${status}`, async () => {
    const refused = (await requests(this)).filter((request) => request.status === status);
    return refused.length >= count;
  });
});

When("the links of the forge lead to the other server", async function () {
  await act(this, { do: "links", host: this.elsewhere });
});

// With what the queue has said until then.
function fail(world, error) {
  throw new Error(`${error.message}\n${world.it?.stdout}${world.it?.stderr}`);
}

async function looksAtIssues(world) {
  return (await requests(world)).filter(({ path: where }) => where.endsWith("/issues")).length;
}

When("the forge was asked {int} times for its issues", async function (count) {
  await this.until(`${count} requests`, async () => (await looksAtIssues(this)) >= count);
});

When("the forge was asked {int} more times for its issues", async function (count) {
  const before = await looksAtIssues(this);
  await this.until(`${count} requests`, async () => (await looksAtIssues(this)) >= before + count);
});

When("issue {int} gets the label {string}", async function (number, label) {
  await this.until(`issue ${number} with ${label}`, async () =>
    (await issueOf(this, number)).labels.includes(label),
  ).catch((error) => fail(this, error));
});

When("the forge was asked for the issues", async function () {
  await this.until("a look at the issues", async () => (await looksAtIssues(this)) > 0);
});

When("it ends", async function () {
  this.last = await this.hasEnded(this.it);
});

// ---- What they see ----

Then("issue {int} has the labels {string}", async function (number, labels) {
  const found = (await issueOf(this, number)).labels;
  assert.deepEqual(found.sort(), words(labels).sort());
});

Then("soon issue {int} has the labels {string}", async function (number, labels) {
  const wanted = words(labels).sort().join();
  await this.until(`${labels} at issue ${number}`, async () => {
    return (await issueOf(this, number)).labels.sort().join() === wanted;
  }).catch((error) => fail(this, error));
});

Then("issue {int} has {int} comment(s)", async function (number, count) {
  const { comments } = await issueOf(this, number);
  assert.equal(comments.length, count, JSON.stringify(comments, null, 1));
});

Then("a comment on issue {int} mentions {string}", async function (number, text) {
  const { comments } = await issueOf(this, number);
  assert.ok(
    comments.some(({ body }) => body.includes(text)),
    JSON.stringify(comments, null, 1),
  );
});

Then("no comment on issue {int} mentions {string}", async function (number, text) {
  const { comments } = await issueOf(this, number);
  assert.ok(!comments.some(({ body }) => body.includes(text)), JSON.stringify(comments, null, 1));
});

Then("there is/are {int} pull request(s)", async function (count) {
  const pulls = await pullsOf(this);
  assert.equal(pulls.length, count, JSON.stringify(pulls, null, 1));
});

Then("the pull request of {string} is {string}", async function (branch, what) {
  const pull = (await pullsOf(this)).find(({ head }) => head === branch);
  assert.ok(pull, JSON.stringify(await pullsOf(this), null, 1));
  const state = pull.merged ? "merged" : pull.state;
  assert.equal(`${pull.draft ? "draft, " : ""}${state}`, what);
  this.pull = pull;
});

Then("its {word} mentions {string}", function (member, text) {
  assert.ok(this.pull[member].includes(text), this.pull[member]);
});

Then("its {word} does not mention {string}", function (member, text) {
  assert.ok(!this.pull[member].includes(text), this.pull[member]);
});

Then("its body has at most {int} characters", function (count) {
  assert.ok(this.pull.body.length <= count, String(this.pull.body.length));
});

Then("each line of its summary is a quotation without markup", function () {
  const [, summary] = this.pull.body.split("In the words of the agent:\n\n");
  const lines = summary.split("\n\n")[0].split("\n");
  assert.ok(lines.length > 5, this.pull.body);
  assert.deepEqual(
    lines.filter((line) => !line.startsWith("> ") || /[^\\][<`[\]!]/.test(line)),
    [],
  );
});

Then("its branch has the file {string} with {string}", function (name, text) {
  const script = 'git fetch -q "$0" "$1" && git show "FETCH_HEAD:$2"';
  assert.equal(git(this, script, this.pull.head, name), text);
});

Then("its branch has {int} commit(s) more than {string}", function (count, base) {
  const script =
    'git fetch -q "$0" "+$1:refs/seen/one" "+$2:refs/seen/other" &&' +
    " git rev-list --count refs/seen/other..refs/seen/one";
  assert.equal(git(this, script, this.pull.head, base), String(count));
});

async function claims(world) {
  const { refs } = await repository(world);
  return Object.keys(refs)
    .filter((name) => name.startsWith("refs/rondo/claims/"))
    .map((name) => name.slice("refs/rondo/claims/".length))
    .sort();
}

Then("the claims at the remote are {string}", async function (names) {
  assert.deepEqual(await claims(this), words(names).sort());
});

Then("soon the claims at the remote are {string}", async function (names) {
  const wanted = words(names).sort().join();
  await this.until(`the claims ${names}`, async () => (await claims(this)).join() === wanted);
});

Then("the claim of issue {int} names pull request {int}", function (number, pull) {
  const script = 'git fetch -q "$0" "refs/rondo/claims/$1" && git log -1 --format=%B FETCH_HEAD';
  assert.equal(JSON.parse(git(this, script, String(number))).pull, pull);
});

Then("the remote has no branch {string}", async function (branch) {
  const { refs } = await repository(this);
  assert.ok(!(`refs/heads/${branch}` in refs), Object.keys(refs).join("\n"));
});

Then("the forge made each fault", async function () {
  const faults = await control(this, "GET", "faults");
  const left = (faults.faults ?? faults).filter(({ hits, skip }) => hits <= (skip ?? 0));
  assert.deepEqual(left, []);
});

Then("for {int} seconds after that nothing was asked of the API", async function (seconds) {
  const asked = (await requests(this)).filter(({ kind }) => kind === "api");
  const at = asked.findIndex(({ fault }) => fault !== null);
  // Times are those of the forge's clock, in whole seconds for some.
  assert.ok(asked[at + 1].time - asked[at].time > seconds - 1, JSON.stringify(asked[at + 1]));
});

Then("the other server never got a password", function () {
  assert.deepEqual(
    this.asked.filter(({ password }) => password !== undefined),
    [],
  );
});

Then("the other server was never asked", function () {
  assert.deepEqual(this.asked, []);
});

Then("no text at the forge but of issue {int} mentions {string}", async function (number, text) {
  const { issues, pulls } = await repository(this);
  const { comments } = byNumber(issues, number);
  const written = [
    ...comments.map(({ body }) => body),
    ...pulls.flatMap(({ title, body, comments: more }) => [
      title,
      body,
      ...more.map((c) => c.body),
    ]),
  ];
  for (const one of written) assert.ok(!one.includes(text), one);
});

Then("nothing was written at the forge", async function () {
  const writes = (await requests(this)).filter(({ wrote }) => wrote);
  assert.deepEqual(writes, []);
});

Then("no request had the token but those to the forge's API and git", async function () {
  for (const { body } of await requests(this)) {
    assert.ok(!JSON.stringify(body ?? "").includes(this.token));
  }
});
