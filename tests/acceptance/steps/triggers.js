// SPDX-License-Identifier: Apache-2.0
// Steps that wake the agents of a daemon: signed webhooks, files that change, chats, the clock.
"use strict";

const { Given, Then, When } = require("@cucumber/cucumber");
const assert = require("node:assert/strict");
const { spawnSync } = require("node:child_process");
const crypto = require("node:crypto");
const fs = require("node:fs");
const path = require("node:path");
const { Telegram } = require("../support/telegram");
const { root } = require("./world");

async function send(world, place, body, headers) {
  const answer = await fetch(world.base + place, {
    method: "POST",
    body,
    headers: { "content-type": "application/json", ...headers },
  });
  const text = await answer.text();
  const json = JSON.parse(text);
  world.answer = { status: answer.status, headers: answer.headers, text, json };
  world.runId ??= json.run_id;
}

function deliver(world, id, place, secret, body) {
  const mac = crypto.createHmac("sha256", secret).update(body).digest("hex");
  return send(world, place, body, {
    "x-github-delivery": id,
    "x-hub-signature-256": `sha256=${mac}`,
  });
}

When(
  "GitHub delivers {string} to {string}, signed with {string}",
  async function (id, place, secret, body) {
    await deliver(this, id, place, secret, body);
  },
);

// The log of the daemon names the file.
When(
  "GitHub delivers {string} to {string}, signed with the secret that Rondo made",
  async function (id, place, body) {
    const [, file] = /requests need the one in (\S+)/.exec(this.server.stderr);
    await deliver(this, id, place, fs.readFileSync(file, "utf8").trim(), body);
  },
);

// Standard Webhooks: what is signed is the id, the time and the body.
When(
  /^a message "([^"]*)" comes to "([^"]*)", signed with "whsec_([^"]*)" (\d+) seconds ago$/,
  async function (id, place, secret, age, body) {
    const time = Math.floor(Date.now() / 1000) - Number(age);
    const mac = crypto
      .createHmac("sha256", Buffer.from(secret, "base64"))
      .update(`${id}.${time}.${body}`)
      .digest("base64");
    await send(this, place, body, {
      "webhook-id": id,
      "webhook-timestamp": String(time),
      "webhook-signature": `v1,${mac}`,
    });
  },
);

Then("the answer is 202 and names the same run", function () {
  assert.equal(this.answer.status, 202);
  assert.equal(this.answer.json.run_id, this.runId);
  assert.equal(this.answer.headers.get("location"), `/v1/runs/${this.runId}`);
});

// ---- Prompts ----

async function promptOf(world, id) {
  const answer = await fetch(`${world.base}/v1/runs/${id}/conversation`);
  const { items = [] } = await answer.json();
  return items.find((item) => item.kind === "prompt")?.text ?? "";
}

async function runsOf(world, agent) {
  const answer = await fetch(`${world.base}/v1/runs?agent=${agent}`);
  return (await answer.json()).runs;
}

Then("the prompt of the run has the data {string}", async function (data) {
  const prompt = await promptOf(this, this.runId);
  assert.match(prompt, /^Text between <data-([0-9a-f]{16})> and <\/data-\1> comes from outside\./);
  assert.match(prompt, new RegExp(`<data-([0-9a-f]{16})>${data}</data-\\1>$`));
});

Then(
  /^(\d+) runs? of "([^"]*)" soon (?:has|have) the prompt "([^"]*)"$/,
  async function (count, agent, text) {
    await this.until(`${count} runs with "${text}"\n${this.server.stderr}`, async () => {
      const runs = await runsOf(this, agent);
      const prompts = await Promise.all(runs.map((run) => promptOf(this, run.run_id)));
      return prompts.filter((prompt) => prompt.includes(text)).length === Number(count);
    });
  },
);

Then(
  /^(a|no) run of "([^"]*)" (soon )?has the prompt "([^"]*)"$/,
  async function (which, agent, isSoon, text) {
    const has = async () => {
      const runs = await runsOf(this, agent);
      const prompts = await Promise.all(runs.map((run) => promptOf(this, run.run_id)));
      return prompts.some((prompt) => prompt.includes(text));
    };
    if (isSoon) await this.until(`a run with "${text}"\n${this.server.stderr}`, has);
    assert.equal(await has(), which === "a");
  },
);

// ---- Files ----

When("I write the file {string}", function (name) {
  this.replace(name, `written at ${process.hrtime.bigint()}\n`);
});

Then(
  /^the agent "([^"]*)" soon has (\d+) runs? with the prompt "([^"]*)"$/,
  async function (agent, count, text) {
    const what = `${count} runs of ${agent}, one with "${text}"\n${this.server.stderr}`;
    await this.until(what, async () => {
      const runs = await runsOf(this, agent);
      const prompts = await Promise.all(runs.map((run) => promptOf(this, run.run_id)));
      return runs.length === Number(count) && prompts.some((prompt) => prompt.includes(text));
    });
  },
);

// ---- Chats ----

Given("a Telegram bot", async function () {
  this.telegram = new Telegram("123:secret-token");
  await this.telegram.listen();
  this.cleanups.push(() => this.telegram.close());
  this.env.RONDO_TELEGRAM_URL = this.telegram.url;
  this.env.TELEGRAM_BOT_TOKEN = this.telegram.token;
});

When("the user {int} writes {string} to the bot", function (user, text) {
  this.telegram.write(user, text);
});

Then("the bot soon has answered {int} with {string}", async function (user, text) {
  await this.until(`"${text}" for ${user}\n${this.server.stderr}`, () =>
    this.telegram.sent.some((one) => one.chat_id === user && one.text === text),
  );
});

Then("the bot has answered {int} time(s)", function (count) {
  assert.equal(this.telegram.sent.length, count);
});

// ---- The clock ----

// The wall clock of programs that start from now on.
Given("{int} hours pass", function (hours) {
  const library = this.path(path.join(this.top, "shifted_clock.so"));
  const source = path.join(root, "tests/acceptance/programs/shifted_clock.c");
  const { status, stderr } = spawnSync(
    "cc",
    ["-std=c17", "-D_GNU_SOURCE", "-Wall", "-shared", "-fPIC", "-o", library, source],
    { encoding: "utf8" },
  );
  assert.equal(status, 0, stderr);
  this.env.LD_PRELOAD = library;
  this.env.CLOCK_SHIFT_S = String(Number(this.env.CLOCK_SHIFT_S ?? 0) + hours * 3600);
});

// For schedules and active hours: $MINUTE is half an hour away, $HOUR this one in UTC.
Given("the clock of a role is set", function () {
  const now = new Date();
  const inHours = (hours) => String((now.getUTCHours() + hours) % 24);
  this.values.$MINUTE = String((now.getUTCMinutes() + 30) % 60);
  this.values.$HOUR = inHours(0);
  for (const hours of [2, 3, 4]) this.values[`$IN_${hours}`] = inHours(hours);
});
