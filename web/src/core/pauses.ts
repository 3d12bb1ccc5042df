// What a pause stops, who set it and why, from the record of a shard or a coordinator.
import { enumWord } from "./format";
import type { Pause } from "./types";

type Loose = Record<string, unknown>;
const text = (value: unknown): string => (typeof value === "string" ? value : "");
const list = (value: unknown): string[] => (Array.isArray(value) ? value.map(String) : []);
const loose = (value: unknown): Loose => (value && typeof value === "object" ? (value as Loose) : {});

export const pauseId = (pause: Pause): string => text(pause.pauseId) || text(pause.id);
export const pauseOwner = (pause: Pause): string => text(loose(pause.audit).owner) || text(pause.owner);
export const pauseReason = (pause: Pause): string => text(loose(pause.audit).reason) || text(pause.reason);

/** Those that a shard's flag or file sets are not lifted from a page. */
export const isLiftable = (pause: Pause): boolean => !/FLAG|FILE/.test(text(pause.source));

/** "Reclaim and Preempt for cluster shop", "all actions". */
export function scopeText(pause: Pause): string {
  if (typeof pause.scope === "string" && pause.scope) return pause.scope;
  const scope = loose(pause.scope);
  if (scope.rebalanceOnly === true) return "moves of machines between shards";
  const kinds = list(scope.kinds).map((kind) => enumWord(kind, "ACTION_KIND_"));
  const clusters = list(scope.clusterIds);
  const shards = list(scope.shardIds);
  const words = [kinds.length > 0 ? kinds.join(", ") : "all actions"];
  if (clusters.length > 0) words.push(`for ${clusters.length === 1 ? "cluster" : "clusters"} ${clusters.join(", ")}`);
  if (shards.length > 0) words.push(`in ${shards.length === 1 ? "shard" : "shards"} ${shards.join(", ")}`);
  return words.join(" ");
}
