// SPDX-License-Identifier: Apache-2.0
// What a page shows when it has nothing to show: loading, empty, failed, forbidden, not found.
import { Button } from "./parts.jsx";
import { Icon } from "./icons.jsx";

export function Skeleton({ rows = 6, kind = "row" }) {
  return (
    <div class={`skeleton skeleton-${kind}`} role="status">
      <span class="sr">Loading</span>
      {Array.from({ length: rows }, (_, i) => (
        <i key={i} aria-hidden="true" style={{ "--at": i }} />
      ))}
    </div>
  );
}

export function Empty({ icon = "loop", title, children }) {
  return (
    <div class="empty">
      <span class="empty-icon">
        <Icon name={icon} size={22} />
      </span>
      <p class="empty-title">{title}</p>
      <div class="empty-text">{children}</div>
    </div>
  );
}

const TELLINGS = {
  unreachable: [
    "offline",
    "The server does not respond",
    "It may be restarting. This page reconnects automatically.",
  ],
  forbidden: ["key", "Not allowed for this token", null],
  not_found: [
    "search",
    "Not found",
    "It may have been deleted, or your token has no access to its agent.",
  ],
  rate_limited: ["clock", "Too many requests", "Wait a moment, then try again."],
  unauthorized: ["key", "Sign in first", "This server requires a token."],
};

export function Failure({ problem, onRetry, title }) {
  const [icon, heading, text] = TELLINGS[problem.code] ?? [
    "alert",
    title ?? "This could not be loaded",
    null,
  ];
  return (
    <div class="empty empty-problem" role="alert">
      <span class="empty-icon">
        <Icon name={icon} size={22} />
      </span>
      <p class="empty-title">{heading}</p>
      <div class="empty-text">
        <p>{text ?? problem.message}</p>
        {onRetry && (
          <Button icon="loop" onClick={onRetry}>
            Try again
          </Button>
        )}
      </div>
    </div>
  );
}

/** A line within a page. */
export function Notice({ tone = "amber", icon = "alert", children }) {
  return (
    <div class={`notice tone-${tone}`} role={tone === "red" ? "alert" : "note"}>
      <Icon name={icon} />
      <div>{children}</div>
    </div>
  );
}

/** Data once it is there; before that the skeleton, or why not. */
export function Loaded({ of, rows, kind, title, children }) {
  if (of.data) return children(of.data);
  if (of.problem) return <Failure problem={of.problem} onRetry={of.reload} title={title} />;
  return <Skeleton rows={rows} kind={kind} />;
}
