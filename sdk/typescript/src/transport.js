// SPDX-License-Identifier: Apache-2.0
// HTTP to one server, over TCP, TLS or a Unix socket. Each call has a deadline for all of it, a limit on the size
// of the answer, and can be cancelled. Redirects are not followed, proxies of the environment are not used.
import { randomBytes } from "node:crypto";
import http from "node:http";
import https from "node:https";
import { setTimeout as sleep } from "node:timers/promises";
import { CanonicalError, ConfigError, ServerAnswerInvalid, ServerRefused, ServerUnreachable } from "./errors.js";
import { canonical, parse } from "./jcs.js";
import { sign } from "./signing.js";

export const MOST_ANSWER_BYTES = 4 * 1024 * 1024;
const LOOPBACK = new Set(["localhost", "127.0.0.1", "[::1]"]);

/** Where the server is: `http://HOST:PORT`, `https://HOST` or `unix:PATH`. */
export function readEndpoint(address, hasToken = false, allowPlain = false) {
  if (typeof address !== "string") throw new ConfigError("endpoint: give an address");
  if (address.startsWith("unix:")) {
    const socketPath = address.slice(5);
    if (!socketPath.startsWith("/")) throw new ConfigError("endpoint: a Unix socket is given as unix:/ABSOLUTE/PATH");
    return { text: address, isTls: false, base: "", options: { socketPath } };
  }
  let url;
  try {
    url = new URL(address);
  } catch {
    throw new ConfigError("endpoint: not an address");
  }
  if (!["http:", "https:"].includes(url.protocol)) {
    throw new ConfigError("endpoint: give http://HOST:PORT, https://HOST or unix:PATH");
  }
  if (url.username || url.password || url.search || url.hash) {
    throw new ConfigError("endpoint: an address has no user, no query and no fragment");
  }
  const isTls = url.protocol === "https:";
  if (!isTls && hasToken && !allowPlain && !LOOPBACK.has(url.hostname)) {
    throw new ConfigError("endpoint: a token is sent to another machine over https only");
  }
  const options = { host: url.hostname.replace(/^\[|\]$/g, ""), port: url.port || (isTls ? 443 : 80) };
  return { text: url.origin, isTls, base: url.pathname.replace(/\/$/, ""), options };
}

/** A text of the server for people: one line, bounded, without control characters. */
export function plain(text, most = 300) {
  if (typeof text !== "string") return "";
  const line = text.slice(0, most).replace(/[\p{C}\p{Zl}\p{Zp}]/gu, " ");
  return text.length > most ? `${line}…` : line;
}

/** Calls to one server. */
export class Transport {
  #token;
  #secret;

  constructor({ endpoint, token, signingSecret, timeoutMs = 10_000, budgetMs = 30_000 }) {
    this.endpoint = endpoint;
    this.#token = token;
    this.#secret = signingSecret;
    this.timeoutMs = timeoutMs;
    this.budgetMs = budgetMs;
    this.skewMs = 0; // the server's clock minus ours
  }

  /** The time of the server's clock, as far as it is known. */
  now() {
    return Date.now() + this.skewMs;
  }

  #headers(body) {
    const headers = { accept: "application/json", "user-agent": "rondo-relaytrace-js/0.1" };
    if (this.#token !== undefined) headers.authorization = `Bearer ${this.#token}`;
    if (body === undefined) return headers;
    headers["content-type"] = "application/json";
    headers["content-length"] = Buffer.byteLength(body);
    if (this.#secret !== undefined) {
      const id = `msg_${randomBytes(16).toString("hex")}`;
      const stamp = Math.floor(this.now() / 1000);
      headers["webhook-id"] = id;
      headers["webhook-timestamp"] = String(stamp);
      headers["webhook-signature"] = sign(this.#secret, id, stamp, body);
    }
    return headers;
  }

  #exchange(method, path, body, timeoutMs, signal) {
    return new Promise((resolve, reject) => {
      const { isTls, options, base, text } = this.endpoint;
      const limit = AbortSignal.timeout(timeoutMs);
      const both = signal ? AbortSignal.any([signal, limit]) : limit;
      const lost = (error) => {
        if (signal?.aborted) reject(signal.reason);
        else if (String(error?.code).startsWith("HPE_")) reject(new ServerAnswerInvalid(`${text}: not an HTTP answer`));
        else reject(new ServerUnreachable(`${text}: ${limit.aborted ? "no complete answer in time" : (error?.code ?? "no connection")}`));
      };
      const request = (isTls ? https : http).request(
        { ...options, method, path: base + path, headers: this.#headers(body), signal: both, agent: false },
        (response) => {
          const pieces = [];
          let size = 0;
          response.on("data", (piece) => {
            pieces.push(piece);
            size += piece.length;
            if (size > MOST_ANSWER_BYTES) {
              reject(new ServerAnswerInvalid(`${text}: an answer of more than ${MOST_ANSWER_BYTES} bytes`));
              request.destroy();
            }
          });
          response.on("error", lost);
          response.on("aborted", () => lost({ code: "cut off" }));
          response.on("end", () => resolve({ status: response.statusCode, headers: response.headers, body: Buffer.concat(pieces) }));
        },
      );
      request.on("error", lost);
      request.end(body);
    });
  }

  #refusal(answer, value) {
    const error = typeof value.error === "object" && value.error !== null ? value.error : {};
    const { status, headers } = answer;
    const shown = (one, most) => plain(typeof one === "string" && this.#token !== undefined ? one.replaceAll(this.#token, "***") : one, most);
    const message = shown(error.message ?? value.detail ?? value.title ?? "no explanation");
    const isGiven = typeof error.retryable === "boolean";
    const retryable = status === 409 || status === 429 ? (isGiven ? error.retryable : status === 429) : status >= 500;
    const after = /^\d{1,8}$/.test(headers["retry-after"] ?? "") ? Number(headers["retry-after"]) : 0;
    return new ServerRefused(status, shown(error.code ?? "refused", 60), message, retryable, Math.min(after, 60) * 1000);
  }

  #check(answer) {
    const { status, body } = answer;
    if (status === 204) return { ...answer, value: {} };
    let value;
    try {
      value = parse(body, { mustBeCanonical: false });
    } catch (error) {
      if (!(error instanceof CanonicalError)) throw error;
      if (status >= 500) throw new ServerRefused(status, "unavailable", "no explanation", true);
      throw new ServerAnswerInvalid(`${this.endpoint.text}: status ${status}, ${error.message}`);
    }
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      throw new ServerAnswerInvalid(`${this.endpoint.text}: status ${status}, and the answer is not an object`);
    }
    if (status >= 200 && status < 300) return { ...answer, value };
    if (status < 400) throw new ServerAnswerInvalid(`${this.endpoint.text}: status ${status}; redirects are not followed`);
    throw this.#refusal(answer, value);
  }

  /** One call, not repeated. */
  async once(method, path, value = undefined, { timeoutMs = this.timeoutMs, signal = undefined } = {}) {
    signal?.throwIfAborted();
    const body = value === undefined ? undefined : canonical(value);
    const answer = await this.#exchange(method, path, body, timeoutMs, signal);
    const date = Date.parse(answer.headers.date ?? "");
    if (!Number.isNaN(date)) this.skewMs = Math.abs(date - Date.now()) > 2000 ? date - Date.now() : 0;
    return this.#check(answer);
  }

  /** A call that may be repeated: on no answer, 5xx, and 409 and 429 that say so; within a budget. */
  async call(method, path, value = undefined, { budgetMs = this.budgetMs, signal = undefined } = {}) {
    const end = performance.now() + budgetMs;
    for (let attempt = 0; ; attempt++) {
      try {
        const timeoutMs = Math.max(10, Math.min(this.timeoutMs, end - performance.now()));
        return await this.once(method, path, value, { timeoutMs: Math.ceil(timeoutMs), signal });
      } catch (error) {
        const isLost = error instanceof ServerUnreachable || (error instanceof ServerRefused && error.retryable);
        const waitMs = Math.max(pauseMs(attempt), error.retryAfterMs ?? 0);
        if (!isLost || performance.now() + waitMs >= end) throw error;
        await sleep(waitMs, undefined, { signal });
      }
    }
  }
}

/** How long to wait before the next attempt: longer each time, with jitter. */
export function pauseMs(attempt) {
  return 50 + Math.random() * Math.min(5000, 200 * 2 ** Math.min(attempt, 10));
}
