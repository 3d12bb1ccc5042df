// Needs as /needs lists them, and the explanation of one as /why tells it.
import type { Resources } from "../../core/quantity";
import type { NeedState, Reason } from "../../core/types";

export interface Requirement {
  key: string;
  operator: string;
  values?: string[];
}

export interface Spread {
  topologyKey: string;
  maxSkew: number;
  whenUnsatisfiable?: string;
}

/** Of a past cycle it is not recorded whether a covered Need was met. */
export type ShownState = NeedState | "covered" | "uncovered";

/** When a Need is expected to be met; without a time, what it waits for. */
export interface Eta {
  path: string;
  sentence: string;
  cycle: number;
  atUnixNanos: number;
  /** Seconds from then. */
  p50?: number;
  p80?: number;
  p95?: number;
}

export interface NeedRow {
  clusterId: string;
  needId: string;
  priority: number;
  state: ShownState;
  aggregateResources: Resources;
  minUnit?: Resources;
  group?: string;
  requirements?: Requirement[];
  spread?: Spread[];
  interruptionPenaltyBucket?: string;
  reclamationPenaltyBucket?: string;
  profileFingerprint?: string;
  satisfied: boolean;
  residualDeficit?: Resources;
  claimedMachineCount: number;
  bootstrapCount: number;
  provisionCount: number;
  arrivingMachines?: number;
  stuckPods?: number;
  reasons?: Reason[];
  remedy?: string;
  sinceUnixNanos?: number;
  arrivalUnixNanos?: number;
  ageCyclesUnmet?: number;
  acquisitionParked?: boolean;
  source?: string[] | string;
  sameDomain?: string;
  matchingSupply?: { idle: number; configured: number; speculative: number; capped?: boolean };
  preemption?: { victimsFound: number; capacityFreed?: Resources };
  hourlyCost?: number | null;
  eta?: Eta | null;
  /** Of the shard that told it; the page sets it. */
  shardId: string;
}

export interface NeedList {
  shardId: string;
  cycle: number;
  computedAtUnixNanos?: number;
  totalNeeds: number;
  matchingNeeds?: number;
  needStates?: Record<Exclude<NeedState, "met">, number> & { met: number | null; unjudged?: number };
  needReasons?: { code: string; needs: number }[];
  needs: NeedRow[];
  rebuilding?: boolean;
  warnings?: string[];
}

export interface NeedRef {
  clusterId?: string;
  profileFingerprint?: string;
  group?: string;
  needId?: string;
}

export interface Cost {
  pricePerHour?: number;
  interruptionProbability?: number;
  interruptionPenaltyDollars?: number | null;
  expectedInterruptionPerHour?: number | null;
  effectiveCostPerHour?: number | null;
}

export interface Candidate {
  machineId: string;
  state?: string;
  outcome?: string;
  rank?: number;
  cost?: Cost;
  text?: string;
}

export interface Competitor {
  need: NeedRef;
  priority: number;
  machines: number;
  strictlyHigher: boolean;
}

export interface Domain {
  domain: string;
  rank: number;
  machines: number;
  offers?: unknown;
  credited: number;
  own: number;
  covered: number;
  offered: number;
  text?: string;
}

export interface Victim {
  machineId: string;
  clusterId: string;
  assignedPriority: number;
  score: number;
  gapTerm: number;
  drainTerm: number;
  interruptionTerm: number;
  reclamationTerm: number;
  chosen: boolean;
  gracePeriodSeconds?: number;
  excludedReason?: string;
}

export interface Step {
  phase: string;
  text: string;
  covered?: unknown;
  remaining?: unknown;
  machineIds?: string[];
}

export interface NeedExplanation {
  cycle?: number | string;
  cycleName?: string;
  shardId?: string;
  needId: string;
  state?: string;
  sentence?: string;
  decidedUnixNanos?: number;
  view?: Record<string, unknown>;
  steps?: Step[];
  candidates?: Candidate[];
  totalCandidates?: number;
  competitors?: Competitor[];
  victims?: Victim[];
  reasons?: Reason[];
  rejects?: { outcome: string; code: string; machines: number }[];
  machines?: number;
  notes?: string[];
  domains?: Domain[];
  todo?: string;
  command?: string;
  warnings?: string[];
}

export interface Change {
  change: string;
  kinds?: string[];
  satisfied: boolean;
  newDeficit?: unknown;
  deltaHourlyCost?: number | null;
  declaredPenalties?: number | null;
  pinnedVictims?: number;
  losers?: { need: NeedRef; lost?: unknown }[];
  loserCount?: number;
  preempts?: number;
  runs?: number;
  smallest?: boolean;
  overlay?: string[];
}

export interface Counterfactual {
  cycle?: string;
  needId: string;
  met: boolean;
  changes?: Change[];
  exhaustive: boolean;
  runs: number;
  budgetMs?: number;
  notes?: string[];
}
