// SPDX-License-Identifier: Apache-2.0
// Each exit condition with its status, its history and what its command wrote.
import { useState } from "preact/hooks";
import { dateTime, plural, reasonOf, spanOfNs, timeOfDay } from "../lib/format.js";
import { useApi } from "../lib/hooks.js";
import { Icon } from "../ui/icons.jsx";
import { Age, Code, Panel, Pips } from "../ui/parts.jsx";
import { Spark } from "../ui/spark.jsx";

function result(row) {
  if (row.status === "met") return "met";
  return reasonOf(row) || "not met";
}

function History({ rows }) {
  return (
    <div class="scroll-box" tabIndex={0} role="group" aria-label="History of the condition">
      <table class="plain-table">
        <thead>
          <tr>
            <th scope="col">Time</th>
            <th scope="col" class="num">
              Iteration
            </th>
            <th scope="col">Result</th>
            <th scope="col" class="num">
              Took
            </th>
          </tr>
        </thead>
        <tbody>
          {rows
            .slice(-100)
            .reverse()
            .map((row) => (
              <tr key={row.seq}>
                <td>
                  <time dateTime={row.time} title={dateTime(row.time)}>
                    {timeOfDay(row.time)}
                  </time>
                </td>
                <td class="num">{row.iteration}</td>
                <td class={row.status === "met" ? "tone-green toned" : "tone-red toned"}>
                  {result(row)}
                </td>
                <td class="num">{spanOfNs(row.duration_ns)}</td>
              </tr>
            ))}
        </tbody>
      </table>
    </div>
  );
}

/** What the API remembers and what came since, each once, oldest first. */
function merge(old, fresh) {
  const seqs = new Set(fresh.map(({ seq }) => seq));
  return [...old.filter(({ seq }) => !seqs.has(seq)), ...fresh].sort((a, b) => a.seq - b.seq);
}

function Condition({ condition, history }) {
  const [isOpen, setOpen] = useState(false);
  const last = history.at(-1) ?? condition;
  const isMet = last.status === "met" && (history.length > 0 || condition.is_evaluated);
  const isEvaluated = history.length > 0 || condition.is_evaluated;
  const tone = isMet ? "green" : isEvaluated ? "red" : "grey";
  const output = last.output ?? condition.output;
  return (
    <li
      class={`condition tone-${tone}`}
      data-condition={condition.name}
      data-status={isMet ? "met" : "not_met"}
    >
      <button
        type="button"
        class="condition-head"
        aria-expanded={isOpen ? "true" : "false"}
        onClick={() => setOpen(!isOpen)}
      >
        <span class="condition-mark">
          <Icon name={isMet ? "check" : isEvaluated ? "cross" : "dot"} size={13} />
        </span>
        <span class="condition-name">
          {condition.name}
          <small>
            {isEvaluated
              ? isMet
                ? "met"
                : `not met${last.reason ? ` · ${result(last)}` : ""}`
              : "not evaluated yet"}
          </small>
        </span>
        <Spark history={history} />
        <span class="condition-when faint">
          {last.time && isEvaluated ? <Age time={last.time} /> : ""}
        </span>
        <Icon name={isOpen ? "up" : "down"} size={12} />
      </button>
      {isOpen && (
        <div class="condition-body">
          <p class="command">
            <code>{condition.command || condition.tool}</code>{" "}
            <span class="faint">{condition.origin}</span>
          </p>
          {output ? (
            <Code label={`Output of ${condition.name}`} text={output} />
          ) : (
            <p class="faint">{isEvaluated ? "No output." : "Not run yet."}</p>
          )}
          {history.length > 0 && <History rows={history} />}
        </div>
      )}
    </li>
  );
}

export function Conditions({ run, log }) {
  const known = useApi(`/v1/runs/${run.run_id}/conditions`);
  const conditions = run.conditions ?? [];
  const histories = Object.fromEntries(
    (known.data?.conditions ?? []).map(({ name, history }) => [name, history ?? []]),
  );
  return (
    <Panel
      title="Exit conditions"
      id="run-conditions"
      aside={<Pips met={run.conditions_met} total={run.conditions_total} />}
    >
      {conditions.length ? (
        <ul class="conditions">
          {conditions.map((condition) => (
            <Condition
              key={condition.name}
              condition={condition}
              history={merge(
                histories[condition.name] ?? [],
                log.conditions.get(condition.name) ?? [],
              )}
            />
          ))}
        </ul>
      ) : (
        <p class="pad faint">
          This run has no exit conditions: it ends at a limit, or when its worker reports that it is
          done.
        </p>
      )}
      {conditions.length > 0 && <p class="sr">{plural(conditions.length, "condition")}</p>}
    </Panel>
  );
}
