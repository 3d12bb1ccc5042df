// What the list of Needs shows: chips, shapes that contest the same supply, and where supply ran out.
import * as format from "../../core/format";
import { missingShare } from "../../core/quantity";
import type { NeedState } from "../../core/types";
import type { Eta, NeedRow, Requirement, Spread } from "./types";

const lastPart = (key: string): string => key.slice(key.lastIndexOf("/") + 1) || key;

/** "zone in a, b", "!security-module", "same rack". */
export function requirementText(requirement: Requirement): string {
  const key = lastPart(requirement.key);
  const values = requirement.values ?? [];
  switch (requirement.operator.replace(/^OPERATOR_/, "").replace(/_/g, "").toLowerCase()) {
    case "in": return values.length === 1 ? `${key} = ${values[0]}` : `${key} in ${values.join(", ")}`;
    case "notin": return `${key} not ${values.join(", ")}`;
    case "exists": return key;
    case "doesnotexist": return `!${key}`;
    case "same": return `same ${key}`;
    default: return `${key} ${requirement.operator} ${values.join(", ")}`.trim();
  }
}

export const requirementExact = (requirement: Requirement): string =>
  `${requirement.key} ${requirement.operator.replace(/^OPERATOR_/, "")} ${(requirement.values ?? []).join(", ")}`.trim();

export const spreadText = (spread: Spread): string => `spread ${lastPart(spread.topologyKey)} ±${spread.maxSkew}`;

/** A penalty as its cluster declared it: "$4", "pinned"; empty where it declared none. */
export function penaltyText(bucket: string | undefined): string {
  const word = (bucket ?? "").replace(/^PENALTY_BUCKET_/, "");
  if (word === "" || word === "UNSPECIFIED") return "";
  if (word === "ZERO" || word === "0") return "$0";
  if (word === "HALF_DOLLAR" || word === "0.5") return "$0.50";
  if (word.toUpperCase() === "PINNED") return "pinned";
  return /^\d+$/.test(word) ? `$${Number(word).toLocaleString("en-US")}` : word.toLowerCase();
}

/** A gang's group is a topology key and what its pods have in common: the latter is what people know it by. */
export function groupText(group: string): string {
  const last = group.split("\0").at(-1) ?? group;
  return last.replace(/[,;]+$/, "") || group.replace(/\0/g, " ");
}

export const CLASSES = ["critical", "service", "batch", "other"] as const;
const LEAST: readonly [string, number][] = [["critical", 1_000_000], ["service", 1_000], ["batch", 100]];

/** The shard's classes of priority, as its gauges and the Overview name them. */
export const classOf = (priority: number): string => LEAST.find(([, least]) => priority >= least)?.[0] ?? "other";

export const sourcesOf = (row: NeedRow): readonly string[] =>
  Array.isArray(row.source) ? row.source : row.source ? [row.source] : [];

export const firstReason = (row: NeedRow): string => row.reasons?.[0]?.code ?? "";

/** `ETA 4 min` from now on, by which four of five such Needs are met; empty: there is no forecast. */
export function etaText(eta: Eta | null | undefined, nowMilliseconds: number): string {
  if (!eta) return "";
  if (eta.p80 === undefined || eta.p95 === undefined) return "no ETA";
  const passed = nowMilliseconds / 1000 - eta.atUnixNanos / 1e9;
  if (passed > eta.p95) return "overdue";
  return `ETA ${format.duration(Math.max(0, eta.p80 - passed))}`;
}

export interface Coverage {
  have: number;
  coming: number;
  missing: number;
}

/**
 * Shares of the demand: on machines that are there, on machines that come, and missing. What is missing is
 * exact, in the scarcest dimension; the rest is divided by the number of machines. Null: it cannot be told.
 */
export function coverageOf(row: NeedRow): Coverage | null {
  const missing = row.satisfied ? 0 : missingShare(row.aggregateResources, row.residualDeficit);
  if (missing === null) return null;
  const planned = row.claimedMachineCount;
  const coming = Math.min(row.arrivingMachines ?? 0, planned);
  if (row.state === "met") return { have: 1 - missing, coming: 0, missing };
  if (planned === 0) return { have: 0, coming: missing < 1 ? 1 - missing : 0, missing };
  const share = coming / planned;
  return { have: (1 - missing) * (1 - share), coming: (1 - missing) * share, missing };
}

/** Needs with the same requirements and spread look at the same machines. */
export const shapeKey = (row: NeedRow): string =>
  JSON.stringify([row.shardId, row.requirements ?? [], row.spread ?? []]);

/** The same, looked up for a row whose profile came before: there are few profiles and thousands of rows. */
export function shapeKeys(): (row: NeedRow) => string {
  const known = new Map<string, string>();
  return (row) => {
    if (!row.profileFingerprint) return shapeKey(row);
    const profile = `${row.shardId} ${row.profileFingerprint}`;
    let key = known.get(profile);
    if (key === undefined) known.set(profile, (key = shapeKey(row)));
    return key;
  };
}

export type Line =
  | { kind: "need"; key: string; need: NeedRow }
  | { kind: "shape"; key: string; first: NeedRow; rows: number; counts: Record<NeedState, number> }
  | { kind: "cut"; key: string; waiting: number };

const noCounts = (): Record<NeedState, number> => ({ met: 0, arriving: 0, blocked: 0, short: 0 });
const keyOf = (row: NeedRow): string => `${row.shardId}/${row.clusterId}/${row.needId}`;

function shapesOf(rows: readonly NeedRow[]): Map<string, NeedRow[]> {
  const shapes = new Map<string, NeedRow[]>();
  const keyOfShape = shapeKeys();
  for (const row of rows) {
    const key = keyOfShape(row);
    const shape = shapes.get(key);
    if (shape) shape.push(row);
    else shapes.set(key, [row]);
  }
  return shapes;
}

/**
 * Rows in order of precedence, by shape: a heading for each, and before the first short one the line where
 * supply ran out. `rows` are all that are loaded: the cut is where it is, also when a filter hides what is above.
 */
export function byShape(rows: readonly NeedRow[], isShown: (row: NeedRow) => boolean): Line[] {
  const lines: Line[] = [];
  for (const [key, shape] of shapesOf(rows)) {
    const first = shape.find(isShown);
    if (!first) continue;
    const counts = noCounts();
    for (const row of shape) if (row.state in counts) counts[row.state as NeedState] += 1;
    lines.push({ kind: "shape", key: `shape ${key}`, first, rows: shape.length, counts });
    let isBelow = false;
    let drawn = false;
    for (const need of shape) {
      isBelow ||= need.state === "short";
      if (!isShown(need)) continue;
      if (!drawn && isBelow) {
        lines.push({ kind: "cut", key: `cut ${key}`, waiting: counts.short });
        drawn = true;
      }
      lines.push({ kind: "need", key: keyOf(need), need });
    }
  }
  return lines;
}

export function inOrder(rows: readonly NeedRow[], isShown: (row: NeedRow) => boolean): Line[] {
  return rows.filter(isShown).map((need) => ({ kind: "need", key: keyOf(need), need }));
}

/** Rows of several shards as one walk: each shard's own order stays, the higher priority goes first. */
export function merged(lists: readonly (readonly NeedRow[])[]): NeedRow[] {
  if (lists.length === 1) return [...(lists[0] ?? [])];
  const at = lists.map(() => 0);
  const result: NeedRow[] = [];
  for (;;) {
    let best = -1;
    for (const [index, list] of lists.entries()) {
      const row = list[at[index] ?? 0];
      const than = best < 0 ? undefined : lists[best]?.[at[best] ?? 0];
      if (row && (!than || row.priority > than.priority)) best = index;
    }
    const next = best < 0 ? undefined : lists[best]?.[at[best] ?? 0];
    if (best < 0 || !next) return result;
    result.push(next);
    at[best] = (at[best] ?? 0) + 1;
  }
}
