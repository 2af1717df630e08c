// SPDX-License-Identifier: Apache-2.0
// Events that were accepted and wait to become runs, and those that became none, with the reason.
import { query } from "../lib/api.js";
import { count, dateTime, shortId } from "../lib/format.js";
import { useLive, usePages, useTitle } from "../lib/hooks.js";
import { href, route, setParams } from "../lib/router.js";
import { useSignal } from "../lib/store.js";
import { Age, Due, Segments } from "../ui/parts.jsx";
import { More, Parts, Row, Rows, stale } from "../ui/rows.jsx";
import { PageHead } from "../ui/shell.jsx";
import { Empty, Loaded } from "../ui/states.jsx";
import { sourceType } from "./sources.jsx";

const MOST = 500;
const PAGE = 100;

/** What became of an event: one row each. isRun: `run_id` is of a run that may exist. */
const OUTCOMES = {
  refused: { label: "Refused", tone: "red" },
  dropped: { label: "Dropped", tone: "orange" },
  coalesced: { label: "Coalesced", tone: "grey", isRun: true },
  full: { label: "Queue full", tone: "amber" },
};

/** Why it waits: nobody starts its role; a budget is used up; else for a run of its role to end. */
function Reason({ event, budget }) {
  if (!event.on_duty) {
    return <span class="toned tone-amber">no daemon has the role on duty</span>;
  }
  if (budget?.state !== "used_up" || !budget.until) return <span>waits for its turn</span>;
  return (
    <span class="toned tone-amber">
      its budget is used up, starts <Due time={budget.until} late="now" />
    </span>
  );
}

function Waiting({ page, budgets }) {
  if (!page.requests.length) {
    return (
      <Empty icon="stack" title="Nothing waits">
        Events wait here while as many runs execute as a role may have.
      </Empty>
    );
  }
  return (
    <>
      <Rows label="Waiting events">
        {page.requests.map((event) => (
          <Row
            key={event.run_id}
            id={event.run_id}
            tag={sourceType(event.kind).label}
            tone={sourceType(event.kind).tone}
            title={event.prompt}
            sub={
              <Parts
                of={[
                  <strong>{event.role}</strong>,
                  event.mode,
                  <>
                    becomes run <code>{shortId(event.run_id)}</code>
                  </>,
                  <Reason event={event} budget={budgets.get(event.role)} />,
                ]}
              />
            }
            end={<Age time={event.received} />}
            endSub={dateTime(event.received)}
          />
        ))}
      </Rows>
      {page.has_more && <p class="pad faint">More than {count(MOST)} events wait.</p>}
    </>
  );
}

function RefusalRow({ refusal }) {
  const { label, tone, isRun } = OUTCOMES[refusal.outcome] ?? { label: refusal.outcome };
  return (
    <Row
      id={refusal.id}
      tag={label}
      tone={tone ?? "grey"}
      title={refusal.reason}
      sub={
        <Parts
          of={[
            <strong>{refusal.role || "unknown role"}</strong>,
            refusal.source && <code>{refusal.source}</code>,
            isRun && refusal.run_id && (
              <>
                with <a href={href("runs", refusal.run_id)}>{shortId(refusal.run_id)}</a>
              </>
            ),
          ]}
        />
      }
      end={<Age time={refusal.time} />}
      endSub={dateTime(refusal.time)}
    />
  );
}

function Refused({ state }) {
  if (!state.list.length) {
    return (
      <Empty icon="check" title="Nothing was refused">
        Events that do not become runs of their own are listed here, with the reason.
      </Empty>
    );
  }
  return (
    <>
      <Rows label="Refused events">
        {state.list.map((refusal) => (
          <RefusalRow key={refusal.id} refusal={refusal} />
        ))}
      </Rows>
      <More of={state} />
    </>
  );
}

export function Queue() {
  useTitle("Queue");
  const { params } = useSignal(route);
  const isRefused = params.show === "refused";
  const waiting = useLive(`/v1/queue${query({ limit: MOST })}`);
  const path = `/v1/refusals${query({ limit: PAGE })}`;
  const refused = usePages(useLive(isRefused ? path : null), path, "refusals");
  const budgets = useLive("/v1/budgets");
  const byRole = new Map((budgets.data?.budgets ?? []).map((one) => [one.role, one]));
  const length = waiting.data?.requests.length;
  return (
    <div class="page">
      <PageHead
        title="Queue"
        sub={stale(isRefused ? refused : waiting) ?? "Events that wait to become runs, or did not"}
      />
      <div class="toolbar">
        <Segments
          label="What to show"
          items={[
            ["waiting", length === undefined ? "Waiting" : `Waiting (${count(length)})`],
            ["refused", "Refused"],
          ]}
          chosen={isRefused ? "refused" : "waiting"}
          onChange={(show) => setParams({ show: show === "refused" ? show : null })}
        />
      </div>
      {isRefused ? (
        <Loaded of={refused} rows={8}>
          {() => <Refused state={refused} />}
        </Loaded>
      ) : (
        <Loaded of={waiting} rows={8}>
          {(page) => <Waiting page={page} budgets={byRole} />}
        </Loaded>
      )}
    </div>
  );
}
