// SPDX-License-Identifier: Apache-2.0
// The events of one run that are known here, in order and each once, and what follows from them:
// iterations, histories of conditions, plan, usage. Everything is kept up event by event, never
// computed again from the beginning.
import { Signal } from "../lib/store.js";

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
    if (LATEST.has(type)) this.#keepLatest(type, event, isOlder);
  }
}

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
