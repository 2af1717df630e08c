// SPDX-License-Identifier: Apache-2.0
// A value that components watch. Changes are told once per animation frame, however many there were.
import { useEffect, useState } from "preact/hooks";

const soon =
  typeof requestAnimationFrame === "function"
    ? (run) => (document.hidden ? setTimeout(run, 50) : requestAnimationFrame(run))
    : (run) => setTimeout(run, 16);

export class Signal {
  #value;
  #watchers = new Set();
  #isTelling = false;

  constructor(value) {
    this.#value = value;
  }

  get value() {
    return this.#value;
  }

  set value(value) {
    if (Object.is(value, this.#value)) return;
    this.#value = value;
    this.touch();
  }

  /** Tell that something inside of the value changed. */
  touch() {
    if (this.#isTelling) return;
    this.#isTelling = true;
    soon(() => {
      this.#isTelling = false;
      for (const watcher of [...this.#watchers]) watcher();
    });
  }

  watch(watcher) {
    this.#watchers.add(watcher);
    return () => this.#watchers.delete(watcher);
  }
}

/** The value of a signal; renders again when it changes. */
export function useSignal(signal) {
  const [, render] = useState(0);
  useEffect(() => {
    const again = () => render((n) => n + 1);
    again();
    return signal.watch(again);
  }, [signal]);
  return signal.value;
}
