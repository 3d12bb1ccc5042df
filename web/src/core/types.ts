// Shapes of the server's answers that more than one page uses. Unknown values are absent or null.

export interface Reason {
  code: string;
  tier?: number;
  text: string;
  facts?: Record<string, string>;
  refs?: string[];
  cycle?: string;
}

export interface Finding {
  code: string;
  text: string;
  /** What to do, or what the command tells. */
  advice?: string;
  command?: string;
  refs?: string[];
}

export interface Pause {
  id?: string;
  scope?: unknown;
  owner?: string;
  reason?: string;
  expiresUnixNanos?: number;
  sinceUnixNanos?: number;
  shardId?: string;
  [more: string]: unknown;
}

export const NEED_STATES = ["met", "arriving", "blocked", "short"] as const;
export type NeedState = (typeof NEED_STATES)[number];
export type NeedCounts = Record<NeedState, number>;

export interface Overview {
  shards: number;
  clusters: number;
  machines: number;
  machinesByState: Record<string, number>;
  shortfalls: number;
  cycleP99Seconds: number;
  queriedAt: string;
  cycle?: number;
  epoch?: number;
  sentence?: string;
  needs?: NeedCounts;
  needsByClass?: ({ priorityClass: string } & NeedCounts)[];
  demandMetFraction?: number | null;
  dollarsPerHour?: number | null;
  idleDollarsPerHour?: number | null;
  cycleP50Seconds?: number | null;
  actionsPerMinute?: Record<string, number>;
  pods?: { running: number | null; waiting: number | null; stuck: number | null; unreportedClusters: number; byCluster: Record<string, { running: number; waiting: number; stuck: number }> };
  findings?: Finding[];
  thrash?: number | null;
  stuckPods?: number;
  calmSinceUnixNanos?: number | null;
  pauses?: Pause[];
  regret?: FleetRegret | null;
  calibration?: number | null | Record<string, unknown>;
  shardsDown?: string[];
  rebuilding?: boolean;
  warnings?: string[];
}

/** Of all shards; numbers are null where one of them is not measured, and the reason says why. */
export interface FleetRegret {
  status: string;
  reason: string;
  greedyPerHour: number | null;
  boundPerHour: number | null;
  gapPerHour: number | null;
  ratio: number | null;
}

export interface Decision {
  id: string;
  cycle: number;
  atUnixNanos: number;
  kind: string;
  machine?: string;
  cluster?: string;
  need?: string | null;
  reasons?: Reason[];
  disposition?: string;
  outcome?: string | null;
  sentence: string;
  deltaHourlyCost?: number | null;
  shardId?: string;
}

export interface ShardStatus {
  shardId: string;
  shardEpoch: number;
  version: string;
  cycle: number;
  lastCycleUnixNanos: number;
  ready: boolean;
  notReadyReason: string;
  [more: string]: unknown;
}

export interface JournalRange {
  firstCycle?: number | null;
  lastCycle?: number | null;
  epoch?: number;
  degraded?: boolean;
  error?: string;
  shardId?: string;
}

export interface Status {
  version: string;
  serverTimeUnixNanos: number;
  face: "up" | "shard" | "coordinator";
  simulated: boolean;
  writes: boolean;
  shards: ShardStatus[];
  coordinator?: Record<string, unknown> | null;
  rails?: { pauses?: Pause[]; dryRun?: boolean };
  journal?: JournalRange | JournalRange[] | Record<string, JournalRange>;
  real?: string[];
  simulatedParts?: string[];
}

export interface History {
  timestamps: number[];
  machinesByState?: Record<string, (number | null)[]>;
  needsByState?: Record<string, (number | null)[]>;
  dollarsPerHour?: (number | null)[];
  idleDollarsPerHour?: (number | null)[];
  cycleP99Seconds?: (number | null)[];
  /** Of the regret meter: what the cycles cost effectively, and their lower bound. */
  effectiveDollarsPerHour?: (number | null)[];
  boundDollarsPerHour?: (number | null)[];
}

export interface SearchResult {
  kind: string;
  name: string;
  title: string;
  detail?: string;
}
