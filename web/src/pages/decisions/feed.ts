// The feed of decisions: one order, groups by cycle, runs of the same thing, filters, and files to take away.
import { decisionKey, decisionName, sentenceOf } from "../../core/decisions";
import type { Decision } from "../../core/types";

export const KINDS = ["Bootstrap", "Provision", "Reclaim", "Preempt", "Delete"] as const;
/** More are not kept in the page; older ones are asked for again. */
export const MOST_KEPT = 5_000;
/** Rows of the same kind, cluster and fate that are shown one by one. */
const RUN_SHOWN = 3;
const RUN_LEAST = 6;

/** What became of an action between decision and execution, in words. */
export const DISPOSITIONS: Readonly<Record<string, string>> = {
  enqueued: "started",
  capped: "a cap on losses at a time holds it back",
  deferred: "put off: its provider or its budget is busy",
  suppressed: "a pause stops it",
  "dry-run": "dry-run: written down, not done",
  deduped: "the same is under way already",
  dropped: "the queue was full; the next cycle decides anew",
  inapplicable: "the machine had changed meanwhile",
  vetoed: "the verifier stopped it",
  held: "held, as the machine would go back and forth",
};

/** The word that is shown: a pause suppresses. */
export const fateWord = (disposition: string): string => (disposition === "suppressed" ? "paused" : disposition);

export const dispositionOf = (row: Decision): string =>
  (row.disposition ?? "").replace(/^DISPOSITION_/, "").toLowerCase().replace(/_/g, "-");

export type Fate = "done" | "started" | "stopped" | "failed" | "unknown";

/** Done: seen to have happened. Started: under way. Stopped: a rail let it not through. */
export function fateOf(row: Decision): Fate {
  const disposition = dispositionOf(row);
  if (disposition === "") return "unknown";
  if (disposition !== "enqueued") return "stopped";
  const outcome = (row.outcome ?? "").toLowerCase();
  if (outcome === "") return "started";
  return /^(success|succeeded|done|completed|ok)\b/.test(outcome) ? "done" : "failed";
}

/** Each shard counts its own cycles: a number alone does not name a decision of several shards. */

const indexOf = (row: Decision): number => Number(decisionName(row.id).split(".")[1] ?? 0);

export const newestFirst = (a: Decision, b: Decision): number =>
  b.atUnixNanos - a.atUnixNanos || b.cycle - a.cycle || (a.shardId ?? "").localeCompare(b.shardId ?? "") || indexOf(b) - indexOf(a);

/** Both, newest first, each once; of a row that is in both, the newer words count. */
export function merge(before: readonly Decision[], rows: readonly Decision[]): readonly Decision[] {
  if (rows.length === 0) return before;
  const all = new Map(before.map((row) => [decisionKey(row), row]));
  for (const row of rows) all.set(decisionKey(row), row);
  return [...all.values()].sort(newestFirst).slice(0, MOST_KEPT);
}

export interface Filters {
  kind: string;
  cluster: string;
  machine: string;
  need: string;
  rail: string;
  shard: string;
}

const words = (list: string): string[] => list.split(",").filter(Boolean);

/** Whether a row that came by the stream is one that was asked for. */
export function fits(row: Decision, filters: Filters): boolean {
  const kinds = words(filters.kind);
  const need = (row.need ?? "").replace(/^need\//, "");
  return (
    (kinds.length === 0 || kinds.includes(row.kind)) &&
    (!filters.cluster || row.cluster === filters.cluster) &&
    (!filters.machine || row.machine === filters.machine.replace(/^machine\//, "")) &&
    (!filters.need || need.startsWith(filters.need.replace(/^need\//, ""))) &&
    (!filters.shard || row.shardId === filters.shard) &&
    fitsRail(row, filters.rail)
  );
}

function fitsRail(row: Decision, rail: string): boolean {
  if (!rail) return true;
  if (rail === "stopped") return fateOf(row) === "stopped";
  if (rail === "failed") return fateOf(row) === "failed";
  return dispositionOf(row) === rail;
}

export interface Run {
  key: string;
  rows: readonly Decision[];
  /** How many of them are shown before "more like these" is pressed. */
  shown: number;
}

export interface CycleGroup {
  key: string;
  cycle: number;
  shardId: string;
  atUnixNanos: number;
  total: number;
  counts: readonly { kind: string; total: number; stopped: number }[];
  runs: readonly Run[];
}

function runsOf(rows: readonly Decision[]): Run[] {
  const runs: { key: string; rows: Decision[] }[] = [];
  let same = "";
  for (const row of rows) {
    // What is under way and what is done are one run: it would fall apart when the first of them ends.
    const like = [row.kind, row.cluster, dispositionOf(row), fateOf(row) === "failed", row.need].join("|");
    const last = runs.at(-1);
    if (last && like === same) last.rows.push(row);
    else runs.push({ key: decisionKey(row), rows: [row] });
    same = like;
  }
  return runs.map((run) => ({ ...run, shown: run.rows.length >= RUN_LEAST ? RUN_SHOWN : run.rows.length }));
}

function countsOf(rows: readonly Decision[]): CycleGroup["counts"] {
  const counts = new Map<string, { kind: string; total: number; stopped: number }>();
  for (const row of rows) {
    const count = counts.get(row.kind) ?? { kind: row.kind, total: 0, stopped: 0 };
    counts.set(row.kind, count);
    count.total += 1;
    if (fateOf(row) === "stopped") count.stopped += 1;
  }
  return [...counts.values()];
}

/** Cycles, newest first; within one, as the engine decided. Rows come newest first. */
export function groupsOf(rows: readonly Decision[]): CycleGroup[] {
  const groups: { key: string; rows: Decision[] }[] = [];
  for (const row of rows) {
    const key = `${row.shardId ?? ""} ${row.cycle}`;
    const last = groups.at(-1);
    if (last?.key === key) last.rows.push(row);
    else groups.push({ key, rows: [row] });
  }
  return groups.map(({ key, rows: own }) => {
    const ordered = [...own].reverse();
    const first = ordered[0] as Decision;
    return { key, cycle: first.cycle, shardId: first.shardId ?? "", atUnixNanos: first.atUnixNanos, total: own.length, counts: countsOf(ordered), runs: runsOf(ordered) };
  });
}

const COLUMNS: readonly [string, (row: Decision) => string | number | null | undefined][] = [
  ["id", (row) => decisionName(row.id)],
  ["shard", (row) => row.shardId],
  ["cycle", (row) => row.cycle],
  ["time", (row) => new Date(row.atUnixNanos / 1e6).toISOString()],
  ["kind", (row) => row.kind],
  ["machine", (row) => row.machine],
  ["cluster", (row) => row.cluster],
  ["need", (row) => row.need],
  ["disposition", (row) => dispositionOf(row)],
  ["outcome", (row) => row.outcome],
  ["deltaHourlyCost", (row) => row.deltaHourlyCost],
  ["sentence", (row) => sentenceOf(row)],
];

function cell(value: string | number | null | undefined): string {
  if (typeof value === "number") return String(value);
  // A name that begins like a formula must not run in a spreadsheet.
  const text = (value ?? "").replace(/^[=+\-@\t\r]/, "'$&");
  return /[",\n\r]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
}

export function csvOf(rows: readonly Decision[]): string {
  const lines = rows.map((row) => COLUMNS.map(([, value]) => cell(value(row))).join(","));
  return [COLUMNS.map(([name]) => name).join(","), ...lines, ""].join("\r\n");
}

export const jsonOf = (rows: readonly Decision[], query: Filters): string =>
  `${JSON.stringify({ filters: query, decisions: rows }, null, 2)}\n`;
