// SPDX-License-Identifier: Apache-2.0
// Markdown as far as models write it, turned into elements. Text stays text: nothing in it can
// become markup, and links lead only to http and https, with no referrer.

const SPANS = /(`+)([^`]|[^`][\s\S]*?[^`])\1(?!`)|\*\*(\S(?:[\s\S]*?\S)?)\*\*|\*(\S(?:[^*]*?\S)?)\*(?!\*)|\[([^\]]{1,300})\]\(([^()\s]{1,2000})\)|(https?:\/\/[^\s<>()]{1,2000}[^\s<>().,;:!?'"])/g;
const LONGEST = 200_000;

function link(url, text, key) {
    if (!/^https?:\/\//i.test(url)) return `${text} (${url})`;
    return (
        <a key={key} href={url} rel="noopener noreferrer nofollow" target="_blank">
            {text}
        </a>
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

const RULES = [
    { is: /^\s*(```|~~~)/, take: fence },
    { is: /^#{1,6}\s/, take: heading },
    { is: /^\s*([-*+]|\d{1,9}[.)])\s+/, take: list },
    { is: /^\s*>/, take: quote },
    { is: /^\s*([-*_])(\s*\1){2,}\s*$/, take: (lines) => [<hr />, lines.slice(1)] },
    { is: /^\s*\|.*\|\s*$/, take: table },
];

function fence(lines) {
    const mark = lines[0].trim().slice(0, 3);
    let end = 1;
    while (end < lines.length && !lines[end].trim().startsWith(mark)) end += 1;
    return [
        <pre class="code" tabIndex={0}>
            <code>{lines.slice(1, end).join("\n")}</code>
        </pre>,
        lines.slice(end + 1),
    ];
}

function heading(lines) {
    return [<p class="md-heading">{spans(lines[0].replace(/^#+\s*|\s*#+\s*$/g, ""))}</p>, lines.slice(1)];
}

function list(lines) {
    const item = /^(\s*)([-*+]|\d{1,9}[.)])\s+(.*)$/;
    const isOrdered = /\d/.test(item.exec(lines[0])[2]);
    const items = [];
    let i = 0;
    for (; i < lines.length; i += 1) {
        const match = item.exec(lines[i]);
        if (match) items.push({ depth: Math.min(Math.floor(match[1].length / 2), 4), text: match[3] });
        else if (/^\s{2,}\S/.test(lines[i]) && items.length) items[items.length - 1].text += `\n${lines[i].trim()}`;
        else break;
    }
    const Tag = isOrdered ? "ol" : "ul";
    const body = items.map(({ depth, text }, at) => (
        <li key={at} data-depth={depth}>
            {box(text)}
        </li>
    ));
    return [<Tag>{body}</Tag>, lines.slice(i)];
}

/** "[x] done" as in task lists. */
function box(text) {
    const match = /^\[([ xX])\]\s+([\s\S]*)$/.exec(text);
    if (!match) return spans(text);
    return [<span class="md-box">{match[1] === " " ? "☐ " : "☑ "}</span>, ...spans(match[2])];
}

function quote(lines) {
    let end = 0;
    while (end < lines.length && /^\s*>/.test(lines[end])) end += 1;
    const inner = lines.slice(0, end).map((line) => line.replace(/^\s*> ?/, ""));
    return [<blockquote>{spans(inner.join("\n"))}</blockquote>, lines.slice(end)];
}

function table(lines) {
    let end = 0;
    while (end < lines.length && /^\s*\|.*\|\s*$/.test(lines[end])) end += 1;
    const rows = lines.slice(0, end).map((line) => line.trim().slice(1, -1).split("|").map((cell) => cell.trim()));
    const hasHead = rows.length > 1 && rows[1].every((cell) => /^:?-+:?$/.test(cell));
    const head = hasHead ? rows[0] : null;
    const body = hasHead ? rows.slice(2) : rows;
    return [
        <div class="md-table" tabIndex={0}>
            <table>
                {head && (
                    <thead>
                        <tr>{head.map((cell) => <th scope="col">{spans(cell)}</th>)}</tr>
                    </thead>
                )}
                <tbody>{body.map((row) => <tr>{row.map((cell) => <td>{spans(cell)}</td>)}</tr>)}</tbody>
            </table>
        </div>,
        lines.slice(end),
    ];
}

function blocks(text) {
    const out = [];
    let lines = text.replace(/\r\n?/g, "\n").split("\n");
    while (lines.length) {
        if (!lines[0].trim()) {
            lines = lines.slice(1);
            continue;
        }
        const rule = RULES.find(({ is }) => is.test(lines[0]));
        let element;
        if (rule) [element, lines] = rule.take(lines);
        else {
            let end = 1;
            while (end < lines.length && lines[end].trim() && !RULES.some(({ is }) => is.test(lines[end]))) end += 1;
            element = <p>{spans(lines.slice(0, end).join("\n"))}</p>;
            lines = lines.slice(end);
        }
        out.push(element);
    }
    return out;
}

export function Markdown({ text }) {
    if (text.length > LONGEST) return <pre class="code" tabIndex={0}>{text}</pre>;
    return <div class="md">{blocks(text)}</div>;
}
