// SPDX-License-Identifier: Apache-2.0
// What wakes the agents on duty: when each trigger is due next, and which ones do not work.
import { useState } from "preact/hooks";
import { dateTime, plural } from "../lib/format.js";
import { useLive, useTitle } from "../lib/hooks.js";
import { route, setParams } from "../lib/router.js";
import { useSignal } from "../lib/store.js";
import { Icon } from "../ui/icons.jsx";
import { Chips, Copy, Due } from "../ui/parts.jsx";
import { Parts, Row, Rows, stale } from "../ui/rows.jsx";
import { PageHead } from "../ui/shell.jsx";
import { Empty, Loaded } from "../ui/states.jsx";

/** Types of triggers: one row each. */
export const SOURCE_TYPES = {
  cron: { label: "Cron", tone: "blue" },
  heartbeat: { label: "Heartbeat", tone: "teal" },
  webhook: { label: "Webhook", tone: "violet" },
  file_watch: { label: "Files", tone: "green" },
  telegram: { label: "Telegram", tone: "blue" },
  discord: { label: "Discord", tone: "violet" },
  slack: { label: "Slack", tone: "teal" },
  scheduled: { label: "Follow-ups", tone: "orange" },
};

export const sourceType = (type) => SOURCE_TYPES[type] ?? { label: type, tone: "grey" };

const hasProblem = (source) => Boolean(source.problem) || !source.on_duty;

/** Those that do not work first, then by the time at which they are due, then the others. */
function order(a, b) {
  return (
    Number(hasProblem(b)) - Number(hasProblem(a)) ||
    Number(!a.due) - Number(!b.due) ||
    (a.due ?? "").localeCompare(b.due ?? "") ||
    a.id.localeCompare(b.id)
  );
}

/** Figures and words of its type; what is nested is for programs. */
function details(source) {
  return Object.entries(source.details)
    .filter(([, value]) => ["string", "number"].includes(typeof value) && value !== "")
    .map(([name, value]) => `${name.replaceAll("_", " ")} ${value}`);
}

function Hook({ name }) {
  return (
    <>
      <code>/hooks/{name}</code>
      <Copy text={`${location.origin}/hooks/${encodeURIComponent(name)}`} label="address" />
    </>
  );
}

function SourceRow({ source }) {
  const { label, tone } = sourceType(source.type);
  const problem = source.problem ?? (source.on_duty ? null : "Its daemon is not running");
  return (
    <Row
      id={source.id}
      tag={label}
      tone={tone}
      title={
        <>
          <strong>{source.role}</strong>
          {source.summary && (
            <>
              {" "}
              <code>{source.summary}</code>
            </>
          )}
        </>
      }
      sub={
        <Parts
          of={[
            problem && (
              <span class={`toned tone-${source.problem ? "red" : "amber"}`}>{problem}</span>
            ),
            source.hook && <Hook name={source.hook} />,
            ...details(source),
          ]}
        />
      }
      end={
        source.due ? (
          <Due time={source.due} />
        ) : (
          <span class="faint">{problem ? "–" : "on events"}</span>
        )
      }
      endSub={source.due && dateTime(source.due)}
    />
  );
}

/** Chips of the types that there are, and of those with problems. */
function useChosen(sources) {
  const { params } = useSignal(route);
  const chosen = (params.type ?? "").split(",").filter(Boolean);
  const count = (fits) => sources.filter(fits).length;
  const items = [...new Set(sources.map(({ type }) => type))].sort().map((type) => ({
    key: type,
    name: sourceType(type).label,
    tone: sourceType(type).tone,
    count: count((one) => one.type === type),
  }));
  const bad = count(hasProblem);
  if (bad) items.unshift({ key: "problem", name: "Problems", tone: "red", count: bad });
  const types = chosen.filter((key) => key !== "problem");
  const fits = (source) =>
    (!types.length || types.includes(source.type)) &&
    (!chosen.includes("problem") || hasProblem(source));
  return { chosen, items, fits, params };
}

function List({ sources }) {
  const { chosen, items, fits, params } = useChosen(sources);
  const [role, setRole] = useState(params.role ?? "");
  const choose = (type, name) => setParams({ type: type.join(","), role: name });
  const shown = sources
    .filter((source) => fits(source) && source.role.includes(role.trim()))
    .sort(order);
  return (
    <>
      <div class="toolbar">
        <Chips
          label="Types"
          items={items}
          chosen={chosen}
          onChange={(type) => choose(type, role.trim())}
        />
        <label class="search search-short">
          <Icon name="search" size={14} />
          <span class="sr">Role</span>
          <input
            type="search"
            placeholder="Role"
            value={role}
            onInput={(event) => {
              setRole(event.currentTarget.value);
              choose(chosen, event.currentTarget.value.trim());
            }}
          />
        </label>
        <span class="toolbar-end faint">{plural(shown.length, "source")}</span>
      </div>
      {shown.length ? (
        <Rows label="Sources">
          {shown.map((source) => (
            <SourceRow key={source.id} source={source} />
          ))}
        </Rows>
      ) : (
        <Empty icon="search" title="No matching sources">
          Try other filters.
        </Empty>
      )}
    </>
  );
}

export function Sources() {
  useTitle("Sources");
  const state = useLive("/v1/sources");
  return (
    <div class="page">
      <PageHead title="Sources" sub={stale(state) ?? "What wakes the agents on duty, and when"} />
      <Loaded of={state} rows={8}>
        {({ sources }) =>
          sources.length ? (
            <List sources={sources} />
          ) : (
            <Empty icon="clock" title="No agents on duty">
              <code>rondo daemon ROLE</code> starts runs by the triggers of a role.
            </Empty>
          )
        }
      </Loaded>
    </div>
  );
}
