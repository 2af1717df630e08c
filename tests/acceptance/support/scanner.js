#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// A security scanner as an MCP server: over stdio, or with --http TOKEN on a free port of the
// loopback, which it prints, for clients that carry the token. Its tool `scan` counts the lines with a password
// in the files of a folder and answers with structured content. The file `scanner-mode` in its
// workspace makes it misbehave: error, no-code, silent, die.
"use strict";

const fs = require("node:fs");
const http = require("node:http");
const path = require("node:path");
const readline = require("node:readline");

const versions = ["2025-11-25", "2025-06-18"];
const tool = {
  name: "scan",
  title: "Security scan",
  description: "Look for secrets in the files of a folder.",
  inputSchema: {
    type: "object",
    properties: { path: { type: "string" } },
    required: ["path"],
  },
  outputSchema: {
    type: "object",
    properties: { exit_code: { type: "integer" }, vulnerabilities: { type: "integer" } },
  },
  annotations: { readOnlyHint: true },
};

// Servers do not start in the workspace; paths of the agent are relative to it.
process.chdir(process.env.RONDO_WORKSPACE || ".");

function mode() {
  try {
    return fs.readFileSync("scanner-mode", "utf8").trim();
  } catch {
    return "";
  }
}

function findings(folder) {
  return fs.readdirSync(folder).flatMap((name) => {
    const text = fs.readFileSync(path.join(folder, name), "utf8");
    return text
      .split("\n")
      .map((line, i) => [line, i])
      .filter(([line]) => line.includes("password="))
      .map(([, i]) => `${path.join(folder, name)}:${i + 1}: a password`);
  });
}

function report(found) {
  const structuredContent = { vulnerabilities: found.length, exit_code: found.length > 0 ? 1 : 0 };
  const text = found.length > 0 ? found.join("\n") : "no vulnerabilities";
  return { content: [{ type: "text", text }], structuredContent };
}

function scan({ path: folder }) {
  fs.appendFileSync("scans", `${folder}\n`);
  const found = findings(folder);
  if (mode() === "error") return { ...report([]), isError: true };
  if (mode() === "no-code") return { content: [{ type: "text", text: "all is well" }] };
  if (mode() === "die") process.exit(3);
  return report(found);
}

function answer({ method, params }) {
  if (method === "initialize") {
    const wanted = params.protocolVersion;
    return {
      protocolVersion: versions.includes(wanted) ? wanted : versions[0],
      capabilities: { tools: {} },
      serverInfo: { name: "scanner", version: "1.0.0" },
    };
  }
  if (method === "tools/list") return { tools: [tool] };
  if (method === "tools/call" && params.name === "scan") return scan(params.arguments);
  if (method === "ping") return {};
  return undefined;
}

// The reply to a message; undefined when none is due.
function respond(line) {
  const message = JSON.parse(line);
  if (message.id === undefined || (message.method === "tools/call" && mode() === "silent"))
    return undefined;
  const result = answer(message);
  const reply =
    result !== undefined ? { result } : { error: { code: -32601, message: "no such method" } };
  return JSON.stringify({ jsonrpc: "2.0", id: message.id, ...reply });
}

function serveHttp(token) {
  const server = http.createServer((request, response) => {
    let body = "";
    request
      .setEncoding("utf8")
      .on("data", (text) => {
        body += text;
      })
      .on("end", () => {
        if (request.headers.authorization !== `Bearer ${token}`) response.writeHead(401).end();
        else if (request.method !== "POST") response.writeHead(405).end();
        else {
          const reply = respond(body);
          response.writeHead(reply === undefined ? 202 : 200, {
            "Content-Type": "application/json",
          });
          response.end(reply);
        }
      });
  });
  server.listen(0, "127.0.0.1", () => console.log(server.address().port));
}

fs.appendFileSync("scanner-pids", `${process.pid}\n`);
if (process.argv[2] === "--http") {
  serveHttp(process.argv[3]);
} else {
  readline.createInterface({ input: process.stdin }).on("line", (line) => {
    const reply = respond(line);
    if (reply !== undefined) process.stdout.write(`${reply}\n`);
  });
}
