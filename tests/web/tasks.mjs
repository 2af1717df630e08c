// SPDX-License-Identifier: Apache-2.0
// The tasks of a PRD's run: board, graph, details, changes and the progress log, live and by keyboard.
import assert from "node:assert/strict";
import { eventually } from "./browser.mjs";
import { withMock } from "./mocked.mjs";
import { prdWorld, touch } from "./mock/tasks.mjs";

const card = (number) => `.task-card[data-task="${number}"]`;

async function board(page) {
  await page.waitForSelector(card(7));
  for (const [state, ids] of [
    ["pending", ["US-006"]],
    ["working", ["US-003"]],
    ["done", ["US-001", "US-002", "US-007"]],
    ["failed", ["US-004"]],
    ["blocked", ["US-005"]],
  ]) {
    const column = page.locator(`section[aria-labelledby=tasks-${state}]`);
    await eventually(async () =>
      assert.deepEqual(await column.locator(".task-id").allInnerTexts(), ids, state),
    );
  }
  await page.getByText("waits for US-004").waitFor();
  await page.getByText("3 of 7 done").waitFor();
  await page.locator('nav.tabs a[aria-current="page"]', { hasText: "Tasks" }).waitFor();
}

async function live(page, server) {
  await page.waitForSelector(card(3));
  touch(server.world, 3, { state: "done", how: "committed", commit: "3".repeat(40) });
  await page.locator(`section[aria-labelledby=tasks-done] ${card(3)}`).waitFor();
  await page.getByText("4 of 7 done").waitFor();
}

async function details(page, server) {
  await page.locator(card(4)).click();
  const panel = page.locator(".task-detail");
  await panel.getByRole("heading", { name: "Attempt 3" }).waitFor();
  await eventually(async () => {
    const heads = await panel.locator(".attempt h3").allInnerTexts();
    assert.deepEqual(heads, ["Attempt 3", "Attempt 2", "Attempt 1"], "newest first");
  });
  const link = panel.getByRole("link", { name: /^run / }).first();
  await eventually(async () =>
    assert.match(await link.getAttribute("href"), new RegExp(server.world.prd.child.run_id)),
  );
  await panel.getByText("make test", { exact: true }).first().waitFor();
  touch(server.world, 4, { state: "pending" });
  await panel.locator(".status", { hasText: "Pending" }).waitFor();
  await page.keyboard.press("Escape");
  await panel.waitFor({ state: "detached" });
}

async function changes(page) {
  await page.locator(card(1)).click();
  const panel = page.locator(".task-detail");
  await panel.getByRole("button", { name: "Show the changes" }).click();
  await panel.locator(".change-file").first().waitFor();
  await eventually(async () => {
    const names = await panel.locator(".change-file summary code").allInnerTexts();
    assert.deepEqual(names, ["src/list.py", "docs/list.md", "logo.png"]);
  });
  await eventually(async () => assert.equal(await panel.locator(".diff-row.is-added").count(), 4));
  await eventually(async () =>
    assert.equal(await panel.locator(".diff-row.is-removed").count(), 1),
  );
  await panel.getByText("binary").waitFor();
}

async function graph(page) {
  await page.getByRole("button", { name: "Graph" }).click();
  const nodes = page.locator(".graph-node");
  await nodes.first().waitFor();
  await eventually(async () => assert.equal(await nodes.count(), 7));
  await eventually(async () =>
    assert.equal(await page.locator(".graph-plane > svg > path").count(), 6),
  );
  const x = async (number) =>
    (await page.locator(`.graph-node[data-task="${number}"]`).boundingBox()).x;
  await eventually(async () =>
    assert.ok(
      (await x(1)) < (await x(2)) && (await x(2)) < (await x(3)) && (await x(3)) < (await x(6)),
    ),
  );
  await page.locator('.graph-node[data-task="2"]').click();
  await page.locator(".task-detail", { hasText: "US-002" }).waitFor();
}

async function log(page) {
  await page.getByRole("button", { name: "Progress log" }).click();
  await page.getByText("money is an integer of cents").waitFor();
}

async function keyboard(page) {
  await page.waitForSelector(card(1));
  await page.keyboard.press("j");
  await page.locator(`${card(1)}.is-selected`).waitFor();
  await page.keyboard.press("j");
  await page.locator(`${card(2)}.is-selected`).waitFor();
  await page.keyboard.press("k");
  await page.locator(`${card(1)}.is-selected`).waitFor();
  await page.keyboard.press("d");
  await page.waitForSelector(".graph-node.is-selected");
  await page.keyboard.press("l");
  await page.getByText("Codebase Patterns").waitFor();
  await page.keyboard.press("b");
  await page.waitForSelector(card(1));
}

async function hostile(page) {
  for (const number of [4, 1]) {
    await page.locator(card(number)).click();
    await page.locator(".task-detail .attempt").first().waitFor();
    await page
      .locator(".task-detail")
      .getByRole("button", { name: /^Show the changes/ })
      .first()
      .click();
    await page.locator(".change-file").first().waitFor();
  }
  await page.getByText("Export as CSV <img").first().waitFor();
  assert.equal(await page.evaluate(() => window.wasRun), undefined);
  assert.equal(await page.locator("main img").count(), 0);
}

async function empty(page) {
  await page.getByText("No tasks yet").waitFor();
  await page.getByRole("button", { name: "Progress log" }).click();
  await page.getByText("The progress log is empty").waitFor();
}

async function failing(page, server) {
  await page.getByText("The file cannot be used as it is now: line 3").waitFor();
  server.broken.set("/diff", 409);
  await page.locator(card(1)).click();
  await page.getByRole("button", { name: "Show the changes" }).click();
  await page.locator(".task-detail .empty-problem").waitFor();
}

async function parent(page, server) {
  const { run, child } = server.world.prd;
  await page.waitForSelector(".tr[data-run]");
  assert.equal(await page.locator(`.tr[data-run="${child.run_id}"]`).count(), 0);
  await page.evaluate((id) => (location.hash = `#/runs/${id}`), child.run_id);
  const link = page.locator(".run-facts a");
  await link.waitFor();
  await eventually(async () =>
    assert.equal(await link.getAttribute("href"), `#/runs/${run.run_id}`),
  );
}

export async function taskTests(test, browser, dist) {
  const scenario = (name, act, more = {}, path = null) => {
    const { world, run } = prdWorld(more);
    return test(`tasks: ${name}`, () =>
      withMock(browser, dist, world, (page, server) => act(page, server), {
        path: path ?? `#/runs/${run.run_id}`,
      }));
  };
  await scenario("a board by states, first of the tabs", board);
  await scenario("a task that is done moves at once", live);
  await scenario("attempts, checks and runs of a task", details);
  await scenario("what a commit changes", changes);
  await scenario("what depends on what", graph);
  await scenario("the progress log", log);
  await scenario("by keyboard alone", keyboard);
  await scenario("what agents write is only text", hostile);
  await scenario("a run without tasks", empty, { tasks: () => [], more: { log: "" } });
  await scenario("what cannot be read is said", failing, { more: { problem: "line 3" } });
  await scenario("attempts are not in the list of runs", parent, {}, "#/runs");
}
