// SPDX-License-Identifier: Apache-2.0
// The tasks of a PRD's run: a board, a graph, the progress log, and one of them in detail.
import { useState } from "preact/hooks";
import { costOf, plural, short } from "../lib/format.js";
import { useKeys } from "../lib/hooks.js";
import { go } from "../lib/router.js";
import { Bar, Code, Segments } from "../ui/parts.jsx";
import { Empty, Loaded, Notice } from "../ui/states.jsx";
import { Board } from "./board.jsx";
import { TaskDetail } from "./detail.jsx";
import { Graph } from "./graph.jsx";
import { useTasks } from "./use.js";

const VIEWS = [
  ["board", "Board"],
  ["graph", "Graph"],
  ["log", "Progress log"],
];

function Sum({ data }) {
  const { counts } = data;
  const parts = [
    plural(data.attempts, "attempt"),
    plural(data.commits, "commit"),
    `${short(data.tokens)} tokens`,
    `cost ${costOf(data.cost)}`,
  ];
  return (
    <div class="task-sum">
      <div class="task-progress">
        <strong>
          {counts.done} of {counts.total} done
        </strong>
        <Bar
          percent={counts.total ? (counts.done * 100) / counts.total : 0}
          label="Tasks that are done"
          tone="fine"
        />
      </div>
      <span class="faint">{parts.join(" · ")}</span>
      <span class="faint">
        branch <code>{data.branch}</code>
      </span>
    </div>
  );
}

function Log({ runId, version }) {
  const state = useTasks(`/v1/runs/${runId}/progress`, version);
  return (
    <Loaded of={state} rows={6} title="The progress log could not be read">
      {(log) =>
        log.text ? (
          <>
            {log.is_cut && <p class="faint">The beginning is left out.</p>}
            <Code text={log.text} label="Progress log" className="code-tall" />
          </>
        ) : (
          <Empty icon="save" title="The progress log is empty">
            An entry is appended when a task is done or has failed.
          </Empty>
        )
      }
    </Loaded>
  );
}

function View({ view, data, runId, chosen, version }) {
  if (view === "log") return <Log runId={runId} version={version} />;
  if (!data.tasks.some((task) => !task.is_removed))
    return (
      <Empty icon="stack" title="No tasks yet">
        The run reads them when it begins.
      </Empty>
    );
  if (view === "graph") return <Graph tasks={data.tasks} runId={runId} chosen={chosen} />;
  return <Board tasks={data.tasks} runId={runId} chosen={chosen} />;
}

/** The next task by keyboard, in the order of the file. */
function step(tasks, chosen, by) {
  const numbers = tasks.filter((task) => !task.is_removed).map(({ number }) => number);
  const at = numbers.indexOf(chosen);
  return numbers[at < 0 ? 0 : Math.max(0, Math.min(numbers.length - 1, at + by))];
}

/** @param version changes when something has happened to tasks */
export function Tasks({ run, rest, version }) {
  const [view, setView] = useState("board");
  const state = useTasks(`/v1/runs/${run.run_id}/tasks`, version);
  const chosen = Number(rest[0]) || 0;
  const move = (by) => {
    const next = state.data ? step(state.data.tasks, chosen, by) : undefined;
    if (next) go("runs", run.run_id, "tasks", String(next));
  };
  useKeys({
    j: () => move(1),
    k: () => move(-1),
    b: () => setView("board"),
    d: () => setView("graph"),
    l: () => setView("log"),
    Escape: () => (chosen ? go("runs", run.run_id, "tasks") : false),
  });
  return (
    <Loaded of={state} rows={8} kind="card">
      {(data) => (
        <>
          <div class="task-tools">
            <Segments label="View of the tasks" items={VIEWS} chosen={view} onChange={setView} />
            <Sum data={data} />
          </div>
          {data.problem && (
            <Notice tone="amber">The file cannot be used as it is now: {data.problem}</Notice>
          )}
          <div class={`task-body ${chosen ? "has-detail" : ""}`}>
            <div class="task-view">
              <View view={view} data={data} runId={run.run_id} chosen={chosen} version={version} />
            </div>
            {chosen > 0 && (
              <TaskDetail
                key={chosen}
                runId={run.run_id}
                number={chosen}
                tasks={data.tasks}
                version={version}
              />
            )}
          </div>
        </>
      )}
    </Loaded>
  );
}
