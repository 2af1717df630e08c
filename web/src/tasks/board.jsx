// SPDX-License-Identifier: Apache-2.0
// Tasks in columns by their state.
import { useState } from "preact/hooks";
import { count } from "../lib/format.js";
import { href } from "../lib/router.js";
import { columns, stateOf } from "../lib/tasks.js";
import { Button } from "../ui/parts.jsx";
import { figuresOf, shortCommit, StateMark } from "./parts.jsx";

const FIRST = 60;

function Card({ task, runId, isChosen }) {
  const figures = figuresOf(task);
  return (
    <li>
      <a
        class={`task-card ${isChosen ? "is-selected" : ""}`}
        href={href("runs", runId, "tasks", String(task.number))}
        aria-current={isChosen ? "true" : undefined}
        data-task={task.number}
      >
        <span class="task-head">
          <code class="task-id">{task.id}</code>
          {task.commit && <code class="faint">{shortCommit(task.commit)}</code>}
        </span>
        <span class="task-title">{task.title}</span>
        {task.state === "blocked" && task.blocked_by && (
          <span class="task-why">waits for {task.blocked_by}</span>
        )}
        {task.state !== "blocked" && task.message && <span class="task-why">{task.message}</span>}
        {figures && <span class="task-figures">{figures}</span>}
      </a>
    </li>
  );
}

function Column({ state, tasks, runId, chosen }) {
  const [isWhole, setWhole] = useState(false);
  const shown = isWhole ? tasks : tasks.slice(0, FIRST);
  const id = `tasks-${state}`;
  return (
    <section class={`task-column is-${state} tone-${stateOf(state).tone}`} aria-labelledby={id}>
      <h2 id={id}>
        <StateMark state={state} />
        {stateOf(state).label}
        <span class="task-count">{count(tasks.length)}</span>
      </h2>
      {shown.length > 0 ? (
        <ul>
          {shown.map((task) => (
            <Card key={task.number} task={task} runId={runId} isChosen={task.number === chosen} />
          ))}
        </ul>
      ) : (
        <p class="task-none">None</p>
      )}
      {shown.length < tasks.length && (
        <div class="more">
          <Button onClick={() => setWhole(true)}>Show all {count(tasks.length)}</Button>
        </div>
      )}
    </section>
  );
}

export function Board({ tasks, runId, chosen }) {
  return (
    <div class="task-board">
      {Object.entries(columns(tasks)).map(([state, list]) => (
        <Column key={state} state={state} tasks={list} runId={runId} chosen={chosen} />
      ))}
    </div>
  );
}
