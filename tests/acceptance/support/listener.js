// SPDX-License-Identifier: Apache-2.0
// Somebody who listens: keeps every request, and answers as it is told.
"use strict";

const http = require("node:http");
const zlib = require("node:zlib");

class Listener {
  constructor() {
    this.requests = []; // { path, headers, body }
    this.refusals = 0; // so many requests are answered with 503 first
    this.server = http.createServer((request, answer) => this.take(request, answer));
  }

  take(request, answer) {
    const parts = [];
    request.on("data", (part) => parts.push(part));
    request.on("end", () => {
      const bytes = Buffer.concat(parts);
      const body = request.headers["content-encoding"] === "gzip" ? zlib.gunzipSync(bytes) : bytes;
      this.requests.push({ path: request.url, headers: request.headers, body: body.toString() });
      this.refusals -= 1;
      answer.writeHead(this.refusals >= 0 ? 503 : 200, { "content-type": "application/json" });
      answer.end("{}");
    });
  }

  async listen() {
    await new Promise((resolve) => {
      this.server.listen(0, "127.0.0.1", resolve);
    });
    this.url = `http://127.0.0.1:${this.server.address().port}`;
  }

  async close() {
    this.server.closeAllConnections();
    await new Promise((resolve) => {
      this.server.close(resolve);
    });
  }
}

module.exports = { Listener };
