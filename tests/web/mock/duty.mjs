// SPDX-License-Identifier: Apache-2.0
// Agents on duty as the mock server tells of them: sources, what waits, what was refused, follow-ups
// and budgets. Times are counted from the moment at which the world is made.

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** An id of a run with that beginning. */
const run = (text) => `01a2079f-${text.padEnd(4, "0")}-72f0-a4b7-76fe9c42fd97`;

export function duty(now = Date.now()) {
  const at = (ms) => new Date(now + ms).toISOString();
  return {
    sources: sources(at),
    requests: requests(at),
    refusals: refusals(at),
    followUps: followUps(at),
    budgets: budgets(now, at),
    memories: memories(at),
  };
}

function sources(at) {
  const one = (role, type, summary, more = {}) => ({
    id: `${role}/${type}-${summary.length}a7feeb69ac`,
    role,
    type,
    summary,
    on_duty: true,
    problem: null,
    due: null,
    hook: null,
    details: {},
    ...more,
  });
  return [
    one("triage-bot", "webhook", "github", {
      hook: "triage",
      details: { signature: "github", accepted: 1289 },
    }),
    one("nightly", "cron", "30 4 * * 1-5", {
      due: at(5 * HOUR + 12 * MINUTE),
      details: { timezone: "Europe/Vienna" },
    }),
    one("docs-sync", "file_watch", "docs, *.md", { details: { folders: 14, files: 312 } }),
    one("checker", "heartbeat", "todo.md", { due: at(74_000) }),
    one("checker", "scheduled", "", { due: at(9 * MINUTE) }),
    one("reporter", "cron", "0 9 1 * *", { due: at(8 * DAY) }),
    one("greeter", "discord", "channel 1", {
      problem: "it needs a connection by WebSocket, which is not supported",
    }),
    one("old-worker", "cron", "@hourly", { on_duty: false }),
  ];
}

function requests(at) {
  const one = (id, role, kind, ms, prompt) => ({
    run_id: run(id),
    role,
    kind,
    source: `${role}/${kind}-3fa7feeb69ac`,
    mode: kind === "cron" ? "autonomous" : "single",
    on_duty: true,
    received: at(ms),
    key: null,
    prompt,
    context: {},
  });
  return [
    one("a1", "nightly", "cron", -3 * HOUR, "Summarise what changed since yesterday."),
    one("a2", "triage-bot", "webhook", -40_000, "Issue 4711 was opened: the page stays empty"),
    one("a3", "triage-bot", "webhook", -12_000, "Issue 4712 was opened: a typing error"),
    one("a4", "docs-sync", "file_watch", -3000, "docs/sandbox.md was changed. Check its links."),
  ];
}

function refusals(at) {
  const one = (number, outcome, role, ms, reason, id = null) => ({
    id: `0179549${String(9_000_000 - number)}-${run("b")}`,
    outcome,
    time: at(ms),
    role,
    source: role && `${role}/webhook-3fa7feeb69ac`,
    run_id: id,
    reason,
  });
  return [
    one(
      1,
      "refused",
      "reporter",
      -90_000,
      "daemon_daily_cost_budget of the role is used up: $5.02 of $5 ",
    ),
    one(
      2,
      "coalesced",
      "docs-sync",
      -5 * MINUTE,
      "an event of the same source waits, and has this prompt now",
      run("a4"),
    ),
    one(
      3,
      "dropped",
      "triage-bot",
      -2 * HOUR,
      "a newer event took its place in the full queue",
      run("b3"),
    ),
    one(4, "full", "triage-bot", -2 * HOUR, "the queue is full (100 wait)"),
    one(5, "refused", "greeter", -3 * DAY, "no such role is on duty"),
  ];
}

function followUps(at) {
  const one = (id, agent, ms, prompt, more = {}) => ({
    id,
    agent,
    asked_by: run("c1"),
    state: "pending",
    depth: 1,
    prompt,
    created: at(-HOUR),
    due: at(ms),
    ...more,
  });
  return [
    one("3f2a90c1d4e5", "checker", 9 * MINUTE, "Look again whether the build is green.", {
      depth: 2,
    }),
    one(
      "77aa90c1d4e5",
      "reporter",
      2 * DAY,
      "Ask the team for what is still open, and write it into the report.",
    ),
    one("10aa90c1d4e5", "checker", -2 * HOUR, "Look whether the release is out.", {
      state: "started",
      run_id: run("c2"),
    }),
    one("11aa90c1d4e5", "checker", DAY, "Remind people of the meeting.", { state: "cancelled" }),
  ];
}

function budgets(now, at) {
  const days = (figures) =>
    figures.map((tokens, i) => ({
      day: new Date(now - (figures.length - 1 - i) * DAY).toISOString().slice(0, 10),
      tokens,
      cost: tokens / 1e5,
    }));
  const limit = (name, period, unit, most, used, more = {}) => ({
    name,
    period,
    unit,
    limit: most,
    used,
    reserved: 0,
    ends: period === "life" ? null : at(period === "day" ? 7 * HOUR : 4 * DAY),
    ...more,
  });
  const one = (role, state, limits, figures, more = {}) => ({
    role,
    state,
    until: null,
    when_exhausted: "wait",
    timezone: "Europe/Vienna",
    limits,
    requests: 0,
    life: { tokens: 5_310_400, cost: 53.1 },
    days: days(figures),
    ...more,
  });
  const some = [80, 120, 90, 0, 0, 140, 160, 110, 130, 95, 0, 0, 150, 171].map((k) => k * 1000);
  return [
    one(
      "nightly",
      "used_up",
      [
        limit("daemon_daily_token_budget", "day", "tokens", 200_000, 203_118),
        limit("daemon_cost_budget", "life", "dollars", 300, 53.1),
      ],
      [...some.slice(0, -1), 203_118],
      { until: at(7 * HOUR) },
    ),
    one(
      "triage-bot",
      "nearly_used",
      [
        limit("daemon_daily_token_budget", "day", "tokens", 200_000, 171_000, { reserved: 8200 }),
        limit("daemon_weekly_cost_budget", "week", "dollars", 10, 4.31),
      ],
      some,
      { requests: 2 },
    ),
    one(
      "reporter",
      "left",
      [limit("daemon_daily_cost_budget", "day", "dollars", 5, 0.22)],
      some.map((tokens) => tokens / 10),
      { when_exhausted: "refuse" },
    ),
    one("old-worker", "unlimited", [], some.fill(0), { life: { tokens: 1200, cost: 0 } }),
  ];
}

function memories(at) {
  const one = (id, agent, kind, category, ms, content, more = {}) => ({
    id,
    agent,
    kind,
    category,
    content,
    metadata: {},
    run_id: run("d1"),
    iteration: 2,
    source: "remember",
    created: at(ms),
    consolidated: null,
    ...more,
  });
  return [
    one(9, "nightly", "semantic", "hosts", -90_000, "The staging host is stage-2."),
    one(
      8,
      "nightly",
      "episodic",
      "autonomous_run",
      -HOUR,
      "Summarised 14 commits; the tests of the ledger failed twice and passed the third time.",
      { consolidated: at(-HOUR / 2) },
    ),
    one(
      7,
      "triage-bot",
      "procedural",
      "issues",
      -2 * DAY,
      "An issue without a version gets the label needs-info before anything else.",
    ),
    one(6, "team", "semantic", "people", -9 * DAY, "Ada answers questions about billing.", {
      run_id: null,
      iteration: 0,
      source: "rondo memory add",
    }),
  ];
}

function findMemories({ world }, { values }) {
  const [q, agent, kind] = ["q", "agent", "kind"].map((name) => values.get(name) ?? "");
  const fits = world.duty.memories.filter(
    (memory) =>
      memory.content.toLowerCase().includes(q.toLowerCase()) &&
      (!agent || memory.agent === agent) &&
      (!kind || memory.kind === kind) &&
      memory.id < Number(values.get("before") ?? Infinity),
  );
  const page = fits.slice(0, Number(values.get("limit") ?? 50));
  return { memories: page, next: page.length < fits.length ? page.at(-1).id : null };
}

/** Routes of a mock server whose world has `duty`. */
export const DUTY_ROUTES = {
  "GET sources": ["read", ({ world }) => ({ sources: world.duty.sources })],
  "GET queue": ["read", ({ world }) => ({ requests: world.duty.requests, has_more: false })],
  "GET refusals": [
    "read",
    ({ world }, { values }) => {
      const { refusals } = world.duty;
      const from = refusals.findIndex(({ id }) => id === values.get("before")) + 1;
      const page = refusals.slice(from, from + Number(values.get("limit") ?? 50));
      const isMore = from + page.length < refusals.length;
      return { refusals: page, next: isMore ? page.at(-1).id : null };
    },
  ],
  "GET follow-ups": [
    "read",
    ({ world }, { values }) => ({
      follow_ups: world.duty.followUps
        .filter(({ state }) => state === "pending" || values.get("all") === "true")
        .sort((a, b) => a.due.localeCompare(b.due)),
    }),
  ],
  "POST follow-ups/:id": ["operate", (server, { path, body }) => settle(server, path[1], body)],
  "POST follow-ups/:id/cancel": [
    "operate",
    (server, { path }) => settle(server, path[1], { state: "cancelled" }),
  ],
  "GET memories": ["read", findMemories],
  "DELETE memories/:id": [
    "operate",
    ({ world }, { path }) => {
      world.duty.memories = world.duty.memories.filter(({ id }) => id !== Number(path[1]));
      return { status: 200, body: {} };
    },
  ],
  "GET budgets": ["read", ({ world }) => ({ budgets: world.duty.budgets })],
  "POST budgets/:id/reset": [
    "administer",
    ({ world }, { path }) => {
      const found = world.duty.budgets.find(({ role }) => role === path[1]);
      world.calls.push({ action: "reset", role: path[1] });
      for (const limit of found.limits) limit.used = 0;
      return Object.assign(found, { state: "left", until: null });
    },
  ],
};

function settle({ world }, id, change) {
  const found = world.duty.followUps.find((one) => one.id === id);
  world.calls.push({ action: "follow-up", id, change });
  return Object.assign(found, change);
}
