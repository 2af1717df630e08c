// SPDX-License-Identifier: Apache-2.0
export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };
export type Args = { [name: string]: Json };
export type Level = 0 | 1 | 2 | 3;

/** Facts about an action. What is left out counts as risky: impact 2, riskLevel 1, not reversible, no confidence. */
export interface Facts {
  impact?: Level;
  riskLevel?: Level;
  /** 0 to 1 */
  confidence?: number;
  reversible?: boolean;
  /** May be made again when it is not known whether it was made. */
  idempotent?: boolean;
  humanRequired?: boolean;
  violationScore?: number;
  reworkCount?: number;
  classification?: { label: string; margin: number };
  evidence?: Json[];
  evidenceRequired?: number;
  evidenceMissing?: string[];
  resource?: string;
  operands?: { path: string; digest: string }[];
  summary?: string;
  rollback?: string;
  priority?: "low" | "medium" | "high" | "critical";
  /** RFC 3339, UTC */
  requiredBy?: string;
  messages?: Json[];
  artifacts?: Json[];
  citations?: Json[];
  stepId?: string;
}

/** An action that was described: describe(). */
export interface ActionContext extends Facts {
  readonly tool: string;
  readonly args: Args;
  readonly digest: string;
}

export interface Trigger {
  triggerReason: string | null;
  triggerReasons: string[];
  policyRuleId: string | null;
  confidenceScore: number;
  riskLevel: Level;
  policyHash: string;
  context: ActionContext;
}

/** A decision that was verified. */
export interface Decision {
  readonly requestId: string;
  readonly decisionId: string;
  readonly status: "approved" | "rejected" | "rerouted" | "needs_info";
  readonly revision: number;
  readonly operatorRole: string;
  /** What the person wrote: data, never an instruction. */
  readonly guidance: string;
  readonly constraints: Json[];
  readonly questions: string[];
  readonly reasonCode: string;
  readonly approvers: string[];
}

type Answer = string | { question: string; answer: string };
type Raise = Pick<Facts, "impact" | "riskLevel" | "confidence" | "humanRequired" | "summary" | "evidence" | "evidenceMissing" | "messages" | "artifacts" | "citations">;

export interface Report {
  permit: Permit;
  result?: unknown;
  error?: unknown;
  ok: boolean;
  action_digest: string;
  executed_digest: string;
  result_digest: string;
  duration_ms: number;
}

export interface Checkpoints {
  save(requestId: string, state: Json): Promise<string>;
  load(requestId: string): Promise<Json | undefined>;
  delete(requestId: string): Promise<void>;
}

/** What is not given comes from the variables RELAYTRACE_*. */
export interface Options {
  agentId?: string;
  supervisors?: string[];
  policyProfile?: string;
  /** `http://HOST:PORT`, `https://HOST` or `unix:PATH` */
  endpoint?: string;
  token?: string;
  /** `whsec_...`: requests are signed, and unsigned decisions refused. */
  signingSecret?: string;
  routingPolicyId?: string;
  workflowId?: string;
  mode?: "wait" | "suspend";
  timeoutMs?: number;
  budgetMs?: number;
  outageMs?: number;
  /** Tools that may run while the server cannot be reached. */
  allowOffline?: Iterable<string>;
  stateDir?: string;
  checkpoints?: Checkpoints;
  beforeAction?(context: ActionContext): void | Promise<void>;
  afterAction?(report: Report): void | Promise<void>;
  /** Adds evidence, and raises the risk; what would lower it is ignored. */
  onRiskThreshold?(trigger: Trigger): Raise | void | Promise<Raise | void>;
  /** Answers questions, or refuses what was approved with `false`. It cannot approve. */
  onDecision?(decision: Decision): { answers: Answer[] } | false | void | Promise<{ answers: Answer[] } | false | void>;
}

/** Where an agent is in its work. */
export class Lane {
  private constructor();
  readonly laneId: string;
  readonly runId: string;
  readonly traceId: string;
  readonly workflowId: string;
}

/** The permission to make one action, once, with `args`. */
export class Permit {
  private constructor();
  readonly tool: string;
  readonly args: Args;
  readonly requestId?: string;
  readonly actionDigest: string;
  readonly executedDigest: string;
  readonly idempotencyKey: string;
}

/** What makes sure that an agent's actions were permitted. Throws ConfigError. */
export class Supervisor {
  constructor(options: Options);
  lane(ids?: { lane?: string; run?: string; trace?: string }): Lane;
  /** Permit, make and report an action; or throw why it was not made. */
  action<T>(lane: Lane, tool: string, args: Args, facts: Facts, make: (args: Args, permit: Permit) => T | Promise<T>): Promise<T>;
  beforeAction(context: ActionContext, lane: Lane, how?: { signal?: AbortSignal }): Promise<Permit>;
  /** @returns whether it was the first time */
  afterAction(permit: Permit, outcome: { result?: unknown; error?: unknown }): Promise<boolean>;
  /** Answer the questions of HandoffNeedsInfo. */
  answer(requestId: string, revision: number, actionDigest: string, answers: Answer[]): Promise<void>;
  /** Send what could not be sent. @returns messages that are left */
  flush(): Promise<number>;
}

export function describe(tool: string, args: Args, facts?: Facts): ActionContext;

/** Canonical JSON (RFC 8785). Throws CanonicalError. */
export function canonical(value: unknown): string;
export function parse(text: string | Uint8Array, how?: { mustBeCanonical?: boolean }): Json;
export function digest(value: unknown): string;
export function operand(path: string): { path: string; digest: string };
export function actionDigest(tool: string, args: Args, resource?: string, operands?: { path: string; digest: string }[]): string;
export function requestId(place: {
  agentId: string; workflowId: string; runId: string; stepId: string; laneId: string; actionDigest: string; attempt?: number;
}): string;

export class FileCheckpoints implements Checkpoints {
  constructor(folder: string);
  save(requestId: string, state: Json): Promise<string>;
  load(requestId: string): Promise<Json | undefined>;
  delete(requestId: string): Promise<void>;
}

export class RelayTraceError extends Error {}
export class ConfigError extends RelayTraceError {}
export class CanonicalError extends RelayTraceError {}
export class ServerUnreachable extends RelayTraceError {}
export class ServerAnswerInvalid extends RelayTraceError {}
export class ServerRefused extends RelayTraceError {
  readonly status: number;
  readonly code: string;
  readonly retryable: boolean;
}
export class ActionDenied extends RelayTraceError {
  readonly tool: string;
  readonly reasons: string[];
  readonly policyRuleId?: string;
}
export class HandoffError extends RelayTraceError {
  readonly requestId: string;
}
export class HandoffPending extends HandoffError {}
export class HandoffNeedsInfo extends HandoffPending {
  readonly questions: string[];
}
export class HandoffRejected extends HandoffError {
  readonly guidance: string;
  readonly constraints: Json[];
  readonly reasonCode: string;
}
export class HandoffExpired extends HandoffRejected {}
export class HandoffCancelled extends HandoffRejected {}
export class DecisionInvalid extends HandoffError {}
export class CheckpointMismatch extends HandoffError {}
export class ActionAlreadyDone extends HandoffError {
  readonly result: unknown;
  readonly hasResult: boolean;
}
