// SPDX-License-Identifier: Apache-2.0
// A PRD's run for the mock server: tasks in every state, attempts, checks, changes, and what hostile
// workers would leave.
import { World } from "./model.mjs";

const COMMIT = (seed) => String(seed).repeat(40).slice(0, 40);
const NASTY = '<img src=x onerror="window.wasRun=1">';

const check = (name, isMet, more = {}) => ({
  stage: "after",
  name,
  status: isMet ? "met" : "not_met",
  exit_code: isMet ? 0 : 2,
  duration_ns: 1.4e9,
  ...more,
});

function attempt(world, number, outcome, more = {}) {
  const began = world.now() - 900_000 + number * 60_000;
  return {
    number,
    run_id: null,
    outcome,
    commit: null,
    started: world.time(began),
    ended: outcome ? world.time(began + 42_000) : null,
    tokens: 18_200,
    cost: 0.12,
    duration_ns: outcome ? 42e9 : 0,
    checks: [],
    ...more,
  };
}

const task = (number, id, title, state, more = {}) => ({
  number,
  id,
  title,
  state,
  how: state === "done" ? "committed" : null,
  blocked_by: null,
  priority: 1,
  is_removed: false,
  depends_on: [],
  attempt: more.attempts?.length ?? 0,
  failures: 0,
  commit: null,
  message: null,
  tokens: 18_200 * (more.attempts?.length ?? 0),
  cost: 0.12 * (more.attempts?.length ?? 0),
  duration_ns: 42e9 * (more.attempts?.length ?? 0),
  attempts: [],
  ...more,
});

function seven(world) {
  const done = (number, more = {}) => ({
    commit: COMMIT(number),
    attempts: [
      attempt(world, 1, "committed", {
        commit: COMMIT(number),
        checks: [
          check("tests", false, { stage: "before" }),
          check("tests", true),
          check("lint", true),
        ],
      }),
    ],
    ...more,
  });
  const failing = "`make test` failed: expected 10.00, got 10.01";
  return [
    task(1, "US-001", "Store a task so that it survives a restart", "done", done(1)),
    task(2, "US-002", "Show the list of tasks", "done", done(2, { depends_on: ["US-001"] })),
    task(3, "US-003", "Sort the list by priority, then by age", "working", {
      depends_on: ["US-002"],
      message: failing,
      attempts: [
        attempt(world, 1, "checks_failed", { checks: [check("tests", false)] }),
        attempt(world, 2, null),
      ],
    }),
    task(4, "US-004", `Export as CSV ${NASTY}`, "failed", {
      depends_on: ["US-001"],
      message: failing,
      failures: 3,
      attempts: [1, 2, 3].map((n) =>
        attempt(world, n, "checks_failed", {
          checks: [check("lint", true), check("tests", false)],
        }),
      ),
    }),
    task(5, "US-005", "Send the export by mail every Monday", "blocked", {
      depends_on: ["US-004"],
      blocked_by: "US-004",
    }),
    task(6, "US-006", "Filter by label", "pending", { depends_on: ["US-002", "US-003"] }),
    task(7, "US-007", "Write the manual page", "done", { how: "by_hand" }),
  ];
}

const DIFF = `diff --git a/src/list.py b/src/list.py
index 1..2 100644
--- a/src/list.py
+++ b/src/list.py
@@ -10,6 +10,7 @@ class List:
     def __init__(self):
         self.items = []
-    def add(self, item):
+    def add(self, item: Task) -> None:
+        """${NASTY}"""
         self.items.append(item)

diff --git a/docs/list.md b/docs/list.md
new file mode 100644
--- /dev/null
+++ b/docs/list.md
@@ -0,0 +1,2 @@
+# List
+Tasks in the order in which they were added.
diff --git a/logo.png b/logo.png
Binary files a/logo.png and b/logo.png differ
`;

const LOG = `## Codebase Patterns

- money is an integer of cents

## Task US-001: Store a task
Completed: 2026-11-21T09:04:11.000Z
Commit: ${COMMIT(1)}

### What Changed
Tasks are written to tasks.json.
---
`;

/** A world with the run of a PRD; `world.prd` is what its routes answer. */
export function prdWorld({ tasks = seven, more = {} } = {}) {
  const world = new World({ size: 4 });
  const run = world.add({ agent: "prd-Task_list", limit: 20, name: "prd", kind: "prd" });
  run.iteration = 8;
  run.tokens = 214_000;
  run.cost = 1.4;
  const child = world.add({ agent: "work.sh", limit: 1, name: "prd child", kind: "command" });
  child.parent_id = run.run_id;
  child.status = "max_iterations";
  const list = tasks(world);
  for (const one of list) for (const each of one.attempts) each.run_id = child.run_id;
  world.prd = { run, child, tasks: list, log: LOG, diff: DIFF, problem: null, ...more };
  world.emit(run, "tasks.read", { count: list.length });
  return { world, run };
}

/** Something has happened to a task. */
export function touch(world, number, change) {
  Object.assign(world.prd.tasks[number - 1], change);
  world.emit(world.prd.run, "task.ended", { task: world.prd.tasks[number - 1].id });
}

function listOf({ world }) {
  const { run, tasks, problem } = world.prd;
  const counts = { total: 0, pending: 0, working: 0, done: 0, failed: 0, blocked: 0 };
  for (const { state } of tasks) {
    counts.total += 1;
    counts[state] += 1;
  }
  return {
    run_id: run.run_id,
    name: "Task list",
    file: "/srv/list/prd.json",
    progress_file: "/srv/list/progress.txt",
    repository: "/srv/list",
    branch: "prd/Task-list",
    base: COMMIT(0),
    jobs: 2,
    attempts_per_task: 3,
    counts,
    attempts: 7,
    commits: 2,
    tokens: run.tokens,
    cost: run.cost,
    problem,
    archive: null,
    dropped_attempts: 0,
    tasks,
  };
}

const OUTPUT = `FAILED tests/test_list.py::test_order ${NASTY}\n    assert 10.01 == 10.00\n`;

function detailOf({ world }, { path }) {
  const one = world.prd.tasks[Number(path[3]) - 1];
  if (!one) return { status: 404, body: { title: "Not found", code: "not_found" } };
  const isBad = ({ status }) => status === "not_met";
  return {
    run_id: world.prd.run.run_id,
    ...one,
    attempts: one.attempts.map((each) => ({
      ...each,
      base: COMMIT(0),
      parent: COMMIT(0),
      message: each.outcome === "checks_failed" ? one.message : null,
      output: each.outcome === "checks_failed" ? OUTPUT : null,
      summary: each.outcome ? `I am done. ${NASTY}` : null,
      patch: each.outcome === "checks_failed" ? "/home/a/.local/state/rondo/patches/x.patch" : null,
      files: each.commit ? ["src/list.py", "docs/list.md", "logo.png"] : [],
      file_count: each.commit ? 3 : 0,
      checks: each.checks.map((row) => ({
        ...row,
        command: row.name === "tests" ? "make test" : "make lint",
        message: isBad(row) ? "exit code 2" : null,
        output: isBad(row) ? OUTPUT : null,
      })),
    })),
  };
}

export const TASK_ROUTES = {
  "GET runs/:id/tasks": ["read", listOf],
  "GET runs/:id/tasks/:id": ["read", detailOf],
  "GET runs/:id/tasks/:id/diff": [
    "read",
    ({ world }, { values }) => ({
      attempt: Number(values.get("attempt") ?? 1),
      commit: COMMIT(1),
      diff: world.prd.diff,
      is_cut: false,
    }),
  ],
  "GET runs/:id/progress": [
    "read",
    ({ world }) => ({ file: "/srv/list/progress.txt", text: world.prd.log, is_cut: false }),
  ],
};
