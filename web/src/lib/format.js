// SPDX-License-Identifier: Apache-2.0
// Numbers, durations, times and money for people. Fixed forms, so that columns stay still.

const counts = new Intl.NumberFormat("en-US");

export function count(value) {
  return value === null || value === undefined ? "–" : counts.format(value);
}

/** 950, 12.3k, 4.56M: at most five characters. */
export function short(value) {
  if (value === null || value === undefined) return "–";
  const steps = [
    [1e9, "G"],
    [1e6, "M"],
    [1e3, "k"],
  ];
  for (const [size, letter] of steps) {
    if (Math.abs(value) >= size * 0.99995) {
      const scaled = value / size;
      return `${scaled.toFixed(scaled >= 99.95 ? 0 : scaled >= 9.995 ? 1 : 2)}${letter}`;
    }
  }
  return String(Math.round(value * 100) / 100);
}

export function money(value) {
  if (value === null || value === undefined) return "–";
  if (value === 0) return "$0.00";
  return `$${value < 0.01 ? value.toFixed(4) : value < 1000 ? value.toFixed(2) : counts.format(Math.round(value))}`;
}

/** What something has cost: null when nobody knows. */
export const costOf = (value) => (value === null ? "unknown" : money(value));

export function bytes(value) {
  if (value === null || value === undefined) return "–";
  if (value < 1024) return `${value} B`;
  const units = ["KiB", "MiB", "GiB", "TiB"];
  let scaled = value / 1024;
  let unit = 0;
  while (scaled >= 1023.5 && unit < units.length - 1) {
    scaled /= 1024;
    unit += 1;
  }
  return `${scaled.toFixed(scaled < 10 ? 1 : 0)} ${units[unit]}`;
}

export function percent(value) {
  if (value === null || value === undefined) return "–";
  return `${value < 10 && value % 1 !== 0 ? value.toFixed(1) : Math.floor(value)}%`;
}

/** Milliseconds as 340 ms, 1.4 s, 2 m 05 s, 3 h 12 m, 4 d 02 h. */
export function span(ms) {
  if (ms === null || ms === undefined || Number.isNaN(ms)) return "–";
  if (ms < 1) return ms > 0 ? "<1 ms" : "0 ms";
  if (ms < 999.5) return `${Math.round(ms)} ms`;
  if (ms < 59_950) return `${(ms / 1000).toFixed(1)} s`;
  const pad = (value) => String(value).padStart(2, "0");
  const seconds = Math.round(ms / 1000);
  if (seconds < 3600) return `${Math.floor(seconds / 60)} m ${pad(seconds % 60)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 1440) return `${Math.floor(minutes / 60)} h ${pad(minutes % 60)} m`;
  const hours = Math.floor(minutes / 60);
  return `${Math.floor(hours / 24)} d ${pad(hours % 24)} h`;
}

export const spanOfNs = (ns) => span(ns === null || ns === undefined ? null : ns / 1e6);

/** How long ago, roughly: now, 12s, 5m, 3h, 8d. */
export function age(time, nowMs) {
  const seconds = Math.max(0, Math.floor((nowMs - Date.parse(time)) / 1000));
  if (Number.isNaN(seconds)) return "–";
  if (seconds < 2) return "now";
  if (seconds < 60) return `${seconds}s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)}h`;
  return `${Math.floor(seconds / 86_400)}d`;
}

/** How long until then, roughly: now, in 12s, in 5m, in 3h, in 8d. */
export function until(time, nowMs) {
  const seconds = Math.ceil((Date.parse(time) - nowMs) / 1000);
  if (Number.isNaN(seconds)) return "–";
  return seconds < 1 ? "now" : `in ${age(new Date(0), seconds * 1000).replace("now", "1s")}`;
}

const pad = (value, length = 2) => String(value).padStart(length, "0");

/** 14:03:09.120, in the reader's own zone. */
export function timeOfDay(time, hasMs = true) {
  const date = new Date(time);
  if (Number.isNaN(date.getTime())) return "–";
  const text = `${pad(date.getHours())}:${pad(date.getMinutes())}:${pad(date.getSeconds())}`;
  return hasMs ? `${text}.${pad(date.getMilliseconds(), 3)}` : text;
}

export function dateTime(time) {
  const date = new Date(time);
  if (Number.isNaN(date.getTime())) return "–";
  const day = `${date.getFullYear()}-${pad(date.getMonth() + 1)}-${pad(date.getDate())}`;
  return `${day} ${timeOfDay(time, false)}`;
}

/** A time for an input of the type datetime-local, in the reader's zone. */
export function localInput(time) {
  return dateTime(time).replace(" ", "T");
}

export const shortId = (id) => (id ? id.slice(0, 13) : "–");

export function plural(n, one, many = `${one}s`) {
  return `${count(n)} ${n === 1 ? one : many}`;
}

const UNITS = {
  iterations: count,
  tokens: short,
  cost: money,
  time: spanOfNs,
  daemon_daily_token_budget: short,
  daemon_token_budget: short,
  daemon_daily_cost_budget: money,
  daemon_weekly_cost_budget: money,
  daemon_cost_budget: money,
};

/** A value of a limit in the limit's own unit. */
export function ofLimit(name, value) {
  return (UNITS[name] ?? count)(value);
}

export const LIMIT_NAMES = {
  iterations: "Iterations",
  tokens: "Tokens",
  cost: "Cost",
  time: "Active time",
  daemon_daily_token_budget: "Tokens of the day",
  daemon_token_budget: "Tokens of its life",
  daemon_daily_cost_budget: "Cost of the day",
  daemon_weekly_cost_budget: "Cost of the week",
  daemon_cost_budget: "Cost of its life",
};

/** Why a condition is as it is, in words: the exit code says more than "exit_nonzero". */
export function reasonOf({ reason, exit_code: code }) {
  if (reason === "exit_zero") return "";
  if (reason === "exit_nonzero" && code !== null && code !== undefined) return `exit ${code}`;
  return (reason ?? "").replaceAll("_", " ");
}
