// An explanation's numbers in the shape that a row of the list has, so that both are shown by the same parts.
import { enumWord } from "../../core/format";
import { unwrapped } from "../../core/quantity";
import { NEED_STATES, type NeedState } from "../../core/types";
import type { NeedExplanation, NeedRef, NeedRow, Requirement, Spread } from "./types";

/** "NEED_STATE_SHORT" and "short" are the same; empty: the cycle is past, and its states are not kept. */
export function stateOf(told: string | undefined): NeedState | "" {
  const word = (told ?? "").replace(/^NEED_STATE_/, "").toLowerCase();
  return (NEED_STATES as readonly string[]).includes(word) ? (word as NeedState) : "";
}

type Loose = Record<string, unknown>;
const number = (value: unknown): number => (typeof value === "number" ? value : 0);
const text = (value: unknown): string => (typeof value === "string" ? value : "");
const list = <T>(value: unknown): T[] => (Array.isArray(value) ? (value as T[]) : []);

/** What the list would show of it; `known` is its row of the list, where that has it. */
export function rowOf(told: NeedExplanation, known: NeedRow | undefined): NeedRow {
  const view = (told.view ?? {}) as Loose;
  const need = (view.need ?? view) as Loose;
  const satisfied = view.satisfied === true;
  return {
    clusterId: text(view.clusterId) || known?.clusterId || "",
    needId: told.needId,
    shardId: told.shardId ?? known?.shardId ?? "",
    priority: number(need.priority),
    state: stateOf(told.state) || (satisfied ? "met" : "short"),
    aggregateResources: unwrapped(need.aggregateResources),
    minUnit: unwrapped(need.minUnit),
    group: text(need.group),
    requirements: list<Requirement>(need.requirements),
    spread: list<Spread>(need.spread),
    interruptionPenaltyBucket: text(need.interruptionPenaltyBucket),
    reclamationPenaltyBucket: text(need.reclamationPenaltyBucket),
    profileFingerprint: text(view.profileFingerprint),
    satisfied,
    residualDeficit: unwrapped(view.residualDeficit),
    claimedMachineCount: number(view.claimedMachineCount),
    bootstrapCount: number(view.bootstrapCount),
    provisionCount: number(view.provisionCount),
    arrivalUnixNanos: number(view.arrivalUnixNanos),
    ageCyclesUnmet: number(view.ageCyclesUnmet),
    sameDomain: text(view.sameDomain),
    reasons: told.reasons ?? [],
    // Only the list tells these, and only of now.
    sinceUnixNanos: known?.sinceUnixNanos,
    arrivingMachines: known?.arrivingMachines,
    stuckPods: known?.stuckPods,
    remedy: known?.remedy,
    source: known?.source,
    hourlyCost: known?.hourlyCost,
  };
}

/** "CANDIDATE_OUTCOME_NOT_NEEDED" becomes "not needed". */
export const outcomeWords = (outcome: string | undefined): string =>
  enumWord(outcome, "CANDIDATE_OUTCOME_").replace(/([a-z])([A-Z])/g, "$1 $2").replace(/_/g, " ").toLowerCase();

const GOOD = new Set(["credited", "chosen"]);
const FREE = new Set(["not needed"]);

export interface FunnelPart {
  outcome: string;
  code: string;
  machines: number;
  /** Taken by this Need, free for it, or out of its reach. */
  kind: "taken" | "free" | "out";
}

/** Every machine of the shard once: what this Need has first, then what it could have, then the rest by size. */
export function funnelOf(told: NeedExplanation): FunnelPart[] {
  const order = { taken: 0, free: 1, out: 2 };
  return (told.rejects ?? [])
    .map(({ outcome, code, machines }): FunnelPart => {
      const words = outcomeWords(outcome);
      return { outcome: words, code, machines, kind: GOOD.has(words) ? "taken" : FREE.has(words) ? "free" : "out" };
    })
    .sort((a, b) => order[a.kind] - order[b.kind] || b.machines - a.machines);
}

/** CLUSTER/ID of a Need that is only named by what it asks for, if the list has it. */
export function nameOfRef(ref: NeedRef, rows: readonly NeedRow[]): string | null {
  const cluster = ref.clusterId ?? "";
  if (ref.needId) return `${cluster}/${ref.needId}`;
  const found = rows.find((row) => row.clusterId === cluster && row.profileFingerprint === ref.profileFingerprint && (row.group ?? "") === (ref.group ?? ""));
  return found ? `${cluster}/${found.needId}` : null;
}
