// How a cluster stands: what waits, what is held, and in which order a list shows it.
import { quoted } from "../../core/commands";
import { NEED_STATES, type NeedState } from "../../core/types";
import type { Sort } from "../../ui/table";
import type { Cluster, Quarantine } from "./types";

export interface Mark {
  text: string;
  tone: "warn" | "danger" | "info";
  tip: string;
}

export const rollupQuarantine = (cluster: Cluster, all: readonly Quarantine[]): Quarantine | undefined =>
  all.find((each) => /ROLLUP/i.test(each.kind) && each.subject === cluster.id && (!each.shardId || !cluster.shardId || each.shardId === cluster.shardId));

/** What is not as it should be, the worst first. */
export function marksOf(cluster: Cluster, quarantine: Quarantine | undefined): Mark[] {
  const marks: Mark[] = [];
  if (quarantine) marks.push({ text: "quarantine", tone: "danger", tip: quarantine.what || "Its last roll-up looks wrong and is held; the demand before stays in force" });
  const refused = cluster.session?.refusedRollup;
  if (refused) marks.push({ text: "roll-up refused", tone: "danger", tip: refused.text || refused.reason || "" });
  if (cluster.connected === false) marks.push({ text: "disconnected", tone: "danger", tip: "Its operator has no stream; what it has stays, nothing is taken from it" });
  if ((cluster.pauses?.length ?? 0) > 0) marks.push({ text: "paused", tone: "warn", tip: "A pause stops actions for it" });
  if (cluster.session?.reportStale) marks.push({ text: "old report", tone: "warn", tip: "Newer reports are overdue; its counts are of its last one" });
  else if (cluster.error && cluster.connected !== false) marks.push({ text: "no report", tone: "info", tip: cluster.error });
  return marks;
}

/** The share of its Needs that are met; null: it has none, or they are not told. */
export function metShare(cluster: Cluster): number | null {
  const total = NEED_STATES.reduce((sum, state) => sum + (cluster.needs?.[state] ?? 0), 0);
  return cluster.needs && total > 0 ? cluster.needs.met / total : null;
}

export function worstOf(cluster: Cluster): NeedState | "" {
  for (const state of ["short", "blocked", "arriving", "met"] as const) if ((cluster.needs?.[state] ?? 0) > 0) return state;
  return "";
}

const order: Record<string, (cluster: Cluster) => number | string> = {
  id: (cluster) => cluster.id,
  demand: (cluster) => metShare(cluster) ?? 2,
  machines: (cluster) => cluster.machines ?? -1,
  cost: (cluster) => cluster.dollarsPerHour ?? -1,
  stuck: (cluster) => cluster.stuckPods ?? -1,
  rollup: (cluster) => cluster.session?.lastRollupUnixNanos ?? 0,
};

export function sorted(clusters: readonly Cluster[], sort: Sort | null): readonly Cluster[] {
  const value = sort ? order[sort.key] : undefined;
  if (!value || !sort) return clusters;
  const sign = sort.descending ? -1 : 1;
  return [...clusters].sort((a, b) => {
    const [x, y] = [value(a), value(b)];
    const gap = typeof x === "string" || typeof y === "string" ? String(x).localeCompare(String(y)) : x - y;
    return sign * gap || a.id.localeCompare(b.id);
  });
}

const KINDS = ["Bootstrap", "Provision", "Reclaim", "Preempt", "Delete"] as const;
export const PAUSE_SCOPES = [
  { value: "all", text: "Everything", kinds: [] as readonly string[], words: "Nothing is started for it: no machine comes, none is taken." },
  { value: "taking", text: "Only what takes machines away", kinds: ["Reclaim", "Preempt", "Delete"], words: "Machines still come; none is reclaimed, preempted or deleted." },
  { value: "giving", text: "Only what brings machines", kinds: ["Bootstrap", "Provision"], words: "No machine comes; those it does not need are still taken back." },
] as const;
export type PauseScopeName = (typeof PAUSE_SCOPES)[number]["value"];

export const TTLS = [
  { value: "1800", text: "30 min" }, { value: "3600", text: "1 h" }, { value: "14400", text: "4 h" }, { value: "86400", text: "24 h" }, { value: "0", text: "until resumed" },
] as const;

/** The same pause by the command line. */
export function pauseCommand(cluster: string, scope: PauseScopeName, ttl: string, reason: string): string {
  const kinds = PAUSE_SCOPES.find((each) => each.value === scope)?.kinds ?? [];
  const flags = kinds.length < KINDS.length ? kinds.map((kind) => ` --kind ${kind.toLowerCase()}`).join("") : "";
  const expiry = ttl === "0" ? " --no-expiry" : ` --ttl ${Number(ttl) % 3600 === 0 ? `${Number(ttl) / 3600}h` : `${Number(ttl) / 60}m`}`;
  return `bigfleet pause --cluster ${quoted(cluster)}${flags}${expiry} --reason ${quoted(reason || "WHY")}`;
}
