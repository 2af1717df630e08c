// SPDX-License-Identifier: Apache-2.0
// Work items: their states, one row each. canRetry, canRelease: what a person may request.

export const WORK_STATES = {
  assigned: { label: "Claimed", tone: "blue", canRelease: true },
  "in-progress": { label: "In progress", tone: "blue", canRelease: true },
  "in-review": { label: "In review", tone: "violet", canRelease: true },
  "retry-later": { label: "Retry later", tone: "amber", canRetry: true, canRelease: true },
  blocked: { label: "Blocked", tone: "red", canRetry: true },
  "needs-human": { label: "Needs human", tone: "orange", canRetry: true },
  cancelled: { label: "Cancelled", tone: "grey" },
  fenced: { label: "Taken over", tone: "grey" },
  done: { label: "Done", tone: "green" },
};

export const workState = (name) => WORK_STATES[name] ?? { label: name, tone: "grey" };

/** "attempts spent": a name of the API in words. */
export const reasonWords = (reason) => reason?.replaceAll("_", " ");
