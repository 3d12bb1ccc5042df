// Both sides of a what-if as rows that can be compared, and the outcome in a sentence.
import * as format from "../../core/format";
import { MACHINE_STATES } from "../../core/palette";
import type { Rest, Side, WhatIf } from "./types";

export type Unit = "count" | "perHour" | "money" | "seconds";

export interface Row {
  key: string;
  title: string;
  unit: Unit;
  base: number | null;
  then: number | null;
  /** Which way is bad for someone; "": neither. */
  worse: "more" | "less" | "";
  tip?: string;
}

export interface Group {
  title: string;
  rows: Row[];
}

const ACTIONS = ["Bootstrap", "Provision", "Reclaim", "Preempt", "Delete"];

/** One row for each name that either side has, in the order of `known`, others after them. */
function byName(base: Record<string, number>, then: Record<string, number>, known: readonly string[], worse: (name: string) => Row["worse"], title: (name: string) => string = (name) => name): Row[] {
  const others = [...new Set([...Object.keys(base), ...Object.keys(then)])].filter((name) => !known.includes(name));
  return [...known, ...others]
    .filter((name) => (base[name] ?? 0) > 0 || (then[name] ?? 0) > 0)
    .map((name) => ({ key: name, title: title(name), unit: "count", base: base[name] ?? 0, then: then[name] ?? 0, worse: worse(name) }));
}

function settledRows(base: Rest | undefined, then: Rest | undefined): Row[] {
  if (!base || !then) return [];
  return [
    { key: "p50", title: "Half of the Needs covered after", unit: "seconds", base: base.timeToCoverSeconds.p50, then: then.timeToCoverSeconds.p50, worse: "more" },
    { key: "p95", title: "95 % covered after", unit: "seconds", base: base.timeToCoverSeconds.p95, then: then.timeToCoverSeconds.p95, worse: "more" },
    { key: "max", title: "The last one covered after", unit: "seconds", base: base.timeToCoverSeconds.max, then: then.timeToCoverSeconds.max, worse: "more" },
    { key: "uncovered", title: "Never covered", unit: "count", base: base.uncovered, then: then.uncovered, worse: "more" },
    { key: "quiet", title: "Cycles until nothing happens", unit: "count", base: base.quietAfterCycles, then: then.quietAfterCycles, worse: "" },
  ];
}

export function groupsOf(base: Side, then: Side): Group[] {
  const priorities = [...new Set([...Object.keys(base.shortfallsByPriority), ...Object.keys(then.shortfallsByPriority)])].sort((a, b) => Number(b) - Number(a));
  const groups: Group[] = [
    {
      title: "Needs and cost",
      rows: [
        { key: "met", title: "Needs that the plan covers", unit: "count", base: base.satisfiedNeeds, then: then.satisfiedNeeds, worse: "less" },
        { key: "unmet", title: "Needs that it does not cover", unit: "count", base: base.unsatisfiedNeeds, then: then.unsatisfiedNeeds, worse: "more" },
        { key: "cost", title: "Billed", unit: "perHour", base: base.costPerHour, then: then.costPerHour, worse: "more" },
        { key: "interruption", title: "Expected interruptions", unit: "perHour", base: base.expectedInterruptionPerHour, then: then.expectedInterruptionPerHour, worse: "more", tip: "Declared penalties times probability; never part of a bill" },
        { key: "penalties", title: "Declared penalties of victims", unit: "money", base: base.declaredPenalties, then: then.declaredPenalties, worse: "more", tip: "Of machines that are preempted; never part of a bill" },
        { key: "pinned", title: "Victims that are pinned", unit: "count", base: base.pinnedVictims, then: then.pinnedVictims, worse: "more" },
      ],
    },
    { title: "Actions", rows: byName(base.actionsByKind, then.actionsByKind, ACTIONS, (kind) => (kind === "Preempt" ? "more" : "")) },
    { title: "Shortfalls by priority", rows: byName(base.shortfallsByPriority, then.shortfallsByPriority, priorities, () => "more", (name) => `priority ${format.count(Number(name))}`) },
    { title: "Until the fleet settles", rows: settledRows(base.settled, then.settled) },
    { title: "Machines by state", rows: byName(base.machinesByState, then.machinesByState, MACHINE_STATES, () => "") },
  ];
  return groups.filter((group) => group.rows.length > 0);
}

export const differs = (row: Row): boolean => row.base !== row.then;
export const isWorse = (row: Row): boolean => {
  if (row.base === null || row.then === null || row.worse === "") return false;
  return row.worse === "more" ? row.then > row.base : row.then < row.base;
};
export const isBetter = (row: Row): boolean => differs(row) && row.worse !== "" && row.base !== null && row.then !== null && !isWorse(row);

export function shownValue(value: number | null, unit: Unit): string {
  switch (unit) {
    case "count": return format.count(value);
    case "perHour": return format.perHour(value);
    case "money": return format.money(value);
    case "seconds": return value === null ? format.UNKNOWN : format.duration(value);
  }
}

/** "+12", "-$3.00/h", "same"; unknown where a side is. */
export function differenceOf(row: Row): string {
  if (row.base === null || row.then === null) return row.base === row.then ? "–" : format.UNKNOWN;
  const gap = row.then - row.base;
  if (gap === 0) return "same";
  return `${gap > 0 ? "+" : "−"}${shownValue(Math.abs(gap), row.unit)}`;
}

/** What changed, the worst first; honest when nothing did. */
export function sentenceOf(told: WhatIf): string {
  const unmet = told.newlyUnmetCount ?? told.newlyUnmet.length;
  const met = told.newlyMetCount ?? told.newlyMet.length;
  const gap = told.changed.costPerHour - told.base.costPerHour;
  const preempted = (told.changed.actionsByKind.Preempt ?? 0) - (told.base.actionsByKind.Preempt ?? 0);
  const parts: string[] = [];
  if (told.removedMachines > 0) parts.push(`${format.plural(told.removedMachines, "machine")} gone`);
  if (unmet > 0) parts.push(`${format.plural(unmet, "Need")} newly unmet`);
  if (met > 0) parts.push(`${format.plural(met, "Need")} newly met`);
  if (preempted !== 0) parts.push(`${format.count(Math.abs(preempted))} ${preempted > 0 ? "more" : "fewer"} preempted`);
  if (Math.abs(gap) >= 0.005) parts.push(`${gap > 0 ? "+" : "−"}${format.perHour(Math.abs(gap))}`);
  const short = told.changed.unsatisfiedNeeds;
  const end = unmet === 0 && met === 0 ? (short === 0 ? "the plan covers every Need" : `as without the changes, the plan leaves ${format.plural(short, "Need")} unmet`) : "";
  return [...parts, end].filter(Boolean).join("; ") || "Nothing changes";
}
