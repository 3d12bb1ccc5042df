// Live series with uPlot, and sparklines as a plain path. A missing sample is a gap, never a zero.
import { useEffect, useMemo, useRef } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { clock, known, type Maybe, utc } from "../core/format";
import { shown } from "../core/palette";
import { useStore } from "../core/store";

export type Points = readonly (number | null)[];

export interface Series {
  label: string;
  colour: string;
  points: Points;
}

interface ChartProps {
  /** What the chart shows, for screen readers and headings of the tooltip. */
  label: string;
  /** Unix seconds. */
  times: readonly number[];
  series: readonly Series[];
  format: (value: number) => string;
  height?: number;
  stacked?: boolean;
  /** A line to compare with, such as a limit. */
  limits?: readonly { value: number; colour: string }[];
}

/** Sums of the series below and including each; a gap in one counts as nothing there, gaps in all stay. */
export function stackOf(series: readonly Points[]): (number | null)[][] {
  const length = Math.max(0, ...series.map((points) => points.length));
  const sums: number[] = new Array<number>(length).fill(0);
  return series.map((points) =>
    Array.from({ length }, (_, index) => {
      const everyGap = series.every((each) => !known(each[index]));
      if (everyGap) return null;
      sums[index] = (sums[index] ?? 0) + (points[index] ?? 0);
      return sums[index] ?? null;
    }),
  );
}

const cssColour = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function tooltipPlugin(show: (index: number | null, left: number) => void): uPlot.Plugin {
  return {
    hooks: {
      setCursor: (plot: uPlot) => show(plot.cursor.idx ?? null, plot.cursor.left ?? 0),
    },
  };
}

function axisSize(plot: uPlot, values: string[] | null): number {
  if (!values) return 40;
  const longest = values.reduce((a, b) => (b.length > a.length ? b : a), "");
  plot.ctx.save();
  plot.ctx.font = "11px system-ui";
  const wide = plot.ctx.measureText(longest).width;
  plot.ctx.restore();
  return Math.ceil(wide) + 16;
}

function options(props: ChartProps, width: number, plugin: uPlot.Plugin): uPlot.Options {
  const text = cssColour("--text-2");
  const grid = cssColour("--line-1");
  const axis = { stroke: text, font: "11px system-ui", grid: { stroke: grid, width: 1 }, ticks: { show: false } };
  return {
    width,
    height: props.height ?? 180,
    padding: [10, 8, 0, 0],
    legend: { show: false },
    cursor: { y: false, points: { size: 7 }, drag: { x: false, y: false } },
    scales: { x: { time: true }, y: { range: (_plot, low, high) => [Math.min(0, low ?? 0), high && high > 0 ? high * 1.08 : 1] } },
    tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), "Etc/UTC"),
    axes: [
      { ...axis, space: 70, size: 26, values: (_plot, ticks) => ticks.map((tick) => clock(tick * 1000).slice(0, tick % 60 ? 8 : 5)) },
      { ...axis, space: 34, size: axisSize, values: (_plot, ticks) => ticks.map(props.format) },
    ],
    series: [
      {},
      ...props.series.map((each) => ({
        label: each.label,
        stroke: each.colour,
        width: props.stacked ? 1 : 1.6,
        fill: props.stacked ? `${each.colour}d0` : props.series.length === 1 ? `${each.colour}22` : undefined,
        points: { show: false },
        spanGaps: false,
      })),
    ],
    plugins: [plugin],
    hooks: {
      draw: [
        (plot: uPlot) => {
          for (const limit of props.limits ?? []) {
            const y = plot.valToPos(limit.value, "y", true);
            if (y < plot.bbox.top || y > plot.bbox.top + plot.bbox.height) continue;
            plot.ctx.save();
            plot.ctx.strokeStyle = limit.colour;
            plot.ctx.setLineDash([4, 4]);
            plot.ctx.beginPath();
            plot.ctx.moveTo(plot.bbox.left, y);
            plot.ctx.lineTo(plot.bbox.left + plot.bbox.width, y);
            plot.ctx.stroke();
            plot.ctx.restore();
          }
        },
      ],
    },
  };
}

function plotted(props: ChartProps): uPlot.AlignedData {
  const lines = props.series.map((each) => each.points);
  // The topmost sum is drawn first, so that those below cover their own part of it.
  const columns = props.stacked ? stackOf(lines).reverse() : lines;
  return [props.times, ...columns] as unknown as uPlot.AlignedData;
}

function drawn(props: ChartProps): ChartProps {
  return props.stacked ? { ...props, series: [...props.series].reverse() } : props;
}

export function Chart(props: ChartProps) {
  const box = useRef<HTMLDivElement>(null);
  const tip = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const latest = useRef(props);
  latest.current = props;
  const theme = useStore(shown);
  const look = `${theme.theme}|${theme.palette}|${props.stacked}|${props.height}|${props.series.map((s) => s.label + s.colour).join("|")}`;

  useEffect(() => {
    const home = box.current;
    if (!home) return;
    const show = (index: number | null, left: number): void => {
      const layer = tip.current;
      if (!layer) return;
      const { times, series, format } = latest.current;
      const at = index === null ? undefined : times[index];
      if (index === null || at === undefined) {
        layer.hidden = true;
        return;
      }
      layer.hidden = false;
      layer.replaceChildren(line("chart-tip-time", utc(at * 1000).replace(".000", "")));
      for (const each of [...series].reverse()) {
        const value: Maybe = each.points[index];
        const row = line("chart-tip-row", "");
        const swatch = document.createElement("span");
        swatch.className = "swatch";
        swatch.style.background = each.colour;
        row.append(swatch, line("", each.label), line("chart-tip-value", known(value) ? format(value) : "no sample"));
        layer.append(row);
      }
      const wide = home.clientWidth;
      layer.style.left = `${Math.min(Math.max(0, left + 60), Math.max(0, wide - layer.offsetWidth - 4))}px`;
    };
    const made = new uPlot(options(drawn(latest.current), home.clientWidth || 300, tooltipPlugin(show)), plotted(latest.current), home);
    plot.current = made;
    const sizes = new ResizeObserver(() => {
      if (home.clientWidth > 0) made.setSize({ width: home.clientWidth, height: latest.current.height ?? 180 });
    });
    sizes.observe(home);
    return () => {
      sizes.disconnect();
      made.destroy();
      plot.current = null;
    };
  }, [look]);

  useEffect(() => plot.current?.setData(plotted(props)), [props]);

  const newest = props.series.map((each) => {
    const value = [...each.points].reverse().find(known);
    return `${each.label} ${known(value) ? props.format(value) : "unknown"}`;
  });
  return (
    <div className="chart" role="img" aria-label={`${props.label}, latest: ${newest.join(", ")}`} style={{ height: props.height ?? 180 }}>
      <div ref={box} />
      <div ref={tip} className="chart-tip" hidden />
    </div>
  );
}

function line(className: string, text: string): HTMLElement {
  const element = document.createElement("span");
  element.className = className;
  element.textContent = text;
  return element;
}

/** Names and colours of a chart's series, with their latest values. */
export function Legend({ series, format }: { series: readonly Series[]; format: (value: number) => string }) {
  return (
    <ul className="legend">
      {series.map((each) => {
        const value = each.points.at(-1);
        return (
          <li key={each.label}>
            <span className="swatch" style={{ background: each.colour }} />
            <bdi className="legend-name">{each.label}</bdi> <span className="legend-value">{known(value) ? format(value) : "unknown"}</span>
          </li>
        );
      })}
    </ul>
  );
}

/** Without the gaps before the first sample: nothing was missed there. */
export function withoutLead(points: Points): Points {
  const first = points.findIndex(known);
  return first <= 0 ? points : points.slice(first);
}

/** The pieces of a path; a gap begins a new one. */
export function sparkPath(points: Points, width: number, height: number): string {
  const values = points.filter(known);
  if (values.length < 2) return "";
  const low = Math.min(...values);
  const high = Math.max(...values);
  const range = high - low || 1;
  const step = width / Math.max(1, points.length - 1);
  let path = "";
  let pen = false;
  for (const [index, value] of points.entries()) {
    if (!known(value)) {
      pen = false;
      continue;
    }
    const y = height - 2 - ((value - low) / range) * (height - 4);
    path += `${pen ? "L" : "M"}${(index * step).toFixed(1)} ${y.toFixed(1)}`;
    pen = true;
  }
  return path;
}

export function Sparkline({ points, label, format, colour = "var(--accent)", height = 28 }: {
  points: Points;
  label: string;
  format: (value: number) => string;
  colour?: string;
  height?: number;
}) {
  const path = useMemo(() => sparkPath(withoutLead(points), 120, height), [points, height]);
  const values = points.filter(known);
  const tip = values.length > 0 ? `${label}: lowest ${format(Math.min(...values))}, highest ${format(Math.max(...values))}, latest ${format(values.at(-1) ?? 0)}` : `${label}: no samples yet`;
  return (
    <svg className="sparkline" viewBox={`0 0 120 ${height}`} preserveAspectRatio="none" height={height} role="img" aria-label={tip} data-tip={tip}>
      {path && <path d={path} fill="none" stroke={colour} strokeWidth="1.5" vectorEffect="non-scaling-stroke" strokeLinejoin="round" />}
    </svg>
  );
}

/** Parts of a whole as one bar; widths are exact, tiny parts stay visible. */
export function PartsBar({ parts, label }: { parts: readonly { name: string; value: number; colour: string }[]; label: string }) {
  const total = parts.reduce((sum, part) => sum + part.value, 0);
  const text = parts.filter((p) => p.value > 0).map((p) => `${p.name} ${p.value.toLocaleString("en-US")}`).join(", ");
  return (
    <div className="parts-bar" role="img" aria-label={`${label}: ${text || "none"}`}>
      {total > 0 && parts.map((part) => part.value > 0 && (
        <span key={part.name} style={{ flexGrow: part.value, background: part.colour }} data-tip={`${part.name}: ${part.value.toLocaleString("en-US")}`} />
      ))}
    </div>
  );
}
