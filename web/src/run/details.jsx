// SPDX-License-Identifier: Apache-2.0
// What the run was started with.
import { dateTime, spanOfNs } from "../lib/format.js";
import { Markdown } from "../lib/markdown.jsx";
import { Code, Copy, Facts, Panel } from "../ui/parts.jsx";

export function Details({ run }) {
  const rows = [
    [
      "Run",
      <>
        <code class="wrap">{run.run_id}</code> <Copy text={run.run_id} label="run id" />
      </>,
    ],
    ["Agent", run.agent_id],
    ["Kind", run.kind],
    ["Model", run.model],
    ["Workspace", run.workspace && <code class="wrap">{run.workspace}</code>],
    ["Owner", run.owner],
    ["Waiting for", run.waiting_for],
    ["Created", dateTime(run.created)],
    ["Last activity", dateTime(run.updated)],
    ["Ended", run.ended && dateTime(run.ended)],
    ["Active time", run.active_ns && spanOfNs(run.active_ns)],
    ["Exit code", run.exit_code],
    ["Policies", run.policy_sha256 && <code class="wrap">{run.policy_sha256}</code>],
  ];
  return (
    <div class="columns">
      <div class="column">
        <Panel title="Run" id="details-run">
          <Facts rows={rows} />
        </Panel>
        {run.prompt && (
          <Panel title="Prompt" id="details-prompt">
            <div class="pad">
              <Markdown text={run.prompt} />
            </div>
          </Panel>
        )}
      </div>
      <div class="column">
        <Panel title="Options" id="details-options">
          <Code
            label="Options"
            text={JSON.stringify(run.options ?? {}, null, 2)}
            className="code-tall"
          />
        </Panel>
      </div>
    </div>
  );
}
