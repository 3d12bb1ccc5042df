// Costs over time by an axis: the names that cost most, and the others as one.
import type { Points } from "../../ui/charts";

export const RANGES = [
  { value: "15m", text: "15 min" }, { value: "1h", text: "1 h" }, { value: "6h", text: "6 h" }, { value: "24h", text: "24 h" },
] as const;
export type Range = (typeof RANGES)[number]["value"];

export interface CostSeries {
  by: string;
  timestamps: number[];
  stepSeconds: number;
  dollarsPerHour: (number | null)[];
  idleDollarsPerHour: (number | null)[];
  /** What costs most now first. */
  series: { name: string; dollarsPerHour: (number | null)[] }[];
  keptSeconds: number;
}

/** Colours are told apart up to here. */
export const MOST_NAMES = 8;
const OTHER = "other";

const sumOf = (lines: readonly Points[]): (number | null)[] =>
  (lines[0] ?? []).map((_, index) => {
    const known = lines.map((line) => line[index]).filter((value) => value !== null && value !== undefined);
    return known.length > 0 ? known.reduce((sum, value) => sum + value, 0) : null;
  });

/** Names that cost something in the time that is shown; the last is what the others cost together. */
export function shownSeries(told: CostSeries, most = MOST_NAMES): { name: string; points: Points }[] {
  const billed = told.series.filter((each) => each.dollarsPerHour.some((value) => (value ?? 0) > 0));
  const own = billed.filter((each) => each.name !== OTHER);
  const named = own.slice(0, own.length > most ? most - 1 : most).map(({ name, dollarsPerHour }) => ({ name, points: dollarsPerHour }));
  const rest = billed.filter((each) => !named.some(({ name }) => name === each.name));
  return rest.length > 0 ? [...named, { name: OTHER, points: sumOf(rest.map((each) => each.dollarsPerHour)) }] : named;
}

/** Whether a single sample was taken: without one there is nothing to draw. */
export const hasSamples = (told: CostSeries): boolean => told.dollarsPerHour.some((value) => value !== null);
export const isFree = (told: CostSeries): boolean => hasSamples(told) && told.dollarsPerHour.every((value) => value === null || value === 0);
