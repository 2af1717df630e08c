// SPDX-License-Identifier: Apache-2.0
// Steps about what a person sees and types at a terminal.
"use strict";

const { Then, When } = require("@cucumber/cucumber");
const assert = require("node:assert/strict");
const { spawn } = require("node:child_process");
const { stats } = require("./agents");

// Run in a terminal of its own (script from bsdutils); `answers` are typed when a text has appeared.
async function onTerminal(world, line, answers = []) {
  const env = { ...world.env, TERM: "xterm-256color" };
  const child = spawn("script", ["-qefc", line, "/dev/null"], {
    cwd: world.project,
    env,
    detached: true,
  });
  const result = { line, pid: child.pid, child, stdout: "", stderr: "", begun: Date.now() };
  child.stdout.setEncoding("utf8").on("data", (text) => {
    result.stdout += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text) => {
    result.stderr += text;
  });
  result.ended = new Promise((resolve) => {
    child.on("close", (code) => {
      Object.assign(result, { code, end: Date.now() });
      resolve(result);
    });
  });
  world.children.push(result);
  for (const [when, keys] of answers) {
    await when(result);
    child.stdin.write(keys);
  }
  world.last = await world.hasEnded(result);
}

// Words on the screen, without the sequences that colour them and move the cursor.
function shown({ stdout }) {
  // eslint-disable-next-line no-control-regex
  return stdout.replaceAll(/\x1b\[[0-9;?]*[A-Za-z]/g, "");
}

When(/^I run `(.+)` on a terminal$/, async function (line) {
  await onTerminal(this, line);
});

When(
  /^I run `(.+)` on a terminal, and answer "(.+)" with "(.+)"$/,
  async function (line, question, answer) {
    const isAsked = (result) => this.until(question, () => shown(result).includes(question));
    await onTerminal(this, line, [[isAsked, `${answer}\n`]]);
  },
);

When(
  /^I run `(.+)` on a terminal, and press Ctrl-C when the model has been asked$/,
  async function (line) {
    const isAsked = () => this.until("a request", async () => (await stats(this)).requests > 0);
    await onTerminal(this, line, [[isAsked, "\x03"]]);
  },
);

Then("the terminal shows {string}", function (text) {
  assert.ok(shown(this.last).includes(text), shown(this.last));
});

Then("the terminal got no {string}", function (text) {
  const bytes = JSON.parse(`"${text}"`);
  assert.ok(!this.last.stdout.includes(bytes), JSON.stringify(this.last.stdout));
});
