// SPDX-License-Identifier: Apache-2.0
// Runs the scenarios: `node check.mjs CHROMIUM RONDO DIST WEB PART...`, parts: unit, mocked, served,
// glance (each page in one view), places (each state in every view). One line of TAP for each.
import { dirname } from "node:path";
import { launch } from "./browser.mjs";
import { dutyServedTests, dutyTests } from "./duty.mjs";
import { engineeringTests } from "./engineering.mjs";
import { inboxServedTests, inboxTests } from "./inbox.mjs";
import { mockedTests, placeTests } from "./mocked.mjs";
import { servedTests } from "./served.mjs";
import { taskTests } from "./tasks.mjs";
import { unitTests } from "./unit.mjs";
import { workServedTests, workTests } from "./work.mjs";

const [chromium, rondo, dist, web, ...parts] = process.argv.slice(2);
const pattern = process.env.ONLY ? new RegExp(process.env.ONLY) : null;
let count = 0;
let failed = 0;

test.wants = (name) => !pattern || pattern.test(name);

async function test(name, act) {
  if (!test.wants(name)) return;
  count += 1;
  try {
    await act();
    console.log(`ok ${count} - ${name}`);
  } catch (error) {
    failed += 1;
    console.log(`not ok ${count} - ${name}`);
    console.log(
      String(error.stack ?? error)
        .split("\n")
        .slice(0, 14)
        .map((line) => `# ${line}`)
        .join("\n"),
    );
  }
}

const browser = await launch(chromium);
try {
  if (parts.includes("unit")) await unitTests(test, web, dirname(dist));
  if (parts.includes("served")) await servedTests(test, browser, rondo);
  if (parts.includes("served")) await dutyServedTests(test, browser, rondo);
  if (parts.includes("served")) await inboxServedTests(test, browser, rondo);
  if (parts.includes("served")) await workServedTests(test, browser, rondo);
  if (parts.includes("mocked")) await inboxTests(test, browser, dist);
  if (parts.includes("mocked")) await mockedTests(test, browser, dist);
  if (parts.includes("mocked")) await engineeringTests(test, browser, dist);
  if (parts.includes("mocked")) await dutyTests(test, browser, dist);
  if (parts.includes("mocked")) await taskTests(test, browser, dist);
  if (parts.includes("mocked")) await workTests(test, browser, dist);
  if (parts.includes("glance")) await placeTests(test, browser, dist, true);
  if (parts.includes("places")) await placeTests(test, browser, dist, false);
} finally {
  await browser.close();
}
console.log(`${count - failed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);
