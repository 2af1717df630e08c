// SPDX-License-Identifier: Apache-2.0
// Reading JSON in which agents, models and tools have had a say. Characters that turn the direction
// of text or that nobody sees would let it look like something else; as on a terminal, they are
// dropped (text_is_hidden in base/text/plain.c; spaces stay).

const HIDDEN =
  /[\u0080-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb]|[\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]/gu;
/** Escapes that may stand for one of them, or for a control character. */
const ESCAPE = /\\u(?:00[0189ad]|034|061|11[56]|17b|180|20[0-6]|316|f[ef]|d834|db4)/i;
// eslint-disable-next-line no-control-regex
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f]/g;

const clean = (text) => text.replace(HIDDEN, "").replace(CONTROL, "");

const revive = (_key, value) => (typeof value === "string" ? clean(value) : value);

/** JSON.parse, but no text of the result has hidden characters. */
export function parseJson(text) {
  const seen = text.replace(HIDDEN, "");
  return ESCAPE.test(seen) ? JSON.parse(seen, revive) : JSON.parse(seen);
}
