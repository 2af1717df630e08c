// SPDX-License-Identifier: Apache-2.0
// A stand-in for `rondo serve`: the API of docs/api.md over made-up runs, with handles for what a
// real server does seldom: cut connections, refuse, be slow, be away.
import { createServer } from "node:http";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { duty, DUTY_ROUTES } from "./duty.mjs";
import { inbox, INBOX_ROUTES } from "./inbox.mjs";
import { hitl, HITL_ROUTES, letters } from "./hitl.mjs";
import { limitsOf, World } from "./model.mjs";
import { TASK_ROUTES } from "./tasks.mjs";
import { work, WORK_ROUTES } from "./work.mjs";

const TYPES = {
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
};
const CSP =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const RIGHTS = {
  read: ["read"],
  operate: ["read", "operate"],
  administer: ["read", "operate", "administer"],
  decide: ["read", "decide"],
  reveal: ["read", "decide", "reveal"],
  local: ["read", "operate", "administer", "decide", "reveal"],
};
const TITLES = {
  401: ["unauthorized", "Unauthorized"],
  403: ["forbidden", "Forbidden"],
  404: ["not_found", "Not found"],
  409: ["conflict", "Conflict"],
  422: ["invalid", "Invalid"],
  400: ["malformed", "Malformed"],
  500: ["internal", "Internal error"],
  503: ["store_failed", "The store fails"],
};

class Refusal extends Error {
  constructor(status, detail, more = {}) {
    super(detail);
    this.status = status;
    this.more = more;
  }
}

export class Mock {
  /** folder: what web/build.mjs wrote */
  constructor({ folder, world = new World(), token = null, scope = "administer" }) {
    Object.assign(this, {
      folder,
      world,
      token,
      scope,
      me: "user:ops",
      streams: new Set(),
      broken: new Map(),
      delayMs: 0,
      requests: [],
    });
    world.duty ??= duty();
    world.inbox ??= inbox();
    world.hitl ??= hitl();
    world.letters ??= letters();
    world.work ??= work();
    world.listeners.add((kind, value) => this.#onWorld(kind, value));
    this.rows = new Map();
  }

  async start(port = 0) {
    this.server = createServer((request, response) => this.#answer(request, response));
    this.sockets = new Set();
    this.server.on("connection", (socket) => {
      this.sockets.add(socket);
      socket.on("close", () => this.sockets.delete(socket));
    });
    await new Promise((resolve, reject) => {
      this.server.once("error", reject);
      this.server.listen(port, "127.0.0.1", resolve);
    });
    this.port = this.server.address().port;
    this.url = `http://127.0.0.1:${this.port}`;
    return this;
  }

  /** A process of the server's own user may decide, too. */
  get rights() {
    return RIGHTS[!this.token && this.scope === "administer" ? "local" : this.scope];
  }

  refuse(status, detail, more = {}) {
    throw new Refusal(status, detail, more);
  }

  /** A frame for all streams of the table. */
  tell(event, data) {
    for (const stream of this.streams) {
      if (stream.run === null) stream.send(this.world.position, event, data);
    }
  }

  /** As a killed server: everything is cut at once. */
  async kill() {
    for (const socket of this.sockets) socket.destroy();
    this.streams.clear();
    await new Promise((resolve) => this.server.close(resolve));
  }

  cutStreams() {
    for (const { response } of this.streams) response.destroy();
    this.streams.clear();
  }

  #onWorld(kind, value) {
    for (const stream of this.streams) {
      if (kind === "event" && stream.run === value.run.run_id)
        stream.send(value.event.seq, value.event.type, value.event);
      if (kind === "warning" && stream.run === null)
        stream.send(this.world.position, "warning", value);
    }
    if (kind === "row" && !this.rows.size) setTimeout(() => this.#sendRows(), 60);
    if (kind === "row") this.rows.set(value.run_id, value);
  }

  #sendRows() {
    const runs = [...this.rows.values()].map(row);
    this.rows.clear();
    for (const stream of this.streams) {
      if (stream.run !== null) continue;
      stream.send(this.world.position, "runs", { runs });
      stream.send(this.world.position, "counts", this.#counts([...this.world.runs.values()]));
    }
  }

  async #answer(request, response) {
    const url = new URL(request.url, "http://localhost");
    response.setHeader("Content-Security-Policy", CSP);
    response.setHeader("X-Content-Type-Options", "nosniff");
    this.requests.push(`${request.method} ${url.pathname}${url.search}`);
    try {
      if (!url.pathname.startsWith("/v1/")) return this.#asset(url.pathname, response);
      if (this.delayMs) await new Promise((resolve) => setTimeout(resolve, this.delayMs));
      for (const [part, status] of this.broken) {
        if (url.pathname.includes(part)) throw new Refusal(status, `Made to fail: ${part}`);
      }
      const body = await read(request);
      await this.#api(request, url, body, response);
    } catch (error) {
      if (error.code === "ECONNRESET" || response.destroyed) return;
      if (!(error instanceof Refusal)) console.error(error);
      problem(response, error.status ?? 500, error.message, error.more, url.pathname);
    }
  }

  #asset(path, response) {
    const name = path === "/" ? "index.html" : path.slice(1);
    let bytes;
    try {
      bytes = readFileSync(join(this.folder, name.replace(/[^\w.-]/g, "")));
    } catch {
      response.writeHead(404).end();
      return;
    }
    response.setHeader("Content-Type", TYPES[name.split(".").pop()] ?? "application/octet-stream");
    response.end(bytes);
  }

  #need(scope) {
    if (!this.rights.includes(scope)) throw new Refusal(403, `This needs the scope ${scope}.`);
  }

  async #api(request, url, body, response) {
    if (this.token && request.headers.authorization !== `Bearer ${this.token}`)
      throw new Refusal(401, "A token is required.");
    const path = url.pathname.slice(4).split("/");
    const asked = {
      request,
      response,
      url,
      body,
      method: request.method,
      values: url.searchParams,
      path,
    };
    const route = ROUTES[`${request.method} ${shape(path)}`];
    if (!route) throw new Refusal(404, "There is no such resource.");
    const [scope, handler] = route;
    this.#need(scope);
    const answer = handler.call(this, asked);
    const hasStatus = typeof answer?.status === "number";
    if (answer !== undefined)
      json(response, hasStatus ? answer.status : 200, hasStatus ? answer.body : answer);
  }

  run(id) {
    const found = [...this.world.runs.values()].find((run) => run.run_id.startsWith(id));
    if (!found) throw new Refusal(404, `There is no run ${id}.`);
    return found;
  }

  #counts(runs) {
    const counts = { total: runs.length };
    for (const { status } of runs) counts[status] = (counts[status] ?? 0) + 1;
    return counts;
  }

  list({ values }) {
    const statuses = (values.get("status") ?? "").split(",").filter(Boolean);
    const q = (values.get("q") ?? "").toLowerCase();
    const agent = values.get("agent");
    const sort = values.get("sort") ?? "created";
    const sign = values.get("order") === "asc" ? 1 : -1;
    const key = {
      created: "created",
      updated: "updated",
      agent: "agent_id",
      status: "status",
      iteration: "iteration",
      tokens: "tokens",
      cost: "cost",
      warnings: "warnings",
    }[sort];
    if (!key) throw new Refusal(400, `sort=${sort} is unknown`);
    const all = [...this.world.runs.values()].filter(
      (run) =>
        (!agent || run.agent_id === agent) &&
        !(values.get("children") === "hide" && run.parent_id) &&
        (!q || run.agent_id.includes(q) || run.run_id.startsWith(q)),
    );
    const fits = all.filter(({ status }) => !statuses.length || statuses.includes(status));
    fits.sort(
      (a, b) => sign * (a[key] < b[key] ? -1 : a[key] > b[key] ? 1 : a.run_id < b.run_id ? -1 : 1),
    );
    const from = Number(values.get("cursor") ?? 0);
    const limit = Number(values.get("limit") ?? 50);
    const page = fits.slice(from, from + limit);
    return {
      runs: page.map(row),
      next_cursor: from + limit < fits.length ? String(from + limit) : null,
      counts: this.#counts(all),
      damaged: [],
    };
  }

  stream({ request, response, values }, run) {
    response.writeHead(200, { "Content-Type": "text/event-stream", "Cache-Control": "no-store" });
    response.write("retry: 1000\n\n");
    const stream = {
      response,
      run,
      send: (id, event, data) =>
        response.write(`id: ${id}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`),
    };
    this.streams.add(stream);
    response.on("close", () => this.streams.delete(stream));
    const after = Number(request.headers["last-event-id"] ?? values.get("after") ?? 0);
    if (run) {
      for (const event of this.run(run).events.slice(after))
        stream.send(event.seq, event.type, event);
    }
  }

  events(asked) {
    const run = this.run(asked.path[1]);
    if (asked.request.headers.accept?.includes("event-stream"))
      return this.stream(asked, run.run_id);
    const { values } = asked;
    const limit = Number(values.get("limit") ?? 200);
    const isDown = values.get("order") === "desc";
    let events = run.events;
    if (values.has("after")) events = events.slice(Number(values.get("after")));
    if (values.has("before")) events = events.slice(0, Number(values.get("before")) - 1);
    if (isDown) events = events.slice(-limit).reverse();
    else events = events.slice(0, limit);
    return { events, next: null, last_seq: run.last_seq };
  }

  detail({ path }) {
    const run = this.run(path[1]);
    return {
      ...row(run),
      message: "",
      summary: "",
      exit_code: null,
      prompt: run.prompt ?? null,
      model: run.model ?? null,
      workspace: "/srv/ledger",
      active_ns: run.active_ns,
      checkpoint: run.checkpoints.length,
      policy_sha256: this.world.policies[0].sha256,
      violation: run.violation ?? null,
      plan: run.plan ?? null,
      limits: limits(run),
      conditions: run.conditions.map(({ history, ...condition }) => condition),
      options: {
        spec: {
          agent_id: run.agent_id,
          kind: run.kind,
          work: run.work,
          max_iterations: run.iteration_limit,
          checkpoint_interval: 1,
          durability: "strict",
        },
      },
      forked_from: run.forked_from ?? null,
      can: can(run),
    };
  }

  act(action) {
    return ({ path, body }) => {
      const run = this.run(path[1]);
      this.world.calls.push({ action, run: run.run_id, body });
      if (!can(run)[action === "limits" ? "raise" : action])
        throw new Refusal(409, `The run is ${run.status}.`);
      ACTIONS[action](this.world, run, body);
      return {
        status: 202,
        body: {
          run_id: run.run_id,
          outcome: action === "continue" || action === "resume" ? "started" : "posted",
        },
      };
    };
  }

  fork({ path, body }) {
    const run = this.run(path[1]);
    const checkpoint = run.checkpoints[Number(path[3]) - 1];
    if (!checkpoint) throw new Refusal(404, "There is no such checkpoint.");
    const made = this.world.add({
      agent: run.agent_id,
      limit: body.limits?.max_iterations ?? run.iteration_limit,
    });
    made.forked_from = { run_id: run.run_id, checkpoint: checkpoint.number, seq: checkpoint.seq };
    made.iteration = checkpoint.iteration;
    return { status: 201, body: row(made) };
  }

  policies() {
    const now = this.world.policies.at(-1);
    return {
      source: now.source,
      sha256: now.sha256,
      text: now.text,
      is_builtin: !now.text,
      limits: limitsOf(now.text),
      entities: null,
      links: null,
      changed: now.time,
      by: now.by,
      findings: [],
    };
  }

  putPolicies({ body }) {
    const now = this.world.policies.at(-1);
    if (body.if_sha256 && body.if_sha256 !== now.sha256)
      throw new Refusal(409, "The policies changed.");
    const findings = check(body.text);
    if (findings.some(({ severity }) => severity === "error"))
      throw new Refusal(422, "The policies have errors.", { findings });
    this.world.putPolicy(body.text, "local user ops (api)", "set");
    return this.policies();
  }
}

const ACTIONS = {
  stop(world, run, body) {
    world.emit(run, "run.stop_requested", { by: "local user ops (api)", message: body.reason });
    setTimeout(() => world.finish(run, "cancelled", body.reason), 120);
  },
  pause(world, run) {
    run.status = "paused";
    world.emit(run, "run.paused", { by: "local user ops (api)" });
    world.tell("row", run);
  },
  continue(world, run) {
    run.status = "running";
    world.emit(run, "run.continued", { by: "local user ops (api)" });
    world.tell("row", run);
  },
  resume(world, run) {
    run.status = "running";
    run.ended = null;
    world.emit(run, "run.claimed", { epoch: 2, how: "resume", owner: "process 812 on build-3" });
    world.tell("row", run);
  },
  limits(world, run, body) {
    if ("max_iterations" in body) run.iteration_limit = body.max_iterations ?? 0;
    if ("max_cost" in body) run.max_cost = body.max_cost;
    world.emit(run, "run.options", { by: "local user ops (api)", spec: body });
    world.tell("row", run);
  },
};

function can(run) {
  const isOpen = !run.ended;
  const isPaused = run.status === "paused" || run.status === "parked";
  return {
    stop: isOpen,
    pause: isOpen && !isPaused,
    continue: isPaused,
    resume: !isOpen && run.status !== "completed",
    raise: isOpen,
  };
}

function row(run) {
  const {
    run_id,
    agent_id,
    parent_id,
    kind,
    status,
    iteration,
    iteration_limit,
    conditions_met,
    conditions_total,
    tokens,
    cost,
    warnings,
    created,
    updated,
    ended,
    owner,
    last_seq,
  } = run;
  return {
    run_id,
    agent_id,
    parent_id,
    kind,
    status,
    iteration,
    iteration_limit,
    percent: iteration_limit ? (iteration / iteration_limit) * 100 : null,
    conditions_met,
    conditions_total,
    tokens,
    cost,
    warnings,
    created,
    updated,
    ended,
    owner,
    last_seq,
  };
}

function limits(run) {
  const one = (name, limit, value, source = "option") => ({
    name,
    limit: limit || null,
    value,
    percent: limit ? (value / limit) * 100 : null,
    remaining: limit ? limit - value : null,
    warn_at: 80,
    is_estimated: false,
    source,
    policy: source === "policy" ? "iterations" : null,
  });
  return [
    one("iterations", run.iteration_limit, run.iteration, "policy"),
    one("tokens", run.max_tokens, run.tokens),
    one("cost", run.max_cost, run.cost),
    one("time", run.time_limit_ns, run.active_ns),
  ];
}

function check(text) {
  const findings = [];
  text.split("\n").forEach((line, at) => {
    const bad = /\b(premit|forbit|allow|deny)\b/.exec(line);
    if (bad)
      findings.push({
        severity: "error",
        line: at + 1,
        column: bad.index + 1,
        policy: null,
        message: `expected permit or forbid, found '${bad[0]}'`,
        hint: "did you mean permit?",
      });
    if (line.includes("unused"))
      findings.push({
        severity: "warning",
        line: at + 1,
        column: 1,
        policy: null,
        message: "this policy never applies",
        hint: null,
      });
  });
  return findings;
}

const shape = (path) =>
  path
    .map((part, at) =>
      at > 0 &&
      [
        "runs",
        "checkpoints",
        "history",
        "follow-ups",
        "budgets",
        "memories",
        "inbox",
        "decisions",
        "dlq",
        "tasks",
        "work",
      ].includes(path[at - 1])
        ? ":id"
        : part,
    )
    .join("/");

const ROUTES = {
  "GET me": [
    "read",
    function () {
      return {
        name: this.token ? "token dashboard" : "local user ops",
        scope: this.scope,
        rights: this.rights,
        person: this.rights.includes("decide") ? this.me : null,
        agents: null,
        is_local: !this.token,
      };
    },
  ],
  "GET health": [
    "read",
    function () {
      return HEALTH(this.world);
    },
  ],
  "GET stores": ["read", () => ({ stores: [] })],
  "GET runs": [
    "read",
    function (asked) {
      return this.list(asked);
    },
  ],
  "GET stream": [
    "read",
    function (asked) {
      return this.stream(asked, null);
    },
  ],
  "GET runs/:id": [
    "read",
    function (asked) {
      return this.detail(asked);
    },
  ],
  "GET runs/:id/events": [
    "read",
    function (asked) {
      return this.events(asked);
    },
  ],
  "GET runs/:id/conditions": [
    "read",
    function ({ path }) {
      return { conditions: this.run(path[1]).conditions };
    },
  ],
  "GET runs/:id/limits": [
    "read",
    function ({ path }) {
      return { limits: limits(this.run(path[1])) };
    },
  ],
  "GET runs/:id/checkpoints": [
    "read",
    function ({ path, values }) {
      const before = Number(values.get("before") ?? Infinity);
      const all = this.run(path[1])
        .checkpoints.filter(({ number }) => number < before)
        .reverse();
      const limit = Number(values.get("limit") ?? 100);
      return {
        checkpoints: all.slice(0, limit),
        next: all.length > limit ? all[limit - 1].number : null,
      };
    },
  ],
  "GET runs/:id/checkpoints/:id": [
    "read",
    function ({ path }) {
      const { checkpoints } = this.run(path[1]);
      const one = path[3] === "latest" ? checkpoints.at(-1) : checkpoints[Number(path[3]) - 1];
      if (!one) throw new Refusal(404, "There is no such checkpoint.");
      return one;
    },
  ],
  "POST runs/:id/checkpoints/:id/fork": [
    "operate",
    function (asked) {
      return this.fork(asked);
    },
  ],
  "GET policies": [
    "read",
    function () {
      return this.policies();
    },
  ],
  "PUT policies": [
    "administer",
    function (asked) {
      return this.putPolicies(asked);
    },
  ],
  "POST policies/check": [
    "read",
    function ({ body }) {
      const findings = check(body.text);
      return {
        is_valid: !findings.some(({ severity }) => severity === "error"),
        findings,
        limits: limitsOf(body.text),
      };
    },
  ],
  "GET policies/history": [
    "read",
    function () {
      return {
        changes: this.world.policies.map(({ text, ...change }) => change).reverse(),
        next: null,
      };
    },
  ],
  "GET policies/history/:id": [
    "read",
    function ({ path }) {
      return this.world.policies[Number(path[2]) - 1];
    },
  ],
  "GET warnings": [
    "read",
    function ({ values }) {
      const kind = values.get("kind");
      const agent = values.get("agent");
      return {
        warnings: this.world.warnings.filter(
          (one) => (!kind || one.kind === kind) && (!agent || one.agent_id === agent),
        ),
        next: null,
      };
    },
  ],
};
const PARTS = { ...DUTY_ROUTES, ...INBOX_ROUTES, ...HITL_ROUTES, ...TASK_ROUTES, ...WORK_ROUTES };
for (const [name, [scope, handler]] of Object.entries(PARTS)) {
  ROUTES[name] = [
    scope,
    function (asked) {
      return handler(this, asked);
    },
  ];
}
for (const action of Object.keys(ACTIONS)) {
  ROUTES[`POST runs/:id/${action}`] = [
    "operate",
    function (asked) {
      return this.act(action)(asked);
    },
  ];
}

const HEALTH = (world) => ({
  version: "0.1.0",
  uptime_ns: 86_400e9 * 3.4,
  store: {
    path: "/srv/rondo/rondo.db",
    size_bytes: 48_700_000,
    is_failing: false,
    position: world.position,
  },
  loops: { running: 3, queued: 1, paused: 1, max: 64, max_queue: 256, limited_by: null },
  streams: 4,
  connections: 7,
  monitor: { position: world.position, behind: 0, pending: 0, dead: 2 },
  telemetry: {
    is_on: true,
    is_failing: false,
    sent: 182_233,
    rejected: 0,
    dropped: 12,
    behind: 3,
    problem: null,
  },
  warnings_total: world.warnings.length,
  taken_over: 1,
  closed: 0,
  is_draining: false,
});

async function read(request) {
  let text = "";
  for await (const piece of request) text += piece;
  return text ? JSON.parse(text) : {};
}

function json(response, status, body) {
  response.writeHead(status, { "Content-Type": "application/json", "Cache-Control": "no-store" });
  response.end(JSON.stringify(body));
}

function problem(response, status, detail, more, instance) {
  const [code, title] = TITLES[status] ?? ["internal", "Internal error"];
  response.writeHead(status, {
    "Content-Type": "application/problem+json",
    ...(status === 401 ? { "WWW-Authenticate": "Bearer" } : {}),
  });
  response.end(
    JSON.stringify({
      type: `urn:rondo:problem:${code}`,
      code,
      title,
      status,
      detail,
      instance,
      ...more,
    }),
  );
}
