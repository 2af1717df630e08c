// SPDX-License-Identifier: Apache-2.0
// A run at one look: conditions, plan, charts, what happened last, what went wrong.
import { useMemo } from "preact/hooks";
import { dateTime, money, short, shortId, span, timeOfDay } from "../lib/format.js";
import { href } from "../lib/router.js";
import { Chart } from "../ui/chart.jsx";
import { Icon } from "../ui/icons.jsx";
import { Panel } from "../ui/parts.jsx";
import { Notice } from "../ui/states.jsx";
import { CATEGORIES, startOf } from "./categories.js";
import { Conditions } from "./conditions.jsx";

const RECENT = 12;

const STEP_GLYPHS = {
  done: "check",
  completed: "check",
  in_progress: "loop",
  active: "loop",
  failed: "cross",
  skipped: "cross",
  blocked: "block",
};

function Plan({ plan }) {
  const done = plan.filter(({ status }) => status === "done" || status === "completed").length;
  return (
    <Panel
      title="Plan"
      id="run-plan"
      aside={
        <span class="faint">
          {done} of {plan.length} done
        </span>
      }
    >
      <ol class="plan">
        {plan.map(({ description, status, notes }, at) => (
          <li key={at} data-status={status}>
            <span class="plan-mark">
              <Icon name={STEP_GLYPHS[status] ?? "dot"} size={13} />
            </span>
            <div>
              <p>
                {description}
                <span class="sr"> ({status})</span>
              </p>
              {notes && <p class="faint">{notes}</p>}
            </div>
          </li>
        ))}
      </ol>
    </Panel>
  );
}

/** Bars of at most so many points: more are drawn as a line. */
const MOST_BARS = 120;

function series(log) {
  const done = log.sortedIterations().filter(({ ended }) => ended);
  let cost = 0;
  return {
    xs: done.map(({ number }) => number),
    tokens: done.map(({ tokens }) => tokens),
    cost: done.map((entry) => (cost += entry.cost)),
    time: done.map(({ duration }) => duration / 1000),
  };
}

/** Commands report neither tokens nor costs: charts of nothing are left out. */
const hasAny = (ys) => ys.some((y) => y > 0);

function Charts({ log, version }) {
  const { xs, tokens, cost, time } = useMemo(() => series(log), [log, Math.floor(version)]);
  if (xs.length < 2) return null;
  const isBars = xs.length <= MOST_BARS;
  const seconds = (value) => span(value * 1000);
  return (
    <Panel title="By iteration" id="run-charts" className="charts">
      {hasAny(tokens) && (
        <Chart
          name="Tokens"
          xs={xs}
          ys={tokens}
          format={short}
          tone="blue"
          isBars={isBars}
          value={short(tokens.at(-1))}
        />
      )}
      {hasAny(cost) && (
        <Chart
          name="Cost so far"
          xs={xs}
          ys={cost}
          format={money}
          tone="violet"
          value={money(cost.at(-1))}
        />
      )}
      <Chart
        name="Time"
        xs={xs}
        ys={time}
        format={seconds}
        tone="teal"
        isBars={isBars}
        value={seconds(time.at(-1))}
      />
    </Panel>
  );
}

function Recent({ run, log }) {
  const recent = log.events.slice(-RECENT);
  return (
    <Panel
      title="Recent actions"
      id="run-recent"
      aside={<a href={href("runs", run.run_id, "timeline")}>Timeline</a>}
    >
      <ol class="recent">
        {recent.map((event) => {
          const ns = event.data?.duration_ns;
          return (
            <li key={event.seq} class={`level-${event.level}`} data-seq={event.seq}>
              <time
                dateTime={event.time}
                title={
                  ns
                    ? `${timeOfDay(startOf(event))} to ${timeOfDay(event.time)}`
                    : dateTime(event.time)
                }
              >
                {timeOfDay(event.time)}
              </time>
              <i class={`lane tone-${CATEGORIES[event.category].tone}`} aria-hidden="true" />
              <span class="recent-text">{event.text}</span>
              <span class="num faint">{ns ? span(ns / 1e6) : ""}</span>
            </li>
          );
        })}
        {recent.length === 0 && <li class="pad faint">Nothing has happened yet.</li>}
      </ol>
    </Panel>
  );
}

function Changes({ title, id, events }) {
  if (!events.length) return null;
  return (
    <Panel title={title} id={id} aside={<span class="faint">{events.length}</span>}>
      <ol class="recent">
        {events.slice(-20).map((event) => (
          <li key={event.seq} class={`level-${event.level}`}>
            <time dateTime={event.time} title={dateTime(event.time)}>
              {timeOfDay(event.time)}
            </time>
            <i class="lane tone-amber" aria-hidden="true" />
            <span class="recent-text">{event.text}</span>
          </li>
        ))}
      </ol>
    </Panel>
  );
}

/** Why a run stands where it stands, in words. */
export function Outcome({ run }) {
  const { violation, status, message, summary } = run;
  if (violation) {
    return (
      <Notice tone="red" icon="shield">
        <p>
          <strong>{violation.policy ? `Policy ${violation.policy}` : "A limit"}</strong> denied
          iteration {violation.iteration}: {violation.message}
        </p>
        {violation.reason && violation.reason !== violation.message && (
          <p class="muted">{violation.reason}</p>
        )}
      </Notice>
    );
  }
  const text = summary || message;
  if (!text || !run.ended) return null;
  return (
    <Notice
      tone={status === "completed" ? "green" : "amber"}
      icon={status === "completed" ? "check" : "alert"}
    >
      {text}
    </Notice>
  );
}

export function Overview({ run, log, version }) {
  const plan = log.latest["plan.updated"]?.data.plan ?? run.plan;
  const charts = <Charts log={log} version={version} />;
  const hasMuch = plan?.length > 0 || log.warnings.length > 0 || log.policies.length > 1;
  return (
    <div class="columns">
      <div class="column">
        <Conditions run={run} log={log} />
        {plan?.length > 0 && <Plan plan={plan} />}
        <Changes title="Warnings" id="run-warnings" events={log.warnings} />
        <Changes title="Policy changes" id="run-policies" events={log.policies} />
        {!hasMuch && charts}
        {run.forked_from && (
          <p class="faint pad">
            Forked from{" "}
            <a
              href={href(
                "runs",
                run.forked_from.run_id,
                "checkpoints",
                String(run.forked_from.checkpoint),
              )}
            >
              {shortId(run.forked_from.run_id)}, checkpoint {run.forked_from.checkpoint}
            </a>
          </p>
        )}
      </div>
      <div class="column">
        <Recent run={run} log={log} />
        {hasMuch && charts}
      </div>
    </div>
  );
}
