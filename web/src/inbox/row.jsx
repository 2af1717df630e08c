// SPDX-License-Identifier: Apache-2.0
// One row of the inbox.
import { escaped } from "../lib/exact.js";
import { LEVELS, personOf, STATES } from "../lib/inbox.js";
import { plural, span } from "../lib/format.js";
import { href } from "../lib/router.js";
import { useSignal } from "../lib/store.js";
import { clock, now } from "../lib/time.js";
import { Icon } from "../ui/icons.jsx";
import { Age } from "../ui/parts.jsx";
import { Exact } from "./exact.jsx";

export function Risk({ level }) {
  const { label, tone } = LEVELS[level] ?? { label: level, tone: "grey" };
  return (
    <span class={`tag tone-${tone}`}>
      {label}
      <span class="sr"> risk</span>
    </span>
  );
}

/** The time that is left to decide: it is nearer the redder. */
export function Countdown({ row }) {
  useSignal(clock);
  if (row.state === "needs_info") return <span class="faint">agent answers</span>;
  if (!row.due_at) return <span class="faint">–</span>;
  const left = Date.parse(row.due_at) - now();
  const all = Date.parse(row.due_at) - Date.parse(row.requested_at);
  const tone = left <= 0 || left < all * 0.25 ? "red" : left < all * 0.5 ? "amber" : "grey";
  return (
    <time class={`countdown tone-${tone}`} dateTime={row.due_at} title={`Due ${row.due_at}`}>
      {left <= 0 ? "overdue" : span(left).replace(/\.\d+ s$/, " s")}
    </time>
  );
}

function Marks({ row }) {
  const state = STATES[row.state];
  const marks = [
    row.state !== "routed" && state && (
      <span key="s" class={`toned tone-${state.tone}`}>
        {state.label}
      </span>
    ),
    row.escalation_level > 0 && <span key="l">level {row.escalation_level}</span>,
    row.hops > 0 && <span key="h">{plural(row.hops, "hop")}</span>,
    row.approvals_required > 1 && (
      <span key="q">
        {row.approvals.length} of {row.approvals_required} approvals
      </span>
    ),
    row.claimed_by && (
      <span key="c" class="claimed">
        <Icon name="user" size={11} /> {escaped(personOf(row.claimed_by))}
      </span>
    ),
  ].filter(Boolean);
  return marks.length ? <span class="inbox-marks">{marks}</span> : null;
}

export function InboxRow({ row, isSelected, isOpen }) {
  const { text, bytes } = row.args;
  const isCut = new TextEncoder().encode(text).length < bytes;
  return (
    <li
      class={`inbox-row ${isSelected ? "is-selected" : ""}`}
      data-id={row.request_id}
      data-state={row.state}
    >
      <a href={href("inbox", row.request_id)} aria-current={isOpen ? "true" : undefined}>
        <Risk level={row.risk_level} />
        <span class="inbox-text">
          <span class="inbox-what">
            <strong>
              <Exact text={row.tool ?? "?"} />
            </strong>{" "}
            <code>
              <Exact text={text} />
              {isCut && <span title={`${bytes} bytes`}>⋯</span>}
            </code>
          </span>
          <span class="inbox-who">
            {escaped(row.agent_id)} · {row.desk ? escaped(row.desk) : "no desk"} ·{" "}
            <Age time={row.requested_at} />
            <Marks row={row} />
          </span>
        </span>
        <Countdown row={row} />
      </a>
    </li>
  );
}
