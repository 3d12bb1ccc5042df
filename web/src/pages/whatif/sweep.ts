// Axes of a sweep as `bigfleet whatif --sweep` reads them, and its points as series, rows and squares.
import * as format from "../../core/format";
import type { Side, Sweep, SweepPoint } from "./types";

export const MOST_AXES = 2;
export const MOST_POINTS = 400;

export const AXIS_KINDS = [
  { value: "demand", text: "Demand" },
  { value: "price", text: "Prices" },
  { value: "probability", text: "Interruptions" },
  { value: "option", text: "An option of the engine" },
] as const;
export type AxisKind = (typeof AXIS_KINDS)[number]["value"];

export interface AxisDraft {
  kind: AxisKind;
  what: string;
  first: string;
  last: string;
  step: string;
}
export const NEW_AXIS: AxisDraft = { kind: "demand", what: "", first: "1", last: "2", step: "0.1" };

const numberOf = (text: string): number | null => (text.trim() !== "" && Number.isFinite(Number(text)) ? Number(text) : null);

/** The axis as a text, or what is missing. The server has the last word about what it means. */
export function axisOf(draft: AxisDraft): { axis: string } | { missing: string } {
  const what = draft.what.trim();
  const [first, last, step] = [draft.first, draft.last, draft.step].map(numberOf);
  if (draft.kind === "option" && !what) return { missing: "Name the option, such as drainSeconds." };
  if (first === null || first === undefined || last === null || last === undefined || step === null || step === undefined) return { missing: "Write from, to and step as numbers." };
  if (last < first) return { missing: "To is not below from." };
  if (step <= 0) return { missing: "The step is above 0." };
  return { axis: `${draft.kind}${what ? `.${what}` : ""}=${first}:${last}:${step}` };
}

export const axesOfAddress = (query: Readonly<Record<string, string>>): string[] =>
  (query.sweep ?? "").split("\n").map((line) => line.trim()).filter(Boolean).slice(0, MOST_AXES);

const VALUES = /^(.+)=([^:=]+):([^:=]+):([^:=]+)$/;

/** How many points an axis has; null: it cannot be read. */
export function valuesOf(axis: string): number | null {
  const found = VALUES.exec(axis);
  const [first, last, step] = [found?.[2], found?.[3], found?.[4]].map((text) => numberOf(text ?? ""));
  if (first === null || first === undefined || last === null || last === undefined || !step || step <= 0 || last < first) return null;
  // As many as decimal numbers give: 2.0 is a value of 1.0:2.0:0.1.
  return Math.floor((last - first) / step + 1e-9) + 1;
}

export function pointsOf(axes: readonly string[]): number | null {
  return axes.reduce<number | null>((points, axis) => {
    const values = valuesOf(axis);
    return points === null || values === null ? null : points * values;
  }, 1);
}

/** "Demand of ml, times 1 to 2 in steps of 0.1"; an axis without a sentence of its own as it is written. */
export function wordsOfAxis(axis: string): string {
  const found = VALUES.exec(axis);
  if (!found) return axis;
  const [, name = "", first, last, step] = found;
  const dot = name.indexOf(".");
  const [kind, what] = dot < 0 ? [name, ""] : [name.slice(0, dot), name.slice(dot + 1)];
  const span = `${first} to ${last} in steps of ${step}`;
  switch (kind) {
    case "demand": return `Demand of ${what || "every cluster"}, times ${span}`;
    case "price": return `Price of ${what || "every machine"}, times ${span}`;
    case "probability": return `Probability of interruption of ${what || "every machine"}, times ${span}`;
    case "option": return `Option ${what}: ${span}`;
    default: return axis;
  }
}

export interface Measure {
  key: string;
  title: string;
  /** null: not known. */
  of: (side: Side) => number | null;
  shown: (value: number | null) => string;
}

const count = (key: string, title: string, of: Measure["of"]): Measure => ({ key, title, of, shown: format.count });
const MEASURES: readonly Measure[] = [
  count("unmet", "Needs not covered", (side) => side.unsatisfiedNeeds),
  { key: "cost", title: "Billed", of: (side) => side.costPerHour, shown: format.perHour },
  count("preempted", "Preempted", (side) => side.actionsByKind.Preempt ?? 0),
  { key: "penalties", title: "Penalties of victims", of: (side) => side.declaredPenalties, shown: format.money },
];
const COVERED: Measure = {
  key: "covered", title: "Last Need covered after", of: (side) => side.settled?.timeToCoverSeconds.max ?? null,
  shown: (value) => (value === null ? format.UNKNOWN : format.duration(value)),
};

/** Times to cover are there only where the fleet settles. */
export const measuresOf = (sweep: Sweep): readonly Measure[] =>
  sweep.points.some((point) => point.changed.settled !== undefined) ? [...MEASURES, COVERED] : MEASURES;

/** The first that the values change; where none does, what is billed. */
export function tellingMeasure(sweep: Sweep): string {
  const differs = (measure: Measure): boolean => new Set(sweep.points.map((point) => measure.of(point.changed))).size > 1;
  return measuresOf(sweep).find(differs)?.key ?? "cost";
}

export const valueAt = (point: SweepPoint, sweep: Sweep, axis: number): number => point.values[sweep.axes[axis]?.name ?? ""] ?? Number.NaN;

export interface Bar {
  value: number;
  amount: number | null;
  /** Of the tallest, 0 to 1. */
  height: number;
  isAboveBase: boolean;
}

/** Of a sweep over one axis. */
export function barsOf(sweep: Sweep, measure: Measure): { bars: Bar[]; base: number | null; most: number } {
  const base = sweep.base ? measure.of(sweep.base) : null;
  const amounts = sweep.points.map((point) => measure.of(point.changed));
  const most = Math.max(0, base ?? 0, ...amounts.map((amount) => amount ?? 0));
  const bars = sweep.points.map((point, index) => {
    const amount = amounts[index] ?? null;
    return { value: valueAt(point, sweep, 0), amount, height: amount !== null && most > 0 ? amount / most : 0, isAboveBase: amount !== null && base !== null && amount > base };
  });
  return { bars, base, most };
}

export interface Square {
  down: number[];
  across: number[];
  /** By row; null: there was no time for it, or it is not known. */
  cells: (number | null)[][];
  most: number;
}

/** Of a sweep over two axes: the first down, the second across. */
export function squareOf(sweep: Sweep, measure: Measure): Square {
  const [down, across] = [sweep.axes[0]?.values ?? [], sweep.axes[1]?.values ?? []];
  const found = new Map(sweep.points.map((point) => [`${valueAt(point, sweep, 0)} ${valueAt(point, sweep, 1)}`, measure.of(point.changed)]));
  const cells = down.map((row) => across.map((column) => found.get(`${row} ${column}`) ?? null));
  return { down, across, cells, most: Math.max(0, ...cells.flat().map((cell) => cell ?? 0)) };
}

const came = (side: Side): number => (side.actionsByKind.Bootstrap ?? 0) + (side.settled ? 0 : (side.actionsByKind.Provision ?? 0));

export interface SweepRow {
  values: number[];
  unmet: number;
  newlyUnmet: number;
  preempted: number;
  new: number;
  cost: number;
  penalties: number;
  covered: number | null;
}

export const rowsOf = (sweep: Sweep): SweepRow[] =>
  sweep.points.map((point) => ({
    values: sweep.axes.map((_, axis) => valueAt(point, sweep, axis)),
    unmet: point.changed.unsatisfiedNeeds,
    newlyUnmet: point.newlyUnmetCount,
    preempted: point.changed.actionsByKind.Preempt ?? 0,
    new: came(point.changed),
    cost: point.changed.costPerHour,
    penalties: point.changed.declaredPenalties,
    covered: point.changed.settled?.timeToCoverSeconds.max ?? null,
  }));
