// SPDX-License-Identifier: Apache-2.0
// How far a run is: against the limit of iterations in force, and against every other limit.
import { count, LIMIT_NAMES, ofLimit, percent } from "../lib/format.js";
import { Bar, Pips } from "../ui/parts.jsx";

const SOURCES = { option: "run option", policy: "policy", default: "default" };

function percentOf({ percent: given, limit, value }) {
  return given ?? (limit ? (value / limit) * 100 : null);
}

function Limit({ limit, isDone }) {
  const { name, limit: most, value, remaining, source, policy, is_estimated: isEstimated } = limit;
  const share = percentOf(limit);
  const mark =
    limit.warn_at && most ? (limit.warn_at <= 1 ? limit.warn_at * 100 : limit.warn_at) : 80;
  return (
    <div class="limit" data-limit={name}>
      <div class="limit-head">
        <span class="limit-name">{LIMIT_NAMES[name] ?? name}</span>
        <span class="limit-percent">{most ? percent(share) : ""}</span>
      </div>
      <div class="limit-value">
        <strong>{ofLimit(name, value)}</strong>
        {most ? (
          <span class="faint">
            {" "}
            of {isEstimated ? "about " : ""}
            {ofLimit(name, most)}
          </span>
        ) : (
          <span class="faint"> · no limit</span>
        )}
      </div>
      {most ? (
        <Bar
          percent={share}
          mark={mark}
          tone={isDone ? "done" : undefined}
          label={`${LIMIT_NAMES[name] ?? name}: ${percent(share)} of the limit`}
        />
      ) : (
        <span class="bar bar-none" aria-hidden="true" />
      )}
      <div class="limit-foot faint">
        {most ? `${ofLimit(name, remaining ?? Math.max(0, most - value))} left` : "unbounded"}
        {most
          ? ` · ${source === "policy" && policy ? `policy ${policy}` : (SOURCES[source] ?? source ?? "")}`
          : ""}
      </div>
    </div>
  );
}

export function Progress({ run, iteration }) {
  const limits = run.limits ?? [];
  const byIterations = limits.find(({ name }) => name === "iterations");
  const most = byIterations?.limit ?? run.iteration_limit;
  const shown = limits.map((limit) => {
    if (limit.name !== "iterations") return limit;
    return {
      ...limit,
      value: iteration,
      remaining: most ? Math.max(0, most - iteration) : null,
      percent: most ? (iteration / most) * 100 : null,
    };
  });
  const share = most ? (iteration / most) * 100 : null;
  return (
    <section class="hero" aria-label="Progress">
      <div class="hero-main">
        <div class="hero-figure">
          <span class="hero-label">Iteration</span>
          <span class="hero-number" data-live="iteration">
            {count(iteration)}
          </span>
          <span class="faint" data-live="limit">
            {most ? `of ${count(most)}` : "no limit"}
          </span>
        </div>
        <div class="hero-figure">
          <span class="hero-label">Progress</span>
          <span class="hero-number" data-live="percent">
            {share === null ? "–" : percent(share)}
          </span>
          <span class="faint">of the limit</span>
        </div>
        <div class="hero-figure">
          <span class="hero-label">Conditions</span>
          <span class="hero-number" data-live="conditions">
            {run.conditions_total ? `${run.conditions_met}/${run.conditions_total}` : "–"}
          </span>
          <span class="faint">
            <Pips met={run.conditions_met} total={run.conditions_total} />
          </span>
        </div>
      </div>
      <div class="limits">
        {shown.map((limit) => (
          <Limit key={limit.name} limit={limit} isDone={run.status === "completed"} />
        ))}
      </div>
    </section>
  );
}
