// A machine as the server tells it (as `bigfleet machines -o json`), and as the page shows it.
import { enumWord } from "../../core/format";

export interface MachineRow {
  id?: string;
  machine: {
    id: string;
    state: string;
    host?: { provider?: string; ref?: string } | null;
    instanceType?: string;
    zone?: string;
    capacityType?: string;
    pricePerHour?: number;
    interruptionProbability?: number;
    resources?: { resources?: Record<string, string> };
    allocatable?: { resources?: Record<string, string> };
    labels?: Record<string, string>;
    lastError?: string;
    cluster?: string;
  };
  providerName?: string;
  nodeName?: string;
  shardId?: string;
  needId?: string;
  need?: { clusterId?: string; group?: string };
  assignedPriority?: number;
  assignedInterruptionDollars?: number;
  assignedReclamationDollars?: number;
  claimed?: boolean;
  cost?: { effectiveCostPerHour?: number; expectedInterruptionPerHour?: number };
  stateSinceUnixNanos?: number;
  sinceUnixNanos?: number;
  stateDeadlineUnixNanos?: number;
  idleSinceUnixNanos?: number;
  hourlyCost?: number;
  reservedFor?: { need?: string; kind?: string; expiresUnixNanos?: number };
  held?: { by?: string };
  withheldByQuota?: boolean;
  empty?: boolean;
  lost?: string;
  unseenLists?: number;
  warnings?: string[];
}

export const RACK_LABEL = "topology.bigfleet/rack";

export const idOf = (row: MachineRow): string => row.machine.id;
export const stateOf = (row: MachineRow): string => enumWord(row.machine.state, "MACHINE_STATE_");
export const capacityOf = (row: MachineRow): string => enumWord(row.machine.capacityType, "CAPACITY_TYPE_");
export const rackOf = (row: MachineRow): string => row.machine.labels?.[RACK_LABEL] ?? "";
export const sinceOf = (row: MachineRow): number => row.stateSinceUnixNanos || row.sinceUnixNanos || row.idleSinceUnixNanos || 0;
export const clusterOf = (row: MachineRow): string => row.machine.cluster || row.need?.clusterId || "";
export const needOf = (row: MachineRow): string => (row.needId && clusterOf(row) ? `${clusterOf(row)}/${row.needId}` : "");

export function notesOf(row: MachineRow): string[] {
  return [
    row.reservedFor ? `reserved for ${row.reservedFor.need ?? "a Need"}` : "",
    row.held ? `held by ${row.held.by ?? "a rail"}` : row.withheldByQuota ? "held by quota" : "",
    row.lost ? `lost: ${row.lost}` : "",
    row.machine.lastError ? row.machine.lastError : "",
    row.unseenLists ? `not in the last ${row.unseenLists} Lists` : "",
    row.empty ? "empty" : "",
  ].filter(Boolean);
}

export interface StoryEvent {
  atUnixNanos: number;
  cycle?: number;
  source: string;
  fromState?: string;
  toState?: string;
  clusterId?: string;
  operationId?: string;
  instructionId?: string;
  shardEpoch?: number;
  sequenceNumber?: number;
  text: string;
  shardId?: string;
}

export const eventState = (name: string | undefined): string => {
  const word = enumWord(name, "MACHINE_STATE_");
  return word === "Unspecified" ? "" : word;
};

const BILLED = new Set(["Creating", "Idle", "Configuring", "Configured", "Draining", "Deleting"]);

export interface CostSoFar {
  dollars: number;
  sinceNanos: number;
}

/** Price times the time it was billed, as far back as its story goes; null: nothing is known. */
export function costSoFar(events: readonly StoryEvent[], pricePerHour: number, state: string, nowNanos: number): CostSoFar | null {
  const moves = events.filter((event) => eventState(event.toState));
  const first = moves[0];
  if (!first) return null;
  let dollars = 0;
  moves.forEach((event, index) => {
    const until = moves[index + 1]?.atUnixNanos ?? nowNanos;
    const during = index === moves.length - 1 ? state : eventState(event.toState);
    if (BILLED.has(during)) dollars += (pricePerHour * Math.max(0, until - event.atUnixNanos)) / 3.6e12;
  });
  return { dollars, sinceNanos: first.atUnixNanos };
}

/** Columns by which the server lists all machines, however many. The youngest came last. */
export const SERVER_SORTS: Readonly<Record<string, string>> = { id: "name", state: "state", cluster: "cluster", type: "type", zone: "zone", price: "price", age: "-since" };

/** What `/machines?sort=` takes for a sort of the table; empty: it is not sorted there. */
export function serverSort(sort: { key: string; descending: boolean } | null): string {
  const known = sort ? SERVER_SORTS[sort.key] : undefined;
  if (!sort || !known) return "";
  return sort.descending ? (known.startsWith("-") ? known.slice(1) : `-${known}`) : known;
}
