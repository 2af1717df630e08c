// SPDX-License-Identifier: Apache-2.0
// Mutations of texts: by tokens, by characters, and by exchanging parts.

import {
  CHARACTERS,
  GOOD_INTEGERS,
  GOOD_STRINGS,
  INTEGERS,
  PUNCTUATION,
  STRINGS,
  WORDS,
} from "./literals.mjs";
import { UIDS } from "./worlds.mjs";

const TOKEN =
  /\/\/[^\n\r]*|"(?:\\[^]|[^"\\])*"|\?\w+|[\p{L}_][\p{L}\p{N}_]*|\p{N}+|::|==|!=|<=|>=|\|\||&&|\s+|[^]/gu;

/** The tokens of a text, white space and comments among them; joined they are the text. */
export function tokensOf(text) {
  return text.match(TOKEN) ?? [];
}

const isBlank = (token) => /^\s/.test(token);

/** A token out of nothing. */
export function anyToken(random) {
  switch (random.below(10)) {
    case 0:
    case 1:
      return random.pick(WORDS);
    case 2:
    case 3:
    case 4:
      return random.pick(PUNCTUATION);
    case 5:
      return random.pick(INTEGERS);
    case 6:
    case 7:
      return `"${random.pick(STRINGS)}"`;
    case 8:
      return random.pick(UIDS);
    default:
      return random.pick(CHARACTERS);
  }
}

/** Words and operators that can mostly stand for each other. */
const KIN = [
  ["permit", "forbid"],
  ["when", "unless"],
  ["principal", "resource", "action", "context"],
  ["true", "false", "1", '"a"', "[]", "{}", 'User::"alice"', 'ip("::1")', 'decimal("1.0")'],
  ["==", "!=", "<", "<=", ">", ">=", "in", "+", "-", "*", "&&", "||"],
  [
    "contains",
    "containsAll",
    "containsAny",
    "getTag",
    "hasTag",
    "lessThan",
    "greaterThan",
    "isInRange",
    "offset",
    "durationSince",
    "lessThanOrEqual",
    "greaterThanOrEqual",
  ],
  [
    "isEmpty",
    "isIpv4",
    "isIpv6",
    "isLoopback",
    "isMulticast",
    "toDate",
    "toTime",
    "toDays",
    "toMilliseconds",
  ],
  ["ip", "decimal", "datetime", "duration"],
  [
    "name",
    "one",
    "age",
    "yes",
    "manager",
    "nums",
    "rec",
    "dec",
    "net",
    "dt",
    "dur",
    "ghost",
    "empty",
    "friends",
  ],
  ["User", "Photo", "Group", "Album", "Action", "NS", "A", "T"],
];

/** A token of the same sort as another, so that the text has a chance to stay right. */
function similarToken(random, token) {
  const kin = KIN.find((list) => list.includes(token));
  if (kin !== undefined && !random.oneIn(6)) {
    return random.pick(kin);
  }
  if (/^"/.test(token)) {
    return `"${random.pick(STRINGS)}"`;
  }
  if (/^\d/.test(token)) {
    return random.pick(INTEGERS);
  }
  if (/^\w/.test(token)) {
    return random.pick(WORDS);
  }
  return isBlank(token) ? random.pick(CHARACTERS) : random.pick(PUNCTUATION);
}

/** Place of a token that is no white space. */
function solidPlace(random, tokens) {
  for (let i = 0; i < 8; i++) {
    const at = random.below(tokens.length);
    if (!isBlank(tokens[at])) {
      return at;
    }
  }
  return random.below(tokens.length);
}

const OPENERS = { "(": ")", "[": "]", "{": "}" };

/** Begin and end (behind) of a bracketed part, or of one token. */
function partOf(random, tokens) {
  const begin = solidPlace(random, tokens);
  const close = OPENERS[tokens[begin]];
  if (close === undefined) {
    return [begin, begin + 1];
  }
  let depth = 0;
  for (let at = begin; at < tokens.length; at++) {
    depth += tokens[at] === tokens[begin] ? 1 : tokens[at] === close ? -1 : 0;
    if (depth === 0) {
      return [begin, at + 1];
    }
  }
  return [begin, begin + 1];
}

const CHANGES = [
  (random, tokens) => tokens.splice(solidPlace(random, tokens), 1),
  (random, tokens) => tokens.splice(solidPlace(random, tokens), 1, anyToken(random)),
  (random, tokens) => tokens.splice(random.below(tokens.length + 1), 0, anyToken(random)),
  (random, tokens) => {
    const at = solidPlace(random, tokens);
    tokens[at] = similarToken(random, tokens[at]);
  },
  (random, tokens) => {
    const at = solidPlace(random, tokens);
    tokens[at] = similarToken(random, tokens[at]);
  },
  (random, tokens) => {
    const at = solidPlace(random, tokens);
    tokens[at] = similarToken(random, tokens[at]);
  },
  (random, tokens) => {
    const strings = tokens.flatMap((token, at) => (/^"|^\d/.test(token) ? [at] : []));
    if (strings.length > 0) {
      const at = random.pick(strings);
      tokens[at] = similarToken(random, tokens[at]);
    }
  },
  (random, tokens) => {
    const at = solidPlace(random, tokens);
    tokens.splice(at, 0, tokens[at]);
  },
  (random, tokens) => {
    const [a, b] = [solidPlace(random, tokens), solidPlace(random, tokens)];
    [tokens[a], tokens[b]] = [tokens[b], tokens[a]];
  },
  (random, tokens) => {
    const at = random.below(tokens.length);
    tokens.splice(at, 1 + random.below(6));
  },
  (random, tokens) => {
    const [begin, end] = partOf(random, tokens);
    const [from, to] = partOf(random, tokens);
    tokens.splice(begin, end - begin, ...tokens.slice(from, to));
  },
  (random, tokens) => {
    const [begin, end] = partOf(random, tokens);
    const [open, close] = random.pick([
      ["(", ")"],
      ["[", "]"],
      ["-", ""],
      ["!", ""],
      ["(", ",)"],
      ["{a: ", "}"],
    ]);
    tokens.splice(begin, end - begin, open, ...tokens.slice(begin, end), close);
  },
  (random, tokens) => {
    const [begin, end] = partOf(random, tokens);
    const word = random.pick([
      ".a",
      '["a"]',
      ".contains(1)",
      " has a",
      ' like "*"',
      " is T",
      " in principal",
      " == 1",
      " + 1",
      " && true",
      ".isEmpty()",
      ",",
      ";",
    ]);
    tokens.splice(end, 0, word);
    return begin;
  },
];

/** Change tokens; `donor` is another text to take parts from. */
export function mutateTokens(random, text, donor) {
  const tokens = tokensOf(text);
  const count = 1 + random.below(random.oneIn(3) ? 4 : 1);
  for (let i = 0; i < count && tokens.length > 0; i++) {
    if (random.oneIn(8)) {
      const others = tokensOf(donor);
      if (others.length > 0) {
        const [begin, end] = partOf(random, tokens);
        const [from, to] = partOf(random, others);
        tokens.splice(begin, end - begin, ...others.slice(from, to));
      }
    } else {
      random.pick(CHANGES)(random, tokens);
    }
  }
  return tokens.join("");
}

const GOOD_TEXTS = GOOD_STRINGS.map((text) => `"${text}"`);

/** What may stand where a token stands, most likely. */
function substitutes(tokens, token) {
  const kin = KIN.find((list) => list.includes(token));
  if (kin !== undefined) {
    return kin;
  }
  if (/^"/.test(token)) {
    return [...tokens.filter((other) => /^"/.test(other)), ...GOOD_TEXTS];
  }
  if (/^\d/.test(token)) {
    return GOOD_INTEGERS;
  }
  /* Names of entity types, attributes, ... of the same text. */
  return /^[a-zA-Z_]/.test(token) && !WORDS.includes(token)
    ? tokens.filter((other) => /^[a-zA-Z_]/.test(other) && !WORDS.includes(other))
    : null;
}

/** Change a few tokens for others that may stand there. */
function mutateGently(random, text) {
  const tokens = tokensOf(text);
  for (let left = 1 + random.below(4), tries = 0; left > 0 && tries < 40; tries++) {
    const at = random.below(tokens.length || 1);
    const choices = tokens.length > 0 ? substitutes(tokens, tokens[at]) : null;
    if (choices !== null) {
      tokens[at] = random.pick(choices);
      left--;
    }
  }
  return tokens.join("");
}

/** Change single characters. */
export function mutateCharacters(random, text) {
  const characters = Array.from(text);
  const count = 1 + random.below(random.oneIn(3) ? 4 : 1);
  for (let i = 0; i < count; i++) {
    const at = random.below(characters.length + 1);
    const character = random.oneIn(2)
      ? random.pick(CHARACTERS)
      : random.oneIn(2)
        ? String.fromCharCode(32 + random.below(95))
        : (characters[random.below(characters.length || 1)] ?? " ");
    characters.splice(at, random.below(3) === 0 ? 0 : 1, ...(random.oneIn(4) ? [] : [character]));
  }
  return characters.join("");
}

/** One of the mutations; the result can be written as UTF-8. */
export function mutate(random, text, donor) {
  const choice = random.below(10);
  const changed =
    choice < 4
      ? mutateGently(random, text)
      : choice < 6
        ? mutateCharacters(random, text)
        : mutateTokens(random, text, donor);
  return changed.toWellFormed();
}
