// SPDX-License-Identifier: Apache-2.0
// The stream of the table of runs, for the pages that are not about one run. It is opened at its
// first use and passed to all listeners.
import { parseJson } from "./json.js";
import { openStream } from "./live.js";
import { noteWarning } from "./warnings.js";
import { toast } from "../ui/toast.jsx";
import { href } from "./router.js";

const listeners = new Set();
let lastId = null;

function onFrame(frame) {
  let data;
  try {
    data = parseJson(frame.data);
  } catch {
    return;
  }
  if (frame.id !== null) lastId = frame.id;
  if (frame.event === "warning" && noteWarning(data)) {
    toast(`${data.agent_id ?? "Warning"}: ${data.message ?? data.kind}`, {
      tone: "amber",
      link: data.run_id ? { href: href("runs", data.run_id), text: "Open" } : null,
    });
  }
  for (const listener of listeners) listener[frame.event]?.(data);
}

/** on: {runs({runs}), reset(), counts(counts), warning(warning), open(isFirst)} */
export function listen(on) {
  listeners.add(on);
  return () => listeners.delete(on);
}

/** Open the stream. @return function that closes it */
export function openOverview() {
  return openStream(
    "/v1/stream",
    {
      frame: onFrame,
      open: (isFirst) => {
        for (const listener of listeners) listener.open?.(isFirst);
      },
    },
    lastId,
  );
}
