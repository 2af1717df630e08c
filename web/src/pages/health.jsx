// SPDX-License-Identifier: Apache-2.0
// How the server is.
import { useEffect } from "preact/hooks";
import { bytes, count, spanOfNs } from "../lib/format.js";
import { useApi, useTitle } from "../lib/hooks.js";
import { Bar, Panel } from "../ui/parts.jsx";
import { PageHead } from "../ui/shell.jsx";
import { Loaded, Notice } from "../ui/states.jsx";

const EVERY_MS = 5000;
const NEARLY_FULL = 90;

function Facts({ rows }) {
  return (
    <dl class="facts">
      {rows.map(([name, value, tone]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd class={tone ? `tone-${tone} toned` : ""}>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

function State({ isBad, bad, good }) {
  return <span class={`state ${isBad ? "tone-red" : "tone-green"}`}>{isBad ? bad : good}</span>;
}

function Loops({ loops }) {
  const percent = loops.max ? (loops.running / loops.max) * 100 : 0;
  return (
    <Panel
      title="Loops"
      id="health-loops"
      aside={
        loops.limited_by ? (
          <span class={`state ${percent >= NEARLY_FULL ? "tone-amber" : ""}`}>
            limited by {loops.limited_by}
          </span>
        ) : null
      }
    >
      <div class="meter">
        <span class="meter-value">{count(loops.running)}</span>
        <span class="faint"> of {loops.max ? count(loops.max) : "any number"} running here</span>
        <Bar percent={percent} mark={NEARLY_FULL} label="Loops running" />
      </div>
      <Facts
        rows={[
          [
            "Queued",
            `${count(loops.queued)}${loops.max_queue ? ` of ${count(loops.max_queue)}` : ""}`,
          ],
          ["Paused", count(loops.paused)],
        ]}
      />
    </Panel>
  );
}

function Store({ store }) {
  return (
    <Panel
      title="Store"
      id="health-store"
      aside={<State isBad={store.is_failing} bad="Failing" good="OK" />}
    >
      <Facts
        rows={[
          ["Path", <code class="wrap">{store.path}</code>],
          ["Size", bytes(store.size_bytes)],
          ["Position", count(store.position)],
        ]}
      />
    </Panel>
  );
}

function Monitor({ monitor }) {
  return (
    <Panel
      title="Warnings and notifications"
      id="health-monitor"
      aside={<State isBad={monitor.dead > 0} bad={`${monitor.dead} undelivered`} good="OK" />}
    >
      <Facts
        rows={[
          ["Unprocessed events", count(monitor.behind)],
          ["Pending deliveries", count(monitor.pending)],
          ["Dead letters", count(monitor.dead), monitor.dead ? "red" : null],
          ["Position", count(monitor.position)],
        ]}
      />
    </Panel>
  );
}

function Telemetry({ telemetry }) {
  if (!telemetry?.is_on) {
    return (
      <Panel title="Telemetry" id="health-telemetry" aside={<span class="state">Off</span>}>
        <p class="pad faint">Set OTEL_EXPORTER_OTLP_ENDPOINT to send traces.</p>
      </Panel>
    );
  }
  return (
    <Panel
      title="Telemetry"
      id="health-telemetry"
      aside={<State isBad={telemetry.is_failing} bad="Failing" good="Sending" />}
    >
      <Facts
        rows={[
          ["Sent", count(telemetry.sent)],
          ["Waiting", count(telemetry.behind)],
          ["Rejected", count(telemetry.rejected), telemetry.rejected ? "amber" : null],
          ["Dropped", count(telemetry.dropped), telemetry.dropped ? "amber" : null],
        ]}
      />
      {telemetry.problem && <p class="pad toned tone-red">{telemetry.problem}</p>}
    </Panel>
  );
}

function Body({ health }) {
  return (
    <>
      {health.is_draining && <Notice>The server is shutting down and accepts no new runs.</Notice>}
      <div class="cards">
        <Loops loops={health.loops} />
        <Store store={health.store} />
        <Monitor monitor={health.monitor} />
        <Telemetry telemetry={health.telemetry} />
        <Panel title="Server" id="health-server">
          <Facts
            rows={[
              ["Version", health.version],
              ["Up for", spanOfNs(health.uptime_ns)],
              ["Connections", count(health.connections)],
              ["Live streams", count(health.streams)],
              ["Runs taken over", count(health.taken_over)],
              ["Runs closed as error", count(health.closed)],
              ["Warnings since the start", count(health.warnings_total)],
            ]}
          />
        </Panel>
      </div>
    </>
  );
}

export function Health() {
  useTitle("Health");
  const health = useApi("/v1/health");
  useEffect(() => {
    const timer = setInterval(() => {
      if (!document.hidden) health.reload();
    }, EVERY_MS);
    return () => clearInterval(timer);
  }, []);
  return (
    <div class="page">
      <PageHead
        title="Health"
        sub={
          health.problem && health.data ? (
            <span class="toned tone-amber">Not up to date: {health.problem.message}</span>
          ) : null
        }
      />
      <Loaded of={health} kind="card" rows={5}>
        {(data) => <Body health={data} />}
      </Loaded>
    </div>
  );
}
