// SPDX-License-Identifier: Apache-2.0
// What comes back from the server about a request: read with suspicion, checked against what was asked.
import { DecisionInvalid } from "./errors.js";
import { digest } from "./jcs.js";

const STATUSES = ["approved", "rejected", "rerouted", "needs_info"];
const MOST_CONSTRAINTS = 32;

/** A text of a person for a model: bounded, without control characters and without marks of direction. */
export function clean(text, most = 4096) {
  if (typeof text !== "string") return "";
  const kept = text.replace(/(?!\n)[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, "");
  return Buffer.from(kept).subarray(0, most).toString("utf8").replace(/\ufffd$/, "");
}

/** Milliseconds of an RFC 3339 time in UTC; undefined when it is none. */
export function instant(text) {
  if (typeof text !== "string" || !/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z$/.test(text)) return undefined;
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? undefined : ms;
}

const isCount = (value) => Number.isSafeInteger(value) && value >= 1;
const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

/** Whether an answer is about this request of ours, at all. @returns its revision */
export function checkStatus(value, expected) {
  const bad = (what) => new DecisionInvalid(expected.request_id, `the server's answer has ${what}`);
  for (const name of ["request_id", "action_digest", "agent_id", "trace_id"]) {
    const isOptional = name === "agent_id" || name === "trace_id";
    if (!(isOptional && value[name] === undefined) && value[name] !== expected[name]) {
      throw bad(`another ${name} than the request`);
    }
  }
  if (!isCount(value.revision)) throw bad("no revision");
  if (typeof value.state !== "string") throw bad("no state");
  return value.revision;
}

function list(value, most) {
  if (value === undefined || value === null) return [];
  return Array.isArray(value) && value.length <= most ? value : undefined;
}

/** Verify the event of a decision. Throws DecisionInvalid. */
export function readDecision(event, expected, revision) {
  const bad = (what) => new DecisionInvalid(expected.request_id, `the decision ${what}`);
  if (!isObject(event) || event.event_type !== "handoff.decided") throw bad("is none");
  for (const name of ["request_id", "trace_id", "action_digest"]) {
    if (event[name] !== expected[name]) throw bad(`has another ${name} than the request`);
  }
  if (event.agent_id !== undefined && event.agent_id !== expected.agent_id) throw bad("is for another agent");
  if (event.revision !== revision) throw bad("is about another revision of the request");
  const inner = event.decision;
  if (!isObject(inner) || !STATUSES.includes(inner.status)) throw bad("has a status that is not known");
  if (typeof event.decision_id !== "string" || event.decision_id === "") throw bad("has no id");
  const constraints = list(inner.constraints, MOST_CONSTRAINTS);
  const questions = list(event.questions, 64);
  const chain = list(event.approval_chain, 64);
  if (!constraints || !questions || !chain) throw bad("has lists that are none");
  const names = chain.map((one) => (isObject(one) ? one.operator_id : one)).filter((one) => typeof one === "string");
  return Object.freeze({
    requestId: expected.request_id,
    decisionId: event.decision_id,
    status: inner.status,
    revision,
    operatorRole: clean(inner.operator_role, 200),
    guidance: clean(inner.context),
    constraints,
    questions: questions.map((one) => clean(isObject(one) ? one.question : one)),
    reasonCode: clean(event.reason_code, 60).replaceAll("\n", " ") || inner.status,
    approvers: [...new Set(names)],
  });
}

// ---- Constraints -------------------------------------------------------------------------------------

class Unmet extends Error {}

/** The container and the key that a JSON pointer names. */
function find(args, pointer) {
  if (typeof pointer !== "string" || !pointer.startsWith("/")) throw new Unmet("has no pointer into the arguments");
  let container;
  let key;
  let value = args;
  for (const escaped of pointer.slice(1).split("/")) {
    const part = escaped.replaceAll("~1", "/").replaceAll("~0", "~");
    const isThere = Array.isArray(value)
      ? /^\d{1,9}$/.test(part) && Number(part) < value.length
      : isObject(value) && Object.hasOwn(value, part);
    if (!isThere) throw new Unmet("names an argument that is not there");
    [container, key] = [value, part];
    value = value[part];
  }
  return [container, key, value];
}

function same(a, b) {
  try {
    return digest(a) === digest(b);
  } catch {
    return false;
  }
}

const KINDS = {
  equals: {
    keys: ["pointer", "value"],
    apply(args, { pointer, value: wanted }) {
      const [container, key, value] = find(args, pointer);
      if (same(value, wanted)) return;
      const isScalar = wanted !== undefined && (typeof wanted !== "object" || wanted === null);
      if (!isScalar || typeof wanted !== typeof value || (wanted === null) !== (value === null)) {
        throw new Unmet("would change the type of an argument");
      }
      container[key] = wanted;
    },
  },
  max: {
    keys: ["pointer", "value"],
    apply(args, { pointer, value: most }) {
      const [container, key, value] = find(args, pointer);
      if (!Number.isFinite(most) || !Number.isFinite(value)) throw new Unmet("compares what is no number");
      container[key] = Math.min(value, most);
    },
  },
  one_of: {
    keys: ["pointer", "values"],
    apply(args, { pointer, values }) {
      const [, , value] = find(args, pointer);
      if (!Array.isArray(values) || !values.some((one) => same(one, value))) throw new Unmet("permits other values only");
    },
  },
  dry_run: {
    keys: ["pointer"],
    apply(args, { pointer = "/dry_run" }) {
      const [container, key, value] = find(args, pointer);
      if (typeof value !== "boolean") throw new Unmet("needs an argument that is true or false");
      container[key] = true;
    },
  },
  time_window: {
    keys: ["not_before", "not_after"],
    apply(_args, constraint, _decision, nowMs) {
      const [begin, end] = [instant(constraint.not_before), instant(constraint.not_after)];
      const isWrong = (name, value) => name in constraint && value === undefined;
      if ((begin ?? end) === undefined || isWrong("not_before", begin) || isWrong("not_after", end)) {
        throw new Unmet("has a time that is none");
      }
      if (nowMs < (begin ?? -Infinity) || nowMs > (end ?? Infinity)) throw new Unmet("permits another time only");
    },
  },
  max_count: {
    keys: ["count"],
    apply(_args, { count }) {
      if (!isCount(count)) throw new Unmet("permits no call");
    },
  },
  require_second_approver: {
    keys: [],
    apply(_args, _constraint, decision) {
      if (decision.approvers.length < 2) throw new Unmet("needs a second person");
    },
  },
};

/** The arguments as the constraints permit them; the given ones are left as they are. */
export function narrow(args, decision, nowMs) {
  const narrowed = structuredClone(args);
  decision.constraints.forEach((constraint, position) => {
    try {
      const name = isObject(constraint) ? constraint.kind : undefined;
      const kind = typeof name === "string" && Object.hasOwn(KINDS, name) ? KINDS[name] : undefined;
      if (!kind || !Object.keys(constraint).every((key) => key === "kind" || kind.keys.includes(key))) {
        throw new Unmet("is not known");
      }
      kind.apply(narrowed, constraint, decision, nowMs);
    } catch (error) {
      if (!(error instanceof Unmet)) throw error;
      throw new DecisionInvalid(decision.requestId, `constraint ${position + 1} of the decision ${error.message}`);
    }
  });
  return narrowed;
}
