// SPDX-License-Identifier: Apache-2.0
// Hidden values of an entry, and showing one: the server records who has seen it before it answers.
import { useState } from "preact/hooks";
import { post } from "../lib/api.js";
import { lacks } from "../lib/session.js";
import { Dialog } from "../ui/dialog.jsx";
import { Button } from "../ui/parts.jsx";
import { Exact, Value } from "./exact.jsx";

export const hiddenOf = (entry) => (Array.isArray(entry.redacted) ? entry.redacted : []);

/** What was revealed lives as long as this page shows this revision of the entry. */
export function useReveal(entry) {
  const of = `${entry.request_id} ${entry.revision}`;
  const [state, setState] = useState({ of, values: {} });
  const values = state.of === of ? state.values : {};
  const reveal = async (pointer) => {
    const path = `/v1/inbox/${encodeURIComponent(entry.request_id)}/reveal`;
    const { value } = await post(path, { pointer }, { isRaw: true });
    setState((now) => ({
      of,
      values: { ...(now.of === of ? now.values : {}), [pointer]: { value } },
    }));
  };
  return { values, reveal };
}

export function HiddenValues({ entry, values, onReveal }) {
  const pointers = hiddenOf(entry);
  const lack = lacks("reveal");
  if (!pointers.length) return null;
  return (
    <section class="panel" aria-labelledby="inbox-hidden">
      <header class="panel-head">
        <h2 id="inbox-hidden">Hidden from you</h2>
        <span class="faint">The digest is of the whole action, with these values.</span>
      </header>
      <ul class="hidden-values">
        {pointers.map((pointer, at) => (
          <li key={pointer}>
            <code>
              <Exact text={pointer} />
            </code>{" "}
            {values[pointer] ? (
              <Value value={values[pointer].value} label={pointer} />
            ) : (
              <Button
                icon="lock"
                why={lack}
                aria-keyshortcuts={at === 0 ? "v" : undefined}
                onClick={() => onReveal(pointer)}
              >
                Reveal <span class="sr">{pointer}</span>{" "}
                {at === 0 && <kbd aria-hidden="true">v</kbd>}
              </Button>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}

export function RevealDialog({ pointers, first, reveal, onClose }) {
  const [pointer, setPointer] = useState(first ?? pointers[0]);
  return (
    <Dialog
      title="Reveal a hidden value?"
      submit="Reveal it"
      onClose={onClose}
      onSubmit={() => reveal(pointer)}
    >
      <p>That you have seen it is recorded in the audit chain.</p>
      <label for="reveal-pointer">Value</label>
      <select
        id="reveal-pointer"
        value={pointer}
        onChange={(event) => setPointer(event.currentTarget.value)}
      >
        {pointers.map((one) => (
          <option key={one} value={one}>
            {one}
          </option>
        ))}
      </select>
    </Dialog>
  );
}
