// SPDX-License-Identifier: Apache-2.0
// The dashboard in a headless Chromium: its weight on the wire, and how soon the table of 2,000 runs
// can be read.
//
//     node bench/page.mjs BUILD CHROMIUM [ROUNDS]
//
// Needs the packages of tests/web (`npm ci` there). The floor is an empty page from the same server
// and browser: what Chromium needs to show anything at all.
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { fileURLToPath } from "node:url";
import zlib from "node:zlib";

const here = path.dirname(fileURLToPath(import.meta.url));
const { chromium } = createRequire(path.join(here, "../tests/web/package.json"))("playwright-core");
const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--disable-dev-shm-usage",
];
const RUNS = 2000;
const GOAL_KIB = 100;

const [build, executablePath, rounds = "10"] = process.argv.slice(2);
if (build === undefined || executablePath === undefined) {
  console.error("usage: node bench/page.mjs BUILD CHROMIUM [ROUNDS]");
  process.exit(2);
}

function spread(values) {
  const sorted = values.toSorted((a, b) => a - b);
  return `${sorted[sorted.length >> 1].toFixed(0)} (${sorted[0].toFixed(0)}-${sorted.at(-1).toFixed(0)}) ms`;
}

/** @return [process, its address] */
async function serve(store) {
  const server = spawn(
    path.join(build, "src/cli/rondo"),
    ["serve", "--listen", "127.0.0.1:0", "--rate", "100000", "--store", store],
    { stdio: ["ignore", "ignore", "pipe"] },
  );
  let said = "";
  for await (const chunk of server.stderr) {
    said += chunk;
    const found = said.match(/http:\/\/127\.0\.0\.1:\d+/);
    if (found !== null) {
      server.stderr.resume();
      return [server, found[0]];
    }
  }
  throw new Error(`rondo serve does not start: ${said}`);
}

/** Everything that the page fetches before it asks the API, as it comes over the wire. */
async function weigh(address) {
  const names = ["/"];
  const html = await (await fetch(address)).text();
  for (const [, name] of html.matchAll(/(?:src|href)="([^"]+\.(?:js|css|svg|woff2))"/g))
    names.push(name.startsWith("/") ? name : `/${name}`);
  let total = 0;
  for (const name of names) {
    const answer = await fetch(address + name, { headers: { "Accept-Encoding": "gzip" } });
    const bytes = Buffer.from(await answer.arrayBuffer());
    const size =
      answer.headers.get("content-encoding") === "gzip"
        ? Number(answer.headers.get("content-length") ?? zlib.gzipSync(bytes).length)
        : bytes.length;
    console.log(
      `    ${name}: ${(size / 1024).toFixed(1)} KiB (${(bytes.length / 1024).toFixed(1)} KiB unpacked)`,
    );
    total += size;
  }
  return total / 1024;
}

/** Open in a context without a cache. @return ms until the first paint, and until a row is there */
async function open(browser, address, selector) {
  const context = await browser.newContext({ viewport: { width: 1360, height: 850 } });
  const page = await context.newPage();
  await page.goto(address, { waitUntil: "commit" });
  await page.waitForSelector(selector);
  const times = await page.evaluate(
    () =>
      new Promise((resolve) =>
        requestAnimationFrame(() =>
          setTimeout(() => {
            resolve({
              paint: performance.getEntriesByName("first-contentful-paint")[0]?.startTime,
              shown: performance.now(),
            });
          }),
        ),
      ),
  );
  await context.close();
  return times;
}

const folder = mkdtempSync(path.join(build, "bench-page-"));
const store = path.join(folder, "store.db");
const fill = spawnSync(path.join(build, "bench/bench_fill"), [store, String(RUNS), "20"], {
  encoding: "utf8",
});
if (fill.status !== 0) throw new Error(fill.stderr);
const [server, address] = await serve(store);
const browser = await chromium.launch({ executablePath, args: FLAGS });
try {
  const weight = await weigh(address);
  console.log(
    `weight, gzip: ${weight.toFixed(1)} KiB   goal <= ${GOAL_KIB} KiB   ${weight <= GOAL_KIB ? "ok" : "over"}`,
  );
  const paints = [];
  const rows = [];
  const floors = [];
  for (let round = 0; round <= Number(rounds); round++) {
    const times = await open(browser, `${address}/#/runs`, ".tr[data-run]");
    const floor = await open(browser, `${address}/ping`, "body");
    if (round === 0) continue; // the first one starts the browser's processes
    paints.push(times.paint);
    rows.push(times.shown);
    floors.push(floor.shown);
  }
  console.log(`first contentful paint: ${spread(paints)}`);
  console.log(
    `first rows of ${RUNS.toLocaleString("en")} runs shown: ${spread(rows)}; a page that says "ok": ${spread(floors)}`,
  );
} finally {
  await browser.close();
  server.kill("SIGKILL");
  rmSync(folder, { recursive: true });
}
