// SPDX-License-Identifier: Apache-2.0
// Texts of entities and contexts, most of them at some edge of what is JSON or a Cedar value.

import { EXTENSION_TEXTS } from "./literals.mjs";
import { ATTRIBUTES, TYPES } from "./worlds.mjs";

const NUMBERS = [
  "0",
  "-0",
  "1",
  "-1",
  "9223372036854775807",
  "9223372036854775808",
  "-9223372036854775808",
  "-9223372036854775809",
  "18446744073709551615",
  "18446744073709551616",
  "1.0",
  "1e2",
  "1E2",
  "1e-2",
  "0.0",
  "-0.0",
  "01",
  "1.",
  ".5",
  "+1",
  "1e",
  "1e308",
  "0x1",
  "NaN",
  "Infinity",
  "-",
  "1_0",
];
const STRINGS = [
  '""',
  '"a"',
  '"alice"',
  '"x y"',
  '"é"',
  '"\\u00e9"',
  '"\\u0000"',
  '"\\ud83d\\ude00"',
  '"\\ud83d"',
  '"\\ude00"',
  '"\\ude00\\ud83d"',
  '"\\n"',
  '"\\/"',
  '"\\b\\f\\t\\r"',
  '"\\x41"',
  '"\\u{41}"',
  '"\\u004"',
  '"\n"',
  '"\t"',
  '"\u007f"',
  '"\u2028"',
  '"😀"',
  "'a'",
  "a",
  '"',
  '"\\"',
  '"\\\\"',
  '"__entity"',
  '"\\u005f_entity"',
  '"User::\\"alice\\""',
];
const KEYS = [
  "__entity",
  "__extn",
  "__expr",
  "type",
  "id",
  "fn",
  "arg",
  "args",
  "uid",
  "attrs",
  "parents",
  "tags",
  "a",
  "",
  "\\u0061",
  "x y",
  "é",
  "__cedar",
  "if",
  "principal",
  "\\u0000",
  "__entit\\u0079",
];
const JSON_TYPES = [
  ...TYPES,
  "",
  " User",
  "User ",
  "User::",
  "::User",
  "A ::B",
  "A:B",
  "A::B::",
  "if",
  "A::if",
  "__cedar",
  "A::__cedar::B",
  "é",
  "User\\u0000",
  "1A",
  "A\\n",
  "Us\\u0065r",
  "Action",
  "A::Action",
  "in::A",
  "A//B",
  "A.B",
  "true",
];
const FUNCTIONS = [
  "ip",
  "decimal",
  "datetime",
  "duration",
  "offset",
  "toDate",
  "lessThan",
  "isIpv4",
  "isInRange",
  "toDays",
  "durationSince",
  "foo",
  "",
  "contains",
  "IP",
  "A::ip",
  "toTime",
  "toMilliseconds",
  "error",
];

export class Json {
  constructor(random) {
    this.random = random;
  }

  members(count, make) {
    return `{${this.random.many(count, make).join(",")}}`;
  }

  /** Members without their names: the reference takes most of its forms so, too. */
  tuple(parts) {
    return `[${parts.map((part) => part.slice(part.indexOf(":") + 1)).join(",")}]`;
  }

  key() {
    const { random } = this;
    return random.oneIn(3)
      ? random.pick(KEYS)
      : random.pick(ATTRIBUTES[random.pick(Object.keys(ATTRIBUTES))]);
  }

  scalar() {
    const { random } = this;
    switch (random.below(5)) {
      case 0:
        return random.pick(["true", "false", "null", "nul", "True", ""]);
      case 1:
        return random.pick(NUMBERS);
      case 2:
        return random.pick(STRINGS);
      case 3:
        return `${random.below(100)}`;
      default:
        return `"${random.pick(["a", "b", "alice", "x"])}"`;
    }
  }

  /** `{"type":..,"id":..}`, sometimes not quite. */
  typeAndId() {
    const { random } = this;
    const type = `"type":"${random.oneIn(3) ? random.pick(JSON_TYPES) : "User"}"`;
    const id = `"id":"${random.pick(["alice", "bob", "", "é", "\\u0000", "carol", "1", "x"])}"`;
    const parts = [type, id];
    if (random.oneIn(12)) {
      parts.push(`"${random.pick(KEYS)}":${this.scalar()}`);
    }
    if (random.oneIn(20)) {
      parts.splice(random.below(parts.length), 1);
    }
    if (random.oneIn(20)) {
      parts[0] = `"type":${this.scalar()}`;
    }
    if (random.oneIn(15)) {
      return this.tuple(parts);
    }
    return `{${random.oneIn(3) ? parts.reverse().join(",") : parts.join(",")}}`;
  }

  /** For a request: the type may be wrong, and the id anything. */
  requestUid() {
    const { random } = this;
    const [type, id] = [random.pick(JSON_TYPES), random.pick(STRINGS.slice(0, 10))];
    // The driver's envelope cannot carry what is no Unicode, or a NUL in a type.
    return {
      type: JSON.parse(`"${type}"`).replaceAll("\0", ""),
      id: JSON.parse(id).toWellFormed(),
    };
  }

  uid() {
    const { random } = this;
    const text = this.typeAndId();
    switch (random.below(12)) {
      case 0:
      case 1:
        return `{"__entity":${text}}`;
      case 2:
        return random.pick([
          '"User::\\"alice\\""',
          "{}",
          "[]",
          "null",
          `{"__entity":${text},"a":1}`,
          `{"__expr":"User::\\"a\\""}`,
          `{"__extn":${text}}`,
        ]);
      default:
        return text;
    }
  }

  extension(depth) {
    const { random } = this;
    const kind = random.pick(Object.keys(EXTENSION_TEXTS));
    const text = JSON.stringify(random.pick(EXTENSION_TEXTS[kind]).toWellFormed());
    const name = random.oneIn(4) ? random.pick(FUNCTIONS) : kind;
    const call = { datetime: "2024-01-01", duration: "1d" };
    const parts = random.pick([
      () => [`"fn":"${name}"`, `"arg":${text}`],
      () => [`"fn":"${name}"`, `"arg":${text}`],
      () => [`"fn":"${name}"`, `"arg":${text}`],
      () => [
        `"fn":"${name}"`,
        `"args":[${random.many(random.below(4), () => this.value(depth - 1)).join(",")}]`,
      ],
      () => [
        '"fn":"offset"',
        `"args":[${["datetime", "duration"].map((fn) => `{"__extn":{"fn":"${fn}","arg":"${call[fn]}"}}`).join(",")}]`,
      ],
      () => [`"fn":"${name}"`, `"arg":${this.value(depth - 1)}`],
      () => [`"fn":"${name}"`, `"arg":${text}`, `"args":[${text}]`],
      () => [`"fn":${this.scalar()}`, `"arg":${text}`],
      () => [`"arg":${text}`],
      () => [`"fn":"${name}"`, `"arg":${text}`, `"${random.pick(KEYS)}":${this.scalar()}`],
    ])();
    const inner = random.oneIn(15)
      ? this.tuple(parts)
      : `{${random.oneIn(5) ? parts.reverse().join(",") : parts.join(",")}}`;
    return random.oneIn(12) ? inner : `{"__extn":${inner}${random.oneIn(20) ? ',"a":1' : ""}}`;
  }

  value(depth) {
    const { random } = this;
    if (depth <= 0) {
      return this.scalar();
    }
    switch (random.below(10)) {
      case 0:
      case 1:
        return `[${random.many(random.below(4), () => this.value(depth - 1)).join(",")}]`;
      case 2:
        return this.record(depth);
      case 3:
        return `{"__entity":${this.typeAndId()}}`;
      case 4:
      case 5:
        return this.extension(depth);
      case 6:
        return random.pick([
          `{"__entity":${this.value(depth - 1)}}`,
          `{"__extn":${this.value(depth - 1)}}`,
          '{"__expr":"1"}',
          '{"__expr":1}',
          '{"__expr":"1","a":1}',
          `{"__cedar":${this.scalar()}}`,
        ]);
      default:
        return this.good();
    }
  }

  /** Something that is surely a value. */
  good() {
    const { random } = this;
    return random.pick([
      "1",
      "true",
      '"a"',
      "[]",
      "{}",
      "[1,2]",
      '{"a":1}',
      '{"__entity":{"type":"User","id":"bob"}}',
      '{"__extn":{"fn":"ip","arg":"::1"}}',
    ]);
  }

  record(depth) {
    const wild = this.random.oneIn(4);
    return this.members(
      this.random.below(4),
      () => `"${this.key()}":${wild ? this.value(depth - 1) : this.good()}`,
    );
  }

  context() {
    const { random } = this;
    return random.oneIn(8)
      ? this.value(2)
      : this.members(
          random.below(4),
          () => `"${this.key()}":${random.oneIn(3) ? this.value(3) : this.good()}`,
        );
  }

  entity() {
    const { random } = this;
    const parts = [
      `"uid":${this.uid()}`,
      `"attrs":${random.oneIn(25) ? this.value(1) : this.record(random.below(4))}`,
      `"parents":[${random.many(random.below(3), () => this.uid()).join(",")}]`,
    ];
    if (random.oneIn(3)) {
      parts.push(`"tags":${random.oneIn(25) ? this.value(1) : this.record(random.below(3))}`);
    }
    if (random.oneIn(12)) {
      parts.push(`"${random.pick(KEYS)}":${this.value(1)}`);
    }
    if (random.oneIn(25)) {
      parts.splice(random.below(parts.length), 1);
    }
    if (random.oneIn(4)) {
      parts.reverse();
    }
    if (random.oneIn(20)) {
      return this.tuple(parts);
    }
    return `{${parts.join(random.oneIn(10) ? " ,\n" : ",")}}`;
  }

  entities() {
    const { random } = this;
    const blank = random.oneIn(10)
      ? random.pick([" ", "\n", "\u00a0", "\ufeff", "//c\n", ","])
      : "";
    return `${blank}[${random.many(random.below(5), () => this.entity()).join(",")}]${blank}`;
  }
}
