// SPDX-License-Identifier: Apache-2.0
// RelayTrace: the client of Rondo's handoffs for Node. docs/sdk-typescript.md explains it.
export * from "./errors.js";
export { actionDigest, canonical, digest, operand, parse, requestId } from "./jcs.js";
export { FileCheckpoints } from "./files.js";
export { Lane, Permit, Supervisor, describe } from "./supervisor.js";
