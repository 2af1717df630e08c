// SPDX-License-Identifier: Apache-2.0
// Steps about what a server tells, to whom, how often, and of whom.
"use strict";

const { Given, Then, When } = require("@cucumber/cucumber");
const assert = require("node:assert/strict");
const fs = require("node:fs");
const http = require("node:http");
const { answersOf, exchange, request } = require("../support/raw");
const { Follower } = require("../support/events");
const { administer, callAll, operations, pause, portOf, token } = require("../support/operations");

// ---- What comes out ----

Given("the server's environment has secrets", function () {
  this.secrets = ["sk-environment-4711", "hunter2-of-the-environment", "whsec_bm90LWEtc2VjcmV0"];
  Object.assign(this.env, {
    OPENAI_API_KEY: this.secrets[0],
    DATABASE_PASSWORD: this.secrets[1],
    WEBHOOK_SECRET: this.secrets[2],
  });
});

Given("a sink with a secret in its address", async function () {
  this.secrets.push("T0000-B0000-slack");
  const url = `https://127.0.0.1:1/services/${this.secrets[3]}`;
  const { status, text, json } = await request(this.base, "PUT", "/v1/sinks/hook", {
    headers: { ...administer(this), "content-type": "application/json" },
    body: JSON.stringify({ kind: "webhook", url }),
  });
  assert.ok(status === 201 || status === 200, text);
  this.secrets.push(json.secret); // told once, here
});

When("a run was started with a token", async function () {
  const operator = `Bearer ${token(this, "operator", "--scope", "operate")}`;
  const headers = { authorization: operator, "content-type": "application/json" };
  const body = JSON.stringify({
    command: ["./worker.sh"],
    agent_id: "quiet",
    max_iterations: 1,
    sandbox: "namespace",
  });
  const { status, text, json } = await request(this.base, "POST", "/v1/runs", { headers, body });
  assert.equal(status, 201, text);
  this.runId = json.run_id;
  // The steps of other scenarios ask without a token.
  const { base } = this;
  this.front = http.createServer((incoming, outgoing) => {
    request(base, incoming.method, incoming.url, { headers: administer(this) }).then((answer) => {
      outgoing.writeHead(answer.status, { "content-type": "application/json" }).end(answer.text);
    });
  });
  await new Promise((resolve) => {
    this.front.listen(0, "127.0.0.1", resolve);
  });
  this.cleanups.push(() => this.front.close());
  this.real = base;
  this.base = `http://127.0.0.1:${this.front.address().port}`;
});

Then("no page, answer, event, error or line of the log has a secret", async function () {
  this.base = this.real;
  const chief = token(this, "chief");
  const texts = [this.server.stderr, this.server.stdout, this.ask("logs", "--json", "last").stdout];
  for (const headers of [{}, administer(this), { authorization: `Bearer ${chief}x` }]) {
    const chosen = (await operations(this)).filter(
      ({ method }) => method === "GET" || method === "POST",
    );
    await callAll(this, chosen, headers, (answer) =>
      texts.push(JSON.stringify(answer.headers) + answer.text),
    );
  }
  const reader = new Follower(`${this.base}/v1/events?after=0`, administer(this));
  await reader.begin();
  await this.until("events", () => reader.events.length > 5);
  await reader.end();
  texts.push(JSON.stringify(reader.events));
  const secrets = [...this.secrets, chief, chief.slice(6)];
  for (const secret of secrets) {
    assert.ok(secret?.length > 10);
    for (const text of texts) assert.ok(!text.includes(secret), text.slice(0, 2000));
  }
});

Then("the store does not have the tokens", function () {
  const chief = token(this, "chief");
  const folder = this.state();
  for (const name of fs
    .readdirSync(folder)
    .filter((one) => fs.statSync(`${folder}/${one}`).isFile())) {
    assert.ok(!fs.readFileSync(`${folder}/${name}`).includes(chief.slice(6)), name);
  }
});

Then("the worker in its sandbox did not see the server's secrets", function () {
  const seen = this.read("environment");
  assert.ok(seen.includes("RONDO_ITERATION"));
  for (const secret of this.secrets) assert.ok(!seen.includes(secret), seen);
});

const safety = {
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "x-frame-options": "DENY",
  "cross-origin-resource-policy": "same-origin",
  "cross-origin-opener-policy": "same-origin",
};

function isSafe(headers, what) {
  for (const [name, value] of Object.entries(safety))
    assert.equal(headers[name], value, `${name} of ${what}`);
  const policy = headers["content-security-policy"];
  assert.ok(
    policy.includes("default-src 'none'") && policy.includes("frame-ancestors 'none'"),
    what,
  );
  assert.ok(!/unsafe|\*|https?:/.test(policy), policy);
  assert.ok(
    headers["cache-control"] === "no-store" || /immutable|no-cache/.test(headers["cache-control"]),
    `${headers["cache-control"]} of ${what}`,
  );
  assert.ok(!("server" in headers) && !("set-cookie" in headers), what);
}

Then("every answer of every operation has the headers of safety", async function () {
  const all = await operations(this);
  for (const headers of [{}, administer(this)]) {
    const chosen =
      headers.authorization === undefined ? all : all.filter(({ method }) => method === "GET");
    await callAll(this, chosen, headers, (answer, what) => isSafe(answer.headers, what));
  }
});

Then(
  "so have the answers with 400, 401, 404, 405, 408, 413, 415, 421, 422, 431 and 501",
  async function () {
    const bearer = `Authorization: Bearer ${token(this, "chief")}`;
    const host = "Host: localhost\r\nConnection: close\r\n";
    const post = `POST /v1/runs HTTP/1.1\r\n${host}${bearer}\r\n`;
    const cases = {
      400: `${post}Content-Length: 1\r\nContent-Length: 1\r\n\r\nx`,
      401: `GET /v1/me HTTP/1.1\r\n${host}\r\n`,
      404: `GET /nowhere HTTP/1.1\r\n${host}\r\n`,
      405: `DELETE /v1/runs HTTP/1.1\r\n${host}\r\n`,
      408: "GET /v1/runs HTTP/1.1\r\nHost: localhost\r\nX-Slow: ",
      413: `${post}Content-Length: 9999999\r\n\r\n`,
      415: `${post}Content-Length: 2\r\n\r\n{}`,
      421: "GET / HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n",
      422: `${post}Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}`,
      431: `GET / HTTP/1.1\r\nHost: localhost\r\n${"A: b\r\n".repeat(101)}\r\n`,
      501: `${post}Transfer-Encoding: gzip\r\n\r\n`,
    };
    for (const [status, bytes] of Object.entries(cases)) {
      const { text } = await exchange(portOf(this), bytes);
      const [answer] = answersOf(text);
      assert.equal(String(answer?.status), status, text);
      assert.equal(answer.headers["content-type"], "application/problem+json", text);
      isSafe(answer.headers, text);
    }
  },
);

Then("refusals of heads that cannot be read contain nothing of the request", async function () {
  const marks = ["<script>alert(1)</script>", "mark-4711"];
  const cases = marks.flatMap((mark) => [
    `GET /${mark} HTTP/1.1\r\n\r\n`,
    `GET /${mark} HTTP/1.1\r\nHost: localhost\r\n${mark}\r\n\r\n`,
    `GET /${mark} HTTP/1.1\r\nHost: localhost\r\nX-${mark} : a\r\n\r\n`,
    `GET / HTTP/1.1\r\nHost: localhost\r\nX-A: ${mark.repeat(2000)}\r\n\r\n`,
    `GET /${mark.repeat(2000)} HTTP/1.1\r\nHost: localhost\r\n\r\n`,
    `POST /${mark} HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${mark}\r\n\r\n`,
    `POST /${mark} HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n${mark}\r\n`,
    `${mark}\r\n\r\n`,
    `GET / ${mark}\r\nHost: localhost\r\n\r\n`,
  ]);
  for (const bytes of cases) {
    const { text } = await exchange(portOf(this), bytes);
    for (const mark of marks) assert.ok(!text.includes(mark), text);
    for (const { status, headers } of answersOf(text)) {
      assert.ok(status >= 400, text);
      assert.equal(headers["content-type"], "application/problem+json", text);
      isSafe(headers, text);
    }
  }
});

// ---- Rates, and who did what ----

function askAtOnce(world, count, headersOf) {
  return Promise.all(
    Array.from({ length: count }, (_, i) =>
      request(world.base, "GET", "/v1/me", { headers: headersOf(i) }),
    ),
  );
}

When("a token asks {int} times at once", async function (count) {
  token(this, "calm");
  const headers = { authorization: `Bearer ${token(this, "eager")}` };
  this.answers = await askAtOnce(this, count, () => headers);
});

When("somebody tries {int} tokens", async function (count) {
  token(this, "calm");
  this.answers = await askAtOnce(this, count, (i) => ({
    authorization: `Bearer rondo_${String(i).padStart(43, "A")}`,
  }));
});

function limited(world, code) {
  const some = world.answers.filter(({ status }) => status === 429);
  for (const answer of some) {
    assert.equal(answer.json.code, code);
    assert.ok(Number(answer.headers["retry-after"]) >= 1);
  }
  return some.length;
}

Then(
  "some of its requests are answered {int} {string} with {string}",
  function (_status, code, _header) {
    const count = limited(this, code);
    assert.ok(count >= 10 && count < this.answers.length, String(count));
  },
);

Then("most of these are answered {int} {string}", function (_status, code) {
  const count = limited(this, code);
  assert.ok(count > this.answers.length / 2, String(count));
  assert.ok(this.answers.every(({ status }) => status === 401 || status === 429));
});

Then(/^(?:the other|a right) token is answered 200(?: all the same)?$/, async function () {
  const headers = { authorization: `Bearer ${token(this, "calm")}` };
  assert.equal((await request(this.base, "GET", "/v1/me", { headers })).status, 200);
});

When(
  "a run is started, paused, continued, limited and stopped by the tokens {string}, {string}, {string}, {string} and {string}",
  async function (one, two, three, four, five) {
    const names = [one, two, three, four, five];
    const post = async (name, path, body) => {
      const headers = {
        authorization: `Bearer ${token(this, name, "--scope", "administer")}`,
        "content-type": "application/json",
      };
      const { status, text, json } = await request(this.base, "POST", path, {
        headers,
        body: JSON.stringify(body),
      });
      assert.ok(status >= 200 && status < 300, `${path}: ${text}`);
      return json;
    };
    const status = async () =>
      (await request(this.base, "GET", `/v1/runs/${this.runId}`)).json.status;
    const start = { command: ["./worker.sh"], agent_id: "audited", max_iterations: 100000 };
    this.runId = (await post(names[0], "/v1/runs", start)).run_id;
    await post(names[1], `/v1/runs/${this.runId}/pause`, {});
    await this.until("a pause", async () => (await status()) === "paused");
    await post(names[2], `/v1/runs/${this.runId}/continue`, {});
    await this.until("that it goes on", async () => (await status()) === "running");
    await post(names[3], `/v1/runs/${this.runId}/limits`, { max_iterations: 200000 });
    await this.until("the limit", () =>
      this.ask("logs", "--json", "last").stdout.includes("200000"),
    );
    await post(names[4], `/v1/runs/${this.runId}/stop`, { reason: "enough" });
    await this.until("the end", async () => (await status()) === "cancelled");
  },
);

Then(
  "the journal and the log name {string}, {string}, {string}, {string} and {string}",
  async function (one, two, three, four, five) {
    const events = this.ask("logs", "--json", "last")
      .stdout.trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    const seen = events.map(({ type, data }) => `${type} ${data.by ?? ""}`);
    const wanted = [
      [one, /^run\.created/],
      [two, /^run\.paused/],
      [three, /^run\.continued/],
      [four, /^run\.options/],
      [five, /^run\.stop_requested/],
    ];
    for (const [name, type] of wanted) {
      assert.ok(
        seen.some((text) => type.test(text) && text.includes(name)),
        `${name} in\n${seen.join("\n")}`,
      );
    }
    for (const [name, path] of [
      [one, "/v1/runs"],
      [two, "/pause"],
      [three, "/continue"],
      [four, "/limits"],
      [five, "/stop"],
    ]) {
      const isLogged = (line) =>
        line.includes(`audit: ${name} from 127.0.0.1:`) && line.includes(`${path} -> 20`);
      await this.until(`${name} in the log`, () => this.server.stderr.split("\n").some(isLogged));
    }
  },
);

Given("a server whose stderr is a full pipe that nobody reads", async function () {
  this.server = this.start(
    "mkfifo log; exec rondo serve --listen unix:rondo.sock 2<>log",
    "server",
  );
  this.change = () =>
    new Promise((resolve, reject) => {
      const sent = http.request(
        {
          socketPath: this.path("rondo.sock"),
          path: "/v1/sinks/hook",
          method: "PUT",
          agent: false,
          timeout: 100000,
          headers: { host: "localhost", "content-type": "application/json" },
        },
        (answer) => answer.resume().on("end", () => resolve(answer.statusCode)),
      );
      sent.on("error", reject).on("timeout", () => sent.destroy(new Error("no answer")));
      sent.end(JSON.stringify({ kind: "webhook", url: "https://ops.example.org" }));
    });
  await this.until("the server", () =>
    this.change().then(
      (status) => status === 201,
      () => false,
    ),
  );
  this.log_ = fs.openSync(this.path("log"), fs.constants.O_RDWR | fs.constants.O_NONBLOCK);
  this.cleanups.push(() => fs.closeSync(this.log_));
  const fill = (size) => {
    try {
      for (;;) fs.writeSync(this.log_, Buffer.alloc(size, "."));
    } catch (error) {
      assert.equal(error.code, "EAGAIN");
    }
  };
  fill(4096);
  fill(1);
});

Then("{int} changing requests are all answered", async function (count) {
  for (let i = 0; i < count; i += 1) assert.equal(await this.change(), 200);
});

When("somebody reads the pipe again", function () {
  const bytes = Buffer.alloc(1 << 20);
  assert.ok(fs.readSync(this.log_, bytes) > 4096);
});

Then("a changing request says how many lines were lost", async function () {
  assert.equal(await this.change(), 200);
  const bytes = Buffer.alloc(65536);
  const text = await this.until("a line", () => {
    try {
      return bytes.toString("utf8", 0, fs.readSync(this.log_, bytes));
    } catch (error) {
      assert.equal(error.code, "EAGAIN");
      return false;
    }
  });
  assert.match(
    text,
    /audit: 200 lines before this one were lost\nrondo: audit: local user .* -> 200\n/,
  );
});
