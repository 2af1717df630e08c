// SPDX-License-Identifier: Apache-2.0
// The pages about agents on duty: against the mock server, and against a real `rondo daemon`.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { eventually, live, open, press, shut } from "./browser.mjs";
import { withMock } from "./mocked.mjs";
import { World } from "./mock/model.mjs";
import { Place, until } from "./served.mjs";

const text = (page, selector) => page.locator(selector).first().innerText();

async function liveQueue(page, server) {
  await page.waitForSelector(".entry");
  await eventually(async () =>
    assert.match(await text(page, ".entry"), /nightly.*its budget is used up, starts in/s),
  );
  const { requests } = server.world.duty;
  requests.push({ ...requests[1], run_id: "01a2079f-9999", prompt: "It came later." });
  await page.locator(".entry", { hasText: "It came later." }).waitFor();
  await page.getByRole("button", { name: "Refused" }).click();
  await page.locator(".entry", { hasText: "no such role is on duty" }).waitFor();
  await page.waitForURL(/#\/queue\?show=refused$/);
}

async function pagedRefusals(page, server) {
  await page.locator(".entry", { hasText: "number 99" }).waitFor();
  await eventually(async () => assert.equal(await page.locator(".entry").count(), 100));
  await page.getByRole("button", { name: "Load more" }).click();
  await page.locator(".entry", { hasText: "number 149" }).waitFor();
  await eventually(async () => assert.equal(await page.locator(".entry").count(), 150));
  await page.getByRole("button", { name: "Load more" }).waitFor({ state: "detached" });
  assert.ok(server.requests.some((line) => line.includes("before=")));
  const { refusals } = server.world.duty;
  refusals.unshift({ ...refusals[0], id: "id-new", reason: "the newest" });
  await page.locator(".entry", { hasText: "the newest" }).waitFor();
  // The first page ends one earlier now: what was on it before stays.
  await eventually(async () =>
    assert.equal(await page.locator(".entry", { hasText: "number 99" }).count(), 1),
  );
  await eventually(async () => assert.equal(await page.locator(".entry").count(), 151));
}

function refuseMany({ world }) {
  const one = world.duty.refusals[0];
  world.duty.refusals = Array.from({ length: 150 }, (_, n) => ({
    ...one,
    id: `id-${n}`,
    reason: `number ${n}`,
  }));
}

async function filteredSources(page) {
  await page.waitForSelector(".entry");
  const roles = async () => (await page.locator(".entry strong").allInnerTexts()).join(" ");
  await eventually(async () =>
    assert.equal(
      await roles(),
      "greeter old-worker checker checker nightly reporter docs-sync triage-bot",
    ),
  );
  await page.getByRole("button", { name: /^Problems/ }).click();
  await page.waitForFunction(() => document.querySelectorAll(".entry").length === 2);
  await page.getByRole("button", { name: /^Problems/ }).click();
  await page.getByLabel("Role").fill("night");
  await page.waitForFunction(() => document.querySelectorAll(".entry").length === 1);
  await eventually(async () => assert.equal(await roles(), "nightly"));
  await page.waitForURL(/#\/sources\?role=night$/);
}

/** Without a mouse: a follow-up is changed, and cancelled. */
async function followUpsByKeyboard(page, server) {
  await live(page);
  await press(page, "g", "f");
  await page.waitForSelector(".entry");
  await page.getByRole("button", { name: "Change the follow-up of checker" }).focus();
  await page.keyboard.press("Enter");
  await page.getByLabel("Prompt").fill("Look once more.");
  await page.getByLabel(/^When it starts/).fill("2100-01-02T03:04:05");
  await page.getByLabel(/^When it starts/).press("Enter");
  await page.locator(".toast", { hasText: "Follow-up changed" }).waitFor();
  assert.deepEqual(server.world.calls.at(-1).change, {
    due: "2100-01-02T02:04:05.000Z", // the browser is in Vienna
    prompt: "Look once more.",
  });
  await page.locator(".entry", { hasText: "Look once more." }).waitFor();
  await page.getByRole("button", { name: "Cancel the follow-up of reporter" }).focus();
  await page.keyboard.press("Enter");
  await page.waitForSelector("dialog[open]");
  assert.equal(server.world.calls.length, 1);
  await page.getByRole("button", { name: "Cancel the follow-up", exact: true }).press("Enter");
  await page.waitForFunction(() => document.querySelectorAll(".entry").length === 1);
}

async function resetBudget(page, server) {
  await page.waitForSelector(".budget");
  await eventually(async () =>
    assert.match(await text(page, ".panel"), /nightly.*Used up.*101% used.*Events wait/s),
  );
  await page.getByRole("button", { name: "Reset the budgets of nightly" }).click();
  await page.waitForSelector("dialog[open]");
  await page.keyboard.press("Escape");
  assert.equal(server.world.calls.length, 0);
  await page.getByRole("button", { name: "Reset the budgets of nightly" }).click();
  await page.getByRole("button", { name: "Reset the budgets", exact: true }).click();
  await page.locator(".panel", { hasText: /nightly.*OK/s }).waitFor();
  assert.equal(server.world.calls.at(-1).role, "nightly");
}

async function notAllowed(page) {
  await page.waitForSelector(".budget");
  const button = page.getByRole("button", { name: "Reset the budgets of nightly" });
  await eventually(async () => assert.equal(await button.getAttribute("aria-disabled"), "true"));
  await button.click({ force: true });
  assert.equal(await page.locator("dialog[open]").count(), 0);
}

async function memories(page, server) {
  await page.waitForSelector(".entry");
  await eventually(async () => assert.equal(await page.locator(".entry").count(), 4));
  await page.getByLabel("Search by words").fill("staging");
  await page.waitForFunction(() => document.querySelectorAll(".entry").length === 1);
  await page.waitForFunction(() => location.hash === "#/memory?q=staging");
  await page.getByRole("button", { name: "Forget memory 9 of nightly" }).click();
  await page.getByRole("button", { name: "Forget it" }).click();
  await page.getByText("No matching memories").waitFor();
  assert.deepEqual(
    server.world.duty.memories.map(({ id }) => id),
    [8, 7, 6],
  );
  await page.getByLabel("Search by words").fill("");
  // At once: the search is noted a moment later, and must not take the choice back.
  await page.getByRole("button", { name: "Procedure" }).click();
  await page.locator(".entry", { hasText: "needs-info" }).waitFor();
  await page.waitForFunction(() => document.querySelectorAll(".entry").length === 1);
}

export async function dutyTests(test, browser, dist) {
  const scenario = (name, path, act, more = {}) =>
    test(name, () =>
      withMock(
        browser,
        dist,
        new World({ size: 2 }),
        async (page, server) => {
          more.before?.(server);
          if (more.before) await page.reload();
          await act(page, server);
        },
        { path, ...more },
      ),
    );
  await scenario("what waits is listed live, with the reason", "#/queue", liveQueue);
  await scenario("older refusals are loaded on demand", "#/queue?show=refused", pagedRefusals, {
    before: refuseMany,
  });
  await scenario("sources are filtered by type, problem and role", "#/sources", filteredSources);
  await scenario("follow-ups are changed and cancelled by keyboard", "#/runs", followUpsByKeyboard);
  await scenario("memories are searched and forgotten", "#/memory", memories);
  await scenario("budgets are reset after a question", "#/budgets", resetBudget);
  await scenario("who may not reset budgets is told why", "#/budgets", notAllowed, {
    mock: { scope: "operate" },
  });
}

const ROLE = `apiVersion: initrunner/v1
kind: Agent
metadata: {name: nightly}
spec:
  role: You look after a project.
  model: {provider: scripted, name: turns.jsonl}
  guardrails: {daemon_daily_token_budget: 1000}
  autonomy: {}
  triggers:
    - {type: heartbeat, file: todo.md, interval_seconds: 1, autonomous: true}
`;
const TURNS = `{"tool_calls": [{"name": "schedule_followup", "arguments": {"prompt": "Look again.", "delay_seconds": 86400}}], "usage": {"input": 300, "output": 200}}
{"tool_calls": [{"name": "finish_task", "arguments": {"summary": "done"}}], "usage": {"input": 300, "output": 200}}
`;

/** A role on duty works once; then its budget is used up, and what comes waits. */
async function onDuty(browser, place) {
  writeFileSync(join(place.folder, "role.yaml"), ROLE);
  writeFileSync(join(place.folder, "turns.jsonl"), TURNS);
  writeFileSync(join(place.folder, "todo.md"), "- [ ] look\n");
  await place.serveWith(["daemon", "role.yaml"]);
  await until("something waits", async () => (await place.get("/v1/queue")).requests.length);
  const page = await open(browser, `${place.url}/#/sources`);
  try {
    await page.locator(".entry", { hasText: "todo.md" }).waitFor();
    await page.getByRole("link", { name: "Budgets" }).click();
    await page.locator(".panel", { hasText: /nightly.*Used up.*1,000 of 1,000/s }).waitFor();
    await page.getByRole("link", { name: "Queue" }).click();
    await page.locator(".entry", { hasText: "its budget is used up, starts in" }).waitFor();
    await page.getByRole("link", { name: "Follow-ups" }).click();
    await page.getByRole("button", { name: "Cancel the follow-up of nightly" }).click();
    await page.getByRole("button", { name: "Cancel the follow-up", exact: true }).click();
    await page.getByText("No follow-ups").waitFor();
    assert.deepEqual(page.problems, []);
  } finally {
    await shut(page);
  }
}

export async function dutyServedTests(test, browser, rondo) {
  await test("served: a role on duty shows what wakes it, what waits, and its budget", async () => {
    const place = new Place(rondo);
    try {
      await onDuty(browser, place);
    } finally {
      await place.close();
    }
  });
}
