// SPDX-License-Identifier: Apache-2.0
// Steps of those who want more of a server than they may have.
'use strict';

const { Given, Then, When } = require('@cucumber/cucumber');
const assert = require('node:assert/strict');
const crypto = require('node:crypto');
const fs = require('node:fs');
const http = require('node:http');
const net = require('node:net');
const os = require('node:os');
const { answersOf, exchange, proxy, request, silentProxy } = require('../support/raw');
const { Follower } = require('../support/events');

const scopes = ['none', 'read', 'operate', 'administer'];
const unknownRun = '01900000-0000-7000-8000-000000000000';
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

// ---- What there is ----

function portOf(world) {
  return Number(new URL(world.base).port);
}

// A token by a name, made once: of the command line, so that it needs no server.
function token(world, name, ...options) {
  world.tokens ??= {};
  if (world.tokens[name] === undefined) {
    const { code, stdout, stderr } = world.ask('token', 'create', name, ...options);
    assert.equal(code, 0, stderr);
    [world.tokens[name]] = /rondo_\S+/.exec(stdout);
  }
  return world.tokens[name];
}

function administer(world) {
  return { authorization: `Bearer ${token(world, 'chief', '--scope', 'administer')}` };
}

// What an attack must leave as it is.
function stateOf(world) {
  const words = [['runs', '--json'], ['sinks', 'list', '--json'], ['policy', 'history', '--json']];
  return JSON.stringify([...words.map((one) => world.ask(...one).stdout), fs.readdirSync(world.project).sort()]);
}

function remember(world) {
  world.before ??= stateOf(world);
}

Then('nothing has changed', function () {
  assert.equal(stateOf(this), this.before);
});

Given('a run of the agent {string}', function (agent) {
  const { code, stderr } = this.ask('loop', '-q', '--agent', agent, '--max-iterations', '1', '--', 'true');
  assert.equal(code, 5, stderr);
  this.runId = JSON.parse(this.ask('runs', '--json').stdout.split('\n')[0]).run_id;
  remember(this);
});

// Every operation of the description that the server gives: { method, path, scope, id }.
async function operations(world) {
  const { json } = await request(world.base, 'GET', '/v1/openapi.json');
  const values = { run: world.runId ?? unknownRun, number: '1', name: 'hook', id: 'none', asset: 'app.js' };
  const all = Object.entries(json.paths).flatMap(([pattern, item]) => (
    Object.entries(item).filter(([, { operationId }]) => operationId !== undefined).map(([method, operation]) => ({
      id: operation.operationId,
      pattern,
      method: method.toUpperCase(),
      path: pattern.replace(/\{(\w+)\}/g, (_, name) => values[name]),
      scope: scopes.indexOf(operation['x-rondo-scope'] ?? 'none'),
    }))));
  assert.ok(all.length > 35 && all.every(({ path, scope }) => !path.includes('undefined') && scope >= 0));
  return all;
}

// Call some operations. Bodies are objects without a member: whoever gets so far is told what is missing.
async function callAll(world, chosen, headers, check) {
  remember(world);
  for (const operation of chosen) {
    const hasBody = operation.method === 'POST' || operation.method === 'PUT';
    const sent = hasBody ? { ...headers, 'content-type': 'application/json' } : headers;
    const answer = await request(world.base, operation.method, operation.path, { headers: sent, body: hasBody ? '{}' : undefined });
    check(answer, `${operation.method} ${operation.path}: ${answer.status} ${answer.text.slice(0, 300)}`, operation);
  }
}

function isProblem(answer, what, status, code) {
  assert.deepEqual([answer.status, answer.json?.code], [status, code], what);
  assert.equal(answer.headers['content-type'], 'application/problem+json', what);
}

// "Name: value" with what stands for $NAME.
function header(world, text) {
  const chief = token(world, 'chief', '--scope', 'administer');
  const values = {
    $WRONG: 'A'.repeat(43),
    $SHORTENED: chief.slice(0, -1),
    $CHANGED: chief.slice(0, -1) + (chief.endsWith('A') ? 'E' : 'A'),
    $DIGEST: crypto.createHash('sha256').update(chief).digest('hex'),
    $ADMINISTER: chief,
    $PORT: String(portOf(world)),
    $HOSTNAME: os.hostname(),
  };
  const filled = Object.entries(values).reduce((all, [name, value]) => all.replaceAll(name, value), text);
  const at = filled.indexOf(':');
  return { [filled.slice(0, at).toLowerCase()]: filled.slice(at + 1).trim() };
}

// ---- Tokens ----

async function guarded(world) {
  return (await operations(world)).filter(({ scope }) => scope > 0);
}

Then('every operation that is not public answers {int} {string} to', async function (status, code, table) {
  const chosen = await guarded(this);
  for (const [name, text] of table.raw()) {
    await callAll(this, chosen, text === '' ? {} : header(this, text), (answer, what) => {
      isProblem(answer, `${name}: ${what}`, status, code);
      assert.match(answer.headers['www-authenticate'], /^Bearer/);
    });
  }
});

Then('every operation that is not public answers {int} {string} to it', async function (status, code) {
  const headers = { authorization: `Bearer ${this.held}` };
  await callAll(this, await guarded(this), headers, (answer, what) => isProblem(answer, what, status, code));
});

Then('every operation that is not public answers {string} to two tokens at once', async function (code) {
  const chief = token(this, 'chief', '--scope', 'administer');
  const headers = ['authorization', `Bearer rondo_${'A'.repeat(43)}`, 'authorization', `Bearer ${chief}`];
  for (const { method, path } of await guarded(this)) {
    const lines = `${headers[0]}: ${headers[1]}\r\n${headers[2]}: ${headers[3]}\r\n`;
    const bytes = `${method} ${path} HTTP/1.1\r\nHost: localhost\r\n${lines}Connection: close\r\nContent-Length: 0\r\n\r\n`;
    const [answer] = answersOf((await exchange(portOf(this), bytes)).text);
    assert.deepEqual([answer.status, JSON.parse(answer.body).code], [400, code], path);
  }
});

When('the token {string} of {int} second is over', async function (name, seconds) {
  this.held = token(this, name, '--scope', 'administer', '--expires', `${seconds}s`);
  const headers = { authorization: `Bearer ${this.held}` };
  await this.until('the end of the token', async () => (
    (await request(this.base, 'GET', '/v1/me', { headers })).status === 401));
});

When('the token {string} is revoked', async function (name) {
  this.held = token(this, name, '--scope', 'administer');
  const headers = { authorization: `Bearer ${this.held}` };
  assert.equal((await request(this.base, 'GET', '/v1/me', { headers })).status, 200);
  assert.equal(this.ask('token', 'revoke', name).code, 0);
});

When('I have a token of the scope {string}', function (scope) {
  this.heldScope = scopes.indexOf(scope);
  this.held = token(this, scope, '--scope', scope);
});

When('I have a token of the scope {string} for the agent {string}', function (scope, agent) {
  this.heldScope = scopes.indexOf(scope);
  this.held = token(this, agent, '--scope', scope, '--agent', agent);
  this.created = this.held;
});

Then('every operation of a larger scope answers {int} {string}', async function (status, code) {
  const chosen = (await operations(this)).filter(({ scope }) => scope > this.heldScope);
  assert.ok(chosen.length > 5);
  const headers = { authorization: `Bearer ${this.held}` };
  await callAll(this, chosen, headers, (answer, what) => isProblem(answer, what, status, code));
});

Then('every operation of its scope or a smaller one answers something else', async function () {
  // But not those that would change the run: they are there for their own scenarios.
  const chosen = (await operations(this)).filter(({ scope, id }) => (
    scope > 0 && scope <= this.heldScope && !/^(resume|fork|continue|stop|pause|change)/.test(id)));
  const headers = { authorization: `Bearer ${this.held}` };
  await callAll(this, chosen, headers, (answer, what) => assert.ok(![401, 403].includes(answer.status), what));
});

Then('every operation on that run answers {int}, as for a run that does not exist', async function (status) {
  const chosen = (await operations(this)).filter(({ pattern }) => pattern.includes('{run}'));
  assert.ok(chosen.length > 10);
  const headers = { authorization: `Bearer ${this.held}` };
  const texts = new Map();
  const without = (text, id) => text.replaceAll(id, 'RUN');
  await callAll(this, chosen, headers, (answer, what, { method, pattern }) => {
    isProblem(answer, what, status, 'not_found');
    texts.set(method + pattern, without(answer.text, this.runId));
  });
  const others = chosen.map((one) => ({ ...one, path: one.path.replace(this.runId, unknownRun) }));
  await callAll(this, others, headers, (answer, what, { method, pattern }) => {
    assert.equal(without(answer.text, unknownRun), texts.get(method + pattern), what);
  });
});

Then('no list or stream has anything of the agent {string}', async function (agent) {
  const headers = { authorization: `Bearer ${this.held}` };
  for (const path of ['/v1/runs', `/v1/runs?agent=${agent}`, '/v1/events?after=0', `/v1/events?after=0&agent=${agent}`, '/v1/warnings', '/v1/health']) {
    const { status, text } = await request(this.base, 'GET', path, { headers });
    assert.ok(status === 200 || (status === 403 && path.includes('agent=')), `${path}: ${text}`);
    assert.ok(!text.includes(this.runId) && !text.includes(`"${agent}"`), `${path}: ${text}`);
  }
  for (const path of ['/v1/events?after=0', '/v1/stream?after=0']) {
    const reader = new Follower(this.base + path, headers);
    await reader.begin();
    assert.equal(this.ask('loop', '-q', '--agent', agent, '--max-iterations', '1', '--', 'true').code, 5);
    assert.equal(this.ask('loop', '-q', '--agent', 'other', '--max-iterations', '1', '--', 'true').code, 5);
    await this.until('the own run', () => reader.events.some(({ data }) => JSON.stringify(data).includes('"other"')));
    await reader.end();
    assert.ok(!JSON.stringify(reader.events).includes(`"${agent}"`), JSON.stringify(reader.events));
  }
});

Then('everything of the whole server answers {int} {string}', async function (status, code) {
  const headers = { authorization: `Bearer ${this.held}` };
  const chosen = (await operations(this)).filter(({ pattern }) => /policies|sinks|deliveries|tokens|metrics/.test(pattern));
  assert.ok(chosen.length > 10);
  await callAll(this, chosen, headers, (answer, what) => isProblem(answer, what, status, code));
});

Then('no public operation has the words {string}, {string} or the run\'s id', async function (one, other) {
  const chosen = (await operations(this)).filter(({ scope, id }) => scope === 0 && !/Asset|Dashboard|Description/.test(id));
  await callAll(this, chosen, {}, (answer, what) => {
    assert.ok([one, other, this.runId, this.project].every((word) => !answer.text.includes(word)), what);
  });
});

Then('going on with that run is refused with {int} {string} on every way', async function (status, code) {
  const headers = { authorization: `Bearer ${this.held}`, 'content-type': 'application/json' };
  const [run] = (await request(this.base, 'GET', '/v1/runs', { headers })).json.runs;
  for (const way of ['resume', 'continue', 'checkpoints/1/fork']) {
    const path = `/v1/runs/${run.run_id}/${way}`;
    isProblem(await request(this.base, 'POST', path, { headers, body: '{}' }), way, status, code);
  }
});

Then('the worker ran once', function () {
  assert.equal(this.read('bodies'), 'ran\n');
});

// ---- Proxies and names ----

Given('a {word} proxy of the same user in front of it', async function (style) {
  this.front = style === 'silent' ? await silentProxy(portOf(this)) : await proxy(portOf(this), style);
  this.cleanups.push(() => { this.front.closeAllConnections(); this.front.close(); });
});

async function keep(world, base, path, options) {
  const answer = await request(base, 'GET', path, options);
  world.answer = { ...answer, headers: new Headers(answer.headers) };
}

When('I ask the proxy for {string}', function (path) {
  return keep(this, `http://127.0.0.1:${this.front.address().port}`, path, { headers: { host: 'rondo.example.org' } })
    .then(async () => {
      // A server without --host does not know that name: so a proxy that keeps it is of no use to anybody.
      if (this.answer.status !== 421) return;
      await keep(this, `http://127.0.0.1:${this.front.address().port}`, path);
    });
});

When('I ask the server itself for {string}', function (path) {
  return keep(this, this.base, path);
});

Then('it has said so once', function () {
  assert.equal(this.server.stderr.split('through a proxy').length, 2, this.server.stderr);
});

Then('under the machine\'s own addresses it answers {int} without a token and {int} with one', async function (without, withOne) {
  const addresses = Object.values(os.networkInterfaces()).flat()
    .filter(({ family, internal }) => family === 'IPv4' && !internal).map(({ address }) => address);
  const headers = administer(this);
  for (const address of addresses) {
    const base = `http://${address}:${portOf(this)}`;
    assert.equal((await request(base, 'GET', '/v1/me')).status, without, base);
    assert.equal((await request(base, 'GET', '/v1/me', { headers })).status, withOne, base);
  }
  if (addresses.length === 0) this.log('this machine has no address but the loopback');
});

Then('under these names it answers {int} with a token', async function (status, table) {
  for (const [name] of table.raw()) {
    const headers = { ...administer(this), ...header(this, `Host: ${name}`) };
    const answer = await request(this.base, 'GET', '/v1/me', { headers });
    assert.equal(answer.status, status, `${name}: ${answer.text}`);
  }
});

// ---- Pages of other sites ----

async function everyOperation(world, chosen, status, code, table) {
  for (const [name, text] of table.raw()) {
    await callAll(world, chosen, header(world, text), (answer, what) => {
      isProblem(answer, `${name}: ${what}`, status, code);
      for (const key of Object.keys(answer.headers)) assert.ok(!key.startsWith('access-control'), what);
    });
  }
}

Then('every operation answers {int} {string} to', async function (status, code, table) {
  await everyOperation(this, await operations(this), status, code, table);
});

Then('every operation below {string} answers {int} {string} to', async function (top, status, code, table) {
  const chosen = (await operations(this)).filter(({ path }) => path.startsWith(`${top}/`));
  await everyOperation(this, chosen, status, code, table);
});

Then('no answer allows another origin to read it', async function () {
  const chosen = (await operations(this)).filter(({ method, path }) => method === 'GET' && !path.endsWith('events'));
  await callAll(this, chosen, {}, (answer, what) => {
    assert.equal(answer.headers['cross-origin-resource-policy'], 'same-origin', what);
    for (const key of Object.keys(answer.headers)) assert.ok(!key.startsWith('access-control'), what);
  });
});

When('I post to {string} as {string}', async function (path, type, body) {
  remember(this);
  const headers = type === 'nothing' ? {} : { 'content-type': type };
  const answer = await request(this.base, 'POST', path, { headers: { ...headers, 'content-length': body.length }, body });
  this.answer = { ...answer, headers: new Headers(answer.headers) };
});

// ---- What is asked for ----

Then('none of these paths gives a file', async function (table) {
  for (const [path] of table.raw()) {
    const bytes = `GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`;
    const { text } = await exchange(portOf(this), bytes);
    const [{ status, body }] = answersOf(text);
    assert.ok(status === 404 || status === 400, `${path}: ${text}`);
    assert.ok(!/the-secret|root:|SQLite/.test(body), `${path}: ${text}`);
  }
});

const chunk = `10000\r\n${'x'.repeat(65536)}\r\n`;
const broken = {
  'one byte more than 1 MiB': ['length', ' '.repeat(1024 * 1024 + 1)],
  '4 GiB announced': ['head', 'Content-Length: 4294967296'],
  '20 digits of length': ['head', 'Content-Length: 99999999999999999999'],
  'chunks that never end': ['chunks', chunk.repeat(40)],
  'half an object': ['length', '{"command": ["true"'],
  '100000 brackets': ['length', `{"command": ${'['.repeat(100000)}`],
  'a member twice': ['length', '{"agent_id": "a", "agent_id": "b", "command": ["true"]}'],
  'bytes that are no UTF-8': ['length', '{"command": ["true"], "agent_id": "\xc3\x28"}'],
  'a NUL': ['length', '{"command": ["true"], \x00"agent_id": "a"}'],
  'a list': ['length', '[{"command": ["true"]}]'],
  'a number of 1000 digits': ['length', `{"command": ["true"], "agent_id": "a", "max_iterations": ${'9'.repeat(1000)}}`],
  'two objects': ['length', '{"command": ["true"], "agent_id": "a"}{}'],
  'a comment': ['length', '{"command": ["true"], "agent_id": "a" /* b */}'],
  'a bare word': ['length', '{"command": ["true"], "agent_id": NaN}'],
};

function bodyBytes([kind, text]) {
  const head = 'POST /v1/runs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nConnection: close\r\n';
  if (kind === 'head') return Buffer.from(`${head}${text}\r\n\r\n`);
  if (kind === 'chunks') return Buffer.from(`${head}Transfer-Encoding: chunked\r\n\r\n${text}`);
  return Buffer.from(`${head}Content-Length: ${text.length}\r\n\r\n${text}`, 'latin1');
}

Then('these bodies are refused', async function (table) {
  remember(this);
  for (const [name, statuses, code] of table.raw()) {
    const { text } = await exchange(portOf(this), bodyBytes(broken[name]), { silence: 5000 });
    const [answer] = answersOf(text);
    const isOurs = answer?.body.startsWith('{'); // else it is the library's own answer
    assert.equal(String(answer?.status), statuses, `${name}: ${text}`);
    assert.equal(isOurs ? JSON.parse(answer.body).code : '', code, `${name}: ${text}`);
  }
});

Then('the server answers {string}', async function (path) {
  assert.equal((await request(this.base, 'GET', path)).status, 200);
});

// ---- Slow clients ----

When('{int} clients send a byte of their request every {int} ms', function (count, ms) {
  const bytes = `GET /v1/runs HTTP/1.1\r\nHost: localhost\r\nX-Slow: ${'z'.repeat(4000)}`;
  this.slow = Array.from({ length: count }, () => {
    const client = { begun: Date.now(), text: '' };
    const socket = net.connect(portOf(this), '127.0.0.1');
    let at = 0;
    const timer = setInterval(() => { socket.write(bytes[at]); at += 1; }, ms);
    const end = () => { clearInterval(timer); client.end ??= Date.now(); };
    socket.on('data', (part) => { client.text += part; }).on('close', end).on('error', end);
    this.cleanups.push(() => { clearInterval(timer); socket.destroy(); });
    return client;
  });
});

When('{int} clients connect and say nothing', async function (count) {
  for (let i = 0; i < count; i += 1) {
    const socket = net.connect(portOf(this), '127.0.0.1');
    socket.on('error', () => {});
    this.cleanups.push(() => socket.destroy());
    await new Promise((resolve) => { socket.on('connect', resolve); });
  }
});

Then('{string} is answered within {int} ms all the while', async function (path, ms) {
  for (let i = 0; i < 20; i += 1) {
    const begun = Date.now();
    assert.equal((await request(this.base, 'GET', path)).status, 200);
    assert.ok(Date.now() - begun < ms, `${Date.now() - begun} ms`);
    await pause(200);
  }
  assert.ok(this.slow.every(({ end }) => end === undefined), 'they had their time still');
});

Then('each of them is cut off within {int} seconds', async function (seconds) {
  await this.until('the end of the slow ones', () => this.slow.every(({ end }) => end !== undefined));
  for (const { begun, end, text } of this.slow) {
    assert.ok(end - begun < seconds * 1000, `${end - begun} ms`);
    assert.ok(text === '' || text.startsWith('HTTP/1.1 408 '), text);
  }
});

Then('{string} is answered again within {int} seconds', async function (path, seconds) {
  const ask = () => request(this.base, 'GET', path).then(({ status }) => status, () => 0);
  const first = await ask();
  assert.ok(first === 503 || first === 0, String(first));
  await this.until(path, async () => (await ask()) === 200, seconds * 1000);
});

// ---- Bytes ----

// A cell of a table: \r, \n, \xNN, and $HOST for the header of that name.
function bytesOf(cell) {
  const text = cell.replaceAll('$HOST', 'Host: localhost').replaceAll('\\r', '\r').replaceAll('\\n', '\n').replaceAll('\r\n', '\r\n');
  return Buffer.from(text.replace(/\\x(..)/g, (_, digits) => String.fromCharCode(parseInt(digits, 16))), 'latin1');
}

Then('no answer has a header {string} or a status of its own for', async function (name, table) {
  for (const [path] of table.raw()) {
    const bytes = `GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`;
    const { text } = await exchange(portOf(this), bytes);
    const answers = answersOf(text);
    assert.equal(answers.length, 1, `${path}: ${text}`);
    assert.ok(!(name.toLowerCase() in answers[0].headers), `${path}: ${text}`);
    assert.equal(text.split('\r\nHTTP/').length, 1, text);
  }
});

Then('nothing that I followed is {string}', function (type) {
  for (const event of this.reader.events) {
    assert.notEqual(event.type, type);
    assert.equal(event.type, event.data.type);
  }
});

Then('each of these is refused, and what follows it is not read as a request', async function (table) {
  remember(this);
  for (const [name, cell] of table.raw()) {
    const next = Buffer.from('GET /v1/me HTTP/1.1\r\nHost: localhost\r\n\r\n');
    const { text, isEnded } = await exchange(portOf(this), Buffer.concat([bytesOf(cell), next]), { silence: 12000 });
    const answers = answersOf(text);
    assert.ok(isEnded, `${name}: ${text}`);
    assert.equal(answers.length, 1, `${name}: ${text}`);
    assert.ok([400, 413, 501].includes(answers[0].status), `${name}: ${text}`);
    assert.ok(!text.includes('is_local'), `${name}: ${text}`);
  }
});

Then('these get no more than a refusal', async function (table) {
  remember(this);
  for (const [name, cell] of table.raw()) {
    const { text } = await exchange(portOf(this), bytesOf(cell), { silence: 1500 });
    for (const { status, headers } of answersOf(text)) {
      assert.ok(status >= 400 && status < 600, `${name}: ${text}`);
      assert.ok(!Object.keys(headers).some((key) => key.startsWith('access-control')), `${name}: ${text}`);
    }
    assert.ok(!/X-Echo|is_local/.test(text), `${name}: ${text}`);
    assert.equal((await request(this.base, 'GET', '/healthz')).status, 200, name);
  }
});

// ---- What comes out ----

Given('the server\'s environment has secrets', function () {
  this.secrets = ['sk-environment-4711', 'hunter2-of-the-environment', 'whsec_bm90LWEtc2VjcmV0'];
  Object.assign(this.env, { OPENAI_API_KEY: this.secrets[0], DATABASE_PASSWORD: this.secrets[1], WEBHOOK_SECRET: this.secrets[2] });
});

Given('a sink with a secret in its address', async function () {
  this.secrets.push('T0000-B0000-slack');
  const url = `https://127.0.0.1:1/services/${this.secrets[3]}`;
  const { status, text, json } = await request(this.base, 'PUT', '/v1/sinks/hook', {
    headers: { ...administer(this), 'content-type': 'application/json' },
    body: JSON.stringify({ kind: 'webhook', url }),
  });
  assert.ok(status === 201 || status === 200, text);
  this.secrets.push(json.secret); // told once, here
});

When('a run was started with a token', async function () {
  const operator = `Bearer ${token(this, 'operator', '--scope', 'operate')}`;
  const headers = { authorization: operator, 'content-type': 'application/json' };
  const body = JSON.stringify({
    command: ['./worker.sh'], agent_id: 'quiet', max_iterations: 1, sandbox: 'namespace',
  });
  const { status, text, json } = await request(this.base, 'POST', '/v1/runs', { headers, body });
  assert.equal(status, 201, text);
  this.runId = json.run_id;
  // The steps of other scenarios ask without a token.
  const { base } = this;
  this.front = http.createServer((incoming, outgoing) => {
    request(base, incoming.method, incoming.url, { headers: administer(this) }).then((answer) => {
      outgoing.writeHead(answer.status, { 'content-type': 'application/json' }).end(answer.text);
    });
  });
  await new Promise((resolve) => { this.front.listen(0, '127.0.0.1', resolve); });
  this.cleanups.push(() => this.front.close());
  this.real = base;
  this.base = `http://127.0.0.1:${this.front.address().port}`;
});

Then('no page, answer, event, error or line of the log has a secret', async function () {
  this.base = this.real;
  const chief = token(this, 'chief');
  const texts = [this.server.stderr, this.server.stdout, this.ask('logs', '--json', 'last').stdout];
  for (const headers of [{}, administer(this), { authorization: `Bearer ${chief}x` }]) {
    const chosen = (await operations(this)).filter(({ method }) => method === 'GET' || method === 'POST');
    await callAll(this, chosen, headers, (answer) => texts.push(JSON.stringify(answer.headers) + answer.text));
  }
  const reader = new Follower(`${this.base}/v1/events?after=0`, administer(this));
  await reader.begin();
  await this.until('events', () => reader.events.length > 5);
  await reader.end();
  texts.push(JSON.stringify(reader.events));
  const secrets = [...this.secrets, chief, chief.slice(6)];
  for (const secret of secrets) {
    assert.ok(secret?.length > 10);
    for (const text of texts) assert.ok(!text.includes(secret), text.slice(0, 2000));
  }
});

Then('the store does not have the tokens', function () {
  const chief = token(this, 'chief');
  const folder = this.path('.rondo');
  for (const name of fs.readdirSync(folder).filter((one) => fs.statSync(`${folder}/${one}`).isFile())) {
    assert.ok(!fs.readFileSync(`${folder}/${name}`).includes(chief.slice(6)), name);
  }
});

Then('the worker in its sandbox did not see the server\'s secrets', function () {
  const seen = this.read('environment');
  assert.ok(seen.includes('RONDO_ITERATION'));
  for (const secret of this.secrets) assert.ok(!seen.includes(secret), seen);
});

const safety = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'x-frame-options': 'DENY',
  'cross-origin-resource-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
};

function isSafe(headers, what) {
  for (const [name, value] of Object.entries(safety)) assert.equal(headers[name], value, `${name} of ${what}`);
  const policy = headers['content-security-policy'];
  assert.ok(policy.includes("default-src 'none'") && policy.includes("frame-ancestors 'none'"), what);
  assert.ok(!/unsafe|\*|https?:/.test(policy), policy);
  assert.ok(headers['cache-control'] === 'no-store' || /immutable|no-cache/.test(headers['cache-control']), `${headers['cache-control']} of ${what}`);
  assert.ok(!('server' in headers) && !('set-cookie' in headers), what);
}

Then('every answer of every operation has the headers of safety', async function () {
  const all = await operations(this);
  for (const headers of [{}, administer(this)]) {
    const chosen = headers.authorization === undefined ? all : all.filter(({ method }) => method === 'GET');
    await callAll(this, chosen, headers, (answer, what) => isSafe(answer.headers, what));
  }
});

Then('so have the answers with 400, 401, 404, 405, 408, 413, 415, 421, 422, 431 and 501', async function () {
  const bearer = `Authorization: Bearer ${token(this, 'chief')}`;
  const post = `POST /v1/runs HTTP/1.1\r\nHost: localhost\r\n${bearer}\r\n`;
  const cases = {
    400: `${post}Content-Length: 1\r\nContent-Length: 1\r\n\r\nx`,
    401: 'GET /v1/me HTTP/1.1\r\nHost: localhost\r\n\r\n',
    404: 'GET /nowhere HTTP/1.1\r\nHost: localhost\r\n\r\n',
    405: 'DELETE /v1/runs HTTP/1.1\r\nHost: localhost\r\n\r\n',
    408: 'GET /v1/runs HTTP/1.1\r\nHost: localhost\r\nX-Slow: ',
    413: `${post}Content-Length: 9999999\r\n\r\n`,
    415: `${post}Content-Length: 2\r\n\r\n{}`,
    421: 'GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n',
    422: `${post}Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}`,
    431: `GET / HTTP/1.1\r\nHost: localhost\r\n${'A: b\r\n'.repeat(101)}\r\n`,
    501: `${post}Transfer-Encoding: gzip\r\n\r\n`,
  };
  for (const [status, bytes] of Object.entries(cases)) {
    const { text } = await exchange(portOf(this), bytes, { silence: status === '408' ? 14000 : 700 });
    const [answer] = answersOf(text);
    assert.equal(String(answer?.status), status, text);
    assert.equal(answer.headers['content-type'], 'application/problem+json', text);
    isSafe(answer.headers, text);
  }
});

// libmicrohttpd refuses some heads before anybody here sees them, with a page of its own.
Then('what the library answers by itself is a fixed text without anything of the request', async function () {
  const marks = ['<script>alert(1)</script>', 'mark-4711'];
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
    for (const { status, body, headers } of answersOf(text)) {
      assert.ok(status >= 400, text);
      if (headers['content-type'] !== 'application/problem+json') {
        assert.ok(body.length < 1000 && !/script|on\w+=|href|src/i.test(body), text);
      }
    }
  }
});

// ---- Rates, and who did what ----

function askAtOnce(world, count, headersOf) {
  return Promise.all(Array.from({ length: count }, (_, i) => (
    request(world.base, 'GET', '/v1/me', { headers: headersOf(i) }))));
}

When('a token asks {int} times at once', async function (count) {
  token(this, 'calm');
  const headers = { authorization: `Bearer ${token(this, 'eager')}` };
  this.answers = await askAtOnce(this, count, () => headers);
});

When('somebody tries {int} tokens', async function (count) {
  token(this, 'calm');
  this.answers = await askAtOnce(this, count, (i) => ({ authorization: `Bearer rondo_${String(i).padStart(43, 'A')}` }));
});

function limited(world, code) {
  const some = world.answers.filter(({ status }) => status === 429);
  for (const answer of some) {
    assert.equal(answer.json.code, code);
    assert.ok(Number(answer.headers['retry-after']) >= 1);
  }
  return some.length;
}

Then('some of its requests are answered {int} {string} with {string}', function (_status, code, _header) {
  const count = limited(this, code);
  assert.ok(count >= 10 && count < this.answers.length, String(count));
});

Then('most of these are answered {int} {string}', function (_status, code) {
  const count = limited(this, code);
  assert.ok(count > this.answers.length / 2, String(count));
  assert.ok(this.answers.every(({ status }) => status === 401 || status === 429));
});

Then(/^(?:the other|a right) token is answered 200(?: all the same)?$/, async function () {
  const headers = { authorization: `Bearer ${token(this, 'calm')}` };
  assert.equal((await request(this.base, 'GET', '/v1/me', { headers })).status, 200);
});

When('a run is started, paused, continued, limited and stopped by the tokens {string}, {string}, {string}, {string} and {string}', async function (one, two, three, four, five) {
  const names = [one, two, three, four, five];
  const post = async (name, path, body) => {
    const headers = {
      authorization: `Bearer ${token(this, name, '--scope', 'administer')}`, 'content-type': 'application/json',
    };
    const { status, text, json } = await request(this.base, 'POST', path, { headers, body: JSON.stringify(body) });
    assert.ok(status >= 200 && status < 300, `${path}: ${text}`);
    return json;
  };
  const status = async () => (await request(this.base, 'GET', `/v1/runs/${this.runId}`)).json.status;
  const start = { command: ['./worker.sh'], agent_id: 'audited', max_iterations: 100000 };
  this.runId = (await post(names[0], '/v1/runs', start)).run_id;
  await post(names[1], `/v1/runs/${this.runId}/pause`, {});
  await this.until('a pause', async () => (await status()) === 'paused');
  await post(names[2], `/v1/runs/${this.runId}/continue`, {});
  await this.until('that it goes on', async () => (await status()) === 'running');
  await post(names[3], `/v1/runs/${this.runId}/limits`, { max_iterations: 200000 });
  await this.until('the limit', () => this.ask('logs', '--json', 'last').stdout.includes('200000'));
  await post(names[4], `/v1/runs/${this.runId}/stop`, { reason: 'enough' });
  await this.until('the end', async () => (await status()) === 'cancelled');
});

Then('the journal and the log name {string}, {string}, {string}, {string} and {string}', function (one, two, three, four, five) {
  const events = this.ask('logs', '--json', 'last').stdout.trim().split('\n').map((line) => JSON.parse(line));
  const seen = events.map(({ type, data }) => `${type} ${data.by ?? ''}`);
  const wanted = [[one, /^run\.created/], [two, /^run\.paused/], [three, /^run\.continued/], [four, /^run\.options/], [five, /^run\.stop_requested/]];
  for (const [name, type] of wanted) {
    assert.ok(seen.some((text) => type.test(text) && text.includes(name)), `${name} in\n${seen.join('\n')}`);
  }
  for (const [name, path] of [[one, '/v1/runs'], [two, '/pause'], [three, '/continue'], [four, '/limits'], [five, '/stop']]) {
    const lines = this.server.stderr.split('\n');
    assert.ok(lines.some((line) => line.includes(`audit: ${name} from 127.0.0.1:`) && line.includes(`${path} -> 20`)), lines.join('\n'));
  }
});

Given('a server whose stderr is a full pipe that nobody reads', async function () {
  this.server = this.start('mkfifo log; exec rondo serve --listen unix:rondo.sock 2<>log', 'server');
  this.change = () => new Promise((resolve, reject) => {
    const sent = http.request({
      socketPath: this.path('rondo.sock'), path: '/v1/sinks/hook', method: 'PUT', agent: false, timeout: 20000,
      headers: { host: 'localhost', 'content-type': 'application/json' },
    }, (answer) => answer.resume().on('end', () => resolve(answer.statusCode)));
    sent.on('error', reject).on('timeout', () => sent.destroy(new Error('no answer')));
    sent.end(JSON.stringify({ kind: 'webhook', url: 'https://ops.example.org' }));
  });
  await this.until('the server', () => this.change().then((status) => status === 201, () => false));
  this.log_ = fs.openSync(this.path('log'), fs.constants.O_RDWR | fs.constants.O_NONBLOCK);
  this.cleanups.push(() => fs.closeSync(this.log_));
  const fill = (size) => {
    try { for (;;) fs.writeSync(this.log_, Buffer.alloc(size, '.')); } catch (error) { assert.equal(error.code, 'EAGAIN'); }
  };
  fill(4096);
  fill(1);
});

Then('{int} changing requests are all answered', async function (count) {
  for (let i = 0; i < count; i += 1) assert.equal(await this.change(), 200);
});

When('somebody reads the pipe again', function () {
  const bytes = Buffer.alloc(1 << 20);
  assert.ok(fs.readSync(this.log_, bytes) > 4096);
});

Then('a changing request says how many lines were lost', async function () {
  assert.equal(await this.change(), 200);
  const bytes = Buffer.alloc(65536);
  const text = bytes.toString('utf8', 0, fs.readSync(this.log_, bytes));
  assert.match(text, /audit: 200 lines before this one were lost\nrondo: audit: local user .* -> 200\n/);
});
