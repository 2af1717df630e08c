// SPDX-License-Identifier: Apache-2.0
// A network between two programs on this machine that can be cut: connections to `url` go on to
// another port until then. While it is cut, those that were open are gone and new ones fail.
"use strict";

const net = require("node:net");

class Wire {
  constructor(port) {
    this.port = port;
    this.sockets = new Set();
    this.isCut = false;
    this.server = net.createServer((socket) => this.connect(socket));
  }

  connect(socket) {
    if (this.isCut) {
      socket.destroy();
      return;
    }
    const other = net.connect(this.port, "127.0.0.1");
    for (const [one, peer] of [
      [socket, other],
      [other, socket],
    ]) {
      this.sockets.add(one);
      one.on("error", () => {});
      one.on("close", () => {
        this.sockets.delete(one);
        peer.destroy();
      });
      one.pipe(peer);
    }
  }

  async listen() {
    await new Promise((resolve) => {
      this.server.listen(0, "127.0.0.1", resolve);
    });
    this.url = `http://127.0.0.1:${this.server.address().port}`;
  }

  cut() {
    this.isCut = true;
    for (const socket of this.sockets) socket.destroy();
  }

  mend() {
    this.isCut = false;
  }

  async close() {
    this.cut();
    await new Promise((resolve) => {
      this.server.close(resolve);
    });
  }
}

module.exports = { Wire };
