// SPDX-License-Identifier: Apache-2.0
// Who looks at the page: the token (kept for this tab only), and what it may do.
import { Signal } from "./store.js";

const KEY = "rondo.token";

/** state: "unknown" | "in" | "needs_token"; me: answer of /v1/me */
export const session = new Signal({ state: "unknown", me: null, isTokenWrong: false });

let token = takeFromAddress() ?? readStored();

function readStored() {
  try {
    return sessionStorage.getItem(KEY);
  } catch {
    return null;
  }
}

/** A token has no escapes: what cannot be decoded is sent as it stands, and refused. */
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** `#token=...` in the address is used and removed from it, so that no history or copy keeps it. */
function takeFromAddress() {
  const match = /^#token=([^&/]+)(.*)$/.exec(location.hash);
  if (!match) return null;
  history.replaceState(null, "", location.pathname + (match[2] ? `#${match[2].slice(1)}` : ""));
  const value = decoded(match[1]);
  keep(value);
  return value;
}

function keep(value) {
  try {
    if (value) sessionStorage.setItem(KEY, value);
    else sessionStorage.removeItem(KEY);
  } catch {
    // Without storage the token lives as long as the page.
  }
}

export function bearer() {
  return token;
}

export function setToken(value) {
  token = value || null;
  keep(token);
  session.value = { state: "unknown", me: null, isTokenWrong: false };
}

/** The API does not know us. */
export function refuse() {
  if (session.value.state === "needs_token") return;
  session.value = { state: "needs_token", me: null, isTokenWrong: Boolean(token) };
}

export function admit(me) {
  session.value = { state: "in", me, isTokenWrong: false };
}

/** Null when the caller has the right that the scope is named after, else a sentence that says why not. */
export function lacks(scope) {
  const { me } = session.value;
  if (!me) return "Not signed in";
  if (me.rights.includes(scope)) return null;
  return `Your token has the scope “${me.scope}”; this requires “${scope}”`;
}
