// SPDX-License-Identifier: Apache-2.0
// One task: its attempts, what was checked, what was changed, and why it is not done.
import { useState } from "preact/hooks";
import { costOf, plural, short, shortId, spanOfNs } from "../lib/format.js";
import { go, href } from "../lib/router.js";
import { howOf } from "../lib/tasks.js";
import { Icon } from "../ui/icons.jsx";
import { Age, Button, Code, Copy, Facts, Panel } from "../ui/parts.jsx";
import { Loaded } from "../ui/states.jsx";
import { Changes } from "./changes.jsx";
import { OutcomeTag, shortCommit, State } from "./parts.jsx";
import { useTasks } from "./use.js";

const STAGES = { before: "before the work", merged: "with other tasks", hook: "hook" };

function Check({ check }) {
  const isMet = check.status === "met";
  const head = (
    <>
      <span class={`condition-mark tone-${isMet ? "green" : "red"}`}>
        <Icon name={isMet ? "check" : "cross"} size={12} />
      </span>
      <span class="task-check-name">
        {check.name}
        <span class="sr">{isMet ? " passed" : " failed"}</span>
        {STAGES[check.stage] && <small class="faint"> {STAGES[check.stage]}</small>}
      </span>
      <span class="faint num">{spanOfNs(check.duration_ns)}</span>
    </>
  );
  if (!check.output && !check.command) return <div class="task-check">{head}</div>;
  return (
    <details class="task-check-more" open={!isMet && check.stage !== "before"}>
      <summary class="task-check">
        {head}
        <Icon name="chevron" size={12} />
      </summary>
      {check.command && <code class="command">{check.command}</code>}
      {!isMet && <p class="faint">{check.message || `exit code ${check.exit_code}`}</p>}
      {check.output && <Code text={check.output} label={`Output of ${check.name}`} />}
    </details>
  );
}

function Attempt({ runId, task, attempt, isLast }) {
  // The end of a failed check's output is the attempt's output, too.
  const isNews = !attempt.checks.some(({ output }) => output === attempt.output);
  const hasChanges = attempt.commit !== null || attempt.patch !== null;
  const [isShown, setShown] = useState(false);
  return (
    <section class="attempt" aria-label={`Attempt ${attempt.number}`}>
      <header>
        <h3>Attempt {attempt.number}</h3>
        <OutcomeTag attempt={attempt} />
        <span class="faint">
          {attempt.ended ? spanOfNs(attempt.duration_ns) : <Age time={attempt.started} />}
        </span>
        {attempt.run_id && (
          <a class="attempt-run" href={href("runs", attempt.run_id)}>
            run {shortId(attempt.run_id)}
          </a>
        )}
      </header>
      <p class="faint">
        {short(attempt.tokens)} tokens · cost {costOf(attempt.cost)}
        {attempt.commit && (
          <>
            {" "}
            · commit <code title={attempt.commit}>{shortCommit(attempt.commit)}</code>{" "}
            <Copy text={attempt.commit} label="commit id" />
          </>
        )}
        {attempt.file_count > 0 && <> · {plural(attempt.file_count, "file")}</>}
      </p>
      {attempt.message && <p class="attempt-why">{attempt.message}</p>}
      {attempt.checks.length > 0 && (
        <div class="task-checks">
          {attempt.checks.map((check, at) => (
            <Check key={at} check={check} />
          ))}
        </div>
      )}
      {attempt.output && isNews && (
        <details open={isLast && task.state === "failed"}>
          <summary>Output</summary>
          <Code text={attempt.output} label={`Output of attempt ${attempt.number}`} />
        </details>
      )}
      {attempt.summary && (
        <details>
          <summary>What the worker says</summary>
          <Code text={attempt.summary} label={`Words of attempt ${attempt.number}`} />
        </details>
      )}
      {hasChanges &&
        (isShown ? (
          <Changes runId={runId} task={task} attempt={attempt} />
        ) : (
          <Button icon="fork" onClick={() => setShown(true)}>
            {attempt.commit ? "Show the changes" : "Show the changes that were not committed"}
          </Button>
        ))}
    </section>
  );
}

function TaskFacts({ runId, task, tasks }) {
  const numberOf = (id) => tasks.find((other) => other.id === id)?.number;
  const link = (id) =>
    numberOf(id) ? (
      <a key={id} href={href("runs", runId, "tasks", String(numberOf(id)))}>
        {id}
      </a>
    ) : (
      <span key={id}>{id}</span>
    );
  const how = howOf(task);
  const needs = tasks.filter((other) => !other.is_removed && other.depends_on.includes(task.id));
  return (
    <Facts
      rows={[
        [
          "State",
          <>
            <State state={task.state} />
            {how && <span class="faint">{how}</span>}
            {task.is_removed && <span class="faint">not in the file any more</span>}
          </>,
        ],
        ["Waits for", task.blocked_by && link(task.blocked_by)],
        ["Depends on", task.depends_on.length > 0 && task.depends_on.map(link)],
        ["Needed by", needs.length > 0 && needs.slice(0, 50).map(({ id }) => link(id))],
        [
          "Use",
          `${short(task.tokens)} tokens · cost ${costOf(task.cost)} · ${spanOfNs(task.duration_ns)}`,
        ],
      ]}
    />
  );
}

function Whole({ runId, task, tasks }) {
  const attempts = [...task.attempts].reverse();
  return (
    <>
      <p class="task-full-title">{task.title}</p>
      <TaskFacts runId={runId} task={task} tasks={tasks} />
      {attempts.length === 0 && <p class="pad faint">Nobody has worked on it yet.</p>}
      {attempts.map((attempt, at) => (
        <Attempt
          key={attempt.number}
          runId={runId}
          task={task}
          attempt={attempt}
          isLast={at === 0}
        />
      ))}
    </>
  );
}

/** @param version changes when something has happened to tasks */
export function TaskDetail({ runId, number, tasks, version }) {
  const state = useTasks(`/v1/runs/${runId}/tasks/${number}`, version);
  return (
    <Panel
      title={state.data?.id ?? `Task ${number}`}
      id="task-detail"
      className="task-detail"
      aside={
        <Button icon="close" label="Close the task" onClick={() => go("runs", runId, "tasks")} />
      }
    >
      <Loaded of={state} rows={6}>
        {(task) => <Whole key={task.number} runId={runId} task={task} tasks={tasks} />}
      </Loaded>
    </Panel>
  );
}
