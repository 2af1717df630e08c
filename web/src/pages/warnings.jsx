// SPDX-License-Identifier: Apache-2.0
// All warnings, newest first; new ones come in at the top.
import { useEffect, useState } from "preact/hooks";
import { query } from "../lib/api.js";
import { count, dateTime, LIMIT_NAMES, ofLimit, percent, shortId } from "../lib/format.js";
import { useApi, useDebounced, usePages, useTitle } from "../lib/hooks.js";
import { listen } from "../lib/overview.js";
import { href, route, setParams } from "../lib/router.js";
import { WARNING_KINDS } from "../lib/status.js";
import { useSignal } from "../lib/store.js";
import { markSeen, warnings } from "../lib/warnings.js";
import { Icon } from "../ui/icons.jsx";
import { Age, Bar, Chips } from "../ui/parts.jsx";
import { More } from "../ui/rows.jsx";
import { PageHead } from "../ui/shell.jsx";
import { Empty, Failure, Skeleton } from "../ui/states.jsx";

const PAGE = 100;

function Measure({ warning }) {
  const { limit_name: name, limit, value, remaining } = warning;
  if (!name || limit === undefined || limit === null) return <span class="faint">–</span>;
  return (
    <span class="warn-measure">
      <span>
        {LIMIT_NAMES[name] ?? name} {ofLimit(name, value)} of {ofLimit(name, limit)}
        {remaining !== undefined && <span class="faint"> · {ofLimit(name, remaining)} left</span>}
      </span>
      <Bar
        percent={warning.percent ?? (value / limit) * 100}
        mark={80}
        label={`${percent(warning.percent)} of ${name}`}
      />
    </span>
  );
}

export function WarningRow({ warning, hasRun = true }) {
  const { label, tone } = WARNING_KINDS[warning.kind] ?? { label: warning.kind, tone: "grey" };
  return (
    <li class="warn">
      <span class={`tag tone-${tone}`}>{label}</span>
      <div class="warn-text">
        <p>{warning.message}</p>
        <p class="faint">
          {hasRun && warning.run_id && (
            <>
              <a href={href("runs", warning.run_id)}>{warning.agent_id}</a>{" "}
              <code>{shortId(warning.run_id)}</code> ·{" "}
            </>
          )}
          {warning.iteration ? `iteration ${count(warning.iteration)} · ` : ""}
          <time dateTime={warning.time}>{dateTime(warning.time)}</time>
        </p>
      </div>
      <Measure warning={warning} />
      <span class="warn-age">
        <Age time={warning.time} />
      </span>
    </li>
  );
}

function useWarnings(filter) {
  const path = `/v1/warnings${query({ ...filter, limit: PAGE })}`;
  const first = useApi(path);
  const fresh = useSignal(warnings).fresh;
  useEffect(() => listen({ open: (isFirst) => isFirst || first.reload() }), [path]);
  const pages = usePages(first, path, "warnings");
  const fits = (warning) =>
    (!filter.kind || warning.kind === filter.kind) &&
    (!filter.agent || warning.agent_id === filter.agent);
  const ids = new Set(pages.list.map(({ id }) => id));
  const added = fresh.filter((warning) => fits(warning) && !ids.has(warning.id));
  return { ...pages, list: [...added, ...pages.list] };
}

export function Warnings() {
  useTitle("Warnings");
  const { params } = useSignal(route);
  const [agent, setAgent] = useState(params.agent ?? "");
  const late = useDebounced(agent.trim(), 250);
  const kind = params.kind ?? "";
  const state = useWarnings({ kind, agent: late });
  const { unseen } = useSignal(warnings);
  useEffect(() => markSeen(), [unseen]);
  // The kind may have been chosen since this was drawn.
  useEffect(() => setParams({ ...route.value.params, agent: late }), [late]);
  const items = Object.entries(WARNING_KINDS).map(([key, { label, tone }]) => ({
    key,
    name: label,
    tone,
  }));
  return (
    <div class="page">
      <PageHead title="Warnings" sub="Limits, failures, stalls, storage" />
      <div class="toolbar">
        <Chips
          label="Kinds"
          items={items}
          chosen={kind ? [kind] : []}
          onChange={(chosen) => setParams({ kind: chosen.at(-1), agent: late })}
        />
        <label class="search search-short">
          <Icon name="search" size={14} />
          <span class="sr">Agent</span>
          <input
            type="search"
            placeholder="Agent"
            value={agent}
            onInput={(event) => setAgent(event.currentTarget.value)}
          />
        </label>
      </div>
      {state.data ? (
        state.list.length ? (
          <ol class="warns">
            {state.list.map((warning) => (
              <WarningRow key={warning.id} warning={warning} />
            ))}
          </ol>
        ) : (
          <Empty icon="bell" title={kind || late ? "No matching warnings" : "No warnings"}>
            {kind || late
              ? "Try other filters."
              : "Warnings about limits, denials, stalls and failures are listed here and sent to the configured sinks."}
          </Empty>
        )
      ) : state.problem ? (
        <Failure problem={state.problem} onRetry={state.reload} />
      ) : (
        <Skeleton rows={8} />
      )}
      <More of={state} />
    </div>
  );
}
