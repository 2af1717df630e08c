// SPDX-License-Identifier: Apache-2.0
// Calls of the API. Failures are always a Problem, whatever went wrong, so that pages show one kind.
import { parseJson } from "./json.js";
import { bearer, refuse } from "./session.js";
import { noteServerTime } from "./time.js";

export class Problem extends Error {
  constructor({ status, code, title, detail, errors, body }) {
    super(detail || title || "The request failed");
    this.status = status;
    this.code = code;
    this.title = title;
    this.errors = errors ?? [];
    this.body = body;
  }
}

export function authorization() {
  const token = bearer();
  return token ? { Authorization: `Bearer ${token}` } : {};
}

async function problemOf(response) {
  let body = null;
  try {
    body = parseJson(await response.text());
  } catch {
    // Not every answer comes from Rondo: a proxy says what it likes.
  }
  const code = body?.code ?? body?.type?.split(":").pop() ?? `http_${response.status}`;
  return new Problem({
    status: response.status,
    code,
    title: body?.title ?? `HTTP ${response.status}`,
    detail: body?.detail,
    errors: body?.errors,
    body,
  });
}

function idempotencyKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return `web-${Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}

async function send(path, options) {
  try {
    return await fetch(path, { cache: "no-store", credentials: "omit", ...options });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem({ status: 0, code: "unreachable", title: "The server does not respond" });
  }
}

/** isRaw: hidden characters stay in texts; who shows them names them (lib/exact.js). */
async function call(method, path, { body, signal, headers, isRaw } = {}) {
  const response = await send(path, {
    method,
    signal,
    headers: {
      Accept: "application/json",
      ...authorization(),
      ...(body === undefined ? {} : { "Content-Type": "application/json" }),
      ...(method === "POST" ? { "Idempotency-Key": idempotencyKey() } : {}),
      ...headers,
    },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  noteServerTime(response.headers.get("Date"));
  if (response.status === 401) refuse();
  if (!response.ok) throw await problemOf(response);
  if (response.status === 204) return null;
  const text = await response.text();
  return isRaw ? JSON.parse(text) : parseJson(text);
}

export const get = (path, options) => call("GET", path, options);
export const post = (path, body = {}, options) => call("POST", path, { ...options, body });
export const remove = (path, options) => call("DELETE", path, options);
export const put = (path, body, options) => call("PUT", path, { ...options, body });

/** "?a=1&b=2" of what has a value. */
export function query(values) {
  const parts = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    if (value !== null && value !== undefined && value !== "") parts.set(name, value);
  }
  const text = parts.toString();
  return text ? `?${text}` : "";
}
