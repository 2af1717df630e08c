// SPDX-License-Identifier: Apache-2.0
// Requests made of what the description says.

/** A request that each operation would take, but for what it is to be refused for. */
export function plain(contract, id, run) {
  const { path: template, operation } = contract.operation(id);
  const values = {
    run,
    number: "1",
    name: "none",
    id: "none",
    asset: "no.js",
    request: "01900000-0000-7000-8000-000000000000",
    agent: "other",
    lane: "none",
    letter: "none",
  };
  const names = [...template.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
  const media = operation.requestBody?.content["application/json"];
  const schema = media?.schema.$ref?.split("/").at(-1);
  const of =
    (media?.schema.oneOf ?? contract.document.components.schemas[schema]?.oneOf ?? [])[0]?.$ref
      .split("/")
      .at(-1) ?? schema;
  const example =
    media?.example ??
    Object.values(media?.examples ?? {})[0]?.value ??
    contract.document.components.schemas[of]?.examples?.[0];
  return {
    path: Object.fromEntries(names.map((name) => [name, values[name]])),
    body: operation.requestBody?.required ? (example ?? {}) : undefined,
  };
}
