// SPDX-License-Identifier: Apache-2.0
// Scenarios that need what a real server does seldom, or more runs than a test can make.
import assert from "node:assert/strict";
import { axe, eventually, isTooWide, live, open, press, shut } from "./browser.mjs";
import { PAGES, PLACES, scene } from "./places.mjs";
import { showcase, World } from "./mock/model.mjs";
import { Mock } from "./mock/server.mjs";

export async function withMock(browser, dist, world, run, more = {}) {
  const server = await new Mock({ folder: dist, world, ...more.mock }).start();
  const page = await open(browser, `${server.url}/${more.path ?? ""}`, more.view);
  try {
    await run(page, server);
    assert.deepEqual(page.problems, []);
  } finally {
    await shut(page);
    await server.kill().catch(() => {});
  }
}

/** Numbers of all events of a timeline, read by scrolling through it. */
export async function readTimeline(page) {
  return page.evaluate(async () => {
    const list = document.querySelector(".timeline .virtual");
    const seqs = [];
    const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
    const isDrawn = (index) => list.querySelector(`[aria-rowindex="${index + 1}"]`) !== null;
    // Rows are drawn when the page has time for it, some frames after the scrolling.
    const areDrawn = () => {
      const height = list.querySelector("[data-seq]").offsetHeight;
      const count = Math.round(list.querySelector(".virtual-space").offsetHeight / height);
      const end = Math.min(count, Math.ceil((list.scrollTop + list.clientHeight) / height));
      return isDrawn(Math.floor(list.scrollTop / height)) && isDrawn(end - 1);
    };
    // While the list follows the end, it goes back there.
    do {
      list.scrollTop = 0;
      await frame();
      await frame();
    } while (list.scrollTop !== 0);
    for (;;) {
      while (!areDrawn()) await frame();
      for (const row of list.querySelectorAll("[data-seq]")) {
        const seq = Number(row.dataset.seq);
        if (!seqs.length || seq > seqs.at(-1)) seqs.push(seq);
      }
      if (list.scrollTop + list.clientHeight >= list.scrollHeight - 1) return seqs;
      list.scrollTop += list.clientHeight - 60;
    }
  });
}

const upTo = (n) => Array.from({ length: n }, (_, at) => at + 1);
const text = (page, selector) => page.locator(selector).first().innerText();

async function cutAndHealed(page, server, world, run) {
  await live(page);
  await page.waitForSelector(".tl-row");
  server.broken.set("/events", 503);
  server.cutStreams();
  await page.waitForSelector('.connection[data-phase="waiting"]');
  for (let i = 0; i < 5; i += 1) world.iterate(run);
  server.broken.clear();
  await live(page);
  await page.waitForFunction(
    (n) =>
      document
        .querySelector(".timeline .toolbar-end")
        .textContent.startsWith(n.toLocaleString("en-US")),
    run.last_seq,
  );
  assert.deepEqual(await readTimeline(page), upTo(run.last_seq));
}

async function reset(page, server, world, run) {
  await live(page);
  await page.waitForSelector(".tl-row");
  // Committed, but never sent: as if the ring of the server had run over.
  const streams = [...server.streams];
  server.streams.clear();
  world.iterate(run);
  for (const stream of streams) {
    server.streams.add(stream);
    stream.send(run.last_seq, "reset", {});
  }
  await page.waitForFunction(
    (n) => document.querySelector(".timeline .toolbar-end").textContent.startsWith(String(n)),
    run.last_seq,
  );
  world.iterate(run);
  await page.waitForFunction(
    (n) => document.querySelector(".timeline .toolbar-end").textContent.startsWith(String(n)),
    run.last_seq,
  );
  assert.deepEqual(await readTimeline(page), upTo(run.last_seq));
}

/** Seconds for which the page's thread was at work, not waiting, while something is done. */
async function workOf(page, act) {
  const session = await page.context().newCDPSession(page);
  const spent = async () => {
    const { metrics } = await session.send("Performance.getMetrics");
    return metrics.find(({ name }) => name === "TaskDuration").value;
  };
  await session.send("Performance.enable", { timeDomain: "threadTicks" });
  const before = await spent();
  await act();
  const after = await spent();
  await session.detach();
  return after - before;
}

/** Go up and down in a list, a step a frame. */
const scroll = (page, selector) =>
  page.evaluate(async (name) => {
    const list = document.querySelector(name);
    for (let i = 0; i < 120; i += 1) {
      list.scrollTop += i % 20 < 10 ? 300 : -300;
      await new Promise((resolve) => requestAnimationFrame(resolve));
    }
  }, selector);

/** The work of the same in a page with few rows, to compare with. */
async function workOfFew(browser, dist, { world, path }, selector, act) {
  let work;
  const measure = async (page) => {
    await live(page);
    await page.waitForSelector(selector);
    await act(page);
    work = await workOf(page, () => act(page));
  };
  await withMock(browser, dist, world, measure, { path });
  return work;
}

async function manyRuns(page, workOfFewRuns) {
  await live(page);
  await page.waitForSelector(".tr[data-run]");
  await eventually(async () => assert.match(await text(page, ".page-sub"), /2,000 runs/));
  // Each page of runs is fetched when the end of those before comes in sight.
  while (!/2,000 listed$/.test((await text(page, ".table-foot")).trim())) {
    await page.evaluate(() => {
      const list = document.querySelector(".virtual");
      list.scrollTop = list.scrollHeight;
      return new Promise((resolve) => setTimeout(resolve, 20));
    });
  }
  const work = await workOf(page, () => scroll(page, ".virtual"));
  const few = await workOfFewRuns();
  assert.ok(work < 2 * few, `2,000 runs scroll with ${work} s of work, 100 with ${few} s`);
  assert.ok(
    (await page.locator(".tr[data-run]").count()) < 80,
    "rows out of sight are not in the page",
  );
  await page.getByRole("button", { name: /^Failed/ }).click();
  await page.waitForFunction(() =>
    [...document.querySelectorAll(".tr .status")].every(
      (status) => status.dataset.status === "failed",
    ),
  );
  await page.getByRole("searchbox").fill("triage-bot");
  await page.waitForFunction(
    () =>
      document.querySelectorAll(".row-link").length > 0 &&
      [...document.querySelectorAll(".row-link")].every(
        (link) => link.textContent === "triage-bot",
      ),
  );
  await page.waitForURL(/status=failed/);
}

async function sorted(page) {
  await page.waitForSelector(".tr[data-run]");
  for (const name of [
    "Status",
    "Agent",
    "Progress",
    "Iteration",
    "Conditions",
    "Tokens",
    "Cost",
    "Warnings",
    "Active",
    "Age",
  ]) {
    const head = page.getByRole("columnheader", { name, exact: true });
    await head.getByRole("button").click();
    await page.waitForFunction(
      (label) =>
        [...document.querySelectorAll("[role=columnheader]")]
          .find((one) => one.textContent.trim() === label)
          ?.getAttribute("aria-sort") !== "none",
      name,
    );
  }
  await page.getByRole("columnheader", { name: "Tokens" }).getByRole("button").click();
  await page.waitForFunction(() => {
    const scale = { k: 1e3, M: 1e6 };
    const words = [...document.querySelectorAll(".td-tokens[role=cell]")].map((cell) =>
      cell.textContent.trim(),
    );
    const values = words.map((word) => parseFloat(word) * (scale[word.at(-1)] ?? 1));
    return values.length > 10 && values.every((value, at) => at === 0 || value <= values[at - 1]);
  });
}

/** Forty iterations while the page looks on. */
async function iterateMuch(world, run) {
  for (let i = 0; i < 40; i += 1) {
    world.iterate(run);
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}

async function manyEvents(page, world, run, workOfFewEvents) {
  await live(page);
  await page.waitForFunction(
    (n) =>
      document
        .querySelector(".timeline .toolbar-end")
        ?.textContent.startsWith(n.toLocaleString("en-US")),
    run.last_seq,
  );
  assert.ok((await page.locator(".tl-row").count()) < 120);
  const before = run.last_seq;
  world.emit(run, "note", { name: "marker" });
  await page.waitForSelector(`[data-seq="${before + 1}"]`);
  const work = await workOf(page, () => iterateMuch(world, run));
  const few = await workOfFewEvents();
  assert.ok(
    work < 6 * few,
    `after 10,000 events 40 iterations cost ${work} s of work, after few ${few} s`,
  );
  await page.getByRole("button", { name: /^Checkpoints/ }).click();
  await page.waitForFunction(
    (n) =>
      document
        .querySelector(".timeline .toolbar-end")
        .textContent.startsWith(n.toLocaleString("en-US")),
    run.checkpoints.length,
  );
}

async function byKeyboard(page, server, world, run) {
  await live(page);
  await page.waitForSelector(".tr[data-run]");
  await page.keyboard.press("/");
  await page.keyboard.type("ledger-repair");
  await page.waitForFunction(() => document.querySelectorAll(".tr[data-run]").length === 1);
  await page.keyboard.press("Escape");
  await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".hero");
  await page.keyboard.press("2");
  await page.waitForSelector(".tl-row");
  await page.keyboard.press("k");
  await page.waitForSelector(".detail");
  await page.keyboard.press("4");
  await page.waitForSelector(".checkpoint");
  await page.keyboard.press("1");
  await page.waitForSelector(".hero");
  await page.getByRole("button", { name: "Stop" }).focus();
  await page.keyboard.press("Enter");
  await page.waitForSelector("dialog[open]");
  for (let i = 0; i < 6; i += 1) {
    await page.keyboard.press("Tab");
    assert.ok(
      await page.evaluate(
        () =>
          document.activeElement === document.body ||
          document.activeElement.closest("dialog") !== null,
      ),
      "the focus stays in the dialog",
    );
  }
  await page.keyboard.press("Escape");
  await page.waitForFunction(() => document.activeElement?.textContent === "Stop");
  await page.keyboard.press("u");
  await page.waitForSelector(".table");
  await press(page, "g", "p");
  await page.waitForSelector(".editor");
  assert.equal(run.status, "running");
}

async function conflict(page, server, world) {
  const area = page.locator(".editor-text");
  await area.fill((await area.inputValue()).replaceAll("100", "120"));
  await page.waitForSelector(".panel-tools .button-primary:not([aria-disabled])");
  world.putPolicy("permit (principal, action, resource);\n", "token other", "set");
  await page.getByRole("button", { name: "Save…" }).click();
  await page.getByRole("button", { name: "Replace policies" }).click();
  await page.getByRole("heading", { name: "Policies changed by someone else" }).waitFor();
  await page.getByRole("button", { name: "Keep my text, compare with theirs" }).click();
  await page.getByRole("button", { name: "Save…" }).click();
  await page.getByRole("button", { name: "Replace policies" }).click();
  await page.getByText("Policies replaced").waitFor();
  assert.match(world.policies.at(-1).text, /120/);
}

async function themed(page) {
  await page.waitForSelector(".cards");
  const shown = () => page.evaluate(() => document.documentElement.dataset.theme);
  await eventually(async () => assert.equal(await shown(), "dark"));
  await page.getByRole("button", { name: /^Theme: system/ }).click();
  await page.getByRole("button", { name: /^Theme: dark/ }).click();
  await eventually(async () => assert.equal(await shown(), "light"));
  await page.reload();
  await page.waitForSelector(".cards");
  await eventually(async () => assert.equal(await shown(), "light"));
}

async function warned(page, server, world, run) {
  await live(page);
  await page.waitForSelector(".tr[data-run]");
  world.warn(run, "iterations", 40, 34);
  await page.locator(".toast", { hasText: "34 of 40 iterations, 6 left" }).waitFor();
  const news = page.getByRole("link", { name: /^Warnings/ }).locator(".nav-badge");
  await news.waitFor();
  await page.locator(`[data-run="${run.run_id}"] .badge`).waitFor();
  await page.getByRole("link", { name: /^Warnings/ }).click();
  await page.locator(".warn", { hasText: "34 of 40" }).first().waitFor();
  await news.waitFor({ state: "detached" });
}

async function safeMarkdown(page) {
  await page.waitForSelector(".message");
  assert.equal(await page.locator(".talk script").count(), 0);
  await eventually(async () =>
    assert.ok((await page.locator(".talk").innerText()).includes("<script>alert(1)</script>")),
  );
  const hrefs = await page
    .locator(".talk a")
    .evaluateAll((links) => links.map((link) => link.href));
  assert.ok(hrefs.every((href) => /^https?:/.test(href)));
}

function talkingWorld() {
  const world = new World({ size: 8 });
  return { world, run: showcase(world, { iterations: 6 }) };
}

export async function mockedTests(test, browser, dist) {
  const scenario = (name, act, { world, run, ...more }) =>
    test(name, () =>
      withMock(browser, dist, world, (page, server) => act(page, server, world, run), more),
    );
  const simple = (path) => {
    const made = talkingWorld();
    return { ...made, path: path(made.run) };
  };
  await scenario(
    "a cut connection heals: what was missed is there, in order, nothing doubled",
    cutAndHealed,
    simple((run) => `#/runs/${run.run_id}/timeline`),
  );
  await scenario(
    "events that the stream lost are fetched from the API",
    reset,
    simple((run) => `#/runs/${run.run_id}/timeline`),
  );
  const fewRuns = () =>
    workOfFew(
      browser,
      dist,
      { world: new World({ size: 100 }), path: "#/runs" },
      ".tr[data-run]",
      (page) => scroll(page, ".virtual"),
    );
  await scenario(
    "2,000 runs are listed, scrolled and filtered without jank",
    (page) => manyRuns(page, fewRuns),
    { world: new World({ size: 2000 }), path: "#/runs" },
  );
  await scenario("the table sorts by every column", sorted, {
    world: new World({ size: 40 }),
    path: "#/runs",
  });
  const long = talkingWorld();
  while (long.run.last_seq < 10_000) long.world.iterate(long.run);
  const short = simple((run) => `#/runs/${run.run_id}/timeline`);
  const fewEvents = () =>
    workOfFew(browser, dist, short, ".tl-row", () => iterateMuch(short.world, short.run));
  await scenario(
    "10,000 events in one run stay smooth",
    (page) => manyEvents(page, long.world, long.run, fewEvents),
    { ...long, path: `#/runs/${long.run.run_id}/timeline` },
  );
  await scenario(
    "everything can be done by keyboard",
    byKeyboard,
    simple(() => "#/runs"),
  );
  await scenario(
    "a warning is told where the operator is, and listed",
    warned,
    simple(() => "#/runs"),
  );
  await scenario(
    "policies changed by somebody else are not overwritten unseen",
    conflict,
    simple(() => "#/policies"),
  );
  await scenario(
    "the theme follows the system until it is chosen, and is remembered",
    themed,
    simple(() => "#/health"),
  );
  await scenario(
    "what a model writes stays text",
    safeMarkdown,
    simple((run) => `#/runs/${run.run_id}/conversation`),
  );
}

/** axe, width and errors of the page: every place in every view, or each page in one, by turns. */
export async function placeTests(test, browser, dist, isGlance) {
  const places = PLACES.filter(({ name }) => !isGlance || PAGES.includes(name));
  for (const [at, place] of places.entries()) {
    const views = VIEWS.filter(
      (view, i) => (!isGlance || i === at % VIEWS.length) && test.wants(nameOf(place, view)),
    );
    // Side by side: they wait for the browser most of the time.
    const looks = views.map((view) => ({
      view,
      result: look(browser, dist, place, view).then(
        () => null,
        (error) => error,
      ),
    }));
    for (const { view, result } of looks) {
      await test(nameOf(place, view), async () => {
        const error = await result;
        if (error) throw error;
      });
    }
  }
}

const VIEWS = [{ theme: "dark" }, { theme: "light" }, { theme: "dark", width: 360, height: 780 }];

function nameOf(place, view) {
  return `${place.name}, ${view.theme}${view.width ? ", on a phone" : ""}: axe finds nothing, nothing is cut off`;
}

async function look(browser, dist, place, view) {
  const made = await scene(place, dist);
  const page = await open(browser, `${made.server.url}/${place.path(made.run)}`, {
    ...view,
    reducedMotion: "reduce",
  });
  try {
    await place.act(page, made);
    assert.deepEqual(await axe(page), []);
    assert.ok((await isTooWide(page)) <= 0, "the page scrolls sideways");
    assert.deepEqual(page.problems, []);
  } finally {
    await shut(page);
    await made.server.kill();
  }
}
