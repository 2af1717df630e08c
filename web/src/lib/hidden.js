// SPDX-License-Identifier: Apache-2.0
// Values that a rule of the desk file hides. Only the server's list of pointers says which they are:
// an agent can send an object that looks like one.

export class Hidden {
  constructor(pointer, placeholder) {
    this.pointer = pointer;
    this.placeholder = placeholder;
  }

  toJSON() {
    return this.placeholder;
  }
}

const unescape = (segment) => segment.replaceAll("~1", "/").replaceAll("~0", "~");

/** The object or array that a value is in, and its name there; null when there is none. */
function placeOf(root, pointer) {
  const names = pointer.split("/").slice(1).map(unescape);
  const last = names.pop();
  let at = root;
  for (const name of names) {
    if (at === null || typeof at !== "object" || !Object.hasOwn(at, name)) return null;
    at = at[name];
  }
  if (at === null || typeof at !== "object" || !Object.hasOwn(at, last)) return null;
  return { at, last };
}

function mark(root, pointer, full) {
  const place = placeOf(root, pointer);
  const value = place?.at[place.last];
  if (value !== null && typeof value === "object" && value.redacted === true)
    place.at[place.last] = new Hidden(full, value);
}

/** A copy of an entry with Hidden in the places that the server lists. */
export function marked(entry) {
  const pointers = Array.isArray(entry.redacted) ? entry.redacted : [];
  if (!pointers.length) return entry;
  const copy = structuredClone(entry);
  for (const pointer of pointers) {
    mark(copy, `/request${pointer}`, pointer);
    if (pointer.startsWith("/action")) mark(copy, pointer, pointer);
  }
  return copy;
}
