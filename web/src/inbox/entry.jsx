// SPDX-License-Identifier: Apache-2.0
// One entry: the action as it would be made, why a person is asked, what was said, and the decision.
import { escaped } from "../lib/exact.js";
import { dateTime, shortId } from "../lib/format.js";
import { isOpen, isWaiting, personOf, shortDigest, STATES } from "../lib/inbox.js";
import { href } from "../lib/router.js";
import { lacks } from "../lib/session.js";
import { Diff } from "../ui/diff.jsx";
import { Icon } from "../ui/icons.jsx";
import { Age, Button, Copy } from "../ui/parts.jsx";
import { Notice } from "../ui/states.jsx";
import { outcomeOf } from "./decide.jsx";
import { Exact, Folded, Members } from "./exact.jsx";
import { Countdown, Risk } from "./row.jsx";

const list = (value) => (Array.isArray(value) ? value : []);
const isSet = (value) =>
  value !== undefined &&
  value !== null &&
  value !== false &&
  value !== "" &&
  !(typeof value === "object" && Object.keys(value).length === 0);

function Digest({ digest, label }) {
  return (
    <span class="digest">
      <code title={digest}>{shortDigest(digest)}</code>
      <Copy text={digest} label={label} />
    </span>
  );
}

/* ---- The action ------------------------------------------------------------------------------- */

/** The text of a file before, if the agent has sent it: then a write is also shown as a difference.
 * No digest covers it, so it takes the place of nothing. */
function before(action, args) {
  const operands = [...list(action?.operands), ...list(action?.operand_digests)];
  const found = operands.find(({ path }) => path !== undefined && path === args.path);
  return typeof found?.content === "string" ? found.content : null;
}

function Operands({ action }) {
  const operands = [...list(action.operand_digests), ...list(action.operands)];
  if (!operands.length) return null;
  return (
    <section class="sub">
      <h3>Files that it names, as they were</h3>
      <ul class="operands">
        {operands.map(({ path, digest }) => (
          <li key={path}>
            <code>
              <Exact text={String(path)} />
            </code>{" "}
            <code class="faint">{shortDigest(String(digest ?? ""))}</code>
          </li>
        ))}
      </ul>
    </section>
  );
}

export function Action({ entry }) {
  const action = entry.action ?? {};
  const args = action.args ?? {};
  const old = typeof args.content === "string" ? before(entry.request?.action, args) : null;
  const members = Object.entries(args);
  return (
    <section class="panel" aria-labelledby="inbox-action">
      <header class="panel-head">
        <h2 id="inbox-action">Action</h2>
        <Digest digest={entry.action_digest} label="digest of the action" />
      </header>
      <p class="action-tool">
        <Icon name="tool" />
        <strong>
          <Exact text={entry.tool ?? "?"} />
        </strong>
        <span class="faint">as it would be made</span>
      </p>
      {members.length ? (
        <Members entries={members} label="Arguments" />
      ) : (
        <p class="faint pad">No arguments</p>
      )}
      {old !== null && (
        <section class="sub">
          <h3>Difference to the file, as the agent has sent it</h3>
          <Diff before={escaped(old)} after={escaped(args.content)} label="Difference" />
        </section>
      )}
      {isSet(action.resource) && (
        <Members entries={[["resource", action.resource]]} label="Resource" />
      )}
      <Operands action={action} />
    </section>
  );
}

/* ---- Why -------------------------------------------------------------------------------------- */

function Facts({ rows }) {
  return (
    <dl class="facts facts-wide">
      {rows
        .filter(([, value]) => isSet(value))
        .map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{typeof value === "string" ? <Exact text={value} /> : value}</dd>
          </div>
        ))}
    </dl>
  );
}

const words = (reason) => String(reason).replaceAll("_", " ");

function Reasons({ trigger, why }) {
  const reasons = list(trigger.trigger_reasons).length
    ? trigger.trigger_reasons
    : [trigger.trigger_reason].filter(Boolean);
  return (
    <>
      {why && (
        <p class="inbox-why">
          <Exact text={why} />
        </p>
      )}
      {reasons.length > 0 && (
        <ul class="inbox-reasons">
          {reasons.map((reason) => (
            <li key={String(reason)} class="tag tone-amber">
              <Exact text={words(reason)} />
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

export function Why({ entry }) {
  const request = entry.request ?? {};
  const trigger = request.trigger ?? {};
  const evidence = request.evidence ?? {};
  const missing = list(evidence.missing);
  const rules = list(trigger.policy_rule_ids).join(", ") || trigger.policy_rule_id;
  return (
    <section class="panel" aria-labelledby="inbox-why">
      <header class="panel-head">
        <h2 id="inbox-why">Why a person is asked</h2>
      </header>
      <Reasons trigger={trigger} why={entry.why} />
      <Facts
        rows={[
          ["Rule", rules && String(rules)],
          ["Risk", <Risk key="r" level={entry.risk_level} />],
          ["Priority", entry.priority !== entry.risk_level && entry.priority],
          ["Confidence", isSet(trigger.confidence_score) && String(trigger.confidence_score)],
          [
            "Reversible",
            request.reversible === undefined ? null : request.reversible ? "yes" : "no",
          ],
          ["Policies", trigger.policy_hash && shortDigest(String(trigger.policy_hash))],
          [
            "Evidence",
            isSet(evidence.required) && `${evidence.count ?? 0} of ${evidence.required} pieces`,
          ],
        ]}
      />
      {missing.length > 0 && (
        <Notice>
          Missing evidence:{" "}
          {missing.map((one) => (
            <code key={String(one)}>
              <Exact text={String(one)} />{" "}
            </code>
          ))}
        </Notice>
      )}
    </section>
  );
}

/* ---- What the agent says ---------------------------------------------------------------------- */

const textOf = (value) => (typeof value === "string" ? value : JSON.stringify(value, null, 2));

export function FromAgent({ request }) {
  const { intent = {}, context = {}, rollback } = request ?? {};
  const parts = [
    ["Summary", intent.summary],
    ["Proposed action", intent.proposed_action],
    ["Rollback", rollback],
    ["Messages", context.messages],
    ["Artifacts", context.artifacts],
    ["Citations", context.citations],
  ].filter(([, value]) => isSet(value));
  if (!parts.length) return null;
  return (
    <section class="panel from-agent" aria-labelledby="inbox-agent">
      <header class="panel-head">
        <h2 id="inbox-agent">Written by the agent</h2>
        <span class="faint">It may be wrong, or mislead. The action above counts.</span>
      </header>
      {parts.map(([name, value]) => (
        <section class="sub" key={name}>
          <h3>{name}</h3>
          <Folded text={textOf(value)} label={name} />
        </section>
      ))}
    </section>
  );
}

/* ---- What happened ---------------------------------------------------------------------------- */

const KINDS = {
  "handoff.requested": "asked for a decision",
  "handoff.approved": "approved",
  "handoff.approved_partly": "approved; another person must, too",
  "handoff.rejected": "rejected",
  "handoff.rerouted": "passed it on",
  "handoff.asked": "asked the agent",
  "handoff.withdrawn": "withdrew the questions",
  "handoff.resubmitted": "answered",
  "handoff.escalated": "escalated",
  "handoff.deescalated": "de-escalated",
  "handoff.cancelled": "cancelled",
};

function Remark({ remark }) {
  const details = remark.details ?? {};
  const { comment, questions, answers, target } = details;
  const rest = Object.entries(details).filter(
    ([name]) => !["status", "comment", "questions", "answers", "target"].includes(name),
  );
  return (
    <li class="remark">
      <p>
        <strong>
          <Exact text={personOf(remark.by)} />
        </strong>{" "}
        {KINDS[remark.kind] ?? escaped(words(remark.kind.replace(/^handoff\./, "")))}
        {target && (
          <>
            {" "}
            to <Exact text={String(target)} />
          </>
        )}{" "}
        <span class="faint" title={remark.at && dateTime(remark.at)}>
          <Age time={remark.at} />
        </span>
      </p>
      {comment && <Folded text={String(comment)} label="Comment" />}
      {list(questions).length > 0 && (
        <ol class="questions">
          {questions.map((question, at) => (
            <li key={at}>
              <Exact text={String(question)} />
            </li>
          ))}
        </ol>
      )}
      {isSet(answers) && <Folded text={textOf(answers)} label="Answers of the agent" />}
      {rest.length > 0 && <Members entries={rest} label="Details" />}
    </li>
  );
}

export function Thread({ entry }) {
  const custody = list(entry.custody);
  return (
    <section class="panel" aria-labelledby="inbox-thread">
      <header class="panel-head">
        <h2 id="inbox-thread">Custody and questions</h2>
      </header>
      <Facts
        rows={[
          ["Desks", custody.length > 0 && custody.join(" → ")],
          ["Level", entry.escalation_level > 0 && String(entry.escalation_level)],
          [
            "Claimed",
            entry.claimed_by &&
              `${personOf(entry.claimed_by)}, until ${dateTime(entry.claim_until)}`,
          ],
          ["Revision", entry.revision > 1 && String(entry.revision)],
          [
            "Approved",
            list(entry.approvals).length > 0 &&
              entry.approvals.map(({ operator_id: id }) => personOf(id)).join(", "),
          ],
        ]}
      />
      {list(entry.thread).length ? (
        <ol class="thread">
          {entry.thread.map((remark, at) => (
            <Remark key={at} remark={remark} />
          ))}
        </ol>
      ) : (
        <p class="faint pad">Nobody has said anything yet.</p>
      )}
    </section>
  );
}

/* ---- The head and its buttons ------------------------------------------------------------------ */

/** Why the caller cannot decide, or null. */
export function blockOf(entry, me) {
  const lack = lacks("decide");
  if (lack) return lack;
  if (entry.state === "needs_info") return "The agent must answer first";
  if (!isOpen(entry) && entry.state !== "requested") return outcomeOf(entry);
  if (entry.claimed_by && entry.claimed_by !== me?.person)
    return `${escaped(personOf(entry.claimed_by))} has claimed it`;
  return null;
}

export const ACTIONS = [
  { key: "a", name: "approve", label: "Approve", tone: "primary", icon: "check" },
  { key: "r", name: "reject", label: "Reject", tone: "danger", icon: "cross" },
  { key: "i", name: "ask", label: "Ask", icon: "help" },
  { key: "t", name: "reroute", label: "Pass on", icon: "next" },
  { key: "e", name: "escalate", label: "Escalate", icon: "raise" },
];

export function Buttons({ entry, me, onAct, onClaim, isClaiming }) {
  const why = blockOf(entry, me);
  const isMine = Boolean(me?.person) && entry.claimed_by === me.person;
  if (!isWaiting(entry)) return null;
  const actions =
    entry.state === "needs_info"
      ? [{ key: "w", name: "withdraw", label: "Withdraw the questions", icon: "back" }]
      : ACTIONS;
  return (
    <div class="inbox-buttons" role="group" aria-label="Decision">
      {actions.map(({ key, name, label, tone, icon }) => (
        <Button
          key={name}
          icon={icon}
          tone={tone}
          why={name === "withdraw" ? lacks("decide") : why}
          aria-keyshortcuts={key}
          onClick={() => onAct(name)}
        >
          {label} <kbd aria-hidden="true">{key}</kbd>
        </Button>
      ))}
      <Button
        icon="user"
        why={isMine ? null : why}
        isBusy={isClaiming}
        aria-keyshortcuts="c"
        onClick={onClaim}
      >
        {isMine ? "Release" : "Claim"} <kbd aria-hidden="true">c</kbd>
      </Button>
    </div>
  );
}

const isRun = (id) => /^[0-9a-f]{8}-[0-9a-f]{4}-7/.test(id ?? "");

export function Head({ entry }) {
  const state = STATES[entry.state] ?? { label: entry.state, tone: "grey" };
  return (
    <header class="inbox-head">
      <p class="inbox-title">
        <Risk level={entry.risk_level} />
        <strong>
          <Exact text={entry.tool ?? "?"} />
        </strong>
        <span class={`state tone-${state.tone}`}>{state.label}</span>
        {isWaiting(entry) && <Countdown row={entry} />}
      </p>
      <p class="faint">
        <Exact text={entry.agent_id} /> ·{" "}
        {isRun(entry.run_id) ? (
          <a href={href("runs", entry.run_id)}>run {shortId(entry.run_id)}</a>
        ) : (
          <>
            lane <Exact text={entry.lane_id} />
          </>
        )}{" "}
        · asked <Age time={entry.requested_at} /> ago · <code>{shortId(entry.request_id)}</code>
      </p>
    </header>
  );
}

const ENDED = {
  approved: "green",
  rejected: "red",
};

/** Who decided, in a line that cannot be missed. */
export function Outcome({ entry }) {
  if (isWaiting(entry)) return null;
  const application =
    entry.application !== "none" ? `: the agent’s call is ${words(entry.application)}` : "";
  return (
    <Notice
      tone={ENDED[entry.state] ?? "grey"}
      icon={entry.state === "approved" ? "check" : "block"}
    >
      <strong>{outcomeOf(entry)}</strong>
      {entry.decided_at && (
        <>
          {" "}
          <Age time={entry.decided_at} /> ago
        </>
      )}
      {application}
    </Notice>
  );
}
