// SPDX-License-Identifier: Apache-2.0
// Work items for the mock server: one in each state, and texts as strangers write them.

const MINUTE = 60_000;
const SHOP = "github.com/acme/shop";
const LEDGER = "git.example.org/tools/ledger";
const NASTY = '<img src=x onerror="window.wasRun=1">';
const STATES = [
  "assigned",
  "in-progress",
  "in-review",
  "retry-later",
  "blocked",
  "needs-human",
  "cancelled",
  "fenced",
  "done",
];
export const idOf = (repository, number) => `${repository.replaceAll("/", "!")}!${number}`;

function item(at, repository, number, state, minutes, title, more = {}) {
  return {
    id: idOf(repository, number),
    repository,
    number,
    title,
    url: `https://${repository}/issues/${number}`,
    state,
    reason: null,
    message: null,
    worked_on_by: null,
    attempts: 1,
    active_ns: 412e9,
    tokens: 18_250,
    cost: 0.42,
    run_id: "01a2079f-b300-72f0-a4b7-76fe9c42fd97",
    pull: null,
    pull_url: null,
    claimed: at(minutes - 30),
    next: null,
    released_until: null,
    updated: at(minutes),
    branch: `rondo/issue-${number}`,
    base_branch: "main",
    base: "5".repeat(40),
    commit: null,
    is_pushed: false,
    is_released: false,
    retries: 0,
    follow_ups: 0,
    request: null,
    history: [
      { time: at(minutes - 30), state: "assigned", text: "claimed" },
      { time: at(minutes - 29), state: "in-progress", text: "a run works on it" },
      { time: at(minutes), state, text: `it is ${state}` },
    ],
    ...more,
  };
}

export function work(now = Date.now()) {
  const at = (minutes) => new Date(now + minutes * MINUTE).toISOString();
  const one = (...words) => item(at, ...words);
  const pull = (number) => ({
    pull: number,
    pull_url: `https://${SHOP}/pull/${number}`,
    commit: "9b8a7c6d5e".repeat(4),
    is_pushed: true,
  });
  return [
    one(SHOP, 41, "in-progress", -1, "The total of an empty basket is NaN", {
      worked_on_by: "process 812 on build7",
    }),
    one(SHOP, 38, "in-review", -12, "Export orders as CSV", { ...pull(44), follow_ups: 1 }),
    one(LEDGER, 7, "retry-later", -20, "Round half to even", {
      reason: "model_failed",
      next: at(9),
      retries: 2,
      tokens: null,
      cost: null,
    }),
    one(SHOP, 37, "blocked", -55, "Payments fail in the night of the change of clocks", {
      reason: "attempts_spent",
      attempts: 3,
      message: "make test: test_clock failed after each of 3 attempts",
    }),
    one(SHOP, 36, "needs-human", -120, `Nothing to see ${NASTY}`, {
      url: "javascript:window.wasRun=2",
      message: `The checks pass without a change ${NASTY}`,
    }),
    one(SHOP, 30, "assigned", -130, "Names of more than forty characters are cut", {
      attempts: 0,
      active_ns: 0,
      tokens: 0,
      cost: 0,
      run_id: null,
    }),
    one(SHOP, 29, "cancelled", -200, "Dark theme", { reason: "issue_closed", is_released: true }),
    one(SHOP, 28, "fenced", -220, "Search ignores accents", { is_released: true }),
    one(LEDGER, 5, "done", -2000, "Typing error in the manual", { ...pull(6), is_released: true }),
  ];
}

const PAGE_MEMBERS = ["branch", "base_branch", "base", "commit", "is_pushed", "is_released"];
const ROW_LACKS = new Set([...PAGE_MEMBERS, "retries", "follow_ups", "request", "history"]);

function list(server, { values }) {
  const { work: all } = server.world;
  const states = values.get("state")?.split(",");
  const repository = values.get("repository");
  if (states?.some((state) => !STATES.includes(state)))
    server.refuse(400, "there is no such state");
  const of = all.filter((one) => !repository || one.repository === repository);
  const fits = of
    .filter(({ state }) => !states || states.includes(state))
    .sort((a, b) => b.updated.localeCompare(a.updated));
  const from = Number(values.get("cursor") ?? 0);
  const to = from + Number(values.get("limit") ?? 50);
  return {
    items: fits
      .slice(from, to)
      .map((one) =>
        Object.fromEntries(Object.entries(one).filter(([name]) => !ROW_LACKS.has(name))),
      ),
    next_cursor: to < fits.length ? String(to) : null,
    counts: Object.fromEntries(
      STATES.map((name) => [name, of.filter(({ state }) => state === name).length]),
    ),
    repositories: [...new Set(all.map((one) => one.repository))].sort(),
    damage: server.world.workDamage ?? null,
    troubles: server.world.workTroubles ?? [],
  };
}

function find(server, id) {
  const found = server.world.work.find((one) => one.id === decodeURIComponent(id));
  return found ?? server.refuse(404, `there is no work item ${id}`);
}

const request =
  (kind) =>
  (server, { path }) => {
    const found = find(server, path[1]);
    server.world.calls.push({ action: kind, item: found.id });
    if (found.state === "done") server.refuse(409, "it is done");
    found.request = { kind, by: "local user ops (api)", time: new Date().toISOString() };
    return {
      status: 202,
      body: { id: found.id, request: kind, worked_on_by: found.worked_on_by },
    };
  };

/** Routes of a mock server whose world has `work`. */
export const WORK_ROUTES = {
  "GET work": ["read", list],
  "GET work/:id": ["read", (server, { path }) => find(server, path[1])],
  "POST work/:id/retry": ["operate", request("retry")],
  "POST work/:id/release": ["operate", request("release")],
};
