// SPDX-License-Identifier: Apache-2.0
// The model clients against official SDKs, their types, a mock server and a gateway. Called by
// run.py with the path of models_ask; prints a line of TAP for each case and "N passed, N failed".
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { spawn } from "node:child_process";
import assert from "node:assert/strict";
import fs from "node:fs";
import http from "node:http";
import net from "node:net";
import os from "node:os";
import path from "node:path";
import { anthropic, openai } from "./replies.mjs";
import { freePort } from "../support/port.mjs";

const ask_path = process.argv[2];
const here = import.meta.dirname;
const modules = path.join(here, "node_modules");
const children = [];
let passed = 0;
let failed = 0;

async function check(name, body) {
  try {
    await body();
    passed++;
    console.log(`ok ${passed + failed} - ${name}`);
  } catch (error) {
    failed++;
    console.log(
      `not ok ${passed + failed} - ${name}\n${String(error.stack ?? error).replace(/^/gm, "    ")}`,
    );
  }
}

/** Run a command to its end. */
function run(command, args, options = {}) {
  return new Promise((resolve) => {
    const child = spawn(command, args, {
      ...options,
      stdio: ["ignore", "pipe", "pipe"],
      timeout: 600_000,
    });
    let out = "";
    let err = "";
    child.stdout.on("data", (data) => (out += data));
    child.stderr.on("data", (data) => (err += data));
    child.on("close", (code) => resolve({ code, out, err }));
  });
}

/** Start a server that stays; wait until its port answers. */
async function start(script, args, env, port) {
  const child = spawn(process.execPath, [script, ...args], {
    env: { ...process.env, ...env },
    stdio: "ignore",
  });
  children.push(child);
  for (let i = 0; i < 1200; i++) {
    const is_up = await new Promise((resolve) => {
      const socket = net.connect(port, "127.0.0.1", () => resolve(socket.destroy() && true));
      socket.on("error", () => resolve(false));
    });
    if (is_up) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`${script} does not listen on ${port}`);
}

/** Our client's replies in a conversation. */
async function ask(provider, model, url, form, text = "Weather in Zürich?") {
  const result = await run(ask_path, [provider, model, url, form, text], {
    env: { PATH: process.env.PATH },
  });
  assert.equal(result.code, 0, result.err);
  return result.out
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
}

/* --- a server that says the replies of replies.mjs; the model's name chooses one --- */

const bodies = { openai: [], anthropic: [] };

function say(response, reply, dialect, is_stream) {
  if (!is_stream) {
    response
      .writeHead(200, { "content-type": "application/json" })
      .end(JSON.stringify(reply.whole));
    return;
  }
  response.writeHead(200, { "content-type": "text/event-stream" });
  for (const event of reply.events) {
    const name = dialect === "anthropic" ? `event: ${event.type}\n` : "";
    response.write(`${name}data: ${JSON.stringify(event)}\n\n`);
  }
  response.end(dialect === "openai" ? "data: [DONE]\n\n" : "");
}

function read(request) {
  return new Promise((resolve) => {
    let text = "";
    request
      .setEncoding("utf8")
      .on("data", (data) => (text += data))
      .on("end", () => resolve(text));
  });
}

/** After answers of tools comes the text. */
function has_answers(body) {
  const last = body.messages.at(-1);
  return (
    last.role === "tool" ||
    (Array.isArray(last.content) && last.content.some((b) => b.type === "tool_result"))
  );
}

const server = http.createServer(async (request, response) => {
  const body = JSON.parse(await read(request));
  const dialect = request.url.endsWith("/messages") ? "anthropic" : "openai";
  const replies = dialect === "anthropic" ? anthropic : openai;
  bodies[dialect].push({ body, headers: request.headers });
  say(
    response,
    has_answers(body) ? replies.text : replies[body.model],
    dialect,
    body.stream === true,
  );
});
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const url = `http://127.0.0.1:${server.address().port}`;

/* --- what the SDKs read --- */

const openai_stops = {
  stop: "end",
  length: "length",
  tool_calls: "tools",
  content_filter: "filtered",
};

async function openai_reads(model, is_stream) {
  const client = new OpenAI({ apiKey: "x", baseURL: `${url}/v1`, maxRetries: 0 });
  const params = { model, messages: [{ role: "user", content: "x" }] };
  let completion;
  if (is_stream) {
    /* finalChatCompletion() throws where the model was cut off; the snapshot is the same. */
    const stream = client.chat.completions.stream({
      ...params,
      stream_options: { include_usage: true },
    });
    for await (const chunk of stream) void chunk;
    completion = stream.currentChatCompletionSnapshot ?? (await stream.finalChatCompletion());
  } else {
    completion = await client.chat.completions.create(params);
  }
  const { message, finish_reason } = completion.choices[0];
  return {
    text: (message.content ?? "") + (message.refusal ?? ""),
    calls: (message.tool_calls ?? []).map((c) => ({ id: c.id, ...pick(c.function) })),
    stop: message.refusal ? "refused" : openai_stops[finish_reason],
    input: completion.usage.prompt_tokens,
    output: completion.usage.completion_tokens,
    cached: completion.usage.prompt_tokens_details.cached_tokens,
    reasoning: completion.usage.completion_tokens_details.reasoning_tokens,
  };
}

const pick = ({ name, arguments: text }) => ({ name, arguments: text });

const anthropic_stops = {
  end_turn: "end",
  pause_turn: "end",
  max_tokens: "length",
  tool_use: "tools",
  refusal: "refused",
};

async function anthropic_reads(model, is_stream) {
  const client = new Anthropic({ apiKey: "x", baseURL: url, maxRetries: 0 });
  const params = { model, max_tokens: 9, messages: [{ role: "user", content: "x" }] };
  const message = is_stream
    ? await client.messages.stream(params).finalMessage()
    : await client.messages.create(params);
  const of = (type) => message.content.filter((block) => block.type === type);
  const { usage } = message;
  return {
    text: of("text")
      .map((block) => block.text)
      .join(""),
    thinking: of("thinking")
      .map((block) => block.thinking)
      .join(""),
    calls: of("tool_use").map(({ id, name, input }) => ({ id, name, arguments: input })),
    stop: anthropic_stops[message.stop_reason],
    input: usage.input_tokens + usage.cache_read_input_tokens + usage.cache_creation_input_tokens,
    output: usage.output_tokens,
    cached: usage.cache_read_input_tokens,
  };
}

const subset = (object, like) =>
  Object.fromEntries(Object.keys(like).map((key) => [key, object[key]]));

for (const form of ["whole", "stream"]) {
  for (const model of Object.keys(openai)) {
    await check(`openai, ${form}, ${model}: read as the official SDK reads it`, async () => {
      const theirs = await openai_reads(model, form === "stream");
      const [ours] = await ask("local", model, `${url}/v1`, form);
      assert.deepEqual(subset(ours, theirs), theirs);
    });
  }
  for (const model of Object.keys(anthropic)) {
    await check(`anthropic, ${form}, ${model}: read as the official SDK reads it`, async () => {
      const theirs = await anthropic_reads(model, form === "stream");
      const [ours] = await ask("anthropic", model, url, form);
      ours.calls.forEach((call) => (call.arguments = JSON.parse(call.arguments || "{}")));
      assert.deepEqual(subset(ours, theirs), theirs);
    });
  }
}

/* --- conversations, and their requests by the SDKs' types --- */

bodies.openai.length = bodies.anthropic.length = 0;
const typed = [];

for (const [provider, form] of [
  ["local", "whole"],
  ["local", "stream"],
  ["openai", "stream"],
]) {
  await check(`openai, ${form}: a conversation of provider ${provider} with tools`, async () => {
    bodies.openai.length = 0;
    const replies = await ask(provider, "calls", `${url}/v1`, form);
    assert.deepEqual(
      replies.map((reply) => reply.stop),
      ["tools", "end"],
    );
    assert.equal(bodies.openai.length, 2);
    bodies.openai.forEach(({ body }) => typed.push({ dialect: "openai", body }));
  });
}
for (const form of ["whole", "stream"]) {
  await check(
    `anthropic, ${form}: a conversation with tools; thinking goes back as it came`,
    async () => {
      bodies.anthropic.length = 0;
      const replies = await ask("anthropic", "calls", url, form);
      assert.deepEqual(
        replies.map((reply) => reply.stop),
        ["tools", "end"],
      );
      const { body, headers } = bodies.anthropic[1];
      assert.equal(headers["anthropic-version"], "2023-06-01");
      assert.deepEqual(body.messages[1].content, anthropic.calls.whole.content);
      assert.deepEqual(
        body.messages.map((message) => message.role),
        ["user", "assistant", "user"],
      );
      bodies.anthropic.forEach(({ body }) => typed.push({ dialect: "anthropic", body }));
    },
  );
}

const types = {
  openai: ["openai/resources/chat/completions", "ChatCompletionCreateParams"],
  anthropic: ["@anthropic-ai/sdk/resources/messages", "MessageCreateParams"],
};

/**
 * `temperature` is gone from the newest types of Anthropic, while older models still take it; the
 * client sends it to those only.
 */
function without_temperature({ dialect, body }) {
  const { temperature, ...rest } = body;
  return dialect === "anthropic" ? { dialect, body: rest } : { dialect, body };
}

/** Compile requests as literals of the SDK's types, which also refuses unknown members. */
async function compile(requests) {
  const folder = fs.mkdtempSync(path.join(here, "node_modules", ".rondo-types-"));
  const lines = Object.entries(types).map(
    ([dialect, [module, type]]) => `import type { ${type} as ${dialect} } from "${module}";`,
  );
  requests.map(without_temperature).forEach(({ dialect, body }, i) => {
    const kind = body.stream === true ? "Streaming" : "NonStreaming";
    lines.push(`import type { ${types[dialect][1]}${kind} as T${i} } from "${types[dialect][0]}";`);
    lines.push(`export const request${i}: T${i} = ${JSON.stringify(body)};`);
  });
  const file = path.join(folder, "requests.ts");
  fs.writeFileSync(file, lines.join("\n"));
  const tsc = path.join(modules, "typescript/bin/tsc");
  const options = [
    "--noEmit",
    "--strict",
    "--skipLibCheck",
    "--target",
    "es2022",
    "--module",
    "nodenext",
  ];
  const result = await run(process.execPath, [tsc, ...options, file]);
  fs.rmSync(folder, { recursive: true });
  return result;
}

await check(`${typed.length} requests are what the SDKs' types allow`, async () => {
  const result = await compile(typed);
  assert.equal(result.code, 0, result.out);
});

for (const { dialect, body } of [typed[0], typed.at(-1)]) {
  await check(
    `${dialect}: the types refuse a wrong role, a wrong type and an unknown member`,
    async () => {
      const wrong = [
        { ...body, messages: [{ ...body.messages[0], role: "robot" }] },
        { ...body, max_tokens: "many" },
        { ...body, max_token: 5 },
      ];
      for (const one of wrong) {
        assert.notEqual((await compile([{ dialect, body: one }])).code, 0);
      }
    },
  );
}

/* --- a mock server of somebody else --- */

const mock_port = await freePort();
await start(
  path.join(modules, "@dwmkerr/mock-llm/dist/main.js"),
  [],
  { PORT: `${mock_port}` },
  mock_port,
);
for (const form of ["whole", "stream"]) {
  await check(`mock-llm, ${form}: says what the user said`, async () => {
    const [reply] = await ask(
      "local",
      "gpt-4",
      `http://127.0.0.1:${mock_port}/v1`,
      form,
      "Echo this, ü",
    );
    assert.equal(reply.failure, "ok", reply.message);
    assert.equal(reply.text, "Echo this, ü");
    assert.equal(reply.stop, "end");
  });
}

/* --- a gateway that translates OpenAI's dialect into Anthropic's --- */

const gateway_port = await freePort();
const gateway = path.join(modules, "@portkey-ai/gateway/build/start-server.js");
await start(
  gateway,
  [`--port=${gateway_port}`, "--headless"],
  { TRUSTED_CUSTOM_HOSTS: "127.0.0.1,localhost" },
  gateway_port,
);
const front = http.createServer(async (request, response) => {
  const headers = {
    "content-type": "application/json",
    authorization: "Bearer x",
    "x-portkey-provider": "anthropic",
    "x-portkey-custom-host": `${url}/v1`,
  };
  const body = await read(request);
  const reply = await fetch(`http://127.0.0.1:${gateway_port}/v1/chat/completions`, {
    method: "POST",
    headers,
    body,
  });
  response.writeHead(reply.status, { "content-type": reply.headers.get("content-type") });
  response.end(Buffer.from(await reply.arrayBuffer()));
});
await new Promise((resolve) => front.listen(0, "127.0.0.1", resolve));
const front_url = `http://127.0.0.1:${front.address().port}/v1`;

/** Messages without what one of the two ways adds: thinking, cache marks, texts as lists, and one
 * message for each answer. */
function plain(messages) {
  const list = [];
  for (const message of simple(messages)) {
    if (list.at(-1)?.role === message.role) list.at(-1).content.push(...message.content);
    else list.push(message);
  }
  return list;
}

function simple(messages) {
  return messages.map(({ role, content }) => ({
    role,
    content: (typeof content === "string" ? [{ type: "text", text: content }] : content)
      .filter((block) => !block.type.endsWith("thinking"))
      .map(({ cache_control, ...block }) => block)
      .map((block) =>
        block.type !== "tool_result" || typeof block.content === "string"
          ? block
          : { ...block, content: block.content.map((part) => part.text).join("") },
      ),
  }));
}

/* Its streams end with an error of its own under this version of node. */
for (const form of ["whole"]) {
  await check(`gateway, ${form}: both of our dialects are the same to Anthropic`, async () => {
    bodies.anthropic.length = 0;
    const through = await ask("local", "calls", front_url, form);
    const translated = bodies.anthropic.at(-1).body;
    const direct = await ask("anthropic", "calls", url, form);
    const own = bodies.anthropic.at(-1).body;
    assert.deepEqual(
      through.map((reply) => reply.stop),
      ["tools", "end"],
      JSON.stringify(through),
    );
    assert.deepEqual(
      through.map((reply) => reply.text),
      direct.map((reply) => reply.text),
    );
    const meaning = (calls) =>
      calls.map((call) => [call.id, call.name, JSON.parse(call.arguments || "{}")]);
    assert.deepEqual(meaning(through[0].calls), meaning(direct[0].calls));
    assert.deepEqual(plain(translated.messages), plain(own.messages));
    assert.deepEqual(
      translated.tools.map((tool) => tool.name),
      own.tools.map((tool) => tool.name),
    );
  });
}

children.forEach((child) => child.kill("SIGKILL"));
front.close();
server.close();
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
