// SPDX-License-Identifier: Apache-2.0
// The way of an action: policies, perhaps a person, the grant, the action, its result.
//
// A request has the same id wherever and whenever it is made, so one that was decided is found again after a
// crash. The grant is taken after everything was verified and directly before the action, and there is one for
// each decision. What was taken and has no result is in doubt, and is not repeated.
import { randomBytes, randomUUID } from "node:crypto";
import { homedir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { checkStatus, clean, instant, narrow, readDecision } from "./decision.js";
import {
  ActionAlreadyDone, ActionDenied, CanonicalError, CheckpointMismatch, ConfigError, DecisionInvalid, HandoffCancelled,
  HandoffExpired, HandoffNeedsInfo, HandoffPending, HandoffRejected, RelayTraceError, ServerAnswerInvalid,
  ServerRefused, ServerUnreachable,
} from "./errors.js";
import { FileCheckpoints, Spool, readFile, writeFile } from "./files.js";
import { actionDigest, canonical, digest, hasChanged, nameId, parse, requestId } from "./jcs.js";
import { readSecret, verify } from "./signing.js";
import { Transport, pauseMs, readEndpoint } from "./transport.js";

export const LEVELS = ["low", "medium", "high", "critical"];
const NAME = /^[A-Za-z0-9][A-Za-z0-9._:@-]{0,94}$/;
const URL_SPACE = "6ba7b811-9dad-11d1-80b4-00c04fd430c8";
const OUTCOMES = ["allow", "handoff", "deny"];
const TERMINAL = ["approved", "rejected", "expired", "cancelled", "superseded", "dead_lettered"];
const CANCELLED = ["cancelled", "superseded", "unroutable", "dead_lettered"];
const LONG_POLL_MS = 20_000;
const MOST_ATTEMPTS = 4;
const MOST_ROUNDS = 8;
const MOST_LEASE_MS = 60_000;

// ---- Configuration -----------------------------------------------------------------------------------

function checked(what, value, isGood, wanted) {
  if (!isGood(value)) throw new ConfigError(`${what}: give ${wanted}`);
  return value;
}

const name = (what, value) => checked(what, value, (one) => typeof one === "string" && NAME.test(one), "1 to 95 letters, digits and . _ : @ -");
const span = (what, value) => checked(what, Number(value), (one) => one > 0 && one <= 366 * 86_400_000, "milliseconds, more than 0");
const choice = (what, value, all) => checked(what, value, (one) => all.includes(one), `one of ${all.join(", ")}`);

/** Merge options and variables RELAYTRACE_*, and check them. Opens no connection. Throws ConfigError. */
export function configure(options = {}) {
  const known = [
    "agentId", "supervisors", "policyProfile", "endpoint", "token", "signingSecret", "routingPolicyId", "workflowId", "mode",
    "timeoutMs", "budgetMs", "outageMs", "allowOffline", "stateDir", "checkpoints", "beforeAction", "afterAction",
    "onRiskThreshold", "onDecision", "facts", "lane", "run",
  ];
  const unknown = Object.keys(options).filter((key) => !known.includes(key));
  if (unknown.length > 0) throw new ConfigError(`unknown option ${unknown[0]}`);
  const variable = (key) => process.env[`RELAYTRACE_${key}`] || undefined;
  const token = options.token ?? variable("TOKEN");
  if (token !== undefined) checked("token", token, (one) => typeof one === "string" && /^[\x21-\x7e]+$/.test(one), "printable characters");
  const secret = options.signingSecret ?? variable("SIGNING_SECRET");
  const supervisors = options.supervisors ?? (variable("SUPERVISORS") ?? "").split(",").map((one) => one.trim()).filter(Boolean);
  checked("supervisors", supervisors, (all) => Array.isArray(all) && all.length <= 32, "a list of up to 32 names").forEach((one) => name("supervisors", one));
  for (const hook of ["beforeAction", "afterAction", "onRiskThreshold", "onDecision"]) {
    checked(hook, options[hook], (one) => one === undefined || typeof one === "function", "a function");
  }
  const agentId = name("agentId", options.agentId ?? variable("AGENT_ID") ?? "");
  const stateDir = options.stateDir ?? variable("STATE_DIR") ?? path.join(process.env.XDG_STATE_HOME || path.join(homedir(), ".local/state"), "relaytrace");
  const routing = options.routingPolicyId ?? variable("ROUTING_POLICY_ID");
  const secrets = { token, signingSecret: secret === undefined ? undefined : readSecret(secret) };
  const config = {
    ...options,
    agentId,
    supervisors,
    policyProfile: name("policyProfile", options.policyProfile ?? variable("POLICY_PROFILE") ?? "default-security"),
    endpoint: readEndpoint(options.endpoint ?? variable("ENDPOINT") ?? "http://127.0.0.1:7466", token !== undefined, variable("ALLOW_PLAIN_HTTP") === "1"),
    routingPolicyId: routing === undefined ? undefined : name("routingPolicyId", routing),
    workflowId: name("workflowId", options.workflowId ?? variable("WORKFLOW_ID") ?? agentId),
    mode: choice("mode", options.mode ?? variable("MODE") ?? "wait", ["wait", "suspend"]),
    timeoutMs: span("timeoutMs", options.timeoutMs ?? 86_400_000),
    budgetMs: span("budgetMs", options.budgetMs ?? 30_000),
    outageMs: span("outageMs", options.outageMs ?? 600_000),
    allowOffline: new Set(options.allowOffline ?? []),
    stateDir,
    checkpoints: options.checkpoints ?? new FileCheckpoints(path.join(stateDir, "checkpoints")),
  };
  // Not where logs and errors show an object's members.
  for (const [key, value] of Object.entries(secrets)) Object.defineProperty(config, key, { value, enumerable: false });
  return config;
}

// ---- Actions -----------------------------------------------------------------------------------------

const share = (value, otherwise) => (typeof value === "number" && value >= 0 && value <= 1 ? Math.round(value * 1e4) / 1e4 : otherwise);
const level = (what, value) => checked(what, value, (one) => [0, 1, 2, 3].includes(one), "0, 1, 2 or 3");

/** What is left out counts as risky: impact 2, not reversible, no confidence. Arguments are copied. */
export function describe(tool, given, facts = {}) {
  const args = parse(canonical(given)); // read once: what has a digest has no getters, and nothing beside it
  return {
    priority: undefined, summary: undefined, rollback: undefined, requiredBy: undefined, resource: undefined, stepId: undefined,
    classification: undefined, evidence: [], evidenceMissing: [], messages: [], artifacts: [], citations: [], operands: [],
    evidenceRequired: 0, reworkCount: 0, ...facts,
    tool: checked("tool", tool, (one) => typeof one === "string" && one.length > 0 && one.length <= 256, "1 to 256 characters"),
    args,
    digest: actionDigest(tool, args, facts.resource, facts.operands),
    riskLevel: level("riskLevel", facts.riskLevel ?? 1),
    impact: level("impact", facts.impact ?? 2),
    confidence: facts.confidence === undefined ? undefined : share(facts.confidence, 0),
    violationScore: share(facts.violationScore ?? 0, 1),
    reversible: facts.reversible === true,
    idempotent: facts.idempotent === true,
    humanRequired: facts.humanRequired === true,
  };
}

function wireAction(context) {
  const action = { tool: context.tool, args: context.args, action_digest: context.digest };
  if (context.resource !== undefined) action.resource = context.resource;
  if (context.operands.length > 0) action.operands = context.operands;
  return action;
}

function wireFacts(context) {
  const facts = {
    risk_level: context.riskLevel, impact: context.impact, reversible: context.reversible,
    evidence_count: context.evidence.length, evidence_required: context.evidenceRequired,
    evidence_missing: context.evidenceMissing, violation_score: context.violationScore,
    human_required: context.humanRequired, rework_count: context.reworkCount,
  };
  if (context.confidence !== undefined) facts.confidence = context.confidence;
  if (context.classification !== undefined) facts.classification = context.classification;
  return facts;
}

/** Take in what onRiskThreshold has returned: it adds, and raises the risk, but lowers nothing. */
function raiseRisk(context, change) {
  if (change === undefined || change === null) return;
  const higher = (now, then) => ([0, 1, 2, 3].includes(then) ? Math.max(now, then) : now);
  context.riskLevel = higher(context.riskLevel, change.riskLevel);
  context.impact = higher(context.impact, change.impact);
  if (change.confidence !== undefined) context.confidence = Math.min(context.confidence ?? 0, share(change.confidence, 0));
  if (change.humanRequired === true) context.humanRequired = true;
  if (typeof change.summary === "string") context.summary = change.summary;
  for (const key of ["evidence", "evidenceMissing", "messages", "artifacts", "citations"]) {
    context[key] = [...context[key], ...(change[key] ?? [])];
  }
}

/** A UUID of version 7. */
function timeId() {
  const bytes = randomBytes(16);
  bytes.writeUIntBE(Date.now(), 0, 6);
  bytes[6] = (bytes[6] & 0x0f) | 0x70;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  return bytes.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

function resultDigest(value) {
  try {
    return digest(value === undefined ? null : value);
  } catch {
    return digest({ type: typeof value });
  }
}

/** Where an agent is in its work. The same ids in another process find the requests of the first one again. */
export class Lane {
  #steps = 0;

  constructor(config, { lane = undefined, run = undefined, trace = undefined } = {}) {
    this.isOwnId = lane === undefined;
    this.laneId = lane ?? randomUUID();
    this.runId = run ?? this.laneId;
    this.traceId = trace ?? nameId(URL_SPACE, `urn:relaytrace:trace:${this.runId}\n${this.laneId}`);
    this.workflowId = config.workflowId;
    this.isOpen = false;
  }

  nextStep() {
    return `step-${++this.#steps}`;
  }
}

/** The permission to make one action, once, with `args`. */
export class Permit {
  constructor(context, lane, stepId, args, requestId_ = undefined, decision = undefined) {
    Object.assign(this, { context, lane, stepId, args, requestId: requestId_, decision, isEnded: false });
    this.tool = context.tool;
    this.actionDigest = context.digest;
    this.executedDigest = actionDigest(context.tool, args, context.resource, context.operands);
    this.idempotencyKey = requestId_ ?? `${lane.laneId}:${stepId}`;
    this.began = performance.now();
  }
}

// ---- The supervisor ----------------------------------------------------------------------------------

/** What makes sure that an agent's actions were permitted. */
export class Supervisor {
  constructor(options) {
    this.config = configure(options);
    this.transport = new Transport(this.config);
    this.spool = new Spool(this.config.stateDir, this.config.endpoint.text, this.config.agentId);
    this.consumer = `sdk-${randomBytes(12).toString("hex")}`; // one life of this process
  }

  lane(ids = {}) {
    return new Lane(this.config, ids);
  }

  /** Permit an action, or throw why not. @param handlers.checkpoint the state that a request is made with */
  async beforeAction(context, lane, { signal = undefined, checkpoint = undefined, isDeferred = false } = {}) {
    const stepId = context.stepId ?? lane.nextStep();
    await this.config.beforeAction?.(context);
    let verdict;
    try {
      await this.#openLane(lane, signal);
      verdict = await this.evaluate(context, lane, undefined, signal);
    } catch (error) {
      if (!(error instanceof ServerUnreachable) || !this.config.allowOffline.has(context.tool)) throw error;
      return new Permit(context, lane, stepId, context.args);
    }
    if (verdict.outcome === "allow") return new Permit(context, lane, stepId, context.args);
    if (verdict.outcome === "deny") throw this.denial(context, verdict);
    return this.#ask(context, lane, stepId, verdict, { signal, checkpoint, isDeferred });
  }

  async #openLane(lane, signal) {
    if (lane.isOpen) return;
    await this.transport.call("POST", "/v1/lanes", { agent_id: this.config.agentId, lane_id: lane.laneId, run_id: lane.runId }, { signal });
    lane.isOpen = true;
  }

  async evaluate(context, lane, approved = undefined, signal = undefined) {
    const body = {
      agent_id: this.config.agentId, policy_profile: this.config.policyProfile, lane_id: lane.laneId, run_id: lane.runId,
      action: wireAction(context), context: wireFacts(context),
    };
    if (approved !== undefined) body.request_id = approved;
    const { value } = await this.transport.call("POST", "/v1/actions/evaluate", body, { signal });
    if (!OUTCOMES.includes(value.outcome)) throw new ServerAnswerInvalid("the evaluation has an outcome that is not known");
    if (value.action_digest !== context.digest) throw new ServerAnswerInvalid("the evaluation is about another action");
    if (value.outcome === "allow" && value.errors?.length > 0) throw new ServerAnswerInvalid("the evaluation permits and has errors");
    return value;
  }

  denial(context, verdict) {
    const reasons = Array.isArray(verdict.trigger_reasons) ? verdict.trigger_reasons.slice(0, 16) : [];
    return new ActionDenied(context.tool, reasons.map((one) => clean(one, 200)), clean(verdict.policy_rule_id, 200) || undefined);
  }

  async #ask(context, lane, stepId, verdict, how) {
    const trigger = {
      triggerReason: verdict.trigger_reason, triggerReasons: verdict.trigger_reasons ?? [], policyRuleId: verdict.policy_rule_id,
      confidenceScore: context.confidence ?? 0, riskLevel: context.riskLevel, policyHash: verdict.policy_hash,
      context: Object.freeze({ ...context }),
    };
    if (this.config.onRiskThreshold !== undefined) {
      const before = canonical(wireFacts(context));
      raiseRisk(context, await this.config.onRiskThreshold(trigger));
      const isRaised = canonical(wireFacts(context)) !== before;
      if (isRaised && (await this.evaluate(context, lane, undefined, how.signal)).outcome === "deny") throw this.denial(context, verdict);
    }
    let inDoubt;
    let handoff;
    for (let attempt = 1; attempt <= MOST_ATTEMPTS; attempt++) {
      handoff = new Handoff(this, context, lane, stepId, attempt, trigger, how);
      const outcome = await handoff.settle(inDoubt);
      if (outcome instanceof Permit) return outcome;
      inDoubt = outcome === "in_doubt" ? handoff.requestId : undefined;
    }
    throw new HandoffExpired(handoff.requestId, "", [], "lapsed");
  }

  /** Say what became of an action, once. What cannot be sent is kept and sent later. */
  async afterAction(permit, { result = undefined, error = undefined, executedDigest = permit.executedDigest } = {}) {
    if (permit.isEnded) return false;
    permit.isEnded = true;
    const ok = error === undefined;
    const report = {
      ok, action_digest: permit.actionDigest, executed_digest: executedDigest,
      result_digest: resultDigest(ok ? result : { error: error?.name ?? "Error" }),
      duration_ms: Math.round(performance.now() - permit.began),
    };
    const isHandoff = permit.decision !== undefined;
    if (isHandoff && ok) this.#keepResult(permit, result);
    const route = isHandoff ? `/v1/hitl/requests/${permit.requestId}/finish` : "/v1/audit/receipts";
    const body = isHandoff
      ? { consumer: this.consumer, decision_id: permit.decision.decisionId, ...report }
      : {
          receipt_id: timeId(), kind: "executed", agent_id: this.config.agentId, lane_id: permit.lane.laneId, run_id: permit.lane.runId,
          step_id: permit.stepId, tool: permit.tool, occurred_at: new Date().toISOString(), ...report,
        };
    let isSent = true;
    try {
      await this.transport.call("POST", route, body, { budgetMs: Math.min(3000, this.config.budgetMs) });
    } catch (problem) {
      if (!(problem instanceof RelayTraceError)) throw problem;
      if (!(problem instanceof ServerRefused && [400, 404, 409, 422].includes(problem.status))) this.spool.add(route, body);
      isSent = false;
    }
    if (isSent) await this.flush();
    await this.config.afterAction?.({ permit, result, error, ...report });
    return true;
  }

  /** Send what could not be sent. @returns messages that are left */
  flush() {
    return this.spool.flush((route, value) => this.transport.once("POST", route, value, { timeoutMs: 5000 }));
  }

  #resultFile(id) {
    return path.join(this.config.stateDir, "results", `${id}.json`);
  }

  #keepResult(permit, result) {
    try {
      writeFile(this.#resultFile(permit.requestId), { digest: permit.actionDigest, result: result ?? null, has_result: true });
    } catch {
      // A result that cannot be kept is not returned later; the action is not repeated either.
    }
  }

  keptResult(id, sum) {
    try {
      const kept = readFile(this.#resultFile(id));
      return kept?.digest === sum ? kept : undefined;
    } catch {
      return undefined;
    }
  }

  /** Permit, make and report an action. A result that was kept is returned instead of making it again. */
  async action(lane, tool, args, facts, make) {
    let permit;
    try {
      permit = await this.beforeAction(describe(tool, args, facts), lane);
    } catch (error) {
      if (error instanceof ActionAlreadyDone && error.hasResult) return error.result;
      throw error;
    }
    let result;
    try {
      result = await make(permit.args, permit);
    } catch (error) {
      await this.afterAction(permit, { error });
      throw error;
    }
    await this.afterAction(permit, { result });
    return result;
  }

  // ---- Requests ----

  async status(id, { waitMs = 0, signal = undefined } = {}) {
    const route = `/v1/hitl/requests/${encodeURIComponent(id)}${waitMs > 0 ? `?wait_ms=${waitMs}` : ""}`;
    const answer = waitMs > 0
      ? await this.transport.once("GET", route, undefined, { timeoutMs: waitMs + 15_000, signal })
      : await this.transport.call("GET", route, undefined, { signal });
    const secret = this.config.signingSecret;
    if (secret !== undefined && !verify(secret, answer.headers, answer.body, this.transport.now())) {
      throw new DecisionInvalid(id, "the server's answer is not signed as it must be");
    }
    if (answer.value.request_id !== id) throw new DecisionInvalid(id, "the server's answer is about another request");
    return answer.value;
  }

  /** How a request is, or undefined when the server does not have it. */
  async find(id, signal = undefined) {
    try {
      return await this.status(id, { signal });
    } catch (error) {
      if (error instanceof ServerRefused && error.status === 404) return undefined;
      throw error;
    }
  }

  /** One step with what was approved. Throws when the answer is not about it. */
  async step(id, verb, body, application, signal) {
    const { value } = await this.transport.call("POST", `/v1/hitl/requests/${id}/${verb}`, { consumer: this.consumer, ...body }, { signal });
    if (value.request_id !== id || value.application !== application) {
      throw new DecisionInvalid(id, `the server's answer to ${verb} is not about this request`);
    }
    return value;
  }

  /** Best effort: what fails here changes nothing, as leases and requests end by themselves. */
  async tell(id, verb, body) {
    try {
      await this.transport.once("POST", `/v1/hitl/requests/${id}/${verb}`, body, { timeoutMs: 3000 });
    } catch (error) {
      if (!(error instanceof RelayTraceError)) throw error;
    }
  }

  /** Answer the questions of a person. */
  async answer(id, revision, sum, answers, more = {}) {
    const pairs = answers.map((one) => (typeof one === "string" ? { question: "", answer: one } : one));
    await this.transport.call("POST", `/v1/hitl/requests/${id}/resubmit`, { revision: revision + 1, action_digest: sum, answers: pairs, ...more });
  }
}

/** One request to a person, in one attempt. */
export class Handoff {
  constructor(supervisor, context, lane, stepId, attempt, trigger, how) {
    Object.assign(this, { supervisor, config: supervisor.config, context, lane, stepId, attempt, trigger, how });
    this.requestId = requestId({
      agentId: this.config.agentId, workflowId: lane.workflowId, runId: lane.runId, stepId, laneId: lane.laneId,
      actionDigest: context.digest, attempt,
    });
    this.expected = { request_id: this.requestId, trace_id: lane.traceId, agent_id: this.config.agentId, action_digest: context.digest };
  }

  async settle(inDoubt) {
    let status = await this.supervisor.find(this.requestId, this.how.signal);
    if (status === undefined && this.how.isDeferred) throw Object.assign(new HandoffPending(this.requestId), { handoff: this, inDoubt });
    try {
      if (status === undefined) {
        const state = { format: 1, lane_id: this.lane.laneId, step_id: this.stepId, action_digest: this.context.digest };
        // May arrive although it fails here.
        await this.submit(this.how.checkpoint ?? state, inDoubt);
      } else {
        await this.#checkState(status);
      }
      const end = performance.now() + this.config.timeoutMs;
      for (let round = 0; round < MOST_ROUNDS; round++) {
        status = await this.#decided(end, status);
        const outcome = await this.#continue(status);
        if (outcome !== undefined) return outcome;
        status = undefined;
      }
    } catch (error) {
      const isOver = [HandoffRejected, DecisionInvalid, CheckpointMismatch, ActionAlreadyDone, HandoffNeedsInfo].some((kind) => error instanceof kind);
      if (this.lane.isOwnId && this.config.mode === "wait" && !isOver) await this.supervisor.tell(this.requestId, "cancel", { reason: "lane_ended" });
      throw error;
    }
    throw new DecisionInvalid(this.requestId, "questions were asked too often");
  }

  /** Hand the request in, with a checkpoint. */
  async submit(state, inDoubt = undefined) {
    const reference = await this.config.checkpoints.save(this.requestId, state);
    this.stateHash = digest(state);
    const body = this.#body({ mode: "external_ref", ref: reference, state_hash: this.stateHash }, inDoubt);
    const { value } = await this.supervisor.transport.call("POST", "/v1/hitl/requests", body, { signal: this.how.signal });
    if (value.request_id !== this.requestId) throw new DecisionInvalid(this.requestId, "the server has accepted another request");
  }

  #body(checkpoint, inDoubt) {
    const { context, config, trigger, lane } = this;
    const routing = { supervisors: config.supervisors, priority: context.priority ?? LEVELS[context.riskLevel] };
    if (config.routingPolicyId !== undefined) routing.routing_policy_id = config.routingPolicyId;
    const texts = { messages: context.messages, artifacts: context.artifacts, citations: context.citations, evidence: context.evidence };
    if (context.requiredBy !== undefined) texts.required_by_ts = context.requiredBy;
    const reasons = inDoubt === undefined ? trigger.triggerReasons : ["in_doubt_execution", ...trigger.triggerReasons];
    const body = {
      contract_version: 1, event_type: "handoff.requested", event_id: timeId(), occurred_at: new Date(this.supervisor.transport.now()).toISOString(),
      request_id: this.requestId, trace_id: lane.traceId, lane_id: lane.laneId, revision: 1,
      agent: { agent_id: config.agentId, sdk: "rondo-relaytrace-js", version: "0.1.0" },
      workflow: { workflow_id: lane.workflowId, run_id: lane.runId, step_id: this.stepId },
      routing,
      intent: {
        summary: context.summary ?? `The agent is about to call ${context.tool}.`, proposed_action: context.tool,
        risk_level: LEVELS[context.riskLevel], confidence: context.confidence ?? 0,
      },
      checkpoint, context: texts, action: { ...wireAction(context), idempotent: context.idempotent },
      trigger: {
        trigger_reason: reasons[0] ?? "", trigger_reasons: reasons, policy_rule_id: trigger.policyRuleId ?? "",
        confidence_score: context.confidence ?? 0, risk_level: LEVELS[context.riskLevel], policy_hash: trigger.policyHash ?? "",
      },
      evidence: { count: context.evidence.length, required: context.evidenceRequired, missing: context.evidenceMissing },
      reversible: context.reversible, attempt: this.attempt, facts: wireFacts(context),
    };
    if (context.rollback !== undefined) body.rollback = context.rollback;
    if (inDoubt !== undefined) body.in_doubt = inDoubt;
    return body;
  }

  /** The request was made before: the checkpoint must be the one that it was made with. */
  async #checkState(status) {
    const state = await this.config.checkpoints.load(this.requestId).catch(() => undefined);
    if (state === undefined) throw new CheckpointMismatch(this.requestId, "the checkpoint is missing");
    this.stateHash = digest(state);
    const wanted = status.state_hash ?? status.checkpoint?.state_hash;
    if (wanted !== undefined && wanted !== this.stateHash) {
      throw new CheckpointMismatch(this.requestId, "the checkpoint is not the one that the request was made with");
    }
  }

  #isSettled(status) {
    const isNotice = status.decision?.decision?.status === "rerouted";
    return TERMINAL.includes(status.state) || ((status.decision ?? null) !== null && !isNotice);
  }

  async #decided(end, known) {
    const { supervisor, config, how } = this;
    let status = known ?? (config.mode === "suspend" ? await supervisor.find(this.requestId, how.signal) : undefined);
    let lostSince;
    for (let attempt = 0; ; attempt++) {
      if (status !== undefined) {
        checkStatus(status, this.expected);
        if (this.#isSettled(status)) return status;
      }
      const restMs = end - performance.now();
      if (config.mode === "suspend" || restMs <= 0) throw new HandoffPending(this.requestId);
      const began = performance.now();
      try {
        status = await supervisor.status(this.requestId, { waitMs: Math.max(1, Math.min(LONG_POLL_MS, Math.floor(restMs))), signal: how.signal });
        lostSince = undefined;
        attempt = 0;
        if (performance.now() - began < 50) await sleep(pauseMs(1), undefined, { signal: how.signal });
      } catch (error) {
        const isLost = error instanceof ServerUnreachable || (error instanceof ServerRefused && error.retryable);
        lostSince ??= performance.now();
        if (!isLost || performance.now() - lostSince > config.outageMs) throw error;
        await sleep(Math.max(pauseMs(attempt), error.retryAfterMs ?? 0), undefined, { signal: how.signal });
      }
    }
  }

  async #continue(status) {
    const revision = checkStatus(status, this.expected);
    if ((status.decision ?? null) === null) throw this.#ended(status.state);
    const decision = readDecision(status.decision, this.expected, revision);
    const wanted = await this.config.onDecision?.(decision);
    if (decision.status === "needs_info") {
      if (!Array.isArray(wanted?.answers) || wanted.answers.length === 0) throw new HandoffNeedsInfo(this.requestId, decision.questions);
      const answers = wanted.answers.map((one, position) => (typeof one === "string" ? { question: decision.questions[position] ?? "", answer: one } : one));
      await this.supervisor.answer(this.requestId, revision, this.context.digest, answers);
      return undefined;
    }
    if (decision.status !== "approved" || status.state !== "approved") throw this.#ended(decision.reasonCode, decision);
    if (wanted === false) throw new HandoffRejected(this.requestId, "", [], "onDecision");
    return this.#apply(status, decision);
  }

  #ended(reason, decision = undefined) {
    const Kind = reason === "expired" ? HandoffExpired : CANCELLED.includes(reason) ? HandoffCancelled : HandoffRejected;
    return new Kind(this.requestId, decision?.guidance, decision?.constraints, reason);
  }

  /** undefined: another process has it; look again after its lease, for it may have been killed. */
  async #take(status, decision) {
    const { supervisor, how } = this;
    try {
      return await supervisor.step(this.requestId, "take", { decision_id: decision.decisionId }, "leased", how.signal);
    } catch (error) {
      if (!(error instanceof ServerRefused) || error.code !== "not_yours") throw error;
      const restMs = Math.max((instant(status.lease_until) ?? 0) - supervisor.transport.now(), 0);
      await sleep(Math.min(restMs + 200, MOST_LEASE_MS), undefined, { signal: how.signal });
      return undefined;
    }
  }

  async #apply(status, decision) {
    const { application } = status;
    const { supervisor, context, how } = this;
    if (application === "lapsed" || application === "failed") return "lapsed";
    if (application === "applied") throw new ActionAlreadyDone(this.requestId, supervisor.keptResult(this.requestId, context.digest));
    if ((application === "started" || application === "in_doubt") && !context.idempotent) return "in_doubt";
    if (!["available", "leased", "started", "in_doubt"].includes(application)) {
      throw new DecisionInvalid(this.requestId, "what was approved cannot be taken");
    }
    const back = (reason) => supervisor.tell(this.requestId, "return", { consumer: supervisor.consumer, decision_id: decision.decisionId, reason, is_transient: false });
    const taken = await this.#take(status, decision);
    if (taken === undefined) return undefined;
    if (taken.decision_id !== undefined && taken.decision_id !== decision.decisionId) {
      throw new DecisionInvalid(this.requestId, "the server has leased another decision");
    }
    let permit;
    try {
      if (context.operands.some(hasChanged)) {
        throw new DecisionInvalid(this.requestId, "a file that the action names has changed since it was asked for");
      }
      const args = narrow(context.args, decision, supervisor.transport.now());
      permit = new Permit(context, this.lane, this.stepId, args, this.requestId, decision);
    } catch (error) {
      if (!(error instanceof DecisionInvalid || error instanceof CanonicalError)) throw error;
      await back("constraint");
      throw new DecisionInvalid(this.requestId, error.message);
    }
    const verdict = await supervisor.evaluate(context, this.lane, this.requestId, how.signal);
    if (verdict.outcome !== "allow") {
      await back("policy");
      throw supervisor.denial(context, verdict);
    }
    const body = { decision_id: decision.decisionId, action_digest: permit.actionDigest, executed_digest: permit.executedDigest };
    if (this.stateHash !== undefined) body.state_hash = this.stateHash;
    await supervisor.step(this.requestId, "start", body, "started", how.signal);
    permit.began = performance.now();
    return permit;
  }
}
