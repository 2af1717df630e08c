// SPDX-License-Identifier: Apache-2.0
// State of the page's one live connection, for the indicator that all pages show.
import { Signal } from "./store.js";
import { Stream } from "./sse.js";

/** {phase, retryAt} of struct Stream, or phase "none". */
export const connection = new Signal({ phase: "none" });
let current = null;

/** Open the stream of a page; the former one is closed. @return function that closes it */
export function openStream(url, on, lastId) {
  current?.close();
  // The first state is told while the stream is being made, before it is known here.
  const holder = { stream: null };
  const state = (value) => {
    if (holder.stream !== null && holder.stream !== current) return;
    connection.value = value;
    on.state?.(value);
  };
  const stream = new Stream(url, { ...on, state }, lastId);
  holder.stream = stream;
  current = stream;
  return () => {
    if (current === stream) current = null;
    stream.close();
  };
}

export function retryNow() {
  current?.retryNow();
}
