// SPDX-License-Identifier: Apache-2.0
// The golden file: cases that show something new, with the reference's answers.

import { writeFileSync } from "node:fs";

import { WORLD } from "./worlds.mjs";

const MOST_CASES = 2500;
const MOST_BYTES = 600;

/** A message without what is special about one text. */
function outline(message) {
  return (message ?? "")
    .replace(/`[^`]*`/g, "`")
    .replace(/\d+/g, "0")
    .slice(0, 100);
}

export class Golden {
  constructor(file) {
    this.file = file;
    this.seen = new Set();
    this.cases = [];
  }

  /** Keep a case when its outcomes, together with the words in it, are new; or in any case. */
  consider(test, ours, theirs, isWanted) {
    const { entities, ...rest } = test;
    const kept = entities === WORLD.entities ? rest : test;
    const text = JSON.stringify(kept);
    if (
      text.length > MOST_BYTES + JSON.stringify(test.requests).length ||
      this.cases.length >= MOST_CASES
    ) {
      return;
    }
    const words = (test.policies ?? "").match(
      /\b(?:in|is|has|like|if|contains\w*|\w+Tag|isEmpty|ip|decimal|datetime|duration|unless)\b|[@?!*+-]|\\./g,
    );
    const shape = theirs.parse ? [...new Set(words)].sort().slice(0, 2).join(" ") : "";
    const answers = theirs.answers?.map(
      (one) => `${one.decision}${one.reason?.length}${one.errors?.length}`,
    );
    const sign = [
      outline(ours.why),
      outline(theirs.why),
      theirs.parse,
      theirs.entities,
      answers?.join(),
      shape,
    ].join("|");
    if (isWanted || !this.seen.has(sign)) {
      this.seen.add(sign);
      const { why, ...expected } = theirs;
      this.cases.push({ ...kept, expected });
    }
  }

  save() {
    const requests = WORLD.requests.map((request) => JSON.stringify(request));
    const lines = this.cases.map((test) => ({
      ...test,
      requests: test.requests.map((request) => {
        const index = requests.indexOf(JSON.stringify(request));
        return index < 0 ? request : index;
      }),
    }));
    writeFileSync(this.file, [WORLD, ...lines].map((line) => `${JSON.stringify(line)}\n`).join(""));
  }
}
