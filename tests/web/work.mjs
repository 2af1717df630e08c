// SPDX-License-Identifier: Apache-2.0
// The page of work items: against the mock server, and against a real server with items in its store.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { axe, eventually, open, shut } from "./browser.mjs";
import { withMock } from "./mocked.mjs";
import { World } from "./mock/model.mjs";
import { idOf } from "./mock/work.mjs";
import { Place } from "./served.mjs";

const SHOP = "github.com/acme/shop";
const place_of = (number) => `#/work/${idOf(SHOP, number)}`;
const row = (page, number) => page.locator(`.entry[data-id="${idOf(SHOP, number)}"]`);
const numbers = async (page) =>
  (await page.locator(".entry").evaluateAll((rows) => rows.map((one) => one.dataset.id))).map(
    (id) => Number(id.split("!").at(-1)),
  );
const listed = (page, count) =>
  page.waitForFunction((n) => document.querySelectorAll(".entry").length === n, count);

async function list(page) {
  await listed(page, 9);
  await eventually(async () =>
    assert.deepEqual(await numbers(page), [41, 38, 7, 37, 36, 30, 29, 28, 5], "last changed first"),
  );
  const review = row(page, 38);
  await eventually(async () =>
    assert.match(await review.innerText(), /In review.*pull request #44.*1 attempt.*cost \$0\.42/s),
  );
  const outside = review.getByRole("link", { name: "pull request #44" });
  await eventually(async () =>
    assert.equal(await outside.getAttribute("href"), `https://${SHOP}/pull/44`),
  );
  await eventually(async () =>
    assert.equal(await outside.getAttribute("rel"), "noopener noreferrer nofollow"),
  );
  await page.getByText(/tries again in/).waitFor();
  await page.locator(".entry", { hasText: "cost unknown" }).waitFor();
}

async function live(page, server) {
  await listed(page, 9);
  const item = server.world.work.find(({ number }) => number === 30);
  Object.assign(item, { state: "blocked", reason: "time_over", updated: new Date().toISOString() });
  await row(page, 30).locator(".tag", { hasText: "Blocked" }).waitFor();
  await eventually(async () => assert.equal((await numbers(page))[0], 30));
  await row(page, 30).getByText("time over").waitFor();
}

async function filters(page) {
  await listed(page, 9);
  await page.getByRole("button", { name: /^Blocked/ }).click();
  await listed(page, 1);
  await page.getByRole("button", { name: /^Done/ }).click();
  await listed(page, 2);
  await page.getByLabel("Repository").selectOption("git.example.org/tools/ledger");
  await listed(page, 1);
  await eventually(async () => assert.deepEqual(await numbers(page), [5]));
  await page.waitForURL(/state=blocked%2Cdone&repository=git\.example\.org/);
  await page.getByRole("button", { name: /^Done/ }).click();
  await page.getByText("No matching work items").waitFor();
}

async function pages(page, server) {
  const one = server.world.work[0];
  const time = (n) => new Date(Date.now() - n * 1000).toISOString();
  server.world.work = Array.from({ length: 70 }, (_, n) => ({
    ...one,
    id: idOf(SHOP, n + 1),
    number: n + 1,
    updated: time(n),
  }));
  await page.reload();
  await listed(page, 50);
  await page.getByRole("button", { name: "Load more" }).click();
  await listed(page, 70);
  await page.getByRole("button", { name: "Load more" }).waitFor({ state: "detached" });
}

async function detail(page, server) {
  await row(page, 37)
    .getByRole("link", { name: /^Payments fail/ })
    .click();
  await page.getByRole("heading", { level: 1, name: /^Payments fail/ }).waitFor();
  await eventually(async () =>
    assert.equal(await page.title(), "Payments fail in the night of the change of clocks · Rondo"),
  );
  await page.getByText("test_clock failed after each of 3 attempts").waitFor();
  await eventually(async () => {
    const notes = await page.locator(".entry").allInnerTexts();
    assert.match(notes[0], /it is blocked/);
    assert.match(notes[2], /claimed/);
  });
  const run = page.locator(".facts").getByRole("link", { name: /^01a2079f/ });
  await eventually(async () =>
    assert.equal(await run.getAttribute("href"), "#/runs/01a2079f-b300-72f0-a4b7-76fe9c42fd97"),
  );
  const item = server.world.work.find(({ number }) => number === 37);
  item.history = [...item.history, { time: item.updated, state: "assigned", text: "once more" }];
  await page.locator(".entry", { hasText: "once more" }).waitFor();
  await page.keyboard.press("u");
  await listed(page, 9);
}

async function retry(page, server) {
  await page.waitForSelector(".facts");
  const release = page.getByRole("button", { name: "Release" });
  await eventually(async () =>
    assert.equal(await release.getAttribute("title"), "Its state is “Blocked”"),
  );
  await page.getByRole("button", { name: "Retry" }).press("Enter");
  await page.getByRole("button", { name: "Cancel" }).click();
  assert.equal(server.world.calls.length, 0);
  await page.getByRole("button", { name: "Retry" }).press("Enter");
  await page.getByRole("button", { name: "Retry the issue" }).press("Enter");
  await page.locator(".notice", { hasText: /Retry requested by local user ops/ }).waitFor();
  assert.deepEqual(server.world.calls, [{ action: "retry", item: idOf(SHOP, 37) }]);
  const button = page.getByRole("button", { name: "Retry" });
  await eventually(async () =>
    assert.equal(await button.getAttribute("title"), "Requested already"),
  );
}

async function refusedRelease(page, server) {
  await page.waitForSelector(".facts");
  await page.getByRole("button", { name: "Release" }).click();
  server.world.work.find(({ number }) => number === 38).state = "done";
  await page.getByRole("button", { name: "Release the issue" }).click();
  await page.locator("dialog .notice", { hasText: "it is done" }).waitFor();
}

async function readOnly(page) {
  await page.waitForSelector(".facts");
  for (const name of ["Retry", "Release"]) {
    const button = page.getByRole("button", { name });
    await eventually(async () =>
      assert.match(await button.getAttribute("title"), /this requires “operate”/),
    );
  }
}

async function hostile(page) {
  await page.waitForSelector(".facts");
  await page.getByRole("heading", { level: 1, name: /Nothing to see <img src=x/ }).waitFor();
  await page.locator(".notice", { hasText: "without a change <img" }).waitFor();
  assert.equal(await page.locator('a[href^="javascript:"]').count(), 0);
  assert.equal(await page.locator("main img").count(), 0);
  assert.equal(await page.evaluate(() => window.wasRun), undefined);
}

async function damaged(page) {
  await page.locator(".notice", { hasText: "#4 cannot be read" }).waitFor();
  await listed(page, 9);
}

async function troubled(page) {
  await listed(page, 9);
  await page.getByText(`${SHOP}: git <b>fails</b>`).waitFor();
}

async function gone(page) {
  await page.locator(".empty", { hasText: "Not found" }).waitFor();
  await page.getByRole("link", { name: "To the work items" }).click();
  await listed(page, 9);
}

export async function workTests(test, browser, dist) {
  const scenario = (name, path, act, more = {}) =>
    test(name, () => {
      const world = new World({ size: 2 });
      more.before?.(world);
      return withMock(browser, dist, world, act, { path, ...more });
    });
  await scenario("work: items are listed with pull request, attempts and cost", "#/work", list);
  await scenario("work: an item that changes comes to the top", "#/work", live);
  await scenario("work: filtered by states and repository", "#/work", filters);
  await scenario("work: more are loaded on demand", "#/work", pages);
  await scenario("work: one item has its history and its run, live", "#/work", detail);
  await scenario("work: a retry is requested after a question", place_of(37), retry);
  await scenario("work: a refused release says why", place_of(38), refusedRelease);
  await scenario("work: who may only read is told why", place_of(37), readOnly, {
    mock: { scope: "read" },
  });
  await scenario("work: what strangers wrote stays text", place_of(36), hostile);
  await scenario("work: an item that cannot be read is named", "#/work", damaged, {
    before: (world) => Object.assign(world, { workDamage: "the work item #4 cannot be read" }),
  });
  await scenario("work: what keeps a queue from working is shown", "#/work", troubled, {
    before: (world) =>
      Object.assign(world, {
        workTroubles: [
          { repository: SHOP, message: "git <b>fails</b>", since: "2026-01-15T14:20:00.000Z" },
        ],
      }),
  });
  await scenario("work: an item that is not there", place_of(99), gone);
}

/** A document as the work queue writes it. */
const stored = (number, state, runId) => ({
  format: 1,
  repository: SHOP,
  number,
  title: `Issue <b>${number}</b>`,
  url: `https://${SHOP}/issues/${number}`,
  state,
  run_id: runId,
  attempts: 2,
  tokens: 1200,
  cost_micro: 420_000,
  updated_ns: 1.7e18 + number * 1e9,
  notes: [{ time_ns: 1.7e18, state: "assigned", text: "claimed" }],
});

async function served(browser, place) {
  await place.serve();
  const runId = await place.waiting("worker");
  const rows = [stored(12, "blocked", runId), stored(13, "in-progress", runId)].map(
    (one) => `('work-item', '${SHOP}#${one.number}', 1, 1, '${JSON.stringify(one)}')`,
  );
  const sql = `INSERT INTO documents VALUES ${rows.join(", ")};`;
  execFileSync("sqlite3", ["-cmd", ".timeout 20000", place.environment.RONDO_STORE, sql]);
  const page = await open(browser, `${place.url}/#/work`);
  try {
    await listed(page, 2);
    await eventually(async () => assert.deepEqual(await numbers(page), [13, 12]));
    await row(page, 12).getByRole("link", { name: "Issue <b>12</b>" }).click();
    await page.locator(".entry", { hasText: "claimed" }).waitFor();
    assert.deepEqual(await axe(page), []);
    await page.getByRole("button", { name: "Retry" }).click();
    await page.getByRole("button", { name: "Retry the issue" }).click();
    await page.locator(".notice", { hasText: /Retry requested by/ }).waitFor();
    const { request } = await place.get(`/v1/work/${idOf(SHOP, 12)}`);
    assert.equal(request.kind, "retry");
    await page.locator(".facts a", { hasText: runId.slice(0, 13) }).click();
    await page.getByRole("heading", { name: "worker" }).waitFor();
    await page.waitForURL((url) => url.href.includes(runId));
    assert.deepEqual(page.problems, []);
  } finally {
    await shut(page);
  }
}

export async function workServedTests(test, browser, rondo) {
  await test("served: work items of the store, and a retry that is recorded", async () => {
    const place = new Place(rondo);
    try {
      await served(browser, place);
    } finally {
      await place.close();
    }
  });
}
