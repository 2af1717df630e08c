// SPDX-License-Identifier: Apache-2.0
// Small parts that all pages are put together from.
import { parseJson } from "../lib/json.js";
import { useEffect, useRef, useState } from "preact/hooks";
import { age, dateTime, until } from "../lib/format.js";
import { statusOf } from "../lib/status.js";
import { useSignal } from "../lib/store.js";
import { clock, now } from "../lib/time.js";
import { Icon } from "./icons.jsx";

export function Status({ name, isQuiet = false }) {
  const { label, tone, glyph } = statusOf(name);
  return (
    <span class={`status tone-${tone} ${isQuiet ? "quiet" : ""}`} data-status={name}>
      {glyph === "spin" ? (
        <span class="spin" aria-hidden="true" />
      ) : (
        <Icon name={glyph} size={14} />
      )}
      <span class="status-label">{label}</span>
    </span>
  );
}

/** A button; with `why` it cannot be used, and says why. */
export function Button({
  icon,
  children,
  tone = "plain",
  why = null,
  isBusy = false,
  label,
  ...rest
}) {
  return (
    <button
      type="button"
      class={`button button-${tone} ${children ? "" : "button-icon"}`}
      aria-disabled={why || isBusy ? "true" : undefined}
      aria-label={label}
      title={why ?? label}
      {...rest}
      onClick={(event) => {
        if (why || isBusy) event.preventDefault();
        else rest.onClick?.(event);
      }}
    >
      {isBusy ? <span class="spin" aria-hidden="true" /> : icon && <Icon name={icon} size={14} />}
      {children && <span>{children}</span>}
    </button>
  );
}

/** A bar; `mark` is a place in percent that deserves a line, as the threshold of a warning. */
export function Bar({ percent, mark, label, tone }) {
  const shown = Math.max(0, Math.min(100, percent ?? 0));
  const state = tone ?? (percent >= 100 ? "over" : mark && percent >= mark ? "near" : "fine");
  return (
    <span
      class={`bar bar-${state}`}
      role="progressbar"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={Math.round(shown)}
    >
      <span class="bar-fill" style={{ transform: `scaleX(${shown / 100})` }} />
      {mark ? <span class="bar-mark" style={{ left: `${mark}%` }} /> : null}
    </span>
  );
}

/** One mark for each condition: filled = met. */
export function Pips({ met, total }) {
  if (!total) return <span class="faint">–</span>;
  const text = `${met} of ${total} conditions met`;
  return (
    <span class={`pips ${met === total ? "pips-all" : ""}`} title={text}>
      <span aria-hidden="true" class="pips-marks">
        {total <= 6 &&
          Array.from({ length: total }, (_, i) => <i key={i} class={i < met ? "is-met" : ""} />)}
      </span>
      <span aria-hidden="true">
        {met}/{total}
      </span>
      <span class="sr">{text}</span>
    </span>
  );
}

/** An age that grows by itself. */
export function Age({ time }) {
  useSignal(clock);
  if (!time) return <span class="faint">–</span>;
  return (
    <time dateTime={time} title={dateTime(time)}>
      {age(time, now())}
    </time>
  );
}

/** The time that is left until then. */
export function Due({ time, late = "due" }) {
  useSignal(clock);
  if (!time) return <span class="faint">–</span>;
  const text = until(time, now());
  return (
    <time dateTime={time} title={dateTime(time)}>
      {text === "now" ? late : text}
    </time>
  );
}

/** One of several views, as buttons of which one is pressed. */
export function Segments({ label, items, chosen, onChange }) {
  return (
    <div class="segments" role="group" aria-label={label}>
      {items.map(([key, name]) => (
        <button
          key={key}
          type="button"
          aria-pressed={chosen === key ? "true" : "false"}
          onClick={() => onChange(key)}
        >
          {name}
        </button>
      ))}
    </div>
  );
}

export function Copy({ text, label }) {
  const [isDone, setDone] = useState(false);
  const timer = useRef(null);
  useEffect(() => () => clearTimeout(timer.current), []);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setDone(true);
      timer.current = setTimeout(() => setDone(false), 1500);
    } catch {
      setDone(false);
    }
  };
  return (
    <button
      type="button"
      class="copy"
      onClick={copy}
      aria-label={isDone ? "Copied" : `Copy ${label}`}
      title={`Copy ${label}`}
    >
      <Icon name={isDone ? "check" : "copy"} size={13} />
    </button>
  );
}

/** A link to another site: only to http and https, and with no referrer. */
export function Outside({ url, children }) {
  if (!/^https?:\/\//i.test(url ?? "")) return children;
  return (
    <a href={url} rel="noopener noreferrer nofollow" target="_blank">
      {children}
    </a>
  );
}

/** Names and values: [name, value, class]; what has no value is left out. */
export function Facts({ rows, isWide }) {
  return (
    <dl class={`facts ${isWide ? "facts-wide" : ""}`}>
      {rows
        .filter(([, value]) => value || value === 0)
        .map(([name, value, kind]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd class={kind}>{value}</dd>
          </div>
        ))}
    </dl>
  );
}

export function Panel({ title, aside, children, id, className = "", level = 2 }) {
  const Heading = `h${level}`;
  return (
    <section class={`panel ${className}`} aria-labelledby={id}>
      <header class="panel-head">
        <Heading id={id}>{title}</Heading>
        {aside}
      </header>
      {children}
    </section>
  );
}

/** Text that may be long: scrolls, and can be reached by keyboard. */
export function Code({ text, label, className = "" }) {
  return (
    <pre class={`code ${className}`} tabIndex={0} role="group" aria-label={label}>
      {text}
    </pre>
  );
}

export function Pretty({ value, label }) {
  return (
    <Code
      label={label}
      text={typeof value === "string" ? pretty(value) : JSON.stringify(value, null, 2)}
    />
  );
}

/** JSON laid out, other text as it is. */
export function pretty(text) {
  const start = text.trimStart()[0];
  if (start !== "{" && start !== "[") return text;
  try {
    return JSON.stringify(parseJson(text), null, 2);
  } catch {
    return text;
  }
}

/** One of several names, or all of them. The chosen one is among them even if it is no more. */
export function Select({ label, all, names, chosen, onChange, textOf = (name) => name }) {
  return (
    <label class="select">
      <span class="sr">{label}</span>
      <select
        value={chosen ?? ""}
        onChange={(event) => onChange(event.currentTarget.value || null)}
      >
        <option value="">{all}</option>
        {[...new Set([...names, ...(chosen ? [chosen] : [])])].map((name) => (
          <option key={name} value={name}>
            {textOf(name)}
          </option>
        ))}
      </select>
    </label>
  );
}

/** Filters as buttons of which several may be pressed. */
export function Chips({ label, items, chosen, onChange }) {
  return (
    <div class="chips" role="group" aria-label={label}>
      {items.map(({ key, name, count, tone }) => (
        <button
          key={key}
          type="button"
          class={`chip ${tone ? `tone-${tone}` : ""}`}
          aria-pressed={chosen.includes(key) ? "true" : "false"}
          onClick={() =>
            onChange(
              chosen.includes(key) ? chosen.filter((other) => other !== key) : [...chosen, key],
            )
          }
        >
          {tone && <i class="chip-dot" aria-hidden="true" />}
          <span>{name}</span>
          {count !== undefined && <span class="chip-count">{count}</span>}
        </button>
      ))}
    </div>
  );
}
