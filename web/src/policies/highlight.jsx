// SPDX-License-Identifier: Apache-2.0
// Cedar in colours, as far as words go.

const TOKENS =
  /(\/\/[^\n]*)|("(?:[^"\\\n]|\\.)*"?)|(@[A-Za-z_]\w*)|\b(permit|forbid|when|unless)\b|\b(principal|action|resource|context)\b|\b(in|is|has|like|if|then|else|true|false)\b|\b(\d+)\b/g;
const CLASSES = ["comment", "string", "note", "effect", "subject", "word", "number"];

export function highlight(text) {
  const parts = [];
  let end = 0;
  for (const match of text.matchAll(TOKENS)) {
    if (match.index > end) parts.push(text.slice(end, match.index));
    const kind = CLASSES[match.slice(1).findIndex((group) => group !== undefined)];
    parts.push(<span class={`cedar-${kind}`}>{match[0]}</span>);
    end = match.index + match[0].length;
  }
  parts.push(text.slice(end));
  return parts;
}
