// SPDX-License-Identifier: Apache-2.0
// What depends on what: tasks in layers, each to the right of all that it depends on.
import { useMemo } from "preact/hooks";
import { count } from "../lib/format.js";
import { href } from "../lib/router.js";
import { layout, stateOf } from "../lib/tasks.js";
import { Notice } from "../ui/states.jsx";
import { StateMark } from "./parts.jsx";

const WIDTH = 190;
const HEIGHT = 46;
const GAP_X = 54;
const GAP_Y = 12;
/** More are too many to be seen. */
const MOST = 1000;

const xOf = ({ layer }) => layer * (WIDTH + GAP_X);
const yOf = ({ row }) => row * (HEIGHT + GAP_Y);

function curve(from, to) {
  const x1 = xOf(from) + WIDTH;
  const y1 = yOf(from) + HEIGHT / 2;
  const x2 = xOf(to);
  const y2 = yOf(to) + HEIGHT / 2;
  const bend = GAP_X / 2;
  return `M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`;
}

function Node({ node, runId, isChosen }) {
  const { task } = node;
  const { label, tone } = stateOf(task.state);
  return (
    <a
      class={`graph-node tone-${tone} ${isChosen ? "is-selected" : ""}`}
      href={href("runs", runId, "tasks", String(task.number))}
      aria-current={isChosen ? "true" : undefined}
      title={task.title}
      data-task={task.number}
      style={{ left: `${xOf(node)}px`, top: `${yOf(node)}px` }}
    >
      <StateMark state={task.state} />
      <span>
        <code>
          {task.id}
          <span class="sr">, {label}</span>
        </code>
        <span>{task.title}</span>
      </span>
    </a>
  );
}

export function Graph({ tasks, runId, chosen }) {
  const graph = useMemo(() => layout(tasks), [tasks]);
  if (graph.nodes.length > MOST)
    return (
      <Notice>
        {count(graph.nodes.length)} tasks are too many for a graph; the board has them all.
      </Notice>
    );
  const width = graph.layers * (WIDTH + GAP_X) - GAP_X;
  const height = graph.rows * (HEIGHT + GAP_Y) - GAP_Y;
  return (
    <div class="task-graph" tabIndex={0} role="group" aria-label="Dependencies of tasks">
      <div class="graph-plane" style={{ width: `${width}px`, height: `${height}px` }}>
        <svg width={width} height={height} aria-hidden="true">
          {graph.edges.map(([from, to]) => (
            <path
              key={`${from}-${to}`}
              d={curve(graph.nodes[from], graph.nodes[to])}
              class={graph.nodes[from].task.state === "done" ? "is-met" : ""}
            />
          ))}
        </svg>
        {graph.nodes.map((node) => (
          <Node
            key={node.task.number}
            node={node}
            runId={runId}
            isChosen={node.task.number === chosen}
          />
        ))}
      </div>
    </div>
  );
}
