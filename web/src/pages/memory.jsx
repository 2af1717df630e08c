// SPDX-License-Identifier: Apache-2.0
// What agents remember: newest first, or by words; single memories can be forgotten.
import { useEffect, useState } from "preact/hooks";
import { query, remove } from "../lib/api.js";
import { dateTime, shortId } from "../lib/format.js";
import { useDebounced, useLive, usePages, useTitle } from "../lib/hooks.js";
import { href, route, setParams } from "../lib/router.js";
import { lacks } from "../lib/session.js";
import { useSignal } from "../lib/store.js";
import { Dialog } from "../ui/dialog.jsx";
import { Icon } from "../ui/icons.jsx";
import { Age, Button, Chips } from "../ui/parts.jsx";
import { More, Parts, Row, Rows, stale } from "../ui/rows.jsx";
import { PageHead } from "../ui/shell.jsx";
import { Empty, Loaded } from "../ui/states.jsx";
import { toast } from "../ui/toast.jsx";

const PAGE = 50;
const KINDS = {
  semantic: { label: "Fact", tone: "blue" },
  episodic: { label: "Episode", tone: "teal" },
  procedural: { label: "Procedure", tone: "violet" },
};

function ForgetDialog({ memory, onClose, onDone }) {
  const forget = async () => {
    await remove(`/v1/memories/${memory.id}`);
    toast("Memory forgotten");
    onDone();
  };
  return (
    <Dialog
      title="Forget this memory?"
      submit="Forget it"
      tone="danger"
      onClose={onClose}
      onSubmit={forget}
    >
      <p>
        <strong>{memory.agent}</strong> does not recall it any more. This cannot be undone.
      </p>
      <p>{memory.content}</p>
    </Dialog>
  );
}

function MemoryRow({ memory, onForget }) {
  const { label, tone } = KINDS[memory.kind] ?? { label: memory.kind, tone: "grey" };
  return (
    <Row
      id={memory.id}
      tag={label}
      tone={tone}
      title={memory.content}
      sub={
        <Parts
          of={[
            <strong>{memory.agent}</strong>,
            memory.category,
            memory.run_id && (
              <>
                from run <a href={href("runs", memory.run_id)}>{shortId(memory.run_id)}</a>
              </>
            ),
            !memory.run_id && memory.source && `from ${memory.source}`,
            memory.consolidated && "consolidated",
          ]}
        />
      }
      end={<Age time={memory.created} />}
      endSub={dateTime(memory.created)}
      actions={
        <Button
          icon="cross"
          tone="danger"
          why={lacks("operate")}
          label={`Forget memory ${memory.id} of ${memory.agent}`}
          onClick={() => onForget(memory)}
        />
      }
    />
  );
}

function Field({ name, value, onChange, isShort }) {
  return (
    <label class={`search ${isShort ? "search-short" : ""}`}>
      <Icon name="search" size={14} />
      <span class="sr">{name}</span>
      <input
        type="search"
        placeholder={name}
        value={value}
        onInput={(event) => onChange(event.currentTarget.value)}
      />
    </label>
  );
}

function List({ state, isFiltered, onForget }) {
  if (!state.list.length) {
    return isFiltered ? (
      <Empty icon="search" title="No matching memories">
        Try other words or filters.
      </Empty>
    ) : (
      <Empty icon="brain" title="No memories">
        Agents of roles with <code>spec.memory</code> remember across runs.
      </Empty>
    );
  }
  return (
    <>
      <Rows label="Memories">
        {state.list.map((memory) => (
          <MemoryRow key={memory.id} memory={memory} onForget={onForget} />
        ))}
      </Rows>
      <More of={state} />
    </>
  );
}

export function Memory() {
  useTitle("Memory");
  const { params } = useSignal(route);
  const [q, setQ] = useState(params.q ?? "");
  const [agent, setAgent] = useState(params.agent ?? "");
  const [forgetting, setForgetting] = useState(null);
  const words = useDebounced(q.trim(), 250);
  const name = useDebounced(agent.trim(), 250);
  const kind = params.kind ?? "";
  const path = `/v1/memories${query({ q: words, agent: name, kind, limit: PAGE })}`;
  const state = usePages(useLive(path), path, "memories");
  // The kind may have been chosen since this was drawn.
  useEffect(() => setParams({ ...route.value.params, q: words, agent: name }), [words, name]);
  const items = Object.entries(KINDS).map(([key, { label, tone }]) => ({
    key,
    name: label,
    tone,
  }));
  return (
    <div class="page">
      <PageHead title="Memory" sub={stale(state) ?? "What agents remember across runs"} />
      <div class="toolbar">
        <Field name="Search by words" value={q} onChange={setQ} />
        <Field name="Agent" value={agent} onChange={setAgent} isShort />
        <Chips
          label="Kinds"
          items={items}
          chosen={kind ? [kind] : []}
          onChange={(chosen) => setParams({ q: words, agent: name, kind: chosen.at(-1) })}
        />
      </div>
      <Loaded of={state} rows={8}>
        {() => (
          <List
            state={state}
            isFiltered={Boolean(words || name || kind)}
            onForget={setForgetting}
          />
        )}
      </Loaded>
      {forgetting && (
        <ForgetDialog
          memory={forgetting}
          onClose={() => setForgetting(null)}
          onDone={() => state.drop(forgetting.id)}
        />
      )}
    </div>
  );
}
