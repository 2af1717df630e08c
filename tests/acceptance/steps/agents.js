// SPDX-License-Identifier: Apache-2.0
// Steps about agents of role files: a model server that says what a scenario wants, servers that
// agents reach, and what the model was sent.
'use strict';

const { Given, Then, When } = require('@cucumber/cucumber');
const assert = require('node:assert/strict');
const { spawn } = require('node:child_process');
const fs = require('node:fs');
const http = require('node:http');
const path = require('node:path');
const { events, find, lines } = require('./journal');
const { build, root } = require('./world');

// ---- The model ----

// Start the mock model server, once in a scenario, and make it the provider `openai`.
async function serve(world) {
  if (world.model !== undefined) return world.model;
  const keep = path.join(world.top, 'requests');
  fs.mkdirSync(keep);
  const child = spawn(path.join(build, 'bench/mock_model'), ['--keep-bodies', keep, '--die-with-parent'],
    { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = new Promise((resolve) => { child.on('close', resolve); });
  world.cleanups.push(() => { child.kill(); return ended; });
  const port = await new Promise((resolve, reject) => {
    child.on('error', reject);
    child.stdout.once('data', (text) => resolve(Number(/\d+/.exec(String(text))[0])));
  });
  world.model = { child, address: `http://127.0.0.1:${port}`, keep };
  world.env.OPENAI_BASE_URL = `${world.model.address}/c/c/v1`;
  world.env.OPENAI_API_KEY = 'sk-acceptance-0123456789';
  world.env.ANTHROPIC_BASE_URL = `${world.model.address}/c/c`;
  world.env.ANTHROPIC_API_KEY = 'sk-acceptance-0123456789';
  world.values.$BASE = world.env.OPENAI_BASE_URL;
  return world.model;
}

async function setScript(world, text) {
  const model = await serve(world);
  const reply = await fetch(`${model.address}/c/c/script`, { method: 'PUT', body: JSON.stringify(text) });
  assert.equal(reply.status, 200, await reply.text());
}

async function stats(world) {
  return (await fetch(`${world.model.address}/c/c/stats`)).json();
}

// "think {"thought": "a"} & finish_task {"summary": "b"}"
function callsOf(cell) {
  return cell.split(/ & (?=[a-z_]+ )/).filter((one) => one !== '').map((one) => {
    const [, name, text] = /^(\w+) ?(.*)$/s.exec(one);
    if (text === '') return { name, arguments: {} };
    try {
      return { name, arguments: JSON.parse(text) };
    } catch {
      return { name, arguments: text };
    }
  });
}

// "429 after 1", "500", "stall", "malformed": what happens first instead of the answer
function faultsOf(cell) {
  return cell.split(', ').filter((one) => one !== '').map((one) => {
    const [, what, seconds] = /^(\w+)(?: after (\d+))?$/.exec(one);
    if (!/^\d+$/.test(what)) return { kind: what };
    return { kind: 'status', status: Number(what), ...(seconds && { retry_after: seconds }) };
  });
}

function turnsOf(table) {
  return table.hashes().flatMap(({ says = '', calls = '', tokens = '', faults = '', times = '1' }) => {
    const [input, output] = tokens.split('/').map(Number);
    const turn = {
      ...(says !== '' && { text: JSON.parse(`"${says}"`) }),
      calls: callsOf(calls),
      ...(tokens !== '' && { usage: { input, output } }),
      faults: faultsOf(faults),
    };
    return Array.from({ length: Number(times) }, () => turn);
  });
}

Given('a model that answers', async function (table) {
  await setScript(this, { turns: turnsOf(table), turns_by: 'count', after: 'error' });
});

// For runs that are cut off: turns are told by the history, so that a repeated request gets the same.
Given('a model that calls {string} with {} in {int} iterations', async function (tool, json, iterations) {
  await setScript(this, { loop: { iterations, tool, arguments: JSON.parse(json) } });
});


Given('a model that calls {string} with {} in {int} iterations, and hangs in turn {int}', async function (tool, json, iterations, turn) {
  const loop = { iterations, tool, arguments: JSON.parse(json) };
  await setScript(this, { loop, faults: { [turn]: [{ kind: 'stall_headers' }] } });
});

Given('the variable {string} is {string}', function (name, value) {
  this.env[name] = value;
});

Given('the variable {string} is not set', function (name) {
  delete this.env[name];
});

// ---- Roles ----

const head = `apiVersion: initrunner/v1
kind: Agent
metadata:
  name: worker
spec:
  role: You do what you are told.
`;
const model = `  model:
    provider: openai
    name: gpt-5-mini
`;

function indent(text) {
  return text.split('\n').map((line) => (line === '' ? '' : `  ${line}`)).join('\n');
}

Given('a role', function () {
  this.write('role.yaml', `${head}${model}`);
});

function writeRole(world, text) {
  world.write('role.yaml', `${head}${/^model:/m.test(text) ? '' : model}${indent(text)}\n`);
}

// Put in what stands for addresses that are known late.
function fill(world, template) {
  return Object.entries(world.values).reduce((text, [name, value]) => text.replaceAll(name, value), template);
}

Given('a role with', function (text) {
  writeRole(this, text);
});

Given('a file {string} that names servers, with', function (name, text) {
  this.write(name, `${fill(this, text)}\n`);
});

Given('a role that names servers, with', function (text) {
  writeRole(this, fill(this, text));
});

Given('the role {string} of InitRunner, unchanged', function (name) {
  const file = path.join(root, `../shared/data/initrunner/roles-v1.0.0/examples/roles/${name}`);
  if (!fs.existsSync(file)) {
    this.log(`skipped: there is no ${path.relative(root, file)}`);
    return 'skipped';
  }
  fs.copyFileSync(file, this.path(name));
  return undefined;
});

const examples = path.join(root, '../shared/data/initrunner/roles-v1.0.0');

Given('the example roles of InitRunner, unchanged', async function () {
  if (!fs.existsSync(examples)) {
    this.log(`skipped: there is no ${path.relative(root, examples)}`);
    return 'skipped';
  }
  fs.cpSync(examples, this.project, { recursive: true });
  await this.run('git init -q .');
  const files = fs.readdirSync(this.project, { recursive: true }).filter((name) => name.endsWith('.yaml'));
  this.roles = files.filter((name) => /^kind: Agent$/m.test(this.read(name))).sort();
  assert.equal(this.roles.length, 40);
  return undefined;
});

When('I make a dry run of each', async function () {
  this.dryRuns = [];
  for (const role of this.roles) {
    this.dryRuns.push(await this.run(`rondo run ${role} -p 'Test the agentic loop' -a --dry-run`));
  }
});

Then('each of them is blocked after two answers without a tool call', function () {
  for (const { code, stdout, stderr, line } of this.dryRuns) {
    assert.equal(code, 4, `${line}\n${stderr}`);
    assert.match(stdout, /Status: blocked \| Iterations: 2\//);
  }
});

// ---- Servers ----

// A server that notes requests; `reply` gives status, headers and body.
async function listen(world, reply) {
  const seen = [];
  const server = http.createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (text) => { body += text; }).on('end', () => {
      const one = { method: request.method, url: request.url, headers: request.headers, body };
      seen.push(one);
      const { status = 200, text = 'ok' } = reply(one);
      response.writeHead(status, { 'Content-Type': 'text/plain' });
      response.end(text);
    });
  });
  await new Promise((resolve) => { server.listen(0, '127.0.0.1', resolve); });
  world.cleanups.push(() => new Promise((resolve) => {
    server.closeAllConnections();
    server.close(resolve);
  }));
  return { seen, port: server.address().port };
}

Given('a staging server where {string} answers {int}', async function (url, status) {
  this.staging = await listen(this, (request) => ({ status: request.url === url ? status : 404 }));
  this.values.$STAGING = `http://127.0.0.1:${this.staging.port}`;
});

Given('a Slack webhook', async function () {
  this.slack = await listen(this, () => ({ text: 'ok' }));
  this.values.$SLACK_HOST = `127.0.0.1:${this.slack.port}`;
  this.env.SLACK_WEBHOOK_URL = `http://127.0.0.1:${this.slack.port}/services/T0/B0/secret-part`;
});

// The scripts of models hold the addresses of servers, which are known late.
Given('a model that answers about those servers', async function (table) {
  const text = fill(this, JSON.stringify(turnsOf(table)));
  await setScript(this, { turns: JSON.parse(text), turns_by: 'count', after: 'error' });
});

Then('the staging server was asked for {string} {int} time(s)', function (url, count) {
  assert.equal(this.staging.seen.filter((one) => one.url === url).length, count);
});

Then('Slack got {int} message(s)', function (count) {
  assert.equal(this.slack.seen.length, count);
});

Then('Slack got a message with', function (table) {
  const got = this.slack.seen.map(({ body }) => JSON.parse(body));
  const wanted = table.rowsHash();
  const isThere = got.some((one) => Object.entries(wanted).every(([key, value]) => one[key] === value));
  assert.ok(isThere, JSON.stringify(got));
});

Given('the security scanner of the tests is at {string}', function (name) {
  fs.copyFileSync(path.join(root, 'tests/acceptance/support/scanner.js'), this.path(name));
  fs.chmodSync(this.path(name), 0o755);
  this.env.PATH = `${path.dirname(process.execPath)}:${this.env.PATH}`;
});

Given('the security scanner of the tests listens with the token {string}', async function (token) {
  const child = spawn(process.execPath, [path.join(root, 'tests/acceptance/support/scanner.js'), '--http', token],
    { cwd: this.project, stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = new Promise((resolve) => { child.on('close', resolve); });
  this.cleanups.push(() => { child.kill(); return ended; });
  const port = await new Promise((resolve, reject) => {
    child.on('error', reject);
    child.stdout.once('data', (text) => resolve(Number(text)));
  });
  this.values.$SCANNER = `http://127.0.0.1:${port}/mcp`;
});

Then('the scanner has looked {int} time(s)', function (count) {
  assert.equal(fs.existsSync(this.path('scans')) ? this.read('scans').trim().split('\n').length : 0, count);
});

Then('the scanner was started {int} time(s)', function (count) {
  assert.equal(this.read('scanner-pids').trim().split('\n').length, count);
});

// ---- What the model was sent ----

// All requests, in order: bodies with their headers.
function requests(world) {
  const folder = world.model.keep;
  return fs.readdirSync(folder).filter((name) => name.endsWith('.json')).sort().map((name) => ({
    ...JSON.parse(fs.readFileSync(path.join(folder, name), 'utf8')),
    headers: fs.readFileSync(path.join(folder, name.replace('.json', '.headers')), 'utf8'),
  }));
}

function request(world, number) {
  const all = requests(world);
  assert.ok(all.length >= number, `there were ${all.length} requests`);
  return all[number - 1];
}

function words({ content }) {
  if (Array.isArray(content)) return content.map((part) => part.text ?? '').join('');
  return content ?? '';
}

Then('the model was asked {int} time(s)', async function (count) {
  assert.equal((await stats(this)).requests, count);
});

Then('the model server has answered each turn at most once', async function () {
  const seen = await stats(this);
  assert.deepEqual([seen.repeated_turns, seen.went_back, seen.refused], [0, 0, 0], JSON.stringify(seen));
});

Then('the model server has refused nothing', async function () {
  assert.equal((await stats(this)).refused, 0);
});

Then('a repeated request had the same body and the same idempotency key', async function () {
  const repeated = (await stats(this)).turns.filter((turn) => turn.received > 1);
  assert.ok(repeated.length > 0);
  for (const turn of repeated) assert.deepEqual([turn.same_body, turn.same_key], [true, true]);
});

Then('the last message of request {int} is', function (number, text) {
  assert.equal(words(request(this, number).messages.at(-1)), text);
});

Then('the last message of request {int} mentions {string}', function (number, text) {
  const said = words(request(this, number).messages.at(-1));
  assert.ok(said.includes(text), said);
});

Then('the last message of request {int} does not mention {string}', function (number, text) {
  const said = words(request(this, number).messages.at(-1));
  assert.ok(!said.includes(text), said);
});

Then(/^request (\d+) has the messages (.+)$/, function (number, list) {
  assert.equal(request(this, Number(number)).messages.map((one) => one.role).join(', '), list);
});

Then('no request has more than {int} messages besides the system prompt', function (count) {
  const most = Math.max(...requests(this).map((one) => one.messages.length - 1));
  assert.ok(most <= count, String(most));
});

Then('the longest request has {int} messages besides the system prompt', function (count) {
  assert.equal(Math.max(...requests(this).map((one) => one.messages.length - 1)), count);
});

Then('each request begins with the system prompt and {string}', function (prompt) {
  for (const { messages } of requests(this)) {
    assert.deepEqual(messages.slice(0, 2).map((one) => one.role), ['system', 'user']);
    assert.equal(words(messages[1]), prompt);
  }
});

// A provider refuses an answer without its call, and a call without its answer.
Then('in each request every answer of a tool follows its call, and every call has its answer', function () {
  for (const { messages } of requests(this)) {
    let open = [];
    for (const message of messages) {
      if (message.role === 'tool') {
        assert.ok(open.includes(message.tool_call_id), `an answer without its call: ${message.tool_call_id}`);
        open = open.filter((id) => id !== message.tool_call_id);
      } else {
        assert.deepEqual(open, [], 'calls without answers');
        open = (message.tool_calls ?? []).map((call) => call.id);
      }
    }
    assert.deepEqual(open, []);
  }
});

Then(/^request (\d+) offers the tools (.+)$/, function (number, list) {
  const { tools = [] } = request(this, Number(number));
  assert.deepEqual(tools.map((one) => one.function.name).sort().join(', '), list);
});

Then('request {int} offers no tools', function (number) {
  assert.equal(request(this, number).tools, undefined);
});

Then(/^request (\d+) has the setting "(\w+)" (.+)$/, function (number, key, value) {
  assert.deepEqual(request(this, Number(number))[key], JSON.parse(value));
});

Then('request {int} has no setting {string}', function (number, key) {
  assert.equal(request(this, number)[key], undefined);
});

Then('request {int} has the header {string}', function (number, header) {
  const { headers } = request(this, number);
  assert.ok(headers.toLowerCase().includes(header.toLowerCase()), headers);
});

Then('the key is nowhere in what was printed or recorded', function () {
  const key = this.env.OPENAI_API_KEY;
  const logs = this.ask('logs', 'last', '--json', '--output').stdout;
  assert.ok(!`${this.last.stdout}${this.last.stderr}${logs}`.includes(key));
});

// ---- What happened ----

Then('the summary is', function (text) {
  assert.ok(this.last.stdout.includes(text), this.last.stdout);
});

Then('stdout is exactly', function (text) {
  assert.equal(this.last.stdout, `${text}\n`);
});

Then('stdout is exactly {string}', function (text) {
  assert.equal(this.last.stdout, `${text}\n`);
});

Then('the run has the status {string} after {int} iteration(s)', function (status, iterations) {
  const last = events(this).pop();
  assert.deepEqual([last.type, last.status, last.iteration], ['run.finished', status, iterations], JSON.stringify(last));
});

Then('the answer to the call of {string} in turn {int} is {string}', function (name, turn, text) {
  const [done] = find(this, 'tool.finished', { name, turn: String(turn) });
  assert.equal(done?.output, text);
});

Then(/^the call of "(\w+)" in turn (\d+) ended as (\w+), saying "(.*)"$/, function (name, turn, outcome, text) {
  const [done] = find(this, 'tool.finished', { name, turn: String(turn) });
  assert.equal(done?.outcome, outcome, JSON.stringify(done));
  assert.ok(done.output.includes(text), done.output);
});

Then(/^the call of "(\w+)" in turn (\d+) ended as (\w+)$/, function (name, turn, outcome) {
  const [done] = find(this, 'tool.finished', { name, turn: String(turn) });
  assert.equal(done?.outcome, outcome, JSON.stringify(done));
});

Then('the tool {string} was called {int} time(s)', function (name, count) {
  const made = find(this, 'tool.finished', { name }).filter(({ outcome }) => ['ok', 'error'].includes(outcome));
  assert.equal(made.length, count);
});

Then('each call of a tool has one result', function () {
  const results = find(this, 'tool.finished').map(({ turn, index }) => `${turn}/${index}`);
  assert.equal(new Set(results).size, results.length);
  const calls = find(this, 'tool.requested').map(({ turn, index }) => `${turn}/${index}`);
  assert.deepEqual([...new Set(calls)].sort(), results.sort());
});

Then('the plan of the last update is', function (table) {
  const { plan } = find(this, 'plan.updated').pop();
  const rows = plan.map(({ description, status, notes }) => [description, status, notes ?? '']);
  assert.deepEqual(rows, table.rows());
});

Then('the plan of the last update has {int} step(s)', function (count) {
  assert.equal(find(this, 'plan.updated').pop().plan.length, count);
});

Then('the run took less than {int} seconds', function (seconds) {
  assert.ok(this.last.end - this.last.begun < seconds * 1000, `${this.last.end - this.last.begun} ms`);
});

Then('the run took at least {int} milliseconds', function (ms) {
  assert.ok(this.last.end - this.last.begun >= ms, `${this.last.end - this.last.begun} ms`);
});

Then('the last line of stdout has', function (table) {
  const last = lines(this.last.stdout).pop();
  for (const [key, value] of Object.entries(table.rowsHash())) {
    const found = typeof last[key] === 'object' ? JSON.stringify(last[key]) : String(last[key]);
    assert.equal(found, value, JSON.stringify(last));
  }
});

// A line such as "role.yaml:7:5: error: spec.model.temperature: ..."
Then('a finding at {int}:{int} of {string} is an {string} about {string}', function (line, column, file, kind, field) {
  const text = this.last.stderr + this.last.stdout;
  const isSaid = text.split('\n').some((one) => one.includes(`${file}:${line}:${column}:`)
    && one.includes(kind) && one.includes(field));
  assert.ok(isSaid, text);
});

When('the model has been asked {int} time(s)', async function (count) {
  await this.until(`request ${count}`, async () => (await stats(this)).requests >= count);
});

Then('the run ended less than {int} milliseconds after its last iteration', function (ms) {
  const finished = find(this, 'iteration.finished').pop();
  const delay = new Date(events(this).pop().time) - new Date(finished.time);
  assert.ok(delay < ms, `${delay} ms`);
});

Then('the normal form has at {string}', function (field, table) {
  const whole = JSON.parse(this.last.stdout);
  const part = field.split('.').reduce((object, key) => object[key], whole.normal ?? whole);
  for (const [key, value] of table.rows().concat([table.raw()[0]])) {
    assert.equal(part[key], JSON.parse(value), key);
  }
});

Then('the file {string} holds no run', function (name) {
  if (!fs.existsSync(this.path(name))) return;
  assert.equal(this.ask('runs', '--json').stdout.trim(), '');
});

Given('a command {string} in the project', function (name, script) {
  this.write(name, `#!/bin/sh\n${script}\n`, 0o755);
});

Then('stderr or stdout does not mention {string}', function (text) {
  assert.ok(!`${this.last.stderr}${this.last.stdout}`.includes(text), this.last.stderr);
});

Then('the file {string} does not mention {string}', function (name, text) {
  assert.ok(!this.read(name).includes(text));
});

Then('the file {string} has no line twice', function (name) {
  const all = this.read(name).trim().split('\n');
  assert.equal(new Set(all).size, all.length, all.join('\n'));
});

Then('the last message of request {int} has at most {int} characters', function (number, most) {
  const { length } = words(request(this, number).messages.at(-1));
  assert.ok(length <= most, String(length));
});

Then('request {int} is not streamed', function (number) {
  assert.ok(!request(this, number).stream);
});

Then('the system prompt of request {int} mentions {string}', function (number, text) {
  const said = words(request(this, number).messages[0]);
  assert.ok(said.includes(text), said);
});

// ---- Terminals ----

// Run in a terminal of its own (script from bsdutils); `answers` are typed when a text has appeared.
async function onTerminal(world, line, answers = []) {
  const env = { ...world.env, TERM: 'xterm-256color' };
  const child = spawn('script', ['-qefc', line, '/dev/null'], { cwd: world.project, env, detached: true });
  const result = { line, pid: child.pid, child, stdout: '', stderr: '', begun: Date.now() };
  child.stdout.setEncoding('utf8').on('data', (text) => { result.stdout += text; });
  child.stderr.setEncoding('utf8').on('data', (text) => { result.stderr += text; });
  result.ended = new Promise((resolve) => {
    child.on('close', (code) => { Object.assign(result, { code, end: Date.now() }); resolve(result); });
  });
  world.children.push(result);
  for (const [when, keys] of answers) {
    await when(result);
    child.stdin.write(keys);
  }
  world.last = await world.hasEnded(result);
}

// Words on the screen, without the sequences that colour them and move the cursor.
function shown({ stdout }) {
  // eslint-disable-next-line no-control-regex
  return stdout.replaceAll(/\x1b\[[0-9;?]*[A-Za-z]/g, '');
}

When(/^I run `(.+)` on a terminal$/, async function (line) {
  await onTerminal(this, line);
});

When(/^I run `(.+)` on a terminal, and answer "(.+)" with "(.+)"$/, async function (line, question, answer) {
  const isAsked = (result) => this.until(question, () => shown(result).includes(question));
  await onTerminal(this, line, [[isAsked, `${answer}\n`]]);
});

When(/^I run `(.+)` on a terminal, and press Ctrl-C when the model has been asked$/, async function (line) {
  const isAsked = () => this.until('a request', async () => (await stats(this)).requests > 0);
  await onTerminal(this, line, [[isAsked, '\x03']]);
});

Then('the terminal shows {string}', function (text) {
  assert.ok(shown(this.last).includes(text), shown(this.last));
});

Then('the terminal got no {string}', function (text) {
  const bytes = JSON.parse(`"${text}"`);
  assert.ok(!this.last.stdout.includes(bytes), JSON.stringify(this.last.stdout));
});

// ---- Recordings ----

function answers(world) {
  return find(world, 'model.replied').map(({ turn, output, calls, tokens }) => ({
    turn, output, tokens, calls: (calls ?? []).map((call) => [call.name, call.arguments]),
  }));
}

When('the answers of the last run are kept', function () {
  this.answers = answers(this);
});

Then('the answers of the last run are the same', function () {
  assert.ok(this.answers.length > 0);
  assert.deepEqual(answers(this), this.answers);
});

When('the model server is gone, and no key is set', function () {
  this.model.child.kill();
  delete this.env.OPENAI_API_KEY;
  delete this.env.OPENAI_BASE_URL;
});

// Not the shell around it.
When('the run is killed with KILL', async function () {
  const [claimed] = find(this, 'run.claimed');
  process.kill(Number(/pid=(\d+)/.exec(claimed.owner)[1]), 'SIGKILL');
  await this.until('the end of the run', () => this.ask('runs', '--json').stdout.includes('interrupted'));
});

module.exports = { requests, setScript };
