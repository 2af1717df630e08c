// SPDX-License-Identifier: Apache-2.0
// The API against clients and a proxy of others. Called by run.py with the path of rondo; prints
// TAP and "N passed, N failed". The parts run side by side, each with a server of its own.
import { check, finish } from "./support.mjs";

const parts = ["streams", "webhooks", "description", "clients"];
const wanted = process.argv[3]?.split(",") ?? parts;

await Promise.all(
  wanted.map(async (part) => {
    const module = await import(`./${part}.mjs`);
    await module[part]().catch((error) => check(`${part}: goes to its end`, () => Promise.reject(error)));
  }),
);
finish();
