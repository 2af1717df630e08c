// SPDX-License-Identifier: Apache-2.0
// Fills a RunLog: the newest events first, then what comes live, then the older ones after the
// scenes. What a cut connection missed comes with Last-Event-ID, or from the API after a reset.
import { parseJson } from "../lib/json.js";
import { get, query } from "../lib/api.js";
import { openStream } from "../lib/live.js";
import { Signal } from "../lib/store.js";
import { RunLog } from "./log.js";

const PAGE = 1000;
const FIRST_PAGE = 300;
const RETRY_MS = 2000;
/** So many events are fetched without being asked for. */
const EAGER_EVENTS = 20_000;

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
