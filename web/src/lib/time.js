// SPDX-License-Identifier: Apache-2.0
// The server's clock, as far as it is known here, and a tick for ages that are shown.
import { Signal } from "./store.js";

const TOLERATED_MS = 2000;
let offsetMs = 0;

/** Clocks of browsers are wrong at times: ages are counted by the server's. */
export function noteServerTime(header) {
  const server = header ? Date.parse(header) : NaN;
  if (Number.isNaN(server)) return;
  const offset = server - Date.now();
  offsetMs = Math.abs(offset) > TOLERATED_MS ? offset : 0;
}

export function now() {
  return Date.now() + offsetMs;
}

/** Changes every second while the page is seen. */
export const clock = new Signal(0);
setInterval(() => {
  if (!document.hidden) clock.value = Math.floor(Date.now() / 1000);
}, 1000);
