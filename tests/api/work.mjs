// SPDX-License-Identifier: Apache-2.0
/* Work items over the API: each operation with success and an error. */
import assert from "node:assert/strict";
import { run } from "./support.mjs";

const SHOP = "github.com/acme/shop";

/** A document as `rondo work` writes it. */
const item = (number, state, more = {}) => ({
  format: 1,
  repository: SHOP,
  number,
  title: `Issue ${number} <img src=x onerror=alert(1)>`,
  url: `https://${SHOP}/issues/${number}`,
  state,
  renewed_ns: 0,
  claimed_pull: 0,
  claimed_ns: 1e18,
  next_ns: 0,
  retries: 0,
  attempts: 1,
  active_ns: 60e9,
  tokens: 1200,
  cost_micro: 420000,
  pull: 0,
  review_ns: 0,
  follow_ups: 0,
  comment_id: 0,
  read_comment_id: 0,
  updated_ns: 1.7e18 + number * 1e9,
  notes: [{ time_ns: 1.7e18, state: "assigned", text: "claimed" }],
  ...more,
});

/** Put items into a store, as the work queue of another process does. */
async function put_items(store, items) {
  const rows = items.map((one) => {
    const key = `${one.repository}#${one.number}`;
    return `('work-item', '${key}', 1, 1, '${JSON.stringify(one).replaceAll("'", "''")}')`;
  });
  const sql = `INSERT INTO documents VALUES ${rows.join(", ")};`;
  const { code, out } = await run("sqlite3", ["-cmd", ".timeout 60000", store, sql]);
  assert.equal(code, 0, out);
}

export async function work(tour, { server, runs }) {
  await tour.call("listWork", 200);
  await put_items(server.store, [
    item(1, "in-review", { pull: 7, pull_url: `https://${SHOP}/pull/7`, run_id: runs.ended }),
    item(2, "blocked", { reason: "attempts_spent", message: "make test fails", branch: "rondo/2" }),
    item(3, "retry-later", { reason: "model_failed", next_ns: 4e18, tokens: -1, cost_micro: -1 }),
    item(4, "done", { is_released: true, base_id: "a".repeat(40), is_pushed: true }),
  ]);
  const one = (number) => ({ path: { id: `github.com!acme!shop!${number}` } });
  const all = await tour.call("listWork", 200);
  assert.deepEqual(
    all.items.map(({ number }) => number),
    [4, 3, 2, 1],
  );
  const page = await tour.call("listWork", 200, { query: `?repository=${SHOP}&limit=3` });
  const cursor = encodeURIComponent(page.next_cursor);
  const last = await tour.call("listWork", 200, { query: `?limit=3&cursor=${cursor}` });
  assert.deepEqual(
    last.items.map(({ pull }) => pull),
    [7],
  );
  await tour.call("listWork", 200, { query: "?state=blocked,retry-later" });
  await tour.call("listWork", 400, { query: "?state=open" });
  await tour.call("listWork", 400, { query: "?limit=0", is_wrong: true });
  for (const number of [1, 2, 3, 4]) {
    await tour.call("getWorkItem", 200, one(number));
  }
  await tour.call("getWorkItem", 404, one(9));

  await tour.call("retryWorkItem", 202, one(2));
  const { request } = await tour.call("getWorkItem", 200, one(2));
  assert.equal(request.kind, "retry");
  await tour.call("retryWorkItem", 409, { ...one(4), body: {} });
  await tour.call("retryWorkItem", 404, one(9));
  await tour.call("retryWorkItem", 422, { ...one(2), body: { now: true }, is_wrong: true });
  await tour.call("releaseWorkItem", 202, { ...one(3), body: {} });
  await tour.call("releaseWorkItem", 409, one(4));
  await tour.call("releaseWorkItem", 404, one(9));
}
