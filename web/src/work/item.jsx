// SPDX-License-Identifier: Apache-2.0
// One work item: where it is, what has come of it, what happened, and what a person may request.
import { useState } from "preact/hooks";
import { post } from "../lib/api.js";
import { count, costOf, dateTime, short, shortId, spanOfNs } from "../lib/format.js";
import { useKeys, useLive, useTitle } from "../lib/hooks.js";
import { go, href } from "../lib/router.js";
import { lacks } from "../lib/session.js";
import { reasonWords, workState } from "../lib/work.js";
import { Dialog } from "../ui/dialog.jsx";
import { Icon } from "../ui/icons.jsx";
import { Age, Button, Copy, Due, Facts, Outside, Panel } from "../ui/parts.jsx";
import { Row, Rows, stale } from "../ui/rows.jsx";
import { PageHead } from "../ui/shell.jsx";
import { Loaded, Notice } from "../ui/states.jsx";
import { toast } from "../ui/toast.jsx";

const ACTIONS = {
  retry: {
    name: "Retry",
    icon: "loop",
    title: "Work on this issue again?",
    text: "It is worked on again, with all its attempts.",
    submit: "Retry the issue",
  },
  release: {
    name: "Release",
    icon: "stop",
    tone: "danger",
    title: "Release this issue?",
    text: "Its run is stopped and its claim released, so that people or other machines can take it. The branch is kept.",
    submit: "Release the issue",
  },
};

/** Why an action makes no sense now, or null. */
function obstacle(item, action) {
  const { label, canRetry, canRelease } = workState(item.state);
  if (item.request?.kind === action) return "Requested already";
  return (action === "retry" ? canRetry : canRelease) ? null : `Its state is “${label}”`;
}

function Actions({ item, onDone }) {
  const [open, setOpen] = useState(null);
  const chosen = ACTIONS[open];
  const request = async () => {
    await post(`/v1/work/${encodeURIComponent(item.id)}/${open}`);
    toast(`${chosen.name} requested`);
    onDone();
  };
  return (
    <>
      {Object.entries(ACTIONS).map(([key, { name, icon, tone }]) => (
        <Button
          key={key}
          icon={icon}
          tone={tone}
          why={lacks("operate") ?? obstacle(item, key)}
          onClick={() => setOpen(key)}
        >
          {name}
        </Button>
      ))}
      {chosen && (
        <Dialog
          title={chosen.title}
          submit={chosen.submit}
          tone={chosen.tone}
          onClose={() => setOpen(null)}
          onSubmit={request}
        >
          <p>
            <strong>
              {item.repository}#{item.number}
            </strong>{" "}
            {item.title}
          </p>
          <p>{chosen.text}</p>
        </Dialog>
      )}
    </>
  );
}

function Request({ request, worker }) {
  if (!request) return null;
  return (
    <Notice icon="clock">
      {ACTIONS[request.kind]?.name ?? request.kind} requested by {request.by || "somebody"} on{" "}
      {dateTime(request.time)}. {worker ?? "The next process that works on the repository"} does it.
    </Notice>
  );
}

function ItemFacts({ item }) {
  const { label, tone } = workState(item.state);
  return (
    <Facts
      rows={[
        [
          "State",
          <>
            <span class={`tag tone-${tone}`}>{label}</span> {reasonWords(item.reason)}
          </>,
        ],
        [
          "Next try",
          item.next && (
            <>
              <Due time={item.next} late="now" /> <span class="faint">{dateTime(item.next)}</span>
            </>
          ),
        ],
        ["Left alone until", item.released_until && dateTime(item.released_until)],
        [
          "Issue",
          <Outside url={item.url}>
            {item.repository}#{item.number}
          </Outside>,
        ],
        ["Pull request", item.pull && <Outside url={item.pull_url}>#{item.pull}</Outside>],
        ["Run", item.run_id && <a href={href("runs", item.run_id)}>{shortId(item.run_id)}</a>],
        ["Worked on by", item.worked_on_by],
        ["Attempts", count(item.attempts)],
        ["Failures in a row", item.retries > 0 && item.retries],
        ["Follow-ups", item.follow_ups > 0 && item.follow_ups],
        ["Time at work", spanOfNs(item.active_ns)],
        ["Use", `${short(item.tokens)} tokens · cost ${costOf(item.cost)}`],
        ["Branch", item.branch && <code class="wrap">{item.branch}</code>],
        ["Base", item.base_branch && <code class="wrap">{item.base_branch}</code>],
        [
          "Commit",
          item.commit && (
            <>
              <code title={item.commit}>{item.commit.slice(0, 10)}</code>
              <Copy text={item.commit} label="commit id" />
              {!item.is_pushed && <span class="faint">not pushed</span>}
            </>
          ),
        ],
        ["Claimed", item.claimed && dateTime(item.claimed)],
      ]}
    />
  );
}

function History({ history }) {
  if (!history.length) return <p class="pad faint">Nothing has happened yet.</p>;
  return (
    <Rows label="History, newest first">
      {[...history].reverse().map(({ time, state, text }, at) => (
        <Row
          key={history.length - at}
          tag={workState(state).label}
          tone={workState(state).tone}
          title={text}
          end={<Age time={time} />}
          endSub={dateTime(time)}
        />
      ))}
    </Rows>
  );
}

function Whole({ item }) {
  return (
    <>
      <Request request={item.request} worker={item.worked_on_by} />
      {item.message && <Notice tone={workState(item.state).tone}>{item.message}</Notice>}
      <div class="split">
        <Panel title="Work item" id="work-item">
          <ItemFacts item={item} />
        </Panel>
        <Panel title="History" id="work-history">
          <History history={item.history} />
        </Panel>
      </div>
    </>
  );
}

export function WorkItem({ id }) {
  const state = useLive(`/v1/work/${encodeURIComponent(id)}`);
  const item = state.data;
  const title = item ? (item.title ?? `Issue ${item.number}`) : "Work item";
  useTitle(title);
  useKeys({ u: () => go("work") });
  return (
    <div class="page">
      <PageHead
        title={title}
        sub={stale(state) ?? (item && `${item.repository}#${item.number}`)}
        before={
          <a class="back" href="#/work" aria-label="To the work items">
            <Icon name="back" />
          </a>
        }
      >
        {item && <Actions item={item} onDone={state.reload} />}
      </PageHead>
      <Loaded of={state} rows={8}>
        {() => <Whole item={item} />}
      </Loaded>
    </div>
  );
}
