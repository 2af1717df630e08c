// SPDX-License-Identifier: Apache-2.0
// What the agent was told, said and did, as a person reads it.
import { parseJson } from "../lib/json.js";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { bytes, count, dateTime, money, short, spanOfNs, timeOfDay } from "../lib/format.js";
import { Markdown } from "../lib/markdown.jsx";
import { useSignal } from "../lib/store.js";
import { Icon } from "../ui/icons.jsx";
import { Button, Code, pretty } from "../ui/parts.jsx";
import { Empty, Skeleton } from "../ui/states.jsx";
import { conversation } from "./talk.js";

const STEP = 60;
/** Outputs of up to so many lines are shown without being asked for. */
const FEW_LINES = 6;

function summaryOf(text) {
  let values;
  try {
    values = parseJson(text);
  } catch {
    return text?.slice(0, 120) ?? "";
  }
  const parts = Object.values(values ?? {}).filter((value) => typeof value === "string");
  return parts.join(", ").replace(/\s+/g, " ").slice(0, 120);
}

function Call({ call }) {
  const { answer } = call;
  const isBad = answer && answer.outcome !== "ok";
  const isShort =
    answer?.output && answer.output.split("\n").length <= FEW_LINES && answer.output.length < 500;
  const [isOpen, setOpen] = useState(isBad || false);
  return (
    <div class={`call ${isBad ? "is-bad" : ""}`}>
      <button
        type="button"
        class="call-head"
        aria-expanded={isOpen ? "true" : "false"}
        onClick={() => setOpen(!isOpen)}
      >
        <Icon name="tool" size={13} />
        <strong>{call.name}</strong>
        <code class="call-summary">{summaryOf(call.arguments)}</code>
        <span class="faint num">
          {answer
            ? `${isBad ? `${answer.outcome} · ` : ""}${spanOfNs(answer.duration_ns || 1)}`
            : "running"}
        </span>
        <Icon name={isOpen ? "up" : "down"} size={12} />
      </button>
      {isOpen && (
        <div class="call-body">
          <span class="faint">Arguments</span>
          <Code label={`Arguments of ${call.name}`} text={pretty(call.arguments ?? "")} />
          {answer && (
            <span class="faint">
              Answer{answer.output_bytes ? ` · ${bytes(answer.output_bytes)}` : ""}
            </span>
          )}
          {answer && (
            <Code
              label={`Result of ${call.name}`}
              text={answer.output ? pretty(answer.output) : "(nothing)"}
            />
          )}
        </div>
      )}
      {!isOpen && isShort && <pre class="call-peek">{answer.output}</pre>}
    </div>
  );
}

function Prompt({ item }) {
  const [isOpen, setOpen] = useState(item.text.length < 900);
  return (
    <article class="message message-prompt" aria-label="Prompt">
      <header>
        <Icon name="user" size={13} />
        <strong>Prompt</strong>
        <time class="faint" dateTime={item.time} title={dateTime(item.time)}>
          {timeOfDay(item.time, false)}
        </time>
      </header>
      <div class={isOpen ? "" : "clamp"}>
        <Markdown text={item.text} />
      </div>
      {!isOpen && (
        <button type="button" class="link" onClick={() => setOpen(true)}>
          Show all
        </button>
      )}
    </article>
  );
}

function Reply({ item }) {
  const { data, calls } = item;
  const isBad = data.outcome && data.outcome !== "ok";
  const facts = [
    data.tokens ? `${short(data.tokens)} tokens` : "",
    data.cost_micro === null ? "cost unknown" : data.cost_micro ? money(data.cost_micro / 1e6) : "",
    data.duration_ns ? spanOfNs(data.duration_ns) : "",
  ].filter(Boolean);
  return (
    <article class={`message message-reply ${isBad ? "is-bad" : ""}`} aria-label="Reply">
      <header>
        <Icon name="model" size={13} />
        <strong>Model</strong>
        <time class="faint" dateTime={item.time} title={dateTime(item.time)}>
          {timeOfDay(item.time, false)}
        </time>
        <span class="faint message-facts">{facts.join(" · ")}</span>
      </header>
      {isBad && (
        <p class="toned tone-red">
          {data.outcome}: {data.message}
        </p>
      )}
      {data.thinking && (
        <details class="thinking">
          <summary>Reasoning</summary>
          <Markdown text={data.thinking} />
        </details>
      )}
      {data.output && <Markdown text={data.output} />}
      {calls.map((call) => (
        <Call key={call.key} call={call} />
      ))}
    </article>
  );
}

function Item({ item }) {
  if (item.kind === "prompt") return <Prompt item={item} />;
  if (item.kind === "reply") return <Reply item={item} />;
  if (item.kind === "trimmed") return <p class="talk-mark">{item.text}</p>;
  return (
    <h2 class="talk-mark">
      Iteration {count(item.iteration)}
      {item.attempt > 1 ? `, attempt ${item.attempt}` : ""}
    </h2>
  );
}

/** Stays at the newest message while the reader is there; begins there. */
function useEndInSight(items) {
  const ref = useRef(null);
  const isAtEnd = useRef(true);
  useEffect(() => {
    const scroller = ref.current;
    if (!scroller) return undefined;
    const onScroll = () => {
      isAtEnd.current = scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < 80;
    };
    scroller.addEventListener("scroll", onScroll, { passive: true });
    return () => scroller.removeEventListener("scroll", onScroll);
  }, [items.length > 0]);
  useLayoutEffect(() => {
    const scroller = ref.current;
    if (scroller && isAtEnd.current) scroller.scrollTop = scroller.scrollHeight;
  }, [items]);
  return ref;
}

export function Conversation({ feed, version }) {
  const { isLoading, hasMore } = useSignal(feed.state);
  const items = useMemo(() => conversation(feed.log.events), [feed, version]);
  const [shown, setShown] = useState(STEP);
  const end = useEndInSight(items);
  const isTalk = items.some(({ kind }) => kind === "reply" || kind === "prompt");
  if (!isTalk) {
    if (isLoading) return <Skeleton rows={6} kind="card" />;
    return (
      <Empty icon="model" title="No conversation">
        Command runs have no conversation; see the timeline.
      </Empty>
    );
  }
  const rest = items.length - shown;
  return (
    <div class="talk-list" ref={end} tabIndex={0} role="group" aria-label="Messages, oldest first">
      <div class="talk">
        {(rest > 0 || hasMore) && (
          <div class="more">
            {rest > 0 ? (
              <Button onClick={() => setShown(shown + STEP * 2)}>
                Show earlier messages ({count(rest)})
              </Button>
            ) : (
              <Button onClick={() => feed.older()} isBusy={isLoading}>
                Load earlier events
              </Button>
            )}
          </div>
        )}
        {items.slice(-shown).map((item) => (
          <Item key={item.key} item={item} />
        ))}
      </div>
    </div>
  );
}
