// Clusters as /clusters tells them. What a cluster's operator does not report is absent.
import type { NeedCounts, Pause } from "../../core/types";

export interface ClusterReport {
  atUnixNanos?: number;
  requestsByPhase?: Record<string, number>;
  upcomingByPhase?: Record<string, number>;
  nodesReady?: number;
  nodesNotReady?: number;
  nodesMissing?: number;
  podsCoveredNotPlaced?: number;
  examples?: { pod: string; needId?: string; text?: string }[];
  crsSkipped?: number;
  [more: string]: unknown;
}

export interface Session {
  peer?: string;
  protocolVersion?: string;
  connected?: boolean;
  connectedUnixNanos?: number;
  lastRollupUnixNanos?: number;
  needs?: number;
  outboxFrames?: number;
  outboxBytes?: number;
  openBootstraps?: number;
  openReclaims?: number;
  report?: ClusterReport;
  reportReceivedUnixNanos?: number;
  reportStale?: boolean;
  refusedRollup?: { reason?: string; text?: string; sinceUnixNanos?: number; times?: number } | null;
}

export interface Cluster {
  id: string;
  capacityRequests: number;
  capacityRequestsPending: number;
  upcomingNodes: number;
  error?: string;
  connected?: boolean;
  stuckPods?: number;
  pods?: Pods;
  session?: Session;
  needs?: NeedCounts;
  shardId?: string;
  machines?: number;
  dollarsPerHour?: number | null;
  pauses?: Pause[];
  boundUnixNanos?: number;
}

export interface ClusterList {
  clusters: Cluster[];
  warnings?: string[];
}

export interface ClusterDetail {
  id: string;
  capacityRequestsByPhase?: Record<string, number>;
  upcomingNodesByPhase?: Record<string, number>;
  cluster: Cluster;
  warnings?: string[];
}

export interface Quarantine {
  kind: string;
  subject: string;
  baseline?: number;
  observed?: number;
  consecutive?: number;
  required?: number;
  sinceUnixNanos?: number;
  acceptsAfterUnixNanos?: number;
  what?: string;
  shardId?: string;
}

export interface Pods {
  running: number;
  waiting: number;
  stuck: number;
}
