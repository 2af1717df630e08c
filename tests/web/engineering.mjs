// SPDX-License-Identifier: Apache-2.0
// The engineering page: figures, dead letters, and profiles that are compared before they count.
import assert from "node:assert/strict";
import { eventually } from "./browser.mjs";
import { withMock } from "./mocked.mjs";
import { quiet } from "./mock/hitl.mjs";
import { World } from "./mock/model.mjs";

async function figures(page) {
  const evaluations = page.locator("[aria-labelledby=eng-evaluations]");
  await evaluations.waitFor();
  await eventually(async () => assert.match(await evaluations.innerText(), /5,120/));
  await eventually(async () => assert.match(await evaluations.innerText(), /731 per day/));
  await page.locator("[aria-labelledby=eng-hitl]", { hasText: "8.6%" }).waitFor();
}

async function none(page) {
  await page.getByText("No requests to people in this time").waitFor();
}

async function noData(page) {
  const ratio = page.locator("[aria-labelledby=eng-hitl]");
  await ratio.waitFor();
  await eventually(async () =>
    assert.match(await ratio.innerText(), /no data/, "nothing of nothing is not 0 %"),
  );
}

async function replayed(page, server) {
  const letters = page.locator("[aria-labelledby=eng-letters]");
  await letters.getByText("checkpoint not found").waitFor();
  await letters.getByRole("button", { name: "Replay" }).click();
  await letters.getByText("checkpoint not found").waitFor({ state: "detached" });
  await letters.getByRole("button", { name: "Discard" }).click();
  await page.getByRole("button", { name: "Discard it" }).click();
  await letters.getByText("None: all messages").waitFor();
  assert.deepEqual(server.world.calls, [
    { replay: "delivery-sec-triage-01~9" },
    { discard: "intake-5f" },
  ]);
}

async function mayOnlyRead(page) {
  const letters = page.locator("[aria-labelledby=eng-letters]");
  const button = letters.getByRole("button", { name: "Replay" });
  await button.waitFor();
  await eventually(async () => assert.equal(await button.getAttribute("aria-disabled"), "true"));
  await eventually(async () =>
    assert.match(await button.getAttribute("title"), /requires “administer”/),
  );
}

async function compared(page) {
  const panel = page.locator("[aria-labelledby=eng-what-if]");
  await panel.getByRole("textbox").fill("forbid");
  await panel.getByRole("button", { name: "Compare" }).click();
  await panel.getByText("expected permit or forbid").waitFor();
  await panel.getByRole("textbox").fill("permit (principal, action, resource);");
  await panel.getByRole("button", { name: "Compare" }).press("Enter");
  await panel.getByText("73 of 5,120 evaluations would have another outcome").waitFor();
  const text = await panel.innerText();
  assert.match(text, /61 allowed → for a person/);
  assert.match(text, /isolate_host/);
  assert.doesNotMatch(text, /ds\.06\.risk-floor/, "what is the same is not listed");
}

export async function engineeringTests(test, browser, dist) {
  const scenario = (name, act, more = {}) =>
    test(`engineering: ${name}`, () =>
      withMock(
        browser,
        dist,
        more.world ?? new World({ size: 2 }),
        (page, server) => act(page, server),
        { path: "#/engineering", ...more },
      ));
  const empty = () => Object.assign(new World({ size: 2 }), { hitl: quiet() });
  const waiting = empty();
  waiting.hitl.requests = 1;
  await scenario("what was evaluated, and how often for a person", figures);
  await scenario("without requests there are no figures", none, { world: empty() });
  await scenario("a share of nothing is no data", noData, { world: waiting });
  await scenario("dead letters are delivered again or discarded", replayed);
  await scenario("a token that only reads replays nothing", mayOnlyRead, {
    mock: { scope: "read" },
  });
  await scenario("profiles are compared before they count", compared);
}
