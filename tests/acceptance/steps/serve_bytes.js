// SPDX-License-Identifier: Apache-2.0
// Steps of those who send what no program would.
"use strict";

const { Then, When } = require("@cucumber/cucumber");
const assert = require("node:assert/strict");
const net = require("node:net");
const { answersOf, exchange, request } = require("../support/raw");
const { header, pause, portOf, remember } = require("../support/operations");

// ---- What is asked for ----

Then("none of these paths gives a file", async function (table) {
  for (const [path] of table.raw()) {
    const bytes = `GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`;
    const { text } = await exchange(portOf(this), bytes);
    const [{ status, body }] = answersOf(text);
    assert.ok(status === 404 || status === 400, `${path}: ${text}`);
    assert.ok(!/the-secret|root:|SQLite/.test(body), `${path}: ${text}`);
  }
});

const chunk = `10000\r\n${"x".repeat(65536)}\r\n`;
const broken = {
  "one byte more than 1 MiB": ["length", " ".repeat(1024 * 1024 + 1)],
  "4 GiB announced": ["head", "Content-Length: 4294967296"],
  "20 digits of length": ["head", "Content-Length: 99999999999999999999"],
  "chunks that never end": ["chunks", chunk.repeat(40)],
  "half an object": ["length", '{"command": ["true"'],
  "100000 brackets": ["length", `{"command": ${"[".repeat(100000)}`],
  "a member twice": ["length", '{"agent_id": "a", "agent_id": "b", "command": ["true"]}'],
  "bytes that are no UTF-8": ["length", '{"command": ["true"], "agent_id": "\xc3\x28"}'],
  "a NUL": ["length", '{"command": ["true"], \x00"agent_id": "a"}'],
  "a list": ["length", '[{"command": ["true"]}]'],
  "a number of 1000 digits": [
    "length",
    `{"command": ["true"], "agent_id": "a", "max_iterations": ${"9".repeat(1000)}}`,
  ],
  "two objects": ["length", '{"command": ["true"], "agent_id": "a"}{}'],
  "a comment": ["length", '{"command": ["true"], "agent_id": "a" /* b */}'],
  "a bare word": ["length", '{"command": ["true"], "agent_id": NaN}'],
};

function bodyBytes([kind, text]) {
  const head =
    "POST /v1/runs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nConnection: close\r\n";
  if (kind === "head") return Buffer.from(`${head}${text}\r\n\r\n`);
  if (kind === "chunks") return Buffer.from(`${head}Transfer-Encoding: chunked\r\n\r\n${text}`);
  return Buffer.from(`${head}Content-Length: ${text.length}\r\n\r\n${text}`, "latin1");
}

Then("these bodies are refused", async function (table) {
  remember(this);
  for (const [name, statuses, code] of table.raw()) {
    const { text } = await exchange(portOf(this), bodyBytes(broken[name]));
    const [answer] = answersOf(text);
    assert.equal(String(answer?.status), statuses, `${name}: ${text}`);
    assert.equal(JSON.parse(answer.body).code, code, `${name}: ${text}`);
  }
});

Then("the server answers {string}", async function (path) {
  assert.equal((await request(this.base, "GET", path)).status, 200);
});

// ---- Slow clients ----

When("{int} clients send a byte of their request every {int} ms", function (count, ms) {
  const bytes = `GET /v1/runs HTTP/1.1\r\nHost: localhost\r\nX-Slow: ${"z".repeat(4000)}`;
  this.slow = Array.from({ length: count }, () => {
    const client = { begun: Date.now(), text: "" };
    const socket = net.connect(portOf(this), "127.0.0.1");
    let at = 0;
    const timer = setInterval(() => {
      socket.write(bytes[at]);
      at += 1;
    }, ms);
    const end = () => {
      clearInterval(timer);
      client.end ??= Date.now();
    };
    socket
      .on("data", (part) => {
        client.text += part;
      })
      .on("close", end)
      .on("error", end);
    this.cleanups.push(() => {
      clearInterval(timer);
      socket.destroy();
    });
    return client;
  });
});

When("{int} clients connect and say nothing", async function (count) {
  for (let i = 0; i < count; i += 1) {
    const socket = net.connect(portOf(this), "127.0.0.1");
    socket.on("error", () => {});
    this.cleanups.push(() => socket.destroy());
    await new Promise((resolve) => {
      socket.on("connect", resolve);
    });
  }
});

Then("{string} is answered within {int} ms all the while", async function (path, ms) {
  const areOpen = () => this.slow.every(({ end }) => end === undefined);
  let answered = 0;
  for (let i = 0; i < 20; i += 1) {
    const begun = Date.now();
    assert.equal((await request(this.base, "GET", path)).status, 200);
    assert.ok(Date.now() - begun < this.within(ms / 1000), `${Date.now() - begun} ms`);
    answered += areOpen() ? 1 : 0;
    await pause(200);
  }
  assert.ok(answered > 0, "they had their time still");
});

Then("each of them is cut off within {int} seconds", async function (seconds) {
  await this.until("the end of the slow ones", () =>
    this.slow.every(({ end }) => end !== undefined),
  );
  for (const { begun, end, text } of this.slow) {
    assert.ok(end - begun < this.within(seconds), `${end - begun} ms`);
    assert.ok(text === "" || text.startsWith("HTTP/1.1 408 "), text);
  }
});

Then("{string} is answered again within {int} seconds", async function (path, seconds) {
  const ask = () =>
    request(this.base, "GET", path).then(
      ({ status }) => status,
      () => 0,
    );
  const first = await ask();
  assert.ok(first === 503 || first === 0, String(first));
  await this.until(path, async () => (await ask()) === 200, this.within(seconds));
});

// ---- Bytes ----

// A cell of a table: \r, \n, \xNN, and $HOST for the header of that name.
function bytesOf(cell) {
  const text = cell
    .replaceAll("$HOST", "Host: localhost")
    .replaceAll("\\r", "\r")
    .replaceAll("\\n", "\n")
    .replaceAll("\r\n", "\r\n");
  return Buffer.from(
    text.replace(/\\x(..)/g, (_, digits) => String.fromCharCode(parseInt(digits, 16))),
    "latin1",
  );
}

Then("no answer has a header {string} or a status of its own for", async function (name, table) {
  for (const [path] of table.raw()) {
    const bytes = `GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`;
    const { text } = await exchange(portOf(this), bytes);
    const answers = answersOf(text);
    assert.equal(answers.length, 1, `${path}: ${text}`);
    assert.ok(!(name.toLowerCase() in answers[0].headers), `${path}: ${text}`);
    assert.equal(text.split("\r\nHTTP/").length, 1, text);
  }
});

Then("nothing that I followed is {string}", function (type) {
  for (const event of this.reader.events) {
    assert.notEqual(event.type, type);
    assert.equal(event.type, event.data.type);
  }
});

Then(
  "each of these is refused, and what follows it is not read as a request",
  async function (table) {
    remember(this);
    for (const [name, cell] of table.raw()) {
      const next = Buffer.from("GET /v1/me HTTP/1.1\r\nHost: localhost\r\n\r\n");
      const { text, isEnded } = await exchange(portOf(this), Buffer.concat([bytesOf(cell), next]));
      const answers = answersOf(text);
      assert.ok(isEnded, `${name}: ${text}`);
      assert.equal(answers.length, 1, `${name}: ${text}`);
      assert.ok([400, 413, 501].includes(answers[0].status), `${name}: ${text}`);
      assert.ok(!text.includes("is_local"), `${name}: ${text}`);
    }
  },
);

Then("these get no more than a refusal", async function (table) {
  remember(this);
  for (const [name, cell] of table.raw()) {
    const { text } = await exchange(portOf(this), bytesOf(cell), { silence: 1500 });
    for (const { status, headers } of answersOf(text)) {
      assert.ok(status >= 400 && status < 600, `${name}: ${text}`);
      assert.ok(
        !Object.keys(headers).some((key) => key.startsWith("access-control")),
        `${name}: ${text}`,
      );
    }
    assert.ok(!/X-Echo|is_local/.test(text), `${name}: ${text}`);
    assert.equal((await request(this.base, "GET", "/healthz")).status, 200, name);
  }
});
