// SPDX-License-Identifier: Apache-2.0
// Requests as bytes, for what no HTTP client would send, and proxies as people set them up.
"use strict";

const http = require("node:http");
const net = require("node:net");

// Send bytes on a connection of their own and read until the server ends it, or is silent for
// `silence` ms. Resolves to { text, isEnded }.
function exchange(port, bytes, { host = "127.0.0.1", silence = 60000 } = {}) {
  return new Promise((resolve) => {
    let text = "";
    const socket = net.connect(port, host, () => socket.write(bytes));
    const end = (isEnded) => {
      socket.destroy();
      resolve({ text, isEnded });
    };
    socket.setTimeout(silence, () => end(false));
    socket.setEncoding("latin1").on("data", (part) => {
      text += part;
    });
    socket.on("end", () => end(true)).on("error", () => end(true));
  });
}

// Split what came into answers: { status, headers, body }. Names of headers in lower case.
function answersOf(text) {
  const answers = [];
  let rest = text;
  while (rest.startsWith("HTTP/")) {
    const end = rest.indexOf("\r\n\r\n");
    if (end < 0) break;
    const [line, ...lines] = rest.slice(0, end).split("\r\n");
    const headers = Object.fromEntries(
      lines.map((one) => {
        const at = one.indexOf(":");
        return [one.slice(0, at).toLowerCase(), one.slice(at + 1).trim()];
      }),
    );
    const length = Number(headers["content-length"] ?? 0);
    answers.push({
      status: Number(line.split(" ")[1]),
      headers,
      body: rest.slice(end + 4, end + 4 + length),
    });
    rest = rest.slice(end + 4 + length);
  }
  return answers;
}

// One request by a client that sets every header itself. Resolves to { status, headers, text, json }.
function request(base, method, path, { headers = {}, body } = {}) {
  return new Promise((resolve, reject) => {
    const sent = http.request(base + path, { method, headers, agent: false }, (answer) => {
      let text = "";
      answer.setEncoding("utf8").on("data", (part) => {
        text += part;
      });
      answer.on("end", () => {
        let json;
        try {
          json = JSON.parse(text);
        } catch {
          json = undefined;
        }
        resolve({ status: answer.statusCode, headers: answer.headers, text, json });
      });
      if (answer.headers["content-type"] === "text/event-stream") {
        resolve({ status: answer.statusCode, headers: answer.headers, text: "" });
        sent.destroy();
      }
    });
    sent.on("error", reject);
    sent.end(body);
  });
}

// A reverse proxy in front of a port. `style`: which of the usual ones it is like.
const styles = {
  // Tells who called, under the name that was called.
  telling: (headers) => ({
    ...headers,
    "x-forwarded-for": "203.0.113.7",
    "x-forwarded-proto": "https",
  }),
  // Tells the standard way, and calls the server by its address.
  standard: (headers, port) => ({
    ...headers,
    host: `127.0.0.1:${port}`,
    forwarded: "for=203.0.113.7;proto=https",
    via: "1.1 edge",
  }),
};

function proxy(port, style) {
  const server = http.createServer((incoming, outgoing) => {
    const headers = styles[style](incoming.headers, port);
    const sent = http.request(
      { port, host: "127.0.0.1", path: incoming.url, method: incoming.method, headers },
      (answer) => {
        outgoing.writeHead(answer.statusCode, answer.headers);
        answer.pipe(outgoing);
      },
    );
    incoming.pipe(sent);
  });
  return new Promise((resolve) => {
    server.listen(0, "127.0.0.1", () => resolve(server));
  });
}

// One that speaks HTTP/1.0 to the server behind it, by its address, and says nothing of itself.
function silentProxy(port) {
  const server = http.createServer(async (incoming, outgoing) => {
    const bytes = `${incoming.method} ${incoming.url} HTTP/1.0\r\nHost: 127.0.0.1:${port}\r\nConnection: close\r\n\r\n`;
    const [answer] = answersOf((await exchange(port, bytes)).text);
    outgoing.writeHead(answer.status, { "content-type": answer.headers["content-type"] });
    outgoing.end(answer.body);
  });
  return new Promise((resolve) => {
    server.listen(0, "127.0.0.1", () => resolve(server));
  });
}

module.exports = { answersOf, exchange, proxy, request, silentProxy };
