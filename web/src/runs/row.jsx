// SPDX-License-Identifier: Apache-2.0
// One row of the table of runs.
import { memo } from "../lib/memo.js";
import { costOf, count, percent, plural, short, shortId } from "../lib/format.js";
import { href } from "../lib/router.js";
import { Icon } from "../ui/icons.jsx";
import { Age, Bar, Pips, Status } from "../ui/parts.jsx";

export const COLUMNS = [
  { key: "status", name: "Status", sort: "status" },
  { key: "agent", name: "Agent", sort: "agent" },
  { key: "progress", name: "Progress", sort: "progress" },
  { key: "iteration", name: "Iteration", sort: "iteration", isNumber: true },
  { key: "conditions", name: "Conditions", sort: "conditions" },
  { key: "tokens", name: "Tokens", sort: "tokens", isNumber: true },
  { key: "cost", name: "Cost", sort: "cost", isNumber: true },
  {
    key: "warnings",
    name: "Warnings",
    sort: "warnings",
    isNumber: true,
    title: "Limit warnings",
  },
  { key: "updated", name: "Active", sort: "updated", isNumber: true, title: "Last activity" },
  { key: "created", name: "Age", sort: "created", isNumber: true, title: "Time since creation" },
];

function Progress({ run }) {
  if (!run.iteration_limit) return <span class="faint">no limit</span>;
  const share = run.percent ?? (run.iteration / run.iteration_limit) * 100;
  const isOver = run.ended && run.status === "completed";
  return (
    <span class="progress-cell">
      <Bar
        percent={share}
        mark={80}
        tone={isOver ? "done" : undefined}
        label={`${percent(share)} of the iteration limit`}
      />
      <span class="progress-number">{percent(share)}</span>
    </span>
  );
}

function Warned({ n }) {
  if (!n)
    return (
      <span class="faint" aria-label="none">
        ·
      </span>
    );
  return (
    <span class="badge tone-amber" title={plural(n, "warning")}>
      <Icon name="alert" size={12} />
      {count(n)}
    </span>
  );
}

function RunRowBody({ run, index, isSelected }) {
  return (
    <div
      class={`tr ${isSelected ? "is-selected" : ""}`}
      role="row"
      aria-rowindex={index + 2}
      data-run={run.run_id}
      aria-selected={isSelected ? "true" : undefined}
    >
      <div
        class="td td-status"
        role="cell"
        title={run.waiting_for ? `Waiting for ${run.waiting_for}` : undefined}
      >
        <Status name={run.status} />
      </div>
      <div class="td td-agent" role="cell">
        <a class="row-link" href={href("runs", run.run_id)}>
          {run.agent_id}
        </a>
        <code class="faint">{shortId(run.run_id)}</code>
        {run.store && (
          <span class="row-store" title={`Store ${run.store}`}>
            {run.store}
          </span>
        )}
      </div>
      <div class="td td-progress" role="cell">
        <Progress run={run} />
      </div>
      <div class="td td-iteration num" role="cell">
        <span data-cell="iteration">{count(run.iteration)}</span>
        {run.iteration_limit ? <span class="faint"> / {count(run.iteration_limit)}</span> : null}
      </div>
      <div class="td td-conditions" role="cell">
        <Pips met={run.conditions_met} total={run.conditions_total} />
      </div>
      <div class="td td-tokens num" role="cell">
        {short(run.tokens)}
      </div>
      <div class="td td-cost num" role="cell">
        {costOf(run.cost)}
      </div>
      <div class="td td-warnings num" role="cell">
        <Warned n={run.warnings} />
      </div>
      <div class="td td-updated num" role="cell">
        <Age time={run.updated} />
      </div>
      <div class="td td-created num" role="cell">
        <Age time={run.created} />
      </div>
    </div>
  );
}

export const RunRow = memo(RunRowBody);
