// SPDX-License-Identifier: Apache-2.0
// The library of Standard Webhooks verifies what sinks receive, also what is sent again and what is
// signed with a new secret.
import assert from "node:assert/strict";
import http from "node:http";
import { Webhook } from "standardwebhooks";
import { Server, at_end, check, nothing, until } from "./support.mjs";

/** In place of a status: no answer. */
const NEVER = 0;

/** Keeps requests with their raw bodies; `statuses` are given one after the other, then 204. */
async function receiver() {
  const taken = { requests: [], statuses: [] };
  const server = http.createServer((request, response) => {
    const pieces = [];
    request.on("data", (piece) => pieces.push(piece));
    request.on("end", () => {
      const status = taken.statuses.shift() ?? 204;
      taken.requests.push({
        status,
        headers: request.headers,
        body: Buffer.concat(pieces).toString(),
      });
      if (status === NEVER) {
        return;
      }
      response.writeHead(status, status === 503 ? { "retry-after": "1" } : {}).end();
    });
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  at_end(() => server.closeAllConnections());
  taken.url = `http://127.0.0.1:${server.address().port}/hook?key=hidden`;
  return taken;
}

function old(headers, seconds) {
  return {
    ...headers,
    "webhook-timestamp": String(Number(headers["webhook-timestamp"]) - seconds),
  };
}

export async function webhooks() {
  const server = await new Server().start();
  const there = await receiver();
  const sink = { kind: "webhook", url: there.url, kinds: ["limit", "test"] };
  let secret;

  await check(
    "what a new sink receives is verified with the secret that was shown once",
    async () => {
      const put = await server.ask("PUT", "/v1/sinks/ops", sink);
      assert.equal(put.status, 201, put.text);
      secret = put.json.secret;
      assert.match(secret, /^whsec_/);
      const list = await server.get("/v1/sinks");
      assert.equal(
        JSON.stringify(list).includes("hidden") || JSON.stringify(list).includes("whsec"),
        false,
      );
      await server.run(nothing(5, 0));
      const { headers, body } = await until("a warning", async () => there.requests[0]);
      const event = new Webhook(secret).verify(body, headers);
      assert.equal(event.type, "run.warning.limit");
      assert.equal(event.data.limit_name, "iterations");
      assert.match(headers["content-type"], /^application\/json/);
    },
  );

  await check(
    "a changed body, id or time, an old time and another secret are refused",
    async () => {
      const { headers, body } = there.requests[0];
      const webhook = new Webhook(secret);
      assert.throws(
        () =>
          webhook.verify(
            body.replace('"value":4', '"value":3').replace("fixer", "other") + " ",
            headers,
          ),
        /No matching signature/,
      );
      assert.throws(
        () => webhook.verify(body, { ...headers, "webhook-id": `${headers["webhook-id"]}x` }),
        /No matching signature/,
      );
      assert.throws(() => webhook.verify(body, old(headers, 10)), /No matching signature/);
      assert.throws(() => webhook.verify(body, old(headers, 400)), /timestamp too old/);
      assert.throws(
        () => new Webhook(`whsec_${Buffer.alloc(32, 7).toString("base64")}`).verify(body, headers),
        /No matching signature/,
      );
    },
  );

  await check(
    "each try is signed anew, with the same id and body; a dead letter's, too",
    async () => {
      there.requests.length = 0;
      there.statuses.push(503, 410);
      await server.ask("POST", "/v1/sinks/ops/test", {});
      await until(
        () => `two tries, not ${there.requests.length}`,
        () => there.requests.length === 2,
      );
      // Gone: nothing is sent there any more, until somebody says so.
      const dead = await until(
        "a dead letter",
        async () => (await server.get("/v1/deliveries?dead=true")).deliveries[0],
      );
      assert.equal(
        (await server.get("/v1/sinks")).sinks[0].disabled,
        "it answered with status 410",
      );
      await server.ask("PUT", "/v1/sinks/ops", sink);
      const again = await server.ask("POST", `/v1/deliveries/${dead.id}/retry`, {});
      assert.equal(again.status, 202, again.text);
      await until(
        () => `three tries, not ${there.requests.length}`,
        () => there.requests.length === 3,
      );
      const webhook = new Webhook(secret);
      const times = there.requests.map(({ headers, body }) => {
        assert.equal(webhook.verify(body, headers).type, "run.warning.test");
        assert.equal(headers["webhook-id"], there.requests[0].headers["webhook-id"]);
        assert.equal(body, there.requests[0].body);
        return Number(headers["webhook-timestamp"]);
      });
      assert.ok(times[2] > times[0], "the time is that of the try");
      assert.notEqual(
        there.requests[2].headers["webhook-signature"],
        there.requests[0].headers["webhook-signature"],
      );
    },
  );

  await check("a new PUT keeps the secret, or takes the given one", async () => {
    const kept = await server.ask("PUT", "/v1/sinks/ops", { ...sink, kinds: null });
    assert.equal(kept.status, 200);
    assert.equal(kept.json.secret, undefined);
    there.requests.length = 0;
    await server.ask("POST", "/v1/sinks/ops/test", {});
    await until("a test", () => there.requests.length === 1);
    new Webhook(secret).verify(there.requests[0].body, there.requests[0].headers);

    const next = `whsec_${Buffer.from("another secret of thirty-two byte").toString("base64")}`;
    const changed = await server.ask("PUT", "/v1/sinks/ops", { ...sink, secret: next });
    assert.equal(changed.status, 200, changed.text);
    await server.ask("POST", "/v1/sinks/ops/test", {});
    const { headers, body } = await until("a test", () => there.requests[1]);
    new Webhook(next).verify(body, headers);
    assert.throws(() => new Webhook(secret).verify(body, headers), /No matching signature/);
    secret = next;
  });

  await check("what waits when the secret changes is signed with the new one", async () => {
    there.requests.length = 0;
    there.statuses.push(503);
    await server.ask("POST", "/v1/sinks/ops/test", {});
    await until("the first try", () => there.requests.length === 1);
    const next = `whsec_${Buffer.alloc(24, 42).toString("base64")}`;
    await server.ask("PUT", "/v1/sinks/ops", { ...sink, secret: next });
    const { headers, body } = await until("the second try", () => there.requests[1]);
    new Webhook(next).verify(body, headers);
    secret = next;
  });

  await check("what waits when the server is killed is sent again, under the same id", async () => {
    there.requests.length = 0;
    there.statuses.push(503);
    await server.ask("POST", "/v1/sinks/ops/test", {});
    await until(
      "it waits",
      async () =>
        (await server.get("/v1/deliveries")).deliveries[0]?.error === "it answered with status 503",
    );
    await server.restart();
    const { headers, body } = await until("the second try", () => there.requests[1]);
    assert.equal(headers["webhook-id"], there.requests[0].headers["webhook-id"]);
    new Webhook(secret).verify(body, headers);
  });

  await agent_signs(server);
  await server.end("SIGKILL");
}

/** Requests of an agent that the library signs, and answers that it verifies. */
async function agent_signs(server) {
  const made = await server.command(
    "token",
    "create",
    "signing",
    "--json",
    "--scope",
    "agent",
    "--agent",
    "foreign",
    "--signing",
    "required",
  );
  const { token, secret } = JSON.parse(made);
  const authorization = `Bearer ${token}`;
  const body = JSON.stringify({ agent_id: "foreign", lane_id: "lane-a" });
  const send = (webhook, id, time, text = body) =>
    server.ask("POST", "/v1/lanes", text, {
      authorization,
      "webhook-id": id,
      "webhook-timestamp": String(Math.floor(time / 1000)),
      "webhook-signature": webhook.sign(id, new Date(time), body),
    });
  const answers = (webhook, { text, headers }) =>
    webhook.verify(text, Object.fromEntries(headers.entries()));

  await check(
    "what the library signs is believed, once, and the answer verified by it",
    async () => {
      const webhook = new Webhook(secret);
      const now = Date.now();
      const first = await send(webhook, "msg_1", now);
      assert.equal(first.status, 201, first.text);
      assert.equal(answers(webhook, first).lane_id, "lane-a");
      assert.equal((await send(webhook, "msg_1", now)).json.error.code, "signature_replayed");
      assert.equal(
        (await send(webhook, "msg_2", now, `${body} `)).json.error.code,
        "signature_invalid",
      );
      assert.equal(
        (await send(webhook, "msg_3", now - 400_000)).json.error.code,
        "signature_stale",
      );
    },
  );

  await check(
    "while a secret is replaced both are believed, and answers signed with both",
    async () => {
      const { json } = await server.ask("POST", "/v1/keys/rotate", { token: "signing" });
      for (const one of [new Webhook(secret), new Webhook(json.secret)]) {
        const answer = await send(one, `msg_${Math.random()}`.replace(".", ""), Date.now());
        assert.equal(answer.status, 200, answer.text);
        answers(new Webhook(secret), answer);
        answers(new Webhook(json.secret), answer);
      }
    },
  );
}

/** Deliveries that a dead server had claimed are free after two minutes: done when it is asked for. */
export async function patience() {
  const server = await new Server().start();
  const there = await receiver();
  await check("what is cut off by a kill is sent again, under the same id", async () => {
    const { json } = await server.ask("PUT", "/v1/sinks/ops", { kind: "webhook", url: there.url });
    there.statuses.push(NEVER);
    await server.ask("POST", "/v1/sinks/ops/test", {});
    await until("the first try", () => there.requests.length === 1);
    await server.restart();
    const { headers, body } = await until("the second try", () => there.requests[1], 300000);
    assert.equal(headers["webhook-id"], there.requests[0].headers["webhook-id"]);
    new Webhook(json.secret).verify(body, headers);
  });
  await server.end("SIGKILL");
}
