// SPDX-License-Identifier: Apache-2.0
// Warnings that arrived while this page was open.
import { Signal } from "./store.js";

/** {fresh: newest first, unseen: number} */
export const warnings = new Signal({ fresh: [], unseen: 0 });
const MOST = 200;

export function noteWarning(warning) {
  const { fresh, unseen } = warnings.value;
  if (fresh.some(({ id }) => id === warning.id)) return false;
  warnings.value = { fresh: [warning, ...fresh].slice(0, MOST), unseen: unseen + 1 };
  return true;
}

export function markSeen() {
  if (warnings.value.unseen) warnings.value = { ...warnings.value, unseen: 0 };
}
