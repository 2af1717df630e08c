// SPDX-License-Identifier: Apache-2.0
// A line or bar chart over iterations, drawn by uPlot with the colours of the theme.
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { useSize } from "../lib/hooks.js";
import { useSignal } from "../lib/store.js";
import { theme } from "../lib/theme.js";

const HEIGHT = 116;

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function axis(format) {
  return {
    stroke: colour("--faint"),
    font: "11px system-ui, sans-serif",
    grid: { stroke: colour("--line-soft"), width: 1 },
    ticks: { show: false },
    gap: 4,
    values: (_, values) => values.map(format),
  };
}

function options({ width, name, format, tone, isBars }) {
  const stroke = colour(`--${tone}`);
  return {
    width,
    height: HEIGHT,
    padding: [6, 8, 0, 0],
    legend: { show: false },
    cursor: { y: false, points: { size: 6 }, drag: { x: false, y: false } },
    scales: { x: { time: false }, y: { range: (_, low, high) => [0, high > 0 ? high * 1.1 : 1] } },
    axes: [
      { ...axis((value) => (Number.isInteger(value) ? value : "")), size: 22 },
      { ...axis((value) => format(value)), size: 46 },
    ],
    series: [
      {},
      {
        label: name,
        stroke,
        width: isBars ? 0 : 1.5,
        fill: isBars ? stroke : `${stroke}26`,
        points: { show: false },
        paths: isBars ? uPlot.paths.bars({ size: [0.7, 24], gap: 0 }) : undefined,
      },
    ],
  };
}

/** xs: iterations, ys: values; onPoint(index or null) while the pointer is over the chart. */
export function Chart({ name, xs, ys, format, tone = "blue", isBars = false, value }) {
  const ref = useRef(null);
  const readout = useRef(null);
  const plot = useRef(null);
  const { width } = useSize(ref);
  const { shown } = useSignal(theme);
  const data = useRef([xs, ys]);
  data.current = [xs, ys];
  useEffect(() => {
    if (!width) return undefined;
    const chart = new uPlot(
      options({ width, name, format, tone, isBars }),
      data.current,
      ref.current,
    );
    chart.hooks.setCursor = [
      (self) => {
        const { idx } = self.cursor;
        const isOn = idx !== null && idx !== undefined && self.cursor.left >= 0;
        readout.current.textContent = isOn
          ? `#${self.data[0][idx]} · ${format(self.data[1][idx] ?? 0)}`
          : "";
      },
    ];
    plot.current = chart;
    return () => {
      chart.destroy();
      plot.current = null;
    };
  }, [width, shown, name, tone, isBars]);
  useEffect(() => {
    plot.current?.setData([xs, ys]);
  }, [xs, ys]);
  return (
    <figure class="chart">
      <figcaption>
        <span>{name}</span>
        <span class="chart-read" ref={readout} aria-hidden="true" />
        <strong>{value}</strong>
      </figcaption>
      <div
        class="chart-plot"
        ref={ref}
        role="img"
        aria-label={`${name} by iteration, ${xs.length} iterations; now ${value}`}
      />
    </figure>
  );
}
