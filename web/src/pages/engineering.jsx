// SPDX-License-Identifier: Apache-2.0
// How well the rules work that make agents ask people: for the engineers of agents. It shows no
// names of people and nothing that agents have sent.
import { useState } from "preact/hooks";
import { count, plural, span } from "../lib/format.js";
import { useLive, useTitle } from "../lib/hooks.js";
import { Bar, Panel, Segments } from "../ui/parts.jsx";
import { DeadLetters } from "../engineering/letters.jsx";
import { inPercent, Share, Table } from "../engineering/table.jsx";
import { WhatIf } from "../engineering/what-if.jsx";
import { stale } from "../ui/rows.jsx";
import { PageHead } from "../ui/shell.jsx";
import { Empty, Loaded, Notice } from "../ui/states.jsx";

const DAY_S = 86_400;
const WINDOWS = [
  [DAY_S, "Day"],
  [7 * DAY_S, "Week"],
  [30 * DAY_S, "Month"],
];
const WORDS = { needs_info: "asked for information", dead_lettered: "dead-lettered" };
const TONES = { approved: "fine", rejected: "over", expired: "near" };

const nameOf = (key) => (WORDS[key] ?? key).replaceAll("_", " ");
/** The same with its interval, for what is judged by it. */
function Judged({ of }) {
  if (of.value === null) return <span class="faint">no data</span>;
  return (
    <>
      <Share of={of} />
      <small class="faint interval">
        {inPercent(of.low)}–{inPercent(of.high)}
      </small>
    </>
  );
}

function Figure({ title, id, value, children }) {
  return (
    <Panel title={title} id={id}>
      <div class="meter">
        <span class="meter-value">{value}</span>
      </div>
      <p class="pad faint">{children}</p>
    </Panel>
  );
}

function Mix({ title, id, of, children }) {
  const whole = Object.values(of)[0].whole;
  return (
    <Panel title={title} id={id} aside={<span class="faint">{count(whole)}</span>}>
      <ul class="mix">
        {Object.entries(of).map(([key, share]) => (
          <li key={key}>
            <span>{nameOf(key)}</span>
            <Share of={share} />
            <Bar
              percent={(share.value ?? 0) * 100}
              tone={TONES[key] ?? "fine"}
              label={`${nameOf(key)}: ${share.value === null ? "no data" : inPercent(share.value)}`}
            />
          </li>
        ))}
      </ul>
      <p class="pad faint">{children}</p>
    </Panel>
  );
}

const seconds = (value) => (value === null ? "no data" : span(value * 1000));

/** Evaluations in the time that they cover, in the unit that gives a number to think in. */
function rate({ count: number, per_day: day }) {
  if (number === 0) return "none";
  if (day >= 86_400) return `${(day / 86_400).toFixed(1)} per second`;
  return day >= 1440 ? `${Math.round(day / 1440)} per minute` : `${count(day)} per day`;
}

function First({ stats }) {
  const { evaluations } = stats;
  return (
    <>
      <Figure title="Actions evaluated" id="eng-evaluations" value={count(evaluations.count)}>
        By the profiles, for agents outside of Rondo: {rate(evaluations)}.{" "}
        {count(evaluations.allow)} allowed, {count(evaluations.handoff)} for a person,{" "}
        {count(evaluations.deny)} denied
        {evaluations.is_complete ? "" : "; older ones are no longer stored"}
      </Figure>
      <Figure title="For a person" id="eng-hitl" value={<Share of={evaluations.hitl_ratio} />}>
        Of the evaluated actions that are not harmless by what the agent says of them
      </Figure>
      <Figure title="Requests to people" id="eng-requests" value={count(stats.requests)}>
        Accepted in this time; answers to questions are not counted again
      </Figure>
      <Figure
        title="Time to a decision"
        id="eng-latency"
        value={seconds(stats.decision_latency.p50_s)}
      >
        Half are decided within this time, 95% within {seconds(stats.decision_latency.p95_s)};
        exact, of {plural(stats.decision_latency.count, "request")}
      </Figure>
      <Figure title="Escalated" id="eng-escalated" value={<Share of={stats.escalation_rate} />}>
        Requests that went to a higher level
      </Figure>
      <Figure title="Answers to questions" id="eng-rework" value={<Share of={stats.rework_rate} />}>
        Of the questions that people asked. Approved after that: <Share of={stats.rework_success} />
      </Figure>
    </>
  );
}

function Triggers({ triggers }) {
  return (
    <Panel title="Triggers" id="eng-triggers" className="is-wide">
      <Table
        label="Triggers"
        none="No requests in this time"
        heads={[
          ["Trigger"],
          ["Requests"],
          ["Expired"],
          ["Rejected", "Of those decided: the proposed action was wrong"],
          ["Approved at once", "Approved unchanged within a minute: the trigger may be too eager"],
        ]}
        rows={triggers.map((row) => [
          row.trigger_reason,
          <code class="wrap">{row.trigger_reason}</code>,
          count(row.requests),
          count(row.expired),
          <Judged of={row.false_positive} />,
          <Judged of={row.over_trigger} />,
        ])}
      />
    </Panel>
  );
}

function Waiting({ waiting }) {
  return (
    <Panel title="Waiting now" id="eng-waiting">
      <Table
        label="Waiting now"
        none="Nothing waits for people"
        heads={[
          ["Desk"],
          ["Waiting"],
          ["Stale", "Past due, or with less than a quarter of their time left"],
          ["Oldest"],
        ]}
        rows={waiting.map((row) => [
          `${row.desk}/${row.state}`,
          <>
            <code class="wrap">{row.desk}</code> <small class="faint">{nameOf(row.state)}</small>
          </>,
          count(row.count),
          <span class={row.stale ? "toned tone-amber" : ""}>{count(row.stale)}</span>,
          seconds(row.oldest_age_s),
        ])}
      />
    </Panel>
  );
}

function Rules({ rules }) {
  return (
    <Panel title="Rules by policy" id="eng-rules">
      <Table
        label="Rules by policy"
        none="No requests in this time"
        heads={[["Rule"], ["Policy"], ["Share", "Of the requests under the same policies"]]}
        rows={rules.map((row) => [
          `${row.policy_hash}/${row.policy_rule_id}`,
          <code class="wrap">{row.policy_rule_id}</code>,
          <code title={row.policy_hash}>{row.policy_hash.replace("sha256:", "").slice(0, 8)}</code>,
          <Share of={row.share} />,
        ])}
      />
    </Panel>
  );
}

function Confidence({ bands }) {
  return (
    <Panel title="Stated confidence" id="eng-confidence">
      <Table
        label="Approved by stated confidence"
        none="No confidence stated"
        heads={[["Confidence"], ["Approved", "Of those decided"]]}
        rows={bands.map((band) => [
          band.from,
          `${band.from} to ${band.to}`,
          <Judged of={band.approved} />,
        ])}
      />
      <p class="pad faint">
        If agents judge themselves well, more is approved where they are more confident.
      </p>
    </Panel>
  );
}

function Chain() {
  const report = useLive("/v1/audit/verify");
  if (!report.data || report.data.valid) return null;
  return <Notice tone="red">The audit chain is not in order: {report.data.problem}</Notice>;
}

function Body({ stats }) {
  const isQuiet =
    stats.requests === 0 && stats.outcomes.approved.whole === 0 && stats.evaluations.count === 0;
  return (
    <>
      <Chain />
      {!stats.is_complete && (
        <Notice>Only the newest 100,000 entries of the audit chain are counted.</Notice>
      )}
      {isQuiet && stats.waiting.length === 0 ? (
        <Empty icon="gauge" title="No requests to people in this time">
          <p>When policies or roles make an agent ask a person, figures are shown here.</p>
        </Empty>
      ) : (
        <>
          <div class="cards cards-small">
            <First stats={stats} />
          </div>
          <div class="cards cards-wide">
            <Mix title="Decisions" id="eng-decisions" of={stats.decisions}>
              Shares of all decisions
            </Mix>
            <Mix title="Outcomes" id="eng-outcomes" of={stats.outcomes}>
              Shares of the requests that ended
            </Mix>
            <Triggers triggers={stats.triggers} />
            <Waiting waiting={stats.waiting} />
            <Rules rules={stats.rules} />
            <Confidence bands={stats.confidence} />
          </div>
        </>
      )}
      <div class="cards cards-wide">
        <DeadLetters />
        <WhatIf />
      </div>
    </>
  );
}

export function Engineering() {
  useTitle("Engineering");
  const [window, setWindow] = useState(WINDOWS[1][0]);
  const stats = useLive(`/v1/metrics/hitl?window=${window}`);
  return (
    <div class="page">
      <PageHead title="Engineering" sub={stale(stats)}>
        <Segments label="Window of time" items={WINDOWS} chosen={window} onChange={setWindow} />
      </PageHead>
      <Loaded of={stats} kind="card" rows={6}>
        {(data) => <Body stats={data} />}
      </Loaded>
    </div>
  );
}
