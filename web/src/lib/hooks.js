// SPDX-License-Identifier: Apache-2.0
// Loading data, keys, sizes.
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { get } from "./api.js";
import { listen } from "./overview.js";

const EVERY_MS = 5000;
const SOON_MS = 700;

/** {data, problem, isLoading, reload}: the answer of a path; null = load nothing. The data of the
 *  former answer stays until the next one has come. */
export function useApi(path) {
  const [state, setState] = useState({ data: null, problem: null, isLoading: true, of: path });
  const [round, setRound] = useState(0);
  useEffect(() => {
    if (path === null) return undefined;
    const abort = new AbortController();
    setState((old) =>
      old.of === path
        ? { ...old, isLoading: true }
        : { data: null, problem: null, isLoading: true, of: path },
    );
    get(path, { signal: abort.signal }).then(
      (data) => setState({ data, problem: null, isLoading: false, of: path }),
      (problem) => {
        if (problem.name === "AbortError") return;
        setState((old) => ({
          data: old.of === path ? old.data : null,
          problem,
          isLoading: false,
          of: path,
        }));
      },
    );
    return () => abort.abort();
  }, [path, round]);
  const reload = useCallback(() => setRound((n) => n + 1), []);
  return { ...state, reload };
}

/** useApi() that stays up to date: asked again every few seconds while the page is seen, when it is
 *  seen again, and soon after a run has changed. */
export function useLive(path) {
  const state = useApi(path);
  const { reload } = state;
  useEffect(() => {
    let soon = null;
    const again = () => {
      if (!document.hidden) reload();
    };
    const later = () => {
      soon ??= setTimeout(() => {
        soon = null;
        again();
      }, SOON_MS);
    };
    const timer = setInterval(again, EVERY_MS);
    const stop = listen({ runs: later, open: (isFirst) => isFirst || later() });
    document.addEventListener("visibilitychange", again);
    return () => {
      clearInterval(timer);
      clearTimeout(soon);
      stop();
      document.removeEventListener("visibilitychange", again);
    };
  }, [reload]);
  return state;
}

/** Keys as {"j": handler}; not while somebody types or a dialog is open. */
export function useKeys(keys) {
  const latest = useRef(keys);
  latest.current = keys;
  useEffect(() => {
    const onKey = (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
      if (document.querySelector("dialog[open]")) return;
      const { target } = event;
      if (target.closest?.("input, textarea, select, [contenteditable]")) return;
      if (event.key === "Enter" && target.closest?.("a, button, summary")) return;
      const handler = latest.current[event.key];
      if (!handler) return;
      event.preventDefault();
      handler(event);
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
}

/** Width and height of an element. */
export function useSize(ref) {
  const [size, setSize] = useState({ width: 0, height: 0 });
  useEffect(() => {
    const element = ref.current;
    if (!element) return undefined;
    const measure = () => setSize({ width: element.clientWidth, height: element.clientHeight });
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, [ref]);
  return size;
}

export function useMedia(text) {
  const [isTrue, set] = useState(() => matchMedia(text).matches);
  useEffect(() => {
    const media = matchMedia(text);
    const change = () => set(media.matches);
    change();
    media.addEventListener("change", change);
    return () => media.removeEventListener("change", change);
  }, [text]);
  return isTrue;
}

/** A value that follows another one when it has been quiet for so long. */
export function useDebounced(value, ms) {
  const [late, setLate] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setLate(value), ms);
    return () => clearTimeout(timer);
  }, [value, ms]);
  return late;
}

export function useTitle(text) {
  useEffect(() => {
    document.title = text ? `${text} · Rondo` : "Rondo";
  }, [text]);
}
