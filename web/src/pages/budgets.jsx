// SPDX-License-Identifier: Apache-2.0
// What all runs of each role have used of its budgets.
import { useState } from "preact/hooks";
import { post } from "../lib/api.js";
import { count, money, percent, plural, short } from "../lib/format.js";
import { useLive, useTitle } from "../lib/hooks.js";
import { lacks } from "../lib/session.js";
import { Dialog } from "../ui/dialog.jsx";
import { Bar, Button, Due, Panel } from "../ui/parts.jsx";
import { Parts, stale } from "../ui/rows.jsx";
import { PageHead } from "../ui/shell.jsx";
import { Empty, Loaded } from "../ui/states.jsx";
import { toast } from "../ui/toast.jsx";

const NEAR = 80;
const STATES = {
  unlimited: { label: "No budgets", tone: "grey" },
  left: { label: "OK", tone: "green" },
  nearly_used: { label: "Nearly used up", tone: "amber" },
  used_up: { label: "Used up", tone: "red" },
};
const PERIODS = { day: "today", week: "this week", life: "in its life" };
const FIGURES = { tokens: count, dollars: money };

function ResetDialog({ budget, onClose, onDone }) {
  const reset = async () => {
    await post(`/v1/budgets/${encodeURIComponent(budget.role)}/reset`);
    toast(`Budgets of ${budget.role} reset`);
    onDone();
  };
  return (
    <Dialog
      title="Reset these budgets?"
      submit="Reset the budgets"
      tone="danger"
      onClose={onClose}
      onSubmit={reset}
    >
      <p>
        What all runs of <strong>{budget.role}</strong> have used is forgotten, of today, of this
        week and of its life ({count(budget.life.tokens)} tokens, {money(budget.life.cost)}). Events
        that wait for a budget are started. This cannot be undone.
      </p>
    </Dialog>
  );
}

function Limit({ limit }) {
  const share = (limit.used / limit.limit) * 100;
  const figure = FIGURES[limit.unit] ?? count;
  const name = `${limit.unit === "dollars" ? "Cost" : "Tokens"} ${PERIODS[limit.period] ?? ""}`;
  return (
    <li class="budget" title={limit.name}>
      <span>{name}</span>
      <span class="num">
        {figure(limit.used)} <span class="faint">of {figure(limit.limit)}</span>
      </span>
      <Bar percent={share} mark={NEAR} label={`${name}: ${percent(share)} used`} />
      <small class="faint">
        <Parts
          of={[
            `${percent(share)} used`,
            limit.reserved > 0 && `${figure(limit.reserved)} reserved`,
            limit.ends && (
              <>
                renews <Due time={limit.ends} late="now" />
              </>
            ),
          ]}
        />
      </small>
    </li>
  );
}

/** Tokens of the last days as columns; the words beside them say the same. */
function Days({ days }) {
  const most = Math.max(...days.map(({ tokens }) => tokens));
  if (!most) return <p class="pad faint">Nothing used in the last {plural(days.length, "day")}</p>;
  const text = days.map(({ day, tokens }) => `${day}: ${count(tokens)}`).join(", ");
  return (
    <div class="budget-days">
      <span class="day-columns" role="img" aria-label={`Tokens a day: ${text}`}>
        {days.map(({ day, tokens }) => (
          <i
            key={day}
            title={`${day}: ${count(tokens)} tokens`}
            class={tokens ? "" : "is-zero"}
            style={{ height: `${Math.max(8, (tokens / most) * 100)}%` }}
          />
        ))}
      </span>
      <small class="faint">
        {plural(days.length, "day")}, at most {short(most)} tokens
      </small>
    </div>
  );
}

function RoleBudget({ budget, onReset }) {
  const { label, tone } = STATES[budget.state] ?? { label: budget.state, tone: "grey" };
  const isUsedUp = budget.state === "used_up";
  return (
    <Panel
      title={budget.role}
      id={`budget-${budget.role}`}
      aside={<span class={`state tone-${tone}`}>{label}</span>}
    >
      <ul class="budget-limits">
        {budget.limits.map((limit) => (
          <Limit key={limit.name} limit={limit} />
        ))}
      </ul>
      {isUsedUp && (
        <p class="pad toned tone-red">
          {budget.when_exhausted === "refuse" || !budget.until ? (
            "Events are refused."
          ) : (
            <>
              Events wait and start <Due time={budget.until} late="now" />.
            </>
          )}
        </p>
      )}
      <Days days={budget.days} />
      <footer class="budget-foot">
        <small class="faint">
          <Parts
            of={[
              `${short(budget.life.tokens)} tokens, ${money(budget.life.cost)} in all`,
              budget.requests > 0 &&
                plural(budget.requests, "request under way", "requests under way"),
              budget.timezone,
            ]}
          />
        </small>
        <Button
          why={lacks("administer")}
          label={`Reset the budgets of ${budget.role}`}
          onClick={() => onReset(budget)}
        >
          Reset
        </Button>
      </footer>
    </Panel>
  );
}

const URGENCY = ["used_up", "nearly_used", "left", "unlimited"];

function sorted(budgets) {
  const rank = ({ state }) => URGENCY.indexOf(state);
  return [...budgets].sort((a, b) => rank(a) - rank(b) || a.role.localeCompare(b.role));
}

export function Budgets() {
  useTitle("Budgets");
  const [reset, setReset] = useState(null);
  const state = useLive("/v1/budgets");
  return (
    <div class="page">
      <PageHead title="Budgets" sub={stale(state) ?? "What all runs of a role may use"} />
      <Loaded of={state} kind="card" rows={4}>
        {({ budgets }) =>
          budgets.length ? (
            <div class="cards">
              {sorted(budgets).map((budget) => (
                <RoleBudget key={budget.role} budget={budget} onReset={setReset} />
              ))}
            </div>
          ) : (
            <Empty icon="gauge" title="No budgets">
              The <code>guardrails</code> of a role limit what all its runs use in a day, a week or
              ever, for example with <code>daemon_daily_token_budget</code>.
            </Empty>
          )
        }
      </Loaded>
      {reset && <ResetDialog budget={reset} onClose={() => setReset(null)} onDone={state.reload} />}
    </div>
  );
}
