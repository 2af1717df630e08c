// SPDX-License-Identifier: Apache-2.0
// PostgreSQL servers for scenarios: tests/support/postgres.py, driven by its standard input and
// output. They end with this process, however that ends.
"use strict";

const { spawn } = require("node:child_process");
const path = require("node:path");
const readline = require("node:readline");

const script = path.resolve(__dirname, "../../support/postgres.py");

class Postgres {
  // Resolves to one that has an `address`, or, without PostgreSQL here, a `reason`.
  static async start(build, ...options) {
    const postgres = new Postgres();
    postgres.child = spawn("python3", [script, "--build", build, ...options], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    postgres.child.unref();
    postgres.child.stdin.unref();
    postgres.child.stdout.unref();
    postgres.ended = new Promise((resolve) => postgres.child.on("close", resolve));
    postgres.waiting = [];
    readline.createInterface({ input: postgres.child.stdout }).on("line", (line) => {
      postgres.waiting.shift()?.(line);
    });
    postgres.child.on("close", () => {
      for (const resolve of postgres.waiting.splice(0)) resolve("error the script has ended");
    });
    const [word, rest] = await postgres.answer();
    postgres.address = word === "ok" ? rest : undefined;
    postgres.reason = word === "ok" ? undefined : rest;
    return postgres;
  }

  // The next line of the script, as its first word and the rest.
  async answer() {
    // Only while an answer is due may the script keep this process alive.
    this.child.stdout.ref();
    const line = await new Promise((resolve) => this.waiting.push(resolve));
    if (this.waiting.length === 0) this.child.stdout.unref();
    const space = `${line} `.indexOf(" ");
    return [line.slice(0, space), line.slice(space + 1)];
  }

  // Perform a command of the script; the answer is its text.
  async perform(command) {
    this.child.stdin.write(`${command}\n`);
    const [word, rest] = await this.answer();
    if (word !== "ok") throw new Error(`${command}: ${rest}`);
    return rest;
  }

  async end() {
    this.child.ref();
    this.child.stdin.end();
    await this.ended;
  }
}

module.exports = { Postgres };
