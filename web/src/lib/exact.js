// SPDX-License-Identifier: Apache-2.0
// Text as it is: characters that nobody sees, or that turn the direction of text, are named instead
// of shown, so that a person decides about what really is there.

const HIDDEN =
  // eslint-disable-next-line no-control-regex
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00a0\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]|[\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]/gu;

const NAMES = {
  "00": "null",
  "0d": "carriage return",
  "1b": "escape",
  a0: "no-break space",
  ad: "soft hyphen",
  "200b": "zero width space",
  "200c": "zero width non-joiner",
  "200d": "zero width joiner",
  "200e": "left-to-right mark",
  "200f": "right-to-left mark",
  "202a": "left-to-right embedding",
  "202b": "right-to-left embedding",
  "202c": "pop directional formatting",
  "202d": "left-to-right override",
  "202e": "right-to-left override",
  2066: "left-to-right isolate",
  2067: "right-to-left isolate",
  2068: "first strong isolate",
  2069: "pop directional isolate",
  feff: "byte order mark",
};

/** "U+202E right-to-left override" */
function nameOf(character) {
  const code = character.codePointAt(0).toString(16).padStart(2, "0");
  const name = NAMES[code];
  return `U+${code.toUpperCase().padStart(4, "0")}${name ? ` ${name}` : ""}`;
}

/** @return [{text}, or {code: "\\u{202e}", name}] in order */
export function pieces(text) {
  const out = [];
  let from = 0;
  for (const found of text.matchAll(HIDDEN)) {
    if (found.index > from) out.push({ text: text.slice(from, found.index) });
    out.push({
      code: `\\u{${found[0].codePointAt(0).toString(16)}}`,
      name: nameOf(found[0]),
    });
    from = found.index + found[0].length;
  }
  if (from < text.length) out.push({ text: text.slice(from) });
  return out;
}

/** The same as one text. */
export function escaped(text) {
  return pieces(text)
    .map((piece) => piece.text ?? piece.code)
    .join("");
}

/** Letters that look like others are a way to mislead: whether a text has any outside of ASCII. */
export function isForeign(text) {
  return /[^\u0000-\u007f]/.test(text); // eslint-disable-line no-control-regex
}
