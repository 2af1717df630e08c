// SPDX-License-Identifier: Apache-2.0
// Differences of two texts by lines: longest common subsequence between what is equal at both ends.

const MOST_CELLS = 4_000_000;

/** @return [{sign: " " | "+" | "-", text, left, right}] with line numbers from 1 */
export function diffLines(before, after) {
  const a = before.split("\n");
  const b = after.split("\n");
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start += 1;
  let tail = 0;
  while (
    tail < a.length - start &&
    tail < b.length - start &&
    a[a.length - 1 - tail] === b[b.length - 1 - tail]
  )
    tail += 1;
  const middle = compare(a.slice(start, a.length - tail), b.slice(start, b.length - tail));
  const rows = [
    ...a.slice(0, start).map((text) => [" ", text]),
    ...middle,
    ...a.slice(a.length - tail).map((text) => [" ", text]),
  ];
  return number(rows);
}

function number(rows) {
  let left = 0;
  let right = 0;
  return rows.map(([sign, text]) => {
    if (sign !== "+") left += 1;
    if (sign !== "-") right += 1;
    return { sign, text, left: sign === "+" ? null : left, right: sign === "-" ? null : right };
  });
}

function compare(a, b) {
  if (a.length * b.length > MOST_CELLS) {
    return [...a.map((text) => ["-", text]), ...b.map((text) => ["+", text])];
  }
  const width = b.length + 1;
  const lengths = new Uint32Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      lengths[i * width + j] =
        a[i] === b[j]
          ? lengths[(i + 1) * width + j + 1] + 1
          : Math.max(lengths[(i + 1) * width + j], lengths[i * width + j + 1]);
    }
  }
  const rows = [];
  let i = 0;
  let j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      rows.push([" ", a[i]]);
      i += 1;
      j += 1;
    } else if (
      i < a.length &&
      (j >= b.length || lengths[(i + 1) * width + j] >= lengths[i * width + j + 1])
    ) {
      rows.push(["-", a[i]]);
      i += 1;
    } else {
      rows.push(["+", b[j]]);
      j += 1;
    }
  }
  return rows;
}

/** Only what changed, with so many lines around it; null stands for lines left out. */
export function hunks(rows, around = 3) {
  const isNear = new Array(rows.length).fill(false);
  rows.forEach(({ sign }, at) => {
    if (sign === " ") return;
    for (let i = Math.max(0, at - around); i <= Math.min(rows.length - 1, at + around); i += 1)
      isNear[i] = true;
  });
  const out = [];
  rows.forEach((row, at) => {
    if (isNear[at]) out.push(row);
    else if (out.length === 0 || out[out.length - 1] !== null) out.push(null);
  });
  return out;
}
