// SPDX-License-Identifier: Apache-2.0
// History of checkpoints; one of them whole, what changed in it, and a new run from it.
import { useEffect, useState } from "preact/hooks";
import { post, query } from "../lib/api.js";
import { bytes, count, dateTime, plural } from "../lib/format.js";
import { useApi, usePages } from "../lib/hooks.js";
import { go, href } from "../lib/router.js";
import { lacks } from "../lib/session.js";
import { Dialog } from "../ui/dialog.jsx";
import { Diff } from "../ui/diff.jsx";
import { Icon } from "../ui/icons.jsx";
import { Age, Button, Code, Copy, Facts, Panel, pretty, Segments } from "../ui/parts.jsx";
import { More } from "../ui/rows.jsx";
import { Empty, Loaded } from "../ui/states.jsx";
import { toast } from "../ui/toast.jsx";

const PAGE = 100;

function met(conditions) {
  const values = Object.values(conditions ?? {});
  return values.length
    ? `${values.filter((status) => status === "met").length}/${values.length}`
    : "–";
}

/** The history, newest first; it grows at the top when a checkpoint is saved. */
function useHistory(runId, latest) {
  const path = `/v1/runs/${runId}/checkpoints${query({ limit: PAGE })}`;
  const first = useApi(path);
  useEffect(() => {
    if (first.data && latest > (first.data.checkpoints[0]?.number ?? 0)) first.reload();
  }, [latest]);
  return usePages(first, path, "checkpoints", { id: "number" });
}

function Statuses({ of }) {
  if (!of.length) return <span class="faint">none evaluated</span>;
  return of.map(([name, status]) => {
    const isMet = status === "met";
    return (
      <span key={name} class={`state tone-${isMet ? "green" : "red"}`}>
        <Icon name={isMet ? "check" : "cross"} size={11} /> {name} {isMet ? "met" : "not met"}
      </span>
    );
  });
}

function ForkDialog({ run, checkpoint, onClose }) {
  const [limit, setLimit] = useState("");
  const value = Number(limit);
  const isReady = !limit || (Number.isInteger(value) && value > 0);
  const submit = async () => {
    const body = { start: true, ...(limit ? { limits: { max_iterations: value } } : {}) };
    const made = await post(`/v1/runs/${run.run_id}/checkpoints/${checkpoint.number}/fork`, body);
    toast(made.status === "queued" ? "The new run is queued" : "The new run has started");
    go("runs", made.run_id);
  };
  return (
    <Dialog
      title="Resume as a new run"
      submit="Start the new run"
      onClose={onClose}
      onSubmit={submit}
      isReady={isReady}
    >
      <p>
        A new run starts from checkpoint {checkpoint.number}, iteration {checkpoint.iteration}, with
        its state and the options of this run. This run does not change.
      </p>
      <label for="fork-limit">Maximum iterations</label>
      <input
        id="fork-limit"
        inputMode="numeric"
        autoComplete="off"
        placeholder={
          run.iteration_limit ? `${run.iteration_limit}, as before` : "no limit, as before"
        }
        value={limit}
        onInput={(event) => setLimit(event.currentTarget.value)}
      />
    </Dialog>
  );
}

function stateText(checkpoint) {
  if (checkpoint.state !== null && checkpoint.state !== undefined) return pretty(checkpoint.state);
  return checkpoint.state_base64 ? `(not text: base64)\n${checkpoint.state_base64}` : "";
}

function Compared({ runId, checkpoint, previous }) {
  const before = useApi(`/v1/runs/${runId}/checkpoints/${previous}`);
  return (
    <Loaded of={before} rows={3}>
      {(old) => (
        <Diff
          before={stateText(old)}
          after={stateText(checkpoint)}
          label={`Changes since checkpoint ${previous}`}
        />
      )}
    </Loaded>
  );
}

function Whole({ run, checkpoint, previous }) {
  const [view, setView] = useState("state");
  const [isForking, setForking] = useState(false);
  const state = stateText(checkpoint);
  const views = [
    ["state", "State"],
    ["diff", "Changes"],
    ["fold", "Loop"],
  ].filter(([key]) => key !== "diff" || previous);
  return (
    <Panel
      title={`Checkpoint ${checkpoint.number}`}
      id="checkpoint"
      className="checkpoint"
      aside={
        <Button icon="fork" why={lacks("operate")} onClick={() => setForking(true)}>
          Resume as a new run
        </Button>
      }
    >
      <Facts
        isWide
        rows={[
          ["Iteration", count(checkpoint.iteration)],
          [
            "Saved",
            <>
              <time dateTime={checkpoint.time}>{dateTime(checkpoint.time)}</time>{" "}
              <span class="faint">
                <Age time={checkpoint.time} />
              </span>
            </>,
          ],
          ["State", bytes(checkpoint.state_bytes)],
          [
            "Digest",
            <>
              <span class="state tone-green">intact</span>{" "}
              <code title={checkpoint.sha256}>{checkpoint.sha256}</code>{" "}
              <Copy text={checkpoint.sha256} label="digest" />
            </>,
            "digest",
          ],
          ["Conditions", <Statuses of={Object.entries(checkpoint.conditions ?? {})} />],
        ]}
      />
      {checkpoint.custom_data !== null && checkpoint.custom_data !== undefined && (
        <div class="sub">
          <h3>Custom data</h3>
          <Code label="Custom data" text={JSON.stringify(checkpoint.custom_data, null, 2)} />
        </div>
      )}
      <div class="sub">
        <Segments label="What to show" items={views} chosen={view} onChange={setView} />
        {view === "state" &&
          (state ? (
            <Code label="State" text={state} className="code-tall" />
          ) : (
            <p class="faint">The worker saved no state.</p>
          ))}
        {view === "diff" && (
          <Compared runId={run.run_id} checkpoint={checkpoint} previous={previous} />
        )}
        {view === "fold" && (
          <Code
            label="State of the loop"
            text={JSON.stringify(checkpoint.fold ?? {}, null, 2)}
            className="code-tall"
          />
        )}
      </div>
      {isForking && (
        <ForkDialog run={run} checkpoint={checkpoint} onClose={() => setForking(false)} />
      )}
    </Panel>
  );
}

function Selected({ run, number, previous }) {
  const checkpoint = useApi(`/v1/runs/${run.run_id}/checkpoints/${number}`);
  return (
    <Loaded of={checkpoint} rows={8}>
      {(data) => <Whole key={data.number} run={run} checkpoint={data} previous={previous} />}
    </Loaded>
  );
}

export function Checkpoints({ run, rest, latest }) {
  const history = useHistory(run.run_id, latest);
  if (history.data && history.list.length === 0) {
    return (
      <Empty icon="save" title="No checkpoint yet">
        The first one is saved after an iteration.
      </Empty>
    );
  }
  const chosen = Number(rest[0]) || history.list[0]?.number;
  const at = history.list.findIndex(({ number }) => number === chosen);
  const previous = history.list[at + 1]?.number;
  return (
    <Loaded of={history} rows={10}>
      {() => (
        <div class="split">
          <Panel
            title="History"
            id="checkpoint-history"
            className="history"
            aside={
              <span class="faint">
                {plural(history.list.length, "checkpoint")}
                {history.next ? "+" : ""}
              </span>
            }
          >
            <div
              class="scroll-list"
              tabIndex={0}
              role="group"
              aria-label="Checkpoints, newest first"
            >
              <table class="plain-table rows">
                <thead>
                  <tr>
                    <th scope="col" class="num">
                      No.
                    </th>
                    <th scope="col" class="num">
                      Iteration
                    </th>
                    <th scope="col">Saved</th>
                    <th scope="col" class="num">
                      Met
                    </th>
                  </tr>
                </thead>
                <tbody>
                  {history.list.map((row) => (
                    <tr
                      key={row.number}
                      class={row.number === chosen ? "is-selected" : ""}
                      onClick={() => go("runs", run.run_id, "checkpoints", String(row.number))}
                    >
                      <td class="num">
                        <a
                          href={href("runs", run.run_id, "checkpoints", String(row.number))}
                          aria-current={row.number === chosen ? "true" : undefined}
                          aria-label={`Checkpoint ${row.number}`}
                        >
                          {row.number}
                        </a>
                      </td>
                      <td class="num">{count(row.iteration)}</td>
                      <td>
                        <time dateTime={row.time}>{dateTime(row.time)}</time>
                      </td>
                      <td class="num">{met(row.conditions)}</td>
                    </tr>
                  ))}
                </tbody>
              </table>
              <More of={history} />
            </div>
          </Panel>
          {chosen && <Selected run={run} number={chosen} previous={previous} />}
        </div>
      )}
    </Loaded>
  );
}
