// SPDX-License-Identifier: Apache-2.0
// Steps about what the page and the API show of the work queue, and what is requested there.
"use strict";

const { Then, When } = require("@cucumber/cucumber");
const assert = require("node:assert/strict");
const { ask } = require("./server");

function itemOf(world, number) {
  return world.until(`a work item of issue ${number}`, async () =>
    (await ask(world, "GET", "/v1/work")).json.items.find((item) => item.number === number),
  );
}

const rowOf = (world, number) => world.page.locator(`.entry[data-id$="!${number}"]`);

Then("the page soon lists issue {int} as {string}", async function (number, state) {
  await rowOf(this, number).locator(".tag", { hasText: state }).waitFor();
  this.row = rowOf(this, number);
});

Then("the title of issue {int} is shown as {string}", async function (number, title) {
  const shown = await rowOf(this, number).locator("p").first().innerText();
  assert.equal(shown, title);
});

Then("it links to the pull request at the forge", async function () {
  const link = this.row.getByRole("link", { name: /^pull request #/ });
  const [item] = (await ask(this, "GET", "/v1/work")).json.items;
  assert.equal(await link.getAttribute("href"), item.pull_url);
  assert.match(item.pull_url, /^http/);
});

When("the operator opens the work item of issue {int}", async function (number) {
  await rowOf(this, number).locator("p").first().getByRole("link").click();
  await this.page.waitForSelector("#work-history");
});

Then("its history goes from {string} to {string}", async function (first, last) {
  const states = await this.until("its history", async () => {
    const shown = await this.page.locator(".entry .tag").allInnerTexts();
    return shown.length > 1 && shown;
  });
  assert.equal(states.at(-1), first, "newest first");
  assert.equal(states[0], last, states.join(", "));
});

When("the operator follows its run", function () {
  return this.page
    .locator(".facts")
    .getByRole("link", { name: /^[0-9a-f-]{13}$/ })
    .click();
});

When("requests {string} with {string}", async function (action, button) {
  await this.page.getByRole("button", { name: action, exact: true }).click();
  await this.page.getByRole("button", { name: button }).click();
  await this.page.getByText(`${action} requested by`).waitFor();
});

Then("the page soon says that the state is {string}", function (state) {
  return this.page.locator(".facts .tag", { hasText: state }).waitFor();
});

When("I post a release of issue {int}", async function (number) {
  const { id } = await itemOf(this, number);
  await ask(this, "POST", `/v1/work/${encodeURIComponent(id)}/release`);
});
