// SPDX-License-Identifier: Apache-2.0
// Tasks of a PRD's run: their states, the layout of their dependencies, and what git says of changes.

/** In the order of a board. tone, glyph: as in lib/status.js. */
export const STATES = {
  pending: { label: "Pending", tone: "grey", glyph: "dot" },
  working: { label: "Working", tone: "blue", glyph: "spin" },
  done: { label: "Done", tone: "green", glyph: "check" },
  failed: { label: "Failed", tone: "red", glyph: "cross" },
  blocked: { label: "Blocked", tone: "orange", glyph: "block" },
};

export const stateOf = (name) => STATES[name] ?? { label: name, tone: "grey", glyph: "dot" };

const HOW = {
  already_done: "its checks passed before anybody worked",
  by_hand: "people say so in the file",
};
export const howOf = (task) => HOW[task.how] ?? null;

export const outcomeOf = (attempt) =>
  attempt.outcome === null ? "under way" : attempt.outcome.replaceAll("_", " ");

const GOOD = new Set(["committed", "already_done"]);
export const toneOf = ({ outcome }) =>
  outcome === null
    ? "blue"
    : GOOD.has(outcome)
      ? "green"
      : outcome === "interrupted"
        ? "amber"
        : "red";

/** Tasks that the file has, by state. Several with work left come first in their column. */
export function columns(tasks) {
  const lists = Object.fromEntries(Object.keys(STATES).map((state) => [state, []]));
  for (const task of tasks) if (!task.is_removed) lists[task.state]?.push(task);
  return lists;
}

/**
 * Places in layers, each task to the right of all that it depends on. What is in a circle, or
 * depends on a task that is not listed, is placed as if that dependency were not there.
 * @return {nodes: [{task, layer, row}], edges: [[from, to]], layers, rows}: indexes of nodes
 */
export function layout(tasks) {
  const listed = tasks.filter((task) => !task.is_removed);
  const at = new Map(listed.map((task, index) => [task.id, index]));
  const before = listed.map((task) => [
    ...new Set(task.depends_on.map((id) => at.get(id)).filter((index) => index !== undefined)),
  ]);
  const after = listed.map(() => []);
  before.forEach((list, index) => list.forEach((from) => after[from].push(index)));
  const left = before.map((list) => list.length);
  const layer = listed.map(() => 0);
  const ready = left.flatMap((count, index) => (count === 0 ? [index] : []));
  for (let i = 0; i < ready.length; i += 1) {
    for (const to of after[ready[i]]) {
      layer[to] = Math.max(layer[to], layer[ready[i]] + 1);
      left[to] -= 1;
      if (left[to] === 0) ready.push(to);
    }
  }
  const rows = [];
  const nodes = listed.map((task, index) => {
    rows[layer[index]] ??= 0;
    rows[layer[index]] += 1;
    return { task, layer: layer[index], row: rows[layer[index]] - 1 };
  });
  const edges = before.flatMap((list, to) =>
    list.filter((from) => layer[from] < layer[to]).map((from) => [from, to]),
  );
  return { nodes, edges, layers: rows.length, rows: Math.max(0, ...rows.map((n) => n ?? 0)) };
}

const HUNK = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/;

/**
 * Files of a difference as git writes it.
 * @return [{name, rows: [{sign, text, number}], added, removed, note}]; a row with the sign "@"
 *         begins a part
 */
export function filesOfDiff(text) {
  const files = [];
  let file = null;
  let left = 0;
  let right = 0;
  let isInHunk = false;
  for (const line of text.split("\n")) {
    const hunk = HUNK.exec(line);
    if (line.startsWith("diff --git ")) {
      file = {
        name: line.slice(11).replace(/^.* b\//, ""),
        rows: [],
        added: 0,
        removed: 0,
        note: "",
      };
      files.push(file);
      isInHunk = false;
    } else if (!file) {
      continue;
    } else if (hunk) {
      [left, right] = [Number(hunk[1]), Number(hunk[2])];
      isInHunk = true;
      file.rows.push({ sign: "@", text: line.slice(hunk[0].length).trim(), number: null });
    } else if (!isInHunk) {
      if (line.startsWith("new file")) file.note = "new";
      else if (line.startsWith("deleted file")) file.note = "deleted";
      else if (/^(Binary files|GIT binary patch)/.test(line)) file.note = "binary";
    } else if (line.startsWith("+")) {
      file.rows.push({ sign: "+", text: line.slice(1), number: right });
      file.added += 1;
      right += 1;
    } else if (line.startsWith("-")) {
      file.rows.push({ sign: "-", text: line.slice(1), number: left });
      file.removed += 1;
      left += 1;
    } else if (line.startsWith(" ")) {
      file.rows.push({ sign: " ", text: line.slice(1), number: right });
      left += 1;
      right += 1;
    }
  }
  return files;
}
