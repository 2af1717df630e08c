// SPDX-License-Identifier: Apache-2.0
// Cases: what the reference engine and ours are both asked.

import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";

import { Grammar } from "./grammar.mjs";
import { HANDWRITTEN } from "./handwritten.mjs";
import { Json } from "./json.mjs";
import { mutate } from "./mutate.mjs";
import { deep, Probes } from "./probes.mjs";
import { WORLD } from "./worlds.mjs";

const CORPUS = new URL("../../../../shared/data/cedar/corpus.jsonl.gz", import.meta.url);
/** Entities of corpus cases that are longer than this would take most of the time. */
const ENTITIES_LENGTH = 6000;
const REQUESTS = 1;

function corpusCase(line) {
  const { policies, entities, requests } = JSON.parse(line);
  return {
    policies,
    entities: JSON.stringify(entities),
    requests: requests.slice(0, REQUESTS).map(({ principal, action, resource, context }) => ({
      principal,
      action,
      resource,
      context: JSON.stringify(context),
    })),
  };
}

/** Cases of the official corpus; none when it is not there. */
function loadCorpus() {
  try {
    const lines = gunzipSync(readFileSync(CORPUS)).toString().split("\n").filter(Boolean);
    return lines.map(corpusCase).filter((test) => test.entities.length < ENTITIES_LENGTH);
  } catch {
    return [];
  }
}

const LINK_IDS = ["link0", "link1", "policy0", "policy1", "t0", "t1", "", "é"];
const LINK_UIDS = [
  { type: "User", id: "alice" },
  { type: "Photo", id: "p1" },
  { type: "Group", id: "g0" },
  { type: "Album", id: "a1" },
  { type: "User", id: "bob" },
  { type: "NS::User", id: "x" },
];

export class Cases {
  constructor(random) {
    this.random = random;
    this.grammar = new Grammar(random, false);
    this.clean = new Grammar(random, true);
    this.json = new Json(random);
    this.probes = new Probes(random);
    this.corpus = loadCorpus();
  }

  /** A text to mutate, or to take parts from. */
  text() {
    const { random } = this;
    const kind = random.below(this.corpus.length > 0 ? 3 : 2);
    return kind === 0
      ? random.pick(HANDWRITTEN)
      : kind === 1
        ? this.clean.policies(2)
        : random.pick(this.corpus).policies;
  }

  /** A request or two of the world. */
  requests() {
    const { random } = this;
    return random.oneIn(3)
      ? [WORLD.requests[0], random.pick(WORLD.requests)]
      : [random.pick(WORLD.requests)];
  }

  /** A case about the text alone. What is taken gets evaluated later, together with others. */
  textOnly(policies) {
    return { policies, requests: [] };
  }

  /** Policies that both engines take, as one set. Permits, because a forbid hides them. */
  together(texts) {
    return this.inWorld(
      texts.map((text) => text.replace(/\bforbid(?=\s*\()/g, "permit")).join("\n"),
    );
  }

  inWorld(policies) {
    return { policies, entities: WORLD.entities, requests: this.requests() };
  }

  mutated(text) {
    return mutate(this.random, text, this.text());
  }

  fromCorpus() {
    const test = this.random.pick(this.corpus);
    return { ...test, policies: this.mutated(test.policies) };
  }

  /** Slots are mostly filled as they should be. */
  link(templates, i) {
    const { random } = this;
    const templateId = random.oneIn(20)
      ? random.pick(LINK_IDS)
      : random.pick(Object.keys(templates));
    const text = templates[templateId] ?? "";
    const values = {};
    for (const slot of ["?principal", "?resource"]) {
      if (text.includes(slot) !== random.oneIn(25)) {
        values[slot] = random.pick(LINK_UIDS);
      }
    }
    return { templateId, newId: random.oneIn(6) ? random.pick(LINK_IDS) : `link${i}`, values };
  }

  withTemplates() {
    const { random, clean: grammar } = this;
    const templates = {};
    for (let i = 0; i <= random.below(2); i++) {
      const slots = ["?principal", "?resource"].filter(() => !random.oneIn(2));
      const text = grammar.policy(slots.length === 0 ? ["?principal"] : slots);
      templates[`t${i}`] = random.oneIn(4) ? this.mutated(text) : text;
    }
    const links = random.many(random.below(4), (i) => this.link(templates, i));
    return { ...this.inWorld(random.oneIn(2) ? "" : grammar.policies(2)), templates, links };
  }

  /** Entities and a context that may be wrong, and a policy that looks at them. */
  withJson() {
    const { random, json } = this;
    const spoil = (text) =>
      random.oneIn(6) ? mutate(random, text, json.entities()) : text.toWellFormed();
    const request = { ...random.pick(WORLD.requests) };
    if (random.oneIn(4)) {
      request[random.pick(["principal", "action", "resource"])] = json.requestUid();
    }
    const what = random.below(3);
    if (what > 0) {
      request.context = spoil(json.context());
    }
    return {
      policies: this.clean.policies(3),
      entities: what === 1 ? "[]" : spoil(json.entities()),
      requests: [request],
    };
  }

  /** Any case, with the name of its kind. */
  next() {
    const { random } = this;
    const grammar = random.oneIn(4) ? this.grammar : this.clean;
    const choice = random.below(28);
    if (choice >= 27) {
      return ["deep", this.inWorld(deep(random))];
    }
    if (choice >= 24) {
      return ["probes", this.inWorld(this.probes.policies(20))];
    }
    if (choice < 6 && this.corpus.length > 0) {
      return ["corpus", this.fromCorpus()];
    }
    if (choice < 11) {
      return ["handwritten", this.textOnly(this.mutated(random.pick(HANDWRITTEN)))];
    }
    if (choice < 14) {
      return ["grammar", this.inWorld(grammar.policies(random.oneIn(4) ? 30 : 9).toWellFormed())];
    }
    if (choice < 20) {
      return ["mutated", this.textOnly(this.mutated(grammar.policy()))];
    }
    return choice < 22 ? ["templates", this.withTemplates()] : ["json", this.withJson()];
  }
}
