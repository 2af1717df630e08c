// SPDX-License-Identifier: Apache-2.0
/* The tasks of a PRD's run over the API: what was done, what failed, changes and the progress log. */
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { rondo, run } from "./support.mjs";

const task = (id, command, more = {}) => ({
  id,
  title: `Make ${id}`,
  passes: false,
  status: "pending",
  acceptanceCriteria: [`\`${command}\` passes`],
  ...more,
});

const WORK = `case $RONDO_TASK_ID in
  one) echo "<b>one</b>" >one ;;
  *) echo no >other ;;
esac
`;

/** Carry out a PRD of three tasks, of which the second one fails and the third one waits for it. */
async function carry_out(server) {
  const folder = path.join(server.work, "prd");
  const env = { ...server.env, GIT_CONFIG_NOSYSTEM: "1" };
  fs.mkdirSync(folder);
  const here = { cwd: folder, env };
  const stories = [
    task("one", "test -e one"),
    task("two/2", "test -e two"),
    task("three", "true", { dependsOn: ["two/2"] }),
  ];
  fs.writeFileSync(path.join(folder, "prd.json"), JSON.stringify({ userStories: stories }));
  fs.writeFileSync(path.join(folder, "work.sh"), WORK);
  for (const words of [
    ["init", "-q", "-b", "main"],
    ["config", "user.name", "Ada"],
    ["config", "user.email", "ada@example.org"],
    ["add", "."],
    ["commit", "-q", "-m", "start"],
  ]) {
    const { code, out } = await run("git", words, here);
    assert.equal(code, 0, out);
  }
  const words = ["prd", "run", "prd.json", "-q", "--json", "--sandbox", "none", "--attempts", "1"];
  const { code, out } = await run(
    rondo,
    [...words, "--store", server.store, "--", "sh", "work.sh"],
    here,
  );
  assert.equal(code, 3, out);
  return JSON.parse(out.trim().split("\n").at(-1)).run_id;
}

export async function tasks(tour, { server, runs }) {
  const id = await carry_out(server);
  const list = await tour.call("listTasks", 200, { path: { run: id } });
  assert.deepEqual(
    list.tasks.map(({ id: name, state, blocked_by: by }) => [name, state, by]),
    [
      ["one", "done", null],
      ["two/2", "failed", null],
      ["three", "blocked", "two/2"],
    ],
  );
  const one = { path: { run: id, number: "1" } };
  const two = { path: { run: id, number: "2" } };
  const three = { path: { run: id, number: "3" } };
  const none = { path: { run: id, number: "4" } };
  const { attempts } = await tour.call("getTask", 200, two);
  assert.equal(attempts[0].outcome, "checks_failed");
  assert.equal(attempts[0].checks.at(-1).command, "test -e two");
  await tour.call("getTask", 404, none);
  await tour.call("getTask", 404, { path: { run: id, number: "0" }, is_wrong: true });
  await tour.call("getTask", 404, { path: { run: runs.role, number: "1" } });

  const made = await tour.call("getTaskDiff", 200, one);
  assert.match(made.diff, /^\+<b>one<\/b>$/m);
  assert.equal(made.commit, list.tasks[0].commit);
  const left = await tour.call("getTaskDiff", 200, { ...two, query: "?attempt=1" });
  assert.match(left.diff, /^\+no$/m);
  assert.equal(left.commit, null);
  await tour.call("getTaskDiff", 404, { ...two, query: "?attempt=2" });
  await tour.call("getTaskDiff", 404, three);
  await tour.call("getTaskDiff", 400, { ...two, query: "?attempt=x", is_wrong: true });

  const log = await tour.call("getProgress", 200, { path: { run: id } });
  assert.match(log.text, /^## Task one: Make one$/m);
  const progress = path.join(server.work, "prd", "progress.txt");
  fs.rmSync(progress);
  assert.equal((await tour.call("getProgress", 200, { path: { run: id } })).text, "");
  fs.symlinkSync("/etc/hostname", progress);
  await tour.call("getProgress", 409, { path: { run: id } });
  await tour.call("listTasks", 404, { path: { run: runs.role } });

  const children = await tour.call("listRuns", 200, { query: `?parent=${id}` });
  assert.equal(children.runs.length, 2);
  assert.ok(children.runs.every(({ parent_id: parent }) => parent === id));
  const top = await tour.call("listRuns", 200, { query: "?children=hide&limit=500" });
  assert.ok(top.runs.every(({ parent_id: parent }) => parent === null));
  await tour.call("listRuns", 400, { query: "?parent=x", is_wrong: true });
  await tour.call("listRuns", 400, { query: "?children=no", is_wrong: true });
}
