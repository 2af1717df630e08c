// SPDX-License-Identifier: Apache-2.0
// Issues of forges that the work queue works on: a list, the one that changed last first, and one of
// them in full.
import { useRef } from "preact/hooks";
import { query } from "../lib/api.js";
import { count, costOf, dateTime, plural, shortId, spanOfNs } from "../lib/format.js";
import { useLive, usePages, useTitle } from "../lib/hooks.js";
import { href, route, setParams } from "../lib/router.js";
import { useSignal } from "../lib/store.js";
import { reasonWords, workState, WORK_STATES } from "../lib/work.js";
import { Age, Chips, Due, Outside, Select } from "../ui/parts.jsx";
import { More, Parts, Row, Rows, stale } from "../ui/rows.jsx";
import { PageHead } from "../ui/shell.jsx";
import { Empty, Loaded, Notice } from "../ui/states.jsx";
import { WorkItem } from "../work/item.jsx";

const PAGE = 50;

function WorkRow({ item }) {
  const { label, tone } = workState(item.state);
  return (
    <Row
      id={item.id}
      tag={label}
      tone={tone}
      title={<a href={href("work", item.id)}>{item.title ?? `Issue ${item.number}`}</a>}
      sub={
        <Parts
          of={[
            <Outside url={item.url}>
              {item.repository}#{item.number}
            </Outside>,
            item.reason && <span class={`toned tone-${tone}`}>{reasonWords(item.reason)}</span>,
            item.pull && <Outside url={item.pull_url}>pull request #{item.pull}</Outside>,
            item.attempts > 0 && plural(item.attempts, "attempt"),
            item.active_ns > 0 && spanOfNs(item.active_ns),
            item.cost !== 0 && `cost ${costOf(item.cost)}`,
            item.run_id && <a href={href("runs", item.run_id)}>run {shortId(item.run_id)}</a>,
          ]}
        />
      }
      end={<Age time={item.updated} />}
      endSub={
        item.next ? (
          <>
            tries again <Due time={item.next} late="now" />
          </>
        ) : (
          dateTime(item.updated)
        )
      }
    />
  );
}

function Filters({ data, chosen, repository }) {
  const set = (change) => setParams({ state: chosen.join(","), repository, ...change });
  const names = data?.repositories ?? [];
  return (
    <div class="toolbar">
      <Chips
        label="States"
        items={Object.entries(WORK_STATES)
          .filter(([key]) => data?.counts[key] || chosen.includes(key))
          .map(([key, { label, tone }]) => ({
            key,
            name: label,
            tone,
            count: count(data?.counts[key]),
          }))}
        chosen={chosen}
        onChange={(states) => set({ state: states.join(",") })}
      />
      {(names.length > 1 || repository) && (
        <Select
          label="Repository"
          all="All repositories"
          names={names}
          chosen={repository}
          onChange={(name) => set({ repository: name })}
        />
      )}
    </div>
  );
}

function List({ state, isFiltered }) {
  return (
    <>
      {state.data.damage && <Notice>{state.data.damage}</Notice>}
      {state.data.troubles.map(({ repository, message }) => (
        <Notice key={repository}>
          {repository}: {message}
        </Notice>
      ))}
      {state.list.length ? (
        <Rows label="Work items">
          {state.list.map((item) => (
            <WorkRow key={item.id} item={item} />
          ))}
        </Rows>
      ) : isFiltered ? (
        <Empty icon="search" title="No matching work items">
          Try other filters.
        </Empty>
      ) : (
        <Empty icon="branch" title="No work items">
          <code>rondo work</code> in a clone works on the issues that are labelled for it.
        </Empty>
      )}
      <More of={state} />
    </>
  );
}

function WorkList() {
  useTitle("Work");
  const { repository, state: states } = useSignal(route).params;
  const path = `/v1/work${query({ state: states, repository, limit: PAGE })}`;
  const state = usePages(useLive(path), path, "items", { by: "cursor", next: "next_cursor" });
  // Counts and repositories do not depend on the states: they stay while other states are loaded.
  const last = useRef(null);
  last.current = state.data ?? last.current;
  return (
    <div class="page">
      <PageHead title="Work" sub={stale(state) ?? "Issues that the work queue has claimed"} />
      <Filters
        data={last.current}
        chosen={states ? states.split(",") : []}
        repository={repository}
      />
      <Loaded of={state} rows={8}>
        {() => <List state={state} isFiltered={Boolean(states || repository)} />}
      </Loaded>
    </div>
  );
}

export function Work({ rest: [id] }) {
  return id ? <WorkItem key={id} id={id} /> : <WorkList />;
}
