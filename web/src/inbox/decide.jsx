// SPDX-License-Identifier: Apache-2.0
// Decisions: each in a dialog that waits for the answer. Nothing is shown as done before it is.
import { useMemo, useState } from "preact/hooks";
import { post } from "../lib/api.js";
import { escaped } from "../lib/exact.js";
import { personOf, shortDigest, STATES } from "../lib/inbox.js";
import { Dialog } from "../ui/dialog.jsx";
import { toast } from "../ui/toast.jsx";
import { Exact } from "./exact.jsx";

const newKey = () =>
  `inbox-${Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("")}`;

/** What is sent about an entry. The same words again have the same key: they count once. */
function useDecision(entry, body, { onChange, said }) {
  const text = JSON.stringify(body);
  const key = useMemo(newKey, [text, entry.request_id]);
  return async () => {
    try {
      const answer = await post(
        `/v1/hitl/decisions/${encodeURIComponent(entry.request_id)}`,
        { ...body, revision: entry.revision, action_digest: entry.action_digest },
        { headers: { "If-Match": `"${entry.version}"`, "Idempotency-Key": key } },
      );
      toast(answer.message ?? said);
    } finally {
      onChange();
    }
  };
}

function Subject({ entry }) {
  return (
    <dl class="facts subject">
      <div>
        <dt>Action</dt>
        <dd>
          <strong>
            <Exact text={entry.tool ?? "?"} />
          </strong>{" "}
          of <Exact text={entry.agent_id} />
        </dd>
      </div>
      <div>
        <dt>Digest</dt>
        <dd>
          <code>{shortDigest(entry.action_digest)}</code>
        </dd>
      </div>
    </dl>
  );
}

function TextField({ id, label, value, onChange, rows = 3, hint }) {
  return (
    <>
      <label for={id}>{label}</label>
      <textarea
        id={id}
        rows={rows}
        maxLength={4000}
        value={value}
        placeholder={hint}
        onInput={(event) => onChange(event.currentTarget.value)}
      />
    </>
  );
}

/** A critical action is approved in two steps; the second one names its digest once more. */
function Approve({ entry, onClose, onChange }) {
  const isCritical = entry.risk_level === "critical";
  const [comment, setComment] = useState("");
  const [step, setStep] = useState(1);
  const [isSure, setSure] = useState(false);
  const body = { status: "approved", ...(comment.trim() ? { context: comment.trim() } : {}) };
  const send = useDecision(entry, body, { onChange, said: "Approved" });
  const isLast = !isCritical || step === 2;
  const next = () => {
    setStep(2);
    return false;
  };
  return (
    <Dialog
      title={
        isCritical
          ? `${isLast ? "Really approve this" : "Approve a"} critical action?`
          : "Approve this action?"
      }
      submit={isLast ? (isCritical ? "Approve the critical action" : "Approve") : "Continue"}
      tone={isCritical && isLast ? "danger" : "primary"}
      isReady={!isCritical || !isLast || isSure}
      onClose={onClose}
      onSubmit={isLast ? send : next}
    >
      <Subject entry={entry} />
      {isCritical && isLast ? (
        <>
          {entry.approvals_required > 1 && (
            <p>
              {entry.approvals_required} persons must approve it; {entry.approvals.length} did.
            </p>
          )}
          <label class="check">
            <input
              type="checkbox"
              checked={isSure}
              onChange={(event) => setSure(event.currentTarget.checked)}
            />
            I have read the action with the digest {entry.action_digest.slice(7, 19)}
          </label>
        </>
      ) : (
        <TextField
          id="approve-comment"
          label="Comment (optional)"
          rows={2}
          value={comment}
          onChange={setComment}
        />
      )}
    </Dialog>
  );
}

function Reject({ entry, onClose, onChange }) {
  const [comment, setComment] = useState("");
  const body = { status: "rejected", context: comment.trim() };
  const send = useDecision(entry, body, { onChange, said: "Rejected" });
  return (
    <Dialog
      title="Reject this action?"
      submit="Reject"
      tone="danger"
      isReady={comment.trim() !== ""}
      onClose={onClose}
      onSubmit={send}
    >
      <Subject entry={entry} />
      <TextField
        id="reject-comment"
        label="Reason, which the agent is told"
        value={comment}
        onChange={setComment}
      />
    </Dialog>
  );
}

function Reroute({ entry, desks, onClose, onChange }) {
  const [target, setTarget] = useState("");
  const [comment, setComment] = useState("");
  const body = {
    status: "rerouted",
    target: target.trim(),
    ...(comment.trim() ? { context: comment.trim() } : {}),
  };
  const send = useDecision(entry, body, { onChange, said: `Passed on to ${target.trim()}` });
  return (
    <Dialog
      title="Pass it on"
      submit="Pass it on"
      isReady={target.trim() !== ""}
      onClose={onClose}
      onSubmit={send}
    >
      <Subject entry={entry} />
      <label for="reroute-target">Desk, role or person</label>
      <input
        id="reroute-target"
        list="reroute-desks"
        autocomplete="off"
        value={target}
        onInput={(event) => setTarget(event.currentTarget.value)}
      />
      <datalist id="reroute-desks">
        {desks.map(({ name }) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      <TextField
        id="reroute-comment"
        label="Comment (optional)"
        value={comment}
        onChange={setComment}
      />
    </Dialog>
  );
}

function Ask({ entry, onClose, onChange }) {
  const [text, setText] = useState("");
  const questions = text
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean);
  const send = useDecision(
    entry,
    { status: "needs_info", questions },
    { onChange, said: "The agent was asked" },
  );
  return (
    <Dialog
      title="Ask the agent"
      submit="Ask"
      isReady={questions.length > 0}
      onClose={onClose}
      onSubmit={send}
    >
      <p>The time to decide stops until the agent answers.</p>
      <TextField
        id="ask-questions"
        label="Questions, one in each line"
        rows={4}
        value={text}
        onChange={setText}
      />
    </Dialog>
  );
}

function Withdraw({ entry, onClose, onChange }) {
  const send = useDecision(
    entry,
    { status: "withdrawn" },
    { onChange, said: "The questions are withdrawn" },
  );
  return (
    <Dialog
      title="Withdraw the questions?"
      submit="Withdraw them"
      onClose={onClose}
      onSubmit={send}
    >
      <p>It can be decided again at once.</p>
    </Dialog>
  );
}

function Escalate({ entry, onClose, onChange }) {
  const [comment, setComment] = useState("");
  const body = { status: "escalated", ...(comment.trim() ? { context: comment.trim() } : {}) };
  const send = useDecision(entry, body, { onChange, said: "Escalated" });
  return (
    <Dialog title="Escalate it" submit="Escalate" onClose={onClose} onSubmit={send}>
      <p>The desks of the next level see it too.</p>
      <TextField
        id="escalate-comment"
        label="Comment (optional)"
        value={comment}
        onChange={setComment}
      />
    </Dialog>
  );
}

export const DIALOGS = {
  approve: Approve,
  reject: Reject,
  reroute: Reroute,
  ask: Ask,
  withdraw: Withdraw,
  escalate: Escalate,
};

/** Claim an entry, or end the claim. */
export async function claim(entry, isMine) {
  const path = `/v1/inbox/${encodeURIComponent(entry.request_id)}`;
  await post(`${path}/${isMine ? "release" : "claim"}`);
}

/** "Approved by ann", of what is decided. */
export function outcomeOf({ state, decided_by: by }) {
  const label = STATES[state]?.label ?? state;
  return by ? `${label} by ${escaped(personOf(by))}` : label;
}
