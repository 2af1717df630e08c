// SPDX-License-Identifier: Apache-2.0
// One run, live.
import { useEffect, useMemo, useRef } from "preact/hooks";
import { query } from "../lib/api.js";
import { money, short, shortId, spanOfNs } from "../lib/format.js";
import { useApi, useKeys, useTitle } from "../lib/hooks.js";
import { go, href } from "../lib/router.js";
import { statusOf } from "../lib/status.js";
import { useSignal } from "../lib/store.js";
import { Exact } from "../inbox/exact.jsx";
import { RunActions } from "../run/actions.jsx";
import { Checkpoints } from "../run/checkpoints.jsx";
import { Conversation } from "../run/conversation.jsx";
import { Details } from "../run/details.jsx";
import { RunFeed } from "../run/feed.js";
import { Outcome, Overview } from "../run/overview.jsx";
import { Progress } from "../run/progress.jsx";
import { Timeline } from "../run/timeline.jsx";
import { Tasks } from "../tasks/tab.jsx";
import { Icon } from "../ui/icons.jsx";
import { Age, Copy, Status } from "../ui/parts.jsx";
import { PageHead } from "../ui/shell.jsx";
import { Failure, Notice, Skeleton } from "../ui/states.jsx";
import { say } from "../ui/toast.jsx";

const TABS = [
  ["", "Overview"],
  ["timeline", "Timeline"],
  ["conversation", "Conversation"],
  ["checkpoints", "Checkpoints"],
  ["details", "Details"],
];
/** The tasks of a PRD come first: they are what its run is about. */
const PRD_TABS = [["tasks", "Tasks"], ["overview", "Overview"], ...TABS.slice(1)];
const tabsOf = (run) => (run?.kind === "prd" ? PRD_TABS : TABS);

/** The key of the tab that an address chooses, else of the first one. */
function tabOf(run, name) {
  const tabs = tabsOf(run);
  return (tabs.find(([key]) => key === name) ?? tabs[0])[0];
}

/** Events after which the run itself is asked for again: the server alone knows its limits. */
const TELLING =
  /^(iteration\.(started|finished)|verification\.finished|run\.|policy\.|limit\.|gate\.|checkpoint\.)/;
const RELOAD_MS = 350;

function announce(events) {
  const last = events.findLast(
    (event) =>
      event.type === "verification.finished" ||
      event.type === "run.finished" ||
      event.type === "iteration.finished",
  );
  if (!last) return;
  const { data } = last;
  if (last.type === "run.finished") say(`The run has ended: ${statusOf(data.status).label}`);
  else if (last.type === "verification.finished")
    say(`Iteration ${data.iteration}: ${data.met} of ${data.total} conditions met`);
  else say(`Iteration ${data.iteration} finished`);
}

/** The run and its events; asks again soon after something told, not for each event. */
function useRun(id) {
  const detail = useApi(`/v1/runs/${encodeURIComponent(id)}`);
  const runId = detail.data?.run_id;
  const feed = useMemo(() => (runId ? new RunFeed(runId) : null), [runId]);
  const timer = useRef(null);
  const reload = useRef(detail.reload);
  reload.current = detail.reload;
  useEffect(() => {
    if (!feed) return undefined;
    feed.onEvents = (events) => {
      announce(events);
      if (events.some(({ type }) => TELLING.test(type))) {
        timer.current ??= setTimeout(() => {
          timer.current = null;
          reload.current();
        }, RELOAD_MS);
      }
    };
    feed.onReopen = () => reload.current();
    feed.start();
    return () => {
      feed.close();
      clearTimeout(timer.current);
      timer.current = null;
    };
  }, [feed]);
  return { detail, feed };
}

function Facts({ run, log }) {
  const tokens = log.isWhole ? Math.max(run.tokens, log.tokens) : run.tokens;
  const cost = run.cost !== null && log.isWhole ? Math.max(run.cost, log.cost) : run.cost;
  return (
    <div class="run-facts">
      <Status name={run.status} />
      <span>
        <code>{shortId(run.run_id)}</code>
        <Copy text={run.run_id} label="run id" />
      </span>
      <span>{short(tokens)} tokens</span>
      <span>{cost === null ? "cost unknown" : money(cost)}</span>
      <span>
        started <Age time={run.created} /> ago
      </span>
      {run.active_ns ? <span>{spanOfNs(run.active_ns)} active</span> : null}
      {run.model && <span>{run.model}</span>}
      {run.parent_id && (
        <span>
          works on <code>{run.options?.work?.task ?? "a task"}</code> of{" "}
          <a href={href("runs", run.parent_id)}>run {shortId(run.parent_id)}</a>
        </span>
      )}
    </div>
  );
}

/** The calls of a paused run that a person must decide. */
function WaitsFor({ run }) {
  const isPaused = run.status === "paused" || run.status === "waiting";
  const state = useApi(isPaused ? `/v1/inbox${query({ run: run.run_id })}` : null, { isRaw: true });
  const list = isPaused ? (state.data?.handoffs ?? []) : [];
  if (!list.length) return null;
  return (
    <Notice icon="inbox">
      {list.map((one) => (
        <p key={one.request_id}>
          Waits for the decision of a person:{" "}
          <a href={href("inbox", one.request_id)}>
            <Exact text={one.tool ?? "?"} />
          </a>
        </p>
      ))}
    </Notice>
  );
}

/** What the events already say and the answer of the API does not yet. */
function ahead(run, log) {
  const begun = log.latest["iteration.started"]?.data.iteration ?? 0;
  const finished = log.latest["run.finished"];
  const isEnded = finished && finished.seq > (run.last_seq ?? 0) && finished.seq === log.lastSeq;
  return {
    run: isEnded ? { ...run, status: finished.data.status, ended: finished.time } : run,
    iteration: Math.max(run.iteration, begun),
  };
}

function Tab({ tab, rest, run, feed, version }) {
  const { log } = feed;
  if (tab === "tasks") return <Tasks run={run} rest={rest} version={log.taskSeq} />;
  if (tab === "timeline") return <Timeline feed={feed} version={version} />;
  if (tab === "conversation") return <Conversation feed={feed} version={version} />;
  if (tab === "checkpoints")
    return (
      <Checkpoints
        run={run}
        rest={rest}
        latest={log.latest["checkpoint.saved"]?.data.number ?? run.checkpoint ?? 0}
      />
    );
  if (tab === "details") return <Details run={run} />;
  return <Overview run={run} log={log} version={version} />;
}

function Loaded({ detail, feed, tab, rest }) {
  const version = useSignal(feed.log.changed);
  const isOverview = tab === "" || tab === "overview";
  const { run, iteration } = ahead(detail.data, feed.log);
  useTitle(`${run.agent_id} ${shortId(run.run_id)}`);
  const back = (
    <a class="back" href="#/runs" aria-label="To the runs">
      <Icon name="back" />
    </a>
  );
  return (
    <>
      <PageHead title={run.agent_id} before={back} sub={<Facts run={run} log={feed.log} />}>
        <RunActions run={run} onDone={detail.reload} />
      </PageHead>
      <nav class="tabs" aria-label="Parts of the run">
        {tabsOf(run).map(([key, name], at) => (
          <a
            key={key}
            href={href("runs", run.run_id, ...(key ? [key] : []))}
            aria-current={tab === key ? "page" : undefined}
            title={`Key ${at + 1}`}
          >
            {name}
          </a>
        ))}
      </nav>
      <WaitsFor run={run} />
      {(isOverview || tab === "timeline" || tab === "tasks") && <Outcome run={run} />}
      {isOverview && <Progress run={run} iteration={iteration} />}
      <Tab tab={tab} rest={rest} run={run} feed={feed} version={version} />
    </>
  );
}

export function Run({ id, rest }) {
  const { detail, feed } = useRun(id);
  const tab = tabOf(detail.data, rest[0]);
  const keys = Object.fromEntries(
    tabsOf(detail.data).map(([key], at) => [
      String(at + 1),
      () => go("runs", id, ...(key ? [key] : [])),
    ]),
  );
  useKeys({ ...keys, u: () => go("runs") });
  const isFill = tab === "timeline" || tab === "conversation";
  return (
    <div class={`page ${isFill ? "page-fill" : ""}`}>
      {detail.data && feed ? (
        <Loaded detail={detail} feed={feed} tab={tab} rest={rest.slice(1)} />
      ) : detail.problem ? (
        <>
          <PageHead
            title="Run"
            before={
              <a class="back" href="#/runs" aria-label="To the runs">
                <Icon name="back" />
              </a>
            }
          />
          <Failure problem={detail.problem} onRetry={detail.reload} />
        </>
      ) : (
        <>
          <PageHead title="Run" />
          <Skeleton rows={8} kind="card" />
        </>
      )}
    </div>
  );
}
