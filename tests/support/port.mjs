// SPDX-License-Identifier: Apache-2.0
import { createServer } from "node:net";

/** A port below those that the system gives to whoever asks for any (from 32768 on): no connection and no other
 *  test's server has it when ours starts, or while it restarts. */
export async function freePort() {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 12_000);
    const probe = createServer();
    const isFree = await new Promise((resolve) => {
      probe.once("error", () => resolve(false));
      probe.listen(port, "127.0.0.1", () => resolve(true));
    });
    if (!isFree) continue;
    await new Promise((resolve) => probe.close(resolve));
    return port;
  }
}
