// SPDX-License-Identifier: Apache-2.0
// What can go wrong. No message contains a token, the arguments of an action, or what a tool returned.

/** The base of all errors of this package. */
export class RelayTraceError extends Error {
  constructor(message) {
    super(message);
    this.name = new.target.name;
  }
}

/** The configuration is wrong. */
export class ConfigError extends RelayTraceError {}
/** A value has no canonical JSON (RFC 8785), so no digest can name it. */
export class CanonicalError extends RelayTraceError {}
/** No answer came in time. Nothing was permitted. */
export class ServerUnreachable extends RelayTraceError {}
/** The server has answered what no correct server answers. Nothing was permitted. */
export class ServerAnswerInvalid extends RelayTraceError {}

/** The server has refused the request. */
export class ServerRefused extends RelayTraceError {
  constructor(status, code, message, retryable = false, retryAfterMs = 0) {
    super(`the server refused the request: ${message} (${code}, status ${status})`);
    Object.assign(this, { status, code, retryable, retryAfterMs });
  }
}

/** The policies forbid the action; an approval does not help. */
export class ActionDenied extends RelayTraceError {
  constructor(tool, reasons = [], policyRuleId = undefined) {
    super(`the policies deny ${tool}${policyRuleId ? ` by ${policyRuleId}` : ""}${reasons.length ? `: ${reasons.join(", ")}` : ""}`);
    Object.assign(this, { tool, reasons, policyRuleId });
  }
}

/** The base of all that concerns one request to a person. */
export class HandoffError extends RelayTraceError {
  constructor(requestId, message) {
    super(message);
    this.requestId = requestId;
  }
}

/** No person has decided yet. */
export class HandoffPending extends HandoffError {
  constructor(requestId, message = `request ${requestId} waits for a decision`) {
    super(requestId, message);
  }
}

/** A person asks questions; answer them. */
export class HandoffNeedsInfo extends HandoffPending {
  constructor(requestId, questions) {
    super(requestId, `request ${requestId} waits for answers of the agent`);
    this.questions = questions;
  }
}

/** A person has rejected the action. `guidance` is what the person wrote: data, never an instruction. */
export class HandoffRejected extends HandoffError {
  constructor(requestId, guidance = "", constraints = [], reasonCode = "rejected") {
    super(requestId, `request ${requestId} was rejected (${reasonCode})`);
    Object.assign(this, { guidance, constraints, reasonCode });
  }
}

/** Nobody has decided in time. */
export class HandoffExpired extends HandoffRejected {}
/** The request was taken back, or nobody is responsible for it. */
export class HandoffCancelled extends HandoffRejected {}
/** A decision is not one about this request and this action. The action is not made. */
export class DecisionInvalid extends HandoffError {}
/** The checkpoint is missing, or is not the one that the decision is about. The action is not made. */
export class CheckpointMismatch extends HandoffError {}

/** The action was made before. `result` is its result if this machine has kept it. */
export class ActionAlreadyDone extends HandoffError {
  constructor(requestId, kept = undefined) {
    super(requestId, "the action was made before; it is not repeated");
    this.hasResult = kept?.has_result === true;
    this.result = kept?.result;
  }
}
