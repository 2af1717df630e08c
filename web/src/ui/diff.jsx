// SPDX-License-Identifier: Apache-2.0
// What changed between two texts.
import { useMemo } from "preact/hooks";
import { diffLines, hunks } from "../lib/diff.js";

export function Diff({ before, after, label }) {
  const rows = useMemo(() => hunks(diffLines(before, after)), [before, after]);
  if (rows.length === 0 || (rows.length === 1 && rows[0] === null))
    return <p class="faint pad">No difference.</p>;
  return (
    <div class="diff code" tabIndex={0} role="group" aria-label={label}>
      {rows.map((row, at) =>
        row === null ? (
          <div key={at} class="diff-gap" aria-hidden="true">
            ⋯
          </div>
        ) : (
          <div
            key={at}
            class={`diff-row ${row.sign === "+" ? "is-added" : row.sign === "-" ? "is-removed" : ""}`}
          >
            <span class="diff-number" aria-hidden="true">
              {row.right ?? row.left}
            </span>
            <span class="diff-sign">{row.sign}</span>
            <span>{row.text || " "}</span>
          </div>
        ),
      )}
    </div>
  );
}
