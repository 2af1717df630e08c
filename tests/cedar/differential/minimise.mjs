// SPDX-License-Identifier: Apache-2.0
// Makes a case smaller as long as it still shows what it showed.

import { tokensOf } from "./mutate.mjs";

/** Attempts for one case; each asks both engines. */
const ATTEMPTS = 600;

/** Remove runs of tokens, long ones first. */
async function shorten(text, isStillGood, budget) {
  let tokens = tokensOf(text);
  for (let size = Math.ceil(tokens.length / 2); size >= 1; size = Math.floor(size / 2)) {
    for (let at = 0; at < tokens.length && budget.left > 0;) {
      budget.left--;
      const fewer = [...tokens.slice(0, at), ...tokens.slice(at + size)];
      if (await isStillGood(fewer.join(""))) {
        tokens = fewer;
      } else {
        at += size;
      }
    }
  }
  return tokens.join("");
}

/** @param isStillBad asks both engines about a case */
export async function minimise(test, isStillBad) {
  const budget = { left: ATTEMPTS };
  let best = test;
  const attempt = async (smaller) => {
    const is = await isStillBad(smaller);
    best = is ? smaller : best;
    return is;
  };
  for (const request of test.requests ?? []) {
    await attempt({ ...best, requests: [request] });
  }
  await attempt({ ...best, entities: "[]" });
  await attempt({ ...best, requests: [] });
  if (best.requests.length === 1) {
    await attempt({ ...best, requests: [{ ...best.requests[0], context: "{}" }] });
  }
  if (best.templates !== undefined) {
    await attempt({ ...best, templates: {}, links: [] });
  }
  await shorten(best.policies ?? "", (policies) => attempt({ ...best, policies }), budget);
  await shorten(best.entities ?? "[]", (entities) => attempt({ ...best, entities }), budget);
  return best;
}
