// SPDX-License-Identifier: Apache-2.0
// Lists of things that happen: a tag, what it is, when, and what can be done about it.
import { Button } from "./parts.jsx";

export function Rows({ label, children }) {
  return (
    <ol class="entries" aria-label={label}>
      {children}
    </ol>
  );
}

/** tag, tone: its kind; title; sub: a line below; end: when; actions: buttons */
export function Row({ id, tag, tone, title, sub, end, endSub, actions }) {
  return (
    <li class="entry" data-id={id}>
      <span class={`tag tone-${tone}`}>{tag}</span>
      <div class="entry-text">
        <p>{title}</p>
        {sub && <p class="faint">{sub}</p>}
      </div>
      <div class="entry-end">
        <span>{end}</span>
        {endSub && <small>{endSub}</small>}
      </div>
      {actions !== undefined && <div class="entry-actions">{actions}</div>}
    </li>
  );
}

/** The way to older rows of a list; of: usePages() */
export function More({ of }) {
  if (!of.next) return null;
  return (
    <div class="more">
      <Button onClick={of.older} isBusy={of.isOlderLoading}>
        Load more
      </Button>
    </div>
  );
}

/** Parts of a line with a dot between them; what is empty is left out. */
export function Parts({ of }) {
  return of
    .filter(Boolean)
    .flatMap((part, at) =>
      at ? [" · ", <span key={at}>{part}</span>] : [<span key={at}>{part}</span>],
    );
}

/** What could not be brought up to date. */
export function stale(state) {
  return state.problem && state.data ? (
    <span class="toned tone-amber">Not up to date: {state.problem.message}</span>
  ) : null;
}
