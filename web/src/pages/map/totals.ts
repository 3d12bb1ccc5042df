// Sums over selected machines.
import type { FleetMap } from "./data";

export interface Totals {
  machines: number;
  byState: [string, number][];
  byCluster: [string, number][];
  /** Billed dollars an hour of those with a host or being created. */
  dollars: number;
  /** The map has only buckets of prices: `dollars` is an upper bound. */
  isBound: boolean;
}

const UNBILLED = new Set(["Speculative", "", "Failed"]);

export function totalsOf(map: FleetMap, rows: Uint32Array): Totals {
  const states = new Map<string, number>();
  const clusters = new Map<string, number>();
  const micros = map.column("priceMicros");
  const buckets = map.names("priceBucket");
  let dollars = 0;
  for (const row of rows) {
    const state = map.name("state", row);
    const cluster = map.name("clusterIdx", row) || "no cluster";
    states.set(state, (states.get(state) ?? 0) + 1);
    clusters.set(cluster, (clusters.get(cluster) ?? 0) + 1);
    if (UNBILLED.has(state)) continue;
    const bucket = map.value("priceBucket", row);
    const limit = Number(buckets[bucket]);
    dollars += micros ? (micros[row] ?? 0) / 1e6 : Number.isFinite(limit) ? limit : Number.NaN;
  }
  const sorted = (counts: Map<string, number>): [string, number][] => [...counts].sort((a, b) => b[1] - a[1]);
  return { machines: rows.length, byState: sorted(states), byCluster: sorted(clusters), dollars, isBound: micros === undefined };
}
