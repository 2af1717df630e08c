// SPDX-License-Identifier: Apache-2.0
// The changes of an attempt, file by file. All of it was written by agents.
import { useMemo, useState } from "preact/hooks";
import { query } from "../lib/api.js";
import { plural } from "../lib/format.js";
import { useApi } from "../lib/hooks.js";
import { filesOfDiff } from "../lib/tasks.js";
import { Button } from "../ui/parts.jsx";
import { Loaded } from "../ui/states.jsx";

const FIRST_FILES = 20;
const FIRST_ROWS = 400;

const SIGNS = { "+": "is-added", "-": "is-removed", "@": "is-part" };

function File({ file, isOpen }) {
  const [isWhole, setWhole] = useState(false);
  const rows = isWhole ? file.rows : file.rows.slice(0, FIRST_ROWS);
  return (
    <details class="change-file" open={isOpen}>
      <summary>
        <code>{file.name}</code>
        {file.note && <span class="faint">{file.note}</span>}
        <span class="change-sums">
          <span class="toned tone-green">+{file.added}</span>{" "}
          <span class="toned tone-red">−{file.removed}</span>
        </span>
      </summary>
      {rows.length > 0 && (
        <div class="diff code" tabIndex={0} role="group" aria-label={`Changes of ${file.name}`}>
          {rows.map(({ sign, text, number }, at) => (
            <div key={at} class={`diff-row ${SIGNS[sign] ?? ""}`}>
              <span class="diff-number" aria-hidden="true">
                {number ?? "⋯"}
              </span>
              <span class="diff-sign">{sign === "@" ? " " : sign}</span>
              <span>{text || " "}</span>
            </div>
          ))}
        </div>
      )}
      {rows.length < file.rows.length && (
        <div class="more">
          <Button onClick={() => setWhole(true)}>
            Show all {plural(file.rows.length, "line")}
          </Button>
        </div>
      )}
    </details>
  );
}

function Files({ answer }) {
  const files = useMemo(() => filesOfDiff(answer.diff), [answer.diff]);
  const [isWhole, setWhole] = useState(false);
  const shown = isWhole ? files : files.slice(0, FIRST_FILES);
  if (files.length === 0) return <p class="faint">No file was changed.</p>;
  return (
    <>
      {shown.map((file, at) => (
        <File key={at} file={file} isOpen={files.length <= 3} />
      ))}
      {shown.length < files.length && (
        <div class="more">
          <Button onClick={() => setWhole(true)}>Show all {plural(files.length, "file")}</Button>
        </div>
      )}
      {answer.is_cut && <p class="faint">There is more than is shown here: see the repository.</p>}
    </>
  );
}

export function Changes({ runId, task, attempt }) {
  const state = useApi(
    `/v1/runs/${runId}/tasks/${task.number}/diff${query({ attempt: attempt.number })}`,
  );
  return (
    <Loaded of={state} rows={3} title="The changes are not there any more">
      {(answer) => <Files answer={answer} />}
    </Loaded>
  );
}
