// SPDX-License-Identifier: Apache-2.0
// A text field with line numbers, colours beneath the text, and marks at lines with findings.
import { useMemo, useRef } from "preact/hooks";
import { highlight } from "./highlight.jsx";

/** Beyond this the colours are left out: typing must stay quick. */
const LONGEST_COLOURED = 60_000;

export function Editor({ text, onText, findings, isReadOnly, why, reveal }) {
  const area = useRef(null);
  const back = useRef(null);
  const gutter = useRef(null);
  const lines = useMemo(() => text.split("\n").length, [text]);
  const coloured = useMemo(() => (text.length > LONGEST_COLOURED ? text : highlight(text)), [text]);
  const marks = new Map();
  for (const { line, severity } of findings) {
    if (line && marks.get(line) !== "error") marks.set(line, severity);
  }
  const scroll = () => {
    const { scrollTop, scrollLeft } = area.current;
    back.current.style.transform = `translate(${-scrollLeft}px, ${-scrollTop}px)`;
    gutter.current.style.transform = `translateY(${-scrollTop}px)`;
  };
  reveal.current = (line, column = 1) => {
    const rows = text.split("\n");
    const at =
      rows.slice(0, line - 1).reduce((sum, row) => sum + row.length + 1, 0) +
      Math.max(0, column - 1);
    area.current.focus();
    area.current.setSelectionRange(at, at);
    const height = parseFloat(getComputedStyle(area.current).lineHeight);
    area.current.scrollTop = Math.max(0, (line - 5) * height);
  };
  return (
    <div class="editor">
      <div class="editor-gutter" aria-hidden="true">
        <div ref={gutter}>
          {Array.from({ length: lines }, (_, at) => (
            <i key={at} class={marks.has(at + 1) ? `has-${marks.get(at + 1)}` : ""}>
              {at + 1}
            </i>
          ))}
        </div>
      </div>
      <div class="editor-body">
        <pre class="editor-back" aria-hidden="true">
          <code ref={back}>
            {coloured}
            {"\n"}
          </code>
        </pre>
        <textarea
          ref={area}
          class="editor-text"
          value={text}
          readOnly={isReadOnly}
          title={why ?? undefined}
          aria-label="Policies"
          aria-describedby="findings"
          aria-invalid={findings.some(({ severity }) => severity === "error") ? "true" : undefined}
          spellcheck={false}
          autocapitalize="off"
          autoComplete="off"
          wrap="off"
          onScroll={scroll}
          onInput={(event) => onText(event.currentTarget.value)}
        />
      </div>
    </div>
  );
}
