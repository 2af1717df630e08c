// SPDX-License-Identifier: Apache-2.0
// How events are laid out: the server sends the sentence, category and level of each; here are the
// label and the colour of a category.
export const CATEGORIES = {
  iteration: { label: "Iterations", tone: "blue" },
  condition: { label: "Conditions", tone: "green" },
  model: { label: "Model", tone: "violet" },
  tool: { label: "Tools", tone: "teal" },
  checkpoint: { label: "Checkpoints", tone: "grey" },
  policy: { label: "Policy", tone: "amber" },
  run: { label: "Run", tone: "grey" },
};

/** When what an event is about began: the event is written when it is over. */
export function startOf(event) {
  const duration = event.data?.duration_ns;
  return duration ? new Date(Date.parse(event.time) - duration / 1e6).toISOString() : event.time;
}
