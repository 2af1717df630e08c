// SPDX-License-Identifier: Apache-2.0
// Stores in PostgreSQL: servers that a scenario starts, kills and pauses, machines that share one,
// and what must not show a password.
//
// With RONDO_TEST_STORE=postgresql in the environment every scenario keeps its runs there, in a
// schema of its own, unless it names a store. That server ends with the process: its input is
// closed then. Scenarios with the tag @file-store are left out.
"use strict";

const { Before, Given, Then, When } = require("@cucumber/cucumber");
const assert = require("node:assert/strict");
const { spawnSync } = require("node:child_process");
const crypto = require("node:crypto");
const fs = require("node:fs");
const path = require("node:path");
const { build } = require("./world");
const { Postgres } = require("../support/postgres");

// The folder of this machine that stands for that of the store's file; see store/locate/database.h.
function place(world) {
  const hash = crypto.createHash("sha256").update(world.env.RONDO_STORE).digest("hex");
  const own = path.join(world.env.XDG_STATE_HOME, "rondo/databases", hash.slice(0, 24));
  fs.mkdirSync(own, { recursive: true, mode: 0o700 });
  return own;
}

// Steps that change the file of a store, or look at it.
const ofFiles =
  /(?:is|are) damaged|sqlite3|rondo\.db|store on a disk of|the store is changed|a store with \d+ runs? of/;

let shared; // of all scenarios of this process; starts with the first one

Before(async function ({ pickle }) {
  if (process.env.RONDO_TEST_STORE !== "postgresql") return undefined;
  const isTagged = pickle.tags.some(({ name }) => name === "@file-store");
  if (isTagged || pickle.steps.some(({ text }) => ofFiles.test(text))) {
    this.log("about the file of a store");
    return "skipped";
  }
  shared ??= Postgres.start(build, "--set", "max_connections=200");
  const { address, reason } = await shared;
  if (reason !== undefined) {
    this.log(reason);
    return "skipped";
  }
  this.env.RONDO_STORE = `${address}&rondo_schema=s_${crypto.randomBytes(6).toString("hex")}`;
  const project = this.state.bind(this);
  this.state = (folder) => (folder === undefined ? place(this) : project(folder));
  this.values.$STATE = this.env.STATE = this.state();
  return undefined;
});

async function start(world, ...options) {
  world.postgres = await Postgres.start(build, ...options);
  world.cleanups.push(() => world.postgres.end());
  if (world.postgres.reason !== undefined) {
    world.log(world.postgres.reason);
    return "skipped";
  }
  world.env.RONDO_STORE = world.postgres.address;
  return undefined;
}

Given("programs can be given another host name", function () {
  const { status, stderr } = spawnSync("unshare", ["--uts", "true"], { encoding: "utf8" });
  if (status === 0) return undefined;
  this.log(`skipped: unshare --uts: ${stderr}`);
  return "skipped";
});

Given("a PostgreSQL store", function () {
  return start(this);
});

// `$STORE` is its address with the password; RONDO_STORE is not set.
Given("a PostgreSQL store with a password", async function () {
  const skipped = await start(this, "--tcp");
  if (skipped !== undefined) return skipped;
  this.values.$STORE = await this.postgres.perform("tcp a");
  [, this.password] = /:([^:@/]+)@/.exec(this.values.$STORE);
  this.values.$PLAIN = this.values.$STORE.replace(`:${this.password}`, "");
  delete this.env.RONDO_STORE;
  return undefined;
});

Given("a standby that commits wait for", async function () {
  await this.postgres.perform("standby b a sync");
  const [a, b] = [await this.postgres.perform("port a"), await this.postgres.perform("port b")];
  const [, folder] = /host=([^&]+)/.exec(this.postgres.address);
  this.env.RONDO_STORE = `postgresql://rondo@/rondo?host=${folder},${folder}&port=${a},${b}`;
});

When(/^the database is (killed|stopped|paused)$/, async function (how) {
  const commands = { killed: "kill a", stopped: "stop a", paused: "pause a" };
  await this.postgres.perform(commands[how]);
});

When("the standby is killed", async function () {
  await this.postgres.perform("kill b");
});

When("the database performs {string}", async function (sql) {
  await this.postgres.perform(`sql a ${sql}`);
});

When("I connect as the role {string}", function (role) {
  this.env.RONDO_STORE = this.postgres.address.replace("//rondo@", `//${role}@`);
});

When("the database starts again", async function () {
  await this.postgres.perform("start a");
});

When("the database continues", async function () {
  await this.postgres.perform("continue a");
});

When("the primary is killed and the standby promoted", async function () {
  await this.postgres.perform("kill a");
  await this.postgres.perform("promote b");
});

// A machine is a state folder: it shares nothing with others but the database.
When(/^I am on machine (\d+)$/, function (number) {
  this.env.XDG_STATE_HOME = path.join(this.top, Number(number) === 1 ? "state" : `state-${number}`);
});

When(/^I start `(.+)` on it$/, function (line) {
  this.start(line.replace("$STORE", `'${this.values.$STORE}'`));
});

Then("the worker had no variable that opens the database", function () {
  const names = this.read("environment").split("\n");
  assert.ok(names.some((line) => line.startsWith("RONDO_RUN_ID=")));
  assert.deepEqual(
    names.filter((line) => /^(PG|RONDO_STORE)/.test(line)),
    [],
  );
});

Then("the file {string} has {int} different lines", function (name, count) {
  const all = this.read(name).trim().split("\n");
  assert.deepEqual([all.length, new Set(all).size], [count, count], all.join("\n"));
});

Then("stderr of the one that runs soon mentions {string}", async function (text) {
  await this.until(text, () => this.it.stderr.includes(text));
});

function* files(folder) {
  for (const entry of fs.readdirSync(folder, { withFileTypes: true })) {
    const name = path.join(folder, entry.name);
    if (entry.isDirectory()) yield* files(name);
    else if (entry.isFile()) yield name;
  }
}

Then("no output and no file has the password", function () {
  for (const { line, stdout, stderr } of this.children) {
    assert.ok(!(stdout + stderr).includes(this.password), `${line}\n${stdout}${stderr}`);
  }
  for (const name of files(this.top)) {
    assert.ok(!fs.readFileSync(name).includes(this.password), name);
  }
});

Then("no row of the database has the password", async function () {
  const tables = await this.postgres.perform(
    "sql a SELECT string_agg(format('%I.%I', schemaname, tablename), ' ') FROM pg_tables " +
      "WHERE schemaname = 'rondo'",
  );
  for (const table of tables.split(" ")) {
    const rows = await this.postgres.perform(
      `sql a SELECT count(*) FROM ${table} t WHERE t::text LIKE '%${this.password}%'`,
    );
    assert.equal(rows, "0", table);
  }
});

Then("the arguments of the one that runs do not have the password", function () {
  const words = fs.readFileSync(`/proc/${this.it.pid}/cmdline`, "utf8");
  assert.ok(words.includes("postgresql://"), words);
  assert.ok(!words.includes(this.password), words);
});
