// SPDX-License-Identifier: Apache-2.0
// Tables of figures, and shares with what they are shares of.

const WEAK = "Fewer than 20 cases: the interval says more than the share";

export const inPercent = (value) => `${(value * 100).toFixed(value > 0 && value < 0.1 ? 1 : 0)}%`;

/** "no data" where nothing was counted: that is not 0 %. */
export function Share({ of }) {
  if (of.value === null) return <span class="faint">no data</span>;
  return (
    <span
      class={of.is_enough ? "" : "faint"}
      title={`${of.part} of ${of.whole}; 95% interval ${inPercent(of.low)} to ${inPercent(of.high)}${of.is_enough ? "" : `. ${WEAK}`}`}
    >
      {inPercent(of.value)}{" "}
      <small class="faint">
        {of.part}/{of.whole}
      </small>
    </span>
  );
}

export function Table({ label, heads, rows, none }) {
  if (rows.length === 0) return <p class="pad faint">{none}</p>;
  return (
    <div class="scroll-wide" tabIndex={0} role="group" aria-label={label}>
      <table class="plain-table">
        <thead>
          <tr>
            {heads.map(([name, title], at) => (
              <th key={name} scope="col" class={at ? "num" : ""} title={title}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(([key, first, ...rest]) => (
            <tr key={key}>
              <th scope="row">{first}</th>
              {rest.map((cell, at) => (
                <td key={at} class="num">
                  {cell}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
