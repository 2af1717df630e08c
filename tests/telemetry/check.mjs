// SPDX-License-Identifier: Apache-2.0
// Telemetry of real runs against OTLP's definitions, the names of the conventions, a back end and
// Prometheus. Called by run.py with the path of rondo; prints TAP and "N passed, N failed".
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import fs from "node:fs";
import http from "node:http";
import { createRequire } from "node:module";
import os from "node:os";
import path from "node:path";
import zlib from "node:zlib";
import { freePort } from "../support/port.mjs";

const require = createRequire(import.meta.url);
const root = require("@opentelemetry/otlp-transformer/build/src/generated/root.js");
const conventions = require("@opentelemetry/semantic-conventions/incubating");
const rondo = process.argv[2];
const here = import.meta.dirname;
const work = fs.mkdtempSync(path.join(os.tmpdir(), "rondo-telemetry-"));
const children = [];
let passed = 0;
let failed = 0;

class Skip extends Error {}

async function check(name, body) {
  try {
    await body();
    passed++;
    console.log(`ok ${passed + failed} - ${name}`);
  } catch (error) {
    if (error instanceof Skip) {
      console.log(`ok ${passed + failed + 1} - ${name} # SKIP ${error.message}`);
      passed++;
      return;
    }
    failed++;
    console.log(
      `not ok ${passed + failed} - ${name}\n${String(error.stack ?? error).replace(/^/gm, "    ")}`,
    );
  }
}

function run(command, args, options = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      ...options,
      stdio: [options.input ? "pipe" : "ignore", "pipe", "pipe"],
      timeout: 600_000,
    });
    let out = "";
    let err = "";
    child.stdout.on("data", (data) => (out += data));
    child.stderr.on("data", (data) => (err += data));
    child.on("error", reject);
    child.on("close", (code, signal) => resolve({ code, signal, out, err }));
    if (options.input) {
      child.stdin.end(options.input);
    }
  });
}

async function until(what, test, ms = 240_000) {
  const end = Date.now() + ms;
  for (;;) {
    const value = await test().catch(() => undefined);
    if (value) {
      return value;
    }
    assert.ok(Date.now() < end, `not in time: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** A collector that keeps what it is sent. */
async function collector() {
  const bodies = [];
  const server = http.createServer((request, response) => {
    const pieces = [];
    request.on("data", (piece) => pieces.push(piece));
    request.on("end", () => {
      let body = Buffer.concat(pieces);
      if (request.headers["content-encoding"] === "gzip") {
        body = zlib.gunzipSync(body);
      }
      bodies.push({
        path: request.url,
        headers: request.headers,
        json: JSON.parse(body.toString()),
      });
      response.writeHead(200, { "content-type": "application/json" }).end("{}");
    });
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  server.unref();
  return { url: `http://127.0.0.1:${server.address().port}`, bodies, server };
}

function environment(url, more = {}) {
  const { PATH, HOME, XDG_STATE_HOME } = process.env;
  const own = { OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_SERVICE_NAME: "checked" };
  return { PATH, HOME, XDG_STATE_HOME, ...own, ...more };
}

/**
 * From OTLP's JSON to protobuf by the official definitions: hexadecimal ids become bytes, and a
 * member that the definition does not know, or has another type for, is an error.
 */
function decode(type, json) {
  const message = structuredClone(json);
  const walk = (value) => {
    for (const [key, item] of Object.entries(value)) {
      if (["traceId", "spanId", "parentSpanId"].includes(key)) {
        assert.match(item, key === "traceId" ? /^[0-9a-f]{32}$/ : /^[0-9a-f]{16}$/);
        value[key] = Buffer.from(item, "hex").toString("base64");
      } else if (item !== null && typeof item === "object") {
        walk(item);
      }
    }
  };
  walk(message);
  const object = type.fromObject(message);
  const again = type.decode(type.encode(object).finish());
  const plain = type.toObject(again, { longs: String, bytes: String, enums: Number });
  known(plain, message, type.name);
  return plain;
}

/** Nothing may be lost on the way: what we write, the definition knows. */
function known(plain, written, where) {
  for (const [key, value] of Object.entries(written)) {
    if (value !== null && typeof value === "object") {
      if (Array.isArray(value) && value.length === 0) {
        continue;
      }
      assert.ok(plain[key] !== undefined, `${where}.${key} is not in the definition`);
      known(plain[key], value, `${where}.${key}`);
    } else if (plain[key] === undefined) {
      const is_default = [0, "0", "", false].includes(value);
      assert.ok(is_default, `${where}.${key} is not in the definition`);
    } else {
      assert.equal(String(plain[key]), String(value), `${where}.${key}`);
    }
  }
}

function spans_of(bodies) {
  return bodies
    .filter(({ path: where }) => where.endsWith("/v1/traces"))
    .flatMap(({ json }) => json.resourceSpans.flatMap((r) => r.scopeSpans.flatMap((s) => s.spans)));
}

function attributes_of(holder) {
  return Object.fromEntries(
    (holder.attributes ?? []).map(({ key, value }) => [key, Object.values(value)[0]]),
  );
}

const types = {
  "gen_ai.usage.input_tokens": "intValue",
  "gen_ai.usage.output_tokens": "intValue",
  "gen_ai.response.finish_reasons": "arrayValue",
  "gen_ai.evaluation.score.value": "doubleValue",
  "loop.iteration": "intValue",
  "loop.limit": "intValue",
  "loop.progress_pct": "doubleValue",
  "process.exit.code": "intValue",
};

/** Links to parents, times inside them, types of attributes. */
function check_tree(spans) {
  const by_id = new Map(spans.map((span) => [span.spanId, span]));
  assert.equal(by_id.size, spans.length, "each span is sent once");
  for (const span of spans) {
    assert.ok(BigInt(span.startTimeUnixNano) <= BigInt(span.endTimeUnixNano), span.name);
    for (const { key, value } of [
      ...span.attributes,
      ...(span.events ?? []).flatMap((e) => e.attributes),
    ]) {
      assert.equal(Object.keys(value).length, 1);
      assert.equal(Object.keys(value)[0], types[key] ?? Object.keys(value)[0], key);
    }
    if (span.parentSpanId === undefined) {
      assert.match(span.name, /^invoke_agent /);
      continue;
    }
    const parent = by_id.get(span.parentSpanId);
    assert.ok(parent !== undefined, `${span.name} has its parent`);
    assert.equal(parent.traceId, span.traceId);
    assert.ok(
      BigInt(parent.startTimeUnixNano) <= BigInt(span.startTimeUnixNano),
      `${span.name} begins in ${parent.name}`,
    );
    assert.ok(
      BigInt(parent.endTimeUnixNano) >= BigInt(span.endTimeUnixNano),
      `${span.name} ends in ${parent.name}`,
    );
  }
}

const store = () => path.join(fs.mkdtempSync(path.join(work, "store-")), "rondo.db");

async function agent(url, more = {}) {
  const role = path.join(here, "../../examples/roles/researcher");
  const folder = fs.mkdtempSync(path.join(work, "notes-"));
  fs.cpSync(path.join(role, "notes"), folder, { recursive: true });
  const args = [
    "run",
    path.join(role, "role.yaml"),
    "-p",
    "How long are the tests?",
    "-a",
    "--model",
    `scripted:${path.join(role, "turns.jsonl")}`,
    "--store",
    store(),
    "-q",
  ];
  return run(rondo, args, { cwd: folder, env: environment(url, more) });
}

/** Three iterations of a script. */
function loopWords(where, script) {
  const options = ["--store", where, "--sandbox", "none", "-u", "done=test -e stop", "-n", "3"];
  return ["loop", ...options, "-q", "--", "/bin/sh", "-c", script];
}

async function loop(url, where, more = {}, script = "exit 0") {
  const options = { cwd: path.dirname(where), env: environment(url, more) };
  return run(rondo, loopWords(where, script), options);
}

await check("an agent's run is decoded by OTLP's definitions without a rest", async () => {
  const { url, bodies } = await collector();
  const { code, err } = await agent(url, { OTEL_EXPORTER_OTLP_COMPRESSION: "gzip" });
  assert.equal(code, 0, err);
  const {
    opentelemetry: { proto },
  } = root;
  const traces = bodies.filter((body) => body.path === "/v1/traces");
  assert.ok(traces.length > 0, "something was sent");
  for (const body of traces) {
    decode(proto.collector.trace.v1.ExportTraceServiceRequest, body.json);
  }
  const spans = spans_of(bodies);
  check_tree(spans);
  for (const name of [
    /^invoke_agent researcher$/,
    /^loop\.iteration$/,
    /^chat /,
    /^execute_tool read_file$/,
    /^loop\.checkpoint\.save$/,
  ]) {
    assert.ok(
      spans.some((span) => name.test(span.name)),
      String(name),
    );
  }
  const resource = attributes_of(traces[0].json.resourceSpans[0].resource);
  assert.equal(resource["service.name"], "checked");
});

await check("metrics are decoded by OTLP's definitions without a rest", async () => {
  const { url, bodies } = await collector();
  await agent(url);
  const metrics = bodies.filter((body) => body.path === "/v1/metrics");
  assert.ok(metrics.length > 0);
  decode(
    root.opentelemetry.proto.collector.metrics.v1.ExportMetricsServiceRequest,
    metrics[0].json,
  );
});

await check("names of the GenAI conventions are theirs", async () => {
  const { url, bodies } = await collector();
  await agent(url, { OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: "true" });
  const theirs = new Set(Object.values(conventions).filter((value) => typeof value === "string"));
  // Newer than the package: names of the repository that the conventions have moved to.
  const newer = new Set([
    "gen_ai.usage.reasoning.output_tokens",
    "gen_ai.usage.cache_read.input_tokens",
  ]);
  const used = new Set(
    spans_of(bodies)
      .flatMap((span) => [...span.attributes, ...(span.events ?? []).flatMap((e) => e.attributes)])
      .map(({ key }) => key),
  );
  assert.ok(used.has("gen_ai.output.messages"));
  for (const key of used) {
    if (/^(gen_ai|process|error|session)\./.test(key) && !newer.has(key)) {
      assert.ok(theirs.has(key), `${key} is in the conventions`);
    }
  }
});

await check("a conversation is exported, too, and goes on in a span that links to it", async () => {
  const { url, bodies } = await collector();
  const where = store();
  const folder = path.dirname(where);
  fs.writeFileSync(path.join(folder, "turns.jsonl"), '{"text": "Hello."}\n'.repeat(3));
  const role = path.join(folder, "role.yaml");
  fs.writeFileSync(
    role,
    "apiVersion: initrunner/v1\nkind: Agent\nmetadata: {name: talker}\nspec:\n  role: You talk.\n  model: {provider: scripted, name: turns.jsonl}\n",
  );
  const options = { cwd: folder, env: environment(url) };
  const begun = await run(rondo, ["run", role, "-i", "--store", where, "-q"], {
    ...options,
    input: "hi\nhow are you\n",
  });
  assert.equal(begun.code, 0, begun.err);
  const of = (name) => spans_of(bodies).filter((span) => span.name.startsWith(name));
  assert.equal(of("chat ").length, 2);
  assert.equal(of("invoke_agent talker").length, 1);
  const resumed = await run(rondo, ["resume", "last", "--store", where, "-q"], {
    ...options,
    input: "go on\n",
  });
  assert.equal(resumed.code, 0, resumed.err);
  assert.equal(of("chat ").length, 3);
  const [first, second] = of("invoke_agent talker");
  assert.equal(second.links[0].spanId, first.spanId);
  assert.equal(second.traceId, first.traceId);
});

await check("the wait for a person is a span that links to both executions", async () => {
  const { url, bodies } = await collector();
  const where = store();
  const folder = path.dirname(where);
  const call = { name: "run_shell", arguments: { command: "true hidden-word" } };
  const end = { name: "finish_task", arguments: { summary: "done" } };
  fs.writeFileSync(
    path.join(folder, "turns.jsonl"),
    [call, end].map((one) => `${JSON.stringify({ tool_calls: [one] })}\n`).join(""),
  );
  const role = path.join(folder, "role.yaml");
  fs.writeFileSync(
    role,
    "apiVersion: initrunner/v1\nkind: Agent\nmetadata: {name: asker}\nspec:\n  role: You ask.\n  model: {provider: scripted, name: turns.jsonl}\n  tools: [{type: shell}]\n",
  );
  const options = { cwd: folder, env: environment(url) };
  const waits = await run(rondo, ["run", role, "-p", "x", "-a", "--store", where, "-q"], options);
  assert.equal(waits.code, 11, waits.err);
  const inbox = await run(rondo, ["inbox", "--json", "--store", where], options);
  const { request_id: id } = JSON.parse(inbox.out.split("\n")[0]);
  const approved = await run(rondo, ["approve", id, "--store", where], options);
  assert.equal(approved.code, 0, approved.err);
  const resumed = await run(rondo, ["resume", "last", "--store", where, "-q"], options);
  assert.equal(resumed.code, 0, resumed.err);
  const [wait, ...others] = spans_of(bodies).filter(({ name }) => name === "handoff.wait");
  assert.equal(others.length, 0);
  assert.ok(!wait.parentSpanId, "it is nobody's child");
  const ids = new Set(spans_of(bodies).map(({ spanId }) => spanId));
  assert.equal(wait.links.length, 2);
  assert.ok(wait.links.every(({ spanId }) => ids.has(spanId)));
  const attributes = attributes_of(wait);
  assert.equal(attributes["relaytrace.request_id"], id);
  assert.equal(attributes["relaytrace.decision"], "approved");
  assert.equal(attributes["gen_ai.tool.name"], "run_shell");
  assert.ok(!JSON.stringify(wait).includes("hidden-word"));
});

await check("without being asked for, no content is sent", async () => {
  const { url, bodies } = await collector();
  await agent(url);
  assert.doesNotMatch(JSON.stringify(bodies.map((body) => body.json)), /How long are the tests/);
});

await check(
  "a killed run ends with its process and goes on in a span that links to it",
  async () => {
    const { url, bodies } = await collector();
    const where = store();
    const folder = path.dirname(where);
    const script = "test -e stop && exit 0; touch begun; sleep 60";
    const args = loopWords(where, script);
    const killed = spawn(rondo, args, { cwd: folder, env: environment(url), stdio: "ignore" });
    children.push(killed);
    await until("the worker", async () => fs.existsSync(path.join(folder, "begun")));
    killed.kill("SIGKILL");
    await new Promise((resolve) => killed.on("close", resolve));
    fs.writeFileSync(path.join(folder, "stop"), "");
    const resumed = await run(rondo, ["resume", "last", "--store", where, "-q"], {
      cwd: folder,
      env: environment(url),
    });
    assert.equal(resumed.code, 0, resumed.err);
    const roots = spans_of(bodies).filter((span) => span.parentSpanId === undefined);
    assert.equal(roots.length, 2);
    assert.equal(attributes_of(roots[0])["loop.stop_reason"], "interrupted");
    assert.equal(roots[0].status.code, 2);
    assert.equal(roots[1].links[0].spanId, roots[0].spanId);
  },
);

await check("a real back end stores a run and gives it back", async () => {
  const {
    startTelemetryServer,
    LocalFileTraceStore,
    LocalFileLogStore,
  } = require("@genkit-ai/telemetry-server");
  const port = await freePort();
  const folder = path.join(work, "genkit");
  await startTelemetryServer({
    port,
    host: "127.0.0.1",
    traceStore: new LocalFileTraceStore({
      storeRoot: folder,
      indexRoot: path.join(folder, "index"),
    }),
    logStore: new LocalFileLogStore({ storeRoot: folder, indexRoot: path.join(folder, "logs") }),
  });
  const base = `http://127.0.0.1:${port}/api`;
  await until("back end", async () => (await fetch(`${base}/__health`)).ok);
  const { err } = await agent("http://127.0.0.1:1", {
    OTEL_EXPORTER_OTLP_ENDPOINT: "",
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${base}/otlp/v1/traces`,
  });
  assert.equal(err.includes("telemetry"), false, err);
  const list = await (await fetch(`${base}/traces`)).json();
  assert.equal(list.traces.length, 1);
  const trace = await (await fetch(`${base}/traces/${list.traces[0].traceId}`)).json();
  const names = Object.values(trace.spans).map((span) => span.displayName);
  assert.ok(
    names.includes("invoke_agent researcher") && names.includes("loop.iteration"),
    names.join(),
  );
});

async function installed(program) {
  const { code } = await run(program, ["--version"]).catch(() => ({ code: null }));
  if (code !== 0) {
    throw new Skip(`${program} is not installed`);
  }
}

/** A server on a store with one run, or the one of RONDO_METRICS_URL. */
async function metrics_url() {
  if (process.env.RONDO_METRICS_URL) {
    return process.env.RONDO_METRICS_URL;
  }
  const help = await run(rondo, ["serve", "--help"]);
  if (help.code !== 0) {
    throw new Skip(
      "this rondo has no `rondo serve`; RONDO_METRICS_URL names another one's /metrics",
    );
  }
  const port = await freePort();
  const where = store();
  await loop("http://127.0.0.1:1", where, { OTEL_SDK_DISABLED: "true" });
  const child = spawn(rondo, ["serve", "--store", where, "--listen", `127.0.0.1:${port}`], {
    stdio: "ignore",
  });
  children.push(child);
  const url = `http://127.0.0.1:${port}/metrics`;
  await until("rondo serve", async () => (await fetch(url)).ok);
  return url;
}

await check("promtool finds nothing wrong with /metrics", async () => {
  await installed("promtool");
  const text = await (await fetch(await metrics_url())).text();
  const { code, out, err } = await run("promtool", ["check", "metrics"], { input: text });
  assert.equal(code, 0, out + err);
});

await check("Prometheus scrapes it", async () => {
  await installed("prometheus");
  const url = new URL(await metrics_url());
  const port = await freePort();
  const config = path.join(work, "prometheus.yml");
  fs.writeFileSync(
    config,
    `scrape_configs: [{job_name: rondo, scrape_interval: 1s, metrics_path: ${url.pathname}, static_configs: [{targets: ["${url.host}"]}]}]\n`,
  );
  children.push(
    spawn(
      "prometheus",
      [
        `--config.file=${config}`,
        `--storage.tsdb.path=${work}/tsdb`,
        `--web.listen-address=127.0.0.1:${port}`,
      ],
      { stdio: "ignore" },
    ),
  );
  await until("a sample", async () => {
    const answer = await (
      await fetch(
        `http://127.0.0.1:${port}/api/v1/query?query=${encodeURIComponent('{__name__=~"rondo_.*"}')}`,
      )
    ).json();
    return answer.data.result.length > 0;
  });
});

await check("/metrics of a server has a value of every metric of the reference", async () => {
  await installed("promtool");
  const { url } = await collector();
  const port = await freePort();
  const where = store();
  const folder = path.dirname(where);
  fs.writeFileSync(
    path.join(folder, "turns.jsonl"),
    [
      {
        tool_calls: [{ name: "think", arguments: { thought: "why" } }],
        usage: { input: 10, output: 3, cached: 1, reasoning: 1 },
      },
      {
        tool_calls: [{ name: "finish_task", arguments: { summary: "Done.", status: "completed" } }],
        usage: { input: 20, output: 4 },
      },
      { text: "Done.", usage: { input: 1, output: 1 } },
    ]
      .map((turn) => JSON.stringify(turn))
      .join("\n"),
  );
  const role =
    "apiVersion: initrunner/v1\nkind: Agent\nmetadata: {name: thinker}\nspec:\n  role: You think.\n  model: {provider: scripted, name: turns.jsonl}\n  tools: [{type: think}]\n";
  fs.writeFileSync(path.join(folder, "rondo.cedar"), "permit(principal, action, resource);\n");
  fs.writeFileSync(
    path.join(folder, "prices.json"),
    '{"scripted:turns.jsonl": {"input": 1000, "output": 1000}}',
  );
  const base = `http://127.0.0.1:${port}`;
  const child = spawn(
    rondo,
    [
      "serve",
      "--prices",
      path.join(folder, "prices.json"),
      "--store",
      where,
      "--listen",
      `127.0.0.1:${port}`,
      "--workspace",
      folder,
    ],
    { cwd: folder, env: environment(url), stdio: "ignore" },
  );
  children.push(child);
  await until("rondo serve", async () => (await fetch(`${base}/readyz`)).ok);
  const start = async (wish) => {
    const answer = await fetch(`${base}/v1/runs`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(wish),
    });
    const text = await answer.text();
    assert.equal(answer.status, 201, text);
    return JSON.parse(text).run_id;
  };
  const ended = (id) =>
    until(
      `the end of ${id}`,
      async () => (await (await fetch(`${base}/v1/runs/${id}`)).json()).ended !== null,
    );
  const looped = await start({
    command: ["/bin/true"],
    conditions: [{ name: "done", command: "false" }],
    max_iterations: 5,
    verifier_sandbox: "none",
  });
  await ended(looped);
  const resumed = await fetch(`${base}/v1/runs/${looped}/resume`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: '{"max_iterations":7}',
  });
  assert.equal(resumed.status, 200, await resumed.text());
  await ended(looped);
  await ended(await start({ role, prompt: "think", workspace: folder }));
  const documented = fs
    .readFileSync(path.join(here, "../../docs/metrics.md"), "utf8")
    .matchAll(/^\| `(rondo_\w+)` \| (\w+) /gm);
  const wanted = [...documented].map(([, name, type]) =>
    type === "histogram" ? `${name}_count` : name,
  );
  assert.ok(wanted.length > 30);
  let text = "";
  const missing = () => wanted.filter((name) => !new RegExp(`^${name}(\\{| )`, "m").test(text));
  await until(
    "every metric",
    async () => {
      text = await (await fetch(`${base}/metrics`)).text();
      return missing().length === 0;
    },
    10000,
  ).catch(() => assert.deepEqual(missing(), []));
  for (const name of ["rondo_commit_duration_seconds", "rondo_checkpoint_duration_seconds"]) {
    assert.doesNotMatch(text, new RegExp(`^${name}_count 0$`, "m"));
  }
  const { code, out, err } = await run("promtool", ["check", "metrics"], { input: text });
  assert.equal(code, 0, out + err);
});

for (const child of children) {
  child.kill("SIGKILL");
}
fs.rmSync(work, { recursive: true, force: true });
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
