// SPDX-License-Identifier: Apache-2.0
// Steps that break things: full disks, damaged checkpoints, frozen and racing processes.
"use strict";

const { Given, Then, When } = require("@cucumber/cucumber");
const assert = require("node:assert/strict");
const { spawnSync } = require("node:child_process");
const fs = require("node:fs");
const { assertFinishedOnce, events, find, flat, lines } = require("./journal");

function command(program, words) {
  const result = spawnSync(program, words, { encoding: "utf8" });
  return { code: result.status, text: `${result.stdout}${result.stderr}` };
}

// ---- Full disks ----

Given("a store on a disk of 1 MiB", function () {
  const disk = this.path("disk");
  fs.mkdirSync(disk);
  const mounted = command("mount", ["-t", "tmpfs", "-o", "size=1m", "none", disk]);
  if (mounted.code !== 0) {
    this.log(`a small disk cannot be mounted here: ${mounted.text.trim()}`);
    return "skipped";
  }
  this.cleanups.push(() => command("umount", ["-l", disk]));
  this.env.RONDO_STORE = `${disk}/rondo.db`;
  return undefined;
});

// Each checkpoint needs room for a state that does not compress; the log alone would recycle its own.
const remember = 'head -c 100000 /dev/urandom >"$RONDO_STATE_FILE"';
const fill = "cat /dev/zero >>disk/fill 2>/dev/null || true";

Given("a worker that keeps the disk full from iteration {int} on", function (full) {
  this.write(
    "worker.sh",
    `#!/bin/sh\n${remember}\nif [ "$RONDO_ITERATION" -ge ${full} ]; then ${fill}; fi\n`,
    0o755,
  );
});

Given(
  "a worker that keeps the disk full from iteration {int} on and empties it in iteration {int}",
  function (full, empty) {
    this.write(
      "worker.sh",
      `#!/bin/sh\n${remember}\nif [ "$RONDO_ITERATION" -ge ${full} ] && [ "$RONDO_ITERATION" -lt ${empty} ]; then ${fill}; fi\n` +
        `if [ "$RONDO_ITERATION" = ${empty} ]; then rm -f disk/fill; fi\n`,
      0o755,
    );
  },
);

Then("after the disk has room again the store is intact", function () {
  fs.rmSync(this.path("disk/fill"), { force: true });
  const checked = command("sqlite3", [this.env.RONDO_STORE, "PRAGMA integrity_check"]);
  assert.equal(checked.text.trim(), "ok");
  const numbers = events(this).map((event) => event.seq);
  assert.deepEqual(
    numbers,
    numbers.map((_, i) => i + 1),
  );
});

// ---- Damaged checkpoints ----

When("the newest checkpoint is damaged", function () {
  const store = this.path("STATE/rondo.db");
  const sql =
    "UPDATE checkpoints SET state = CAST('ruined' AS BLOB) " +
    "WHERE number = (SELECT max(number) FROM checkpoints); SELECT changes();";
  const changed = command("sqlite3", [store, sql]);
  assert.equal(changed.text.trim(), "1");
});

When("the row of the run of {string} is damaged: {string}", function (agent, change) {
  const sql = `UPDATE runs SET ${change} WHERE agent_id = '${agent}'; SELECT changes();`;
  const changed = command("sqlite3", [this.path("STATE/rondo.db"), sql]);
  assert.equal(changed.text.trim(), "1");
});

When("the store is changed: {string}", function (sql) {
  command("sqlite3", [this.path("STATE/rondo.db"), sql]);
});

When("the first events are damaged: {string}", function (change) {
  const sql = `UPDATE events SET ${change}; SELECT changes() > 0;`;
  const changed = command("sqlite3", [this.path("STATE/rondo.db"), sql]);
  assert.equal(changed.text.trim(), "1");
});

When("somebody deletes the store", function () {
  for (const suffix of ["", "-wal", "-shm"]) {
    fs.rmSync(this.path(`STATE/rondo.db${suffix}`), { force: true });
  }
});

// ---- Two at once ----

Then("stderr mentions the process id of the holder", function () {
  assert.ok(this.last.stderr.includes(String(this.it.pid)), this.last.stderr);
});

// Whoever wins is held in iteration 2 until the other one has ended.
Then("ten races to resume a killed run each have exactly one winner", async function () {
  for (let round = 1; round <= 10; round += 1) {
    const first = this.start("rondo loop --max-iterations 3 -- ./worker.sh");
    await this.until("iteration 2", () => fs.existsSync(this.path("at-2")));
    first.child.kill("SIGKILL");
    await this.hasEnded(first);
    const racers = [this.start("rondo resume last"), this.start("rondo resume last")];
    const loser = await Promise.race(racers.map((racer) => this.hasEnded(racer)));
    assert.equal(loser.code, 9, loser.stderr);
    this.write("go", "");
    await Promise.all(racers.map((racer) => this.hasEnded(racer)));
    const codes = racers.map((racer) => racer.code).sort((a, b) => a - b);
    assert.deepEqual(codes, [5, 9], racers.map((racer) => racer.stderr).join("\n---\n"));
    assertFinishedOnce(this, 1, 3);
    ["go", "at-2"].forEach((name) => fs.rmSync(this.path(name)));
  }
});

When("I resume the run as soon as its lease has ended", async function () {
  this.write("go", "");
  this.last = await this.until("a resume that is not refused", async () => {
    const result = await this.run("rondo resume last");
    return result.code === 9 ? null : result;
  });
});

When("the frozen one wakes up and has ended", async function () {
  this.it.child.kill("SIGCONT");
  this.last = await this.hasEnded(this.it);
});

Then("no event of the former owner follows the take-over", function () {
  const claims = find(this, "run.claimed");
  assert.deepEqual(
    claims.map((event) => event.epoch),
    [1, 2],
  );
  const after = events(this).filter((event) => event.seq > claims[1].seq);
  const finals = after.filter((event) => event.type === "run.finished");
  assert.equal(finals.length, 1);
  const ends = this.ask("runs", "--json")
    .stdout.trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  assert.equal(ends[0].status, "max_iterations");
});

// ---- Side by side ----

When("nine agents run {int} iterations each at the same time", async function (count) {
  const line = (agent) => `rondo loop --agent ${agent} --max-iterations ${count} -- ./worker.sh`;
  this.many = Array.from({ length: 9 }, (_, i) => this.start(line(`agent-${i + 1}`)));
  await Promise.all(this.many.map(({ ended }) => ended));
});

// ---- Following ----

When(/^I follow `(.+)`$/, function (line) {
  this.follower = this.start(line, "follower");
});

function followed(world) {
  const text = world.follower.stdout;
  return lines(text.slice(0, text.lastIndexOf("\n") + 1))
    .filter((line) => line.seq !== undefined)
    .map(flat);
}

Then(
  "what I follow comes to an event {string} with iteration {int}",
  async function (type, iteration) {
    await this.until(type, () =>
      followed(this).some((event) => event.type === type && event.iteration === iteration),
    );
  },
);

Then("what I follow comes to an event {string} and ends", async function (type) {
  await this.hasEnded(this.follower);
  assert.equal(followed(this).pop().type, type);
});

Then("what I followed is numbered from 1 without gap", function () {
  const numbers = followed(this).map((event) => event.seq);
  assert.deepEqual(
    numbers,
    numbers.map((_, i) => i + 1),
  );
});

// ---- The audit chain ----

When("somebody changes the store: {string}", function (sql) {
  const changed = command("sqlite3", [this.path("STATE/rondo.db"), `${sql}; SELECT changes();`]);
  assert.notEqual(changed.text.trim(), "0");
});

When("the keys of the audit chain are lost", function () {
  fs.rmSync(`${this.env.XDG_STATE_HOME}/rondo/audit`, { recursive: true });
});
