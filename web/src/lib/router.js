// SPDX-License-Identifier: Apache-2.0
// Pages by the part of the address after `#`: "#/runs/01ab/timeline?type=tool".
import { Signal } from "./store.js";

function read() {
  const text = location.hash.replace(/^#/, "") || "/runs";
  const [path, search = ""] = text.split("?");
  const parts = path.split("/").filter(Boolean).map(decodeURIComponent);
  return { parts, params: Object.fromEntries(new URLSearchParams(search)), text };
}

export const route = new Signal(read());
addEventListener("hashchange", () => {
  route.value = read();
});

export function href(...parts) {
  return `#/${parts.map(encodeURIComponent).join("/")}`;
}

export function go(...parts) {
  location.hash = href(...parts).slice(1);
}

/** Change the query after `?` without a new entry in the history. */
export function setParams(params) {
  const { parts } = route.value;
  const kept = Object.entries(params).filter(([, value]) => value);
  const search = new URLSearchParams(kept).toString();
  history.replaceState(null, "", href(...parts) + (search ? `?${search}` : ""));
  route.value = read();
}
