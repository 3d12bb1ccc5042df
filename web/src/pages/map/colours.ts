// What a colour means: the ways to colour the map, and the legend of each.
import { duration } from "../../core/format";
import { categorical, CATEGORICAL, isState, shown, stateColour } from "../../core/palette";
import type { Column, FleetMap } from "./data";

export const COLOURINGS = ["state", "cluster", "capacity", "price", "priority", "age"] as const;
export type Colouring = (typeof COLOURINGS)[number];

export interface LegendEntry {
  value: number;
  name: string;
  colour: string;
  count: number;
}

const COLUMN: Record<Exclude<Colouring, "age">, string> = {
  state: "state", cluster: "clusterIdx", capacity: "capacityType", price: "priceBucket", priority: "priorityClass",
};
const AGE_LIMITS = [60, 600, 3600, 6 * 3600, 86400, 7 * 86400];
const NONE: Record<Colouring, string> = { state: "unknown", cluster: "no cluster", capacity: "unspecified", price: "unknown", priority: "unassigned", age: "unknown" };

/** From pale to strong, readable on both themes. */
const RAMP: Record<"light" | "dark", readonly string[]> = {
  light: ["#7f92c4", "#6b83c9", "#5a73cd", "#4c62cc", "#4552c4", "#4343b5", "#4436a2", "#432a8c", "#3f2074"],
  dark: ["#4a5685", "#4f639f", "#5673b8", "#5f85cf", "#6a98e2", "#78abef", "#8abdf7", "#9ecefb", "#b3dcfd"],
};
const rampColour = (nth: number, of: number): string => {
  const ramp = RAMP[shown.get().theme];
  return ramp[Math.min(ramp.length - 1, Math.round((nth / Math.max(1, of - 1)) * (ramp.length - 1)))] ?? "#888888";
};
const quiet = (): string => (shown.get().theme === "dark" ? "#596273" : "#96a0ae");

/** The bucket of each machine's time in its state; 0: unknown. */
export function ageColumn(since: Column | undefined, count: number, nowSeconds: number): Uint8Array {
  const ages = new Uint8Array(count);
  if (!since) return ages;
  for (let row = 0; row < count; row += 1) {
    const from = since[row] ?? 0;
    if (from === 0) continue;
    const age = nowSeconds - from;
    let bucket = 1;
    for (const limit of AGE_LIMITS) {
      if (age < limit) break;
      bucket += 1;
    }
    ages[row] = bucket;
  }
  return ages;
}

const ageNames = (): string[] => [
  "",
  ...AGE_LIMITS.map((limit) => `under ${duration(limit)}`),
  `${duration(AGE_LIMITS.at(-1) ?? 0)} or longer`,
];

/** "0.1" of the legend is "up to $0.10/h". */
export function priceName(names: readonly string[], value: number): string {
  const limit = Number(names[value]);
  if (Number.isFinite(limit) && names[value] !== "") return limit === 0 ? "$0/h" : `up to $${limit.toFixed(2)}/h`;
  const below = Number(names[value - 1]);
  return Number.isFinite(below) ? `above $${below.toFixed(2)}/h` : (names[value] ?? "");
}

export interface Colours {
  column: Column;
  entries: LegendEntry[];
}

export function columnFor(map: FleetMap, colouring: Colouring, nowSeconds: number): Column {
  if (colouring === "age") return ageColumn(map.column("sinceSeconds"), map.count, nowSeconds);
  return map.column(COLUMN[colouring]) ?? new Uint8Array(map.count);
}

function nameOf(map: FleetMap, colouring: Colouring, value: number): string {
  if (colouring === "age") return ageNames()[value] || NONE.age;
  const names = map.names(COLUMN[colouring]);
  if (colouring === "price" && names.length > 0) return priceName(names, value);
  if (colouring === "priority" && names[value]) return `priority ${Number(names[value]).toLocaleString("en-US")}`;
  return names[value] || NONE[colouring];
}

function colourOf(colouring: Colouring, name: string, value: number, nth: number, of: number): string {
  if (colouring === "state") return isState(name) ? stateColour(name) : quiet();
  if (name === NONE[colouring]) return quiet();
  if (colouring === "cluster" || colouring === "capacity") return categorical((value - 1 + CATEGORICAL.light.length) % CATEGORICAL.light.length);
  return rampColour(nth, of);
}

/** Values that occur among `rows`, each with its colour and how many there are. */
export function legendOf(map: FleetMap, colouring: Colouring, column: Column, rows: Uint32Array): LegendEntry[] {
  const counts = new Uint32Array(65536);
  for (let place = 0; place < rows.length; place += 1) {
    const value = column[rows[place] ?? 0] ?? 0;
    counts[value] = (counts[value] ?? 0) + 1;
  }
  const values: number[] = [];
  counts.forEach((count, value) => count > 0 && values.push(value));
  const named = values.map((value) => ({ value, name: nameOf(map, colouring, value) }));
  if (colouring === "priority") named.sort((a, b) => Number(map.names("priorityClass")[a.value] || -1) - Number(map.names("priorityClass")[b.value] || -1));
  const ranked = named.filter(({ name }) => name !== NONE[colouring]);
  return named.map(({ value, name }) => ({
    value,
    name,
    count: counts[value] ?? 0,
    colour: colourOf(colouring, name, value, ranked.findIndex((each) => each.value === value), ranked.length),
  }));
}

/** A colour as the canvas keeps it in memory: little-endian red, green, blue, opaque. */
export function pixel(colour: string): number {
  const number = parseInt(colour.slice(1), 16);
  return ((0xff << 24) | ((number & 0xff) << 16) | (number & 0xff00) | (number >> 16)) >>> 0;
}

/** Between two pixels: 0 is the first. */
export function mix(a: number, b: number, part: number): number {
  const channel = (shift: number): number => {
    const from = (a >>> shift) & 0xff;
    return Math.round(from + (((b >>> shift) & 0xff) - from) * part) << shift;
  };
  return ((0xff << 24) | channel(16) | channel(8) | channel(0)) >>> 0;
}

/** Pixel by value; values that are filtered out become faint. */
export function tableOf(entries: readonly LegendEntry[], hidden: (entry: LegendEntry) => boolean, faint: number): Uint32Array {
  const table = new Uint32Array(65536).fill(faint);
  for (const entry of entries) if (!hidden(entry)) table[entry.value] = pixel(entry.colour);
  return table;
}
