// SPDX-License-Identifier: Apache-2.0
/* Memories over the API: each operation with success and an error. */

export async function memories(tour) {
  const none = { path: { id: "999" } };
  const { id } = await tour.call("addMemory", 201, {
    body: { agent: "fixer", content: "The staging host is stage-2.", category: "hosts" },
  });
  await tour.call("addMemory", 422, { body: { agent: "fixer" }, is_wrong: true });
  const one = { path: { id: String(id) } };
  await tour.call("listMemories", 200, { query: "?agent=fixer&kind=semantic&limit=1" });
  await tour.call("listMemories", 200, { query: "?q=staging" });
  await tour.call("listMemories", 400, { query: "?limit=0", is_wrong: true });
  await tour.call("getMemory", 200, one);
  await tour.call("getMemory", 404, none);
  await tour.call("forgetMemory", 204, one);
  await tour.call("forgetMemory", 404, one);
}
