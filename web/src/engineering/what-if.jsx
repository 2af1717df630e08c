// SPDX-License-Identifier: Apache-2.0
// What other profiles would have answered to the actions of the last time, before they count.
import { useState } from "preact/hooks";
import { post } from "../lib/api.js";
import { count, plural } from "../lib/format.js";
import { Age, Button, Panel } from "../ui/parts.jsx";
import { Notice } from "../ui/states.jsx";
import { Table } from "./table.jsx";

const NAMES = { allow: "allowed", handoff: "for a person", deny: "denied" };
const nameOf = (outcome) => NAMES[outcome] ?? outcome;

function Changes({ answer }) {
  if (answer.evaluations === 0)
    return <Notice>No evaluations are stored yet: there is nothing to compare with.</Notice>;
  const isSame = answer.changed === 0;
  return (
    <Notice tone={isSame ? "green" : "amber"} icon={isSame ? "check" : undefined}>
      <strong>
        {count(answer.changed)} of {plural(answer.evaluations, "evaluation")} would have another
        outcome
      </strong>
      {answer.changes.map(({ from, to, count: number }) => (
        <span key={`${from}-${to}`}>
          {" · "}
          {count(number)} {nameOf(from)} → {nameOf(to)}
        </span>
      ))}
      {answer.with_approval > 0 && (
        <span class="faint"> · {count(answer.with_approval)} with an approval left out</span>
      )}
    </Notice>
  );
}

function Answer({ answer }) {
  const rules = answer.rules.filter(({ before, after }) => before !== after);
  return (
    <div aria-live="polite" class="what-if-answer">
      <Changes answer={answer} />
      {rules.length > 0 && (
        <Table
          label="Rules that decide otherwise"
          heads={[["Rule"], ["Now"], ["Then"]]}
          rows={rules.map((row) => [
            row.policy_rule_id,
            <code class="wrap">{row.policy_rule_id}</code>,
            count(row.before),
            count(row.after),
          ])}
        />
      )}
      {answer.samples.length > 0 && (
        <Table
          label="Samples"
          heads={[["Action"], ["Now"], ["Then"], ["Rule"], ["Age"]]}
          rows={answer.samples.map((row, at) => [
            at,
            <>
              <code class="wrap">{row.tool}</code> <small class="faint">{row.agent_id}</small>
            </>,
            nameOf(row.from),
            nameOf(row.to),
            <code class="wrap">{row.rule_after ?? "none"}</code>,
            <Age time={row.at} />,
          ])}
        />
      )}
    </div>
  );
}

export function WhatIf() {
  const [text, setText] = useState("");
  const [state, setState] = useState({});
  const run = async (event) => {
    event.preventDefault();
    setState({ isBusy: true });
    try {
      setState({ answer: await post("/v1/policies/what-if", { profiles: text }) });
    } catch (problem) {
      setState({ problem });
    }
  };
  return (
    <Panel title="What if" id="eng-what-if" className="is-wide">
      <form class="what-if" onSubmit={run}>
        <label for="what-if-text">
          Profiles (Cedar), to compare with those that count now on the stored actions. Nothing is
          changed.
        </label>
        <textarea
          id="what-if-text"
          class="code"
          rows={6}
          spellcheck={false}
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
        <Button
          type="submit"
          tone="primary"
          isBusy={state.isBusy}
          why={text.trim() ? null : "Enter profiles first"}
          onClick={() => {}}
        >
          Compare
        </Button>
      </form>
      {state.problem && <Notice tone="red">{state.problem.message}</Notice>}
      {state.answer && <Answer answer={state.answer} />}
    </Panel>
  );
}
