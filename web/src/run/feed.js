// SPDX-License-Identifier: Apache-2.0
// The events of one run that are known here, in order and each once, and what follows from them:
// iterations, histories of conditions, plan, usage. Everything is kept up event by event, never
// computed again from the beginning.
// A feed fills the log: the newest events first, then what comes live, then the older ones after the
// scenes. What a cut connection missed comes with Last-Event-ID, or from the API after a reset.
import { parseJson } from "../lib/json.js";
import { get, query } from "../lib/api.js";
import { openStream } from "../lib/live.js";
import { Signal } from "../lib/store.js";

const PAGE = 1000;
const FIRST_PAGE = 300;
const RETRY_MS = 2000;
/** So many events are fetched without being asked for. */
const EAGER_EVENTS = 20_000;

export class RunLog {
  constructor() {
    /** In order of seq, without gap: events[i].seq === firstSeq + i. */
    this.events = [];
    this.iterations = new Map();
    this.conditions = new Map();
    this.warnings = [];
    this.policies = [];
    this.notes = 0;
    this.tokens = 0;
    this.cost = 0;
    this.latest = {};
    /** Number of the last event about tasks of a PRD. */
    this.taskSeq = 0;
    this.changed = new Signal(0);
  }

  get firstSeq() {
    return this.events.length ? this.events[0].seq : 0;
  }

  get lastSeq() {
    return this.events.length ? this.events[this.events.length - 1].seq : 0;
  }

  /** Whether the beginning of the run is known. */
  get isWhole() {
    return this.events.length === 0 || this.firstSeq <= 1;
  }

  /** Take events after the last one. @return how many were new; -1 when some are missing between */
  append(list) {
    let added = 0;
    for (const event of list) {
      if (this.events.length && event.seq <= this.lastSeq) continue;
      if (this.events.length && event.seq !== this.lastSeq + 1) return -1;
      this.events.push(event);
      this.#fold(event, false);
      added += 1;
    }
    if (added) this.changed.value += 1;
    return added;
  }

  /** Take events before the first one, in order. */
  prepend(list) {
    const older = list.filter((event) => !this.events.length || event.seq < this.firstSeq);
    if (!older.length) return;
    this.events = older.concat(this.events);
    for (let i = older.length - 1; i >= 0; i -= 1) this.#fold(older[i], true);
    this.changed.value += 1;
  }

  iteration(number) {
    let entry = this.iterations.get(number);
    if (!entry) {
      entry = {
        number,
        started: null,
        ended: null,
        duration: null,
        tokens: 0,
        cost: 0,
        outcome: null,
        attempt: 1,
      };
      this.iterations.set(number, entry);
    }
    return entry;
  }

  /** Iterations in order, as arrays for charts. */
  sortedIterations() {
    return [...this.iterations.values()].sort((a, b) => a.number - b.number);
  }

  #put(list, event, isOlder) {
    if (isOlder) list.unshift(event);
    else list.push(event);
  }

  /** Keep the newest event of a kind. */
  #keepLatest(key, event, isOlder) {
    if (!isOlder || !this.latest[key]) this.latest[key] = event;
  }

  #fold(event, isOlder) {
    const { type, data } = event;
    const fold = FOLDS[type];
    if (fold) fold.call(this, event, data, isOlder);
    if (type === "policy.changed" || type === "policy.refused") {
      this.#put(this.policies, event, isOlder);
    } else if (type === "limit.warning" || type === "storage.degraded" || type === "gate.denied") {
      this.#put(this.warnings, event, isOlder);
    }
    if (TASKS.test(type)) this.taskSeq = Math.max(this.taskSeq, event.seq);
    if (LATEST.has(type)) this.#keepLatest(type, event, isOlder);
  }
}

const TASKS = /^(tasks?|work)\./;

const LATEST = new Set([
  "plan.updated",
  "run.finished",
  "run.claimed",
  "iteration.started",
  "checkpoint.saved",
]);

const FOLDS = {
  "iteration.started"(event, data, isOlder) {
    const entry = this.iteration(data.iteration);
    if (isOlder && entry.started) return;
    entry.started = event.time;
    entry.attempt = data.attempt ?? 1;
    entry.limit = data.limit;
  },
  "iteration.finished"(event, data) {
    const entry = this.iteration(data.iteration);
    entry.ended = event.time;
    entry.duration = data.duration_ns / 1e6;
    entry.outcome = data.outcome;
    entry.tokens = data.tokens ?? 0;
    entry.cost = (data.cost_micro ?? 0) / 1e6;
    this.tokens += entry.tokens;
    this.cost += entry.cost;
  },
  "condition.evaluated"(event, data, isOlder) {
    if (!this.conditions.has(data.name)) this.conditions.set(data.name, []);
    const history = this.conditions.get(data.name);
    const row = { seq: event.seq, time: event.time, ...data };
    if (isOlder) history.unshift(row);
    else history.push(row);
  },
};

export class RunFeed {
  constructor(runId) {
    this.runId = runId;
    this.log = new RunLog();
    /** {isLoading, problem, hasMore} of the older events */
    this.state = new Signal({ isLoading: true, problem: null, hasMore: false });
    this.abort = new AbortController();
    this.onEvents = () => {};
    this.onReopen = () => {};
    this.waiting = [];
    this.isFilling = false;
  }

  async start() {
    const ended = this.abort.signal;
    try {
      const first = await this.#page({ order: "desc", limit: FIRST_PAGE });
      if (ended.aborted) return;
      this.log.append(first.events.reverse());
    } catch (problem) {
      if (ended.aborted) return;
      this.state.value = { isLoading: false, problem, hasMore: false };
      const isPassing = problem.status === 0 || problem.status >= 500 || problem.status === 429;
      if (isPassing) this.restarting = setTimeout(() => this.start(), RETRY_MS);
      return;
    }
    this.#follow();
    await this.older(EAGER_EVENTS);
  }

  close() {
    this.abort.abort();
    this.closeStream?.();
    clearTimeout(this.flushing);
    clearTimeout(this.restarting);
  }

  async #page(values) {
    const path = `/v1/runs/${this.runId}/events${query(values)}`;
    return get(path, { signal: this.abort.signal });
  }

  #follow() {
    const url = `/v1/runs/${this.runId}/events${query({ after: this.log.lastSeq })}`;
    this.closeStream = openStream(
      url,
      { frame: (frame) => this.#onFrame(frame), open: (isFirst) => isFirst || this.onReopen() },
      this.log.lastSeq,
    );
  }

  #onFrame(frame) {
    if (frame.event === "reset") {
      this.fill();
      return;
    }
    let event;
    try {
      event = parseJson(frame.data);
    } catch {
      return;
    }
    if (typeof event.seq !== "number") return;
    this.waiting.push(event);
    this.flushing ??= setTimeout(() => this.#flush(), 30);
  }

  #flush() {
    this.flushing = null;
    if (this.isFilling) return;
    const events = this.waiting;
    this.waiting = [];
    const before = this.log.lastSeq;
    const added = this.log.append(events);
    if (added < 0) this.fill();
    const fresh = events.filter((event) => event.seq > before);
    if (fresh.length) this.onEvents(fresh);
  }

  /** Fetch what lies between the last event and now; live ones wait meanwhile. */
  async fill() {
    if (this.isFilling) return;
    this.isFilling = true;
    try {
      // A page ends where it is long enough in bytes, too: only the answer knows whether it is the last.
      let next = this.log.lastSeq;
      while (next !== null) {
        const page = await this.#page({ after: next, limit: PAGE, order: "asc" });
        if (this.log.append(page.events) > 0) this.onEvents(page.events);
        next = page.next;
      }
    } catch {
      // The connection is gone; the stream tells it and comes back with the last id.
    }
    this.isFilling = false;
    if (this.waiting.length) this.#flush();
  }

  /** Fetch older events, up to so many in all. */
  async older(most = this.log.events.length + 10 * PAGE) {
    const { log, state, abort } = this;
    try {
      while (!log.isWhole && log.events.length < most && !abort.signal.aborted) {
        state.value = { isLoading: true, problem: null, hasMore: true };
        const { events } = await this.#page({ before: log.firstSeq, order: "desc", limit: PAGE });
        if (!events.length) break;
        log.prepend(events.reverse());
        await new Promise((resolve) => setTimeout(resolve, 0));
      }
      state.value = { isLoading: false, problem: null, hasMore: !log.isWhole };
    } catch (problem) {
      if (!abort.signal.aborted) state.value = { isLoading: false, problem, hasMore: true };
    }
  }
}
