// SPDX-License-Identifier: Apache-2.0
// Our engine: one driver process, a line for each case.

import { spawn } from "node:child_process";

export class Driver {
  constructor(program) {
    this.process = spawn(program, { stdio: ["pipe", "pipe", "inherit"] });
    this.waiting = [];
    this.rest = "";
    this.process.stdout.setEncoding("utf8").on("data", (text) => this.read(text));
    this.process.on("exit", (code, signal) => {
      this.waiting.forEach(({ reject }) =>
        reject(new Error(`the driver ended: ${code ?? signal}`)),
      );
    });
  }

  /** Lines end with a line feed only; node's readline would also split at U+2028. */
  read(text) {
    const lines = (this.rest + text).split("\n");
    this.rest = lines.pop();
    for (const line of lines) {
      this.waiting.shift()?.resolve(JSON.parse(line));
    }
  }

  /** What the driver says about a case. */
  run(test) {
    return new Promise((resolve, reject) => {
      this.waiting.push({ resolve, reject, test });
      this.process.stdin.write(`${JSON.stringify(test)}\n`);
    });
  }

  end() {
    this.process.stdin.end();
  }
}

/** Our outcome in the words of the reference's. */
export function outcomeOf(answer) {
  if (answer.parse !== null) {
    return { parse: false, why: answer.parse };
  }
  if (answer.entities !== null) {
    return { parse: true, entities: false, why: answer.entities };
  }
  const answers = answer.answers.map((one) =>
    one.error === undefined
      ? {
          decision: one.decision,
          reason: [...one.reason].sort(),
          errors: [...one.errors].sort(),
        }
      : { error: true },
  );
  return {
    parse: true,
    entities: true,
    answers,
    why: answer.answers.find((a) => a.error)?.error,
  };
}
