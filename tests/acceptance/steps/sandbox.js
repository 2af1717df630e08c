// SPDX-License-Identifier: Apache-2.0
// Steps about what a sandboxed command can reach.
"use strict";

const { Given, Then } = require("@cucumber/cucumber");
const assert = require("node:assert/strict");
const fs = require("node:fs");
const net = require("node:net");
const path = require("node:path");
const { build } = require("./world");

// The sandbox has temporary folders of its own, where everything may be written.
Given("a workspace that is in no temporary folder", function () {
  this.settle(build);
});

Given("a secret file in the home folder", async function () {
  this.write(path.join(this.home, ".ssh/id_ed25519"), "a private key\n", 0o600);
  const server = net.createServer((socket) => socket.destroy());
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  this.cleanups.push(() => new Promise((resolve) => server.close(resolve)));
  const outside = this.start('sh -c "sleep 300; : rondo-outside-marker"', "outside");
  // The values stand in the command lines: the sandbox passes no variable on.
  Object.assign(this.values, {
    $SECRET_PATH: path.join(this.home, ".ssh/id_ed25519"),
    $LISTENER: `127.0.0.1/${server.address().port}`,
    $OUTSIDE_PID: String(outside.pid),
  });
  this.env.API_TOKEN = "a token";
});

Given(/^a file in the machine's \/tmp$/, function () {
  const folder = fs.mkdtempSync("/tmp/rondo-acceptance-");
  this.cleanups.push(() => fs.rmSync(folder, { recursive: true }));
  this.values.$TMP_FILE = path.join(folder, "file");
  fs.writeFileSync(this.values.$TMP_FILE, "");
});

Then(/^the machine's \/tmp has no "(.*)"$/, function (name) {
  assert.ok(!fs.existsSync(path.join("/tmp", name)));
});

Given("a listener on the machine", async function () {
  const server = net.createServer((socket) => socket.destroy());
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  this.cleanups.push(() => new Promise((resolve) => server.close(resolve)));
  this.env.LISTENER = `127.0.0.1/${server.address().port}`;
});

Given("a symbolic link {string} to the folder above the workspace", function (name) {
  fs.symlinkSync("..", this.path(name));
});

Then("nothing outside the workspace has changed", function () {
  assert.deepEqual(
    fs.readdirSync(this.top).filter((name) => name !== "home" && name !== "state"),
    ["project"],
  );
  assert.ok(!fs.existsSync("/usr/rondo-was-here"));
  if (this.outside) {
    process.kill(this.outside.pid, 0);
  }
});

// A PATH with links to everything else.
Given("a machine without bubblewrap", function () {
  const folder = path.join(this.top, "bin");
  fs.mkdirSync(folder);
  for (const source of [...this.env.PATH.split(":").slice(0, 1), "/usr/bin", "/bin"]) {
    for (const name of fs.readdirSync(source)) {
      if (name !== "bwrap" && !fs.existsSync(path.join(folder, name))) {
        try {
          fs.symlinkSync(path.join(source, name), path.join(folder, name));
        } catch {
          // A dangling name of another folder is there already.
        }
      }
    }
  }
  this.env.PATH = folder;
});

Given("a machine where bubblewrap can break", function () {
  const folder = path.join(this.top, "bin");
  fs.mkdirSync(folder);
  fs.symlinkSync("/usr/bin/bwrap", path.join(folder, "bwrap"));
  this.env.PATH = `${folder}:${this.env.PATH}`;
});
