// SPDX-License-Identifier: Apache-2.0
// Steps about carrying out a PRD: a repository with tasks, and what a run left in git, in the files
// of the PRD and on the machine.
"use strict";

const { Given, Then, When } = require("@cucumber/cucumber");
const { spawnSync } = require("node:child_process");
const assert = require("node:assert/strict");
const fs = require("node:fs");
const path = require("node:path");
const { find, lines } = require("./journal");

function git(world, ...words) {
  const result = spawnSync("git", words, {
    cwd: world.project,
    env: world.env,
    encoding: "utf8",
  });
  assert.equal(result.status, 0, `git ${words.join(" ")}\n${result.stderr}`);
  return result.stdout.trim();
}

const listed = (text) => (text === "" ? [] : text.split("\n"));

// ---- The repository ----

function makeRepository(world) {
  world.env.PROJECT = world.project;
  world.env.LOGS = path.join(world.top, "logs");
  fs.mkdirSync(world.env.LOGS);
  git(world, "init", "-q", "-b", "main", ".");
  git(world, "config", "user.name", "Pat");
  git(world, "config", "user.email", "pat@example.org");
  world.write("README.md", "A project.\n");
  git(world, "add", "README.md");
  git(world, "commit", "-q", "-m", "base");
  world.base = git(world, "rev-parse", "HEAD");
}

function taskOf({ id, title, depends, criteria, priority }) {
  return {
    id,
    title,
    description: `Make what ${id} needs.`,
    acceptanceCriteria: (criteria || "It is there.").split("; "),
    status: "pending",
    passes: false,
    attemptCount: 0,
    ...(depends ? { dependsOn: depends.split(", ") } : {}),
    ...(priority ? { priority: Number(priority) } : {}),
  };
}

// Columns: id, title, depends, criteria (with "; " between them), priority.
function writeTasks(world, table) {
  const prd = {
    name: "demo",
    branchName: "feature/demo",
    goal: "A goal of the whole.",
    userStories: table.hashes().map(taskOf),
    metadata: { totalTasks: table.hashes().length, completedTasks: 0, failedTasks: 0 },
  };
  world.write("prd.json", `${JSON.stringify(prd, null, 2)}\n`);
}

Given("the tasks", function (table) {
  writeTasks(this, table);
});

Given("a repository with the tasks", function (table) {
  makeRepository(this);
  writeTasks(this, table);
});

Given("a repository", function () {
  makeRepository(this);
});

Given("the committed files", function (table) {
  for (const [name, text] of table.raw()) {
    this.write(name, `${text.replaceAll("\\n", "\n").replaceAll("\\t", "\t")}\n`);
    git(this, "add", name);
  }
  git(this, "commit", "-q", "-m", "files");
  this.base = git(this, "rev-parse", "HEAD");
});

Given(/^I have run `git (.+)`$/, function (line) {
  const words = [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, word]) => quoted ?? word);
  git(this, ...words);
});

function change(world, change_) {
  const prd = JSON.parse(world.read("prd.json"));
  change_(prd.userStories, prd);
  world.write("prd.json", `${JSON.stringify(prd, null, 2)}\n`);
}

Given("the task {string} says", function (id, table) {
  change(this, (tasks) => {
    const task = tasks.find((one) => one.id === id);
    for (const [key, value] of table.raw()) task[key] = JSON.parse(value);
  });
});

// A coding agent of the user's own settings, whose program is this script.
Given(
  "my own coding agent {string} of the format {string} that runs",
  function (name, format, text) {
    const folder = path.join(this.home, ".config/rondo/coding-agents");
    const program = path.join(this.top, `${name}-program`);
    fs.mkdirSync(folder, { recursive: true });
    fs.writeFileSync(program, `#!/bin/sh\n${text}\n`, { mode: 0o755 });
    const row = `program: ${program}\nprompt: stdin\nformat: ${format}\narguments: [--go]\n`;
    fs.writeFileSync(path.join(folder, `${name}.yaml`), row);
  },
);

// The person saves the file in one step, as editors do.
function save(world, change_) {
  const prd = JSON.parse(world.read("prd.json"));
  change_(prd);
  world.write("saved.json", `${JSON.stringify(prd, null, 2)}\n`);
  fs.renameSync(world.path("saved.json"), world.path("prd.json"));
}

When("a person adds the task {string} to prd.json", function (id) {
  save(this, (prd) => prd.userStories.push(taskOf({ id, title: "Added" })));
});

When("a person removes the task {string} from prd.json", function (id) {
  save(this, (prd) => {
    prd.userStories = prd.userStories.filter((task) => task.id !== id);
  });
});

When("a person changes the task {string} in prd.json", function (id, table) {
  save(this, (prd) => {
    const task = prd.userStories.find((one) => one.id === id);
    for (const [key, value] of table.raw()) task[key] = JSON.parse(value);
  });
});

// ---- What is in git ----

Then("the branch {string} has the commits", function (branch, table) {
  const seen = listed(git(this, "log", "--reverse", "--format=%s", `${this.base}..${branch}`));
  assert.deepEqual(
    seen.map((one) => [one]),
    table.raw(),
    this.last?.stderr,
  );
});

Then("the branch {string} has no commits", function (branch) {
  const refs = git(this, "for-each-ref", "--format=%(refname)", `refs/heads/${branch}`);
  const seen =
    refs === "" ? [] : listed(git(this, "log", "--format=%s", `${this.base}..${branch}`));
  assert.deepEqual(seen, []);
});

Then(/^the branch "([^"]*)" has changed the files? (.*)$/, function (branch, list) {
  const wanted = [...list.matchAll(/"([^"]*)"/g)].map((match) => match[1]);
  const seen = listed(git(this, "diff", "--name-only", "--no-renames", this.base, branch, "--"));
  assert.deepEqual(seen, wanted);
});

Then("the branch {string} has no commits beyond main", function (branch) {
  assert.equal(git(this, "log", "--format=%s", `main..${branch}`), "");
});

Then("the branch {string} has {int} changed files", function (branch, count) {
  const seen = git(this, "diff", "--name-only", "-z", "--no-renames", this.base, branch);
  assert.equal(seen.split("\0").length - 1, count, seen);
});

Then("on the branch {string} the file {string} is {string}", function (branch, name, text) {
  assert.equal(git(this, "show", `${branch}:${name}`), text);
});

Then("on the branch {string} the file {string} has {int} lines", function (branch, name, count) {
  assert.equal(git(this, "show", `${branch}:${name}`).split("\n").length, count);
});

Then("the last commit of {string} has the trailers", function (branch, table) {
  const seen = git(this, "log", "-1", "--format=%(trailers:only,unfold)", branch).split("\n");
  for (const [key, value] of table.raw()) {
    const line = seen.find((one) => one.startsWith(`${key}: `));
    assert.ok(
      line !== undefined && (value === "*" || line === `${key}: ${value}`),
      seen.join("\n"),
    );
  }
});

Then("each commit of {string} is by {string}", function (branch, author) {
  const seen = listed(git(this, "log", "--format=%an <%ae>", `${this.base}..${branch}`));
  assert.deepEqual([...new Set(seen)], [author]);
});

Then("my files and branch are as they were", function () {
  assert.equal(git(this, "rev-parse", "--abbrev-ref", "HEAD"), "main");
  assert.equal(git(this, "rev-parse", "HEAD"), this.base);
  assert.equal(git(this, "status", "--porcelain", "--untracked-files=no"), "");
});

Then("no working tree is left", function () {
  const trees = listed(git(this, "worktree", "list", "--porcelain"));
  assert.equal(trees.filter((line) => line.startsWith("worktree ")).length, 1, trees.join("\n"));
  const cache = path.join(this.home, ".cache/rondo/work");
  assert.deepEqual(fs.existsSync(cache) ? fs.readdirSync(cache) : [], []);
});

// ---- What is in the files of the PRD ----

function saidOf(text) {
  return JSON.parse(text).userStories.map((one) => [
    one.id,
    one.status,
    String(one.passes),
    String(one.attemptCount),
  ]);
}

// Columns: id, status, passes, attemptCount.
Then("prd.json says of the tasks", function (table) {
  assert.deepEqual(saidOf(this.read("prd.json")), table.raw(), this.last?.stderr);
});

Then("the log {string} says of the tasks", function (name, table) {
  assert.deepEqual(saidOf(log(this, name)), table.raw());
});

// ---- What workers have written outside of the repository ----

const log = (world, name) => fs.readFileSync(path.join(world.env.LOGS, name), "utf8");

Then("the log {string} mentions {string}", function (name, text) {
  assert.ok(log(this, name).includes(text), log(this, name));
});

Then("the log {string} does not mention {string}", function (name, text) {
  assert.ok(!log(this, name).includes(text), log(this, name));
});

Then(/^the log "([^"]*)" has the lines (.*)$/, function (name, list) {
  const wanted = [...list.matchAll(/"([^"]*)"/g)].map((match) => match[1]);
  assert.deepEqual(log(this, name).replace(/\n$/, "").split("\n"), wanted);
});

Then("the log {string} is empty", function (name) {
  assert.equal(log(this, name), "");
});

Then("the log {string} does not exist", function (name) {
  assert.ok(!fs.existsSync(path.join(this.env.LOGS, name)));
});

Then("the log {string} has {int} different lines", function (name, count) {
  const all = log(this, name).trim().split("\n");
  assert.equal(new Set(all).size, count, all.join("\n"));
});

When("the log {string} appears", async function (name) {
  await this.until(`log ${name}; ${this.it.stderr}`, () =>
    fs.existsSync(path.join(this.env.LOGS, name)),
  );
});

When("I remove the log {string}", function (name) {
  fs.unlinkSync(path.join(this.env.LOGS, name));
});

When("I write the log {string}", function (name) {
  fs.writeFileSync(path.join(this.env.LOGS, name), "");
});

Then("the first line of {string} is {string}", function (name, text) {
  assert.equal(this.read(name).split("\n")[0], text);
});

Then("the commit of {string} in prd.json is the tip of {string}", function (id, branch) {
  const task = JSON.parse(this.read("prd.json")).userStories.find((one) => one.id === id);
  assert.equal(task.commitSha, git(this, "rev-parse", branch));
});

Then("the notes of {string} in prd.json are {string}", function (id, text) {
  const task = JSON.parse(this.read("prd.json")).userStories.find((one) => one.id === id);
  assert.equal(task.notes, text);
});

Then("the notes of {string} in prd.json mention {string}", function (id, text) {
  const task = JSON.parse(this.read("prd.json")).userStories.find((one) => one.id === id);
  assert.ok((task.notes ?? "").includes(text), task.notes);
});

Then("the file {string} has one entry of a task", function (name) {
  assert.equal(this.read(name).match(/^## Task /gm).length, 1, this.read(name));
});

Then("the file {string} mentions {string} once", function (name, text) {
  assert.equal(this.read(name).split(text).length - 1, 1, this.read(name));
});

Then(/^the archives are ?(.*)$/, function (list) {
  const wanted = [...list.matchAll(/"([^"]*)"/g)].map((match) => match[1]);
  const folder = this.path("archive");
  const seen = fs.existsSync(folder) ? fs.readdirSync(folder).sort() : [];
  const isAsWanted = (name, i) =>
    new RegExp(`^${wanted[i].replace("DATE", "\\d{4}-\\d\\d-\\d\\d")}$`).test(name);
  assert.ok(seen.length === wanted.length && seen.every(isAsWanted), seen.join(" "));
  this.archive = path.join("archive", seen[seen.length - 1] ?? "");
});

Then(/^the last archive has the files (.*)$/, function (list) {
  const wanted = [...list.matchAll(/"([^"]*)"/g)].map((match) => match[1]);
  const seen = fs.readdirSync(this.path(this.archive)).filter((name) => name[0] !== ".");
  assert.deepEqual(seen.sort(), wanted);
});

// ---- What is in the journal ----

// Columns: task, attempt, outcome; in the order of their ends.
Then("the attempts ended as", function (table) {
  const seen = find(this, "task.ended").map((event) => [
    event.task,
    String(event.attempt),
    event.outcome,
  ]);
  assert.deepEqual(seen, table.raw(), this.last?.stderr.slice(-3000));
});

Then("the patch of {string} mentions {string}", function (id, text) {
  const [event] = find(this, "task.ended", { task: id }).slice(-1);
  assert.ok(event.patch, JSON.stringify(event));
  assert.ok(fs.readFileSync(event.patch, "utf8").includes(text));
});

Then("the reason of {string} mentions {string}", function (id, text) {
  const [event] = find(this, "task.ended", { task: id }).slice(-1);
  assert.ok((event.message ?? "").includes(text), JSON.stringify(event));
});

When("a run of the agent {string} waits", async function (agent) {
  const runs = () =>
    lines(this.ask("runs", "--children", "--json").stdout).flatMap((line) => line.runs ?? [line]);
  const waits = ({ run_id: id }) =>
    lines(this.ask("logs", id, "--json").stdout).some(
      (event) => event.type === "worker.finished" && event.data.until_ns > 0,
    );
  await this.until(`a wait of ${agent}`, () =>
    runs().some((run) => run.agent_id === agent && waits(run)),
  );
});

// ---- Files of other tools ----

Then("the file {string} is, but for commits,", function (name, text) {
  assert.equal(
    this.read(name)
      .trim()
      .replace(/"[0-9a-f]{40}"/g, '"COMMIT"'),
    text,
  );
});

Then(
  "the metadata of {string} say {int} tasks, {int} done and {int} failed",
  function (name, total, done, failed) {
    const { metadata } = JSON.parse(this.read(name));
    const seen = [metadata.totalTasks, metadata.completedTasks, metadata.failedTasks];
    assert.deepEqual(seen, [total, done, failed]);
  },
);

Given("the head of the PRD says", function (table) {
  const prd = JSON.parse(this.read("prd.json"));
  for (const [key, value] of table.raw()) prd[key] = JSON.parse(value);
  this.write("prd.json", `${JSON.stringify(prd, null, 2)}\n`);
});

Given(
  "a progress log with the pattern {string} and {int} entries of {int} bytes",
  function (pattern, count, size) {
    const entries = Array.from(
      { length: count },
      (_, i) =>
        `## Task T${i}: entry ${i + 1} \nCompleted: 2026-01-01\n\n### What Changed\n${"x".repeat(size)}\n\n---\n\n`,
    );
    this.write(
      "progress.txt",
      `# Progress Log\n\n## Codebase Patterns\n- ${pattern}\n\n---\n\n${entries.join("")}`,
    );
  },
);

Then("the log {string} has fewer than {int} bytes", function (name, count) {
  assert.ok(log(this, name).length < count, String(log(this, name).length));
});

When("a person is asked", async function () {
  await this.until(`a call in the inbox; ${this.it.stderr}`, () =>
    this.ask("inbox", "--json").stdout.includes("request_id"),
  );
});
