// SPDX-License-Identifier: Apache-2.0
// Icons as paths on a grid of 16, drawn with the colour of their text. They are ornaments: what they
// mean stands beside them in words.

const PATHS = {
  runs: "M2.5 4h11M2.5 8h11M2.5 12h7",
  inbox: "M2.5 9 4.2 3h7.6l1.7 6v4h-11V9ZM2.5 9h3.2l.9 1.7h2.8l.9-1.7h3.2",
  bell: "M4 11V7a4 4 0 0 1 8 0v4l1 1.5H3L4 11ZM6.5 14.2h3",
  shield: "M8 1.8 13 3.6V8c0 3.2-2.1 5.2-5 6.3C5.1 13.2 3 11.2 3 8V3.6L8 1.8Z",
  pulse: "M1.5 8h3l2-5 3 10 2-5h3",
  sun: "M8 5.2a2.8 2.8 0 1 0 0 5.6 2.8 2.8 0 0 0 0-5.6ZM8 1.3v1.4M8 13.3v1.4M1.3 8h1.4M13.3 8h1.4M3.3 3.3l1 1M11.7 11.7l1 1M3.3 12.7l1-1M11.7 4.3l1-1",
  moon: "M13 9.6A5.6 5.6 0 0 1 6.4 3 5.6 5.6 0 1 0 13 9.6Z",
  auto: "M8 2.2a5.8 5.8 0 1 0 0 11.6V2.2Z M8 2.2a5.8 5.8 0 0 1 0 11.6",
  search: "M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9ZM10.4 10.4 14 14",
  close: "M4 4l8 8M12 4l-8 8",
  copy: "M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3",
  chevron: "M6 3.5 10.5 8 6 12.5",
  down: "M3.5 6 8 10.5 12.5 6",
  up: "M3.5 10 8 5.5 12.5 10",
  back: "M10 3.5 5.5 8l4.5 4.5",
  play: "M5 3.2v9.6l7.5-4.8L5 3.2Z",
  pause: "M5.2 3.5v9M10.8 3.5v9",
  stop: "M4 4h8v8H4z",
  raise: "M8 13V3M4 7l4-4 4 4",
  fork: "M4.5 3v10M4.5 9c0-3 7-1.5 7-5M2.8 3h3.4M9.8 3h3.4",
  branch:
    "M4 6v4M12 5.5c0 3-3 2.5-6.5 4.5M4 2.4a1.6 1.6 0 1 0 0 3.2 1.6 1.6 0 0 0 0-3.2ZM4 10.4a1.6 1.6 0 1 0 0 3.2 1.6 1.6 0 0 0 0-3.2ZM12 2.4a1.6 1.6 0 1 0 0 3.2 1.6 1.6 0 0 0 0-3.2Z",
  check: "M3 8.5 6.5 12 13 4.5",
  cross: "M4.2 4.2l7.6 7.6M11.8 4.2l-7.6 7.6",
  alert: "M8 2 14.5 13.5h-13L8 2ZM8 6.5v3M8 11.6v.2",
  limit: "M2.5 3.5h11M8 13V6M5 9l3-3 3 3",
  clock: "M8 2.2a5.8 5.8 0 1 0 0 11.6A5.8 5.8 0 0 0 8 2.2ZM8 5v3.2l2.2 1.4",
  lock: "M4 7.2h8v6H4ZM5.8 7.2V5a2.2 2.2 0 0 1 4.4 0v2.2",
  block: "M8 2.2a5.8 5.8 0 1 0 0 11.6A5.8 5.8 0 0 0 8 2.2ZM4 12 12 4",
  bolt: "M9 1.8 3.8 9H8l-1 5.2L12.2 7H8l1-5.2Z",
  queue: "M8 3.2v.1M8 8v.1M8 12.8v.1",
  park: "M5.5 13V3h3a2.8 2.8 0 0 1 0 5.6h-3",
  stack: "M8 2.3 14 5.5 8 8.7 2 5.5 8 2.3ZM2.6 8.6 8 11.5l5.4-2.9M2.6 11.4 8 14.3l5.4-2.9",
  next: "M2.5 4.2v7.6L8 8 2.5 4.2ZM8 4.2v7.6L13.5 8 8 4.2Z",
  gauge: "M2.4 11.8a6 6 0 1 1 11.2 0M8 10.2l2.8-4M8 10.1v.2",
  brain:
    "M8 3.4a2.3 2.3 0 0 0-4.3 1A2.6 2.6 0 0 0 2.8 9a2.6 2.6 0 0 0 5.2 2.2V3.4ZM8 3.4a2.3 2.3 0 0 1 4.3 1A2.6 2.6 0 0 1 13.2 9 2.6 2.6 0 0 1 8 11.2",
  dot: "M8 7.9v.2",
  model: "M8 2l1.6 4.4L14 8l-4.4 1.6L8 14l-1.6-4.4L2 8l4.4-1.6L8 2Z",
  tool: "M10 2.5a3.5 3.5 0 0 0-3.3 4.7L2.5 11.4l2.1 2.1 4.2-4.2A3.5 3.5 0 0 0 13.5 6L11.4 8 8 4.6l2-2.1Z",
  loop: "M13 8a5 5 0 1 1-1.6-3.7M13 2v3h-3",
  save: "M3 2.5h8l2 2v9H3zM5.5 2.5v4h5v-4M5.5 13.5V9.5h5v4",
  user: "M8 8a2.7 2.7 0 1 0 0-5.4A2.7 2.7 0 0 0 8 8ZM3 13.6c.6-2.3 2.6-3.6 5-3.6s4.4 1.3 5 3.6",
  key: "M10.5 2.5a3 3 0 1 0-2 5.2L3 13.2V14h2.2v-1.6h1.6v-1.6L8.4 9M10.6 5.4v.1",
  help: "M6 6a2 2 0 1 1 2.8 1.8c-.6.3-.8.7-.8 1.4M8 11.7v.1",
  offline:
    "M2 2l12 12M3 7.5a7.5 7.5 0 0 1 2.3-1.6M8 5c2 0 3.7.9 5 2.5M5.5 10a3.6 3.6 0 0 1 3.4-1M8 12.8v.1",
};

export function Icon({ name, size = 16 }) {
  return (
    <svg
      class={`icon icon-${name}`}
      width={size}
      height={size}
      viewBox="0 0 16 16"
      aria-hidden="true"
      focusable="false"
    >
      <path d={PATHS[name] ?? PATHS.dot} />
    </svg>
  );
}

export function Logo() {
  return (
    <svg
      class="logo"
      width="22"
      height="22"
      viewBox="0 0 32 32"
      aria-hidden="true"
      focusable="false"
    >
      <path d="M16 5a11 11 0 1 1-9.5 5.5" />
      <circle cx="16" cy="16" r="4" />
    </svg>
  );
}
