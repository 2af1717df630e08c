// SPDX-License-Identifier: Apache-2.0
// Steps that compile a small agent program against librondo, as a user would, and run it.
"use strict";

const { Given, Then, When } = require("@cucumber/cucumber");
const assert = require("node:assert/strict");
const path = require("node:path");
const { build, root } = require("./world");

Given("the agent program {string}", function (name) {
  this.source = path.join(root, "tests/acceptance/programs", name);
});

When("it is compiled against librondo", async function () {
  const library = path.join(build, "src/api");
  const result = await this.run(
    `cc -std=c17 -D_GNU_SOURCE -Wall -Wextra -Werror -I'${root}/include' -o agent '${this.source}' ` +
      `-L'${library}' -Wl,-rpath,'${library}' -lrondo`,
  );
  assert.equal(result.code, 0, result.stderr);
});

When("the program runs with {string}", async function (words) {
  await this.run(`./agent ${words}`);
});

Then("its output has the line {string}", function (line) {
  const { code, signal, stdout, stderr } = this.last;
  assert.ok(stdout.split("\n").includes(line), `exit code ${code ?? signal}\n${stdout}\n${stderr}`);
});

Then("the program was killed", function () {
  assert.equal(this.last.signal, "SIGKILL", this.last.stdout + this.last.stderr);
});

Then("the printed {string} is at most {int}", function (name, limit) {
  const match = new RegExp(`^${name} (\\d+)$`, "m").exec(this.last.stdout);
  assert.ok(match, this.last.stdout + this.last.stderr);
  assert.ok(Number(match[1]) <= limit, match[0]);
});
