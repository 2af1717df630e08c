// SPDX-License-Identifier: Apache-2.0
// Steps about servers that work on issues, and about the doctor of the work queue.
"use strict";

const { Given, When } = require("@cucumber/cucumber");

// {api}, {address} and {kind} stand for those of the forge.
Given("a file {string} about the forge with", function (name, text) {
  const filled = text.replace(/\{(api|address|kind)\}/g, (_, key) => this.forge[key]);
  this.write(name, `${filled}\n`);
});

When("I run the doctor of the work queue", async function () {
  const { kind, api } = this.forge;
  await this.run(`rondo work doctor --forge ${kind} --api ${api}`);
});
