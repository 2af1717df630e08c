// SPDX-License-Identifier: Apache-2.0
// Steps that wake the agents of a daemon: signed webhooks, files that change.
"use strict";

const { Then, When } = require("@cucumber/cucumber");
const assert = require("node:assert/strict");
const crypto = require("node:crypto");
const fs = require("node:fs");

async function deliver(world, id, place, secret, body) {
  const mac = crypto.createHmac("sha256", secret).update(body).digest("hex");
  const answer = await fetch(world.base + place, {
    method: "POST",
    body,
    headers: {
      "content-type": "application/json",
      "x-github-delivery": id,
      "x-hub-signature-256": `sha256=${mac}`,
    },
  });
  const text = await answer.text();
  const json = JSON.parse(text);
  world.answer = { status: answer.status, headers: answer.headers, text, json };
  world.runId ??= json.run_id;
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

// ---- Files ----

When("I write the file {string}", function (name) {
  this.write(name, `written at ${process.hrtime.bigint()}\n`);
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
