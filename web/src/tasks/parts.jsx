// SPDX-License-Identifier: Apache-2.0
// Small parts of the views of tasks.
import { money, spanOfNs } from "../lib/format.js";
import { outcomeOf, stateOf, toneOf } from "../lib/tasks.js";
import { Icon } from "../ui/icons.jsx";

export function StateMark({ state }) {
  const { glyph, tone } = stateOf(state);
  return (
    <span class={`task-mark tone-${tone}`} aria-hidden="true">
      {glyph === "spin" ? <span class="spin" /> : <Icon name={glyph} size={12} />}
    </span>
  );
}

export function State({ state }) {
  const { label, tone } = stateOf(state);
  return (
    <span class={`status tone-${tone}`}>
      <StateMark state={state} />
      <span class="status-label">{label}</span>
    </span>
  );
}

export function OutcomeTag({ attempt }) {
  return <span class={`state tone-${toneOf(attempt)}`}>{outcomeOf(attempt)}</span>;
}

export const shortCommit = (id) => (id ? id.slice(0, 10) : "");

/** "2 attempts · 1 m 05 s · $0.12" of what is known. */
export function figuresOf(task) {
  const attempts = task.attempts.length || task.attempt;
  return [
    attempts > 1 ? `${attempts} attempts` : null,
    task.duration_ns > 0 ? spanOfNs(task.duration_ns) : null,
    task.cost > 0 ? money(task.cost) : null,
  ]
    .filter(Boolean)
    .join(" · ");
}
