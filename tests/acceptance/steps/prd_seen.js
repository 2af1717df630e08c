// SPDX-License-Identifier: Apache-2.0
// Steps about what is seen of a PRD's run.
"use strict";

const { Then, When } = require("@cucumber/cucumber");
const assert = require("node:assert/strict");
const { ask } = require("./server");

// The first columns of a table; only the last columns of a table may have blanks or be empty.
Then("the table in stdout is", function (table) {
  const rows = table.raw();
  const printed = this.last.stdout.split("\n");
  const seen = printed.slice(0, rows.length).map((line) => line.split(/\s{2,}/));
  assert.deepEqual(
    seen.map((cells) => cells.slice(0, rows[0].length)),
    rows,
  );
});

function prd(world) {
  return JSON.parse(world.last.stdout.trim().split("\n").at(-1)).prd;
}

// A row is an id, a state, the number of attempts, how it was done, and what it waits for.
Then("the tasks of the run are", function (table) {
  const seen = prd(this).tasks.map((task) => [
    task.id,
    task.state,
    String(task.attempts.length),
    task.how ?? "",
    task.blocked_by ?? "",
  ]);
  assert.deepEqual(seen, table.raw());
});

When("I show the run of the last attempt at {string}", async function (id) {
  const { attempts } = prd(this).tasks.find((task) => task.id === id);
  await this.run(`rondo show ${attempts.at(-1).run_id}`);
});

Then("all runs but the first one work for the first one", function () {
  const [first, ...others] = this.last.stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  assert.equal(first.parent_id, null);
  assert.deepEqual([...new Set(others.map((run) => run.parent_id))], [first.run_id]);
});

// ---- The page ----

When("opens the tasks of the run of {string}", async function (agent) {
  if (this.page === undefined) return "skipped";
  const run = await this.until(
    `a run of ${agent}`,
    async () => (await ask(this, "GET", `/v1/runs?agent=${agent}`)).json.runs[0],
  );
  await this.page.evaluate((id) => (location.hash = `#/runs/${id}`), run.run_id);
  await this.page.waitForSelector(".task-board");
  return undefined;
});

// Columns that the table does not name are empty.
Then("the board soon shows", async function (table) {
  const wanted = Object.fromEntries(table.raw());
  await this.page.waitForFunction((lists) => {
    const seen = {};
    for (const column of document.querySelectorAll(".task-column")) {
      const ids = [...column.querySelectorAll(".task-id")].map((id) => id.textContent);
      if (ids.length) seen[column.getAttribute("aria-labelledby").slice(6)] = ids.join(", ");
    }
    const text = (of) => JSON.stringify(Object.entries(of).sort());
    return text(seen) === text(lists);
  }, wanted);
});

When("the operator opens the task {string} and its changes", async function (id) {
  await this.page.locator(".task-card", { hasText: id }).click();
  await this.page.getByRole("button", { name: "Show the changes" }).click();
});

Then(
  "the changes are of the file {string}, with the line {string} added",
  async function (name, line) {
    const file = this.page.locator(".change-file", { hasText: name });
    await file.waitFor();
    await file.locator(".diff-row.is-added", { hasText: line }).waitFor();
    assert.equal(await this.page.locator(".change-file").count(), 1);
  },
);

Then("the page names the check {string}", function (name) {
  return this.page.locator(".task-check-name", { hasText: name }).first().waitFor();
});

Then(
  "{string} lists {int} warnings, none of them of the agent {string}",
  async function (path, count, agent) {
    const { warnings } = (await ask(this, "GET", path)).json;
    assert.equal(warnings.length, count, JSON.stringify(warnings));
    assert.ok(warnings.every((warning) => warning.agent_id !== agent));
  },
);
