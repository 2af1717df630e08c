// SPDX-License-Identifier: Apache-2.0
// What the checks share: counting, servers that can be killed and come back, requests, waiting.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import fs from "node:fs";
import http from "node:http";
import os from "node:os";
import path from "node:path";
import { freePort } from "../support/port.mjs";

export const rondo = process.argv[2];
export const here = import.meta.dirname;
const work = fs.mkdtempSync(path.join(os.tmpdir(), "rondo-api-"));
const children = new Set();
const cleanups = [];
let passed = 0;
let failed = 0;

export class Skip extends Error {}

export async function check(name, body) {
  try {
    await body();
    passed++;
    console.log(`ok ${passed + failed} - ${name}`);
  } catch (error) {
    if (error instanceof Skip) {
      passed++;
      console.log(`ok ${passed + failed} - ${name} # SKIP ${error.message}`);
      return;
    }
    failed++;
    console.log(
      `not ok ${passed + failed} - ${name}\n${String(error.stack ?? error).replace(/^/gm, "    ")}${error.cause ? `\n    ${error.cause}` : ""}`,
    );
  }
}

/** Things that outlive a check and keep Node from ending. */
export function at_end(cleanup) {
  cleanups.push(cleanup);
}

export function finish() {
  cleanups.forEach((cleanup) => cleanup());
  children.forEach((child) => child.kill("SIGKILL"));
  fs.rmSync(work, { recursive: true, force: true, maxRetries: 5 });
  console.log(`${passed} passed, ${failed} failed`);
  process.exit(failed === 0 ? 0 : 1);
}

export function folder(name) {
  return fs.mkdtempSync(path.join(work, `${name}-`));
}

export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** What `test` gives as soon as it is true; what it throws counts as not yet. */
export async function until(what, test, ms = 240_000) {
  const end = Date.now() + ms;
  let problem = "";
  for (;;) {
    try {
      const value = await test();
      if (value) {
        return value;
      }
      problem = "";
    } catch (error) {
      problem = `: ${error.message}`;
    }
    assert.ok(
      Date.now() < end,
      `not in time: ${typeof what === "function" ? what() : what}${problem}`,
    );
    await sleep(20);
  }
}

/** A receiver that is gone for good. */
export async function gone() {
  const server = http.createServer((request, response) =>
    request.resume().on("end", () => response.writeHead(410).end()),
  );
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  at_end(() => server.closeAllConnections());
  return `http://127.0.0.1:${server.address().port}/hook`;
}

export function start(command, args, options = {}) {
  const child = spawn(command, args, { stdio: ["ignore", "pipe", "pipe"], ...options });
  children.add(child);
  child.out = "";
  child.ended = new Promise((resolve) => {
    child.on("error", (error) => resolve({ code: 127, out: String(error) }));
    child.on("close", (code, signal) => {
      children.delete(child);
      resolve({ code, signal, out: child.out });
    });
  });
  child.stdout?.on("data", (data) => (child.out += data));
  child.stderr?.on("data", (data) => (child.out += data));
  return child;
}

export async function run(command, args, options = {}) {
  return start(command, args, options).ended;
}

/** A server with a store, a configuration and a workspace of its own, at one port all the time. */
export class Server {
  constructor(options = []) {
    this.folder = folder("server");
    this.store = path.join(this.folder, "rondo.db");
    this.options = options;
    const { PATH } = process.env;
    this.env = { PATH, HOME: this.folder, XDG_CONFIG_HOME: path.join(this.folder, "config") };
  }

  async start() {
    this.port ??= await freePort();
    this.base = `http://127.0.0.1:${this.port}`;
    const args = [
      "serve",
      "--store",
      this.store,
      "--listen",
      `127.0.0.1:${this.port}`,
      "--rate",
      "100000",
      "--workspace",
      this.folder,
      ...this.options,
    ];
    this.child = start(rondo, args, { cwd: this.folder, env: this.env });
    await until(
      () => `a server: ${this.child.out}`,
      async () => (await fetch(`${this.base}/readyz`)).ok,
    );
    return this;
  }

  async end(signal) {
    this.child.kill(signal);
    return this.child.ended;
  }

  async restart() {
    await this.end("SIGKILL");
    return this.start();
  }

  /** @return {status, headers, json, text} */
  async ask(method, where, body, headers = {}) {
    return ask(this.base, method, where, body, headers);
  }

  async get(where) {
    const answer = await this.ask("GET", where);
    assert.equal(answer.status, 200, `${where}: ${answer.text}`);
    return answer.json;
  }

  async run(request) {
    const answer = await this.ask("POST", "/v1/runs", request);
    assert.ok([201, 202].includes(answer.status), answer.text);
    return answer.json.run_id;
  }

  /** All events of all runs, or of one. */
  async events(run) {
    const all = [];
    const where = run === undefined ? "/v1/events" : `/v1/runs/${run}/events`;
    for (let after = 0; after !== null;) {
      const page = await this.get(`${where}?after=${after}&limit=1000`);
      all.push(...page.events);
      after = page.events.length === 0 ? null : page.next;
    }
    return all;
  }

  /** A new token, as headers. */
  /** What a command of the store prints. */
  async command(...words) {
    const { code, out } = await run(rondo, [...words, "--store", this.store], { env: this.env });
    assert.equal(code, 0, out);
    return out;
  }

  async token(name, ...args) {
    const { code, out } = await run(
      rondo,
      ["token", "create", name, "--store", this.store, ...args],
      { env: this.env },
    );
    assert.equal(code, 0, out);
    return { authorization: `Bearer ${/rondo_[\w-]{43}/.exec(out)[0]}` };
  }

  async has_ended(run) {
    return until(
      `the end of ${run}`,
      async () => (await this.get(`/v1/runs/${run}`)).ended !== null,
      60000,
    );
  }
}

export async function ask(base, method, where, body, headers = {}) {
  const sent = { method, headers: { ...headers }, redirect: "manual" };
  if (body !== undefined) {
    sent.body = typeof body === "string" ? body : JSON.stringify(body);
    sent.headers["content-type"] ??= "application/json";
  }
  const answer = await fetch(base + where, sent);
  const text = await answer.text();
  let json;
  try {
    json = JSON.parse(text);
  } catch {
    json = undefined;
  }
  return {
    status: answer.status,
    headers: answer.headers,
    type: answer.headers.get("content-type"),
    text,
    json,
  };
}

/** A worker that does nothing, so often and with such pauses between. */
export function nothing(times, delay_ms, more = {}) {
  return {
    command: ["/bin/sh", "-c", "echo done"],
    sandbox: "none",
    conditions: [{ name: "never", command: "false" }],
    verifier_sandbox: "none",
    max_iterations: times,
    delay_ns: delay_ms * 1e6,
    ...more,
  };
}
