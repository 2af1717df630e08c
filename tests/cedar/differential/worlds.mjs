// SPDX-License-Identifier: Apache-2.0
// Entities and requests that policies are evaluated against: one of each thing that Cedar knows.

const uid = (type, id) => ({ type, id });
const entity = (type, id) => ({ __entity: { type, id } });
const extn = (fn, arg) => ({ __extn: { fn, arg } });

/** Names that the generator uses; most of them mean something in the world below. */
export const TYPES = [
  "User",
  "Group",
  "Photo",
  "Album",
  "Action",
  "NS::User",
  "NS::Action",
  "A::B::C",
  "T",
  "ip",
];
export const UIDS = [
  'User::"alice"',
  'User::"bob"',
  'User::"carol"',
  'User::"nobody"',
  'Group::"g0"',
  'Group::"g1"',
  'Group::"g2"',
  'Photo::"p1"',
  'Photo::"p2"',
  'Album::"a1"',
  'Action::"view"',
  'Action::"edit"',
  'Action::"read"',
  'Action::"all"',
  'NS::Action::"go"',
  'NS::User::"x"',
  'A::B::C::"\\n"',
  'T::""',
  'User::"a\\0b"',
  'User::"\\u{e9}"',
  'User::"é"',
  'ip::"1.2.3.4"',
];
export const ACTIONS = [
  'Action::"view"',
  'Action::"edit"',
  'Action::"read"',
  'Action::"all"',
  'Action::"none"',
  'NS::Action::"go"',
  'A::B::Action::"x"',
];
export const ATTRIBUTES = {
  bool: ["yes", "no", "then"],
  long: ["one", "age", "big", "small", "zero", "minus"],
  string: ["name", "empty", "star", "uni", "nul", "addr", "when", "quote"],
  entity: ["manager", "ghost", "self", "act"],
  set: ["nums", "strs", "mixed", "friends", "none", "recs", "sets", "ips"],
  record: ["rec", "norec", "deep"],
  decimal: ["dec", "decmin"],
  ip: ["ip", "net", "ip6", "loop", "multi"],
  datetime: ["dt", "dtmin", "epoch"],
  duration: ["dur", "durmin"],
};
export const TAGS = ["role", "level", "set", "", "x y", "é"];

const values = {
  yes: true,
  no: false,
  then: true,
  one: 1,
  age: 30,
  big: "@max",
  small: "@min",
  zero: 0,
  minus: -1,
  name: "alice",
  empty: "",
  star: "a*b\\c",
  uni: "é漢😀é",
  nul: "a\u0000b",
  addr: "10.1.2.3/8",
  when: "2024-02-29T23:59:59.999-0130",
  quote: "\"'\n\r\t",
  manager: entity("User", "bob"),
  ghost: entity("User", "nobody"),
  self: entity("User", "alice"),
  act: entity("Action", "view"),
  nums: [1, 2, 3, 3],
  strs: ["a", "b", ""],
  mixed: [1, "a", entity("User", "bob"), true, [1], {}],
  friends: [entity("User", "bob"), entity("User", "carol"), entity("Group", "g1")],
  none: [],
  recs: [{ a: 1 }, { a: 2 }, {}],
  sets: [[], [1], [[1]]],
  ips: [extn("ip", "10.0.0.1"), extn("ip", "10.0.0.0/8")],
  rec: { a: { b: { c: 1 } }, "x y": "z", in: 1, e: entity("User", "alice"), "": 0, __cedar: 1 },
  norec: {},
  deep: { deep: { deep: { deep: { rec: { a: 1 }, manager: entity("User", "bob") } } } },
  dec: extn("decimal", "1.5"),
  decmin: extn("decimal", "-922337203685477.5808"),
  ip: extn("ip", "10.1.2.3"),
  net: extn("ip", "10.0.0.0/8"),
  ip6: extn("ip", "fe80::1/64"),
  loop: extn("ip", "127.0.0.1"),
  multi: extn("ip", "ff02::1"),
  dt: extn("datetime", "2024-02-29T12:34:56.789Z"),
  epoch: extn("datetime", "1970-01-01"),
  dtmin: extn("datetime", "0000-01-01"),
  dur: extn("duration", "1d2h3m4s5ms"),
  durmin: extn("duration", "-9223372036854775808ms"),
};

/** JSON text; two words stand for numbers that JavaScript cannot hold. */
function json(value) {
  return JSON.stringify(value)
    .replaceAll('"@max"', "9223372036854775807")
    .replaceAll('"@min"', "-9223372036854775808");
}

const tags = {
  role: "admin",
  level: 3,
  set: ["a"],
  "": "empty",
  "x y": { a: 1 },
  é: extn("ip", "::1"),
};

const entities = [
  { uid: uid("User", "alice"), attrs: values, parents: [uid("Group", "g1")], tags },
  {
    uid: uid("User", "bob"),
    attrs: { ...values, name: "bob", manager: entity("User", "alice") },
    parents: [uid("Group", "g2"), uid("Group", "lost")],
    tags: { role: "user" },
  },
  { uid: uid("User", "carol"), attrs: { age: "young", name: 7, manager: "none" }, parents: [] },
  { uid: uid("User", "a\u0000b"), attrs: {}, parents: [uid("Group", "g2")] },
  { uid: uid("User", "é"), attrs: { one: 1 }, parents: [uid("User", "alice")] },
  { uid: uid("Group", "g0"), attrs: {}, parents: [] },
  { uid: uid("Group", "g1"), attrs: { one: 1 }, parents: [uid("Group", "g0")] },
  { uid: uid("Group", "g2"), attrs: {}, parents: [uid("Group", "g1")] },
  { uid: uid("NS::User", "x"), attrs: values, parents: [uid("Group", "g0")] },
  {
    uid: uid("Photo", "p1"),
    attrs: { ...values, name: "p*1" },
    parents: [uid("Album", "a1")],
    tags,
  },
  { uid: uid("Album", "a1"), attrs: { owner: entity("User", "alice") }, parents: [] },
  { uid: uid("Action", "view"), attrs: { one: 1 }, parents: [uid("Action", "read")] },
  { uid: uid("Action", "edit"), attrs: {}, parents: [uid("Action", "all")] },
  { uid: uid("Action", "read"), attrs: {}, parents: [uid("Action", "all")] },
  { uid: uid("NS::Action", "go"), attrs: {}, parents: [uid("Action", "all")] },
];

const request = (principal, action, resource, context) => ({
  principal: uid(...principal),
  action: uid(...action),
  resource: uid(...resource),
  context: json(context),
});

/** Cases start as a copy of this. */
export const WORLD = {
  entities: json(entities),
  requests: [
    request(["User", "alice"], ["Action", "view"], ["Photo", "p1"], values),
    request(["User", "bob"], ["NS::Action", "go"], ["User", "alice"], {
      ...values,
      one: "x",
      rec: 1,
    }),
    request(["User", "nobody"], ["Action", "edit"], ["Photo", "p2"], {}),
    request(["NS::User", "x"], ["Action", "none"], ["Album", "a1"], {
      principal: true,
      yes: 1,
      no: {},
    }),
  ],
};
