// SPDX-License-Identifier: Apache-2.0
// Markdown as far as models write it, turned into elements. Text stays text: nothing in it can
// become markup, and links lead only to http and https, with no referrer.

import { Outside } from "../ui/parts.jsx";

// What has no end within some thousand characters is text: else a text of beginnings would take minutes.
const SPANS =
  /(`+)([^`]|[^`][\s\S]{0,5000}?[^`])\1(?!`)|\*\*(\S(?:[\s\S]{0,1000}?\S)?)\*\*|\*(\S(?:[^*]{0,1000}?\S)?)\*(?!\*)|\[([^\]]{1,300})\]\(([^()\s]{1,2000})\)|(https?:\/\/[^\s<>()]{1,2000}[^\s<>().,;:!?'"])/g;
const LONGEST = 200_000;

function link(url, text, key) {
  if (!/^https?:\/\//i.test(url)) return `${text} (${url})`;
  return (
    <Outside key={key} url={url}>
      {text}
    </Outside>
  );
}

function spans(text) {
  const parts = [];
  let end = 0;
  for (const match of text.matchAll(SPANS)) {
    const [whole, ticks, code, strong, weak, name, url, bare] = match;
    if (match.index > end) parts.push(text.slice(end, match.index));
    end = match.index + whole.length;
    const key = match.index;
    if (ticks) parts.push(<code key={key}>{code}</code>);
    else if (strong) parts.push(<strong key={key}>{strong}</strong>);
    else if (weak) parts.push(<em key={key}>{weak}</em>);
    else if (name) parts.push(link(url, name, key));
    else parts.push(link(bare, bare, key));
  }
  if (end < text.length) parts.push(text.slice(end));
  return parts;
}

/** Each takes the lines from `at` on and gives an element and where the next one begins. */
const RULES = [
  { is: /^\s*(```|~~~)/, take: fence },
  { is: /^#{1,6}\s/, take: heading },
  { is: /^\s*([-*+]|\d{1,9}[.)])\s+/, take: list },
  { is: /^\s*>/, take: quote },
  { is: /^\s*([-*_])(\s*\1){2,}\s*$/, take: (lines, at) => [<hr />, at + 1] },
  { is: /^\s*\|.*\|\s*$/, take: table },
];

function fence(lines, at) {
  const mark = lines[at].trim().slice(0, 3);
  let end = at + 1;
  while (end < lines.length && !lines[end].trim().startsWith(mark)) end += 1;
  return [
    <pre class="code" tabIndex={0}>
      <code>{lines.slice(at + 1, end).join("\n")}</code>
    </pre>,
    end + 1,
  ];
}

function heading(lines, at) {
  return [<p class="md-heading">{spans(lines[at].replace(/^#+\s*|\s*#+\s*$/g, ""))}</p>, at + 1];
}

function list(lines, at) {
  const item = /^(\s*)([-*+]|\d{1,9}[.)])\s+([^]*)$/;
  const isOrdered = /\d/.test(item.exec(lines[at])[2]);
  const items = [];
  let i = at;
  for (; i < lines.length; i += 1) {
    const match = item.exec(lines[i]);
    if (match) items.push({ depth: Math.min(Math.floor(match[1].length / 2), 4), text: match[3] });
    else if (/^\s{2,}\S/.test(lines[i]) && items.length)
      items[items.length - 1].text += `\n${lines[i].trim()}`;
    else break;
  }
  const Tag = isOrdered ? "ol" : "ul";
  const body = items.map(({ depth, text }, key) => (
    <li key={key} data-depth={depth}>
      {box(text)}
    </li>
  ));
  return [<Tag>{body}</Tag>, i];
}

/** "[x] done" as in task lists. */
function box(text) {
  const match = /^\[([ xX])\]\s+([\s\S]*)$/.exec(text);
  if (!match) return spans(text);
  return [<span class="md-box">{match[1] === " " ? "☐ " : "☑ "}</span>, ...spans(match[2])];
}

function quote(lines, at) {
  let end = at;
  while (end < lines.length && /^\s*>/.test(lines[end])) end += 1;
  const inner = lines.slice(at, end).map((line) => line.replace(/^\s*> ?/, ""));
  return [<blockquote>{spans(inner.join("\n"))}</blockquote>, end];
}

function table(lines, at) {
  let end = at;
  while (end < lines.length && /^\s*\|.*\|\s*$/.test(lines[end])) end += 1;
  const rows = lines.slice(at, end).map((line) =>
    line
      .trim()
      .slice(1, -1)
      .split("|")
      .map((cell) => cell.trim()),
  );
  const hasHead = rows.length > 1 && rows[1].every((cell) => /^:?-+:?$/.test(cell));
  const head = hasHead ? rows[0] : null;
  const body = hasHead ? rows.slice(2) : rows;
  return [
    <div class="md-table" tabIndex={0}>
      <table>
        {head && (
          <thead>
            <tr>
              {head.map((cell) => (
                <th scope="col">{spans(cell)}</th>
              ))}
            </tr>
          </thead>
        )}
        <tbody>
          {body.map((row) => (
            <tr>
              {row.map((cell) => (
                <td>{spans(cell)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>,
    end,
  ];
}

function paragraph(lines, at) {
  let end = at + 1;
  while (end < lines.length && lines[end].trim() && !RULES.some(({ is }) => is.test(lines[end])))
    end += 1;
  return [<p>{spans(lines.slice(at, end).join("\n"))}</p>, end];
}

function blocks(text) {
  const out = [];
  const lines = text.replace(/\r\n?/g, "\n").split("\n");
  for (let at = 0; at < lines.length;) {
    if (!lines[at].trim()) {
      at += 1;
      continue;
    }
    const take = RULES.find(({ is }) => is.test(lines[at]))?.take ?? paragraph;
    const [element, next] = take(lines, at);
    out.push(element);
    at = next;
  }
  return out;
}

export function Markdown({ text }) {
  if (text.length > LONGEST)
    return (
      <pre class="code" tabIndex={0}>
        {text}
      </pre>
    );
  return <div class="md">{blocks(text)}</div>;
}
