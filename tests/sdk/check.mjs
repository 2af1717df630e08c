// SPDX-License-Identifier: Apache-2.0
// The TypeScript client against the stand-in, and its plug-in with the real Strands. Called by run.py; prints a line
// of TAP for each case.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { chmodSync, mkdirSync, symlinkSync } from "node:fs";
import { readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import http from "node:http";
import path from "node:path";
import { inspect } from "node:util";
import * as rt from "relaytrace";
import { narrow } from "./node_modules/relaytrace/src/decision.js";
import { Spool, readFile, writeFile } from "./node_modules/relaytrace/src/files.js";
import { readSecret, sign, verify } from "./node_modules/relaytrace/src/signing.js";
import { RISKY, build } from "./agent.mjs";
import {
  check,
  decide,
  decideNext,
  endpoint,
  finish,
  here,
  post,
  sent,
  skip,
  start,
  view,
} from "./cases.mjs";

const SAFE = { impact: 0, riskLevel: 0, reversible: true, confidence: 0.9 };

/** The text of the last tool result that the model saw. */
const told = ({ model }) => JSON.stringify(model.seen.at(-1));

async function suspend(options, turns) {
  const world = build({ ...options, mode: "suspend" }, turns);
  const result = await world.agent.invoke("go");
  assert.equal(result.stopReason, "interrupt");
  return { ...world, result };
}

function elsewhere(options, id) {
  return new Promise((resolve, reject) => {
    const words = [
      path.join(here, "agent.mjs"),
      JSON.stringify({ ...options, mode: "suspend" }),
      id,
    ];
    const child = spawn(process.execPath, words, { stdio: ["ignore", "pipe", "inherit"] });
    let out = "";
    child.stdout.on("data", (data) => (out += data));
    child.on("close", () => (out ? resolve(JSON.parse(out)) : reject(new Error("no output"))));
  });
}

// ---- Canonical JSON, ids, signatures ----

await check("canonical JSON is that of RFC 8785, and what has none is refused", () => {
  assert.equal(
    rt.canonical({ "\ufb33": 1, "\u{1f600}": 2, a: [-0, 1e21, 1e-7, 2 ** 53, '€\u000f\n"\\/'] }),
    '{"a":[0,1e+21,1e-7,9007199254740992,"€\\u000f\\n\\"\\\\/"],"\u{1f600}":2,"\ufb33":1}',
  );
  for (const value of [
    NaN,
    Infinity,
    undefined,
    1n,
    "\ud800",
    { "\udfff": 1 },
    new Date(),
    () => 1,
    [undefined],
  ])
    assert.throws(() => rt.canonical(value), rt.CanonicalError);
  let deep = 1;
  for (let n = 0; n < 64; n++) deep = [deep];
  rt.canonical(deep);
  assert.throws(() => rt.canonical([deep]), rt.CanonicalError);
  for (const text of [
    '{"a":1,"a":2}',
    "NaN",
    "9007199254740993",
    '"\\ud800"',
    "1e400",
    "",
    "[1,]",
    "{,}",
    "01",
    "[".repeat(9999),
    Buffer.from([0xff]),
    "\ufeff1",
  ]) {
    assert.throws(() => rt.parse(text), rt.CanonicalError, String(text).slice(0, 20));
  }
  assert.deepEqual(Object.keys(rt.parse('{"__proto__":{"x":1}}')), ["__proto__"]);
});

await check("a request has the id of the specification", () => {
  const actionDigest = rt.actionDigest("isolate_host", { host: "a" });
  const place = {
    agentId: "sec-triage-01",
    workflowId: "wf-1",
    runId: "run-1",
    stepId: "step-7",
    laneId: "lane-a",
    actionDigest,
  };
  assert.equal(rt.requestId(place), "e6a19e20-f630-5f7a-91bd-71be0c3eae0d");
  assert.equal(rt.requestId({ ...place, attempt: 2 }), "7fce3aab-96f4-5117-817f-3579469c578b");
});

await check(
  "the vector of Standard Webhooks is accepted, and changed or stale ones are not",
  () => {
    const secret = readSecret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
    const headers = {
      "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
      "webhook-timestamp": "1614265330",
      "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    };
    const at = (seconds, body = '{"test": 2432232314}') =>
      verify(secret, headers, body, seconds * 1000);
    assert.ok(at(1614265330) && at(1614265630));
    assert.ok(!at(1614265631) && !at(1614265029) && !at(1614265330, "{}"));
    assert.ok(!verify(secret, {}, ""));
  },
);

await check("constraints narrow, and what is not known or cannot be met is refused", () => {
  const run = (...constraints) =>
    narrow(
      { host: "a", count: 5, dry_run: false },
      { requestId: "r", constraints, approvers: ["user:ann"] },
      Date.now(),
    );
  assert.equal(run({ kind: "max", pointer: "/count", value: 2 }).count, 2);
  assert.equal(run({ kind: "equals", pointer: "/host", value: "b" }).host, "b");
  assert.equal(run({ kind: "dry_run" }).dry_run, true);
  const wrong = [
    "x",
    null,
    {},
    { kind: "hope" },
    { kind: "constructor" },
    { kind: "max", pointer: "/host", value: 1 },
    { kind: "max", pointer: "/__proto__/x", value: 1 },
    { kind: "max", pointer: "/count", value: 1, unless: 1 },
    { kind: "equals", pointer: "/host", value: null },
    { kind: "equals", pointer: "/none", value: 1 },
    { kind: "one_of", pointer: "/host", values: ["b"] },
    { kind: "max_count", count: 0 },
    { kind: "require_second_approver" },
    { kind: "time_window" },
    { kind: "time_window", not_after: "2001-01-01T00:00:00Z" },
    { kind: "time_window", not_before: "soon" },
  ];
  for (const constraint of wrong)
    assert.throws(() => run(constraint), rt.DecisionInvalid, JSON.stringify(constraint));
});

// ---- The client ----

await check("wrong configuration is an error, and secrets are not shown", ({ stateDir }) => {
  const wrong = [
    { agentId: "" },
    { agentId: "a b" },
    { supervisors: "a" },
    { mode: "hope" },
    { timeoutMs: 0 },
    { timeoutMs: NaN },
    { endpoint: "ftp://x" },
    { endpoint: "http://u:p@127.0.0.1" },
    { endpoint: "http://example.org", token: "t" },
    { endpoint: "unix:x" },
    { token: "a b" },
    { signingSecret: "whsec_AAAA" },
    { onDecision: 3 },
    { noSuchOption: 1 },
  ];
  for (const options of wrong)
    assert.throws(
      () => new rt.Supervisor({ agentId: "a", stateDir, ...options }),
      rt.ConfigError,
      JSON.stringify(options),
    );
});

await check("a permitted action runs and is reported, also when it fails", async (options) => {
  const { lane, run, ...rest } = options;
  const supervisor = new rt.Supervisor({ agentId: "a", ...rest });
  assert.equal(
    await supervisor.action(supervisor.lane({ lane, run }), "t", { x: 1 }, SAFE, ({ x }) => x + 1),
    2,
  );
  await assert.rejects(
    supervisor.action(supervisor.lane({ lane, run }), "t", { x: 1 }, SAFE, () => {
      throw new TypeError("secret");
    }),
    TypeError,
  );
  const receipts = (await sent(lane)).filter(([, route]) => route === "/v1/audit/receipts");
  assert.deepEqual(
    receipts.map(([, , body]) => body.ok),
    [true, false],
  );
  assert.ok(!JSON.stringify(receipts).includes("secret"));
});

await check(
  "an approved action runs once; a lane that runs again gets its result",
  async ({ lane, run, ...rest }) => {
    let ran = 0;
    const again = () => {
      const supervisor = new rt.Supervisor({ agentId: "a", ...rest });
      return supervisor.action(supervisor.lane({ lane, run }), "t", { x: 1 }, RISKY, () => ++ran);
    };
    const [first] = await Promise.all([again(), decideNext(lane, "approved")]);
    assert.deepEqual([first, await again(), ran], [1, 1, 1]);
  },
);

await check(
  "a rejected action does not run, whatever the hook says; a lower risk is ignored",
  async ({ lane, run, ...rest }) => {
    const supervisor = new rt.Supervisor({
      agentId: "a",
      ...rest,
      onDecision: () => ({ answers: ["x"], status: "approved" }),
      onRiskThreshold: () => ({ riskLevel: 0, impact: 0, confidence: 1 }),
    });
    const action = supervisor.action(supervisor.lane({ lane, run }), "t", {}, RISKY, () =>
      assert.fail("it ran"),
    );
    await Promise.all([
      assert.rejects(action, rt.HandoffRejected),
      decideNext(lane, "rejected", { context: "no\u202e" }),
    ]);
    const [, , body] = (await sent(lane)).find(([, route]) => route === "/v1/hitl/requests");
    assert.deepEqual(
      [body.facts.risk_level, body.facts.impact, body.facts.confidence],
      [2, 3, 0.5],
    );
  },
);

await check("questions are answered, and a cancelled wait ends", async ({ lane, run, ...rest }) => {
  const supervisor = new rt.Supervisor({
    agentId: "a",
    ...rest,
    onDecision: ({ status }) => (status === "needs_info" ? { answers: ["because"] } : undefined),
  });
  const stop = new AbortController();
  const wait = supervisor.beforeAction(
    rt.describe("t", {}, RISKY),
    supervisor.lane({ lane, run }),
    { signal: stop.signal },
  );
  await decideNext(lane, "needs_info", { questions: ["why?"] });
  setTimeout(() => stop.abort(), 200);
  await assert.rejects(wait, { name: "AbortError" });
});

await check("what somebody else has put on the disk is not read", ({ stateDir }) => {
  const file = (name) => path.join(stateDir, `${name}.json`);
  writeFile(file("good"), { a: 1 });
  assert.deepEqual(readFile(file("good")), { a: 1 });
  symlinkSync(file("good"), file("link"));
  execFileSync("mkfifo", [file("pipe")]);
  writeFileSync(file("open"), "{}");
  chmodSync(file("open"), 0o666);
  for (const name of ["link", "pipe", "open"])
    assert.throws(() => readFile(file(name)), Error, name);
  mkdirSync(path.join(stateDir, "shared"));
  chmodSync(path.join(stateDir, "shared"), 0o777);
  assert.throws(() => writeFile(path.join(stateDir, "shared", "a.json"), {}), rt.RelayTraceError);
});

await check("kept reports are sent by two processes, and lost by no nonsense", async (options) => {
  const kept = new Spool(options.stateDir, "e", "a");
  const names = () => readdirSync(kept.folder);
  kept.add("/v1/audit/receipts", { n: 1 });
  kept.add("/v1/audit/receipts", { n: 2 });
  const nonsense = () => Promise.reject(new rt.ServerAnswerInvalid("a page of a proxy"));
  assert.deepEqual([await kept.flush(nonsense), names().length], [2, 2]);
  const sent = [];
  await kept.flush(async (_route, { n }) => {
    sent.push(n);
    for (const name of names()) rmSync(path.join(kept.folder, name));
  });
  assert.deepEqual(sent, [1]);
  writeFileSync(path.join(kept.folder, "1.json"), "[");
  assert.equal(await kept.flush(nonsense), 0);
  assert.deepEqual(names(), ["1.json.damaged"]);
});

await check(
  "a file that was changed while people decided voids the approval",
  async ({ lane, run, ...rest }) => {
    const script = path.join(rest.stateDir, "deploy.sh");
    writeFileSync(script, "echo good");
    const supervisor = new rt.Supervisor({ agentId: "a", ...rest });
    const facts = { ...RISKY, operands: [rt.operand(script)] };
    const action = supervisor.action(supervisor.lane({ lane, run }), "t", { script }, facts, () =>
      assert.fail("it ran"),
    );
    const change = async () => {
      await new Promise((resolve) => setTimeout(resolve, 100));
      writeFileSync(script, "echo evil");
      await decideNext(lane, "approved");
    };
    await Promise.all([assert.rejects(action, rt.DecisionInvalid), change()]);
  },
);

await check("what has a digest is plain data, and what is shown has no token", async (options) => {
  const args = Object.assign([], { hidden: 1 });
  let reads = 0;
  const given = Object.defineProperty({ args }, "once", { enumerable: true, get: () => ++reads });
  const context = rt.describe("t", given);
  assert.deepEqual([reads, context.args.once, context.args.args.hidden], [1, 1, undefined]);
  const { lane, run, ...rest } = options;
  const signingSecret = `whsec_${"A".repeat(32)}`;
  const supervisor = new rt.Supervisor({ agentId: "a", ...rest, signingSecret });
  const error = new rt.HandoffPending("id");
  error.handoff = { supervisor, config: supervisor.config, lane: supervisor.lane({ lane, run }) };
  const shown = inspect(error, { depth: 9 }) + JSON.stringify(supervisor.config);
  assert.ok(!/secret-token|00 00 00/.test(shown), shown);
});

/** A server that answers as it is told. */
async function hostile(answer, body) {
  const server = http.createServer(answer);
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    await body(`http://127.0.0.1:${server.address().port}`);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

await check(
  "a request is taken back although its answer had not come",
  async ({ lane: _lane, ...rest }) => {
    const stop = new AbortController();
    let lane;
    const cut = async (request, response) => {
      const body = (await request.setEncoding("utf8").toArray()).join("");
      const { method } = request;
      const answer = await fetch(endpoint + request.url, { method, ...(body && { body }) });
      if (method === "POST" && request.url === "/v1/hitl/requests") stop.abort();
      else response.writeHead(answer.status).end(await answer.text());
    };
    await hostile(cut, async (url) => {
      const supervisor = new rt.Supervisor({ agentId: "a", ...rest, endpoint: url });
      lane = supervisor.lane({});
      const wait = supervisor.beforeAction(rt.describe("t", {}, RISKY), lane, {
        signal: stop.signal,
      });
      await assert.rejects(wait);
    });
    const [, , body] = (await sent(lane.laneId)).find(([, route]) => route === "/v1/hitl/requests");
    assert.equal((await view(body.request_id)).state, "cancelled");
  },
);

await check(
  "servers that answer nonsense, too much, too slowly or elsewhere permit nothing",
  async ({ lane: _lane, run: _run, ...rest }) => {
    const answers = {
      empty: (_q, s) => s.end(),
      text: (_q, s) => s.end("allow"),
      list: (_q, s) => s.end("[]"),
      twice: (_q, s) => s.end('{"outcome":"deny","outcome":"allow"}'),
      redirect: (_q, s) => s.writeHead(307, { location: "http://127.0.0.1:1" }).end("{}"),
      huge: (_q, s) => s.end(`"${"x".repeat(5 << 20)}"`),
      cut: (_q, s) => {
        s.writeHead(200, { "content-length": 100 });
        s.write("{");
        setTimeout(() => s.destroy(), 20);
      },
      drip: (_q, s) => {
        const timer = setInterval(() => s.write(" "), 20);
        s.on("close", () => clearInterval(timer));
      },
      token: (_q, s) =>
        s
          .writeHead(403)
          .end(JSON.stringify({ error: { code: "c", message: "rondo_secret-token \u001b[31m" } })),
      code: (_q, s) => s.writeHead(403).end('{"error":{"code":"rondo_secret-token"}}'),
      other: (_q, s) => s.end('{"outcome":"allow","action_digest":"sha256:0"}'),
    };
    for (const [name, answer] of Object.entries(answers)) {
      await hostile(answer, async (address) => {
        const supervisor = new rt.Supervisor({
          agentId: "a",
          ...rest,
          endpoint: address,
          budgetMs: 300,
        });
        await assert.rejects(
          supervisor.action(supervisor.lane(), "t", { x: "secret-argument" }, SAFE, () =>
            assert.fail(`${name}: it ran`),
          ),
          (error) => {
            assert.ok(error instanceof rt.RelayTraceError, `${name}: ${error.stack}`);
            assert.ok(!/secret|\u001b/.test(error.message), name);
            return true;
          },
        );
      });
    }
  },
);

await check(
  "without a server nothing runs but what was allowed before, and reports are kept",
  async ({ lane: _lane, run: _run, ...rest }) => {
    const options = { agentId: "a", ...rest, endpoint: "http://127.0.0.1:1", budgetMs: 100 };
    const make = (more) => {
      const supervisor = new rt.Supervisor({ ...options, ...more });
      return supervisor.action(supervisor.lane(), "t", {}, SAFE, () => "made");
    };
    await assert.rejects(make({}), rt.ServerUnreachable);
    assert.equal(await make({ allowOffline: ["t"] }), "made");
    assert.equal(
      readdirSync(path.join(rest.stateDir, "spool"), { recursive: true }).filter((name) =>
        name.endsWith(".json"),
      ).length,
      1,
    );
  },
);

await check(
  "decisions about something else, unsigned and stale ones are refused",
  async ({ lane, run, ...rest }) => {
    const place = new rt.Supervisor({ agentId: "a", ...rest, mode: "suspend" });
    const context = () => rt.describe("t", {}, RISKY);
    await assert.rejects(
      place.beforeAction(context(), place.lane({ lane, run })),
      (error) => error instanceof rt.HandoffPending,
    );
    const [, , body] = (await sent(lane)).find(([, route]) => route === "/v1/hitl/requests");
    await decide(body.request_id, "approved");
    const answer = await view(body.request_id);
    const changes = [
      (a) => (a.decision.request_id = "x"),
      (a) => (a.decision.trace_id = "x"),
      (a) => (a.decision.agent_id = "x"),
      (a) => (a.decision.revision = 2),
      (a) => (a.decision.action_digest = "x"),
      (a) => (a.decision.decision.status = "APPROVED"),
      (a) => (a.decision.event_type = "x"),
      (a) => (a.decision.decision_id = ""),
      (a) => (a.action_digest = "x"),
      (a) => (a.trace_id = "x"),
      (a) => (a.request_id = "x"),
      (a) => (a.revision = 0),
      (a) => (a.application = "x"),
      (a) => (a.decision = []),
    ];
    for (const change of changes) {
      const supervisor = new rt.Supervisor({ agentId: "a", ...rest, mode: "suspend" });
      supervisor.transport.once = async (method, route, value) =>
        forged(supervisor, method, route, value, answer, change);
      await assert.rejects(
        supervisor.beforeAction(context(), supervisor.lane({ lane, run })),
        rt.DecisionInvalid,
        String(change),
      );
    }
    const signed = new rt.Supervisor({
      agentId: "a",
      ...rest,
      mode: "suspend",
      signingSecret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
    });
    await assert.rejects(
      signed.beforeAction(context(), signed.lane({ lane, run })),
      rt.DecisionInvalid,
    );
    assert.ok(
      sign(readSecret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"), "m", 1, "").startsWith("v1,"),
    );
  },
);

async function forged(supervisor, method, route, value, answer, change) {
  if (route.endsWith("evaluate"))
    return {
      value: { outcome: "handoff", trigger_reasons: [], action_digest: value.action.action_digest },
    };
  if (method !== "GET") return { value: {} };
  const copy = structuredClone(answer);
  change(copy);
  return { value: copy, headers: {}, body: "" };
}

// ---- Strands ----

await check(
  "Strands: an approved call is made with the narrowed arguments, and reported",
  async (options) => {
    const world = build(options);
    const [result] = await Promise.all([
      world.agent.invoke("go"),
      decideNext(options.lane, "approved", {
        constraints: [{ kind: "max", pointer: "/count", value: 1 }],
      }),
    ]);
    assert.equal(result.stopReason, "endTurn");
    assert.deepEqual(world.ran, [{ tool: "isolate_host", host: "a", count: 1 }]);
    const [, , body] = (await sent(options.lane)).find(
      ([, route]) => route === "/v1/hitl/requests",
    );
    assert.equal((await view(body.request_id)).application, "applied");
  },
);

await check(
  "Strands: a permitted call is made without a person, its sibling waits",
  async (options) => {
    const turns = [
      [
        ["call-1", "isolate_host", { host: "a" }],
        ["call-2", "read_alerts", { host: "b" }],
      ],
      "done",
    ];
    const world = await suspend(options, turns);
    assert.deepEqual(world.ran, [{ tool: "read_alerts", host: "b" }]);
    await decide(world.plugin.requestIds[0], "approved");
    assert.equal(
      (await world.plugin.resume(world.agent, world.plugin.requestIds[0])).stopReason,
      "endTurn",
    );
    assert.deepEqual(
      world.ran.map(({ tool }) => tool),
      ["read_alerts", "isolate_host"],
    );
  },
);

await check(
  "Strands: rejected, expired and asked-about calls are not made, and the model is told",
  async (options) => {
    for (const [number, [status, more, text]] of [
      ["rejected", { context: "not today" }, "not today"],
      ["rejected", { reason_code: "expired" }, "in time"],
      ["needs_info", { questions: ["which host?"] }, "which host?"],
    ].entries()) {
      const lane = `${options.lane}-${number}`;
      const world = build({ ...options, lane });
      await Promise.all([world.agent.invoke("go"), decideNext(lane, status, more)]);
      assert.deepEqual(world.ran, []);
      assert.ok(told(world).includes(text), told(world));
    }
  },
);

await check(
  "Strands: without a server the call is not made, and the model is told",
  async (options) => {
    const world = build({ ...options, endpoint: "http://127.0.0.1:1", budgetMs: 100 });
    assert.equal((await world.agent.invoke("go")).stopReason, "endTurn");
    assert.deepEqual(world.ran, []);
    assert.ok(told(world).includes("ServerUnreachable"));
  },
);

await check("Strands: what a killed process had taken is made after its lease", async (options) => {
  const { plugin, agent, ran } = await suspend(options);
  await decide(plugin.requestIds[0], "approved");
  await post(`/v1/hitl/requests/${plugin.requestIds[0]}/take`, { consumer: "one that was killed" });
  await plugin.resume(agent, plugin.requestIds[0]);
  assert.equal(ran.length, 1);
});

await check("Strands: a suspended agent is continued in another process, once", async (options) => {
  const world = await suspend(options);
  const [id] = world.plugin.requestIds;
  assert.equal(world.result.interrupts[0].name, "relaytrace:call-1");
  assert.equal((await elsewhere(options, id)).outcome, "HandoffPending");
  await decide(id, "approved");
  const first = await elsewhere(options, id);
  assert.deepEqual(
    [first.outcome, first.ran],
    ["endTurn", [{ tool: "isolate_host", host: "a", count: 3 }]],
  );
  const second = await elsewhere(options, id); // the same snapshot, answered again
  assert.deepEqual(second.ran, []);
  assert.ok(JSON.stringify(second.messages).includes("made before"), JSON.stringify(second));
});

await check("Strands: arguments that were edited in the snapshot are not run", async (options) => {
  const { plugin } = await suspend(options);
  const [id] = plugin.requestIds;
  await decide(id, "approved");
  const file = path.join(options.stateDir, "checkpoints", `${id}.json`);
  writeFileSync(file, readFileSync(file, "utf8").replaceAll('"host":"a"', '"host":"evil"'));
  const other = await elsewhere(options, id);
  assert.deepEqual([other.outcome, other.ran], ["CheckpointMismatch", []]);
});

await check(
  "Strands: edited arguments are refused also when the snapshot is loaded by hand",
  async (options) => {
    const { agent } = await suspend(options);
    const snapshot = JSON.parse(
      JSON.stringify(agent.takeSnapshot({ preset: "session" })).replaceAll(
        '"host":"a"',
        '"host":"evil"',
      ),
    );
    const [, , body] = (await sent(options.lane)).find(
      ([, route]) => route === "/v1/hitl/requests",
    );
    await decide(body.request_id, "approved");
    const other = build({ ...options, mode: "suspend" });
    await other.agent.initialize();
    other.agent.loadSnapshot(snapshot);
    const [interrupt] = Object.values(snapshot.data.interrupts.interrupts);
    const result = await other.agent.invoke([
      { interruptResponse: { interruptId: interrupt.id, response: { approved: true } } },
    ]);
    assert.deepEqual([result.stopReason, other.ran], ["interrupt", []]);
  },
);

await check("Strands: an answer without a decision makes nothing run", async (options) => {
  const { agent, ran, result } = await suspend(options);
  const again = await agent.invoke([
    { interruptResponse: { interruptId: result.interrupts[0].id, response: true } },
  ]);
  assert.deepEqual([again.stopReason, ran], ["interrupt", []]);
});

await check("Strands: two calls of one reply are decided each by itself", async (options) => {
  const turns = [
    [
      ["call-1", "isolate_host", { host: "a" }],
      ["call-2", "isolate_host", { host: "b" }],
    ],
    "done",
  ];
  const world = await suspend(options, turns);
  const ids = world.plugin.requestIds;
  if (ids.length === 2) {
    await decide(ids[0], "approved");
    await assert.rejects(world.plugin.resume(world.agent, ids[0]), rt.HandoffPending);
    await decide(ids[1], "rejected");
    await world.plugin.resume(world.agent, ids[0]);
  } else {
    assert.fail(`${ids.length} requests`);
  }
  assert.deepEqual(world.ran, [{ tool: "isolate_host", host: "a" }]);
});

await check(
  "Strands: hooks of others cannot change what was approved, and one plug-in is for one agent",
  async (options) => {
    const world = build(options);
    const { BeforeToolCallEvent, Agent } = await import("@strands-agents/sdk");
    world.agent.addHook(
      BeforeToolCallEvent,
      (event) => (event.toolUse = { ...event.toolUse, input: { host: "changed" } }),
      { order: 100 },
    );
    await Promise.all([world.agent.invoke("go"), decideNext(options.lane, "approved")]);
    const [, , body] = (await sent(options.lane)).find(
      ([, route]) => route === "/v1/hitl/requests",
    );
    assert.deepEqual([body.action.args, world.ran[0].host], [{ host: "changed" }, "changed"]);
    const second = new Agent({ model: world.model, plugins: [world.plugin], printer: false });
    await assert.rejects(second.invoke("go"), rt.ConfigError);
  },
);

// ---- With a real server ----

const [people, line] = await start("python3", [path.join(here, "served.py"), "sec-triage-01"]);
const real = JSON.parse(line);

/** A person decides by a command. */
function by(verb, id) {
  return new Promise((resolve) => {
    people.stdout.once("data", resolve);
    people.stdin.write(`${verb} ${id}\n`);
  });
}

async function checkServed(name, body) {
  if (real.has_routes)
    return check(name, (options) =>
      body({
        ...options,
        endpoint: real.endpoint,
        token: real.token, // needs signed requests, and signs answers
        signingSecret: real.signingSecret,
        budgetMs: 30_000,
      }),
    );
  skip(name, "this server has no routes for agents");
}

await checkServed(
  "with rondo serve: a suspended agent is continued in another process, once",
  async (options) => {
    const { plugin } = await suspend(options);
    const [id] = plugin.requestIds;
    assert.equal((await elsewhere(options, id)).outcome, "HandoffPending");
    await by("approve", id);
    const first = await elsewhere(options, id);
    assert.deepEqual(
      [first.outcome, first.ran],
      ["endTurn", [{ tool: "isolate_host", host: "a", count: 3 }]],
    );
    assert.deepEqual((await elsewhere(options, id)).ran, []);
  },
);

await checkServed(
  "with rondo serve: a rejected call is not made, and the model is told",
  async (options) => {
    const { plugin } = await suspend(options);
    const [id] = plugin.requestIds;
    await by("reject", id);
    const other = await elsewhere(options, id);
    assert.deepEqual([other.outcome, other.ran], ["endTurn", []]);
    assert.ok(JSON.stringify(other.messages).includes("A person has rejected this call"));
  },
);

await checkServed(
  "with rondo serve: edited arguments and made-up answers run nothing",
  async (options) => {
    const { agent, plugin, ran, result } = await suspend(options);
    const [id] = plugin.requestIds;
    await agent.invoke([
      { interruptResponse: { interruptId: result.interrupts[0].id, response: true } },
    ]);
    await by("approve", id);
    const file = path.join(options.stateDir, "checkpoints", `${id}.json`);
    writeFileSync(file, readFileSync(file, "utf8").replaceAll('"host":"a"', '"host":"evil"'));
    assert.deepEqual([ran, (await elsewhere(options, id)).ran], [[], []]);
  },
);

people.stdin.end();

await check("types: a program that uses all of it compiles", async () => {
  const tsc = path.join(here, "node_modules/typescript/bin/tsc");
  const words = [
    tsc,
    "--noEmit",
    "--strict",
    "--module",
    "nodenext",
    "--target",
    "es2023",
    "--skipLibCheck",
    "--types",
    "node",
    path.join(here, "types.ts"),
  ];
  const child = spawn(process.execPath, words, { cwd: here, stdio: ["ignore", "pipe", "inherit"] });
  let out = "";
  child.stdout.on("data", (data) => (out += data));
  assert.equal(await new Promise((resolve) => child.on("close", resolve)), 0, out);
});

finish();
