// SPDX-License-Identifier: Apache-2.0
// The OpenAPI description: others' validators find nothing in it, and each operation is called
// through others' validating proxy, with success and with errors: requests, answers and description
// agree, without a member, a status or a header that is not described.
import assert from "node:assert/strict";
import fs from "node:fs";
import http from "node:http";
import path from "node:path";
import { createConfig, lintFromString } from "@redocly/openapi-core";
import { Validator } from "@seriousme/openapi-schema-validator";
import { EventSourceParserStream } from "eventsource-parser/stream";
import { agents } from "./agents.mjs";
import { Contract } from "./contract.mjs";
import { busy_daemon, follow_ups } from "./duty.mjs";
import { inbox } from "./inbox.mjs";
import { memories } from "./memories.mjs";
import { tasks } from "./tasks.mjs";
import { work } from "./work.mjs";
import { freePort } from "../support/port.mjs";
import { Server, check, folder, gone, here, nothing, rondo, start, until } from "./support.mjs";
import { plain } from "./plain.mjs";

// A kept connection may be closed by its other end just when it is used again.
const agent = new http.Agent({ keepAlive: false });

/** A request with exactly these headers. @return {status, headers, text, json} */
export function send(base, method, where, { headers = {}, body } = {}) {
  const { promise, resolve, reject } = Promise.withResolvers();
  const length = body === undefined ? {} : { "content-length": Buffer.byteLength(body) };
  const request = http.request(
    base + where,
    { method, agent, headers: { ...length, ...headers } },
    (answer) => {
      const pieces = [];
      answer.on("data", (piece) => pieces.push(piece));
      answer.on("error", reject);
      answer.on("end", () => {
        const text = Buffer.concat(pieces).toString();
        const is_json = /json$/.test(answer.headers["content-type"] ?? "");
        resolve({
          status: answer.statusCode,
          headers: answer.headers,
          text,
          json: is_json && text !== "" ? JSON.parse(text) : undefined,
        });
      });
    },
  );
  request.on("error", reject);
  request.end(body);
  return promise;
}

/** Others' proxy, before one server. */
async function prism(server, contract) {
  const port = await freePort();
  const file = path.join(folder("prism"), "api.json");
  fs.writeFileSync(file, JSON.stringify(contract.document));
  const args = [
    path.join(here, "node_modules/@stoplight/prism-cli/dist/index.js"),
    "proxy",
    file,
    server.base,
    "--port",
    String(port),
    "--host",
    "127.0.0.1",
  ];
  const child = start(process.execPath, args, { env: { ...process.env, NO_COLOR: "1" } });
  const base = `http://127.0.0.1:${port}`;
  await until(
    () => `the proxy: ${child.out}`,
    async () => (await send(base, "GET", "/healthz")).status === 200,
    180000,
  );
  return base;
}

/** Calls operations and keeps what was seen of each. */
class Tour {
  constructor(contract, base) {
    this.contract = contract;
    this.base = base;
    this.seen = new Map(contract.ids.map((id) => [id, new Map()]));
    this.problems = [];
  }

  /**
   * Call an operation. @param status the one that is wanted, or several
   * @param request {path: values of the path's parameters, query, headers, body}; `is_wrong`: the
   *        description has something against it
   */
  async call(id, status, request = {}) {
    const { path: template, method } = this.contract.operation(id);
    const where =
      template.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(request.path[name])) +
      (request.query ?? "");
    const headers = { ...request.headers };
    const body =
      request.body === undefined || typeof request.body === "string"
        ? request.body
        : JSON.stringify(request.body);
    if (body !== undefined) {
      headers["content-type"] ??= "application/json";
    }
    const answer = await send(request.base ?? this.base, method.toUpperCase(), where, {
      headers,
      body,
    });
    const what = `${id}: ${method} ${where} ${body === undefined ? "" : body.slice(0, 200)}`;
    this.#note(
      what,
      request,
      answer,
      this.contract.request(id, { query: request.query, headers, body }),
      this.contract.answer(id, answer),
    );
    assert.ok(
      [status].flat().includes(answer.status),
      `${what}: ${answer.status}, not ${status}: ${answer.text.slice(0, 300)}`,
    );
    const statuses = this.seen.get(id);
    statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
    return answer.json ?? answer.text;
  }

  /** What our judge and the proxy say of it. */
  #note(what, request, { status, headers, text }, against_request, against_answer) {
    const proxied = JSON.parse(headers["sl-violations"] ?? "[]");
    const of = (side) =>
      proxied
        .filter(({ location }) => location[0] === side)
        .map(({ location, message }) => `proxy: ${location.join(".")}: ${message}`);
    const requests = [...against_request, ...of("request")];
    const answers = [...against_answer, ...of("response")];
    if (!request.is_wrong && requests.length > 0) {
      this.problems.push(`${what}: good, but the description says: ${requests}`);
    }
    if (request.is_wrong && requests.length === 0) {
      this.problems.push(`${what}: ${status}, but the description lets it pass`);
    }
    this.problems.push(
      ...answers.map((problem) => `${what}: ${status}: ${problem}: ${text.slice(0, 1500)}`),
    );
  }

  /** The problems since the last time. */
  must_be_clean() {
    const problems = [...new Set(this.problems)];
    this.problems = [];
    assert.equal(problems.length, 0, problems.join("\n"));
  }
}

async function valid(text, contract) {
  await check("the description is valid OpenAPI 3.1", async () => {
    const result = await new Validator().validate(JSON.parse(text));
    assert.ok(result.valid, JSON.stringify(result.errors));
  });
  await check("a linter has nothing to say of it, and its examples fit their schemas", async () => {
    const config = await createConfig({ extends: ["recommended"] });
    const problems = await lintFromString({ source: text, absoluteRef: "/api.json", config });
    assert.deepEqual(
      problems.map(
        ({ ruleId, message, location }) => `${ruleId}: ${message} ${location[0].pointer}`,
      ),
      [],
    );
  });
  await check("each object lists its members or says that it is free", async () => {
    assert.deepEqual(contract.open, []);
  });
}

const forever = { ...nothing(1000000, 30), agent_id: "long" };
const scripted = (name) => path.join(here, "../../examples/roles/researcher", name);

/** Runs in the states that operations need. */
async function scenes(server) {
  const { work } = server;
  fs.cpSync(scripted("notes"), work, { recursive: true });
  const role = {
    role_file: scripted("role.yaml"),
    prompt: "How long are the tests?",
    model: `scripted:${scripted("turns.jsonl")}`,
    workspace: work,
  };
  const script = 'if [ -e "$0" ]; then exit 0; else touch "$0"; exit 1; fi';
  const met = {
    ...nothing(9, 0),
    conditions: [
      { name: "second", command: `sh -c '${script}' ${server.folder}/mark`, timeout_ns: 60e9 },
    ],
    agent_id: "met",
  };
  const runs = {};
  for (const [name, request] of Object.entries({
    role,
    met,
    ended: nothing(3, 0),
    long: forever,
  })) {
    runs[name] = await server.run(request);
  }
  for (const name of ["role", "met", "ended"]) {
    await server.has_ended(runs[name]);
  }
  return runs;
}

/** The parts of the tour: all of them in turn are each operation with success and an error. */
const stops = {
  async service(tour) {
    for (const id of [
      "getLiveness",
      "getReadiness",
      "getPing",
      "getMetrics",
      "getDescription",
      "getCaller",
      "getHealth",
      "listTokens",
    ]) {
      await tour.call(id, 200);
      await tour.call(id, 400, { query: "?no=1", is_wrong: true });
    }
    await tour.call("getAsset", 404, { path: { asset: "no.js" } });
    await tour.call("getDashboard", 400, { query: "?no=1", is_wrong: true });
    const page = await tour.call("getDashboard", 200);
    const asset = /(?:src|href)="\/?([\w.-]+)"/.exec(page)?.[1];
    await tour.call("getAsset", 200, { path: { asset: asset ?? "index.html" } });
  },

  async lists(tour, { runs, server }) {
    await tour.call("listRuns", 200);
    const { next_cursor: cursor } = await tour.call("listRuns", 200, {
      query: "?sort=agent&order=asc&limit=1",
    });
    await tour.call("listRuns", 200, {
      query: `?sort=agent&order=asc&limit=1&cursor=${encodeURIComponent(cursor)}`,
    });
    await tour.call("listRuns", 200, { query: "?status=running,paused&agent=long&q=lo" });
    await tour.call("listRuns", 400, { query: "?sort=taste", is_wrong: true });
    await tour.call("listRuns", 400, { query: "?limit=501", is_wrong: true });
    await tour.call("listRuns", 400, { query: "?cursor=x" });
    await tour.call("getEvents", 200, { query: "?after=0&limit=1000" });
    await tour.call("getEvents", 200, {
      query: "?after=0&types=run.created,run.finished&agent=long&limit=2",
    });
    await tour.call("getEvents", 400, { query: "?types=no.such" });
    await tour.call("getEvents", 400, { query: "?after=-1", is_wrong: true });
    await tour.call("streamRuns", 400, { headers: { accept: "application/json" } });
    await until(
      "warnings",
      async () => (await server.get(`/v1/warnings?run=${runs.ended}`)).warnings.length > 1,
    );
    await tour.call("listWarnings", 200);
    const { warnings } = await tour.call("listWarnings", 200, { query: `?run=${runs.ended}` });
    await tour.call("listWarnings", 200, {
      query: `?run=${runs.ended}&agent=${warnings[0].agent_id}&kind=limit&limit=1&before=${warnings[0].id}`,
    });
    await tour.call("listWarnings", 400, { query: "?kind=bad", is_wrong: true });
  },

  async run(tour, { runs }) {
    const none = { run: "ffffffff-ffff" };
    for (const run of Object.values(runs)) {
      await tour.call("getRun", 200, { path: { run } });
      for (const id of [
        "getLimits",
        "getConditions",
        "getConversation",
        "listCheckpoints",
        "getRunEvents",
      ]) {
        await tour.call(id, 200, { path: { run } });
      }
    }
    for (const id of [
      "getRun",
      "getLimits",
      "getConditions",
      "getConversation",
      "listCheckpoints",
      "getRunEvents",
    ]) {
      await tour.call(id, 404, { path: none });
      await tour.call(id, 400, { path: none, query: "?no=1", is_wrong: true });
    }
    const of = (name, more = {}) => ({ path: { run: runs[name], ...more } });
    await tour.call("getRun", 404, { path: { run: "short" }, is_wrong: true });
    await tour.call("getRunEvents", 200, {
      ...of("role"),
      query: "?after=2&before=9&limit=3&order=desc&types=tool.finished,model.replied",
    });
    await tour.call("getRunEvents", 400, { ...of("role"), query: "?order=up", is_wrong: true });
    await tour.call("getConversation", 200, { ...of("role"), query: "?limit=2" });
    const { checkpoints } = await tour.call("listCheckpoints", 200, {
      ...of("ended"),
      query: "?limit=2",
    });
    await tour.call("listCheckpoints", 200, {
      ...of("ended"),
      query: `?before=${checkpoints[0].number}`,
    });
    for (const name of ["role", "ended"]) {
      await tour.call("getCheckpoint", 200, of(name, { number: "latest" }));
      await tour.call("getCheckpoint", 200, of(name, { number: "1" }));
    }
    await tour.call("getCheckpoint", 404, of("ended", { number: "999" }));
  },

  async starting(tour, { server }) {
    const key = { "idempotency-key": "a-key" };
    const request = {
      ...nothing(2, 0),
      prompt: "x",
      workspace: server.work,
      env: ["HOME"],
      iteration_timeout_ns: 60e9,
      first_output_ns: 60e9,
      silence_ns: 60e9,
      max_tokens: 5,
      max_cost: 0.5,
      time_limit_ns: 60e9,
      checkpoint_interval: 1,
      max_failures: 3,
      durability: "strict",
      exclusive: false,
      allow_network: false,
    };
    const first = await tour.call("startRun", 201, { headers: key, body: request });
    const again = await tour.call("startRun", 201, { headers: key, body: request });
    assert.equal(again.run_id, first.run_id);
    await tour.call("startRun", 422, { headers: key, body: { ...request, prompt: "y" } });
    await tour.call("startRun", 400, {
      headers: { "idempotency-key": "two words" },
      body: request,
      is_wrong: true,
    });
    const text = `${fs.readFileSync(scripted("role.yaml"))}`;
    await tour.call("startRun", 201, {
      body: {
        role: text,
        prompt: "x",
        mode: "single",
        dry_run: true,
        workspace: server.work,
        allow_hosts: [],
        token_budget: 1000,
      },
    });
    await tour.call("startRun", 422, { body: { role: "no: role", prompt: "x" } });
    for (const wrong of [
      "{}",
      "[]",
      "{",
      '{"command":["true"],"max_iteration":1}',
      '{"command":[]}',
      '{"command":["true"],"max_iterations":0}',
      '{"command":["true"],"conditions":[{}]}',
      '{"command":["true"],"role":"x"}',
      '{"command":["true"],"sandbox":"cage"}',
      '{"command":"true"}',
    ]) {
      const { status } = await send(tour.base, "POST", "/v1/runs", {
        headers: { "content-type": "application/json" },
        body: wrong,
      });
      assert.ok([400, 422].includes(status), `${wrong}: ${status}`);
      if (wrong !== "{") {
        // which the proxy refuses itself
        await tour.call("startRun", status, { body: wrong, is_wrong: true });
      }
    }
    await tour.call("startRun", 400, { base: server.base, body: "{", is_wrong: true });
    await tour.call("startRun", 415, {
      base: server.base,
      headers: { "content-type": "text/plain" },
      body: "{}",
      is_wrong: true,
    });
    await tour.call("startRun", 413, {
      base: server.base,
      body: JSON.stringify({ command: ["true"], prompt: "x".repeat(1 << 20) }),
    });
  },

  async steering(tour, { runs, server }) {
    const long = { path: { run: runs.long } };
    const key = (value) => ({ headers: { "idempotency-key": value } });
    await tour.call("pauseRun", 202, { ...long, ...key("pause"), body: { reason: "lunch" } });
    await tour.call("pauseRun", 202, { ...long, ...key("pause"), body: { reason: "lunch" } });
    await until(
      "a pause",
      async () => (await server.get(`/v1/runs/${runs.long}`)).status === "paused",
    );
    await tour.call("getRun", 200, long);
    await tour.call("continueRun", [200, 202], long);
    await until(
      "it goes on",
      async () => (await server.get(`/v1/runs/${runs.long}`)).status === "running",
    );
    await tour.call("changeLimits", 202, {
      ...long,
      body: { max_iterations: 2000000, max_tokens: null, max_cost: 1.5, time_limit_ns: null },
    });
    await tour.call("changeLimits", 422, { ...long, body: { max_iterations: -1 }, is_wrong: true });
    await tour.call("changeLimits", 400, { ...long, is_wrong: true });
    await tour.call("getLimits", 200, long);
    await tour.call("stopRun", 202, { ...long, body: {} });
    await server.has_ended(runs.long);
    await tour.call("getRun", 200, long);
    for (const id of ["stopRun", "pauseRun", "continueRun", "changeLimits"]) {
      await tour.call(id, 409, {
        ...long,
        ...(id === "changeLimits" ? { body: { max_iterations: 5 } } : {}),
      });
    }
    await tour.call("resumeRun", 200, { ...long, body: { max_tokens: null, time_limit_ns: null } });
    await tour.call("stopRun", 202, long);
    await tour.call("resumeRun", 409, { path: { run: runs.met } });
    const at = (number) => ({ path: { run: runs.ended, number } });
    await tour.call("forkRun", 201, {
      ...at("latest"),
      ...key("fork"),
      body: { limits: { max_iterations: 4 }, start: true },
    });
    const fork = await tour.call("forkRun", 201, { ...at("1"), body: { start: false } });
    await tour.call("getRun", 200, { path: { run: fork.run_id } });
    await tour.call("forkRun", 404, at("999"));
    await tour.call("forkRun", 422, { ...at("1"), body: { begin: true }, is_wrong: true });
    for (const id of ["stopRun", "pauseRun", "continueRun", "resumeRun", "changeLimits"]) {
      await tour.call(id, 404, { path: { run: "ffffffff" }, body: {} });
      await tour.call(id, 422, { path: { run: runs.ended }, body: { taste: 1 }, is_wrong: true });
    }
  },

  async policies(tour, { runs }) {
    const text =
      'permit (principal, action, resource);\n@id("few")\nforbid (principal, action == Action::"iterate", resource) when { context.iteration >= 7 };\n';
    await tour.call("getPolicies", 200);
    await tour.call("getPolicies", 400, { query: "?no=1", is_wrong: true });
    const check = await tour.call("checkPolicies", 200, { body: { text } });
    assert.ok(check.is_valid, JSON.stringify(check));
    await tour.call("checkPolicies", 200, { body: { text: "permit (" } });
    await tour.call("checkPolicies", 422, { body: {}, is_wrong: true });
    const put = await tour.call("putPolicies", 200, { body: { text } });
    await tour.call("putPolicies", 200, {
      headers: { "if-match": `"${put.sha256}"` },
      body: { text: `${text}\n` },
    });
    await tour.call("putPolicies", 409, { body: { text, if_sha256: put.sha256 } });
    await tour.call("putPolicies", 422, { body: { text: "permit (" } });
    await tour.call("getPolicies", 200);
    await tour.call("explainPolicies", 200, {
      body: { agent_id: "fixer", action: "iterate", context: { iteration: 100 } },
    });
    await tour.call("explainPolicies", 200, {
      body: { run_id: runs.role, action: "call_tool", tool: "read_file" },
    });
    await tour.call("explainPolicies", 422, { body: { action: "dance" }, is_wrong: true });
    const { changes } = await tour.call("listPolicyChanges", 200, { query: "?limit=1" });
    await tour.call("listPolicyChanges", 200, { query: `?before=${changes[0].number}` });
    await tour.call("listPolicyChanges", 400, { query: "?limit=0", is_wrong: true });
    await tour.call("getPolicyChange", 200, { path: { number: String(changes[0].number) } });
    await tour.call("getPolicyChange", 404, { path: { number: "999" } });
  },

  async duty(tour, { server }) {
    const [first, second] = await follow_ups(server);
    const one = { path: { id: first.id } };
    const none = { path: { id: "none" } };
    await tour.call("listFollowUps", 200);
    await tour.call("listFollowUps", 400, { query: "?all=perhaps", is_wrong: true });
    await tour.call("getFollowUp", 200, one);
    await tour.call("getFollowUp", 404, none);
    await tour.call("changeFollowUp", 200, {
      ...one,
      body: { due: "2100-01-15T14:30:00Z", prompt: "look again" },
    });
    await tour.call("changeFollowUp", 422, { ...one, body: {}, is_wrong: true });
    await tour.call("changeFollowUp", 404, { ...none, body: { prompt: "look" } });
    await tour.call("cancelFollowUp", 200, { path: { id: second.id } });
    await tour.call("cancelFollowUp", 409, { path: { id: second.id }, body: {} });
    await tour.call("cancelFollowUp", 404, none);
    await tour.call("listFollowUps", 200, { query: "?agent=checker&all=true" });
    await tour.call("listBudgets", 200);
    await tour.call("listBudgets", 400, { query: "?no=1", is_wrong: true });
    await tour.call("resetBudget", 200, { path: { role: "checker" } });
    await tour.call("resetBudget", 404, { path: { role: "none" }, body: {} });
  },
  memories,
  tasks,
  work,
  inbox,
  agents,

  async sinks(tour, { hook, server }) {
    const name = { path: { name: "ops" } };
    await tour.call("listSinks", 200);
    await tour.call("listSinks", 400, { query: "?no=1", is_wrong: true });
    await tour.call("putSink", 201, {
      ...name,
      body: { kind: "webhook", url: hook, kinds: ["test"], agents: ["met"] },
    });
    await tour.call("putSink", 200, {
      ...name,
      body: {
        name: "ops",
        kind: "webhook",
        url: hook,
        kinds: null,
        agents: null,
        secret: `whsec_${Buffer.alloc(24, 1).toString("base64")}`,
      },
    });
    await tour.call("putSink", 201, {
      path: { name: "cmd" },
      body: { kind: "command", command: ["/bin/true"], kinds: ["ended"] },
    });
    await tour.call("putSink", 201, {
      path: { name: "chat" },
      body: { kind: "slack", url: hook, kinds: ["ended"] },
    });
    await tour.call("listSinks", 200);
    await tour.call("putSink", 422, { ...name, body: { kind: "pigeon" }, is_wrong: true });
    await tour.call("testSink", 202, { ...name, body: {} });
    await tour.call("testSink", 404, { path: { name: "none" } });
    const dead = await until(
      "a dead letter",
      async () => (await server.get("/v1/deliveries?dead=true")).deliveries[0],
    );
    await tour.call("listSinks", 200);
    await tour.call("listDeliveries", 200, { query: "?dead=true&limit=5" });
    await tour.call("retryDelivery", 202, { path: { id: dead.id } });
    await tour.call("retryDelivery", 404, { path: { id: "none" } });
    await tour.call("listDeliveries", 200, { query: "?dead=false" });
    await tour.call("listDeliveries", 400, { query: "?dead=perhaps", is_wrong: true });
    await tour.call("removeSink", 204, name);
    await tour.call("removeSink", 404, name);
  },

  /** A daemon whose only run waits for a model that never answers; later events wait, or are dropped. */
  async sources(tour, { server }) {
    const daemon = await busy_daemon(server);
    try {
      const { stores } = await tour.call("listStores", 200);
      assert.deepEqual(stores, []);
      await tour.call("listStores", 404, { query: "?store=a", is_wrong: true });
      const { servers } = await tour.call("listServers", 200);
      assert.ok(servers.filter(({ alive }) => alive).length >= 2, JSON.stringify(servers));
      await tour.call("listServers", 400, { query: "?no=1", is_wrong: true });
      const { sources } = await tour.call("listSources", 200);
      assert.deepEqual(sources.map(({ type }) => type).sort(), ["cron", "webhook"]);
      await tour.call("listSources", 400, { query: "?no=1", is_wrong: true });
      let waiting;
      await until(
        () => `two events that wait: ${JSON.stringify(waiting)}: ${daemon.said()}`,
        async () => {
          waiting = (await server.get("/v1/queue")).requests;
          return waiting.filter(({ role }) => role === "hooked").length === 2;
        },
      );
      const queue = await tour.call("listQueue", 200, { query: "?limit=1" });
      assert.equal(queue.has_more, true);
      await tour.call("listQueue", 400, { query: "?limit=0", is_wrong: true });
      const { refusals, next } = await tour.call("listRefusals", 200, { query: "?limit=1" });
      assert.equal(refusals[0].outcome, "dropped");
      await tour.call("listRefusals", 200, { query: `?before=${next}` });
      await tour.call("listRefusals", 400, { query: "?limit=no", is_wrong: true });
      await tour.call("listTriggerConversations", 400, { query: "?no=1", is_wrong: true });
      const { conversations } = await tour.call("listTriggerConversations", 200, {
        query: "?agent=hooked",
      });
      const one = { path: { id: conversations[0].id } };
      const { last_turns } = await tour.call("getTriggerConversation", 200, one);
      assert.equal(last_turns.length, 1);
      await tour.call("getTriggerConversation", 404, { path: { id: "none" } });
      await tour.call("forgetTriggerConversation", 204, one);
      await tour.call("forgetTriggerConversation", 404, one);
    } finally {
      await daemon.end();
    }
  },
};

/** The three streams: each event fits the description. */
async function streamed(tour, { runs, server }) {
  const shapes = {
    runs: null,
    counts: "Counts",
    warning: "Warning",
    inbox: null,
    reset: null,
  };
  const seen = { getRunEvents: 0, getEvents: 0, streamRuns: 0 };
  const cuts = [];
  const follow = async (id, where, judge) => {
    const cut = new AbortController();
    cuts.push(cut);
    const answer = await fetch(server.base + where, {
      headers: { accept: "text/event-stream" },
      signal: cut.signal,
    });
    const headers = Object.fromEntries(answer.headers);
    tour.problems.push(...tour.contract.answer(id, { status: answer.status, headers, text: "" }));
    tour.seen.get(id).set(200, 1);
    for await (const event of answer.body
      .pipeThrough(new TextDecoderStream())
      .pipeThrough(new EventSourceParserStream())) {
      tour.problems.push(
        ...judge(event.event, JSON.parse(event.data)).map(
          (problem) => `${id}: ${event.event}: ${problem}`,
        ),
      );
      seen[id]++;
    }
  };
  const whole = (_, data) => tour.contract.value("Event", data);
  const table = (name, data) => {
    assert.ok(name in shapes, name);
    return name === "runs"
      ? data.runs.flatMap((row) => tour.contract.value("Run", row))
      : shapes[name] === null
        ? []
        : tour.contract.value(shapes[name], data);
  };
  const all = [
    follow("getRunEvents", `/v1/runs/${runs.role}/events`, whole),
    follow("getEvents", "/v1/events?after=0", whole),
    follow("streamRuns", "/v1/stream", table),
  ].map((each) => each.catch((error) => error.name === "AbortError" || Promise.reject(error)));
  await until("a stream of runs", () => seen.getEvents > 50);
  await server.has_ended(await server.run(nothing(3, 0)));
  await until("frames", () => seen.streamRuns > 1 && seen.getRunEvents > 5);
  cuts.forEach((cut) => cut.abort());
  await Promise.all(all);
}

/** What every operation answers to those who may not come in, or ask for nonsense. */
async function refused(contract) {
  const server = await new Server([
    "--require-token",
    "--max-loops",
    "1",
    "--max-queue",
    "1",
    "--drain",
    "20s",
  ]).start();
  const ada = await server.token("ada", "--scope", "administer");
  const eyes = await server.token("eyes", "--scope", "read");
  const limited = await server.token("limited", "--scope", "administer", "--agent", "other");
  const ann = await server.token("ann", "--scope", "decide");
  const cho = await server.token("cho", "--scope", "reveal");
  const robot = await server.token("robot", "--scope", "agent", "--agent", "other");
  // A token that may call an operation.
  const fit = (id) =>
    ({ decide: ann, reveal: cho, agent: robot })[
      contract.operation(id).operation["x-rondo-scope"]
    ] ?? ada;
  const tour = new Tour(contract, server.base);
  // Its one iteration goes on while the server drains.
  const slow = {
    ...nothing(5, 0),
    command: ["/bin/sh", "-c", "until [ -e go ]; do sleep 0.1; done"],
    workspace: server.folder,
  };
  const busy = await tour.call("startRun", 201, { headers: ada, body: slow });

  for (const [name, call] of Object.entries({
    "401 without a token and with a wrong one": async (id, request, is_public) => {
      if (!is_public) {
        await tour.call(id, 401, request);
        await tour.call(id, 401, {
          ...request,
          headers: { authorization: `Bearer rondo_${"x".repeat(43)}` },
        });
      }
    },
    "403 to a token that may only read, or is for other agents": async (id, request, is_public) => {
      const { operation } = contract.operation(id);
      if (!is_public && operation["x-rondo-scope"] !== "read") {
        await tour.call(id, 403, { ...request, headers: eyes });
      }
      if (fit(id) !== ada) {
        await tour.call(id, 403, { ...request, headers: ada });
        return;
      }
      const is_for_all = operation["x-rondo-all-agents"] === true;
      if (is_for_all || request.path.run !== undefined) {
        await tour.call(id, is_for_all ? 403 : 404, { ...request, headers: limited });
      }
    },
    "403 to pages of other sites, 421 under other names": async (id, request) => {
      const own = fit(id);
      await tour.call(id, 403, { ...request, headers: { ...own, origin: "https://evil.example" } });
      await tour.call(id, 421, { ...request, headers: { ...own, host: "evil.example" } });
    },
    "400 to unknown parameters, keys and bodies": async (id, request) => {
      const own = fit(id);
      await tour.call(id, 400, { ...request, headers: own, query: "?no=1", is_wrong: true });
      const { method, operation } = contract.operation(id);
      if (operation.requestBody === undefined && method !== "get") {
        await tour.call(id, 400, { ...request, headers: own, body: "{}", is_wrong: true });
      }
      if (operation.requestBody !== undefined) {
        await tour.call(id, 400, { ...request, headers: own, body: "[1]", is_wrong: true });
        await tour.call(id, 415, {
          ...request,
          headers: { ...own, "content-type": "text/plain" },
          body: "{}",
          is_wrong: true,
        });
        await tour.call(id, 413, {
          ...request,
          headers: own,
          body: `{"x":"${"x".repeat(1 << 20)}"}`,
          is_wrong: true,
        });
      }
      if (method === "post") {
        await tour.call(id, 400, {
          ...request,
          headers: { ...own, "idempotency-key": "a b" },
          is_wrong: true,
        });
      }
    },
  })) {
    await check(`every operation: ${name}`, async () => {
      for (const id of contract.ids) {
        const { operation } = contract.operation(id);
        await call(id, plain(contract, id, busy.run_id), operation.security?.length === 0);
      }
      tour.must_be_clean();
    });
  }

  await check("a full server: 202 queued, 429 full, 503 while it ends", async () => {
    const queued = await tour.call("startRun", 202, { headers: ada, body: nothing(1, 0) });
    await tour.call("getRun", 200, { headers: ada, path: { run: queued.run_id } });
    await tour.call("listRuns", 200, { headers: ada, query: "?status=queued" });
    await tour.call("startRun", 429, { headers: ada, body: nothing(1, 0) });
    server.child.kill("SIGTERM");
    await until("draining", async () => (await send(server.base, "GET", "/readyz")).status === 503);
    await tour.call("getReadiness", 503);
    await tour.call("getHealth", 200, { headers: ada });
    await tour.call("startRun", 503, { headers: ada, body: nothing(1, 0) });
    fs.writeFileSync(path.join(server.folder, "go"), "");
    await server.child.ended;
    tour.must_be_clean();
  });
  return tour;
}

export async function description() {
  const server = await new Server(["--rate", "100000"]).start();
  server.work = folder("work");
  const text = await (await fetch(`${server.base}/v1/openapi.json`)).text();
  const contract = new Contract(JSON.parse(text));
  const [base, runs, hook] = await Promise.all([prism(server, contract), scenes(server), gone()]);
  const tour = new Tour(contract, base);
  await valid(text, contract);
  for (const [name, visit] of Object.entries(stops)) {
    await check(`through the proxy: ${name}`, async () => {
      try {
        await visit(tour, { server, runs, hook });
      } finally {
        tour.must_be_clean();
      }
    });
  }
  await check("what streams send is as described", async () => {
    await streamed(tour, { server, runs });
    tour.must_be_clean();
  });
  for (const [id, statuses] of tour.seen) {
    await check(`${id}: ${[...statuses.keys()].sort().join(", ")}`, async () => {
      assert.ok(
        [...statuses.keys()].some((status) => status < 300),
        "never with success",
      );
      assert.ok(
        [...statuses.keys()].some((status) => status >= 400),
        "never with an error",
      );
    });
  }
  await refused(contract);
  await server.end("SIGKILL");
}
