// SPDX-License-Identifier: Apache-2.0
// Nanoseconds that the reference engine takes for one decision, as the npm package
// @cedar-policy/cedar-wasm 4.13.0 has it; see tests/cedar/README.md for how to install it. Prints
// nothing where the package is not there.
//
//   node bench/reference.mjs QUESTION.json MILLISECONDS
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const require = createRequire(new URL("../tests/cedar/differential/package.json", import.meta.url));
let cedar;
try {
  cedar = require("@cedar-policy/cedar-wasm/nodejs");
} catch {
  process.exit(0);
}

const [questionPath, milliseconds] = process.argv.slice(2);
const { policies, ...request } = JSON.parse(readFileSync(questionPath, "utf8"));
const parsed = cedar.preparsePolicySet("bench", { staticPolicies: policies });
if (parsed.type !== "success") {
  throw new Error(JSON.stringify(parsed));
}
const call = { ...request, preparsedPolicySetId: "bench", validateRequest: false };

/** Nanoseconds for one of so many decisions. Each must allow. */
function measure(count) {
  const began = process.hrtime.bigint();
  for (let i = 0; i < count; i++) {
    const answer = cedar.statefulIsAuthorized(call);
    if (answer.type !== "success" || answer.response.decision !== "allow") {
      throw new Error(JSON.stringify(answer));
    }
  }
  return Number(process.hrtime.bigint() - began) / count;
}

measure(500); // until the compiler of the runtime has done its part
const samples = [];
for (const end = Date.now() + Number(milliseconds); samples.length < 3 || Date.now() < end;) {
  samples.push(measure(50));
}
samples.sort((a, b) => a - b);
console.log(samples[Math.floor(samples.length / 2)].toFixed(1));
