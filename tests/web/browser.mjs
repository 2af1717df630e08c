// SPDX-License-Identifier: Apache-2.0
// Chromium as the tests drive it, and what all of them need of a page.
import AxeBuilder from "@axe-core/playwright";
import { chromium } from "playwright-core";

const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--in-process-gpu", // one process less: a tenth of the computing time
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--disable-dev-shm-usage",
];
export const DEADLINE_MS = 120_000;

/** Try until nothing is asserted in vain: what a page shows, its title and its address are not changed at once. */
export async function eventually(act) {
  const deadline = Date.now() + DEADLINE_MS;
  for (;;) {
    try {
      return await act();
    } catch (error) {
      if (Date.now() > deadline) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** Press keys that belong together, without a pause between them. */
export async function press(page, ...keys) {
  await Promise.all(keys.map((key) => page.keyboard.press(key)));
}

export function launch(executablePath) {
  return chromium.launch({ executablePath, args: FLAGS });
}

/** A page in a context of its own. Errors of the page are kept in page.problems. */
export async function open(
  browser,
  url,
  { theme = "dark", width = 1360, height = 850, reducedMotion = "no-preference" } = {},
) {
  const context = await browser.newContext({
    colorScheme: theme,
    viewport: { width, height },
    reducedMotion,
    timezoneId: "Europe/Vienna",
    locale: "en-GB",
  });
  const page = await context.newPage();
  page.setDefaultTimeout(DEADLINE_MS);
  page.problems = [];
  page.on("pageerror", (error) => page.problems.push(String(error)));
  page.on("console", (message) => {
    if (message.type() === "error" && !/Failed to load resource|net::ERR/.test(message.text()))
      page.problems.push(message.text());
  });
  await page.goto(url);
  return page;
}

export async function shut(page) {
  await page.context().close();
}

/** What axe finds, as lines. While something fades in or out, its colours are not those that people see. */
export async function axe(page) {
  await page.waitForFunction(
    () =>
      !document.querySelector(".is-stale") &&
      document.getAnimations().every((one) => one.effect.getComputedTiming().endTime === Infinity),
  );
  const { violations } = await new AxeBuilder({ page }).analyze();
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(
      (node) =>
        `${id}: ${node.target.join(" ")}: ${node.failureSummary.split("\n").slice(1, 3).join(" ").trim()}`,
    ),
  );
}

export function isTooWide(page) {
  return page.evaluate(() => {
    const root = document.scrollingElement;
    const main = document.querySelector("main");
    return Math.max(
      root.scrollWidth - root.clientWidth,
      main ? main.scrollWidth - main.clientWidth : 0,
    );
  });
}

export async function live(page) {
  await page.waitForSelector('.connection[data-phase="live"]', { state: "attached" });
}
