// SPDX-License-Identifier: Apache-2.0
// EventSource clients of others follow runs while the server is killed again and again, or are too
// slow: nobody misses an event, and nobody gets one twice.
import assert from "node:assert/strict";
import http from "node:http";
import { EventSource } from "eventsource";
import { createEventSource } from "eventsource-client";
import { createParser } from "eventsource-parser";
import { EventSourceParserStream } from "eventsource-parser/stream";
import { Server, at_end, check, nothing, rondo, run, until } from "./support.mjs";

const KILLS = 3;

/** What a client took: ids and events; `problem` at the first gap or double. */
class Taken {
  constructor() {
    this.ids = [];
    this.events = [];
    this.opened = 0;
  }

  take(id, data) {
    this.ids.push(Number(id));
    this.events.push(JSON.parse(data));
  }

  get last() {
    return this.ids.at(-1) ?? 0;
  }

  /** Exactly these events, in this order, under these ids. */
  must_be(events, id_of) {
    const wanted = events.map(id_of);
    const doubles = this.ids.filter((id, i) => this.ids.indexOf(id) !== i);
    assert.deepEqual(doubles, [], "doubles");
    assert.deepEqual(
      wanted.filter((id) => !this.ids.includes(id)),
      [],
      "gaps",
    );
    assert.deepEqual(this.ids, wanted, "order");
    assert.deepEqual(this.events, events, "the events are those of the pages");
  }
}

/** eventsource: what a browser has. */
function by_eventsource(url, types) {
  const taken = new Taken();
  const source = new EventSource(url);
  source.addEventListener("open", () => taken.opened++);
  for (const type of types) {
    source.addEventListener(type, (event) => taken.take(event.lastEventId, event.data));
  }
  taken.source = source;
  at_end(() => source.close());
  return taken;
}

/** eventsource-client. */
function by_client(url) {
  const taken = new Taken();
  const source = createEventSource({
    url,
    onConnect: () => taken.opened++,
    onMessage: ({ id, data }) => taken.take(id, data),
  });
  at_end(() => source.close());
  return taken;
}

/** eventsource-parser under fetch; hangs up by itself after some events, too. */
function by_parser(url, hang_up_after) {
  const taken = new Taken();
  let is_over = false;
  at_end(() => (is_over = true));
  const follow = async () => {
    const headers = { accept: "text/event-stream" };
    if (taken.last > 0) {
      headers["last-event-id"] = String(taken.last);
    }
    const cut = new AbortController();
    const answer = await fetch(url, { headers, signal: cut.signal });
    assert.equal(answer.status, 200);
    taken.opened++;
    let count = 0;
    for await (const { id, data } of answer.body
      .pipeThrough(new TextDecoderStream())
      .pipeThrough(new EventSourceParserStream())) {
      taken.take(id, data);
      if (++count === hang_up_after) {
        cut.abort();
        return;
      }
    }
  };
  (async () => {
    while (!is_over) {
      await follow().catch(() => {});
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  })();
  return taken;
}

/** A table of runs as a page keeps it by /v1/stream and /v1/runs. */
class Table {
  constructor(server) {
    this.server = server;
    this.rows = new Map();
    this.warnings = [];
    this.resets = 0;
    this.opened = 0;
    this.counts = null;
    this.loading = Promise.resolve();
    const source = new EventSource(`${server.base}/v1/stream`);
    at_end(() => source.close());
    source.addEventListener("open", () => {
      this.opened++;
      // Only the first time: from then on the server says when.
      this.opened === 1 && this.#load();
    });
    source.addEventListener("runs", ({ data }) => {
      const { runs } = JSON.parse(data);
      this.loading = this.loading.then(() => runs.forEach((row) => this.rows.set(row.run_id, row)));
    });
    source.addEventListener("reset", () => {
      this.resets++;
      this.#load();
    });
    source.addEventListener("counts", ({ data }) => (this.counts = JSON.parse(data)));
    source.addEventListener("warning", ({ data }) => this.warnings.push(JSON.parse(data)));
  }

  /** Each coming back is told by a reset, which may come later than the head of the answer. */
  is_back() {
    return this.resets === this.opened - 1;
  }

  #load() {
    this.loading = this.loading
      .then(async () => {
        const { runs } = await this.server.get("/v1/runs?limit=500");
        runs.forEach((row) => this.rows.set(row.run_id, row));
      })
      .catch(() => {});
  }
}

/** Runs that go on while the server is killed. */
async function storm() {
  const server = await new Server().start();
  const runs = [
    await server.run(nothing(100000, 40)),
    await server.run(nothing(100000, 25, { agent_id: "other" })),
  ];
  const everything = `${server.base}/v1/events?after=0`;
  const one = `${server.base}/v1/runs/${runs[0]}/events`;
  const types = [
    ...new Set((await server.get("/v1/events")).events.map(({ type }) => type)),
    "iteration.started",
    "iteration.finished",
    "iteration.interrupted",
    "verification.started",
    "verification.finished",
    "condition.evaluated",
    "limit.warning",
    "checkpoint.saved",
    "run.claimed",
    "run.options",
    "gate.denied",
    "run.stop_requested",
    "run.finished",
  ];
  const clients = {
    "eventsource, a run": [by_eventsource(one, new Set(types)), "seq"],
    "eventsource, all runs": [by_eventsource(everything, new Set(types)), "position"],
    "eventsource-client, a run": [by_client(one), "seq"],
    "eventsource-client, all runs": [by_client(everything), "position"],
    "eventsource-parser, a run": [by_parser(one, 23), "seq"],
    "eventsource-parser, all runs": [by_parser(everything, 41), "position"],
  };
  const table = new Table(server);
  const goes_on = async () => {
    const before = clients["eventsource-client, all runs"][0].last;
    await until("more events", () => clients["eventsource-client, all runs"][0].last > before + 40);
  };
  for (let kill = 1; kill <= KILLS; kill++) {
    await goes_on();
    const opened = () => [...Object.values(clients).map(([taken]) => taken.opened), table.opened];
    await until(
      () => `everybody is back: ${opened()}, the table with ${table.resets} resets`,
      () => opened().every((count) => count >= kill) && table.is_back(),
    );
    await server.restart();
  }
  await goes_on();
  for (const id of runs) {
    await server.ask("POST", `/v1/runs/${id}/stop`, {});
    await server.has_ended(id);
  }
  return { server, runs, clients, table };
}

/** Two streams on which nothing happens. They take their time beside the rest. */
async function heartbeats() {
  const server = await new Server().start();
  const id = await server.run(nothing(1, 0));
  await server.has_ended(id);
  await check("streams on which nothing happens have heartbeats, which are no events", async () => {
    const taken = by_client(`${server.base}/v1/runs/${id}/events`);
    const { length } = await server.events(id);
    await until("its events", () => taken.ids.length === length);
    const readers = ["/v1/stream", "/v1/events"].map((where) => new Reader(server.base + where));
    await until("heartbeats", () => readers.every(({ comments }) => comments > 0), 120000);
    readers.forEach(({ request }) => request.destroy());
    assert.equal(taken.ids.length, length);
    assert.equal(taken.opened, 1, "it is still the first connection");
  });
  await server.end("SIGKILL");
}

export async function streams() {
  await Promise.all([heartbeats(), kills()]);
}

async function kills() {
  const { server, runs, clients, table } = await storm();
  const all = await server.events();
  const own = await server.events(runs[0]);
  await check(`the server was killed ${KILLS} times while runs went on`, async () => {
    const claims = own.filter(({ type }) => type === "run.claimed");
    assert.equal(claims.length, KILLS + 1);
    assert.deepEqual(
      own.map(({ seq }) => seq),
      own.map((_, i) => i + 1),
    );
  });
  for (const [name, [taken, key]] of Object.entries(clients)) {
    await check(`${name}: no gap and no double through ${KILLS} kills`, async () => {
      const wanted = key === "seq" ? own : all;
      await until(
        () => `${taken.last} of ${wanted.at(-1)[key]}`,
        () => taken.last >= wanted.at(-1)[key],
      );
      assert.ok(taken.opened > KILLS, `connected ${taken.opened} times`);
      taken.must_be(wanted, (event) => event[key]);
    });
  }
  await check("/v1/stream: the table is that of /v1/runs after each kill", async () => {
    await until(
      () => `the table ${JSON.stringify([...table.rows.values()])}`,
      async () => {
        await table.loading;
        const { runs: rows, counts } = await server.get("/v1/runs?limit=500");
        for (const row of rows) {
          assert.deepEqual(table.rows.get(row.run_id), row);
        }
        assert.deepEqual(table.counts, counts);
        return table.is_back();
      },
    );
    assert.ok(table.resets >= KILLS, `told ${table.resets} times to load the list again`);
  });
  await check("/v1/stream: a warning is told at most once", async () => {
    const ids = table.warnings.map(({ id }) => id);
    assert.deepEqual([...new Set(ids)], ids);
  });
  await from_now(server);
  await slow_reader(server);
  await drained(server);
}

/** A stream that begins at now and has had no event yet is not blind for what happens while it is away. */
async function from_now(server) {
  await check(
    "a stream from now on misses nothing of the time in which the server was away",
    async () => {
      const last = (await server.events()).at(-1).position;
      let ids = [];
      let opened = 0;
      let last_id = null;
      // What browsers do, and the package does not: an id without data counts, too.
      const follow = async () => {
        const headers = {
          accept: "text/event-stream",
          ...(last_id === null ? {} : { "last-event-id": last_id }),
        };
        const answer = await fetch(`${server.base}/v1/events`, { headers });
        opened++;
        let rest = "";
        for await (const piece of answer.body.pipeThrough(new TextDecoderStream())) {
          const blocks = (rest + piece).split("\n\n");
          rest = blocks.pop();
          for (const block of blocks) {
            last_id = /^id: (.*)$/m.exec(block)?.[1] ?? last_id;
            ids = /^data:/m.test(block) ? [...ids, Number(last_id)] : ids;
          }
        }
      };
      let is_over = false;
      at_end(() => (is_over = true));
      (async () => {
        while (!is_over) {
          await follow().catch(() => {});
          await new Promise((resolve) => setTimeout(resolve, 50));
        }
      })();
      await until("the stream", () => opened === 1);
      await until("its greeting", () => last_id !== null);
      await server.end("SIGKILL");
      const args = [
        "loop",
        "--store",
        server.store,
        "--sandbox",
        "none",
        "-u",
        "yes=true",
        "-n",
        "1",
        "-q",
        "--",
        "/bin/sh",
        "-c",
        "exit 0",
      ];
      const { code, out } = await run(rondo, args, { cwd: server.folder, env: server.env });
      assert.equal(code, 0, out);
      await server.start();
      const missed = (await server.events())
        .map(({ position }) => position)
        .filter((position) => position > last);
      assert.ok(missed.length > 0);
      await until(
        () => `${ids} of ${missed}`,
        () => ids.at(-1) >= missed.at(-1),
        5000,
      );
      is_over = true;
      assert.deepEqual(ids, missed);
    },
  );
}

/** A stream that can be left unread. */
class Reader {
  constructor(url, last) {
    this.ids = [];
    this.comments = 0;
    const parser = createParser({
      onEvent: ({ id }) => this.ids.push(Number(id)),
      onComment: () => this.comments++,
    });
    const headers = {
      accept: "text/event-stream",
      ...(last === undefined ? {} : { "last-event-id": last }),
    };
    this.request = http.get(url, { headers, agent: false }, (answer) => {
      this.answer = answer
        .setEncoding("utf8")
        .on("data", (text) => parser.feed(text))
        .on("error", () => {});
    });
    this.request.on("error", () => {});
  }
}

/** A run with some kilobytes of output in each event: what sockets hold is soon full. */
function talker(times) {
  const fill =
    "i=0; while [ $i -lt 400 ]; do echo 0123456789012345678901234567890123456789; i=$((i+1)); done";
  return nothing(times, 0, { command: ["/bin/sh", "-c", fill], agent_id: "talker" });
}

/** Reads all that a reader has not had yet, and holds it against the run. */
async function comes_back(server, first, where, wanted) {
  const second = new Reader(server.base + where, first.ids.at(-1));
  await until(
    () => `${second.ids.length + first.ids.length} of ${wanted.length}`,
    () => second.ids.at(-1) >= wanted.length,
  );
  second.request.destroy();
  assert.deepEqual([...first.ids, ...second.ids], wanted);
}

async function slow_reader(server) {
  await check(
    "a reader that stops reading holds nobody up, and misses nothing when it is back",
    async () => {
      const id = await server.run(talker(150));
      const where = `/v1/runs/${id}/events`;
      const first = new Reader(server.base + where);
      await until("its first events", () => first.ids.length > 3);
      first.answer.pause();
      const quick = by_client(server.base + where);
      await server.has_ended(id);
      const wanted = (await server.events(id)).map(({ seq }) => seq);
      await until(
        () => `others are not held up: ${quick.last} of ${wanted.length}`,
        () => quick.last >= wanted.length,
      );
      assert.ok(first.ids.length < wanted.length, "the slow one is behind");
      first.request.destroy();
      await comes_back(server, first, where, wanted);
      assert.deepEqual(quick.ids, wanted);
    },
  );
}

/** Takes a minute, so it is done when it is asked for. */
export async function patience() {
  const server = await new Server().start();
  await check(
    "a reader that stops reading is cut off, and misses nothing when it is back",
    async () => {
      const id = await server.run(talker(250));
      const where = `/v1/runs/${id}/events`;
      const reader = new Reader(server.base + where);
      await until("its first events", () => reader.ids.length > 3);
      reader.answer.pause();
      await server.has_ended(id);
      assert.equal((await server.get("/v1/health")).streams, 1);
      await until(
        "it is cut off",
        async () => (await server.get("/v1/health")).streams === 0,
        150000,
      );
      reader.answer.resume();
      await until(
        "it is told",
        () => reader.answer.errored !== null || reader.answer.closed || reader.answer.complete,
      );
      const wanted = (await server.events(id)).map(({ seq }) => seq);
      assert.ok(reader.ids.length < wanted.length, "it is behind");
      await comes_back(server, reader, where, wanted);
    },
  );
  await server.end("SIGKILL");
}

async function drained(server) {
  await check("a server that ends in order lets EventSource come back", async () => {
    const id = await server.run(nothing(100, 50, { agent_id: "drained" }));
    const taken = by_client(`${server.base}/v1/runs/${id}/events`);
    const source = new EventSource(`${server.base}/v1/events?after=0`);
    at_end(() => source.close());
    await until("events", () => taken.last > 10);
    await server.end("SIGTERM");
    await server.start();
    await until("the run goes on", () =>
      taken.events.some(({ type }, i) => type === "run.claimed" && i > 5),
    );
    assert.notEqual(
      source.readyState,
      EventSource.CLOSED,
      "a status but 200 would have ended it for good",
    );
    await server.ask("POST", `/v1/runs/${id}/stop`, {});
    await server.has_ended(id);
    const wanted = await server.events(id);
    await until("the rest", () => taken.last >= wanted.length);
    taken.must_be(wanted, ({ seq }) => seq);
  });
  await server.end("SIGKILL");
}
