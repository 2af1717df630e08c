// SPDX-License-Identifier: Apache-2.0
// A reader of server-sent events (WHATWG HTML, section 9.2) that remembers where it was.
"use strict";

class Follower {
  constructor(url, headers = {}) {
    this.url = url;
    this.headers = headers;
    this.events = []; // { type, data, at }
    this.lastId = null;
  }

  // Connect and read until the connection ends. Resolves once the answer has begun.
  async begin(url = this.url) {
    const headers = { ...this.headers, accept: "text/event-stream" };
    if (this.lastId !== null) headers["last-event-id"] = this.lastId;
    this.abort = new AbortController();
    const answer = await fetch(url, { headers, signal: this.abort.signal });
    if (answer.status !== 200) throw new Error(`${url}: ${answer.status} ${await answer.text()}`);
    this.ended = this.read(answer.body).catch(() => {});
  }

  async read(body) {
    let text = "";
    const decoder = new TextDecoder();
    for await (const bytes of body) {
      text += decoder.decode(bytes, { stream: true });
      const frames = text.split("\n\n");
      text = frames.pop();
      for (const frame of frames) this.take(frame);
    }
  }

  take(frame) {
    const fields = {};
    for (const line of frame.split("\n")) {
      const at = line.indexOf(":");
      if (at > 0) fields[line.slice(0, at)] = line.slice(at + 1).replace(/^ /, "");
    }
    if (fields.data === undefined) return;
    if (fields.id !== undefined) this.lastId = fields.id;
    this.events.push({ type: fields.event, data: JSON.parse(fields.data), at: Date.now() });
  }

  async end() {
    if (this.abort !== undefined) this.abort.abort();
    await this.ended;
  }
}

module.exports = { Follower };
