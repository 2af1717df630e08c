// SPDX-License-Identifier: Apache-2.0
// Policies that each put one small question: many of them make a set, and its answer tells them
// apart, because a permit that holds is a reason and one that fails is an error.

import { EXTENSION_TEXTS, INTEGERS } from "./literals.mjs";
import { mutateCharacters } from "./mutate.mjs";

const CALLS = {
  ip: [".isIpv4()", ".isIpv6()", ".isLoopback()", ".isMulticast()"],
  decimal: ['.lessThan(decimal("1.0"))', '.greaterThanOrEqual(decimal("-922337203685477.5808"))'],
  datetime: [
    ' < datetime("2024-01-01")',
    '.toTime() < duration("12h")',
    '.toDate() == datetime("2024-02-29")',
    '.offset(duration("9223372036854775807ms")) > datetime("1970-01-01")',
  ],
  duration: [".toMilliseconds() > 0", ".toDays() == 1", ' < duration("1d")', ".toSeconds() < -1"],
};
const ORDERS = ["==", "!=", "<", "<=", ">", ">="];

export class Probes {
  constructor(random) {
    this.random = random;
  }

  /** A string over a few characters; `extra` ones as well. */
  word(most, extra) {
    const letters = ["a", "a", "b", "é", "😀", "*", "\\\\", ...extra];
    return this.random.many(this.random.below(most), () => this.random.pick(letters)).join("");
  }

  like() {
    const pattern = this.word(7, ["*", "*", "\\*", "\\*", "\\x2a"]);
    return `"${this.word(9, [])}" like "${pattern}"`;
  }

  extensionText(kind) {
    const text = this.random.pick(EXTENSION_TEXTS[kind]);
    const changed = this.random.oneIn(3) ? text : mutateCharacters(this.random, text);
    return changed.toWellFormed().replace(/["\\\r]/g, "");
  }

  extension() {
    const kind = this.random.pick(Object.keys(CALLS));
    return `${kind}("${this.extensionText(kind)}")${this.random.pick(CALLS[kind])}`;
  }

  address() {
    const { random } = this;
    if (random.oneIn(2)) {
      const octets = random.many(4, () => random.pick([0, 1, 10, 127, 128, 224, 255]));
      return `ip("${octets.join(".")}/${random.below(33)}")`;
    }
    const groups = random.many(8, () => random.pick(["0", "1", "ff", "fe80", "ffff", "8000"]));
    return `ip("${groups.join(":")}/${random.below(129)}")`;
  }

  range() {
    const { random } = this;
    return random.oneIn(6)
      ? `${this.address()} == ${this.address()}`
      : `${this.address()}.isInRange(${this.address()})`;
  }

  number(depth) {
    const { random } = this;
    if (depth === 0 || random.oneIn(5)) {
      return random.oneIn(2) ? random.pick(INTEGERS.slice(0, 6)) : `${random.below(5)}`;
    }
    const operator = random.pick(["+", "-", "*", "-"]);
    const [left, right] = [this.number(depth - 1), this.number(depth - 1)];
    return random.oneIn(4) ? `-(${left})` : `(${left} ${operator} ${right})`;
  }

  arithmetic() {
    return `${this.number(3)} ${this.random.pick(ORDERS)} ${this.number(3)}`;
  }

  member(depth) {
    const { random } = this;
    const forms = [
      () => `${random.below(30)}`,
      () => `"${random.pick(["a", "b", "aa", ""])}"`,
      () => random.pick(["true", "false", 'User::"alice"', 'User::"bob"', 'Group::"g1"']),
      () =>
        random.pick([
          'decimal("1.0")',
          'decimal("1.00")',
          'ip("::1")',
          'duration("60s")',
          'duration("1m")',
        ]),
      () => (depth > 0 ? this.set(depth - 1, 4) : "[]"),
      () => (depth > 0 ? this.record(depth - 1, 3) : "{}"),
      () =>
        random.pick(["context.one", "principal.name", "context.nums", "context.rec", "principal"]),
    ];
    return random.pick(forms.slice(0, random.oneIn(3) ? forms.length : 2))();
  }

  set(depth, most) {
    return `[${this.random.many(this.random.below(most), () => this.member(depth)).join(", ")}]`;
  }

  /** Keys in any order; one that is there twice makes the text wrong. */
  record(depth, most) {
    const keys = new Set(
      this.random.many(this.random.below(most), () => `k${this.random.below(60)}`),
    );
    return `{${[...keys].map((key) => `${key}: ${this.member(depth)}`).join(", ")}}`;
  }

  /** Sets and records large enough for what looks things up by halves. */
  collection() {
    const { random } = this;
    const most = random.pick([3, 6, 12, 40]);
    return random.pick([
      () => `${this.set(2, most)}.contains(${this.member(2)})`,
      () => `${this.set(1, most)}.containsAll(${this.set(1, 4)})`,
      () => `${this.set(1, most)}.containsAny(${this.set(1, 6)})`,
      () => `${this.set(2, 5)} == ${this.set(2, 5)}`,
      () => `${this.record(1, most)} has k${random.below(60)}`,
      () => `${this.record(1, most)}.k${random.below(60)} == ${this.member(1)}`,
      () => `${this.record(1, 4)} == ${this.record(1, 4)}`,
      () => `[${this.record(1, 3)}, ${this.record(1, 3)}].contains(${this.record(1, 3)})`,
      () => this.shuffled(),
    ])();
  }

  /** The same set or record twice, written in another order. */
  shuffled() {
    const { random } = this;
    const members = random.many(1 + random.below(25), () => this.member(1));
    const others = members
      .map((one) => [random.next(), one])
      .sort((a, b) => a[0] - b[0])
      .map(([, one]) => one);
    if (random.oneIn(2)) {
      return `[${members.join(", ")}] == [${[...others, random.pick(others)].join(", ")}]`;
    }
    const fields = members.map((one, i) => `k${i}: ${one}`);
    const order = fields
      .map((one) => [random.next(), one])
      .sort((a, b) => a[0] - b[0])
      .map(([, one]) => one);
    return `{${fields.join(", ")}} == {${order.join(", ")}}`;
  }

  policies(count) {
    const kinds = [
      "like",
      "like",
      "extension",
      "extension",
      "range",
      "arithmetic",
      "collection",
      "collection",
    ];
    const policy = () =>
      `permit(principal, action, resource) when { ${this[this.random.pick(kinds)]()} };`;
    return this.random.many(count, policy).join("\n");
  }
}

const SHAPES = [
  ["(", "true", ")"],
  ["[", "1", "]"],
  ["{a: ", "1", "}"],
  ["!(", "true", ")"],
  ["-(", "1", ")"],
  ["if true then true else ", "true", ""],
  ["if ", "true", " then true else false"],
  ["[].contains(", "1", ")"],
  ["ip(", '"::1"', ")"],
  ["", "context", ".rec"],
  ["", "context", '["rec"]'],
  ["", "principal", ".self"],
  ["", "context", ".contains(1)"],
  ["true && ", "true", ""],
  ["false || ", "true", ""],
  ["1 + ", "1", ""],
  ["1 * ", "1", " == 1"],
  ["", "context has rec", ".rec"],
  ["", "1", " == 1"],
  ["(1 + ", "1", ")"],
  ["!!!!(", "true", ")"],
  ["principal is User in (", "principal", ")"],
  ["{a: [", "1", "]}"],
  ["(", "context", ".rec)"],
];

/** A condition with one thing nested; some are deeper than the reference has stack for. */
export function deep(random) {
  const [open, inner, close] = random.pick(SHAPES);
  const count = random.below(random.pick([8, 8, 30, 60, 90, 250]));
  const end = random.oneIn(3) ? " == 1" : "";
  return `permit(principal, action, resource) when { ${open.repeat(count)}${inner}${close.repeat(count)}${end} };`;
}
