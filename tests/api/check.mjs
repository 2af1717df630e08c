// SPDX-License-Identifier: Apache-2.0
// The API against clients and a proxy of others. Called by run.py with the path of rondo and names of
// parts; prints TAP and "N passed, N failed". Parts run side by side, each with servers of its own.
import { clients } from "./clients.mjs";
import { description } from "./description.mjs";
import * as streams from "./streams.mjs";
import { check, finish } from "./support.mjs";
import * as webhooks from "./webhooks.mjs";

const parts = { streams: streams.streams, webhooks: webhooks.webhooks, description, clients };
/** What takes minutes is to be named. */
const patience = () => Promise.all([streams.patience(), webhooks.patience()]);
const named = process.argv.slice(3);
const wanted = named.length > 0 ? named : Object.keys(parts);

await Promise.all(
  wanted.map((part) =>
    ({ ...parts, patience })
      [part]()
      .catch((error) => check(`${part}: goes to its end`, () => Promise.reject(error))),
  ),
);
finish();
