// SPDX-License-Identifier: Apache-2.0
// Steps about PRDs: files with the line ends of other systems, and what is in a prd.json.
"use strict";

const { Given, Then } = require("@cucumber/cucumber");
const assert = require("node:assert/strict");
const fs = require("node:fs");
const http = require("node:http");
const path = require("node:path");

Given("a file {string} with a byte order mark, CRLF and", function (name, text) {
  this.write(name, `\ufeff${text.replaceAll("\n", "\r\n")}\r\n`);
});

Given("the project is a git repository with a commit", async function () {
  const who = "git config user.name 'A Person' && git config user.email person@example.com";
  const { code, stderr } = await this.run(
    `git init -q -b main . && ${who} && touch first && git add first && git commit -qm first`,
  );
  assert.equal(code, 0, stderr);
});

// A stand-in for a coding agent that reads a change. It has the prompt in $prompt and the code of
// the review in $code; `answer VERDICT FINDING` ends its session as the prompt requires.
const reviewerHead = String.raw`#!/bin/sh
prompt=$(cat)
code=$(printf '%s' "$prompt" | sed -n 's/.*"review" is the text \([0-9a-f]*\);.*/\1/p')
say() {
  printf '{"type":"result","subtype":"success","is_error":false,"result":"%s","session_id":"s-1",' "$1"
  printf '"total_cost_usd":0.25,"usage":{"input_tokens":3,"output_tokens":2}}\n'
}
answer() { say '{\"review\":\"'"$code"'\",\"verdict\":\"'"$1"'\",\"findings\":[\"'"$2"'\"]}'; }
`;

Given("a reviewer {string} that runs", function (name, script) {
  const folder = path.join(this.top, "agents");
  fs.mkdirSync(folder, { recursive: true });
  fs.writeFileSync(path.join(folder, name), `${reviewerHead}${script}\n`, { mode: 0o755 });
  if (!this.env.PATH.startsWith(folder)) this.env.PATH = `${folder}:${this.env.PATH}`;
});

// A model that finishes each review with a verdict, as a role's agent does: by a tool.
function verdictFor(request) {
  const code = /review\\" is the text ([0-9a-f]+);/.exec(request)?.[1];
  const answer = { review: code, verdict: "approve", findings: ["read by a model"] };
  const summary = `It does the task.\n${JSON.stringify(answer)}`;
  const call = { status: "completed", summary };
  return { name: "finish_task", arguments: JSON.stringify(call) };
}

Given("a model that approves each review", async function () {
  const server = http.createServer((request, response) => {
    let body = "";
    request.setEncoding("utf8").on("data", (text) => {
      body += text;
    });
    request.on("end", () => {
      const call = { index: 0, id: "c1", type: "function", function: verdictFor(body) };
      const usage = { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 };
      const one = { id: "r1", object: "chat.completion", created: 1, model: "gpt-5-mini", usage };
      const delta = { role: "assistant", content: null, tool_calls: [call] };
      if (JSON.parse(body).stream) {
        const choices = [{ index: 0, delta, finish_reason: "tool_calls" }];
        const chunk = { ...one, object: "chat.completion.chunk", choices };
        response.setHeader("content-type", "text/event-stream");
        response.end(`data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`);
      } else {
        const choices = [{ index: 0, message: delta, finish_reason: "tool_calls" }];
        response.setHeader("content-type", "application/json");
        response.end(JSON.stringify({ ...one, choices }));
      }
    });
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  this.cleanups.push(() => new Promise((resolve) => server.close(resolve)));
  this.env.OPENAI_BASE_URL = `http://127.0.0.1:${server.address().port}/v1`;
  this.env.OPENAI_API_KEY = "sk-acceptance-0123456789";
});

Given("a git hook {string}", function (name, script) {
  this.write(`.git/hooks/${name}`, `#!/bin/sh\n${script}\n`, 0o755);
});

function tasks(world, name) {
  return JSON.parse(world.read(name)).userStories;
}

function task(world, id, name) {
  const found = tasks(world, name).filter((one) => one.id === id);
  assert.equal(found.length, 1, `tasks ${id} in ${name}`);
  return found[0];
}

// A row is an id, a title, and the ids that it depends on.
Then("the tasks of {string} are", function (name, table) {
  const seen = tasks(this, name).map((one) => [
    one.id,
    one.title,
    (one.dependsOn ?? []).join(", "),
  ]);
  assert.deepEqual(seen, table.raw());
});

// Line breaks in a criterion are written as " / ".
Then("the criteria of {string} in {string} are", function (id, name, table) {
  const criteria = task(this, id, name).acceptanceCriteria;
  const seen = criteria.map((one) => [one.replaceAll("\n", " / ")]);
  assert.deepEqual(seen, table.raw());
});

Then("the derived criteria of {string} in {string} are", function (id, name, table) {
  const seen = (task(this, id, name).derivedCriteria ?? []).map((one) => [one]);
  assert.deepEqual(seen, table.raw());
});

Then("the task {string} of {string} has", function (id, name, table) {
  const found = task(this, id, name);
  const seen = table.raw().map(([key]) => [key, JSON.stringify(found[key])]);
  assert.deepEqual(seen, table.raw());
});

Then("the task {string} of {string} has no {string}", function (id, name, key) {
  assert.ok(!(key in task(this, id, name)), key);
});

Then("the head of {string} has", function (name, table) {
  const head = JSON.parse(this.read(name));
  const seen = table.raw().map(([key]) => [key, JSON.stringify(head[key])]);
  assert.deepEqual(seen, table.raw());
});

Then(
  "the metadata of {string} count {int} tasks, {int} done and {int} failed",
  function (name, total, done, failed) {
    const { metadata } = JSON.parse(this.read(name));
    const seen = [metadata.totalTasks, metadata.completedTasks, metadata.failedTasks];
    assert.deepEqual(seen, [total, done, failed]);
    assert.match(metadata.createdAt, /^\d{4}-\d\d-\d\dT/);
  },
);
