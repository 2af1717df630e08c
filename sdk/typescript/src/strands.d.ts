// SPDX-License-Identifier: Apache-2.0
import type { Agent, AgentResult, LocalAgent, Plugin } from "@strands-agents/sdk";
import type { Facts, Options, Supervisor } from "./index.js";

/** What an agent is told about supervision. */
export const GUIDANCE: string;

export interface PluginOptions extends Options {
  /** What is known of tools. Any other tool counts as risky. */
  facts?: { [tool: string]: Facts } | ((tool: string, args: unknown) => Facts);
  /** Ids by which another process finds the requests of this agent again. */
  lane?: string;
  run?: string;
}

/** Supervises the tool calls of one Agent, which is one lane. */
export class RelayTracePlugin implements Plugin {
  constructor(options?: PluginOptions);
  readonly name: string;
  readonly supervisor: Supervisor;
  /** Requests of the last stop of the agent. */
  readonly requestIds: string[];
  initAgent(agent: LocalAgent): void;
  /** Continue an agent whose requests were decided. Throws HandoffPending, CheckpointMismatch. */
  resume(agent: Agent, requestId: string): Promise<AgentResult>;
}
