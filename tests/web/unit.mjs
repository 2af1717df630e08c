// SPDX-License-Identifier: Apache-2.0
// Parts of the dashboard that need no browser.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { eventually } from "./browser.mjs";

/** Bundles one source file for node; what only a browser has is put there by hand. */
async function load(web, name, folder) {
  const require = createRequire(join(web, "package.json"));
  const esbuild = require("esbuild");
  const out = join(folder, `${name.replace(/\W/g, "-")}.mjs`);
  await esbuild.build({
    entryPoints: [join(web, "src", name)],
    bundle: true,
    outfile: out,
    format: "esm",
    jsx: "automatic",
    jsxImportSource: "preact",
    logLevel: "error",
  });
  return import(pathToFileURL(out).href);
}

function pretendBrowser() {
  globalThis.document = { hidden: false, addEventListener() {}, removeEventListener() {} };
  globalThis.location = { hash: "" };
  globalThis.sessionStorage = { getItem: () => null, setItem() {}, removeItem() {} };
  globalThis.addEventListener = () => {};
  globalThis.removeEventListener = () => {};
}

const event = (seq, type = "note", data = {}) => ({
  seq,
  type,
  data,
  time: "2026-11-21T09:00:00.000Z",
});

const run = (n) => ({
  run_id: `run-${String(n).padStart(5, "0")}`,
  created: String(n).padStart(5, "0"),
  last_seq: 1,
  agent_id: "a",
  status: "running",
});

/** Calls of the API are answered by a function of the address. */
function answer(body) {
  globalThis.fetch = async (path) => {
    const json = await body(new URL(path, "http://localhost"));
    return {
      ok: true,
      status: 200,
      headers: new Headers(),
      json: async () => json,
      text: async () => JSON.stringify(json),
    };
  };
}

/** Start something and wait until it has come about. */
async function settled(isDone, start) {
  start();
  await eventually(async () => assert.ok(isDone()));
}

export async function unitTests(test, web, folder) {
  const { fetch } = globalThis;
  pretendBrowser();
  const { parseJson } = await load(web, "lib/json.js", folder);
  const { FrameParser, delayOf } = await load(web, "lib/sse.js", folder);
  const { RunFeed, RunLog } = await load(web, "run/feed.js", folder);
  const { RunTable } = await load(web, "runs/table.js", folder);
  const { Markdown } = await load(web, "lib/markdown.jsx", folder);
  const { diffLines, hunks } = await load(web, "lib/diff.js", folder);
  const tasks = await load(web, "lib/tasks.js", folder);
  const format = await load(web, "lib/format.js", folder);

  await test("how long until then is told roughly, and what is over is now", () => {
    const now = Date.parse("2026-11-21T09:00:00.000Z");
    const texts = [-5000, 0, 400, 59_000, 60_000, 3_600_000, 5 * 86_400_000].map((ms) =>
      format.until(new Date(now + ms).toISOString(), now),
    );
    assert.deepEqual(texts, ["now", "now", "in 1s", "in 59s", "in 1m", "in 1h", "in 5d"]);
    assert.equal(format.until("soon", now), "–");
  });

  await test("no text that a page shows turns its direction or hides a part of itself", () => {
    const dirty = {
      a: "x\u202ey\u2066\u200b\ufeff\u{e0041}\u009b31m\u2028z \u00a0\u3000é漢👍",
      list: [{ b: "\u001b[31mred\u0007\b\tend\n" }],
      n: 5,
    };
    const wanted = { a: "xy31mz \u00a0\u3000é漢👍", list: [{ b: "[31mred\tend\n" }], n: 5 };
    const raw = JSON.stringify(dirty);
    const escaped = raw.replace(
      /[\u007f-\uffff]/g,
      (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
    );
    assert.deepEqual(parseJson(raw), wanted);
    assert.deepEqual(parseJson(escaped), wanted);
    const upper = escaped.replace(/u([0-9a-f]{4})/g, (_, hex) => `u${hex.toUpperCase()}`);
    assert.deepEqual(parseJson(upper), wanted);
    assert.deepEqual(parseJson('{"a":"\\\\u202e"}'), { a: "\\u202e" });
  });

  await test("frames are the same however the stream is cut into pieces", () => {
    const text =
      ': hello\r\nretry: 10\nid: 7\nevent: note\ndata: {"a":\ndata: 1}\n\nid: 8\rdata:x\r\rdata: é\n\n';
    const whole = [];
    new FrameParser((frame) => whole.push(frame)).push(text);
    assert.deepEqual(whole[0], { id: "7", event: "note", data: '{"a":\n1}' });
    assert.equal(whole.length, 3);
    for (let size = 1; size < 12; size += 1) {
      const frames = [];
      const parser = new FrameParser((frame) => frames.push(frame));
      for (let at = 0; at < text.length; at += size) parser.push(text.slice(at, at + size));
      assert.deepEqual(frames, whole, `pieces of ${size}`);
    }
  });
  await test("the delay before a reconnect grows from 0.5 s to 30 s and no further", () => {
    const low = Array.from({ length: 12 }, (_, n) => delayOf(n, () => 0));
    const high = Array.from({ length: 12 }, (_, n) => delayOf(n, () => 1));
    assert.equal(low[0], 500);
    assert.ok(high[1] > low[1], "jitter");
    assert.ok(low.every((delay, at) => at === 0 || delay >= low[at - 1]));
    assert.equal(high[11], 30_000);
    assert.ok(high.every((delay) => delay >= 500 && delay <= 30_000));
  });
  await test("a log takes each event once, tells of gaps, and folds older ones behind", () => {
    const log = new RunLog();
    assert.equal(log.append([event(5), event(6)]), 2);
    assert.equal(log.append([event(5), event(6), event(7)]), 1);
    assert.equal(log.append([event(9)]), -1);
    log.prepend([
      event(3, "plan.updated", { plan: [1] }),
      event(4, "plan.updated", { plan: [2] }),
      event(5),
    ]);
    assert.deepEqual(
      log.events.map(({ seq }) => seq),
      [3, 4, 5, 6, 7],
    );
    assert.deepEqual(log.latest["plan.updated"].data.plan, [2]);
  });
  await test("histories of conditions keep their order when older events come last", () => {
    const log = new RunLog();
    const evaluated = (seq, status) =>
      event(seq, "condition.evaluated", { name: "tests", status, iteration: seq });
    log.append([evaluated(3, "met"), evaluated(4, "not_met")]);
    log.prepend([evaluated(1, "not_met"), evaluated(2, "met")]);
    assert.deepEqual(
      log.conditions.get("tests").map(({ seq }) => seq),
      [1, 2, 3, 4],
    );
  });
  await test("what a gap left out is fetched to the end, however short the pages are", async () => {
    const feed = new RunFeed("run");
    const pages = { 1: [[2, 3], 3], 3: [[4], 4], 4: [[5, 6], null] };
    feed.log.append([event(1)]);
    answer(({ searchParams }) => {
      const [numbers, next] = pages[searchParams.get("after")];
      return { events: numbers.map((seq) => event(seq)), next };
    });
    feed.waiting = [event(6)];
    await settled(
      () => feed.log.lastSeq === 6,
      () => feed.fill(),
    );
    assert.deepEqual(
      feed.log.events.map(({ seq }) => seq),
      [1, 2, 3, 4, 5, 6],
    );
  });
  await test("a list that is loaded anew has no hole, though more of the former one was asked for", async () => {
    const table = new RunTable();
    const all = Array.from({ length: 1200 }, (_, n) => run(n));
    let isSlow = false;
    answer(async ({ searchParams }) => {
      const at = Number(searchParams.get("cursor") ?? 0);
      const end = at + Number(searchParams.get("limit"));
      if (isSlow && at > 0) await new Promise((resolve) => setTimeout(resolve, 20));
      return {
        runs: all.slice(at, end),
        counts: {},
        next_cursor: end < all.length ? String(end) : null,
      };
    });
    const filter = { statuses: [], agent: "", q: "", sort: "created", order: "asc" };
    await table.load(filter);
    await table.more();
    isSlow = true;
    const reload = table.load(filter);
    const more = table.more();
    await Promise.all([reload, more]);
    assert.deepEqual(table.rows, all.slice(0, table.rows.length));
    const [first, second] = [table.more(), table.more()];
    assert.equal(first, second, "one page at a time");
    await table.rest();
    assert.equal(table.rows.length, all.length);
  });
  await test("whatever a model writes is shown, and soon", () => {
    const shown = (text) =>
      JSON.stringify(Markdown({ text }), (key, value) =>
        key.startsWith("__") ? undefined : value,
      );
    assert.match(shown("- one\u2028still one\n- two"), /"ul"[^]*still one[^]*two/);
    assert.match(
      shown(
        "# H\n\ntext **bold** `code`\n> said\n---\n| a | b |\n|---|---|\n| 1 | 2 |\n```\nx\n```\nend",
      ),
      /md-heading[^]*strong[^]*code[^]*blockquote[^]*hr[^]*table[^]*"pre"[^]*end/,
    );
    for (const piece of [
      "x\n\n",
      "**a ",
      "`a ``b ",
      "*a ",
      "[a",
      "> a\n\n",
      "- a\n\n",
      "|a|\n\n",
    ]) {
      const began = process.cpuUsage();
      Markdown({ text: piece.repeat(Math.floor(199_000 / piece.length)) });
      const { user } = process.cpuUsage(began); // of the processor: others may be at work, too
      assert.ok(user < 4_000_000, `text of ${JSON.stringify(piece)}`);
    }
  });
  await test("a difference leads from one text to the other", () => {
    const before = "a\nb\nc\nd\ne\nf\ng\nh";
    const after = "a\nB\nc\nd\ne\nf\nh\ni";
    const rows = diffLines(before, after);
    assert.equal(
      rows
        .filter(({ sign }) => sign !== "+")
        .map(({ text }) => text)
        .join("\n"),
      before,
    );
    assert.equal(
      rows
        .filter(({ sign }) => sign !== "-")
        .map(({ text }) => text)
        .join("\n"),
      after,
    );
    assert.equal(hunks(diffLines("x", "x")).filter(Boolean).length, 0);
  });
  await test("each task is to the right of all that it depends on", () => {
    const task = (id, depends_on = []) => ({ id, depends_on, is_removed: false });
    const { nodes, edges, layers, rows } = tasks.layout([
      task("d", ["b", "c"]),
      task("a"),
      task("b", ["a", "a", "gone", "b"]),
      task("c", ["a"]),
      { ...task("e", ["a"]), is_removed: true },
    ]);
    const places = nodes.map(({ task: { id }, layer, row }) => `${id}${layer}${row}`);
    assert.deepEqual(places, ["d20", "a00", "b10", "c11"]);
    assert.equal(edges.length, 4);
    assert.deepEqual([layers, rows], [3, 2]);
  });
  await test("tasks in a circle and a chain of thousands are laid out, too", () => {
    const chain = Array.from({ length: 5000 }, (_, at) => ({
      id: String(at),
      depends_on: at ? [String(at - 1)] : [],
      is_removed: false,
    }));
    assert.equal(tasks.layout(chain).layers, 5000);
    const circle = [
      { id: "x", depends_on: ["y"], is_removed: false },
      { id: "y", depends_on: ["x"], is_removed: false },
    ];
    assert.equal(tasks.layout(circle).nodes.length, 2);
    assert.deepEqual(tasks.layout([]), { nodes: [], edges: [], layers: 0, rows: 0 });
  });
  await test("a difference of git is read file by file, whatever lines look like", () => {
    const text =
      "diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@ f\n a\n" +
      "--- gone\n+++ new\n\\ No newline at end of file\n" +
      "diff --git a/y z b/y z\ndeleted file mode 100644\n--- a/y z\n+++ /dev/null\n@@ -1 +0,0 @@\n-y\n";
    const [x, y] = tasks.filesOfDiff(text);
    assert.deepEqual([x.name, x.added, x.removed], ["x", 1, 1]);
    assert.deepEqual(
      x.rows.map(({ sign, text: line, number }) => [sign, line, number]),
      [
        ["@", "f", null],
        [" ", "a", 1],
        ["-", "-- gone", 2],
        ["+", "++ new", 2],
      ],
    );
    assert.deepEqual([y.name, y.note, y.removed], ["y z", "deleted", 1]);
    assert.deepEqual(tasks.filesOfDiff(""), []);
    assert.deepEqual(tasks.filesOfDiff("no difference"), []);
  });
  await test("numbers keep their width at the edges of a unit", () => {
    assert.equal(format.short(999), "999");
    assert.equal(format.short(1000), "1.00k");
    assert.equal(format.short(999_960), "1.00M");
    assert.equal(format.span(0), "0 ms");
    assert.equal(format.span(0.02), "<1 ms");
    assert.equal(format.span(59_940), "59.9 s");
    assert.equal(format.span(59_960), "1 m 00 s");
    assert.equal(format.span(3_599_600), "1 h 00 m");
    assert.equal(format.money(0.0049), "$0.0049");
  });
  await test("a trimmed conversation says what the server says of it", async () => {
    const { conversation } = await load(web, "run/talk.js", folder);
    const text = "conversation trimmed: 9 messages dropped, 38 kept";
    const trimmed = { ...event(1, "history.trimmed", { value: 40, messages: 47 }), text };
    assert.equal(conversation([trimmed])[0].text, text);
  });
  await test("prettier has nothing to change in any script", () => {
    const { status, stderr } = spawnSync("npm", ["run", "format-check"], {
      cwd: new URL(".", import.meta.url),
      encoding: "utf8",
    });
    assert.equal(status, 0, stderr);
  });
  await test("no file of the dashboard names another host", () => {
    const lock = readFileSync(join(web, "package-lock.json"), "utf8");
    assert.doesNotMatch(lock, /https?:/);
    assert.doesNotMatch(
      readFileSync(join(folder, "dist/index.html"), "utf8").replace(
        "http://www.w3.org/2000/svg",
        "",
      ),
      /https?:/,
    );
  });
  globalThis.fetch = fetch; /* the other parts ask real servers */
}
