// SPDX-License-Identifier: Apache-2.0
// All runs, live.
import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { get } from "../lib/api.js";
import { count, plural } from "../lib/format.js";
import { useDebounced, useKeys, useMedia, useTitle } from "../lib/hooks.js";
import { listen } from "../lib/overview.js";
import { go, route, setParams } from "../lib/router.js";
import { STATUSES } from "../lib/status.js";
import { useSignal } from "../lib/store.js";
import { COLUMNS, RunRow } from "../runs/row.jsx";
import { RunTable } from "../runs/table.js";
import { Icon } from "../ui/icons.jsx";
import { Button, Chips } from "../ui/parts.jsx";
import { PageHead } from "../ui/shell.jsx";
import { Empty, Failure, Notice, Skeleton } from "../ui/states.jsx";
import { VirtualRows } from "../ui/virtual.jsx";

const TEXT_COLUMNS = new Set(["agent", "status"]);

function useTable(filter) {
  const table = useMemo(() => new RunTable(), []);
  const key = JSON.stringify(filter);
  useEffect(() => {
    table.load(filter);
  }, [key]);
  useEffect(() => {
    const reload = () => table.filter && table.load(table.filter);
    const stop = listen({
      runs: ({ runs }) => table.apply(runs),
      counts: (counts) => table.applyCounts(counts.counts ?? counts),
      reset: reload,
      open: (isFirst) => isFirst || reload(),
    });
    return () => {
      stop();
      table.close();
    };
  }, []);
  useSignal(table.changed);
  return table;
}

function Heads({ sort, order, onSort }) {
  return (
    <div class="thead" role="rowgroup">
      <div class="tr tr-head" role="row" aria-rowindex={1}>
        {COLUMNS.map(({ key, name, sort: by, isNumber, title }) => (
          <div
            key={key}
            class={`th td-${key} ${isNumber ? "num" : ""}`}
            role="columnheader"
            aria-sort={sort === by ? (order === "asc" ? "ascending" : "descending") : "none"}
          >
            <button type="button" onClick={() => onSort(by)} title={title}>
              {name}
              {sort === by && <Icon name={order === "asc" ? "up" : "down"} size={11} />}
            </button>
          </div>
        ))}
      </div>
    </div>
  );
}

function SortSelect({ sort, order, onChange }) {
  return (
    <label class="select sort-select">
      <span class="sr">Sort by</span>
      <select
        value={`${sort} ${order}`}
        onChange={(event) => onChange(...event.currentTarget.value.split(" "))}
      >
        {COLUMNS.flatMap(({ name, sort: by }) => [
          <option key={`${by}d`} value={`${by} desc`}>
            {name} ↓
          </option>,
          <option key={`${by}a`} value={`${by} asc`}>
            {name} ↑
          </option>,
        ])}
      </select>
    </label>
  );
}

/** The stores that the server has side by side; none when it has one. */
function useStores() {
  const [stores, setStores] = useState([]);
  useEffect(() => {
    get("/v1/stores").then(
      (answer) => setStores(answer.stores),
      () => {}, // The list of runs says what is wrong.
    );
  }, []);
  return stores;
}

function StoreSelect({ stores, store, onChange }) {
  if (stores.length < 2) return null;
  return (
    <label class="select">
      <span class="sr">Store</span>
      <select value={store} onChange={(event) => onChange(event.currentTarget.value)}>
        <option value="">All stores</option>
        {stores.map(({ name }) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}

function statusItems(counts, chosen) {
  return Object.entries(STATUSES)
    .filter(([key]) => chosen.includes(key) || counts?.[key] > 0 || key === "running")
    .map(([key, { label, tone }]) => ({
      key,
      name: label,
      tone,
      count: counts ? count(counts[key] ?? 0) : "",
    }));
}

function NoRuns({ isFiltered, onClear }) {
  if (isFiltered) {
    return (
      <Empty icon="search" title="No matching runs">
        <p>Try other filters.</p>
        <Button onClick={onClear}>Clear the filters</Button>
      </Empty>
    );
  }
  return (
    <Empty title="No runs yet">
      <p>Start one in a terminal; it appears here at once:</p>
      <pre class="code">rondo loop --until all_tests_pass -- ./my-agent.sh</pre>
    </Empty>
  );
}

/** The row that keys act on: an index that follows its run. */
function useSelection(rows, list) {
  const [id, setId] = useState(null);
  const at = rows.findIndex((run) => run.run_id === id);
  const move = (step) => {
    if (!rows.length) return;
    const next =
      at < 0 ? (step > 0 ? 0 : rows.length - 1) : Math.max(0, Math.min(rows.length - 1, at + step));
    setId(rows[next].run_id);
    list.current?.reveal(next);
  };
  return { id: at < 0 ? null : id, move };
}

function readFilter(params, agent, q) {
  return {
    store: params.store ?? "",
    statuses: (params.status ?? "").split(",").filter((name) => STATUSES[name]),
    agent,
    q,
    sort: COLUMNS.some(({ sort }) => sort === params.sort) ? params.sort : "created",
    order: params.order === "asc" ? "asc" : "desc",
  };
}

export function Runs() {
  useTitle("Runs");
  const { params } = useSignal(route);
  const [q, setQ] = useState(params.q ?? "");
  const late = useDebounced(q.trim(), 200);
  const filter = readFilter(params, params.agent ?? "", late);
  const table = useTable(filter);
  const isNarrow = useMedia("(max-width: 720px)");
  const search = useRef(null);
  const list = useRef(null);
  const selection = useSelection(table.rows, list);
  const stores = useStores();
  const away = table.stores.filter((store) => store.is_away).map(({ name }) => name);
  const change = (more) => setParams({ ...route.value.params, ...more });
  useEffect(() => change({ q: late }), [late]);
  const sortBy = (by) => {
    const isSame = filter.sort === by;
    const first = TEXT_COLUMNS.has(by) ? "asc" : "desc";
    change({ sort: by, order: isSame ? (filter.order === "asc" ? "desc" : "asc") : first });
  };
  const clear = () => {
    setQ("");
    setParams({});
  };
  useKeys({
    j: () => selection.move(1),
    k: () => selection.move(-1),
    ArrowDown: () => selection.move(1),
    ArrowUp: () => selection.move(-1),
    Enter: () => selection.id && go("runs", selection.id),
    "/": () => search.current?.focus(),
  });
  const more = useCallback(() => table.more(), [table]);
  const { counts, rows, phase } = table;
  const isFiltered = filter.statuses.length > 0 || filter.agent || filter.q || filter.store;
  const onRow = (event) => {
    if (event.target.closest("a, button") || String(getSelection())) return;
    const row = event.target.closest("[data-run]");
    if (row) go("runs", row.dataset.run);
  };
  return (
    <div class="page page-fill">
      <PageHead
        title="Runs"
        sub={counts && `${plural(counts.total, "run")} · ${count(counts.running ?? 0)} running`}
      >
        <label class="search">
          <Icon name="search" size={14} />
          <span class="sr">Search by agent or run</span>
          <input
            ref={search}
            type="search"
            placeholder="Agent or run"
            value={q}
            onInput={(event) => setQ(event.currentTarget.value)}
            onKeyDown={(event) => event.key === "Escape" && event.currentTarget.blur()}
          />
          <kbd aria-hidden="true">/</kbd>
        </label>
      </PageHead>
      <div class="toolbar">
        <Chips
          label="Statuses"
          items={statusItems(counts, filter.statuses)}
          chosen={filter.statuses}
          onChange={(statuses) => change({ status: statuses.join(",") })}
        />
        <StoreSelect stores={stores} store={filter.store} onChange={(store) => change({ store })} />
        {filter.agent && (
          <button type="button" class="chip" onClick={() => change({ agent: "" })}>
            Agent {filter.agent} <Icon name="close" size={11} />
            <span class="sr">remove this filter</span>
          </button>
        )}
        {isNarrow && (
          <SortSelect
            sort={filter.sort}
            order={filter.order}
            onChange={(sort, order) => change({ sort, order })}
          />
        )}
      </div>
      {table.problem && rows.length > 0 && (
        <Notice>This list may be out of date: {table.problem.message}</Notice>
      )}
      {away.length > 0 && (
        <Notice>
          {away.join(", ")} {away.length > 1 ? "do" : "does"} not answer: runs of{" "}
          {away.length > 1 ? "these stores are" : "this store are"} missing here.
        </Notice>
      )}
      {table.damaged.length > 0 && (
        <Notice>
          {table.damaged.length} runs cannot be read: {table.damaged[0].detail}
        </Notice>
      )}
      {phase === "failed" ? (
        <Failure problem={table.problem} onRetry={() => table.load(filter)} />
      ) : phase === "loading" ? (
        <Skeleton rows={14} />
      ) : rows.length === 0 ? (
        <NoRuns isFiltered={isFiltered} onClear={clear} />
      ) : (
        <div class="table-frame">
          <div
            class={`table ${phase === "reloading" ? "is-stale" : ""}`}
            role="table"
            aria-label="Runs"
            aria-rowcount={(counts?.total ?? rows.length) + 1}
          >
            <Heads sort={filter.sort} order={filter.order} onSort={sortBy} />
            <VirtualRows
              handle={list}
              count={rows.length}
              height={isNarrow ? 84 : 38}
              role="rowgroup"
              tabIndex={0}
              aria-label="Rows"
              onClick={onRow}
              onNearEnd={more}
              row={(index) => {
                const run = rows[index];
                return (
                  <RunRow
                    key={run.run_id}
                    run={run}
                    index={index}
                    isSelected={run.run_id === selection.id}
                  />
                );
              }}
            />
          </div>
          <p class="table-foot">
            {count(rows.length)} listed{table.next ? " · more load as you scroll" : ""}
          </p>
        </div>
      )}
    </div>
  );
}
