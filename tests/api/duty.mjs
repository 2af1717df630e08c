// SPDX-License-Identifier: Apache-2.0
/* Daemons on the store of a server: what agents on duty leave for the API to show. */
import assert from "node:assert/strict";
import fs from "node:fs";
import http from "node:http";
import path from "node:path";
import { freePort } from "../support/port.mjs";
import { ask, folder, rondo, start, until } from "./support.mjs";

/** Have an agent on duty schedule follow-ups. @return two that are pending */
export async function follow_ups(server) {
  const home = folder("duty");
  const role = [
    "apiVersion: initrunner/v1",
    "kind: Agent",
    "metadata: {name: checker}",
    "spec:",
    "  role: You check.",
    "  model: {provider: scripted, name: turns.jsonl}",
    "  autonomy: {}",
    "  guardrails: {daemon_daily_token_budget: 1000000}",
    "  triggers: [{type: heartbeat, file: list.md, interval_seconds: 1, autonomous: true}]",
  ];
  const later = { name: "schedule_followup", arguments: { prompt: "look", delay_seconds: 86400 } };
  const done = { name: "finish_task", arguments: { summary: "done" } };
  const turns = [[later, later], [done]].map((calls) => JSON.stringify({ tool_calls: calls }));
  fs.writeFileSync(path.join(home, "role.yaml"), `${role.join("\n")}\n`);
  fs.writeFileSync(path.join(home, "turns.jsonl"), `${turns.join("\n")}\n`);
  fs.writeFileSync(path.join(home, "list.md"), "- [ ] look\n");
  const listen = `unix:${path.join(home, "rondo.sock")}`;
  const daemon = start(
    rondo,
    ["daemon", "role.yaml", "--store", server.store, "--listen", listen],
    { cwd: home, env: server.env },
  );
  const pending = await until(
    () => `follow-ups: ${daemon.out}`,
    async () => {
      const { follow_ups: list } = await server.get("/v1/follow-ups?agent=checker");
      return list.length > 1 && list;
    },
  );
  daemon.kill("SIGKILL");
  await daemon.ended;
  return pending;
}

/** A role whose model is at `base_url`. */
const hooked = (base_url) => `apiVersion: initrunner/v1
kind: Agent
metadata:
  name: hooked
spec:
  role: You answer.
  model:
    provider: openai
    name: gpt-5-mini
    base_url: ${base_url}
  triggers:
    - type: cron
      schedule: "0 0 1 1 *"
      prompt: A happy new year.
    - type: webhook
      unsigned: true
      port: 0
      conversation: desk
`;

/**
 * A daemon whose only run waits for a model that never answers, after six events: two wait, and
 * others were dropped.
 * @return said() = what it printed, end() to be called
 */
export async function busy_daemon(server) {
  const silent = http.createServer(() => {});
  await new Promise((resolve) => silent.listen(0, "127.0.0.1", resolve));
  const base = `http://127.0.0.1:${await freePort()}`;
  const cwd = folder("hooked");
  fs.writeFileSync(
    path.join(cwd, "hooked.yaml"),
    hooked(`http://127.0.0.1:${silent.address().port}/v1`),
  );
  const daemon = start(
    rondo,
    ["daemon", "--store", server.store, "--listen", new URL(base).host].concat(
      ["--max-role-running=1", "--max-waiting=2", "--when-full=drop_oldest"],
      ["--accept-unprotected", "hooked.yaml"],
    ),
    { cwd, env: { ...server.env, OPENAI_API_KEY: "key" } },
  );
  await until(
    () => `a daemon: ${daemon.out}`,
    async () => (await fetch(`${base}/readyz`)).ok,
  );
  for (let i = 0; i < 6; i++) {
    const answer = await ask(base, "POST", "/hooks/hooked", { i });
    assert.equal(answer.status, 202, answer.text);
  }
  return {
    said: () => daemon.out,
    async end() {
      daemon.kill("SIGKILL");
      await daemon.ended;
      silent.closeAllConnections();
      silent.close();
    },
  };
}
