// SPDX-License-Identifier: Apache-2.0
// Steps about work without the right to push: a fork, and claims that are comments.
"use strict";

const { Given, Then, When } = require("@cucumber/cucumber");
const assert = require("node:assert/strict");
const crypto = require("node:crypto");
const { spawnSync } = require("node:child_process");

const MINUTE_NS = 60n * 1000000000n;

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

async function commentsOf(world, number) {
  const { repositories } = await control(world, "GET", "state");
  const { issues } = repositories[world.forge.repository];
  return Object.values(issues).find((issue) => Number(issue.number) === number).comments;
}

const claimOf = ({ body }) => {
  const found = /^<!-- rondo:status \d+ -->\n<!-- rondo:claim (\{.*\}) -->\n/.exec(body);
  return found === null ? null : JSON.parse(found[1]);
};

async function setToken(world, token) {
  const variable = { github: "GH_ENTERPRISE_TOKEN", gitea: "GITEA_TOKEN", gitlab: "GITLAB_TOKEN" };
  world.env[variable[world.forge.kind]] = token;
  world.token = token;
}

// sam may read, as everybody may, and has a fork.
Given("an outsider with a fork", async function () {
  await act(this, { do: "fork", owner: "sam" });
  await setToken(this, this.forge.tokens.sam);
  this.env.FORK = "--fork sam/shop --settle 300ms";
  this.values.$FORK = this.env.FORK;
});

Given("an outsider without a fork", async function () {
  await setToken(this, this.forge.tokens.sam);
});

/** A claim as another machine writes it, so many minutes ago. */
async function addClaim(world, number, login, minutes, more = {}) {
  const { time } = await control(world, "GET", "state");
  const written = BigInt(Math.round(time)) * 1000000000n - minutes * MINUTE_NS;
  const claim = {
    rondo_claim: 1,
    number,
    nonce: crypto.randomUUID().replace(/^(.{14})./, "$17"),
    owner: "process 1 on elsewhere",
    run_id: "",
    attempts: 0,
    takeovers: 0,
    pull: 0,
    ...more,
  };
  const text = JSON.stringify(claim).replace(
    /\}$/,
    `,"written_ns":${written},"lease_ns":${written + 10n * MINUTE_NS}}`,
  );
  const body =
    `<!-- rondo:status ${number} -->\n<!-- rondo:claim ${text} -->\n` +
    "Rondo is working on this issue.\n\n| State | in-progress |\n|---|---|\n";
  await act(world, { do: "user", login });
  await act(world, { do: "comment", number, body, as: login });
}

When("{word} claims issue {int} in a comment", async function (login, number) {
  await addClaim(this, number, login, 0n);
});

When("{word} claims issue {int} in {int} comments", async function (login, number, count) {
  for (let i = 0; i < count; i += 1) await addClaim(this, number, login, 0n);
});

When(
  "{word} takes issue {int} over in a comment, with words about the branch {string}",
  async function (login, number, branch) {
    const superseded = (await commentsOf(this, number)).map(({ id }) => id);
    await addClaim(this, number, login, 0n, { branch, supersedes: superseded, attempts: 99 });
  },
);

When("{int} minutes pass at the forge", async function (minutes) {
  this.offset = (this.offset ?? 0) + minutes * 60;
  await act(this, { do: "clock", offset_s: this.offset });
});

When("issue {int} has a claim of {word} in a comment", async function (number, login) {
  await this.until(`a claim of ${login}\n${this.it?.stdout}${this.it?.stderr}`, async () => {
    const comments = await commentsOf(this, number);
    return comments.some((one) => one.author === login && claimOf(one) !== null);
  });
});

When("a comment on issue {int} says {string}", async function (number, text) {
  await this.until(`${text}\n${this.it?.stdout}${this.it?.stderr}`, async () =>
    (await commentsOf(this, number)).some(({ body }) => body.includes(text)),
  );
});

When("a maintainer deletes the comment on issue {int}", async function (number) {
  const comments = await commentsOf(this, number);
  await act(this, { do: "delete-comment", id: comments[comments.length - 1].id });
});

When("a maintainer takes the claim out of the comment on issue {int}", async function (number) {
  const comments = await commentsOf(this, number);
  const { id } = comments[comments.length - 1];
  await act(this, { do: "edit-comment", id, body: "Please leave this to us." });
});

Then(
  "the claim in the comment on issue {int} names pull request {int}",
  async function (number, pull) {
    const claims = (await commentsOf(this, number)).map(claimOf).filter((claim) => claim !== null);
    assert.deepEqual(
      claims.map((claim) => claim.pull),
      [pull],
    );
  },
);

Then("no comment on issue {int} has a claim", async function (number) {
  const claims = (await commentsOf(this, number)).map(claimOf).filter((claim) => claim !== null);
  assert.deepEqual(claims, []);
});

Then("the fork has the branches {string}", async function (names) {
  const { repositories } = await control(this, "GET", "state");
  const found = Object.keys(repositories["sam/shop"].refs)
    .filter((name) => name.startsWith("refs/heads/"))
    .map((name) => name.slice("refs/heads/".length));
  assert.deepEqual(found.sort(), names.split(", ").sort());
});

Then("its branch in the fork has the file {string} with {string}", function (name, text) {
  const fork = `${this.forge.address}/sam/shop.git`;
  const script = 'git fetch -q "$0" "$1" && git show "FETCH_HEAD:$2"';
  const done = spawnSync("sh", ["-c", script, fork, this.pull.head, name], {
    cwd: this.project,
    env: this.env,
    encoding: "utf8",
  });
  assert.equal(done.status, 0, done.stderr);
  assert.equal(done.stdout.trim(), text);
});

Then("the repository has only the branch {string}", async function (name) {
  const { repositories } = await control(this, "GET", "state");
  const { refs } = repositories[this.forge.repository];
  const found = Object.keys(refs).filter((ref) => ref.startsWith("refs/heads/"));
  assert.deepEqual(found, [`refs/heads/${name}`]);
});

// Whatever it did before the person, or another worker, came.
When("the log of the forge is forgotten", async function () {
  await control(this, "DELETE", "log");
});

Then("{word} wrote nothing at the forge", async function (login) {
  const log = await control(this, "GET", "log");
  const writes = log.filter((one) => one.wrote && one.login === login);
  assert.deepEqual(writes, []);
});

Then("{word} has no comment on issue {int}", async function (login, number) {
  const own = (await commentsOf(this, number)).filter((one) => one.author === login);
  assert.deepEqual(own, []);
});

// Longer than anything that may happen in the meantime; whatever stops the work ends it.
Given("issue {int} is held by its worker", function (number) {
  this.write("worker.sh", `#!/bin/sh\nsleep 1000\necho ${number} >made.txt\n`, 0o755);
});

When("I run the doctor of the work queue with {string}", async function (options) {
  const { kind, api } = this.forge;
  await this.run(`rondo work doctor --forge ${kind} --api ${api} ${options}`);
});

// As it has to, before its comment counts: proofs of others are too old by then.
When("eve waits for {int} seconds", async function (seconds) {
  await new Promise((resolve) => {
    setTimeout(resolve, seconds * 1000);
  });
});
