// SPDX-License-Identifier: Apache-2.0
import { useEffect, useRef } from "preact/hooks";
import { useApi } from "../lib/hooks.js";

const SOON_MS = 300;

/** Data that is asked for again soon after something has happened to tasks: one question at a time,
 *  however fast events come and however long the answer takes. */
export function useTasks(path, version) {
  const state = useApi(path);
  const seen = useRef(version);
  const { reload, isLoading } = state;
  useEffect(() => {
    if (isLoading || seen.current === version) return undefined;
    const timer = setTimeout(() => {
      seen.current = version;
      reload();
    }, SOON_MS);
    return () => clearTimeout(timer);
  }, [seen.current === version, isLoading]);
  return state;
}
