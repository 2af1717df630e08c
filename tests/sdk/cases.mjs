// SPDX-License-Identifier: Apache-2.0
// What the tests of the TypeScript client share: cases that are counted, and the stand-in.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

export const here = import.meta.dirname;
let [count, failed] = [0, 0];

export async function check(name, body) {
  const folder = mkdtempSync(path.join(tmpdir(), "relaytrace-"));
  count++;
  try {
    await body({
      endpoint,
      stateDir: folder,
      token: "rondo_secret-token",
      budgetMs: 20_000,
      timeoutMs: 10_000,
      lane: `lane-${count}`,
      run: `run-${count}`,
    });
    console.log(`ok ${count} - typescript: ${name}`);
  } catch (error) {
    failed++;
    const text = String(error.stack ?? error).replace(/^/gm, "  ");
    console.log(`not ok ${count} - typescript: ${name}\n${text}`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** @return the process and the first line that it printed */
export function start(command, words) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, words, { stdio: ["pipe", "pipe", "inherit"] });
    child.stdout.once("data", (line) => resolve([child, String(line).trim()]));
    child.once("error", reject);
  });
}

export const [standin, endpoint] = await start("python3", [path.join(here, "standin.py")]);

export async function post(route, body) {
  const answer = await fetch(endpoint + route, { method: "POST", body: JSON.stringify(body) });
  assert.ok(answer.ok, `${route}: ${answer.status}`);
  return answer.json();
}

export const decide = (request_id, status, more = {}) =>
  post("/decide", { request_id, status, ...more });
export const view = async (id) => (await fetch(`${endpoint}/v1/hitl/requests/${id}`)).json();

/** Decide the next request of a lane as soon as it is there. */
export async function decideNext(lane, status, more) {
  for (;;) {
    const { calls } = await post("/seen", {});
    const made = calls.find(
      ([method, route, body]) =>
        method === "POST" && route === "/v1/hitl/requests" && body.lane_id === lane,
    );
    if (made) return decide(made[2].request_id, status, more);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** What was asked of the stand-in for a lane: method, route and body of each request. */
export async function sent(lane) {
  const { calls } = await post("/seen", {});
  return calls.filter(([, , body]) => body.lane_id === lane || body.workflow?.lane_id === lane);
}

/** A case that cannot be tried here. */
export function skip(name, reason) {
  count++;
  console.log(`ok ${count} - typescript: ${name} # SKIP ${reason}`);
}

/** Stop the stand-in and this process. */
export function finish() {
  standin.kill();
  process.exit(failed > 0 ? 1 : 0);
}
