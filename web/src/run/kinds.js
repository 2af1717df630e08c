// SPDX-License-Identifier: Apache-2.0
// How events read: a row for each type, with its group for the filter and one line that says it.
import { bytes, money, plural, reasonOf, short, shortId, spanOfNs } from "../lib/format.js";
import { dropped } from "./talk.js";

export const GROUPS = {
  iteration: { label: "Iterations", tone: "blue" },
  condition: { label: "Conditions", tone: "green" },
  model: { label: "Model", tone: "violet" },
  tool: { label: "Tools", tone: "teal" },
  checkpoint: { label: "Checkpoints", tone: "grey" },
  policy: { label: "Policy", tone: "amber" },
  run: { label: "Run", tone: "grey" },
};

const firstLine = (text) => (text ? String(text).trim().split("\n", 1)[0].slice(0, 240) : "");
const join = (...parts) => parts.filter(Boolean).join(" · ");
const usage = (data) =>
  join(
    data.tokens ? `${short(data.tokens)} tokens` : "",
    data.cost_micro === null ? "cost unknown" : data.cost_micro ? money(data.cost_micro / 1e6) : "",
  );

function bad(outcome) {
  return outcome && outcome !== "ok" ? "bad" : "";
}

/** group, title, line(data), state(data): "", "good", "bad", "note" */
const KINDS = {
  "run.created": ["run", "Run created", (d) => join(d.agent_id, d.version && `Rondo ${d.version}`)],
  "run.claimed": ["run", "Claimed", (d) => join(d.how, d.owner, d.message)],
  "run.options": [
    "run",
    "Options changed",
    (d) =>
      join(
        d.by,
        Object.keys(d.spec ?? {})
          .slice(0, 4)
          .join(", "),
      ),
  ],
  "run.stop_requested": [
    "run",
    "Stop requested",
    (d) => join(d.by && `by ${d.by}`, d.message),
    () => "note",
  ],
  "run.paused": ["run", "Paused", (d) => join(d.by && `by ${d.by}`, d.message), () => "note"],
  "run.continued": ["run", "Continued", (d) => join(d.by && `by ${d.by}`, d.message)],
  "run.forked": [
    "run",
    "Forked",
    (d) => join(`from ${shortId(d.forked_from)}, checkpoint ${d.checkpoint}`, d.by && `by ${d.by}`),
  ],
  "run.finished": [
    "run",
    "Run finished",
    (d) => join(d.status, firstLine(d.summary || d.message)),
    (d) => (d.status === "completed" ? "good" : "bad"),
  ],
  "policy.changed": [
    "policy",
    "Policies in force",
    (d) => join(d.source, d.by && `by ${d.by}`, d.sha256?.slice(0, 12)),
    () => "note",
  ],
  "policy.refused": [
    "policy",
    "Policies refused",
    (d) => join(d.source, firstLine(d.message)),
    () => "bad",
  ],
  "limit.warning": [
    "policy",
    "Near a limit",
    (d) => join(d.message || `${d.limit_name}: ${d.value} of ${d.limit}`),
    () => "note",
  ],
  "gate.denied": [
    "policy",
    "Denied by policy",
    (d) => join(d.policy, firstLine(d.message)),
    () => "bad",
  ],
  "step.denied": [
    "policy",
    "Step denied",
    (d) => join(d.action, d.name, firstLine(d.message)),
    () => "bad",
  ],
  "iteration.started": [
    "iteration",
    "Iteration started",
    (d) =>
      join(
        d.limit ? `${d.iteration} of ${d.limit}` : `${d.iteration}`,
        d.attempt > 1 && `attempt ${d.attempt}`,
      ),
  ],
  "iteration.finished": [
    "iteration",
    "Iteration finished",
    (d) =>
      join(
        d.outcome !== "ok" && d.outcome,
        d.exit_code ? `exit ${d.exit_code}` : "",
        usage(d),
        firstLine(d.summary || d.message || d.output),
      ),
    (d) => bad(d.outcome) || "good",
  ],
  "iteration.interrupted": [
    "iteration",
    "Interrupted",
    (d) => join(d.reason, d.attempt > 1 && `attempt ${d.attempt}`),
    () => "bad",
  ],
  "model.requested": [
    "model",
    "Model asked",
    (d) =>
      join(
        d.model,
        d.messages && plural(d.messages, "message"),
        d.attempt > 1 && `attempt ${d.attempt}`,
      ),
  ],
  "model.retrying": [
    "model",
    "Model asked again",
    (d) => join(d.delay_ns && `in ${spanOfNs(d.delay_ns)}`, firstLine(d.message)),
    () => "bad",
  ],
  "model.replied": [
    "model",
    "Model replied",
    (d) =>
      join(
        d.outcome !== "ok" && d.outcome,
        usage(d),
        d.calls?.length && plural(d.calls.length, "call"),
        firstLine(d.output || d.message),
      ),
    (d) => bad(d.outcome),
  ],
  "tool.requested": ["tool", "Tool called", (d) => join(d.name, firstLine(d.arguments))],
  "tool.finished": [
    "tool",
    "Tool answered",
    (d) =>
      join(
        d.name,
        d.outcome !== "ok" && d.outcome,
        d.output_bytes ? bytes(d.output_bytes) : "",
        firstLine(d.output),
      ),
    (d) => bad(d.outcome),
  ],
  "person.answered": [
    "tool",
    "Waited for a person",
    (d) => join(d.name, d.name && d.outcome, d.duration_ns && spanOfNs(d.duration_ns)),
  ],
  "plan.updated": ["iteration", "Plan updated", (d) => plural(d.plan?.length ?? 0, "step")],
  "history.trimmed": [
    "model",
    "Conversation trimmed",
    (d) =>
      join(`${plural(dropped(d), "message")} dropped`, `${(d.messages ?? 0) - dropped(d)} kept`),
  ],
  "verification.started": [
    "condition",
    "Verification",
    (d) => join(d.name, d.total && plural(d.total, "condition")),
  ],
  "condition.evaluated": [
    "condition",
    "Condition",
    (d) =>
      join(
        d.name,
        d.status === "met" ? "met" : "not met",
        reasonOf(d),
        firstLine(d.output || d.message),
      ),
    (d) => (d.status === "met" ? "good" : "bad"),
  ],
  "verification.finished": [
    "condition",
    "Verified",
    (d) => `${d.met} of ${d.total} conditions met`,
    (d) => (d.met === d.total ? "good" : ""),
  ],
  "finish.rejected": [
    "condition",
    "Finish rejected",
    (d) => `the worker said done, ${d.met} of ${d.total} conditions met`,
    () => "bad",
  ],
  "checkpoint.saved": [
    "checkpoint",
    "Checkpoint saved",
    (d) =>
      join(`#${d.number}`, d.bytes !== undefined && bytes(d.bytes), d.how, d.sha256?.slice(0, 12)),
  ],
  "checkpoint.corrupt": [
    "checkpoint",
    "Checkpoint damaged",
    (d) => join(`#${d.number}`, firstLine(d.message)),
    () => "bad",
  ],
  "storage.degraded": [
    "checkpoint",
    "Storage failed",
    (d) => join(plural(d.failures ?? 0, "try", "tries"), firstLine(d.message)),
    () => "bad",
  ],
  note: ["run", "Note", (d) => join(d.name, d.attributes && JSON.stringify(d.attributes))],
};

export function kindOf(event) {
  const [group, title, line, state] = KINDS[event.type] ?? [
    "run",
    event.type,
    (d) => firstLine(d?.message ?? ""),
  ];
  const data = event.data ?? {};
  return { group, title, line: line(data) || "", state: state?.(data) ?? "" };
}

export const groupOf = (type) => KINDS[type]?.[0] ?? "run";

/** When what an event tells of began: the event is written when it is over. */
export function startOf(event) {
  const duration = event.data?.duration_ns;
  return duration ? new Date(Date.parse(event.time) - duration / 1e6).toISOString() : event.time;
}
