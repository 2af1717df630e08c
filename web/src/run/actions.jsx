// SPDX-License-Identifier: Apache-2.0
// What an operator may do with a run: each is asked back before, and tells what came of it.
import { useState } from "preact/hooks";
import { post } from "../lib/api.js";
import { LIMIT_NAMES, ofLimit, shortId } from "../lib/format.js";
import { lacks } from "../lib/session.js";
import { Dialog } from "../ui/dialog.jsx";
import { Button } from "../ui/parts.jsx";
import { toast } from "../ui/toast.jsx";

const OUTCOMES = {
  done: "Done",
  posted: "Requested; takes effect at the next step",
  started: "Run resumed",
  queued: "Queued: starts when the server has capacity",
  nothing: "No change needed",
};

/** Fields of the limits' dialog; factor: what the API counts in. */
const FIELDS = [
  { name: "iterations", key: "max_iterations", unit: "iterations", factor: 1 },
  { name: "tokens", key: "max_tokens", unit: "tokens", factor: 1 },
  { name: "cost", key: "max_cost", unit: "dollars", factor: 1, isFraction: true },
  { name: "time", key: "time_limit_ns", unit: "minutes", factor: 60e9 },
];

async function act(run, action, body, done) {
  const answer = await post(`/v1/runs/${run.run_id}/${action}`, body);
  toast(OUTCOMES[answer.outcome] ?? `${action}: ${answer.outcome}`);
  done();
}

function StopDialog({ run, onClose, onDone }) {
  const [reason, setReason] = useState("");
  return (
    <Dialog
      title="Stop this run?"
      submit="Stop the run"
      tone="danger"
      onClose={onClose}
      onSubmit={() => act(run, "stop", reason ? { reason } : {}, onDone)}
    >
      <p>
        <strong>{run.agent_id}</strong> <code>{shortId(run.run_id)}</code> ends as cancelled after a
        final checkpoint. It can be resumed later.
      </p>
      <label for="stop-reason">Reason (optional, recorded in the journal)</label>
      <input
        id="stop-reason"
        value={reason}
        maxLength={500}
        autoComplete="off"
        onInput={(event) => setReason(event.currentTarget.value)}
      />
    </Dialog>
  );
}

function PlainDialog({ run, action, title, text, submit, onClose, onDone }) {
  return (
    <Dialog
      title={title}
      submit={submit}
      onClose={onClose}
      onSubmit={() => act(run, action, {}, onDone)}
    >
      <p>
        <strong>{run.agent_id}</strong> <code>{shortId(run.run_id)}</code> {text}
      </p>
    </Dialog>
  );
}

function LimitField({ field, limit, text, onText }) {
  const { name, unit, factor } = field;
  const id = `limit-${name}`;
  const now = limit?.limit ? ofLimit(name, limit.limit) : "none";
  const isNone = text === null;
  return (
    <div class="limit-field">
      <label for={id}>{LIMIT_NAMES[name]}</label>
      <span class="faint" id={`${id}-now`}>
        used {ofLimit(name, limit?.value ?? 0)} · now {now}
      </span>
      <div class="limit-inputs">
        <input
          id={id}
          inputMode="decimal"
          autoComplete="off"
          placeholder={limit?.limit ? String(limit.limit / factor) : "unchanged"}
          value={isNone ? "" : text}
          disabled={isNone}
          aria-describedby={`${id}-now`}
          onInput={(event) => onText(event.currentTarget.value)}
        />
        <span class="faint">{unit}</span>
        <label class="check">
          <input
            type="checkbox"
            checked={isNone}
            onChange={(event) => onText(event.currentTarget.checked ? null : "")}
          />
          none<span class="sr"> for {LIMIT_NAMES[name]}</span>
        </label>
      </div>
    </div>
  );
}

/** Body of the request; a field left empty is not changed. @return {body, problem} */
function limitsOf(texts) {
  const body = {};
  for (const { name, key, factor, isFraction } of FIELDS) {
    const text = texts[name];
    if (text === null) body[key] = null;
    else if (text?.trim()) {
      const value = Number(text.replace(/[,_\s]/g, ""));
      if (!(value > 0)) return { body, problem: `${LIMIT_NAMES[name]}: a number greater than 0` };
      body[key] = isFraction ? value : Math.round(value * factor);
    }
  }
  return { body, problem: null };
}

function LimitsDialog({ run, action, title, submit, children, onClose, onDone }) {
  const [texts, setTexts] = useState({});
  const { body, problem } = limitsOf(texts);
  const isReady = !problem && (action === "resume" || Object.keys(body).length > 0);
  const limits = run.limits ?? [];
  return (
    <Dialog
      title={title}
      submit={submit}
      onClose={onClose}
      isReady={isReady}
      onSubmit={() => act(run, action, body, onDone)}
    >
      {children}
      {FIELDS.map((field) => (
        <LimitField
          key={field.name}
          field={field}
          limit={limits.find(({ name }) => name === field.name)}
          text={field.name in texts ? texts[field.name] : ""}
          onText={(text) => setTexts({ ...texts, [field.name]: text })}
        />
      ))}
      {problem && (
        <p class="field-error" role="alert">
          {problem}
        </p>
      )}
      <p class="faint">Empty fields are not changed. Policies may set a lower limit.</p>
    </Dialog>
  );
}

const DIALOGS = {
  stop: StopDialog,
  pause: (props) => (
    <PlainDialog
      {...props}
      action="pause"
      title="Pause this run?"
      submit="Pause"
      text="finishes its current iteration, then waits."
    />
  ),
  continue: (props) => (
    <PlainDialog
      {...props}
      action="continue"
      title="Continue this run?"
      submit="Continue"
      text="begins its next iteration."
    />
  ),
  resume: (props) => (
    <LimitsDialog {...props} action="resume" title="Resume this run" submit="Resume">
      <p>It continues from its latest checkpoint. If a limit ended it, raise that limit here.</p>
    </LimitsDialog>
  ),
  raise: (props) => (
    <LimitsDialog {...props} action="limits" title="Change the limits" submit="Change the limits">
      <p>They apply from the run's next step.</p>
    </LimitsDialog>
  ),
};

const BUTTONS = [
  { key: "continue", name: "Continue", icon: "play", tone: "primary" },
  { key: "resume", name: "Resume", icon: "play", tone: "primary" },
  { key: "pause", name: "Pause", icon: "pause" },
  { key: "raise", name: "Limits", icon: "raise" },
  { key: "stop", name: "Stop", icon: "stop", tone: "danger" },
];

export function RunActions({ run, onDone }) {
  const [open, setOpen] = useState(null);
  const why = lacks("operate");
  const shown = BUTTONS.filter(({ key }) => run.can?.[key]);
  const Open = open && DIALOGS[open];
  return (
    <>
      {shown.map(({ key, name, icon, tone }) => (
        <Button key={key} icon={icon} tone={tone} why={why} onClick={() => setOpen(key)}>
          {name}
        </Button>
      ))}
      {why && shown.length > 0 && <span class="sr">{why}</span>}
      {Open && <Open run={run} onClose={() => setOpen(null)} onDone={onDone} />}
    </>
  );
}
