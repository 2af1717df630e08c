// SPDX-License-Identifier: Apache-2.0
// Policies from the grammar: mostly well typed, so that evaluation gets far, with some noise.

import {
  EXTENSION_TEXTS,
  GOOD_INTEGERS,
  GOOD_STRINGS,
  INTEGERS,
  STRINGS,
  WORDS,
} from "./literals.mjs";
import { ACTIONS, ATTRIBUTES, TAGS, TYPES, UIDS } from "./worlds.mjs";

const KINDS = Object.keys(ATTRIBUTES);
const VARIABLES = ["principal", "resource", "context", "action"];
const ALL_ATTRIBUTES = Object.values(ATTRIBUTES).flat();
const ORDERS = ["<", "<=", ">", ">="];
const PATTERNS = [
  "a*",
  "*",
  "",
  "*b*",
  "a\\*b*",
  "*a*a*",
  "al?ce",
  "*é*",
  "p\\*1",
  "p*1",
  "**",
  "*\\*",
  "a*b\\\\c",
];
const METHODS = {
  contains: 1,
  containsAll: 1,
  containsAny: 1,
  isEmpty: 0,
  getTag: 1,
  hasTag: 1,
  lessThan: 1,
  lessThanOrEqual: 1,
  greaterThan: 1,
  greaterThanOrEqual: 1,
  isIpv4: 0,
  isIpv6: 0,
  isLoopback: 0,
  isMulticast: 0,
  isInRange: 1,
  offset: 1,
  durationSince: 1,
  toDate: 0,
  toTime: 0,
  toMilliseconds: 0,
  toSeconds: 0,
  toMinutes: 0,
  toHours: 0,
  toDays: 0,
  ip: 0,
  decimal: 1,
  toString: 0,
  size: 0,
};
const METHOD_NAMES = Object.keys(METHODS).filter(
  (name) => !["ip", "decimal", "toString", "size"].includes(name),
);
const LANGUAGE_METHODS = /^(?:contains|isEmpty|getTag|hasTag)/;
const IDENTIFIER = /^[_a-zA-Z][_a-zA-Z0-9]*$/;
const RESERVED = /^(?:true|false|if|then|else|in|is|like|has|__cedar)$/;

export class Grammar {
  /** @param isClean whether the texts are such that the parser takes them */
  constructor(random, isClean) {
    this.random = random;
    this.isClean = isClean;
    this.noise = isClean ? 25 : 12; // one in so many expressions is of a wrong kind
    this.integers = isClean ? GOOD_INTEGERS : INTEGERS;
    this.strings = isClean ? GOOD_STRINGS : STRINGS;
    this.words = isClean
      ? WORDS.filter((word) => IDENTIFIER.test(word) && !RESERVED.test(word))
      : WORDS;
  }

  /** Whether to do something that the parser may refuse, in one of so many places. */
  slips(count) {
    return !this.isClean && this.random.oneIn(count);
  }

  /** Some of the choices are never taken. */
  pickFrom(good, bad) {
    return this.random.pick(this.isClean ? good : [...good, ...bad]);
  }

  string() {
    const { random } = this;
    const text = random.oneIn(3)
      ? random.pick(this.strings)
      : random.pick(["a", "alice", "", "x y", "é", "b"]);
    return `"${text}"`;
  }

  list(count, make, open, close) {
    const comma = count > 0 && this.random.oneIn(6) ? "," : "";
    return open + this.random.many(count, make).join(", ") + comma + close;
  }

  /** A literal of a kind. */
  literal(kind, depth) {
    const { random } = this;
    switch (kind) {
      case "bool":
        return random.pick(["true", "false"]);
      case "long":
        return random.oneIn(2) ? `${random.below(40)}` : random.pick(this.integers);
      case "string":
        return this.string();
      case "entity":
        return random.pick(UIDS);
      case "set":
        return this.list(random.below(4), () => this.any(depth - 1), "[", "]");
      case "record":
        return this.record(depth);
      default:
        return `${kind}("${random.pick(EXTENSION_TEXTS[kind])}")`;
    }
  }

  key() {
    const name = this.random.oneIn(8)
      ? this.random.pick(this.words)
      : this.random.pick(ALL_ATTRIBUTES);
    if (this.random.oneIn(4)) {
      return this.string();
    }
    return this.random.oneIn(3) || (this.isClean && RESERVED.test(name)) ? `"${name}"` : name;
  }

  record(depth) {
    const keys = this.random.many(this.random.below(4), () => this.key());
    const names = keys.map((key) => key.replaceAll('"', ""));
    const kept = keys.filter((_, i) => !this.isClean || names.indexOf(names[i]) === i);
    return this.list(kept.length, (i) => `${kept[i]}: ${this.any(depth - 1)}`, "{", "}");
  }

  /** An expression of any kind. */
  any(depth) {
    return this.of(this.random.pick(KINDS), depth);
  }

  /** Brackets around what might need some. */
  tight(kind, depth) {
    const text = this.of(kind, depth);
    return /^[\w.:"[\]]*$/.test(text) || this.slips(20) ? text : `(${text})`;
  }

  attribute(kind, depth) {
    const { random } = this;
    const name = random.oneIn(15) ? random.pick(ALL_ATTRIBUTES) : random.pick(ATTRIBUTES[kind]);
    const from =
      random.oneIn(5) && depth > 0 ? this.tight("entity", depth - 1) : random.pick(VARIABLES);
    const path = random.oneIn(10)
      ? `.${random.pick(["manager", "self", "deep", "rec", "ghost"])}`
      : "";
    return random.oneIn(8) || !IDENTIFIER.test(name) || (this.isClean && RESERVED.test(name))
      ? `${from}${path}["${name}"]`
      : `${from}${path}.${name}`;
  }

  /** A method call with any receiver and any number of arguments. */
  method(depth) {
    const { random } = this;
    const name = this.pickFrom(METHOD_NAMES, ["ip", "decimal", "toString", "size"]);
    const isCounted = this.isClean && LANGUAGE_METHODS.test(name);
    const count = random.oneIn(12) && !isCounted ? random.below(4) : METHODS[name];
    return `${this.tight(random.pick(KINDS), depth - 1)}.${name}${this.list(count, () => this.any(depth - 1), "(", ")")}`;
  }

  hasOperand() {
    const { random } = this;
    const names = [
      "a",
      "b",
      "c",
      "rec",
      "deep",
      "manager",
      "ghost",
      "name",
      "one",
      ...(this.isClean ? [] : ["in"]),
      "e",
      "self",
    ];
    if (random.oneIn(4)) {
      return this.string();
    }
    return random
      .many(1 + (random.oneIn(2) ? random.below(5) : 0), () => random.pick(names))
      .join(".");
  }

  bool(depth) {
    const { random } = this;
    const d = depth - 1;
    const forms = [
      () => `${this.tight("bool", d)} && ${this.tight("bool", d)}`,
      () => `${this.tight("bool", d)} || ${this.of("bool", d)}`,
      () =>
        `${this.pickFrom(["!", "!!", "!!!", "!!!!", "! !"], ["!!!!!"])}${this.tight("bool", d)}`,
      () => this.equality(d),
      () => this.order(d),
      () =>
        `${this.tight("entity", d)} in ${random.oneIn(2) ? this.tight("entity", d) : this.entitySet(d)}`,
      () =>
        `${this.tight("entity", d)} is ${random.pick(TYPES)}${random.oneIn(2) ? ` in ${this.tight("entity", d)}` : ""}`,
      () =>
        `${random.oneIn(2) ? random.pick(VARIABLES) : this.tight(random.pick(["entity", "record"]), d)} has ${this.hasOperand()}`,
      () =>
        `${this.tight("string", d)} like "${random.oneIn(3) ? random.pick(this.strings) : random.pick(PATTERNS)}"`,
      () => `${this.tight("set", d)}.contains(${this.any(d)})`,
      () =>
        `${this.tight("set", d)}.${random.pick(["containsAll", "containsAny"])}(${this.of("set", d)})`,
      () => `${this.tight("set", d)}.isEmpty()`,
      () =>
        `${this.tight("entity", d)}.hasTag(${random.oneIn(2) ? `"${random.pick(TAGS)}"` : this.of("string", d)})`,
      () =>
        `${this.tight("decimal", d)}.${random.pick(["lessThan", "greaterThanOrEqual"])}(${this.of("decimal", d)})`,
      () =>
        `${this.tight("ip", d)}.${random.pick(["isIpv4", "isIpv6", "isLoopback", "isMulticast"])}()`,
      () => `${this.tight("ip", d)}.isInRange(${this.of("ip", d)})`,
      () => this.method(depth),
    ];
    return random.pick(forms)();
  }

  entitySet(depth) {
    return this.list(this.random.below(4), () => this.of("entity", depth - 1), "[", "]");
  }

  equality(depth) {
    const kind = this.random.pick(KINDS);
    const other = this.random.oneIn(6) ? this.random.pick(KINDS) : kind;
    return `${this.tight(kind, depth)} ${this.random.pick(["==", "!="])} ${this.tight(other, depth)}`;
  }

  order(depth) {
    const kind = this.random.pick(["long", "long", "datetime", "duration", "decimal", "string"]);
    return `${this.tight(kind, depth)} ${this.random.pick(ORDERS)} ${this.tight(kind, depth)}`;
  }

  long(depth) {
    const { random } = this;
    const d = depth - 1;
    return random.pick([
      () =>
        random
          .many(2 + random.below(3), () => this.tight("long", d))
          .join(random.pick([" + ", " - ", " * ", "-", "+", "*"])),
      () =>
        `${this.tight("long", d)} + ${this.tight("long", d)} * ${this.tight("long", d)} - ${this.tight("long", d)}`,
      () =>
        `${this.pickFrom(["-", "--", "---", "----", "- -"], ["-----", "-!", "!-"])}${this.tight("long", d)}`,
      () => `${this.pickFrom(["-", "--", "- "], ["-(", "-(-"])}${random.pick(this.integers)}`,
      () =>
        `${this.tight("duration", d)}.${random.pick(["toMilliseconds", "toSeconds", "toMinutes", "toHours", "toDays"])}()`,
      () => `${this.tight("entity", d)}.getTag("level")`,
    ])();
  }

  /** What is special about a kind besides literals, attributes and `if`. */
  special(kind, depth) {
    const { random } = this;
    switch (kind) {
      case "bool":
        return this.bool(depth);
      case "long":
        return this.long(depth);
      case "entity":
        return random.pick(VARIABLES);
      case "datetime":
        return random.oneIn(3)
          ? `${this.tight("datetime", depth - 1)}.toDate()`
          : `${this.tight("datetime", depth - 1)}.offset(${this.of("duration", depth - 1)})`;
      case "duration":
        return random.oneIn(2)
          ? `${this.tight("datetime", depth - 1)}.toTime()`
          : `${this.tight("datetime", depth - 1)}.durationSince(${this.of("datetime", depth - 1)})`;
      case "string":
        return `${this.tight("entity", depth - 1)}.getTag("${random.pick(TAGS)}")`;
      case "record":
        return random.oneIn(2) ? "context" : this.record(depth);
      default:
        return this.literal(kind, depth);
    }
  }

  /** An expression of a kind. */
  of(wanted, depth) {
    const { random } = this;
    const kind = random.oneIn(this.noise) ? random.pick(KINDS) : wanted;
    if (depth <= 0) {
      return random.oneIn(2) ? this.literal(kind, 0) : this.attribute(kind, 0);
    }
    const choice = random.below(16);
    if (choice < 3) {
      return this.literal(kind, depth);
    }
    if (choice < 6) {
      return this.attribute(kind, depth);
    }
    if (choice === 6) {
      return `if ${this.of("bool", depth - 1)} then ${this.of(kind, depth - 1)} else ${this.of(kind, depth - 1)}`;
    }
    if (choice === 7) {
      return `{"k": ${this.of(kind, depth - 1)}}${random.oneIn(2) ? ".k" : '["k"]'}`;
    }
    if (choice === 8) {
      return `(${this.of(kind, depth - 1)})`;
    }
    return this.special(kind, depth);
  }

  reference(slot) {
    const { random } = this;
    const text = slot !== null && !this.slips(20) ? slot : random.pick(UIDS);
    return random.oneIn(25) ? `(${text})` : text;
  }

  entityScope(variable, slot) {
    const { random } = this;
    const wants = slot !== null;
    switch (random.below(wants ? 3 : 6)) {
      case 0:
        return `${variable} == ${this.reference(slot)}`;
      case 1:
        return `${variable} in ${this.reference(slot)}`;
      case 2:
        return `${variable} is ${random.pick(TYPES)}${wants || random.oneIn(2) ? ` in ${this.reference(slot)}` : ""}`;
      default:
        return variable;
    }
  }

  actionScope() {
    const { random } = this;
    const action = () => (this.slips(30) ? random.pick(UIDS) : random.pick(ACTIONS));
    switch (random.below(6)) {
      case 0:
        return `action == ${action()}`;
      case 1:
        return `action in ${action()}`;
      case 2:
        return `action in ${this.list(random.below(4), action, "[", "]")}`;
      default:
        return "action";
    }
  }

  annotation() {
    const name = this.random.oneIn(2) ? "id" : this.random.pick(this.words);
    return this.random.oneIn(4) ? `@${name}` : `@${name}(${this.string()})`;
  }

  /** @param slots which of "?principal" and "?resource" the policy has */
  policy(slots = []) {
    const { random } = this;
    const count = random.oneIn(4) ? random.below(this.isClean ? 2 : 4) : 0;
    const annotations = random.many(count, () => this.annotation());
    const slot = (name) => (slots.includes(name) ? name : null);
    const scope = [
      this.entityScope("principal", slot("?principal")),
      this.actionScope(),
      this.entityScope("resource", slot("?resource")),
    ];
    const condition = () =>
      `${random.pick(["when", "when", "unless"])} { ${this.of("bool", 1 + random.below(4))} }`;
    const conditions = random.many(random.oneIn(5) ? random.below(4) : 1, condition);
    const end = random.oneIn(12) ? "," : "";
    return `${annotations.join(" ")}${count > 0 ? " " : ""}${random.oneIn(3) ? "forbid" : "permit"}(${scope.join(", ")}${end}) ${conditions.join(" ")};`;
  }

  /** Several policies in one text. */
  policies(most) {
    return this.random.many(1 + this.random.below(most), () => this.policy()).join("\n");
  }
}
