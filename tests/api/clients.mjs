// SPDX-License-Identifier: Apache-2.0
// Plain clients: curl, Node's fetch and Python's http.client call in the ways that HTTP knows.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import zlib from "node:zlib";
import { Server, Skip, check, folder, nothing, run, start, until } from "./support.mjs";

const POLICY = JSON.stringify({ text: "permit (principal, action, resource);" });
const JSON_BODY = ["-H", "Content-Type: application/json"];

/** curl; @return what it wrote, and of each answer its status, its version and its headers */
async function curl(...args) {
  const work = folder("curl");
  const [heads, body, said] = ["heads", "body", "said"].map((name) => path.join(work, name));
  const ended = await run("curl", [
    "-sS",
    "--max-time",
    "20",
    "-D",
    heads,
    "-o",
    body,
    "-w",
    `%output{${said}}`,
    "-w",
    "%{num_connects} ",
    ...args,
  ]);
  if (ended.code === 127) {
    throw new Skip("curl is not installed");
  }
  assert.equal(ended.code, 0, `curl ${args.join(" ")}: ${ended.out}`);
  const answers = fs
    .readFileSync(heads, "utf8")
    .split("\r\n\r\n")
    .filter((head) => head !== "")
    .map((head) => {
      const [first, ...lines] = head.split("\r\n");
      const [version, status] = first.split(" ");
      return {
        version,
        status: Number(status),
        headers: Object.fromEntries(
          lines.map((line) => [
            line.slice(0, line.indexOf(":")).toLowerCase(),
            line.slice(line.indexOf(":") + 2),
          ]),
        ),
      };
    });
  const bytes = fs.existsSync(body) ? fs.readFileSync(body) : Buffer.alloc(0);
  return {
    answers,
    last: answers.at(-1),
    bytes,
    text: bytes.toString(),
    connects: ended.out.trim().split(" ").map(Number),
  };
}

/** http.client, on one connection: GET, POST, HEAD, an error, GET again, a chunked POST. */
const PYTHON = `
import http.client, json, sys
connection = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]), timeout=20)
seen = []
def ask(method, path, body=None, headers={}, **more):
    connection.request(method, path, body=body, headers=headers, **more)
    sockets.add(connection.sock.getsockname())
    answer = connection.getresponse()
    text = answer.read()
    seen.append([answer.status, len(text), answer.getheader("Content-Type"), answer.getheader("Content-Length")])
sockets = set()
kind = {"Content-Type": "application/json"}
ask("GET", "/v1/me")
ask("POST", "/v1/policies/check", sys.argv[2], kind)
ask("HEAD", "/v1/me")
ask("DELETE", "/v1/me")
ask("POST", "/v1/policies/check", iter([sys.argv[2][:9].encode(), sys.argv[2][9:].encode()]), kind, encode_chunked=True)
ask("GET", "/v1/me")
print(json.dumps([seen, len(sockets)]))
`;

async function curls(server) {
  const { base } = server;
  const check_url = `${base}/v1/policies/check`;
  await check("curl: three requests on one connection", async () => {
    const { connects, answers } = await curl(
      `${base}/v1/me`,
      "-o",
      "/dev/null",
      `${base}/v1/nothing`,
      "-o",
      "/dev/null",
      `${base}/healthz`,
    );
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 404, 200],
    );
    assert.equal(
      connects.reduce((sum, each) => sum + each, 0),
      1,
    );
  });
  await check("curl: HTTP/1.0, with and without keep-alive", async () => {
    const { last, text } = await curl("--http1.0", `${base}/ping`);
    assert.equal(last.status, 200);
    assert.equal(last.headers.connection?.toLowerCase(), "close");
    assert.equal(last.headers["transfer-encoding"], undefined);
    assert.match(JSON.parse(text).status, /^Healthy/);
    const kept = await curl("--http1.0", "-H", "Connection: keep-alive", `${base}/ping`);
    assert.equal(kept.last.status, 200);
  });
  await check("curl: HTTP/1.0 without a Host is answered", async () => {
    const { last } = await curl("--http1.0", "-H", "Host:", `${base}/ping`);
    assert.ok([200, 400, 421].includes(last.status), String(last.status));
  });
  await check("curl: Expect: 100-continue", async () => {
    const { answers, text } = await curl(
      ...JSON_BODY,
      "-H",
      "Expect: 100-continue",
      "-d",
      POLICY,
      check_url,
    );
    assert.deepEqual(
      answers.map(({ status }) => status),
      [100, 200],
    );
    assert.equal(JSON.parse(text).is_valid, true);
  });
  await check("curl: Expect: 100-continue for too much is refused before it is sent", async () => {
    const large = path.join(folder("large"), "body");
    fs.writeFileSync(large, `{"text":"${" ".repeat(3 << 20)}"}`);
    const { answers } = await curl(
      ...JSON_BODY,
      "-H",
      "Expect: 100-continue",
      "--data-binary",
      `@${large}`,
      check_url,
    );
    assert.deepEqual(
      answers.map(({ status }) => status),
      [413],
    );
  });
  await check("curl: a chunked upload, and one that is too large", async () => {
    const { last, text } = await curl(
      ...JSON_BODY,
      "-H",
      "Transfer-Encoding: chunked",
      "-d",
      POLICY,
      check_url,
    );
    assert.equal(last.status, 200);
    assert.equal(JSON.parse(text).is_valid, true);
    const large = path.join(folder("large"), "body");
    fs.writeFileSync(large, `{"text":"${" ".repeat(3 << 20)}"}`);
    const refused = await curl(
      ...JSON_BODY,
      "-H",
      "Transfer-Encoding: chunked",
      "-H",
      "Expect: 100-continue",
      "--data-binary",
      `@${large}`,
      check_url,
    );
    assert.equal(refused.last.status, 413);
  });
  await check("curl: HEAD is GET without the body", async () => {
    for (const where of ["/", "/v1/me", "/v1/runs", "/metrics", "/v1/nothing"]) {
      const head = await curl("--head", base + where);
      const get = await curl(base + where);
      assert.equal(head.last.status, get.last.status, where);
      assert.equal(head.last.headers["content-type"], get.last.headers["content-type"], where);
      if (where !== "/metrics") {
        assert.equal(head.last.headers["content-length"], String(get.bytes.length), where);
      }
    }
  });
  await check("curl: HEAD of a stream ends", async () => {
    for (const where of ["/v1/stream", "/v1/events"]) {
      const { last } = await curl("--head", "-H", "Accept: text/event-stream", base + where);
      assert.ok(last.status < 500, `${where}: ${last.status}`);
    }
  });
  await check("curl: OPTIONS and unknown methods are told what there is", async () => {
    for (const method of ["OPTIONS", "PATCH", "TRACE", "BREW"]) {
      const { last, text } = await curl("-X", method, `${base}/v1/runs`);
      assert.ok([405, 501].includes(last.status), `${method}: ${last.status} ${text}`);
      assert.equal(last.headers["access-control-allow-origin"], undefined);
      if (last.status === 405) {
        assert.deepEqual(last.headers.allow.split(", ").sort(), ["GET", "HEAD", "POST"]);
      }
    }
  });
  await check("curl: answers are compressed for those who want it, and only then", async () => {
    const plain = await curl(`${base}/`);
    assert.equal(plain.last.headers["content-encoding"], undefined);
    const packed = await curl("-H", "Accept-Encoding: br;q=1.0, gzip;q=0.8", `${base}/`);
    if (packed.last.headers["content-encoding"] === undefined) {
      throw new Skip("this build has no dashboard");
    }
    assert.equal(packed.last.headers["content-encoding"], "gzip");
    assert.match(packed.last.headers.vary, /accept-encoding/i);
    assert.equal(zlib.gunzipSync(packed.bytes).toString(), plain.text);
    const refused = await curl("-H", "Accept-Encoding: gzip;q=0", `${base}/`);
    assert.equal(refused.text, plain.text);
    const again = await curl("-H", `If-None-Match: ${plain.last.headers.etag}`, `${base}/`);
    assert.equal(again.last.status, 304);
    assert.equal(again.bytes.length, 0);
  });
  await check("curl: a stream over HTTP/1.0 and 1.1", async () => {
    // Who speaks HTTP/1.0 may be a proxy, and needs a token.
    const { authorization } = await server.token("old", "--scope", "read");
    for (const version of ["--http1.0", "--http1.1"]) {
      const child = start("curl", [
        "-sSN",
        version,
        "-H",
        `Authorization: ${authorization}`,
        "-H",
        "Accept: text/event-stream",
        `${base}/v1/events?after=0`,
      ]);
      await until(
        () => `events: ${child.out}`,
        () => /^event: run.created$/m.test(child.out),
      );
      child.kill();
      await child.ended;
      assert.match(child.out, /^id: \d+\n?/m);
      assert.match(child.out, /^data: \{.*\}$/m);
    }
  });
  await check("curl: requests that are sent in pieces and in one", async () => {
    const { last } = await curl("--limit-rate", "200", ...JSON_BODY, "-d", POLICY, check_url);
    assert.equal(last.status, 200);
  });
}

async function others(server) {
  await check("Node's fetch: a body as a stream, an abort, fifty at once", async () => {
    const pieces = new ReadableStream({
      start(controller) {
        POLICY.match(/.{1,7}/g).forEach((piece) =>
          controller.enqueue(new TextEncoder().encode(piece)),
        );
        controller.close();
      },
    });
    const streamed = await fetch(`${server.base}/v1/policies/check`, {
      method: "POST",
      duplex: "half",
      body: pieces,
      headers: { "content-type": "application/json" },
    });
    assert.equal(streamed.status, 200, await streamed.clone().text());
    const cut = new AbortController();
    const stream = await fetch(`${server.base}/v1/stream`, {
      headers: { accept: "text/event-stream" },
      signal: cut.signal,
    });
    assert.equal(stream.status, 200);
    cut.abort();
    const many = await Promise.all(
      Array.from({ length: 50 }, (_, i) => fetch(`${server.base}/v1/runs?limit=${i + 1}`)),
    );
    assert.ok(many.every(({ ok }) => ok));
    await Promise.all(many.map((each) => each.json()));
    await until(
      "the aborted stream is forgotten",
      async () => (await server.get("/v1/health")).streams === 0,
    );
  });
  await check("Python's http.client: all on one connection, an error in between", async () => {
    const { code, out } = await run("python3", ["-c", PYTHON, String(server.port), POLICY]);
    assert.equal(code, 0, out);
    const [seen, sockets] = JSON.parse(out);
    assert.deepEqual(
      seen.map(([status]) => status),
      [200, 200, 200, 405, 200, 200],
    );
    assert.equal(sockets, 1);
    const [, , head] = seen;
    assert.equal(head[1], 0);
    assert.equal(head[3], String(seen[0][1]));
  });
}

async function ping(server) {
  await check("/ping: its time changes with the status only", async () => {
    const ask = async () => (await fetch(`${server.base}/ping`)).json();
    const idle = await until("idle", async () => {
      const answer = await ask();
      return answer.status === "Healthy" && answer;
    });
    assert.deepEqual(Object.keys(idle), ["status", "time_of_last_update"]);
    assert.ok(Number.isInteger(idle.time_of_last_update));
    const began = Math.floor(Date.now() / 1000);
    await until(
      "a second that is not that of the status",
      async () => Date.now() / 1000 > idle.time_of_last_update + 1.2,
    );
    assert.deepEqual(await ask(), idle);
    const id = await server.run(nothing(100000, 100));
    const busy = await ask();
    assert.equal(busy.status, "HealthyBusy");
    assert.ok(busy.time_of_last_update > idle.time_of_last_update);
    assert.ok(busy.time_of_last_update >= began);
    await until("a later second", async () => Date.now() / 1000 > busy.time_of_last_update + 1.2);
    assert.deepEqual(await ask(), busy);
    await server.ask("POST", `/v1/runs/${id}/stop`, {});
    await until("idle again", async () => (await ask()).status === "Healthy");
  });
}

async function unix_socket(server) {
  const socket = path.join(server.folder, "rondo.sock");
  await check("a Unix socket: curl and the command line's own user", async () => {
    assert.equal(fs.statSync(socket).mode & 0o777, 0o600);
    const me = await curl("--unix-socket", socket, "http://localhost/v1/me");
    assert.equal(me.last.status, 200, me.text);
    assert.equal(JSON.parse(me.text).is_local, true);
    const other = await curl("--unix-socket", socket, "http://elsewhere.example/v1/me");
    assert.equal(other.last.status, 421);
    const posted = await curl(
      "--unix-socket",
      socket,
      ...JSON_BODY,
      "-d",
      JSON.stringify(nothing(1, 0)),
      "http://localhost/v1/runs",
    );
    assert.equal(posted.last.status, 201, posted.text);
    assert.match(posted.last.headers.location, /^\/v1\/runs\//);
  });
  await check(
    "a Unix socket: a stream, and the socket of a killed server is taken over",
    async () => {
      const child = start("curl", [
        "-sSN",
        "--unix-socket",
        socket,
        "-H",
        "Accept: text/event-stream",
        "http://localhost/v1/events?after=0",
      ]);
      await until(
        () => `events: ${child.out}`,
        () => /^event: run.created$/m.test(child.out),
      );
      await server.restart();
      assert.notEqual((await child.ended).code, 127);
      const { last } = await curl("--unix-socket", socket, "http://localhost/healthz");
      assert.equal(last.status, 200);
      await server.end("SIGTERM");
      assert.equal(fs.existsSync(socket), false, "a server that ends in order takes it away");
    },
  );
}

export async function clients() {
  const server = new Server();
  server.options = ["--listen", `unix:${path.join(server.folder, "rondo.sock")}`];
  await server.start();
  await server.has_ended(await server.run(nothing(2, 0)));
  await curls(server);
  await others(server);
  await ping(server);
  await unix_socket(server);
}
