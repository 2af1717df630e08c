#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// Compares our Cedar engine with the reference engine on mutated policies, entities and contexts.
//
//   node differential.mjs --driver PROGRAM [--seconds N] [--seed S] [--count N] [--golden FILE]
//        [--only corpus|handwritten|grammar|mutated|templates|json|probes|deep]
//   node differential.mjs --driver PROGRAM --exhaustive [--seconds N]
//
// Exhaustive are all texts one token or character away from the handwritten ones, in their order.
// Needs `npm ci` in this folder; without the package it says so and exits with 77. Every case that
// the engines judge differently is made smaller and printed; the exit code is then 1. With --golden,
// cases that show something new are written to FILE together with the reference's answers.

import { parseArgs } from "node:util";

import { Cases } from "./cases.mjs";
import { Driver, outcomeOf } from "./driver.mjs";
import { exhaustive } from "./exhaustive.mjs";
import { Golden } from "./golden.mjs";
import { HANDWRITTEN } from "./handwritten.mjs";
import { minimise } from "./minimise.mjs";
import { Random } from "./random.mjs";
import { isInstalled, Reference } from "./reference.mjs";

const SKIPPED = 77;
const BATCH = 256;
/** Policies that are evaluated as one set. */
const TOGETHER = 12;
/** Differences that are printed; the rest is counted. */
const SHOWN = 25;
/** What our engine says when a text goes past a limit of its own, which the reference has not. */
const OWN_LIMIT = /nested more than|nesting|more than \d+ brackets|takes at most \d+ annotations/;

/** Why two outcomes differ; null when they agree. */
export function difference(ours, theirs) {
  if (theirs === null || OWN_LIMIT.test(ours.why ?? "")) {
    return null;
  }
  for (const part of ["parse", "entities"]) {
    if (ours[part] !== theirs[part]) {
      return `${part}: ${ours[part] ? "taken" : "refused"}, reference: ${theirs[part] ? "taken" : "refused"}`;
    }
  }
  const [a, b] = [JSON.stringify(ours.answers), JSON.stringify(theirs.answers)];
  return a === b ? null : `answers ${a}, reference: ${b}`;
}

class Comparison {
  constructor(driver, reference) {
    this.driver = driver;
    this.reference = reference;
    this.counts = {};
    this.found = 0;
    this.total = 0;
    this.taken = 0;
  }

  async compare(test) {
    const ours = outcomeOf(await this.driver.run(test));
    const theirs = this.reference.outcome(test);
    return { ours, theirs, why: difference(ours, theirs) };
  }

  async report(kind, test, result) {
    this.found++;
    if (this.found > SHOWN) {
      return;
    }
    const part = result.why.slice(0, 8);
    const small = await minimise(test, async (smaller) =>
      (await this.compare(smaller)).why?.startsWith(part),
    );
    const { ours, theirs, why } = await this.compare(small);
    console.log(`\n---- ${kind}: ${why ?? result.why}`);
    console.log(JSON.stringify(small));
    console.log(`ours: ${ours.why ?? "taken"}\nreference: ${theirs?.why ?? "taken"}`);
  }

  /** Ask both about a batch; the driver works while the reference does. @return texts to evaluate */
  async run(batch, golden) {
    const good = [];
    const answers = batch.map(([, test]) => this.driver.run(test));
    const theirs = batch.map(([, test]) => this.reference.outcome(test));
    for (let i = 0; i < batch.length; i++) {
      const [kind, test] = batch[i];
      const ours = outcomeOf(await answers[i]);
      const result = { ours, theirs: theirs[i], why: difference(ours, theirs[i]) };
      this.total++;
      this.taken += theirs[i]?.parse ? 1 : 0;
      this.counts[kind] = (this.counts[kind] ?? 0) + 1;
      if (result.why !== null) {
        await this.report(kind, test, result);
      } else if (theirs[i]?.parse && test.entities === undefined) {
        good.push(test.policies);
      }
      if (theirs[i] !== null && kind !== "corpus") {
        golden?.consider(test, ours, theirs[i], kind === "seed");
      }
    }
    return good;
  }

  summary(seconds) {
    const kinds = Object.entries(this.counts).map(([kind, count]) => `${kind} ${count}`);
    return (
      `${this.total} cases (${this.taken} parsed) in ${seconds.toFixed(0)} s, ` +
      `${(this.total / seconds).toFixed(0)} a second, ${this.found} differences, ` +
      `${this.reference.crashes} that the reference died of; ${kinds.join(", ")}`
    );
  }
}

function options() {
  const { values } = parseArgs({
    options: {
      driver: { type: "string" },
      seconds: { type: "string", default: "60" },
      count: { type: "string", default: "Infinity" },
      seed: { type: "string", default: "1" },
      golden: { type: "string" },
      only: { type: "string" },
      exhaustive: { type: "boolean", default: false },
    },
  });
  return {
    ...values,
    seconds: Number(values.seconds),
    count: Number(values.count),
    seed: Number(values.seed),
  };
}

/** A random case, of one kind when there is one that is wanted. */
function randomCase(cases, kind) {
  for (;;) {
    const found = cases.next();
    if (kind === undefined || found[0] === kind) {
      return found;
    }
  }
}

/** Gives the next batch of cases: random ones without end, or all texts of the exhaustive list. */
function batchesOf(cases, settings) {
  const texts = settings.exhaustive ? exhaustive() : null;
  const one = () => {
    if (texts === null) {
      return randomCase(cases, settings.only);
    }
    const { done, value } = texts.next();
    return done ? null : ["exhaustive", cases.textOnly(value)];
  };
  return () => Array.from({ length: BATCH }, one).filter((test) => test !== null);
}

/** Sets of the policies that both engines take. */
function setsOf(cases, texts) {
  const count = Math.ceil(texts.length / TOGETHER);
  return Array.from({ length: count }, (_, i) => [
    "together",
    cases.together(texts.slice(i * TOGETHER, (i + 1) * TOGETHER)),
  ]);
}

async function compareAll(comparison, cases, settings, golden) {
  const begin = performance.now();
  const elapsed = () => (performance.now() - begin) / 1000;
  const nextBatch = batchesOf(cases, settings);
  await comparison.run(
    HANDWRITTEN.map((text) => ["seed", cases.inWorld(text)]),
    golden,
  );
  let shownAt = 0;
  while (elapsed() < settings.seconds && comparison.total < settings.count) {
    const batch = nextBatch();
    if (batch.length === 0) {
      break;
    }
    await comparison.run(setsOf(cases, await comparison.run(batch, golden)), golden);
    if (elapsed() - shownAt > 60) {
      shownAt = elapsed();
      console.log(comparison.summary(shownAt));
    }
  }
  console.log(comparison.summary(elapsed()));
}

async function main() {
  const settings = options();
  if (!isInstalled()) {
    console.log("skipped: @cedar-policy/cedar-wasm is not installed (npm ci)");
    return SKIPPED;
  }
  const driver = new Driver(settings.driver);
  const comparison = new Comparison(driver, new Reference());
  const golden = settings.golden === undefined ? null : new Golden(settings.golden);
  await compareAll(comparison, new Cases(new Random(settings.seed)), settings, golden);
  driver.end();
  golden?.save();
  return comparison.found > 0 ? 1 : 0;
}

process.exitCode = await main();
