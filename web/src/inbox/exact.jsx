// SPDX-License-Identifier: Apache-2.0
// Values as they are: with their type, nothing cut without a word, nothing invisible.
import { useMemo, useState } from "preact/hooks";
import { isForeign, pieces } from "../lib/exact.js";
import { count, plural } from "../lib/format.js";
import { Hidden } from "../lib/hidden.js";
import { sha256 } from "../lib/sha256.js";
import { Button } from "../ui/parts.jsx";

/** Characters, and lines, from which on a text is folded. */
const LONG = 1600;
const LONG_LINES = 30;
const MOST_DEPTH = 8;

export function Exact({ text }) {
  const list = useMemo(() => pieces(text), [text]);
  return (
    <bdo dir="ltr" class="exact">
      {list.map((piece, at) =>
        piece.code ? (
          <mark key={at} class="hidden-character" title={piece.name}>
            {piece.code}
          </mark>
        ) : (
          piece.text
        ),
      )}
    </bdo>
  );
}

function beginning(text) {
  const lines = text.split("\n", LONG_LINES).join("\n");
  const cut = lines.slice(0, LONG);
  return /[\ud800-\udbff]$/.test(cut) ? cut.slice(0, -1) : cut;
}

/** A text that is folded when it is long: with its length and digest, so that nothing is hidden. */
export function Folded({ text, label }) {
  const start = beginning(text);
  const isLong = start.length < text.length;
  const [isAll, setAll] = useState(false);
  const digest = useMemo(() => (isLong ? sha256(text) : null), [text, isLong]);
  const hidden = text.length - start.length;
  return (
    <div class="folded">
      <pre class="code code-tall" tabIndex={0} role="group" aria-label={label}>
        <Exact text={isAll || !isLong ? text : start} />
        {isLong && !isAll && <span class="fold-end" aria-hidden="true">{`\n⋯`}</span>}
      </pre>
      {isLong && (
        <p class="fold-note">
          <strong>
            {isAll ? "All" : `${plural(hidden, "more character")} of`} {count(text.length)}
            {isAll ? " characters" : ""}
          </strong>
          <code title={`SHA-256 of the whole text: ${digest}`}>sha256:{digest.slice(0, 12)}…</code>
          <Button onClick={() => setAll(!isAll)}>{isAll ? "Fold" : "Show all of it"}</Button>
        </p>
      )}
    </div>
  );
}

function kindOf(value) {
  if (value instanceof Hidden) return "hidden";
  if (value === null) return "null";
  if (Array.isArray(value)) return plural(value.length, "item");
  if (typeof value === "object") return plural(Object.keys(value).length, "member");
  return { string: "text", number: "number", boolean: "true/false" }[typeof value];
}

function Text({ value, label }) {
  if (value === "") return <span class="faint">empty</span>;
  if (value.length > 90 || value.includes("\n")) return <Folded text={value} label={label} />;
  return (
    <code class="value">
      <Exact text={value} />
    </code>
  );
}

export function Value({ value, label, depth = 0 }) {
  if (value instanceof Hidden)
    return (
      <span class="faint" title={String(value.placeholder.hmac ?? "")}>
        hidden from you, {plural(Number(value.placeholder.length) || 0, "byte")}
      </span>
    );
  if (typeof value === "string") return <Text value={value} label={label} />;
  if (value === null || typeof value !== "object")
    return <code class="value">{JSON.stringify(value)}</code>;
  if (depth >= MOST_DEPTH) return <Text value={JSON.stringify(value)} label={label} />;
  const entries = Object.entries(value);
  if (!entries.length) return <code class="value">{Array.isArray(value) ? "[]" : "{}"}</code>;
  return <Members entries={entries} label={label} depth={depth + 1} />;
}

/** Names and values, each with its type. */
export function Members({ entries, label, depth = 0 }) {
  return (
    <dl class="members" aria-label={depth === 0 ? label : undefined}>
      {entries.map(([name, value]) => (
        <div key={name} class="member">
          <dt>
            <code>
              <Exact text={name} />
            </code>
            <small>{kindOf(value)}</small>
            {typeof value === "string" && isForeign(value) && (
              <small class="foreign" title="Some letters look like others">
                not only ASCII
              </small>
            )}
          </dt>
          <dd>
            <Value value={value} label={name} depth={depth} />
          </dd>
        </div>
      ))}
    </dl>
  );
}
