// SPDX-License-Identifier: Apache-2.0
/*
 * Durable steps of DBOS, for the figure `postgres-dbos`: so many workflows at once, each of so many
 * steps, each with a result of so many bytes. Prints the steps a second, from the start of the
 * workflows until the last one has ended. A round before it, which does not count, makes DBOS's
 * tables and opens its connections.
 *
 *   node steps.mjs ADDRESS WORKFLOWS STEPS BYTES
 */
import { DBOS } from "@dbos-inc/dbos-sdk";

const address = process.argv[2];
const [workflows, steps, bytes] = process.argv.slice(3).map(Number);
const payload = "a".repeat(bytes);

async function work(count) {
  for (let i = 0; i < count; i++) {
    await DBOS.runStep(async () => payload, { name: "step" });
  }
}
const workflow = DBOS.registerWorkflow(work, { name: "work" });

async function run(count) {
  const handles = await Promise.all(
    Array.from({ length: workflows }, () => DBOS.startWorkflow(workflow)(count)),
  );
  await Promise.all(handles.map((handle) => handle.getResult()));
}

DBOS.setConfig({
  name: "bench",
  /* It requires a host in an address; the socket's folder is the parameter `host`. */
  systemDatabaseUrl: address.replace("@/", "@localhost/"),
  systemDatabasePoolSize: 20,
  logLevel: "error",
  runAdminServer: false,
});
await DBOS.launch();
await run(1);
const began = process.hrtime.bigint();
await run(steps);
console.log((workflows * steps) / (Number(process.hrtime.bigint() - began) / 1e9));
await DBOS.shutdown();
process.exit(0);
