// SPDX-License-Identifier: Apache-2.0
// Statuses of runs: one row each. tone: colour in tokens.css; glyph: shape in ui/icons.jsx, so that
// a status is never told by colour alone.

export const STATUSES = {
  running: { label: "Running", tone: "blue", glyph: "spin", isOpen: true },
  queued: { label: "Queued", tone: "violet", glyph: "queue", isOpen: true },
  paused: { label: "Paused", tone: "amber", glyph: "pause", isOpen: true },
  waiting: { label: "Waiting for a person", tone: "amber", glyph: "clock", isOpen: true },
  parked: { label: "Parked", tone: "amber", glyph: "park", isOpen: true },
  interrupted: { label: "Interrupted", tone: "amber", glyph: "bolt", isOpen: true },
  completed: { label: "Completed", tone: "green", glyph: "check" },
  blocked: { label: "Blocked", tone: "orange", glyph: "block" },
  failed: { label: "Failed", tone: "red", glyph: "cross" },
  max_iterations: { label: "Iteration limit", tone: "orange", glyph: "limit" },
  policy_violation: { label: "Policy violation", tone: "red", glyph: "shield" },
  budget_exceeded: { label: "Budget exceeded", tone: "orange", glyph: "limit" },
  timeout: { label: "Timed out", tone: "orange", glyph: "clock" },
  cancelled: { label: "Cancelled", tone: "grey", glyph: "stop" },
  error: { label: "Error", tone: "red", glyph: "alert" },
};

export function statusOf(name) {
  return STATUSES[name] ?? { label: name ?? "Unknown", tone: "grey", glyph: "dot" };
}

export const WARNING_KINDS = {
  limit: { label: "Near a limit", tone: "amber" },
  policy: { label: "Denied", tone: "red" },
  policy_refused: { label: "Policy file rejected", tone: "red" },
  handoff: { label: "Waits for a person", tone: "amber" },
  event: { label: "Trigger event", tone: "amber" },
  ended: { label: "Ended without success", tone: "red" },
  stalled: { label: "Stalled", tone: "orange" },
  storage: { label: "Storage", tone: "red" },
  task: { label: "Task of a PRD", tone: "amber" },
  test: { label: "Test", tone: "grey" },
};
