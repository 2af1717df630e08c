// SPDX-License-Identifier: Apache-2.0
// The last results of a condition as small marks: high and green = met, low and red = not met.

export function Spark({ history, most = 32 }) {
  const shown = history.slice(-most);
  const met = shown.filter(({ status }) => status === "met").length;
  return (
    <span class="spark" role="img" aria-label={`Last ${shown.length} evaluations: ${met} met`}>
      {shown.map(({ seq, status }) => (
        <i key={seq} class={status === "met" ? "is-met" : ""} />
      ))}
    </span>
  );
}
