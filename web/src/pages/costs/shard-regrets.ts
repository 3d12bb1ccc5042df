// What shards tell of their regret, and what of it makes the gap.
interface Resources { resources?: Record<string, string> }

export interface ShardRegret {
  shardId: string;
  status: string;
  reason: string;
  cycle: number;
  greedyPerHour: number;
  boundPerHour: number;
  gapPerHour: number;
  ratio: number;
  pinnedMachines: number;
  uncovered: { priorityClass: string; greedy?: Resources; bound?: Resources; boundKnown: boolean }[];
  byType: { instanceType: string; greedyPerHour: number; boundPerHour: number; gapPerHour: number }[];
}

export interface TypePart { name: string; cost: number; bound: number }

const MEASURED = ["REGRET_STATUS_OPTIMAL", "REGRET_STATUS_BOUND_ONLY"];
/** A smaller part of a gap is rounding. */
const LEAST_DOLLARS = 0.005;

export const isMeasured = (row: ShardRegret): boolean => MEASURED.includes(row.status);

const amounts = (of?: Resources): string => Object.entries(of?.resources ?? {}).map(([name, amount]) => `${name} ${amount}`).join(", ") || "nothing";

/** "batch: cpu 32; could be nothing" of each class of priority that lacks something. */
export const lackOf = (row: ShardRegret): string =>
  row.uncovered.map((each) => `${each.priorityClass}: ${amounts(each.greedy)}; could be ${each.boundKnown ? amounts(each.bound) : "unknown"}`).join("; ") || "nothing";

/** Of all shards together: the instance types with the largest part in the gap, the largest first. */
export function typeParts(rows: readonly ShardRegret[], most = 5): TypePart[] {
  const parts = new Map<string, TypePart>();
  for (const each of rows.flatMap((row) => row.byType)) {
    const part = parts.get(each.instanceType) ?? { name: each.instanceType, cost: 0, bound: 0 };
    parts.set(each.instanceType, { ...part, cost: part.cost + each.greedyPerHour, bound: part.bound + each.boundPerHour });
  }
  const gap = (part: TypePart): number => part.cost - part.bound;
  return [...parts.values()].filter((part) => Math.abs(gap(part)) >= LEAST_DOLLARS).sort((a, b) => gap(b) - gap(a)).slice(0, most);
}
