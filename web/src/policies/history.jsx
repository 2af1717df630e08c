// SPDX-License-Identifier: Apache-2.0
// Policies that were in force before, and what changed.
import { useState } from "preact/hooks";
import { dateTime } from "../lib/format.js";
import { useApi } from "../lib/hooks.js";
import { Diff } from "../ui/diff.jsx";
import { Age, Button, Panel, Segments } from "../ui/parts.jsx";
import { Loaded } from "../ui/states.jsx";

function Change({ number, previous, current, onTake }) {
  const change = useApi(`/v1/policies/history/${number}`);
  const before = useApi(previous ? `/v1/policies/history/${previous}` : null);
  const [against, setAgainst] = useState("before");
  return (
    <Loaded of={change} rows={3}>
      {(data) => (
        <div class="change">
          <div class="change-tools">
            <Segments
              label="Compare with"
              items={[
                ["before", "Previous"],
                ["now", "Current"],
              ]}
              chosen={against}
              onChange={setAgainst}
            />
            {onTake && <Button onClick={() => onTake(data.text)}>Load into editor</Button>}
          </div>
          {against === "before" ? (
            <Diff
              before={previous ? (before.data?.text ?? data.text ?? "") : ""}
              after={data.text ?? ""}
              label={`Change ${number}`}
            />
          ) : (
            <Diff before={data.text ?? ""} after={current} label={`Change ${number} and now`} />
          )}
        </div>
      )}
    </Loaded>
  );
}

export function PolicyHistory({ history, current, onTake }) {
  const [open, setOpen] = useState(null);
  return (
    <Panel title="History" id="policy-history">
      <Loaded of={history} rows={3}>
        {({ changes }) => (
          <ol class="changes">
            {changes.map(({ number, time, by, how, sha256 }, at) => (
              <li key={number}>
                <button
                  type="button"
                  class="change-head"
                  aria-expanded={open === number ? "true" : "false"}
                  onClick={() => setOpen(open === number ? null : number)}
                >
                  <span class="num faint">{number}</span>
                  <span class="change-text">
                    {by ?? "unknown"}{" "}
                    <small>
                      {how ?? ""} · <code>{sha256?.slice(0, 12)}</code>
                    </small>
                  </span>
                  <time dateTime={time} title={dateTime(time)} class="faint">
                    <Age time={time} />
                  </time>
                </button>
                {open === number && (
                  <Change
                    number={number}
                    previous={changes[at + 1]?.number}
                    current={current}
                    onTake={onTake}
                  />
                )}
              </li>
            ))}
            {changes.length === 0 && <li class="pad faint">No changes recorded.</li>}
          </ol>
        )}
      </Loaded>
    </Panel>
  );
}
