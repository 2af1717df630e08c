// SPDX-License-Identifier: Apache-2.0
// A real Agent of Strands with a scripted model and the plug-in. Also a program, for another process:
//     agent.mjs OPTIONS REQUEST-ID   resumes an agent, and prints what happened as JSON
import { Agent, FunctionTool, Model } from "@strands-agents/sdk";
import { RelayTracePlugin } from "relaytrace/strands";

/** Says what it was given: each turn is a list of calls, or a text. */
class Scripted extends Model {
  constructor(turns) {
    super();
    this.turns = turns;
    this.seen = [];
  }

  updateConfig() {}

  getConfig() {
    return { modelId: "scripted" };
  }

  async *stream(messages) {
    this.seen.push(JSON.parse(JSON.stringify(messages)));
    const results = messages.filter((message) =>
      message.content.some((block) => block.type === "toolResultBlock"),
    ).length;
    const turn = this.turns[Math.min(results, this.turns.length - 1)];
    yield { type: "modelMessageStartEvent", role: "assistant" };
    if (typeof turn === "string") {
      yield { type: "modelContentBlockStartEvent" };
      yield { type: "modelContentBlockDeltaEvent", delta: { type: "textDelta", text: turn } };
      yield { type: "modelContentBlockStopEvent" };
    }
    for (const [id, name, input] of typeof turn === "string" ? [] : turn) {
      yield {
        type: "modelContentBlockStartEvent",
        start: { type: "toolUseStart", name, toolUseId: id },
      };
      yield {
        type: "modelContentBlockDeltaEvent",
        delta: { type: "toolUseInputDelta", input: JSON.stringify(input) },
      };
      yield { type: "modelContentBlockStopEvent" };
    }
    yield {
      type: "modelMessageStopEvent",
      stopReason: typeof turn === "string" ? "endTurn" : "toolUse",
    };
  }
}

export const RISKY = { impact: 3, confidence: 0.5, riskLevel: 2 };

/** @returns agent, plug-in, and what tools were called with */
export function build(
  options,
  turns = [[["call-1", "isolate_host", { host: "a", count: 3 }]], "done"],
) {
  const ran = [];
  const tool = (name) =>
    new FunctionTool({
      name,
      description: name,
      inputSchema: {
        type: "object",
        properties: { host: { type: "string" }, count: { type: "number" } },
      },
      callback: (input) => {
        ran.push({ tool: name, ...input });
        return `${name} ${input.host}`;
      },
    });
  const safe = { impact: 0, riskLevel: 0, reversible: true, confidence: 0.9 };
  const plugin = new RelayTracePlugin({
    agentId: "sec-triage-01",
    supervisors: ["sec-oncall"],
    facts: { isolate_host: RISKY, read_alerts: safe },
    budgetMs: 1000,
    timeoutMs: 10_000,
    ...options,
  });
  const model = new Scripted(turns);
  const agent = new Agent({
    model,
    tools: [tool("isolate_host"), tool("read_alerts")],
    plugins: [plugin],
    systemPrompt: "You triage.",
    printer: false,
  });
  return { agent, plugin, ran, model };
}

if (process.argv[1] === import.meta.filename) {
  const { agent, plugin, ran } = build(JSON.parse(process.argv[2]));
  let outcome;
  try {
    outcome = (await plugin.resume(agent, process.argv[3])).stopReason;
  } catch (error) {
    outcome = error.name;
  }
  console.log(JSON.stringify({ outcome, ran, messages: agent.messages }));
}
