// SPDX-License-Identifier: Apache-2.0
// What waits for people: how many, for the navigation, and the words of the inbox.
import { get } from "./api.js";
import { listen } from "./overview.js";
import { Signal } from "./store.js";

const QUIET_MS = 150;

/** How many wait, and how many of them for the caller; null = not known yet. */
export const waiting = new Signal({ waiting: null, mine: null });

export const LEVELS = {
  critical: { label: "Critical", tone: "red" },
  high: { label: "High", tone: "orange" },
  medium: { label: "Medium", tone: "amber" },
  low: { label: "Low", tone: "grey" },
};

export const STATES = {
  requested: { label: "New", tone: "blue" },
  routed: { label: "Waiting", tone: "blue" },
  rerouted: { label: "Passed on", tone: "violet" },
  escalated: { label: "Escalated", tone: "orange" },
  needs_info: { label: "Agent must answer", tone: "teal" },
  approved: { label: "Approved", tone: "green" },
  rejected: { label: "Rejected", tone: "red" },
  expired: { label: "Expired", tone: "grey" },
  cancelled: { label: "Cancelled", tone: "grey" },
  superseded: { label: "Superseded", tone: "grey" },
  dead_lettered: { label: "Undeliverable", tone: "red" },
};

const OPEN = ["routed", "rerouted", "escalated"];
export const isOpen = ({ state }) => OPEN.includes(state);
export const isWaiting = ({ state }) =>
  isOpen({ state }) || state === "requested" || state === "needs_info";

/** "ann" of "user:ann"; other names as they are. */
export const personOf = (id) => (id ?? "").replace(/^user:(?=.)/, "");

/** "sha256:9f86d081…" */
export const shortDigest = (digest) => (digest ? `${digest.slice(0, 19)}…` : "–");

/** Call soon after something happened: once for many changes. @return what takes a change */
export function soon(run) {
  let timer = null;
  return () => {
    timer ??= setTimeout(() => {
      timer = null;
      run();
    }, QUIET_MS);
  };
}

async function count() {
  try {
    const { counts } = await get("/v1/inbox?limit=1");
    waiting.value = { waiting: counts.waiting, mine: counts.mine };
  } catch {
    // The next change counts again.
  }
}

/** Keep `waiting` up to date. @return function that ends it */
export function watchInbox() {
  const later = soon(count);
  count();
  return listen({ inbox: later, reset: later, open: (isFirst) => isFirst || later() });
}
