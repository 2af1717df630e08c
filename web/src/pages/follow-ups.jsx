// SPDX-License-Identifier: Apache-2.0
// Runs that agents have scheduled for themselves: what is due when, changed and cancelled.
import { useState } from "preact/hooks";
import { post, query } from "../lib/api.js";
import { dateTime, localInput, shortId } from "../lib/format.js";
import { useLive, useTitle } from "../lib/hooks.js";
import { href, route, setParams } from "../lib/router.js";
import { lacks } from "../lib/session.js";
import { useSignal } from "../lib/store.js";
import { Dialog } from "../ui/dialog.jsx";
import { Age, Button, Due, Segments } from "../ui/parts.jsx";
import { Parts, Row, Rows, stale } from "../ui/rows.jsx";
import { PageHead } from "../ui/shell.jsx";
import { Empty, Loaded } from "../ui/states.jsx";
import { toast } from "../ui/toast.jsx";

const STATES = {
  pending: { label: "Pending", tone: "blue" },
  started: { label: "Started", tone: "green" },
  cancelled: { label: "Cancelled", tone: "grey" },
};

async function change(followUp, action, body, told, onDone) {
  await post(`/v1/follow-ups/${encodeURIComponent(followUp.id)}${action}`, body);
  toast(told);
  onDone();
}

function CancelDialog({ followUp, onClose, onDone }) {
  return (
    <Dialog
      title="Cancel this follow-up?"
      submit="Cancel the follow-up"
      tone="danger"
      onClose={onClose}
      onSubmit={() => change(followUp, "/cancel", {}, "Follow-up cancelled", onDone)}
    >
      <p>
        <strong>{followUp.agent}</strong> is not started on {dateTime(followUp.due)}. This cannot be
        undone.
      </p>
    </Dialog>
  );
}

function ChangeDialog({ followUp, onClose, onDone }) {
  const before = localInput(followUp.due);
  const [due, setDue] = useState(before);
  const [prompt, setPrompt] = useState(followUp.prompt);
  const body = {
    ...(due && due !== before ? { due: new Date(due).toISOString() } : {}),
    ...(prompt.trim() && prompt !== followUp.prompt ? { prompt } : {}),
  };
  return (
    <Dialog
      title="Change this follow-up"
      submit="Change it"
      onClose={onClose}
      isReady={Object.keys(body).length > 0}
      onSubmit={() => change(followUp, "", body, "Follow-up changed", onDone)}
    >
      <label for="follow-up-due">When it starts, in your time zone</label>
      <input
        id="follow-up-due"
        type="datetime-local"
        step="1"
        value={due}
        onInput={(event) => setDue(event.currentTarget.value)}
      />
      <label for="follow-up-prompt">Prompt</label>
      <textarea
        id="follow-up-prompt"
        rows={5}
        maxLength={16_384}
        value={prompt}
        onInput={(event) => setPrompt(event.currentTarget.value)}
      />
    </Dialog>
  );
}

function When({ followUp: { state, due } }) {
  if (state === "pending") return <Due time={due} />;
  return state === "started" ? <Age time={due} /> : <span class="faint">not started</span>;
}

function FollowUpRow({ followUp, onOpen }) {
  const { label, tone } = STATES[followUp.state] ?? { label: followUp.state, tone: "grey" };
  const isPending = followUp.state === "pending";
  const why = lacks("operate");
  return (
    <Row
      id={followUp.id}
      tag={label}
      tone={tone}
      title={followUp.prompt}
      sub={
        <Parts
          of={[
            <strong>{followUp.agent}</strong>,
            <>
              scheduled by{" "}
              <a href={href("runs", followUp.asked_by)}>{shortId(followUp.asked_by)}</a>
            </>,
            followUp.depth > 1 && `number ${followUp.depth} in a row`,
            followUp.run_id && (
              <>
                became <a href={href("runs", followUp.run_id)}>{shortId(followUp.run_id)}</a>
              </>
            ),
          ]}
        />
      }
      end={<When followUp={followUp} />}
      endSub={dateTime(followUp.due)}
      actions={
        isPending && (
          <>
            <Button
              icon="clock"
              why={why}
              label={`Change the follow-up of ${followUp.agent}`}
              onClick={() => onOpen("change", followUp)}
            />
            <Button
              icon="cross"
              tone="danger"
              why={why}
              label={`Cancel the follow-up of ${followUp.agent}`}
              onClick={() => onOpen("cancel", followUp)}
            />
          </>
        )
      }
    />
  );
}

const DIALOGS = { cancel: CancelDialog, change: ChangeDialog };

export function FollowUps() {
  useTitle("Follow-ups");
  const { params } = useSignal(route);
  const isAll = params.show === "all";
  const [open, setOpen] = useState(null);
  const state = useLive(`/v1/follow-ups${query({ all: isAll ? "true" : null })}`);
  const Open = open && DIALOGS[open.kind];
  return (
    <div class="page">
      <PageHead title="Follow-ups" sub={stale(state) ?? "Runs that agents have scheduled"} />
      <div class="toolbar">
        <Segments
          label="What to show"
          items={[
            ["pending", "Pending"],
            ["all", "Last seven days too"],
          ]}
          chosen={isAll ? "all" : "pending"}
          onChange={(show) => setParams({ show: show === "all" ? show : null })}
        />
      </div>
      <Loaded of={state} rows={8}>
        {({ follow_ups: list }) =>
          list.length ? (
            <Rows label="Follow-ups">
              {list.map((followUp) => (
                <FollowUpRow
                  key={followUp.id}
                  followUp={followUp}
                  onOpen={(kind, one) => setOpen({ kind, followUp: one })}
                />
              ))}
            </Rows>
          ) : (
            <Empty icon="next" title="No follow-ups">
              Agents on duty with <code>autonomy</code> can schedule runs of themselves.
            </Empty>
          )
        }
      </Loaded>
      {Open && (
        <Open followUp={open.followUp} onClose={() => setOpen(null)} onDone={state.reload} />
      )}
    </div>
  );
}
