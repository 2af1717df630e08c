// SPDX-License-Identifier: Apache-2.0
// The reference engine, asked in the words of our driver's cases.
//
// The package hands its arguments to WebAssembly as JSON text made by JSON.stringify. That is the
// way in for texts of entities and contexts that no JavaScript value can stand for (names that occur
// twice, integers of 64 bits): during a call JSON.stringify gives out the text that is asked for.

import { createRequire } from "node:module";

const require = createRequire(import.meta.url);
const PACKAGE = "@cedar-policy/cedar-wasm/nodejs";
/** Nesting of JSON from which the reference engine is not asked: it refuses about 120 levels. */
const JSON_DEPTH = 100;
/** Numbers that no double can hold, too: it refuses them even where they are ignored. */
const HUGE_NUMBER = /\d[eE]\+?\d{3}/;

const stringify = JSON.stringify;
/** Texts that a function of them is remembered for. */
const REMEMBERED = 64;
let callText = null;

function patchedStringify(value, ...rest) {
  return callText !== null && value === callText ? callText.text : stringify(value, ...rest);
}

/** Whether the package is installed. */
export function isInstalled() {
  try {
    require.resolve(PACKAGE);
    return true;
  } catch {
    return false;
  }
}

/** Whether the engine itself came to an end: it has little stack. */
function isCrash(error) {
  return error instanceof WebAssembly.RuntimeError || error instanceof RangeError;
}

/** A function of a text that remembers its last answers: most cases have the same entities. */
function remembering(compute) {
  const known = new Map();
  return (text) => {
    if (!known.has(text)) {
      if (known.size >= REMEMBERED) {
        known.clear();
      }
      known.set(text, compute(text));
    }
    return known.get(text);
  };
}

const isJson = remembering((text) => {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
});

/** How deep brackets are nested at most; those in strings count too, which does no harm. */
const jsonDepth = remembering((text) => {
  if (text.length < JSON_DEPTH) {
    return 0;
  }
  let depth = 0;
  let deepest = 0;
  for (const byte of text) {
    depth += byte === "[" || byte === "{" ? 1 : byte === "]" || byte === "}" ? -1 : 0;
    deepest = Math.max(deepest, depth);
  }
  return deepest;
});

function sorted(ids) {
  return [...ids].sort();
}

export class Reference {
  constructor() {
    this.crashes = 0;
    this.load();
  }

  load() {
    delete require.cache[require.resolve(PACKAGE)];
    this.engine = require(PACKAGE);
  }

  /** Call a function of the package with an argument given as JSON text. */
  call(name, text) {
    callText = { text };
    JSON.stringify = patchedStringify;
    try {
      return this.engine[name](callText);
    } catch (error) {
      if (isCrash(error)) {
        throw error;
      }
      return { type: "failure", errors: [error] }; // names that occur twice are thrown
    } finally {
      JSON.stringify = stringify;
      callText = null;
    }
  }

  loadPolicies(test) {
    return this.engine.preparsePolicySet("set", {
      staticPolicies: test.policies ?? "",
      templates: test.templates ?? {},
      templateLinks: test.links ?? [],
    });
  }

  areEntitiesGood(text) {
    return (
      isJson(text) && this.call("checkParseEntities", `{"entities":${text}}`).type === "success"
    );
  }

  /** The answer to one request; null when it is refused. */
  decide(test, request) {
    const context = request.context ?? "{}";
    const entities = test.entities ?? "[]";
    if (!isJson(context) || !isJson(entities)) {
      return null;
    }
    const call =
      `{"principal":${stringify(request.principal)},"action":${stringify(request.action)},` +
      `"resource":${stringify(request.resource)},"context":${context},"entities":${entities},` +
      `"preparsedPolicySetId":"set","validateRequest":false}`;
    const answer = this.call("statefulIsAuthorized", call);
    if (answer.type !== "success") {
      return null;
    }
    const { decision, diagnostics } = answer.response;
    return {
      decision,
      reason: sorted(diagnostics.reason),
      errors: sorted(diagnostics.errors.map((error) => error.policyId)),
    };
  }

  evaluate(test) {
    const parsed = this.loadPolicies(test);
    if (parsed.type !== "success") {
      return { parse: false, why: parsed.errors[0].message };
    }
    const outcome = { parse: true, entities: true, answers: [] };
    for (const request of test.requests ?? []) {
      const answer = this.decide(test, request);
      if (answer === null && !this.areEntitiesGood(test.entities ?? "[]")) {
        return { parse: true, entities: false };
      }
      outcome.answers.push(answer ?? { error: true });
    }
    return outcome;
  }

  /**
   * {parse: false, why} or {parse: true, entities: bool, answers}, as our driver's outcome reads;
   * null when the engine died of it (it has little stack) or is not asked.
   */
  outcome(test) {
    const texts = [test.entities ?? "", ...(test.requests ?? []).map((r) => r.context ?? "")];
    if (texts.some((text) => HUGE_NUMBER.test(text) || jsonDepth(text) > JSON_DEPTH)) {
      return null;
    }
    try {
      return this.evaluate(test);
    } catch (error) {
      if (!isCrash(error)) {
        throw error;
      }
      this.crashes++;
      this.load();
      return null;
    }
  }
}
