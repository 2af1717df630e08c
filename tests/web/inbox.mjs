// SPDX-License-Identifier: Apache-2.0
// The inbox: against the mock server, and two browsers against a real one.
import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { eventually, live, open, press, shut } from "./browser.mjs";
import { withMock } from "./mocked.mjs";
import { inbox, settle } from "./mock/inbox.mjs";
import { World } from "./mock/model.mjs";
import { Place, until } from "./served.mjs";

const ENTRIES = inbox();
const rows = (page) => page.locator(".inbox-row");
const first = (page, selector) => page.locator(selector).first();

async function sorted(page, server) {
  await rows(page).first().waitFor();
  const tools = async () => page.locator(".inbox-row .inbox-what strong").allInnerTexts();
  await eventually(async () =>
    assert.deepEqual(
      [(await tools())[0], (await tools()).at(-1)],
      ["isolate_host", "http_request"],
      "what waits for its agent comes last",
    ),
  );
  await page.getByRole("button", { name: "Mine (5)" }).click();
  await page.waitForFunction(() => document.querySelectorAll(".inbox-row").length === 5);
  await page.getByRole("button", { name: /^Critical/ }).click();
  await page.waitForFunction(() => document.querySelectorAll(".inbox-row").length === 1);
  await page.waitForURL(/priority=critical/);
  await eventually(async () => {
    const shown = await first(page, ".inbox-row .countdown").innerText();
    const [, minutes, seconds] = /^(\d+) m (\d+) s/.exec(shown).map(Number);
    const left = (Date.parse(server.world.inbox[0].due_at) - Date.now()) / 1000;
    assert.ok(Math.abs(minutes * 60 + seconds - left) < 30, `${shown} of ${left} s`);
  });
  await eventually(async () => assert.match(await page.locator(".nav-badge").innerText(), /^5/));
  settle(server, server.world.inbox[0], "handoff.rejected", { state: "rejected" });
  await page.getByText("Nothing matches").waitFor();
  await page.waitForFunction(() => document.querySelector(".nav-badge").innerText.startsWith("4"));
}

/** Without a mouse: open, read, reject with a reason, and continue. */
async function byKeyboard(page, server) {
  await live(page);
  await press(page, "g", "i");
  await rows(page).first().waitFor();
  await page.keyboard.press("j");
  await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  const entry = page.locator(".inbox-entry");
  await entry.waitFor();
  const id = await entry.getAttribute("data-id");
  await press(page, "g", "r"); // to the runs, and no rejection
  await page.waitForSelector(".tr[data-run]");
  await page.goBack();
  await entry.waitFor();
  await ready(page, /^Reject/);
  await page.keyboard.press("r");
  await page.waitForSelector("dialog[open]");
  await page.keyboard.press("Tab");
  assert.equal(server.world.calls.length, 0);
  await page.getByLabel("Reason, which the agent is told").fill("Not on a Friday.");
  await page.getByRole("button", { name: "Reject", exact: true }).last().press("Enter");
  await page.locator(".inbox-entry .notice", { hasText: "Rejected by ops" }).waitFor();
  const { decision, key } = server.world.calls.at(-1);
  const { revision, action_digest: digest } = server.world.inbox.find(
    ({ request_id: one }) => one === id,
  );
  assert.deepEqual(decision, {
    status: "rejected",
    context: "Not on a Friday.",
    revision,
    action_digest: digest,
  });
  assert.match(key, /^inbox-[0-9a-f]{32}$/);
  await page.keyboard.press("u");
  await page.waitForFunction(() => !document.querySelector(".inbox-entry"));
}

async function critical(page, server) {
  await page.waitForSelector(".inbox-entry");
  await ready(page, /^Approve/);
  await page.keyboard.press("a");
  await page.getByRole("button", { name: "Continue" }).click();
  const approve = page.getByRole("button", { name: "Approve the critical action" });
  await approve.click({ force: true });
  assert.equal(server.world.calls.length, 0, "nothing without the second confirmation");
  const { action_digest: digest } = server.world.inbox[0];
  await page.getByLabel(`I have read the action with the digest ${digest.slice(7, 19)}`).check();
  await approve.click();
  await page.locator(".inbox-entry .notice", { hasText: "Approved by ops" }).waitFor();
}

/** Nothing is shown as decided before the server has said so; who was faster is named. */
async function raced(page, server) {
  await page.waitForSelector(".inbox-entry");
  await ready(page, /^Approve/);
  await page.keyboard.press("a");
  await page.waitForSelector("dialog[open]");
  const one = server.world.inbox[2];
  Object.assign(one, { state: "rejected", decided_by: "user:ben", version: one.version + 1 });
  await page.getByRole("button", { name: "Approve", exact: true }).last().click();
  await page
    .locator("dialog .notice", { hasText: "It is rejected already, by user:ben" })
    .waitFor();
  await page.keyboard.press("Escape");
  await page.locator(".inbox-entry .notice", { hasText: "Rejected by ben" }).waitFor();
}

/** A key does what its button does, once that can be pressed. */
async function ready(page, name) {
  await page.getByRole("button", { name, disabled: false }).first().waitFor();
}

async function asked(page, server) {
  await page.waitForSelector(".inbox-entry");
  await ready(page, /^Approve/);
  await page.keyboard.press("i");
  await page.getByLabel("Questions, one in each line").fill("Which host?\n\n Since when? ");
  await page.getByRole("button", { name: "Ask", exact: true }).last().click();
  await page.locator(".questions", { hasText: "Since when?" }).waitFor();
  assert.deepEqual(server.world.calls.at(-1).decision.questions, ["Which host?", "Since when?"]);
  await page.getByRole("button", { name: /^Withdraw/ }).click();
  await page.getByRole("button", { name: "Withdraw them" }).click();
  await page.getByRole("button", { name: /^Approve/ }).waitFor();
  await page.locator("dialog[open]").waitFor({ state: "detached" });
  await page.keyboard.press("t");
  await page.getByLabel("Desk, role or person").fill("leads");
  await page.getByRole("button", { name: "Pass it on" }).last().click();
  await page.locator(".inbox-row", { hasText: "1 hop" }).waitFor();
  await page.locator("dialog[open]").waitFor({ state: "detached" }); // It would take the key.
  await ready(page, /^Claim/);
  await page.keyboard.press("c");
  await ready(page, /^Release/);
  await page.keyboard.press("c");
  await page.getByRole("button", { name: /^Claim/ }).waitFor();
}

async function notMine(page) {
  await page.waitForSelector(".inbox-entry .diff");
  await eventually(async () =>
    assert.match(await first(page, ".diff .is-removed").innerText(), /replicas: 3/),
  );
  await eventually(async () =>
    assert.match(await first(page, ".diff .is-added").innerText(), /replicas: 6/),
  );
  // No digest covers what the agent says the file was: the whole text is there, too.
  await eventually(async () =>
    assert.match(await first(page, ".members pre").innerText(), /replicas: 6[^]*probe/),
  );
  const approve = page.getByRole("button", { name: /^Approve/ });
  await eventually(async () =>
    assert.equal(await approve.getAttribute("title"), "ben has claimed it"),
  );
  await page.keyboard.press("a");
  await page.locator(".toast", { hasText: "ben has claimed it" }).waitFor();
  assert.equal(await page.locator("dialog[open]").count(), 0);
}

/** Text of agents is text, and what is invisible is named. */
async function safe(page) {
  await page.waitForSelector(".hidden-character");
  for (const name of ["\\u{202e}", "\\u{200b}", "\\u{7}"])
    await eventually(async () =>
      assert.ok(await page.getByText(name, { exact: true }).count(), name),
    );
  const shown = await page.evaluate(() => ({
    hit: window.hit,
    images: document.querySelectorAll("img, script:not([src])").length,
    text: document.querySelector(".inbox-entry").innerText,
  }));
  assert.equal(shown.hit, undefined);
  assert.equal(shown.images, 0);
  assert.ok(shown.text.includes('<img src=x onerror="window.hit=1">'));
  assert.ok(!/[\u202e\u200b\u0007]/.test(await page.locator("body").innerText()));
}

async function folded(page) {
  const { code } = ENTRIES[4].action.args;
  await page.waitForSelector(".fold-note");
  const note = await first(page, ".fold-note").innerText();
  assert.match(note, new RegExp(`of ${code.length.toLocaleString("en-US")}`));
  const digest = await page.evaluate(async (text) => {
    const bytes = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
    return Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, "0")).join("");
  }, code);
  assert.ok(note.includes(`sha256:${digest.slice(0, 12)}`), note);
  await first(page, ".fold-note").getByRole("button").click();
  const all = await first(page, ".member .folded pre").innerText();
  assert.equal(all.trimEnd(), code.trimEnd());
}

async function thousands(page) {
  await page.waitForFunction(() => document.querySelectorAll(".inbox-row").length === 50);
  await eventually(async () =>
    assert.match(await page.getByRole("button", { name: /^All/ }).innerText(), /5,000/),
  );
  await page.getByRole("button", { name: "Load more" }).click();
  await page.waitForFunction(() => document.querySelectorAll(".inbox-row").length === 100);
}

function crowded() {
  const world = new World({ size: 4 });
  world.inbox = Array.from({ length: 5000 }, (_, n) => ({
    ...ENTRIES[2],
    request_id: `64db9851-adb0-50dc-8205-${String(n).padStart(12, "0")}`,
  }));
  return world;
}

async function readOnly(page) {
  await page.waitForSelector(".inbox-entry");
  const approve = page.getByRole("button", { name: /^Approve/ });
  await eventually(async () => assert.equal(await approve.getAttribute("aria-disabled"), "true"));
  await eventually(async () =>
    assert.match(await approve.getAttribute("title"), /requires “decide”/),
  );
}

/** A hidden value is shown by key and by mouse, after a question; what looks like one is shown. */
async function reveals(page, server) {
  await page.waitForSelector(".inbox-entry");
  const text = () => page.locator(".inbox-entry").innerText();
  await eventually(async () => assert.match(await text(), /hidden from you, 12 bytes/));
  await eventually(async () =>
    assert.match(await text(), /forged/, "an object of the agent is no hidden value"),
  );
  await page.keyboard.press("v");
  await page.locator("dialog[open]").getByText("recorded in the audit chain").waitFor();
  await page.getByRole("button", { name: "Cancel" }).click();
  assert.equal(server.world.calls.length, 0);
  await page.keyboard.press("v");
  await page.getByRole("button", { name: "Reveal it" }).press("Enter");
  await page.locator(".hidden-values", { hasText: "hunter-2-new" }).waitFor();
  await page.getByRole("button", { name: "Reveal /action/args/note" }).click();
  await page.getByRole("button", { name: "Reveal it" }).click();
  await page.locator(".hidden-values", { hasText: "the new one is hunter-2-new" }).waitFor();
  assert.deepEqual(
    server.world.calls.map(({ reveal }) => reveal),
    ["/action/args/password", "/action/args/note"],
  );
}

async function mayNotReveal(page, server) {
  const button = page.getByRole("button", { name: "Reveal /action/args/password" });
  await button.waitFor();
  await eventually(async () =>
    assert.match(await button.getAttribute("title"), /requires “reveal”/),
  );
  await page.keyboard.press("v");
  await page.locator(".toast", { hasText: "reveal" }).waitFor();
  assert.equal(server.world.calls.length, 0);
}

export async function inboxTests(test, browser, dist) {
  const scenario = (name, path, act, more = {}) =>
    test(`inbox: ${name}`, () =>
      withMock(
        browser,
        dist,
        more.world ?? new World({ size: 6 }),
        (page, server) => act(page, server),
        {
          path,
          ...more,
        },
      ));
  const entry = (n) => `#/inbox/${ENTRIES[n].request_id}?show=all`;
  await scenario("sorted by the time left, filtered, and live", "#/inbox?show=all", sorted);
  await scenario("everything can be done by keyboard", "#/runs", byKeyboard);
  await scenario(
    "a critical action needs a second confirmation with its digest",
    entry(0),
    critical,
  );
  await scenario("who was faster is named, and nothing is shown before", entry(2), raced);
  await scenario("questions, passing on and claims", entry(2), asked);
  await scenario(
    "a file is shown as a difference; what others claimed is theirs",
    entry(1),
    notMine,
  );
  await scenario("what agents write stays text, and nothing is invisible", entry(3), safe);
  await scenario("a long value is folded with its length and digest", entry(4), folded);
  await scenario("5,000 entries are paged", "#/inbox?show=all", thousands, { world: crowded() });
  await scenario("a hidden value is revealed by key and by mouse", entry(6), reveals);
  await scenario("a token without the scope reveals nothing", entry(6), mayNotReveal, {
    mock: { scope: "decide" },
  });
  await scenario("a token that only reads decides nothing", entry(2), readOnly, {
    mock: { scope: "read" },
  });
}

/* ---- Served ----------------------------------------------------------------------------------- */

const ROLE = `apiVersion: initrunner/v1
kind: Agent
metadata: {name: deployer}
spec:
  role: You deploy.
  model: {provider: scripted, name: turns.jsonl}
  tools: [{type: shell}]
`;

/** A run that waits for a person. @return its id */
async function waitingRun(place) {
  const call = { name: "run_shell", arguments: { command: "true production" } };
  const end = { name: "finish_task", arguments: { summary: "done" } };
  const turns = [call, end].map((one) => `${JSON.stringify({ tool_calls: [one] })}\n`).join("");
  mkdirSync(join(place.folder, "deployer"));
  writeFileSync(join(place.folder, "deployer/role.yaml"), ROLE);
  writeFileSync(join(place.folder, "deployer/turns.jsonl"), turns);
  const answer = await fetch(`${place.url}/v1/runs`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      role_file: join(place.folder, "deployer/role.yaml"),
      model: `scripted:${join(place.folder, "deployer/turns.jsonl")}`,
      prompt: "x",
      workspace: join(place.folder, "deployer"),
    }),
  });
  const { run_id: id } = await answer.json();
  await until("the call waits", async () => (await place.get("/v1/inbox")).handoffs.length === 1);
  return id;
}

/** A page that asks for nothing again by itself: what it shows of others it was told. */
async function openTold(browser, url) {
  const page = await open(browser, "about:blank");
  await page.addInitScript(() => (window.setInterval = () => 0));
  await page.goto(url);
  return page;
}

/** One decides; the other one is told who did. */
async function twoBrowsers(browser, place) {
  await place.serve();
  const run = await waitingRun(place);
  const token = place.run("token", "create", "ann", "--scope", "decide").trim();
  const [{ request_id: id }] = (await place.get("/v1/inbox")).handoffs;
  const ann = await open(browser, `${place.url}/#token=${token}`);
  const ben = await openTold(browser, `${place.url}/#/inbox/${id}`);
  try {
    await live(ann);
    await ann.goto(`${place.url}/#/inbox/${id}`);
    await Promise.all([live(ben), ann.waitForSelector(".inbox-entry")]);
    await ben.waitForSelector(".inbox-entry");
    await ready(ann, /^Approve/);
    await ann.keyboard.press("a");
    await ann.locator("dialog[open]").getByRole("button", { name: "Approve", exact: true }).click();
    await ann.locator(".inbox-entry .notice", { hasText: "Approved by ann" }).waitFor();
    await ben.locator(".inbox-entry .notice", { hasText: "Approved by ann" }).waitFor();
    await until("the run ends", async () =>
      ["completed"].includes((await place.get(`/v1/runs/${run}`)).status),
    );
    assert.deepEqual([...ann.problems, ...ben.problems], []);
  } finally {
    await shut(ann);
    await shut(ben);
  }
}

export async function inboxServedTests(test, browser, rondo) {
  await test("served: one of two browsers decides, and the other sees who did", async () => {
    const place = new Place(rondo);
    try {
      await twoBrowsers(browser, place);
    } finally {
      await place.close();
    }
  });
}
