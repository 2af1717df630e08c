// SPDX-License-Identifier: Apache-2.0
// A stand-in for Telegram's Bot API: it keeps messages until a poll confirms them with its offset,
// waits with an empty answer as long as the poll says, and notes what a bot sends.
"use strict";

const http = require("node:http");

class Telegram {
  constructor(token) {
    this.token = token;
    this.updates = [];
    this.number = 100;
    this.sent = [];
    this.waiting = new Set();
    this.server = http.createServer((request, response) => {
      let body = "";
      request
        .setEncoding("utf8")
        .on("data", (text) => {
          body += text;
        })
        .on("end", () => this.answer(request.url, JSON.parse(body), response));
    });
  }

  async listen() {
    await new Promise((resolve) => {
      this.server.listen(0, "127.0.0.1", resolve);
    });
    this.url = `http://127.0.0.1:${this.server.address().port}`;
  }

  write(user, text) {
    this.number += 1;
    this.updates.push({
      update_id: this.number,
      message: { from: { id: user, username: `user${user}` }, chat: { id: user }, text },
    });
    for (const poll of this.waiting) poll();
  }

  answer(url, body, response) {
    const reply = (status, value) => {
      response.writeHead(status, { "content-type": "application/json" });
      response.end(JSON.stringify(value));
    };
    if (url === `/bot${this.token}/getUpdates`) {
      this.poll(body, (result) => reply(200, { ok: true, result }));
    } else if (url === `/bot${this.token}/sendMessage`) {
      this.sent.push(body);
      reply(200, { ok: true, result: {} });
    } else {
      reply(404, { ok: false, description: "Not Found" });
    }
  }

  poll({ offset = 0, timeout = 0 }, reply) {
    this.updates = this.updates.filter((one) => one.update_id >= offset);
    if (this.updates.length > 0) {
      reply(this.updates);
      return;
    }
    const end = () => {
      clearTimeout(timer);
      this.waiting.delete(end);
      reply(this.updates);
    };
    const timer = setTimeout(end, timeout * 1000);
    this.waiting.add(end);
  }

  async close() {
    for (const poll of this.waiting) poll();
    this.server.closeAllConnections();
    await new Promise((resolve) => {
      this.server.close(resolve);
    });
  }
}

module.exports = { Telegram };
