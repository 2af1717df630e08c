// SPDX-License-Identifier: Apache-2.0
// The API against clients and a proxy of others. Called by run.py with the path of rondo; prints
// TAP and "N passed, N failed". The parts run side by side, each with a server of its own.
import { check, finish } from "./support.mjs";

// Those that are named, or all but `patience`, which takes minutes.
const parts = { streams: "streams", webhooks: "webhooks", description: "description", clients: "clients", patience: "streams" };
const named = process.argv.slice(3);
const wanted = named.length > 0 ? named : Object.keys(parts).filter((part) => part !== "patience");

await Promise.all(
  wanted.map(async (part) => {
    const module = await import(`./${parts[part]}.mjs`);
    await module[part]().catch((error) => check(`${part}: goes to its end`, () => Promise.reject(error)));
  }),
);
finish();
