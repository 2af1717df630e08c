// SPDX-License-Identifier: Apache-2.0
// Runs that the mock server tells of: the same shapes as the real API, made up and deterministic.
import { createHash } from "node:crypto";

export const START = Date.parse("2026-11-21T09:00:00.000Z");
const hex = (text) => createHash("sha256").update(String(text)).digest("hex");

/** Numbers that look random and are the same each time. */
export function random(seed) {
  let state = seed >>> 0 || 1;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

const AGENTS = [
  "invoice-reader",
  "flaky-test-hunter",
  "docs-sync",
  "dependency-bump",
  "schema-migrator",
  "triage-bot",
  "release-notes",
  "perf-bisect",
  "i18n-filler",
  "lint-fixer",
];
const ENDED = [
  "completed",
  "completed",
  "completed",
  "completed",
  "failed",
  "max_iterations",
  "cancelled",
  "budget_exceeded",
  "timeout",
  "policy_violation",
  "error",
  "blocked",
  "interrupted",
];
const OUTPUT =
  "running 148 tests\n....................................F...............\n\nFAILED tests/test_ledger.py::test_rounding_of_half_cents\n    assert Decimal('10.01') == Decimal('10.00')\n\n147 passed, 1 failed in 4.31s\n";

const CATEGORIES = {
  plan: "iteration",
  iteration: "iteration",
  verification: "condition",
  condition: "condition",
  finish: "condition",
  model: "model",
  history: "model",
  tool: "tool",
  person: "tool",
  checkpoint: "checkpoint",
  storage: "checkpoint",
  policy: "policy",
  limit: "policy",
  gate: "policy",
  step: "policy",
};

/** What the server says of an event, roughly. */
function describe(type, data) {
  const [about, what] = type.split(".");
  const isFailed = data.outcome ? data.outcome !== "ok" : data.status === "not_met";
  const words = [data.name ?? about, what, data.outcome ?? data.status, data.message];
  return {
    category: CATEGORIES[about] ?? "run",
    level: type === "limit.warning" ? "warning" : isFailed ? "failure" : "info",
    text: words.filter(Boolean).join(" "),
  };
}

export class World {
  constructor({ size = 24, now = Date.now } = {}) {
    this.now = now;
    this.runs = new Map();
    this.listeners = new Set();
    this.warnings = [];
    this.position = 0;
    this.policies = [];
    this.putPolicy(POLICY, "local user ops", "set");
    this.calls = [];
    this.#fill(size);
  }

  time(ms = this.now()) {
    return new Date(ms).toISOString();
  }

  tell(kind, value) {
    for (const listener of this.listeners) listener(kind, value);
  }

  #fill(size) {
    const draw = random(7);
    for (let i = 0; i < size; i += 1) {
      const isOpen = i < 6;
      const age = isOpen ? 60_000 * (3 + i * 9) : 1_800_000 + Math.floor(draw() * 8e8);
      const run = this.add({
        agent: AGENTS[Math.floor(draw() * AGENTS.length)],
        limit: [10, 25, 50, 100, 0][Math.floor(draw() * 5)] || (isOpen ? 100 : 0),
        created: this.now() - age,
        isQuiet: true,
      });
      const n = Math.max(1, Math.floor(draw() * (run.iteration_limit || 40)));
      run.iteration = n;
      run.tokens = Math.floor(n * (900 + draw() * 9000));
      run.cost = Math.round(run.tokens * 0.7 + draw() * 1e4) / 1e6;
      run.conditions_total = Math.floor(draw() * 4);
      run.conditions_met = Math.floor(draw() * (run.conditions_total + 1));
      run.warnings = draw() < 0.18 ? 1 + Math.floor(draw() * 3) : 0;
      run.status = isOpen
        ? ["running", "running", "running", "paused", "queued", "parked"][i]
        : ENDED[Math.floor(draw() * ENDED.length)];
      if (run.status === "completed") run.conditions_met = run.conditions_total;
      run.updated = this.time(
        isOpen
          ? this.now() - Math.floor(draw() * 20_000)
          : Date.parse(run.created) + Math.min(age, n * 9000),
      );
      run.ended = isOpen ? null : run.updated;
    }
  }

  /** A new run; `name` makes its id. */
  add({
    agent = "invoice-reader",
    limit = 100,
    created = this.now(),
    name = null,
    kind = "role",
    isQuiet = false,
  } = {}) {
    const digits = hex(name ?? `run ${this.runs.size}`);
    const id = `01a1f${digits.slice(0, 3)}-${digits.slice(3, 7)}-7${digits.slice(7, 10)}-9${digits.slice(10, 13)}-${digits.slice(13, 25)}`;
    const run = {
      run_id: id,
      agent_id: agent,
      kind,
      status: "running",
      iteration: 0,
      iteration_limit: limit,
      conditions_met: 0,
      conditions_total: 0,
      tokens: 0,
      cost: 0,
      warnings: 0,
      created: this.time(created),
      updated: this.time(created),
      ended: null,
      owner: "process 812 on build-3",
      last_seq: 0,
      events: [],
      checkpoints: [],
      conditions: [],
      active_ns: 0,
    };
    this.runs.set(id, run);
    if (!isQuiet)
      this.emit(run, "run.created", {
        format: 1,
        version: "0.1.0",
        agent_id: agent,
        spec: { agent_id: agent },
      });
    return run;
  }

  emit(run, type, data = {}, at = this.now()) {
    this.position += 1;
    run.last_seq += 1;
    const event = {
      run_id: run.run_id,
      seq: run.last_seq,
      position: this.position,
      time: this.time(at),
      type,
      ...describe(type, data),
      data,
    };
    run.events.push(event);
    run.updated = event.time;
    this.tell("event", { run, event });
    return event;
  }

  /** One iteration with everything that belongs to it. @param at when it ends, Unix ms */
  iterate(
    run,
    {
      met = null,
      at = this.now(),
      draw = random(run.iteration * 31 + 5),
      isTalking = run.kind === "role",
    } = {},
  ) {
    const n = run.iteration + 1;
    const took = 4000 + Math.floor(draw() * 26_000);
    let clock = at - took;
    const step = (ms) => (clock += ms);
    this.emit(
      run,
      "iteration.started",
      { iteration: n, attempt: 1, limit: run.iteration_limit },
      clock,
    );
    run.iteration = n;
    const tokens = 1800 + Math.floor(draw() * 7000);
    const cost = tokens * 0.9;
    if (isTalking) this.#talk(run, n, step, tokens, cost, draw);
    clock = at - 3000;
    this.emit(
      run,
      "iteration.finished",
      {
        iteration: n,
        outcome: "ok",
        exit_code: 0,
        duration_ns: (took - 3000) * 1e6,
        tokens,
        cost_micro: Math.round(cost),
        summary: `Reworked rounding in ledger.py, step ${n}`,
      },
      clock,
    );
    run.tokens += tokens;
    run.cost = Math.round(run.cost * 1e6 + cost) / 1e6;
    run.active_ns += took * 1e6;
    this.verify(run, n, met ?? run.conditions.map((_, at2) => draw() < 0.25 + at2 * 0.3), () =>
      step(280),
    );
    this.checkpoint(run, n, at);
    this.tell("row", run);
    return n;
  }

  #talk(run, n, step, tokens, cost, draw) {
    this.emit(
      run,
      "model.requested",
      {
        iteration: n,
        turn: n,
        attempt: 1,
        model: "anthropic:claude-sonnet-4-5",
        messages: 2 + n * 4,
        ...(n === 1 ? { prompt: run.prompt } : { prompt: feedback(n) }),
      },
      step(60),
    );
    const calls = [
      {
        id: `call-${n}-1`,
        name: "shell",
        arguments: JSON.stringify({
          command: "python -m pytest -q tests/test_ledger.py",
          timeout_s: 60,
        }),
      },
      {
        id: `call-${n}-2`,
        name: "read_file",
        arguments: JSON.stringify({ path: "src/ledger.py", from: 40, to: 92 }),
      },
    ];
    this.emit(
      run,
      "model.replied",
      {
        iteration: n,
        turn: n,
        outcome: "ok",
        stop: "tools",
        output: REPLIES[n % REPLIES.length],
        thinking:
          n % 3 === 0 ? "Half cents must round to even; `quantize` takes a mode." : undefined,
        calls,
        tokens,
        tokens_in: tokens - 400,
        tokens_out: 400,
        cost_micro: Math.round(cost),
        duration_ns: 2.4e9,
      },
      step(2400),
    );
    calls.forEach((call, index) => {
      const isBad = index === 1 && draw() < 0.2;
      this.emit(
        run,
        "tool.requested",
        {
          iteration: n,
          turn: n,
          index,
          attempt: 1,
          call_id: call.id,
          name: call.name,
          arguments: call.arguments,
        },
        step(40),
      );
      this.emit(
        run,
        "tool.finished",
        {
          iteration: n,
          turn: n,
          index,
          call_id: call.id,
          name: call.name,
          outcome: isBad ? "error" : "ok",
          duration_ns: 8.1e8,
          output_bytes: OUTPUT.length,
          output: isBad
            ? "src/ledger.py: no such file"
            : index
              ? "def to_cents(value):\n    return value.quantize(CENT)\n"
              : OUTPUT,
        },
        step(810),
      );
    });
    if (run.plan) this.emit(run, "plan.updated", { iteration: n, plan: run.plan }, step(20));
  }

  verify(run, n, met, step) {
    if (!run.conditions.length) return;
    this.emit(run, "verification.started", { iteration: n, total: run.conditions.length }, step());
    run.conditions.forEach((condition, i) => {
      const isMet = met[i];
      const data = {
        iteration: n,
        name: condition.name,
        status: isMet ? "met" : "not_met",
        reason: isMet ? "exit_zero" : "exit_nonzero",
        exit_code: isMet ? 0 : 1,
        duration_ns: 1.2e8 + i * 3.1e8,
        output_bytes: 210,
        output: isMet ? "148 passed in 4.20s\n" : OUTPUT,
      };
      const event = this.emit(run, "condition.evaluated", data, step());
      Object.assign(condition, { ...data, is_evaluated: true, time: event.time });
      condition.history.unshift({
        iteration: n,
        time: event.time,
        status: data.status,
        reason: data.reason,
        exit_code: data.exit_code,
        duration_ns: data.duration_ns,
        seq: event.seq,
      });
    });
    run.conditions_met = met.filter(Boolean).length;
    this.emit(
      run,
      "verification.finished",
      { iteration: n, met: run.conditions_met, total: run.conditions.length },
      step(),
    );
  }

  checkpoint(run, n, at = this.now()) {
    const state = JSON.stringify({
      files_done: n * 3,
      queue: ["ledger.py", "report.py", `batch_${n}.py`],
      last_error: n % 2 ? "rounding of half cents" : null,
      cursor: { page: n, offset: n * 120 },
    });
    const number = run.checkpoints.length + 1;
    const event = this.emit(
      run,
      "checkpoint.saved",
      { number, iteration: n, bytes: state.length, sha256: hex(state + number), how: "interval" },
      at,
    );
    run.checkpoints.push({
      number,
      iteration: n,
      time: event.time,
      sha256: hex(state + number),
      state_bytes: state.length,
      seq: event.seq,
      conditions: Object.fromEntries(run.conditions.map(({ name, status }) => [name, status])),
      custom_data: { progress: `${n}%`, note: "half of the ledger is clean" },
      state,
      fold: { iteration: n, tokens: run.tokens, failures: 0 },
    });
  }

  condition(run, name, command) {
    run.conditions.push({
      name,
      command,
      origin: "given",
      tool: null,
      status: "not_met",
      is_evaluated: false,
      reason: "not evaluated",
      exit_code: null,
      duration_ns: 0,
      output: "",
      iteration: 0,
      time: null,
      history: [],
    });
    run.conditions_total = run.conditions.length;
  }

  finish(run, status, message = "") {
    run.status = status;
    run.ended = this.time();
    run.owner = null;
    this.emit(run, "run.finished", { status, iteration: run.iteration, message, summary: message });
    this.tell("row", run);
  }

  warn(run, limitName, limit, value) {
    const percent = Math.floor((value / limit) * 100);
    run.warnings += 1;
    const message = `${value} of ${limit} ${limitName}, ${limit - value} left`;
    const event = this.emit(run, "limit.warning", {
      iteration: run.iteration,
      limit_name: limitName,
      limit,
      value,
      message,
    });
    const warning = {
      id: `w-${event.position}`,
      time: event.time,
      kind: "limit",
      run_id: run.run_id,
      agent_id: run.agent_id,
      iteration: run.iteration,
      limit_name: limitName,
      limit,
      value,
      remaining: limit - value,
      percent,
      message,
      seq: event.seq,
      position: event.position,
    };
    this.warnings.unshift(warning);
    this.tell("warning", warning);
    this.tell("row", run);
    return warning;
  }

  putPolicy(text, by, how) {
    const number = this.policies.length + 1;
    const change = {
      number,
      time: this.time(),
      source: "/srv/rondo/rondo.cedar",
      sha256: hex(text),
      how,
      by,
      text,
    };
    this.policies.push(change);
    return change;
  }
}

const feedback = (n) =>
  `Iteration ${n}. **Not met yet:** \`all_tests_pass\`\n\n\`\`\`\n${OUTPUT}\`\`\``;

const REPLIES = [
  "The remaining failure is `test_rounding_of_half_cents`. I will:\n\n1. read `to_cents`\n2. use **banker's rounding**\n3. run the tests again\n\n| case | want | got |\n| --- | --- | --- |\n| 10.005 | 10.00 | 10.01 |\n| 10.015 | 10.02 | 10.02 |",
  "Tests first, then the linter. See [the decimal module](https://docs.python.org/3/library/decimal.html) for rounding modes.",
  "```python\ndef to_cents(value):\n    return value.quantize(CENT, rounding=ROUND_HALF_EVEN)\n```\n\nThat should settle it. <script>alert(1)</script> is only text here.",
];

export const POLICY = `// Everything is allowed ...
@id("base")
permit (principal, action, resource);

// ... up to so many iterations,
@id("limit.iterations")
@warn_at("80")
@reason("ask the platform team for more")
forbid (principal, action == Action::"iterate", resource)
unless { context.iteration < 100 };

// and so much money.
@id("budget.cost")
@warn_at("50")
forbid (principal, action == Action::"iterate", resource)
when { context.cost_usd.greaterThanOrEqual(decimal("5.00")) };
`;

/** The limits that a text like the one above sets. */
export function limitsOf(text) {
  const iterations = /iteration < (\d+)/.exec(text)?.[1];
  const cost = /decimal\("([\d.]+)"\)/.exec(text)?.[1];
  return {
    max_iterations: iterations ? Number(iterations) : null,
    max_cost: cost ? Number(cost) : null,
  };
}

/** A run in which everything can be seen. */
export function showcase(world, { iterations = 34 } = {}) {
  const run = world.add({
    agent: "ledger-repair",
    limit: 100,
    created: world.now() - 34 * 34_000,
    name: "showcase",
  });
  run.prompt =
    "Make the **ledger** round half cents to even.\n\n- do not change the public API\n- keep every test green";
  run.model = "anthropic:claude-sonnet-4-5";
  run.max_cost = 2;
  run.max_tokens = 200_000;
  run.time_limit_ns = 3600e9;
  run.plan = [
    {
      description: "Reproduce the rounding failure",
      status: "done",
      notes: "tests/test_ledger.py, 10.005",
    },
    { description: "Switch to banker's rounding in to_cents", status: "done", notes: "" },
    {
      description: "Find the callers that round twice",
      status: "in_progress",
      notes: "report.py:88 rounds again",
    },
    { description: "Run the linter and the security scan", status: "pending", notes: "" },
  ];
  world.condition(run, "all_tests_pass", "python -m pytest -q");
  world.condition(run, "linting_clean", "ruff check src");
  world.condition(run, "build_succeeds", "python -m build --wheel");
  world.emit(
    run,
    "run.claimed",
    { epoch: 1, owner: "process 812 on build-3", how: "start" },
    Date.parse(run.created),
  );
  world.emit(
    run,
    "policy.changed",
    {
      sha256: world.policies[0].sha256,
      source: "/srv/rondo/rondo.cedar",
      by: "local user ops",
      limits: limitsOf(world.policies[0].text),
    },
    Date.parse(run.created),
  );
  for (let i = 0; i < iterations; i += 1)
    world.iterate(run, { at: world.now() - (iterations - i) * 34_000 + 20_000 });
  return run;
}
