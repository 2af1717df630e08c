// SPDX-License-Identifier: Apache-2.0
// All that a server can be asked, and with which token.
"use strict";

const assert = require("node:assert/strict");
const crypto = require("node:crypto");
const fs = require("node:fs");
const os = require("node:os");
const { request } = require("./raw");

// Which operations, by the right that they need, a token of each scope may call.
const scopes = {
  read: ["read"],
  operate: ["read", "operate"],
  administer: ["read", "operate", "administer"],
  decide: ["read", "decide"],
  reveal: ["read", "decide", "reveal"],
  agent: ["agent"],
};
const unknownRun = "01900000-0000-7000-8000-000000000000";
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

// ---- What there is ----

function portOf(world) {
  return Number(new URL(world.base).port);
}

// A token by a name, made once: of the command line, so that it needs no server.
function token(world, name, ...options) {
  world.tokens ??= {};
  if (world.tokens[name] === undefined) {
    const { code, stdout, stderr } = world.ask("token", "create", name, ...options);
    assert.equal(code, 0, stderr);
    [world.tokens[name]] = /rondo_\S+/.exec(stdout);
  }
  return world.tokens[name];
}

function administer(world) {
  return { authorization: `Bearer ${token(world, "chief", "--scope", "administer")}` };
}

// What an attack must leave as it is.
function stateOf(world) {
  const words = [
    ["runs", "--json"],
    ["sinks", "list", "--json"],
    ["policy", "history", "--json"],
  ];
  return JSON.stringify([
    ...words.map((one) => world.ask(...one).stdout),
    fs.readdirSync(world.project).sort(),
  ]);
}

function remember(world) {
  world.before ??= stateOf(world);
}

// Every operation of the description that the server gives: { method, path, right, id }.
async function operations(world) {
  const { json } = await request(world.base, "GET", "/v1/openapi.json");
  const values = {
    run: world.runId ?? unknownRun,
    number: "1",
    name: "hook",
    id: "none",
    asset: "app.js",
    role: "none",
    request: "none",
    agent: "mine",
    lane: "none",
    letter: "none",
  };
  const all = Object.entries(json.paths).flatMap(([pattern, item]) =>
    Object.entries(item)
      .filter(([, { operationId }]) => operationId !== undefined)
      .map(([method, operation]) => ({
        id: operation.operationId,
        pattern,
        method: method.toUpperCase(),
        path: pattern.replace(/\{(\w+)\}/g, (_, name) => values[name]),
        right: operation["x-rondo-scope"] ?? "none",
      })),
  );
  const unknown = all.filter(
    ({ path, right }) => path.includes("undefined") || (right !== "none" && !(right in scopes)),
  );
  assert.deepEqual(unknown, [], "parts of paths that have no value here, or a scope");
  assert.ok(all.length > 35);
  return all;
}

// Call some operations. Bodies are objects without a member: whoever gets so far is told what is missing.
async function callAll(world, chosen, headers, check) {
  remember(world);
  for (const operation of chosen) {
    const hasBody = ["POST", "PUT", "PATCH"].includes(operation.method);
    const sent = hasBody ? { ...headers, "content-type": "application/json" } : headers;
    const answer = await request(world.base, operation.method, operation.path, {
      headers: sent,
      body: hasBody ? "{}" : undefined,
    });
    check(
      answer,
      `${operation.method} ${operation.path}: ${answer.status} ${answer.text.slice(0, 300)}`,
      operation,
    );
  }
}

function isProblem(answer, what, status, code) {
  assert.deepEqual([answer.status, answer.json?.code], [status, code], what);
  assert.equal(answer.headers["content-type"], "application/problem+json", what);
}

// "Name: value" with what stands for $NAME.
function header(world, text) {
  const chief = token(world, "chief", "--scope", "administer");
  const values = {
    $WRONG: "A".repeat(43),
    $SHORTENED: chief.slice(0, -1),
    $CHANGED: chief.slice(0, -1) + (chief.endsWith("A") ? "E" : "A"),
    $DIGEST: crypto.createHash("sha256").update(chief).digest("hex"),
    $ADMINISTER: chief,
    $PORT: String(portOf(world)),
    $HOSTNAME: os.hostname(),
  };
  const filled = Object.entries(values).reduce(
    (all, [name, value]) => all.replaceAll(name, value),
    text,
  );
  const at = filled.indexOf(":");
  return { [filled.slice(0, at).toLowerCase()]: filled.slice(at + 1).trim() };
}

module.exports = {
  administer,
  callAll,
  header,
  isProblem,
  operations,
  pause,
  portOf,
  remember,
  scopes,
  stateOf,
  token,
  unknownRun,
};
