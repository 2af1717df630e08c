// SPDX-License-Identifier: Apache-2.0
// What waits for people: a list by the time that is left, and one entry in full. Live.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { get, query } from "../lib/api.js";
import { escaped } from "../lib/exact.js";
import { count } from "../lib/format.js";
import { marked } from "../lib/hidden.js";
import { isAfterPrefix, useApi, useDebounced, useKeys, useTitle } from "../lib/hooks.js";
import { isWaiting, LEVELS, soon, waiting } from "../lib/inbox.js";
import { connection, retryNow } from "../lib/live.js";
import { listen } from "../lib/overview.js";
import { go, href, route, setParams } from "../lib/router.js";
import { lacks, session } from "../lib/session.js";
import { useSignal } from "../lib/store.js";
import { claim, DIALOGS } from "../inbox/decide.jsx";
import {
  Action,
  ACTIONS,
  blockOf,
  Buttons,
  FromAgent,
  Head,
  Outcome,
  Thread,
  Why,
} from "../inbox/entry.jsx";
import { Folded } from "../inbox/exact.jsx";
import { hiddenOf, HiddenValues, RevealDialog, useReveal } from "../inbox/reveal.jsx";
import { InboxRow } from "../inbox/row.jsx";
import { Icon } from "../ui/icons.jsx";
import { Button, Chips, Segments, Select } from "../ui/parts.jsx";
import { More } from "../ui/rows.jsx";
import { PageHead } from "../ui/shell.jsx";
import { Empty, Failure, Loaded, Notice, Skeleton } from "../ui/states.jsx";
import { toast } from "../ui/toast.jsx";

const PAGE = 50;
const EVERY_MS = 30_000;

/** Load again when something happened to a handoff: to `id`, or to any. */
function useChanges(reload, id = null) {
  useEffect(() => {
    const later = soon(reload);
    const timer = setInterval(() => document.hidden || reload(), EVERY_MS);
    const stop = listen({
      inbox: (change) => {
        if (id === null || change.kind === "reset" || change.request_id === id) later();
      },
      reset: later,
      open: (isFirst) => isFirst || later(),
    });
    return () => {
      clearInterval(timer);
      stop();
    };
  }, [reload, id]);
}

/* ---- The list --------------------------------------------------------------------------------- */

function useInbox(filter) {
  const path = `/v1/inbox${query({ ...filter, limit: PAGE })}`;
  const first = useApi(path, { isRaw: true });
  const [more, setMore] = useState({ of: null });
  useChanges(first.reload);
  useEffect(() => {
    if (!first.data) return;
    waiting.value = { waiting: first.data.counts.waiting, mine: first.data.counts.mine };
  }, [first.data]);
  const mine =
    more.list && more.of === first.data
      ? more
      : { of: first.data, list: [], next: first.data?.next };
  const load = async () => {
    setMore({ ...mine, isLoading: true });
    try {
      const page = await get(`/v1/inbox${query({ ...filter, limit: PAGE, cursor: mine.next })}`, {
        isRaw: true,
      });
      setMore({ ...mine, list: [...mine.list, ...page.handoffs], next: page.next });
    } catch (problem) {
      setMore({ ...mine, isLoading: false });
      toast(problem.message, { tone: "amber" });
    }
  };
  const rows = [...(first.data?.handoffs ?? []), ...mine.list];
  return { ...first, rows, next: mine.next, older: load, isOlderLoading: mine.isLoading };
}

function Counters({ counts, priority, onChange }) {
  const items = Object.entries(LEVELS).map(([key, { label, tone }]) => ({
    key,
    name: label,
    tone,
    count: counts ? count(counts.priority[key]) : "",
  }));
  return (
    <Chips
      label="Priority"
      items={items}
      chosen={priority ? [priority] : []}
      onChange={(chosen) => onChange(chosen.at(-1) ?? null)}
    />
  );
}

function Desks({ counts, desk, onChange }) {
  const desks = counts?.desks ?? [];
  if (desks.length < 2 && !desk) return null;
  return (
    <Select
      label="Desk"
      all="All desks"
      names={desks.map(({ name }) => name)}
      textOf={(name) => `${escaped(name)} (${desks.find((one) => one.name === name)?.count ?? 0})`}
      chosen={desk}
      onChange={onChange}
    />
  );
}

function NothingWaits({ isFiltered, onClear }) {
  if (!isFiltered)
    return (
      <Empty icon="inbox" title="Nothing waits for you">
        Calls that need your decision appear here at once.
      </Empty>
    );
  return (
    <Empty icon="search" title="Nothing matches">
      <Button onClick={onClear}>Clear the filters</Button>
    </Empty>
  );
}

function List({ state, selected, open, isFiltered, onClear }) {
  if (!state.data && state.problem)
    return <Failure problem={state.problem} onRetry={state.reload} />;
  if (!state.data) return <Skeleton rows={8} />;
  if (!state.rows.length) return <NothingWaits isFiltered={isFiltered} onClear={onClear} />;
  return (
    <>
      <ol class="inbox-list" aria-label="What waits for people">
        {state.rows.map((row) => (
          <InboxRow
            key={row.request_id}
            row={row}
            isSelected={row.request_id === (selected ?? open)}
            isOpen={row.request_id === open}
          />
        ))}
      </ol>
      <More of={state} />
    </>
  );
}

/* ---- One entry -------------------------------------------------------------------------------- */

function WholeRequest({ request }) {
  if (!request) return null;
  return (
    <details class="panel whole">
      <summary>The whole request, as the agent sent it</summary>
      <Folded text={JSON.stringify(request, null, 2)} label="The whole request" />
    </details>
  );
}

function useClaim(entry, me, reload) {
  const [isClaiming, setClaiming] = useState(false);
  const run = async () => {
    setClaiming(true);
    try {
      await claim(entry, entry.claimed_by === me?.person);
    } catch (problem) {
      toast(problem.message, { tone: "amber" });
    }
    setClaiming(false);
    reload();
  };
  return { isClaiming, run };
}

/** The key, the buttons and the dialog that show a hidden value. */
function useReveals(entry) {
  const { values, reveal } = useReveal(entry);
  const [first, setFirst] = useState(null);
  const left = hiddenOf(entry).filter((pointer) => !values[pointer]);
  const open = (pointer) => {
    const lack = lacks("reveal");
    if (lack) toast(lack, { tone: "amber" });
    else setFirst(pointer);
    return true;
  };
  return {
    key: () => !isAfterPrefix() && left.length > 0 && open(left[0]),
    panel: <HiddenValues entry={entry} values={values} onReveal={open} />,
    dialog: first !== null && left.includes(first) && (
      <RevealDialog pointers={left} first={first} reveal={reveal} onClose={() => setFirst(null)} />
    ),
  };
}

function Detail({ entry: given, desks, reload }) {
  const { me } = useSignal(session);
  const [dialog, setDialog] = useState(null);
  const entry = useMemo(() => marked(given), [given]);
  const reveals = useReveals(entry);
  const { isClaiming, run } = useClaim(entry, me, reload);
  const why = blockOf(entry, me);
  const act = (name) => () => {
    if (isAfterPrefix()) return false;
    if (why) toast(why, { tone: "amber" });
    else setDialog(name);
    return true;
  };
  useKeys({
    ...Object.fromEntries(ACTIONS.map(({ key, name }) => [key, act(name)])),
    v: reveals.key,
    c: () => isAfterPrefix() || (isWaiting(entry) && run()),
    w: () => (!isAfterPrefix() && entry.state === "needs_info" ? setDialog("withdraw") : false),
  });
  const Open = dialog && DIALOGS[dialog];
  return (
    <article class="inbox-entry" data-id={entry.request_id} data-state={entry.state}>
      <Head entry={entry} />
      <Outcome entry={entry} />
      <Buttons entry={entry} me={me} onAct={setDialog} onClaim={run} isClaiming={isClaiming} />
      <Action entry={entry} />
      {reveals.panel}
      <Why entry={entry} />
      <FromAgent request={entry.request} />
      <Thread entry={entry} />
      <WholeRequest request={entry.request} />
      {reveals.dialog}
      {Open && (
        <Open entry={entry} desks={desks} onClose={() => setDialog(null)} onChange={reload} />
      )}
    </article>
  );
}

function Entry({ id, desks }) {
  const state = useApi(`/v1/inbox/${encodeURIComponent(id)}`, { isRaw: true });
  useChanges(state.reload, id);
  return (
    <Loaded of={state} rows={10}>
      {(entry) => <Detail entry={entry} desks={desks} reload={state.reload} />}
    </Loaded>
  );
}

/* ---- The page --------------------------------------------------------------------------------- */

/** Without a connection what is shown may be decided already. */
function Disconnected() {
  const { phase } = useSignal(connection);
  const [isLate, setLate] = useState(false);
  const isLive = phase === "live" || phase === "none";
  useEffect(() => {
    setLate(false);
    const timer = isLive ? null : setTimeout(() => setLate(true), 1500);
    return () => clearTimeout(timer);
  }, [isLive]);
  if (isLive || !isLate) return null;
  return (
    <Notice icon="offline">
      Not connected: others may have decided already. <Button onClick={retryNow}>Connect</Button>
    </Notice>
  );
}

/** The row that keys act on. */
function useRows(rows, open) {
  const [selected, setSelected] = useState(null);
  const at = rows.findIndex(({ request_id: id }) => id === (open ?? selected));
  const move = (step) => () => {
    if (!rows.length) return;
    const next = rows[Math.max(0, Math.min(rows.length - 1, at < 0 ? 0 : at + step))].request_id;
    setSelected(next);
    if (open) go("inbox", next);
    document.querySelector(`[data-id="${CSS.escape(next)}"]`)?.scrollIntoView({ block: "nearest" });
  };
  return { selected: at < 0 ? null : rows[at].request_id, move };
}

function readFilter(params, q) {
  return {
    mine: params.show === "all" ? null : "true",
    priority: LEVELS[params.priority] ? params.priority : null,
    desk: params.desk || null,
    q: q || null,
  };
}

function Tools({ params, counts, text, onText, onParams, box }) {
  return (
    <div class="toolbar">
      <Segments
        label="Whose"
        items={[
          ["mine", `Mine${counts ? ` (${count(counts.mine)})` : ""}`],
          ["all", `All${counts ? ` (${count(counts.waiting)})` : ""}`],
        ]}
        chosen={params.show === "all" ? "all" : "mine"}
        onChange={(show) => onParams({ show: show === "all" ? show : null })}
      />
      <Counters
        counts={counts}
        priority={params.priority}
        onChange={(priority) => onParams({ priority })}
      />
      <Desks counts={counts} desk={params.desk} onChange={(desk) => onParams({ desk })} />
      <label class="search search-short">
        <Icon name="search" size={14} />
        <span class="sr">Search</span>
        <input
          ref={box}
          type="search"
          placeholder="Search"
          value={text}
          onInput={(event) => onText(event.currentTarget.value)}
          onKeyDown={(event) => event.key === "Escape" && event.currentTarget.blur()}
        />
        <kbd>/</kbd>
      </label>
    </div>
  );
}

export function Inbox({ rest }) {
  useTitle("Inbox");
  const { params } = useSignal(route);
  const [id] = rest;
  const box = useRef(null);
  const [text, setText] = useState(params.q ?? "");
  const late = useDebounced(text.trim(), 250);
  const change = (more) => setParams({ ...route.value.params, q: late, ...more });
  useEffect(() => change({}), [late]);
  const filter = useMemo(() => readFilter(params, late), [JSON.stringify(params), late]);
  const state = useInbox(filter);
  const { selected, move } = useRows(state.rows, id);
  const counts = state.data?.counts;
  useKeys({
    j: move(1),
    k: move(-1),
    Enter: () => selected && go("inbox", selected),
    u: () => go("inbox"),
    "/": () => box.current?.focus(),
  });
  const isFiltered = Boolean(params.priority || params.desk || late);
  return (
    <div class={`page inbox ${id ? "has-entry" : ""}`}>
      <PageHead
        title="Inbox"
        sub={state.data && state.problem ? "This list may be out of date" : "Sorted by time left"}
        before={
          id && (
            <a class="inbox-back" href={href("inbox")} aria-label="Back to the list">
              <Icon name="back" />
            </a>
          )
        }
      />
      <Disconnected />
      <div class="inbox-panes">
        <div class="inbox-pane">
          <Tools
            params={params}
            counts={counts}
            text={text}
            onText={setText}
            onParams={change}
            box={box}
          />
          <List
            state={state}
            selected={selected}
            open={id}
            isFiltered={isFiltered}
            onClear={() => {
              setText("");
              setParams({ show: params.show });
            }}
          />
        </div>
        {id && (
          <div class="inbox-detail">
            <Entry key={id} id={id} desks={counts?.desks ?? []} />
          </div>
        )}
      </div>
    </div>
  );
}
