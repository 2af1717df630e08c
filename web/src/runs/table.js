// SPDX-License-Identifier: Apache-2.0
// The rows of the table of runs: pages of the list, kept up by the stream, each run once and in the
// order that the server sorts in.
import { get, query } from "../lib/api.js";
import { Signal } from "../lib/store.js";

const FIRST = 100;
const PAGE = 500;

const text = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
const ORDERS = {
  created: (a, b) => text(a.created, b.created),
  updated: (a, b) => text(a.updated, b.updated),
  agent: (a, b) => text(a.agent_id, b.agent_id),
  status: (a, b) => text(a.status, b.status),
  iteration: (a, b) => a.iteration - b.iteration,
  progress: (a, b) => (a.percent ?? -1) - (b.percent ?? -1),
  conditions: (a, b) => share(a) - share(b),
  tokens: (a, b) => a.tokens - b.tokens,
  cost: (a, b) => a.cost - b.cost,
  warnings: (a, b) => (a.warnings ?? 0) - (b.warnings ?? 0),
};

const share = (run) => (run.conditions_total ? run.conditions_met / run.conditions_total : -1);

/** What only this page can sort by: then all rows are fetched first. */
const OWN_ORDERS = new Set(["conditions", "progress"]);

export class RunTable {
  constructor() {
    this.byId = new Map();
    this.rows = [];
    this.counts = null;
    this.damaged = [];
    this.stores = [];
    this.next = null;
    this.problem = null;
    this.phase = "loading";
    this.filter = null;
    this.changed = new Signal(0);
    this.abort = null;
    this.fetching = null;
  }

  close() {
    this.abort?.abort();
    clearTimeout(this.sorting);
    clearTimeout(this.counting);
  }

  /** filter: {statuses: [], agent, q, sort, order, store} */
  async load(filter) {
    this.close();
    const abort = new AbortController();
    this.abort = abort;
    // Cursors of the former list lead nowhere: its next page would leave a hole in the new one.
    const { next } = this;
    this.next = null;
    this.fetching = null;
    const isNew = JSON.stringify(filter) !== JSON.stringify(this.filter);
    this.filter = filter;
    if (isNew) {
      this.phase = this.rows.length ? "reloading" : "loading";
      this.touch();
    }
    try {
      const page = await this.#fetch(abort, null, FIRST);
      // Replaced as a whole: what was deleted meanwhile is gone.
      this.byId = new Map(page.runs.map((run) => [run.run_id, run]));
      this.counts = page.counts;
      this.damaged = page.damaged ?? [];
      this.stores = page.stores ?? [];
      this.next = page.next_cursor;
      this.problem = null;
      this.phase = "ready";
      this.#sort();
      if (OWN_ORDERS.has(filter.sort)) await this.rest();
    } catch (problem) {
      if (abort.signal.aborted) return;
      this.next = next;
      this.problem = problem;
      this.phase = this.rows.length ? "ready" : "failed";
      this.touch();
    }
  }

  #fetch(abort, cursor, limit) {
    const { statuses, agent, q, sort, order, store } = this.filter;
    const values = {
      store,
      status: statuses.join(","),
      agent,
      q,
      sort: OWN_ORDERS.has(sort) ? "created" : sort,
      order,
      limit,
      cursor,
      // Attempts at tasks are seen with the run that they are made for, or when they are asked for.
      children: agent || q ? "show" : "hide",
    };
    return get(`/v1/runs${query(values)}`, { signal: abort.signal });
  }

  /** Fetch the next page. A second caller waits for the fetch that is under way. */
  more() {
    if (!this.next || this.phase !== "ready") return Promise.resolve();
    if (this.fetching) return this.fetching;
    const fetching = this.#fetchMore(this.abort).finally(() => {
      if (this.fetching === fetching) this.fetching = null;
    });
    this.fetching = fetching;
    return fetching;
  }

  async #fetchMore(abort) {
    try {
      const page = await this.#fetch(abort, this.next, PAGE);
      if (abort.signal.aborted) return;
      for (const run of page.runs) if (!this.#isOlder(run)) this.byId.set(run.run_id, run);
      this.next = page.next_cursor;
      this.problem = null;
      this.#sort();
    } catch (problem) {
      if (!abort.signal.aborted) this.problem = problem;
    }
  }

  async rest() {
    const { abort } = this;
    while (this.next && !abort.signal.aborted && !this.problem) await this.more();
  }

  /** The stream may be ahead of a page that was asked for before. */
  #isOlder(run) {
    const known = this.byId.get(run.run_id);
    return known && (known.last_seq ?? 0) > (run.last_seq ?? 0);
  }

  #fits(run) {
    const { statuses, agent, q, store } = this.filter;
    if (store && run.store !== store) return false;
    if (run.parent_id && !agent && !q) return false;
    if (statuses.length && !statuses.includes(run.status)) return false;
    if (agent && run.agent_id !== agent) return false;
    if (!q) return true;
    const needle = q.toLowerCase();
    return run.agent_id.toLowerCase().includes(needle) || run.run_id.startsWith(needle);
  }

  /** Whether a run that is not here yet belongs to the part of the list that was fetched. */
  #isInReach(run) {
    if (!this.next || !this.rows.length) return true;
    return this.#compare(run, this.rows[this.rows.length - 1]) < 0;
  }

  /** Rows of the stream. */
  apply(runs) {
    if (!this.filter) return;
    for (const run of runs) {
      if (this.#isOlder(run)) continue;
      const isKnown = this.byId.has(run.run_id);
      if (!this.#fits(run)) this.byId.delete(run.run_id);
      else if (isKnown || this.#isInReach(run)) this.byId.set(run.run_id, run);
    }
    this.#sortSoon();
  }

  applyCounts(counts) {
    if (!this.filter || this.phase === "loading") return;
    // Of several stores each tells its own.
    if (!this.filter.agent && !this.filter.q && !counts.store) {
      this.counts = counts;
      this.touch();
      return;
    }
    // Those of the stream are of all runs; those of a filter have to be asked for.
    clearTimeout(this.counting);
    const { abort } = this;
    this.counting = setTimeout(async () => {
      try {
        this.counts = (await this.#fetch(abort, null, 1)).counts;
        this.touch();
      } catch {
        // The next change asks again.
      }
    }, 1000);
  }

  #compare(a, b) {
    const { sort, order } = this.filter;
    const result = ORDERS[sort](a, b) || text(a.run_id, b.run_id);
    return order === "asc" ? result : -result;
  }

  /** Values change at once, places twice a second at most: rows that jump cannot be read. */
  #sortSoon() {
    this.rows = this.rows
      .filter((run) => this.byId.has(run.run_id))
      .map((run) => this.byId.get(run.run_id));
    this.touch();
    this.sorting ??= setTimeout(() => this.#sort(), 400);
  }

  #sort() {
    clearTimeout(this.sorting);
    this.sorting = null;
    this.rows = [...this.byId.values()].sort((a, b) => this.#compare(a, b));
    this.touch();
  }

  touch() {
    this.changed.value += 1;
  }
}
