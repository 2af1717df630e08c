// SPDX-License-Identifier: Apache-2.0
// The OpenAPI description as a judge of requests and answers. What it does not name must not be
// there: in clients' eyes further members are allowed, here they are a hole in the description.
import Ajv2020 from "ajv/dist/2020.js";
import formats from "ajv-formats";

const METHODS = ["get", "put", "post", "delete", "patch"];
/** Headers of answers that say something of the operation: they have to be described. */
const TELLING = [
  "location",
  "etag",
  "retry-after",
  "www-authenticate",
  "idempotency-replayed",
  "allow",
];
const PROBLEM = "application/problem+json";

const pointer = (...names) =>
  names.map((name) => `/${String(name).replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");

function resolve(root, node) {
  return node?.$ref === undefined
    ? node
    : resolve(
        root,
        node.$ref
          .slice(2)
          .split("/")
          .reduce((at, name) => at[name.replaceAll("~1", "/").replaceAll("~0", "~")], root),
      );
}

/** One object of all that allOf puts together. */
function merged(root, schema) {
  if (schema.allOf === undefined) {
    return schema;
  }
  const { allOf, ...whole } = schema;
  for (const part of allOf.map((each) => merged(root, resolve(root, each)))) {
    whole.type ??= part.type;
    whole.properties = { ...part.properties, ...whole.properties };
    whole.required = [...new Set([...(part.required ?? []), ...(whole.required ?? [])])];
  }
  return whole;
}

/** The schema, with every object that lists its members closed; `open` takes the paths of those that say nothing. */
function closed(root, schema, open, path) {
  const result = { ...merged(root, schema) };
  if (result.$ref !== undefined) {
    return result;
  }
  if ([result.type].flat().includes("object")) {
    if (result.properties === undefined && result.additionalProperties === undefined) {
      open.push(path);
    }
    result.additionalProperties ??= result.properties === undefined;
  }
  for (const name of ["properties", "$defs"]) {
    if (result[name] !== undefined) {
      result[name] = Object.fromEntries(
        Object.entries(result[name]).map(([key, value]) => [
          key,
          closed(root, value, open, `${path}.${key}`),
        ]),
      );
    }
  }
  for (const name of ["items", "additionalProperties"]) {
    if (typeof result[name] === "object") {
      result[name] = closed(root, result[name], open, `${path}[]`);
    }
  }
  result.oneOf = result.oneOf?.map((each, i) => closed(root, each, open, `${path}|${i}`));
  result.oneOf ?? delete result.oneOf;
  return result;
}

/** The document with all its schemas closed. */
function close(document, open) {
  const result = structuredClone(document);
  for (const [name, schema] of Object.entries(document.components.schemas)) {
    result.components.schemas[name] = closed(document, schema, open, name);
  }
  const visit = (node, path) => {
    if (node === null || typeof node !== "object") {
      return;
    }
    for (const [name, value] of Object.entries(node)) {
      if (name === "schema") {
        node.schema = closed(document, value, open, path);
      } else {
        visit(value, `${path}/${name}`);
      }
    }
  };
  // Whatever else may come at any time: here everything has to be named.
  for (const operation of Object.values(result.paths).flatMap((methods) =>
    Object.values(methods),
  )) {
    delete operation.responses.default;
  }
  visit(result.paths, "");
  visit(result.components.responses, "");
  return result;
}

export class Contract {
  #ajv = new Ajv2020({ allErrors: true, allowUnionTypes: true, strictRequired: false });
  #lenient = new Ajv2020({ allErrors: true, coerceTypes: true });
  #operations = new Map();

  constructor(document) {
    this.open = [];
    this.document = close(document, this.open);
    formats.default(this.#ajv);
    this.#ajv.addVocabulary([
      "openapi",
      "info",
      "servers",
      "tags",
      "paths",
      "components",
      "example",
    ]);
    this.#ajv.addSchema(this.document, "api");
    for (const [path, methods] of Object.entries(this.document.paths)) {
      for (const method of METHODS.filter((name) => methods[name] !== undefined)) {
        const operation = methods[method];
        this.#operations.set(operation.operationId, {
          id: operation.operationId,
          path,
          method,
          operation,
          query: this.#parameters(operation, "query"),
          header: this.#parameters(operation, "header"),
        });
      }
    }
  }

  get ids() {
    return [...this.#operations.keys()];
  }

  operation(id) {
    return this.#operations.get(id);
  }

  #parameters(operation, place) {
    const list = (operation.parameters ?? [])
      .map((each) => resolve(this.document, each))
      .filter((each) => each.in === place);
    const name = (each) => (place === "header" ? each.name.toLowerCase() : each.name);
    return this.#lenient.compile({
      type: "object",
      properties: Object.fromEntries(list.map((each) => [name(each), each.schema])),
      required: list.filter((each) => each.required).map(name),
      additionalProperties: place === "header",
    });
  }

  #problems(validate, value) {
    return validate(structuredClone(value))
      ? []
      : validate.errors.map(
          ({ instancePath, message, params }) =>
            `${instancePath} ${message} ${JSON.stringify(params)}`,
        );
  }

  /** What is wrong with a value, by the name of its schema. */
  value(name, value) {
    return this.#problems(this.#ajv.getSchema(`api#/components/schemas/${name}`), value);
  }

  #content(content, at, type, text) {
    const media = type?.split(";")[0].trim();
    const name = content[media] !== undefined ? media : "*/*";
    if (content[name] === undefined) {
      return [`content type ${type} is not among ${Object.keys(content)}`];
    }
    if (!/json$/.test(media)) {
      return [];
    }
    let value;
    try {
      value = JSON.parse(text);
    } catch (error) {
      return [`no JSON: ${error.message}`];
    }
    return this.#problems(
      this.#ajv.getSchema(`api#${at}${pointer("content", name, "schema")}`),
      value,
    );
  }

  /** @return what the description says against a request */
  request(id, { query = "", headers = {}, body }) {
    const { path, method, operation, ...checks } = this.#operations.get(id);
    const problems = [
      ...this.#problems(checks.query, Object.fromEntries(new URLSearchParams(query))),
      ...this.#problems(checks.header, headers),
    ];
    if (body === undefined) {
      return operation.requestBody?.required ? [...problems, "the body is missing"] : problems;
    }
    if (operation.requestBody === undefined) {
      return [...problems, "there is a body"];
    }
    return [
      ...problems,
      ...this.#content(
        operation.requestBody.content,
        pointer("paths", path, method, "requestBody"),
        headers["content-type"],
        body,
      ),
    ];
  }

  /** @return what the description says against an answer */
  answer(id, { status, headers, text }) {
    const { path, method, operation } = this.#operations.get(id);
    const described = operation.responses[status];
    if (described === undefined) {
      return [`status ${status} is not among ${Object.keys(operation.responses)}`];
    }
    const answer = resolve(this.document, described);
    const at =
      described.$ref === undefined
        ? pointer("paths", path, method, "responses", status)
        : described.$ref.slice(1);
    const names = Object.keys(answer.headers ?? {}).map((name) => name.toLowerCase());
    const problems = TELLING.filter(
      (name) => headers[name] !== undefined && !names.includes(name),
    ).map((name) => `header ${name} is not described`);
    const missing = Object.entries(answer.headers ?? {}).filter(
      ([name, header]) =>
        resolve(this.document, header).required && headers[name.toLowerCase()] === undefined,
    );
    problems.push(...missing.map(([name]) => `header ${name} is missing`));
    if (answer.content === undefined) {
      return text === "" ? problems : [...problems, "there is a body"];
    }
    problems.push(...this.#content(answer.content, at, headers["content-type"], text));
    return headers["content-type"] === PROBLEM
      ? [...problems, ...this.#problem(status, text)]
      : problems;
  }

  #problem(status, text) {
    const problem = JSON.parse(text);
    return problem.status === status && problem.type === `urn:rondo:problem:${problem.code}`
      ? []
      : [`the problem does not fit status ${status}: ${text}`];
  }
}
