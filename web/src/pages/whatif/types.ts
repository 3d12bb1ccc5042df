// The answer of POST /whatif: what `bigfleet whatif -o json` prints.

export interface Rest {
  quietAfterCycles: number | null;
  seconds: number;
  timeToCoverSeconds: { p50: number | null; p95: number | null; max: number | null };
  uncovered: number;
}

export interface Side {
  actionsByKind: Record<string, number>;
  satisfiedNeeds: number;
  unsatisfiedNeeds: number;
  shortfallsByPriority: Record<string, number>;
  costPerHour: number;
  expectedInterruptionPerHour: number;
  declaredPenalties: number;
  pinnedVictims: number;
  machinesByState: Record<string, number>;
  settled?: Rest;
}

export interface ClusterSide {
  machines: number;
  unmet: number;
  costPerHour: number;
  actionsByKind: Record<string, number>;
}

export interface ClusterRow {
  cluster: string;
  lostMachines: number;
  before: ClusterSide;
  after: ClusterSide;
}

export interface NeedChange {
  need: string;
  cluster: string;
  priority: number;
  deficit?: Record<string, string>;
  sentence: string;
}

export interface SweepPoint {
  values: Record<string, number>;
  newlyUnmetCount: number;
  newlyMetCount: number;
  changed: Side;
}

export interface Sweep {
  axes: { name: string; values: number[] }[];
  pointCount: number;
  complete: boolean;
  /** null: there was no time for a single point. */
  base: Side | null;
  /** The last axis moves fastest. */
  points: SweepPoint[];
}

/** Machines that the edits take away, or that both sides treat differently. */
export interface Fate {
  removed: boolean;
  /** kind "": nothing is done with them. */
  before: { kind: string; cluster: string };
  after: { kind: string; cluster: string };
  machines: number;
  /** Cut where they are very many. */
  machineIds: string[];
}

export interface WhatIf {
  cycle: string;
  overlay: string[];
  warnings: string[];
  removedMachines: number;
  base: Side;
  changed: Side;
  clusters: ClusterRow[];
  newlyUnmet: NeedChange[];
  newlyUnmetCount?: number;
  newlyMet: NeedChange[];
  newlyMetCount?: number;
  moved: { fromCluster: string; toCluster: string; machines: number }[];
  added?: { need: string; covered: boolean; code: string; sentence: string }[];
  settling?: { latencies: Record<string, string>; assumedLatencies?: Record<string, string>; shortAtFirst: number; recovered: number };
  sweep?: Sweep;
  fates?: Fate[];
}
