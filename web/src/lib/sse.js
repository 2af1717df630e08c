// SPDX-License-Identifier: Apache-2.0
// Server-sent events by fetch (EventSource cannot send an Authorization header): parsing, and a
// stream that comes back by itself with growing delay and the id of the last event.
import { authorization } from "./api.js";
import { refuse } from "./session.js";

const FIRST_DELAY_MS = 500;
const LONGEST_DELAY_MS = 30_000;
/** Heartbeats come every 15 s; without any byte for longer the connection is taken for dead. */
const SILENCE_MS = 40_000;
/** A page that nobody sees gives its connection back: browsers have six for a server. */
const HIDDEN_MS = 30_000;

/** Takes pieces of text, calls onFrame({id, event, data}) for each whole event. */
export class FrameParser {
  #rest = "";
  #frame = { event: "", data: [], id: null };

  constructor(onFrame, onRetry = () => {}) {
    this.onFrame = onFrame;
    this.onRetry = onRetry;
  }

  push(text) {
    const lines = (this.#rest + text).split(/\r\n|\n|\r(?!$)/);
    this.#rest = lines.pop();
    for (const line of lines) this.#line(line);
  }

  #line(line) {
    if (line === "") return this.#end();
    if (line.startsWith(":")) return;
    const colon = line.indexOf(":");
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (name === "data") this.#frame.data.push(value);
    else if (name === "event") this.#frame.event = value;
    else if (name === "id" && !value.includes("\0")) this.#frame.id = value;
    else if (name === "retry" && /^\d+$/.test(value)) this.onRetry(Number(value));
  }

  #end() {
    const { event, data, id } = this.#frame;
    this.#frame = { event: "", data: [], id: null };
    if (data.length > 0 || id !== null) {
      this.onFrame({ id, event: event || "message", data: data.join("\n") });
    }
  }
}

/** Delay before try number n (from 0): doubles, with jitter of a quarter, within the limits. */
export function delayOf(failures, random = Math.random) {
  const delay = Math.min(FIRST_DELAY_MS * 2 ** failures, LONGEST_DELAY_MS);
  const jittered = delay * (0.75 + random() * 0.5);
  return Math.round(Math.min(Math.max(jittered, FIRST_DELAY_MS), LONGEST_DELAY_MS));
}

export class Stream {
  #url;
  #on;
  #lastId;
  #failures = 0;
  #abort = null;
  #timer = null;
  #silence = null;
  #hidden = null;
  #isClosed = false;

  /**
   * on: { frame({id, event, data}), state({phase, retryAt, problem}), open(isFirst) }.
   * Phases: connecting, live, waiting, paused, refused, closed.
   */
  constructor(url, on, lastId = null) {
    this.#url = url;
    this.#on = on;
    this.#lastId = lastId;
    this.wasOpen = false;
    this.wake = () => this.#wakeUp();
    this.seen = () => this.#onVisibility();
    addEventListener("online", this.wake);
    document.addEventListener("visibilitychange", this.seen);
    this.#connect();
  }

  get lastId() {
    return this.#lastId;
  }

  /** Try now instead of after the delay. */
  retryNow() {
    this.#wakeUp();
  }

  close() {
    this.#isClosed = true;
    this.#disconnect();
    removeEventListener("online", this.wake);
    document.removeEventListener("visibilitychange", this.seen);
    this.#say("closed");
  }

  #say(phase, more = {}) {
    this.phase = phase;
    this.#on.state?.({ phase, ...more });
  }

  #disconnect() {
    clearTimeout(this.#timer);
    clearTimeout(this.#silence);
    clearTimeout(this.#hidden);
    this.#abort?.abort();
    this.#abort = null;
  }

  #wakeUp() {
    if (this.#isClosed || !["waiting", "paused"].includes(this.phase)) return;
    this.#disconnect();
    this.#connect();
  }

  #onVisibility() {
    clearTimeout(this.#hidden);
    if (document.hidden) {
      this.#hidden = setTimeout(() => {
        if (this.#isClosed || this.phase === "refused") return;
        this.#disconnect();
        this.#say("paused");
      }, HIDDEN_MS);
    } else {
      this.#failures = 0;
      this.#wakeUp();
    }
  }

  #guardSilence(abort) {
    clearTimeout(this.#silence);
    this.#silence = setTimeout(() => abort.abort(), SILENCE_MS);
  }

  async #connect() {
    const abort = new AbortController();
    this.#abort = abort;
    this.#say("connecting");
    let problem = null;
    try {
      this.#guardSilence(abort);
      problem = await this.#read(abort);
    } catch (error) {
      problem = error;
    }
    if (this.#abort !== abort || this.#isClosed) return;
    clearTimeout(this.#silence);
    if (problem?.isFinal) return this.#say("refused", { problem });
    this.#wait(problem);
  }

  #wait(problem) {
    const delay = Math.max(delayOf(this.#failures), problem?.retryAfterMs ?? 0);
    this.#failures += 1;
    this.#say("waiting", { retryAt: Date.now() + delay });
    this.#timer = setTimeout(() => this.#connect(), delay);
  }

  /** @return null when the server ended the stream, or {isFinal, status, retryAfterMs} */
  async #read(abort) {
    const response = await fetch(this.#url, {
      signal: abort.signal,
      cache: "no-store",
      credentials: "omit",
      headers: {
        Accept: "text/event-stream",
        ...authorization(),
        ...(this.#lastId === null ? {} : { "Last-Event-ID": String(this.#lastId) }),
      },
    });
    if (!response.ok) return this.#refusal(response);
    this.#guardSilence(abort);
    this.#say("live");
    this.#on.open?.(!this.wasOpen);
    this.wasOpen = true;
    await this.#pump(response.body, abort);
    return null;
  }

  async #pump(body, abort) {
    const parser = new FrameParser((frame) => {
      if (frame.id !== null) this.#lastId = frame.id;
      this.#failures = 0;
      if (frame.data !== "") this.#on.frame(frame);
    });
    const reader = body.getReader();
    const decoder = new TextDecoder();
    for (;;) {
      const { done, value } = await reader.read();
      if (done || this.#abort !== abort) return;
      this.#guardSilence(abort);
      parser.push(decoder.decode(value, { stream: true }));
    }
  }

  #refusal(response) {
    response.body?.cancel().catch(() => {});
    const { status } = response;
    if (status === 401) refuse();
    const seconds = Number(response.headers.get("Retry-After"));
    const isFinal = status >= 400 && status < 500 && status !== 408 && status !== 429;
    return { isFinal, status, retryAfterMs: Math.min(seconds || 0, 30) * 1000 };
  }
}
