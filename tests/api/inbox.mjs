// SPDX-License-Identifier: Apache-2.0
/* The inbox over the API: calls of a run that wait for a person, decided. */
import assert from "node:assert/strict";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { rondo, run, until } from "./support.mjs";

const ROLE = `apiVersion: initrunner/v1
kind: Agent
metadata: {name: deployer}
spec:
  role: You deploy.
  model: {provider: scripted, name: turns.jsonl}
  tools: [{type: shell}]
`;
const call = (command) => ({
  name: "run_shell",
  arguments: { command },
});
const NO = "e6a19e20-f630-5f7a-91bd-71be0c3eae0d";

/** Start a run of which two calls wait. @return ids of their requests */
async function waiting(tour, server) {
  const folder = path.join(server.work, "deployer");
  fs.mkdirSync(folder);
  fs.writeFileSync(path.join(folder, "role.yaml"), ROLE);
  const turns = path.join(folder, "turns.jsonl");
  const turn = { tool_calls: [call("true one"), call("true two"), call("true three")] };
  const end = { tool_calls: [{ name: "finish_task", arguments: { summary: "done" } }] };
  fs.writeFileSync(turns, [turn, end].map((each) => `${JSON.stringify(each)}\n`).join(""));
  await tour.call("startRun", 201, {
    body: {
      role_file: path.join(folder, "role.yaml"),
      prompt: "x",
      model: `scripted:${turns}`,
      workspace: folder,
    },
  });
  let list = [];
  await until("the calls wait", async () => {
    list = (await tour.call("listInbox", 200, { query: "?agent=deployer&mine=true" })).handoffs;
    return list.length === 3;
  });
  return list.map(({ request_id: id }) => id);
}

/** Put a desk file beside the store, which is in the workspace. @param redaction its rules */
async function write_desks(server, redaction, roles = ["me"]) {
  const me = os.userInfo().username;
  const file = {
    format: 1,
    people: { [me]: { roles: ["me"] } },
    desks: { operators: { roles } },
  };
  const part = path.join(server.folder, "desks.part");
  fs.writeFileSync(part, JSON.stringify({ ...file, redaction }));
  const name = path.join(server.folder, "desks.yaml");
  fs.renameSync(part, name);
  const { code, out } = await run(rondo, ["trust", "--yes", name], { env: server.env });
  assert.equal(code, 0, out);
}

/** A value that is hidden from us, and that we may reveal. */
async function reveal(tour, server, id) {
  const pointer = "/action/args/command";
  await write_desks(server, [
    { agent: "deployer", pointers: [pointer], hidden_from: ["me"], reveal: ["me"] },
  ]);
  let hidden = {};
  await until("the value is hidden", async () => {
    hidden = await tour.call("getInboxEntry", 200, { path: { id } });
    return JSON.stringify(hidden.redacted) === JSON.stringify([pointer]);
  });
  assert.ok(!JSON.stringify(hidden).includes("true three"));
  const { handoffs } = await tour.call("listInbox", 200, { query: "?agent=deployer" });
  assert.ok(!JSON.stringify(handoffs).includes("true three"));
  const path_of_run = { run: hidden.run_id };
  await tour.call("getConversation", 403, { path: path_of_run });
  await tour.call("getRunEvents", 403, { path: path_of_run });
  const shown = await tour.call("revealInboxValue", 200, { path: { id }, body: { pointer } });
  assert.equal(shown.value, "true three");
  const wrong = { path: { id }, body: { pointer: "/action/tool" } };
  await tour.call("revealInboxValue", 422, wrong);
  await tour.call("revealInboxValue", 404, { path: { id: NO }, body: { pointer } });
  await write_desks(server, [], ["others"]);
  await until("we are on no desk", async () => {
    const { counts } = await tour.call("listInbox", 200, { query: "?agent=deployer" });
    return counts.mine === 0;
  });
  await tour.call("claimInboxEntry", 403, { path: { id } });
  await tour.call("decideHandoff", 403, {
    path: { id },
    headers: { "if-match": `"${hidden.version}"`, "idempotency-key": "no-desk" },
    body: { status: "approved", revision: hidden.revision, action_digest: hidden.action_digest },
  });
  await write_desks(server, []);
  await until("nothing is hidden", async () => {
    const entry = await tour.call("getInboxEntry", 200, { path: { id } });
    return entry.redacted === undefined;
  });
}

export async function inbox(tour, { server }) {
  const [first, second, third] = await waiting(tour, server);
  await tour.call("listInbox", 200, { query: "?limit=1&state=open&priority=medium&q=true" });
  await tour.call("listInbox", 400, { query: "?limit=0", is_wrong: true });
  await tour.call("getInboxEntry", 404, { path: { id: NO } });
  await tour.call("claimInboxEntry", 200, { path: { id: first } });
  await tour.call("claimInboxEntry", 404, { path: { id: NO } });
  await tour.call("releaseInboxEntry", 200, { path: { id: first } });
  await tour.call("releaseInboxEntry", 404, { path: { id: NO } });
  const decide = async (id, status, code, more = {}, key = `${id}-${status}`) => {
    const entry = await tour.call("getInboxEntry", 200, { path: { id } });
    return tour.call("decideHandoff", code, {
      path: { id },
      headers: { "if-match": `"${entry.version}"`, "idempotency-key": key },
      body: { status, revision: entry.revision, action_digest: entry.action_digest, ...more },
    });
  };
  await decide(first, "needs_info", 200, { questions: ["Which host?"] });
  await decide(first, "approved", 409, {}, "too-early");
  await decide(first, "withdrawn", 200);
  await decide(first, "approved", 200, { context: "fine" });
  await decide(first, "rejected", 409, { context: "no" }, "again");
  await decide(second, "rejected", 422);
  await decide(second, "rejected", 200, { context: "not today" });
  await reveal(tour, server, third);
  await decide(third, "approved", 200);
  await tour.call("decideHandoff", 400, {
    path: { id: third },
    body: { status: "approved", revision: 1, action_digest: "sha256:0" },
  });
  await tour.call("decideHandoff", 404, {
    path: { id: NO },
    headers: { "if-match": '"1"', "idempotency-key": "none" },
    body: { status: "approved", revision: 1, action_digest: "sha256:0" },
  });
}
