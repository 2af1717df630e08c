// SPDX-License-Identifier: Apache-2.0
// Random JSON, and its canonical form by ECMAScript, on which RFC 8785 rests: one line each, with a tab
// between. `node canonical_reference.mjs COUNT SEED`
const [count, seed] = process.argv.slice(2).map(Number);

// A generator that gives the same numbers for the same seed (mulberry32).
let state = seed;
function random32() {
  state = (state + 0x6d2b79f5) | 0;
  let t = Math.imul(state ^ (state >>> 15), 1 | state);
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
  return (t ^ (t >>> 14)) >>> 0;
}
const below = (limit) => random32() % limit;
const pick = (list) => list[below(list.length)];

// ---- Values -----------------------------------------------------------------------------------------

const bits = new DataView(new ArrayBuffer(8));
function randomNumber() {
  if (below(4) === 0) return (below(2) ? -1 : 1) * below(1000) * 10 ** (below(60) - 30);
  if (below(4) === 0) return Number.MAX_SAFE_INTEGER - below(5) + below(10);
  bits.setUint32(0, random32());
  bits.setUint32(4, random32());
  const number = bits.getFloat64(0);
  return Number.isFinite(number) ? number : 0;
}

const RANGES = [[0x20, 0x7e], [0, 0x1f], [0x7f, 0xff], [0x2000, 0x2070], [0xe000, 0xffff], [0x10000, 0x10ffff]]; // prettier-ignore
function randomText() {
  const codes = Array.from({ length: below(8) }, () => {
    const [low, high] = pick(RANGES);
    return low + below(high - low + 1);
  });
  return String.fromCodePoint(...codes);
}

function randomValue(depth) {
  const kind = below(depth > 3 ? 4 : 6);
  if (kind === 0) return randomNumber();
  if (kind === 1) return randomText();
  if (kind === 2) return pick([true, false, null]);
  if (kind === 3) return randomNumber();
  const items = Array.from({ length: below(5) }, () => randomValue(depth + 1));
  if (kind === 4) return items;
  return new Map(items.map((item) => [randomText(), item]));
}

// ---- Two forms of them ------------------------------------------------------------------------------

function canonical(value) {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (!(value instanceof Map)) return JSON.stringify(value);
  const names = [...value.keys()].sort();
  return `{${names.map((name) => `${JSON.stringify(name)}:${canonical(value.get(name))}`).join(",")}}`;
}

const space = () => pick(["", "", " ", "  "]);

function anyText(text) {
  const units = text.match(/[^]/g) ?? [];
  const isPair = (i) => /[\ud800-\udfff]/.test(units[i]);
  const escaped = (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return `"${units.map((unit, i) => (!isPair(i) && below(5) === 0 ? escaped(unit) : JSON.stringify(unit).slice(1, -1))).join("")}"`;
}

// An integer in other digits than its canonical form is refused: one of both is a mistake.
function anyNumber(number) {
  const forms = [String(number), number.toExponential(), number.toPrecision(17)];
  return pick(
    forms.filter(
      (form) => Number(form) === number && (form === String(number) || !/^-?\d+$/.test(form)),
    ),
  );
}

function any(value) {
  if (typeof value === "number") return anyNumber(value);
  if (typeof value === "string") return anyText(value);
  if (Array.isArray(value))
    return `[${space()}${value.map(any).join(`${space()},${space()}`)}${space()}]`;
  if (!(value instanceof Map)) return JSON.stringify(value);
  const members = [...value].map(
    ([name, item]) => `${anyText(name)}${space()}:${space()}${any(item)}`,
  );
  return `{${space()}${members.join(`${space()},`)}${space()}}`;
}

let lines = [];
for (let i = 0; i < count; i++) {
  const value = randomValue(0);
  lines.push(`${any(value)}\t${canonical(value)}\n`);
  if (lines.length === 1000 || i === count - 1) {
    process.stdout.write(lines.join(""));
    lines = [];
  }
}
