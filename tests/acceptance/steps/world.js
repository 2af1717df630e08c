// SPDX-License-Identifier: Apache-2.0
// What a scenario has: a fresh folder with a project and a home in it, the processes that it
// started, and the result of the last command. Nothing of the user's own settings is seen.
"use strict";

const {
  After,
  Before,
  setDefaultTimeout,
  setWorldConstructor,
  World,
} = require("@cucumber/cucumber");
const { spawn, spawnSync } = require("node:child_process");
const crypto = require("node:crypto");
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");

const root = path.resolve(__dirname, "../../..");
const build = process.env.RONDO_BUILD || path.join(root, "build");
const binary = process.env.RONDO_BIN || path.join(build, "src/cli/rondo");

// The longest that a step waits for something that must happen; far more than it ever takes.
const patience = 200000;
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

setDefaultTimeout(600000); // Some steps wait several times.

class Scenario extends World {
  constructor(options) {
    super(options);
    this.root = root;
    this.build = build;
    this.children = [];
    this.cleanups = [];
    this.values = {}; // what stands for $NAME in command lines
    this.env = {
      PATH: `${path.dirname(binary)}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin`,
      LANG: "C.UTF-8",
      TERM: "dumb",
    };
    this.settle(os.tmpdir());
  }

  // Make the scenario's folders below `parent`.
  settle(parent) {
    const top = fs.mkdtempSync(path.join(fs.realpathSync(parent), "rondo-acceptance-"));
    this.cleanups.push(() => fs.rmSync(top, { recursive: true, force: true, maxRetries: 5 }));
    this.top = top;
    this.project = path.join(top, "project");
    this.home = path.join(top, "home");
    this.env.HOME = this.home;
    this.env.XDG_STATE_HOME = path.join(top, "state");
    fs.mkdirSync(this.project);
    fs.mkdirSync(this.home);
    this.env.ROOT = root;
    this.values.$STATE = this.env.STATE = this.state();
  }

  // The folder of the project, or of a folder in it, in the user's state folder. It is made as
  // `rondo policy set` would.
  state(folder = ".") {
    const real = fs.realpathSync(path.resolve(this.project, folder));
    const name = path
      .basename(real)
      .replace(/[^A-Za-z0-9_-]/g, "_")
      .slice(0, 40);
    const hash = crypto.createHash("sha256").update(real).digest("hex").slice(0, 12);
    const own = path.join(this.env.XDG_STATE_HOME, "rondo/projects", `${name}-${hash}`);
    if (!fs.existsSync(own)) {
      fs.mkdirSync(own, { recursive: true, mode: 0o700 });
      fs.writeFileSync(path.join(own, "project"), `${real}\n`);
    }
    return own;
  }

  // A name that begins with STATE/ is in the project's folder in the state folder.
  path(name) {
    return name.startsWith("STATE/")
      ? path.join(this.state(), name.slice("STATE/".length))
      : path.resolve(this.project, name);
  }

  write(name, text, mode) {
    fs.mkdirSync(path.dirname(this.path(name)), { recursive: true });
    fs.writeFileSync(this.path(name), text);
    if (mode !== undefined) fs.chmodSync(this.path(name), mode);
  }

  read(name) {
    return fs.readFileSync(this.path(name), "utf8");
  }

  // Start a shell line in the project; `exec` makes a single command the process itself.
  start(line, name = "it") {
    const isSimple = !/[|;&<>]|^\w+=/.test(line.replace(/'[^']*'/g, ""));
    const text = isSimple ? `exec ${line}` : line;
    const child = spawn("sh", ["-c", text], {
      cwd: this.project,
      env: this.env,
      stdio: ["ignore", "pipe", "pipe"],
      detached: true,
    });
    const result = { line, pid: child.pid, child, stdout: "", stderr: "", begun: Date.now() };
    child.stdout.setEncoding("utf8").on("data", (text_) => {
      result.stdout += text_;
    });
    child.stderr.setEncoding("utf8").on("data", (text_) => {
      result.stderr += text_;
    });
    result.ended = new Promise((resolve) => {
      child.on("close", (code, signal) => {
        Object.assign(result, { code, signal, end: Date.now() });
        resolve(result);
      });
    });
    this.children.push(result);
    this[name] = result;
    return result;
  }

  async run(template, timeout = 300000) {
    const line = Object.entries(this.values).reduce(
      (text, [name, value]) => text.replaceAll(name, value),
      template,
    );
    const result = this.start(line, "last");
    const timer = setTimeout(() => result.child.kill("SIGKILL"), timeout);
    await result.ended;
    clearTimeout(timer);
    return result;
  }

  // Run rondo with arguments, apart from the scenario's own commands.
  ask(...words) {
    const result = spawnSync(binary, words, {
      cwd: this.project,
      env: this.env,
      encoding: "utf8",
      maxBuffer: 1 << 28,
    });
    return { code: result.status, stdout: result.stdout, stderr: result.stderr };
  }

  // The milliseconds that something may take that takes less than `seconds` on a quiet machine: each
  // program has its share of the processors only.
  within(seconds) {
    return seconds * 1000 * Math.max(1, os.loadavg()[0] / os.cpus().length);
  }

  async until(what, condition, limit = patience) {
    const deadline = Date.now() + limit;
    for (;;) {
      const value = await condition();
      if (value) return value;
      if (Date.now() > deadline) throw new Error(`waited ${limit} ms in vain: ${what}`);
      await pause(20);
    }
  }

  // Put a file in its place at once, so that nobody reads it half-written.
  replace(name, text, mode) {
    const own = path.join(this.top, "being-written");
    fs.writeFileSync(own, text);
    if (mode !== undefined) fs.chmodSync(own, mode);
    fs.mkdirSync(path.dirname(this.path(name)), { recursive: true });
    fs.renameSync(own, this.path(name));
  }

  async hasEnded(result, limit = patience) {
    let isEnded = false;
    result.ended.then(() => {
      isEnded = true;
    });
    await this.until(`the end of ${result.line}\n${result.stderr}`, () => isEnded, limit);
    return result;
  }

  // Living processes of this scenario whose command line contains `text`, without those of Rondo unless
  // it begins with its name. They are told from those of other scenarios by their working directory.
  processes(text) {
    return fs
      .readdirSync("/proc")
      .filter((name) => /^\d+$/.test(name))
      .filter((pid) => {
        try {
          const words = fs
            .readFileSync(`/proc/${pid}/cmdline`, "utf8")
            .replaceAll("\0", " ")
            .trim();
          const isZombie = /^State:\s+Z/m.test(fs.readFileSync(`/proc/${pid}/status`, "utf8"));
          const isOwn = words.includes("rondo") && !text.startsWith("rondo");
          if (isZombie || !words.includes(text) || isOwn) return false;
          const folder = fs.readlinkSync(`/proc/${pid}/cwd`);
          return folder.startsWith(this.top);
        } catch {
          return false;
        }
      });
  }
}

setWorldConstructor(Scenario);

Before(function () {
  if (!fs.existsSync(binary)) throw new Error(`there is no ${binary}: build first`);
});

// A group of processes that is gone already is well, too: its end is told a little later.
function endGroup(pid) {
  for (const signal of ["SIGCONT", "SIGKILL"]) {
    try {
      process.kill(-pid, signal);
    } catch (error) {
      if (error.code !== "ESRCH") throw error;
    }
  }
}

After(async function () {
  for (const { pid, end } of this.children) if (end === undefined) endGroup(pid);
  await Promise.all(this.children.map(({ ended }) => ended));
  for (const cleanup of this.cleanups.reverse()) await cleanup();
});

module.exports = { binary, build, pause, patience, root };
