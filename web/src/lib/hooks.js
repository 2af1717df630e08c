// SPDX-License-Identifier: Apache-2.0
// Loading data, keys, sizes.
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { get } from "./api.js";
import { listen } from "./overview.js";

const EVERY_MS = 5000;
const SOON_MS = 700;

/** {data, problem, isLoading, reload}: the answer of a path; null = load nothing. The data of the
 *  former answer stays until the next one has come. isRaw: as in lib/api.js. */
export function useApi(path, { isRaw = false } = {}) {
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
    get(path, { signal: abort.signal, isRaw }).then(
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

/**
 * A list of several pages. The first one is what useApi() or useLive() has; those after it are loaded
 * once, on demand. Rows that the first page has no more stay.
 * @param rows name of the list in answers; id: of what tells rows apart; by: parameter that takes
 *        what an answer has in `next`
 */
export function usePages(first, path, rows, { id = "id", by = "before", next = "next" } = {}) {
  const [more, setMore] = useState({ of: path, list: [] });
  const mine = more.of === path ? more : { of: path, list: [] };
  const seen = new Set();
  const list = [...(first.data?.[rows] ?? []), ...mine.list].filter(
    (row) => !seen.has(row[id]) && seen.add(row[id]),
  );
  const place = mine.next === undefined ? first.data?.[next] : mine.next;
  const older = async () => {
    setMore({ ...mine, isLoading: true });
    try {
      const page = await get(`${path}&${by}=${encodeURIComponent(place)}`);
      setMore({ of: path, list: [...list, ...page[rows]], next: page[next] });
    } catch {
      setMore({ ...mine, isLoading: false });
    }
  };
  const drop = (gone) => {
    setMore({ ...mine, list: mine.list.filter((row) => row[id] !== gone) });
    first.reload();
  };
  return { ...first, list, next: place, older, drop, isOlderLoading: mine.isLoading };
}

let prefixAt = 0;

/** Whether `g` was pressed just now: the next key says which page. */
export const isAfterPrefix = () => Date.now() - prefixAt < 1200;
export function notePrefix() {
  prefixAt = Date.now();
}
export function endPrefix() {
  prefixAt = 0;
}

/** Keys as {"j": handler}, which says false when the key is not for it; not while somebody types or a dialog is open.
 *  They count as soon as what they are for is in the page, not after it was drawn. */
export function useKeys(keys) {
  const latest = useRef(keys);
  latest.current = keys;
  useLayoutEffect(() => {
    const onKey = (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
      if (document.querySelector("dialog[open]")) return;
      const { target } = event;
      if (target.closest?.("input, textarea, select, [contenteditable]")) return;
      if (event.key === "Enter" && target.closest?.("a, button, summary")) return;
      const handler = latest.current[event.key];
      if (!handler) return;
      if (handler(event) !== false) event.preventDefault();
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
