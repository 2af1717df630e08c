// SPDX-License-Identifier: Apache-2.0
// Short messages about what was done, and what is read aloud to who cannot see the page change.
import { Signal, useSignal } from "../lib/store.js";
import { Icon } from "./icons.jsx";

const SHOWN_MS = 6000;
const QUIET_MS = 4000;
const toasts = new Signal([]);
const spoken = new Signal("");
let counter = 0;
let lastSpoken = 0;

export function toast(text, { tone = "green", link = null } = {}) {
  counter += 1;
  const id = counter;
  toasts.value = [...toasts.value, { id, text, tone, link }].slice(-4);
  setTimeout(() => dismiss(id), SHOWN_MS);
}

function dismiss(id) {
  toasts.value = toasts.value.filter((one) => one.id !== id);
}

/** Read aloud, but not in a stream of words. */
export function say(text) {
  const at = Date.now();
  if (at - lastSpoken < QUIET_MS) return;
  lastSpoken = at;
  spoken.value = text;
}

export function Toasts() {
  const list = useSignal(toasts);
  const words = useSignal(spoken);
  return (
    <>
      <div class="toasts" role="status" aria-live="polite">
        {list.map(({ id, text, tone, link }) => (
          <div key={id} class={`toast tone-${tone}`}>
            <Icon name={tone === "green" ? "check" : "alert"} />
            <span>{text}</span>
            {link && <a href={link.href}>{link.text}</a>}
            <button type="button" class="copy" aria-label="Dismiss" onClick={() => dismiss(id)}>
              <Icon name="close" size={13} />
            </button>
          </div>
        ))}
      </div>
      <div class="sr" aria-live="polite">
        {words}
      </div>
    </>
  );
}
