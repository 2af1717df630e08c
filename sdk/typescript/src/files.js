// SPDX-License-Identifier: Apache-2.0
// Small files that survive a crash: checkpoints of lanes, results of actions, and reports that could not be sent.
import { createHash, randomBytes } from "node:crypto";
import {
  closeSync, constants, fstatSync, fsyncSync, mkdirSync, openSync, readFileSync, readdirSync, renameSync, rmSync, statSync, writeFileSync,
} from "node:fs";
import path from "node:path";
import { RelayTraceError, ServerAnswerInvalid, ServerRefused, ServerUnreachable } from "./errors.js";
import { canonical, parse } from "./jcs.js";

const MOST_BYTES = 16 * 1024 * 1024;
const MOST_MESSAGES = 10_000;
const FINAL = [400, 403, 404, 409, 413, 422];

// What others could have put there decides nothing. Windows has no such owners.
function checkOwner(info, file) {
  const own = process.geteuid?.();
  if (own !== undefined && ((info.uid !== own && info.uid !== 0) || (info.mode & 0o022) !== 0)) {
    throw new RelayTraceError(`${path.basename(file)}: other users can write it`);
  }
}

/** Replace a file: written beside, synced, renamed; readable by its owner only. */
export function writeFile(file, value) {
  mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
  checkOwner(statSync(path.dirname(file)), path.dirname(file));
  const beside = path.join(path.dirname(file), `.${path.basename(file)}.${randomBytes(6).toString("hex")}`);
  const fd = openSync(beside, "wx", 0o600);
  try {
    try {
      writeFileSync(fd, canonical(value));
      fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
    renameSync(beside, file);
  } catch (error) {
    rmSync(beside, { force: true });
    throw error;
  }
}

/** The JSON of a file, or undefined when there is none. Throws when it cannot be read, is a link or no file, or
 * can be written by other users. */
export function readFile(file) {
  let fd;
  try {
    fd = openSync(file, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0));
  } catch (error) {
    if (error.code === "ENOENT") return undefined;
    throw error;
  }
  try {
    const info = fstatSync(fd);
    if (!info.isFile()) throw new RelayTraceError(`${path.basename(file)} is not a file`);
    checkOwner(info, file);
    if (info.size > MOST_BYTES) throw new RelayTraceError(`${path.basename(file)} is too large`);
    return parse(readFileSync(fd));
  } finally {
    closeSync(fd);
  }
}

/** A message that is not sent any more. Another process may have sent it meanwhile. */
function setAside(file, why) {
  try {
    renameSync(file, `${file}.${why}`);
  } catch {
    // It is not there any more.
  }
}

/** One file for each request. Replace it by an object with the same methods: a database, an object store. */
export class FileCheckpoints {
  constructor(folder) {
    this.folder = folder;
  }

  #file(requestId) {
    if (!/^[0-9a-f-]{36}$/.test(requestId)) throw new RelayTraceError("not the id of a request");
    return path.join(this.folder, `${requestId}.json`);
  }

  async save(requestId, state) {
    writeFile(this.#file(requestId), state);
    return `file:${requestId}`;
  }

  async load(requestId) {
    return readFile(this.#file(requestId));
  }

  async delete(requestId) {
    rmSync(this.#file(requestId), { force: true });
  }
}

/** Messages of one agent to one server that could not be sent. They contain digests and ids, no arguments. */
export class Spool {
  constructor(stateDir, endpoint, agentId) {
    const name = createHash("sha256").update(`${endpoint}\n${agentId}`).digest("hex").slice(0, 32);
    this.folder = path.join(stateDir, "spool", name);
  }

  #names() {
    try {
      return readdirSync(this.folder).filter((name) => /^[^.].*\.json$/.test(name)).sort();
    } catch {
      return [];
    }
  }

  /** Keep a message. What fails is not raised. @returns whether it was kept */
  add(route, value) {
    try {
      if (this.#names().length >= MOST_MESSAGES) return false;
      const name = `${String(Date.now()).padStart(16, "0")}-${randomBytes(6).toString("hex")}.json`;
      writeFile(path.join(this.folder, name), { path: route, value });
      return true;
    } catch {
      return false;
    }
  }

  /** Send what is kept, the oldest first; several processes may do so. Throws nothing. @returns messages that are left */
  async flush(send) {
    const names = this.#names();
    for (const [position, name] of names.entries()) {
      const file = path.join(this.folder, name);
      try {
        const message = readFile(file);
        if (message === undefined) continue; // another process has sent it
        await send(message.path, message.value);
        rmSync(file, { force: true });
      } catch (error) {
        const isFinal = error instanceof ServerRefused && FINAL.includes(error.status);
        const isLost = error instanceof ServerUnreachable || error instanceof ServerAnswerInvalid;
        if (isLost || (error instanceof ServerRefused && !isFinal)) return names.length - position;
        setAside(file, isFinal ? "refused" : "damaged");
      }
    }
    return 0;
  }
}
