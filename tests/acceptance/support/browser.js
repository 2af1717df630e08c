// SPDX-License-Identifier: Apache-2.0
// A headless Chromium for the scenarios of the dashboard: one for each process of cucumber-js,
// started when it is first needed, with a fresh context for each scenario.
"use strict";

const fs = require("node:fs");
const path = require("node:path");

const names = ["chromium", "chromium-browser", "google-chrome"];
const flags = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-dev-shm-usage",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

// Path of the browser, or undefined.
function findChromium() {
  const folders = (process.env.PATH ?? "").split(":").concat("/usr/bin");
  return names
    .flatMap((name) => folders.map((folder) => path.join(folder, name)))
    .find(fs.existsSync);
}

let launched;

async function newContext() {
  const { chromium } = require("playwright-core");
  launched ??= chromium.launch({ executablePath: findChromium(), args: flags, timeout: 100000 });
  const browser = await launched;
  return browser.newContext({
    viewport: { width: 1360, height: 850 },
    reducedMotion: "reduce",
    timezoneId: "UTC",
    locale: "en-GB",
  });
}

async function close() {
  if (launched !== undefined) await (await launched).close();
}

module.exports = { close, findChromium, newContext };
