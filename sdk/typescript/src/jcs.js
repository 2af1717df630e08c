// SPDX-License-Identifier: Apache-2.0
// Canonical JSON (RFC 8785), and the digests and ids that client and server find each by itself.
//
// Readers disagree about some values: half of a surrogate pair, NaN, an integer that a double cannot hold, a
// name that occurs twice. Those have no canonical form here, so two actions that differ never share a digest.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { CanonicalError } from "./errors.js";

export const MOST_DEPTH = 64;
// The UUIDv5 of "urn:relaytrace:request:v1" among URLs.
export const REQUEST_SPACE = "c60e442f-b463-5748-9819-3614d2cd0976";

function objectText(value, depth) {
  const prototype = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) {
    throw new CanonicalError(`a ${value.constructor?.name ?? "value"} has no JSON form`);
  }
  const names = Object.keys(value).sort(); // by UTF-16 units
  const members = names.map((name) => `${text(name, depth)}:${text(value[name], depth)}`);
  return `{${members.join(",")}}`;
}

function text(value, depth) {
  switch (typeof value) {
    case "string":
      if (!value.isWellFormed()) throw new CanonicalError("a string has half of a surrogate pair");
      return JSON.stringify(value);
    case "number":
      if (!Number.isFinite(value)) throw new CanonicalError("NaN and infinity are not JSON");
      return Object.is(value, -0) ? "0" : String(value);
    case "boolean":
      return String(value);
    case "object":
      break;
    default:
      throw new CanonicalError(`a ${typeof value} has no JSON form`);
  }
  if (value === null) return "null";
  if (depth >= MOST_DEPTH) throw new CanonicalError(`more than ${MOST_DEPTH} levels of nesting`);
  if (!Array.isArray(value)) return objectText(value, depth + 1);
  return `[${Array.from(value, (item) => text(item, depth + 1)).join(",")}]`;
}

/** The canonical JSON of a value, as text. Throws CanonicalError when it has none. */
export function canonical(value) {
  return text(value, 0);
}

const STRING = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const SPACE = /[ \t\n\r]*/y;

/** A strict reader: JSON.parse takes the last of two members of one name, and rounds integers. */
class Reader {
  constructor(source, mustBeCanonical) {
    Object.assign(this, { source, at: 0, mustBeCanonical });
  }

  fail(what = "the text is not JSON") {
    throw new CanonicalError(what);
  }

  match(pattern) {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.source);
    if (found === null) this.fail();
    this.at = pattern.lastIndex;
    return found[0];
  }

  take(character) {
    this.match(SPACE);
    if (this.source[this.at] !== character) return false;
    this.at++;
    return true;
  }

  value(depth) {
    this.match(SPACE);
    const first = this.source[this.at];
    if (first === "{" || first === "[") {
      if (depth >= MOST_DEPTH) this.fail(`more than ${MOST_DEPTH} levels of nesting`);
      this.at++;
      return first === "{" ? this.object(depth + 1) : this.array(depth + 1);
    }
    if (first === '"') return JSON.parse(this.match(STRING));
    for (const [word, value] of [["true", true], ["false", false], ["null", null]]) {
      if (this.source.startsWith(word, this.at)) {
        this.at += word.length;
        return value;
      }
    }
    return this.number();
  }

  number() {
    const digits = this.match(NUMBER);
    const value = Number(digits);
    if (!Number.isFinite(value)) this.fail("a number is too large");
    if (this.mustBeCanonical && /^-?\d+$/.test(digits) && BigInt(value) !== BigInt(digits)) {
      this.fail("a double cannot hold an integer");
    }
    return value;
  }

  array(depth) {
    const items = [];
    if (this.take("]")) return items;
    do items.push(this.value(depth));
    while (this.take(","));
    return this.take("]") ? items : this.fail();
  }

  object(depth) {
    const members = new Map();
    if (this.take("}")) return {};
    do {
      this.match(SPACE);
      const name = JSON.parse(this.match(STRING));
      if (members.has(name)) this.fail("a name occurs twice in an object");
      if (!this.take(":")) this.fail();
      members.set(name, this.value(depth));
    } while (this.take(","));
    if (!this.take("}")) this.fail();
    return Object.fromEntries(members); // also for "__proto__", as a member
  }
}

/** Read JSON strictly: no name twice, and what has no canonical form only if it is asked for. */
export function parse(source, { mustBeCanonical = true } = {}) {
  let decoded = source;
  if (typeof source !== "string") {
    try {
      decoded = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(source);
    } catch {
      throw new CanonicalError("the text is not UTF-8");
    }
  }
  const reader = new Reader(decoded, mustBeCanonical);
  const value = reader.value(0);
  reader.match(SPACE);
  if (reader.at !== decoded.length) reader.fail();
  if (mustBeCanonical) canonical(value);
  return value;
}

/** "sha256:HEX" of the canonical JSON of a value. */
export function digest(value) {
  return `sha256:${createHash("sha256").update(canonical(value)).digest("hex")}`;
}

const fileDigest = (path) => `sha256:${createHash("sha256").update(readFileSync(path)).digest("hex")}`;
const operands = new WeakSet(); // of operand()

/** A file that an action names, as it is now. */
export function operand(path) {
  const made = Object.freeze({ path, digest: fileDigest(path) });
  operands.add(made);
  return made;
}

/** Whether the file of an operand() is not what it was. */
export function hasChanged(one) {
  try {
    return operands.has(one) && fileDigest(one.path) !== one.digest;
  } catch {
    return true;
  }
}

/** The digest that names an action: of {args, operands, resource, tool}; what is empty is left out. */
export function actionDigest(tool, args, resource = undefined, operands = []) {
  if (typeof args !== "object" || args === null || Array.isArray(args)) {
    throw new CanonicalError("the arguments of an action must be an object");
  }
  const action = { tool, args };
  if (operands.length > 0) action.operands = operands.map(({ path, digest: sum }) => ({ digest: sum, path }));
  if (resource !== undefined) action.resource = resource;
  return digest(action);
}

/** A UUID of version 5. */
export function nameId(space, name) {
  const bytes = createHash("sha1").update(Buffer.from(space.replaceAll("-", ""), "hex")).update(name).digest();
  bytes[6] = (bytes[6] & 0x0f) | 0x50;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = bytes.subarray(0, 16).toString("hex");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

/** The id of a request: the same one for the same place in the agent's work. */
export function requestId({ agentId, workflowId, runId, stepId, laneId, actionDigest: sum, attempt = 1 }) {
  const place = {
    action_digest: sum,
    agent_id: agentId,
    attempt,
    lane_id: laneId,
    run_id: runId,
    step_id: stepId,
    workflow_id: workflowId,
  };
  return nameId(REQUEST_SPACE, canonical(place));
}
