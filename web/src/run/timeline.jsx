// SPDX-License-Identifier: Apache-2.0
// Everything that happened, in order: thousands of rows, a filter, and all of one event beside.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { count, dateTime, span, timeOfDay } from "../lib/format.js";
import { useKeys, useMedia } from "../lib/hooks.js";
import { route, setParams } from "../lib/router.js";
import { useSignal } from "../lib/store.js";
import { Button, Chips, Copy, Facts, Pretty } from "../ui/parts.jsx";
import { Empty, Failure, Skeleton } from "../ui/states.jsx";
import { VirtualRows } from "../ui/virtual.jsx";
import { CATEGORIES, startOf } from "./categories.js";

/** Events of the chosen categories; kept up as the log grows at either end. */
class Selection {
  constructor(log, categories) {
    this.log = log;
    this.categories = categories;
    this.rows = [];
    this.first = 0;
    this.last = 0;
    this.added = 0;
    this.counts = {};
  }

  refresh() {
    const { log } = this;
    const { events } = log;
    if (!events.length) return this;
    const older = this.last ? events.slice(0, this.first - log.firstSeq) : [];
    const newer = this.last ? events.slice(this.last - log.firstSeq + 1) : events;
    if (older.length) {
      const kept = older.filter((event) => this.#take(event));
      this.rows = kept.concat(this.rows);
      this.added += kept.length;
    }
    for (const event of newer) if (this.#take(event)) this.rows.push(event);
    this.first = log.firstSeq;
    this.last = log.lastSeq;
    return this;
  }

  #take(event) {
    const { category } = event;
    this.counts[category] = (this.counts[category] ?? 0) + 1;
    return this.categories.length === 0 || this.categories.includes(category);
  }
}

function Row({ event, index, isOpen, onOpen }) {
  const ns = event.data?.duration_ns;
  return (
    <div
      class={`tl-row level-${event.level} ${isOpen ? "is-selected" : ""}`}
      role="row"
      aria-rowindex={index + 1}
      data-seq={event.seq}
      onClick={onOpen}
    >
      <span role="cell" class="tl-seq num faint">
        {event.seq}
      </span>
      <span role="cell" class="tl-time">
        <time
          dateTime={event.time}
          title={
            ns ? `${timeOfDay(startOf(event))} to ${timeOfDay(event.time)}` : dateTime(event.time)
          }
        >
          {timeOfDay(event.time)}
        </time>
      </span>
      <span role="cell" class="tl-lane">
        <i class={`lane tone-${CATEGORIES[event.category].tone}`} />
      </span>
      <span role="cell" class="tl-iteration num faint">
        {event.data?.iteration ? `#${event.data.iteration}` : ""}
      </span>
      <span role="cell" class="tl-text">
        <button type="button" class="tl-open" tabIndex={-1}>
          {event.text}
        </button>
      </span>
      <span role="cell" class="tl-duration num faint">
        {ns ? span(ns / 1e6) : ""}
      </span>
    </div>
  );
}

function Exactly({ time }) {
  return (
    <>
      {dateTime(time)}
      <span class="faint">.{timeOfDay(time).slice(-3)}</span>
    </>
  );
}

function Detail({ event, onClose }) {
  const start = startOf(event);
  const ns = event.data?.duration_ns || null;
  return (
    <aside class="detail" aria-label={`Event ${event.seq}`}>
      <header class="detail-head">
        <h2>Event {event.seq}</h2>
        <Button icon="close" label="Close" onClick={onClose} />
      </header>
      <Facts
        rows={[
          ["Type", <code>{event.type}</code>],
          ["Began", ns && <Exactly time={start} />],
          [ns ? "Ended" : "Time", <Exactly time={event.time} />],
          ["Took", ns && span(ns / 1e6)],
        ]}
      />
      <p class="pad">{event.text}</p>
      {event.data?.output && <Pretty label="Output" value={event.data.output} />}
      <div class="detail-data">
        <span class="faint">Data</span>
        <Copy text={JSON.stringify(event.data, null, 2)} label="data" />
      </div>
      <Pretty label="Data of the event" value={event.data} />
    </aside>
  );
}

function categoryItems(counts) {
  return Object.entries(CATEGORIES)
    .filter(([key]) => counts[key])
    .map(([key, { label, tone }]) => ({ key, name: label, tone, count: count(counts[key] ?? 0) }));
}

export function Timeline({ feed, version }) {
  const { params } = useSignal(route);
  const { isLoading, problem, hasMore } = useSignal(feed.state);
  const chosen = (params.show ?? "").split(",").filter((key) => CATEGORIES[key]);
  const key = chosen.join(",");
  const selection = useMemo(() => new Selection(feed.log, chosen), [feed, key]);
  useMemo(() => selection.refresh(), [selection, version]);
  const [openSeq, setOpenSeq] = useState(null);
  const [isFollowing, setFollowing] = useState(true);
  const [seen, setSeen] = useState(0);
  const isNarrow = useMedia("(max-width: 720px)");
  const list = useRef(null);
  const { rows } = selection;
  useEffect(() => {
    if (isFollowing) setSeen(feed.log.lastSeq);
  }, [isFollowing, version]);
  const at = rows.findIndex((event) => event.seq === openSeq);
  const move = (step) => {
    if (!rows.length) return;
    const next = at < 0 ? rows.length - 1 : Math.max(0, Math.min(rows.length - 1, at + step));
    setFollowing(next === rows.length - 1);
    setOpenSeq(rows[next].seq);
    list.current?.reveal(next);
  };
  useKeys({
    j: () => move(1),
    k: () => move(-1),
    ArrowDown: () => move(1),
    ArrowUp: () => move(-1),
    Escape: () => setOpenSeq(null),
  });
  if (!feed.log.events.length) {
    if (problem) return <Failure problem={problem} />;
    return isLoading ? <Skeleton rows={12} /> : <Empty title="Nothing has happened yet" />;
  }
  const missed = isFollowing ? 0 : Math.max(0, feed.log.lastSeq - seen);
  return (
    <div class="timeline">
      <div class="toolbar">
        <Chips
          label="Kinds of events"
          items={categoryItems(selection.counts)}
          chosen={chosen}
          onChange={(keys) => setParams({ show: keys.join(",") })}
        />
        <span class="toolbar-end faint" role="status">
          {count(rows.length)} events{hasMore ? (isLoading ? " · loading older ones" : "") : ""}
        </span>
      </div>
      {problem && <Failure problem={problem} onRetry={() => feed.older()} />}
      <div class={`timeline-body ${at >= 0 ? "has-detail" : ""}`}>
        <div class="timeline-list">
          <div
            class="timeline-table"
            role="table"
            aria-label="Timeline"
            aria-rowcount={rows.length}
          >
            <VirtualRows
              handle={list}
              count={rows.length}
              height={isNarrow ? 46 : 28}
              anchor={-selection.added}
              follow={isFollowing}
              onScroll={setFollowing}
              role="rowgroup"
              tabIndex={0}
              aria-label="Events, oldest first"
              row={(index) => {
                const event = rows[index];
                return (
                  <Row
                    key={event.seq}
                    event={event}
                    index={index}
                    isOpen={event.seq === openSeq}
                    onOpen={() => setOpenSeq(event.seq)}
                  />
                );
              }}
            />
          </div>
          {!isFollowing && (
            <button
              type="button"
              class="to-end"
              onClick={() => {
                setFollowing(true);
                list.current?.toEnd();
              }}
            >
              {missed ? `${count(missed)} new · ` : ""}To the newest
            </button>
          )}
          {hasMore && !isLoading && (
            <button type="button" class="link to-older" onClick={() => feed.older()}>
              Load older events
            </button>
          )}
        </div>
        {at >= 0 && <Detail event={rows[at]} onClose={() => setOpenSeq(null)} />}
      </div>
    </div>
  );
}
