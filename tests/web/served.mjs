// SPDX-License-Identifier: Apache-2.0
// Scenarios against the real `rondo serve` and real runs.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../support/port.mjs";
import { axe, DEADLINE_MS, eventually, live, open, shut } from "./browser.mjs";
import { readTimeline } from "./mocked.mjs";

/** Goes on to the next iteration when the file named after it appears; without `steps/` at once. */
const WORKER = `#!/bin/sh
while [ -d steps ] && [ ! -e "steps/$RONDO_ITERATION" ] && [ ! -e steps/all ]; do sleep 0.05; done
echo "iteration $RONDO_ITERATION"
printf '{"done": %d, "queue": ["a", "b%d"]}' "$RONDO_ITERATION" "$RONDO_ITERATION" > "$RONDO_STATE_FILE"
printf '{"tokens": 1200, "cost": 0.01, "summary": "step %d", "custom_data": {"progress": "%d of many"}}' "$RONDO_ITERATION" "$RONDO_ITERATION" > "$RONDO_RESULT_FILE"
`;

export async function until(what, act) {
  const deadline = Date.now() + DEADLINE_MS;
  for (;;) {
    const value = await act().catch(() => null);
    if (value) return value;
    if (Date.now() > deadline) throw new Error(`it never came: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 40));
  }
}

/** A store with its server, in a folder of its own. */
export class Place {
  constructor(rondo) {
    this.rondo = rondo;
    this.folder = mkdtempSync(join(tmpdir(), "rondo-web-"));
    this.environment = {
      ...process.env,
      RONDO_STORE: join(this.folder, "store.db"),
      XDG_STATE_HOME: join(this.folder, "state"),
      NO_COLOR: "1",
    };
    this.children = new Set();
    writeFileSync(join(this.folder, "worker.sh"), WORKER);
    chmodSync(join(this.folder, "worker.sh"), 0o755);
  }

  serve(...options) {
    return this.serveWith(["serve", ...options]);
  }

  /** words: the command and its options */
  async serveWith(words) {
    this.port ??= await freePort();
    this.url = `http://127.0.0.1:${this.port}`;
    this.server = this.start([...words, "--listen", `127.0.0.1:${this.port}`]);
    await until("the server answers", async () => (await fetch(`${this.url}/healthz`)).ok);
  }

  start(words) {
    const child = spawn(this.rondo, words, {
      cwd: this.folder,
      env: this.environment,
      stdio: "ignore",
    });
    this.children.add(child);
    child.on("exit", () => this.children.delete(child));
    return child;
  }

  async kill() {
    const ended = new Promise((resolve) => this.server.once("exit", resolve));
    this.server.kill("SIGKILL");
    await ended;
  }

  run(...words) {
    return execFileSync(this.rondo, words, {
      cwd: this.folder,
      env: this.environment,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    });
  }

  /** A run whose iterations wait for step(); @return its id */
  async waiting(agent, ...options) {
    execFileSync("mkdir", ["-p", join(this.folder, "steps")]);
    this.start([
      "loop",
      "-a",
      agent,
      "-n",
      "50",
      "--until",
      "all_tests_pass=test -e finished",
      ...options,
      "--",
      "./worker.sh",
    ]);
    return (
      await until(
        "the run is listed",
        async () => (await this.get(`/v1/runs?agent=${agent}`)).runs[0],
      )
    ).run_id;
  }

  step(number) {
    writeFileSync(join(this.folder, "steps", String(number)), "");
  }

  async get(path) {
    return (await fetch(this.url + path)).json();
  }

  async close() {
    if (existsSync(join(this.folder, "steps"))) this.step("all");
    writeFileSync(join(this.folder, "finished"), "");
    for (const child of this.children) child.kill("SIGTERM");
    await until("all have ended", async () => this.children.size === 0).catch(() => {});
    for (const child of this.children) child.kill("SIGKILL");
    rmSync(this.folder, { recursive: true, force: true });
  }
}

async function shows(page, selector, text) {
  await page.waitForFunction(
    ([where, what]) => document.querySelector(where)?.textContent.trim() === what,
    [selector, text],
  );
}

async function liveList(page, place) {
  await live(page);
  await page.getByText("No runs yet").waitFor();
  const id = await place.waiting("counter");
  const cell = `[data-run="${id}"] [data-cell="iteration"]`;
  await shows(page, cell, "1");
  place.step(1);
  await shows(page, cell, "2");
  place.step(2);
  await shows(page, cell, "3");
  await eventually(async () =>
    assert.match(await page.locator(`[data-run="${id}"] .td-progress`).innerText(), /6%/),
  );
  await page.locator(".page-sub", { hasText: "1 run · 1 running" }).waitFor();
}

async function iterations(page, place) {
  const id = await place.waiting("swift");
  await page.goto(`${place.url}/#/runs/${id}`);
  await live(page);
  await shows(page, '[data-live="iteration"]', "1");
  for (let n = 1; n <= 4; n += 1) {
    place.step(n);
    await shows(page, '[data-live="iteration"]', String(n + 1));
  }
  await shows(page, '[data-live="limit"]', "of 50");
  await shows(page, '[data-live="percent"]', "10%");
  await shows(page, '[data-live="conditions"]', "0/1");
  await page.locator('[data-condition="all_tests_pass"][data-status="not_met"]').waitFor();
  await eventually(async () => assert.ok((await page.locator(".recent [data-seq]").count()) >= 8));
  const times = await page
    .locator("#run-recent")
    .locator("xpath=../..")
    .locator("time")
    .evaluateAll((all) => all.map((one) => one.dateTime));
  assert.deepEqual(times, [...times].sort());
}

async function killedAndRestarted(page, place) {
  const id = await place.waiting("survivor");
  await page.goto(`${place.url}/#/runs/${id}/timeline`);
  await live(page);
  place.step(1);
  await page
    .locator(".tl-row", { hasText: /iteration 1 \w+ in / })
    .first()
    .waitFor();
  await place.kill();
  await page.waitForSelector('.connection[data-phase="waiting"]');
  for (let n = 2; n <= 6; n += 1) place.step(n);
  await place.serve();
  await live(page);
  place.step(7);
  const last = await until("all are committed", async () => {
    const { run } = { run: await place.get(`/v1/runs/${id}`) };
    return run.iteration === 8 && run.last_seq;
  });
  await page.waitForSelector(`[data-seq="${last}"]`);
  const seen = await readTimeline(page);
  assert.ok(seen.length >= last, `${seen.length} of ${last}`);
  assert.deepEqual(
    seen,
    seen.map((_, at) => at + 1),
  );
}

async function steered(page, place) {
  const id = await place.waiting("steered");
  await page.goto(`${place.url}/#/runs/${id}`);
  await live(page);
  // The dialog closes with the server's answer: the next boundary of the run finds the letter.
  const press = async (name, submit, label, value) => {
    await page.locator(".page-actions").getByRole("button", { name, exact: true }).click();
    if (label) await page.getByLabel(label, { exact: true }).fill(value);
    await page.locator("dialog[open]").getByRole("button", { name: submit }).click();
    await page.waitForFunction(() => !document.querySelector("dialog[open]"));
  };
  await press("Limits", "Change the limits", "Iterations", "80");
  place.step(1);
  await shows(page, '[data-live="limit"]', "of 80");
  await press("Pause", "Pause");
  place.step(2);
  await page
    .locator('.run-facts [data-status="paused"], .run-facts [data-status="parked"]')
    .waitFor();
  await press("Continue", "Continue");
  await page.locator('.run-facts [data-status="running"]').waitFor();
  await press("Stop", "Stop the run", "Reason (optional, recorded in the journal)", "seen enough");
  place.step("all");
  await page.locator('.run-facts [data-status="cancelled"]').waitFor();
  const { events } = await place.get(`/v1/runs/${id}/events?types=run.stop_requested`);
  assert.match(JSON.stringify(events), /seen enough/);
  await page
    .locator(".page-actions")
    .getByRole("button", { name: "Resume", exact: true })
    .waitFor();
}

async function policies(page, place) {
  await page.goto(`${place.url}/#/policies`);
  const area = page.locator(".editor-text");
  await area.waitFor();
  await area.fill("premit (principal, action, resource);\n");
  await page.locator('.findings[data-valid="false"] li', { hasText: "1:1" }).waitFor();
  await eventually(async () =>
    assert.equal(
      await page.getByRole("button", { name: "Save…" }).getAttribute("aria-disabled"),
      "true",
    ),
  );
  await area.fill("// all is allowed\npermit (principal, action, resource);\n");
  await page.waitForSelector(".panel-tools .button-primary:not([aria-disabled])");
  await page.getByRole("button", { name: "Save…" }).click();
  await page.getByRole("button", { name: "Replace policies" }).click();
  await page.getByText("Policies replaced").waitFor();
  assert.match((await place.get("/v1/policies")).text, /all is allowed/);
  await page.locator(".change-head").first().waitFor();
}

async function savedStates(page, place) {
  try {
    place.run(
      "loop",
      "-a",
      "saver",
      "-n",
      "5",
      "--until",
      "all_tests_pass=test -e never",
      "--",
      "./worker.sh",
    );
  } catch {
    // It ends at its limit, which is no success.
  }
  const { run_id: id } = (await place.get("/v1/runs?agent=saver")).runs[0];
  await page.goto(`${place.url}/#/runs/${id}/checkpoints`);
  await page.locator(".history tbody tr").nth(4).waitFor();
  await eventually(async () => assert.equal(await page.locator(".history tbody time").count(), 5));
  await page.getByRole("link", { name: "Checkpoint 3" }).click();
  await page.getByRole("heading", { name: "Checkpoint 3" }).waitFor();
  await eventually(async () => {
    const state = await page.getByLabel("State", { exact: true }).innerText();
    assert.deepEqual(JSON.parse(state), { done: 3, queue: ["a", "b3"] });
  });
  await eventually(async () =>
    assert.match(await page.getByLabel("Custom data", { exact: true }).innerText(), /3 of many/),
  );
  await page.locator(".digest .state", { hasText: "intact" }).waitFor();
  await page.getByRole("button", { name: "Changes" }).click();
  await page.locator(".diff .is-added", { hasText: "b3" }).waitFor();
  await page.getByRole("button", { name: "Resume as a new run" }).click();
  await page.getByRole("button", { name: "Start the new run" }).click();
  await page.waitForFunction(
    (old) => location.hash.startsWith("#/runs/") && !location.hash.includes(old),
    id,
  );
  await page.getByText("Forked from").first().waitFor();
  assert.equal((await place.get("/v1/runs?agent=saver")).runs.length, 2);
}

async function tokens(browser, place) {
  const token = /rondo_[\w-]{20,}/.exec(
    place.run("token", "create", "viewer", "--scope", "read"),
  )[0];
  await place.kill();
  await place.serve("--require-token");
  const page = await open(browser, place.url);
  await page.getByLabel("Token").fill("rondo_wrong");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByText("unknown, expired or revoked").waitFor();
  await page.getByLabel("Token").fill(token);
  await page.getByRole("button", { name: "Sign in" }).click();
  await live(page);
  await page.getByText("read only").waitFor();
  await page.goto(`${place.url}/#/policies`);
  await page.getByText("this requires “administer”").first().waitFor();
  await eventually(async () =>
    assert.equal(await page.locator(".editor-text").getAttribute("readonly"), ""),
  );
  await shut(page);
  const other = await open(browser, `${place.url}/#token=${token}`);
  await live(other);
  await other.waitForURL((url) => !url.href.includes("rondo_")); // the token is not left in the address
  await shut(other);
}

export async function servedTests(test, browser, rondo) {
  const scenario = (name, act) =>
    test(name, async () => {
      const place = new Place(rondo);
      try {
        await place.serve();
        const page = await open(browser, place.url);
        try {
          await act(page, place);
          assert.deepEqual(page.problems, []);
          assert.deepEqual(await axe(page), []);
        } finally {
          await shut(page);
        }
      } finally {
        await place.close();
      }
    });
  await scenario("served: the list of runs is live", liveList);
  await scenario("served: a run's page shows each iteration", iterations);
  await scenario(
    "served: the server is killed and restarted under the open page, nothing is missed or doubled",
    killedAndRestarted,
  );
  await scenario(
    "served: a run's limits are raised, it is paused, continued and stopped by buttons",
    steered,
  );
  await scenario("served: policies with an error are not saved, right ones are", policies);
  await scenario("served: a checkpoint shows its state, and a new run begins from it", savedStates);
  await scenario(
    "served: a token is asked for, kept out of the address, and its scope respected",
    (page, place) => tokens(browser, place),
  );
}
