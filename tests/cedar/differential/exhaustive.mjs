// SPDX-License-Identifier: Apache-2.0
// All texts that are one token, or one character, away from the handwritten ones.

import { HANDWRITTEN } from "./handwritten.mjs";
import { CHARACTERS } from "./literals.mjs";
import { tokensOf } from "./mutate.mjs";

const TOKENS = [
  ...[
    "::",
    "==",
    "!=",
    "<",
    "<=",
    ">",
    ">=",
    "||",
    "&&",
    "@",
    ".",
    ",",
    ";",
    ":",
    "(",
    ")",
    "{",
    "}",
  ],
  ...[
    "[",
    "]",
    "+",
    "-",
    "*",
    "/",
    "%",
    "!",
    "=",
    "?principal",
    "?resource",
    '"a"',
    '"*"',
    '"\\*"',
  ],
  ...['""', "0", "9223372036854775808", "principal", "action", "resource", "context", "true", "if"],
  ...[
    "then",
    "else",
    "in",
    "is",
    "like",
    "has",
    "__cedar",
    "when",
    "unless",
    "permit",
    "forbid",
    "ip",
  ],
  ...[
    "a",
    "User",
    'User::"alice"',
    'Action::"view"',
    ".a",
    ".contains(1)",
    ".isEmpty()",
    "()",
    "[]",
  ],
  ...["{}", '["a"]', "// c\n", "// c", '@id("a")', "-1"],
];
const ASCII = Array.from({ length: 128 }, (_, code) => String.fromCharCode(code));

/** Without, doubled, exchanged with the next; and with each token before it or instead of it. */
function* tokenChanges(text) {
  const tokens = tokensOf(text).flatMap((token) => (/^\s+$/.test(token) ? [] : [token]));
  const join = (list) => list.join(" ");
  for (let at = 0; at <= tokens.length; at++) {
    const [before, after] = [tokens.slice(0, at), tokens.slice(at + 1)];
    for (const token of TOKENS) {
      yield join([...before, token, ...tokens.slice(at)]);
      if (at < tokens.length) {
        yield join([...before, token, ...after]);
      }
    }
    if (at < tokens.length) {
      yield join([...before, ...after]);
      yield join([...before, tokens[at], tokens[at], ...after]);
      yield join([...before, ...after.slice(0, 1), tokens[at], ...after.slice(1)]);
    }
  }
}

/** Without a character, and with each other one before it or instead of it. */
function* characterChanges(text) {
  const characters = Array.from(text);
  for (let at = 0; at <= characters.length; at++) {
    const before = characters.slice(0, at).join("");
    const [here, after] = [characters.slice(at).join(""), characters.slice(at + 1).join("")];
    for (const character of [...ASCII, ...CHARACTERS]) {
      yield before + character + here;
      yield before + character + after;
    }
    yield before + after;
  }
}

/** One text with every kind of token, for characters. */
const EVERYTHING = [
  '@id("a")permit(principal is A::B in (C::"x\\u{1F6_00}\\x7f"),action in[Action::"v",],resource);',
  'permit(principal,action,resource)when{if!(1<=-2)&&"a*"like"*\\*"then[1,{a:2}.a]!=[]else context.y};',
  'forbid(principal==A::"b",action,resource==R::"r")unless{context has a.b||principal["k"].isEmpty()};',
  'permit(principal,action,resource)when{ip("1.2.3.4/8").isInRange(ip("::1"))==true//c\n};',
];

/** All of them: about two million texts. */
export function* exhaustive() {
  for (const text of EVERYTHING) {
    yield* characterChanges(text);
  }
  for (const text of HANDWRITTEN) {
    yield* tokenChanges(text);
  }
}
