// SPDX-License-Identifier: Apache-2.0
// Is compiled, and not run: the types of the client and of its plug-in are those of Strands.
import { Agent, type Plugin } from "@strands-agents/sdk";
import { HandoffPending, HandoffRejected, Supervisor, actionDigest, describe, type Decision } from "relaytrace";
import { RelayTracePlugin } from "relaytrace/strands";

const supervisor = new Supervisor({
  agentId: "sec-triage-01",
  supervisors: ["sec-oncall"],
  onDecision: (decision: Decision) => (decision.status === "needs_info" ? { answers: ["because"] } : undefined),
  onRiskThreshold: async (trigger) => ({ riskLevel: 3, summary: trigger.context.tool }),
});

export async function isolate(host: string): Promise<string> {
  const lane = supervisor.lane({ lane: "lane-1" });
  try {
    return await supervisor.action(lane, "isolate_host", { host }, { impact: 3 }, ({ host: narrowed }) => `isolated ${narrowed}`);
  } catch (error) {
    if (error instanceof HandoffRejected) return error.guidance;
    throw error;
  }
}

const plugin = new RelayTracePlugin({ agentId: "sec-triage-01", mode: "suspend", facts: { isolate_host: { impact: 3 } } });
const asPlugin: Plugin = plugin;

export async function later(agent: Agent, id: string): Promise<string | undefined> {
  try {
    return (await plugin.resume(agent, id)).stopReason;
  } catch (error) {
    return error instanceof HandoffPending ? undefined : String(asPlugin.name);
  }
}

// @ts-expect-error an impact is 0 to 3
describe("t", {}, { impact: 4 });
// @ts-expect-error no such option
new Supervisor({ agent: "a" });
export const digest: string = actionDigest("t", { host: "a" });
