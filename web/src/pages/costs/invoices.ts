// Statements and months as /invoices tells them. What is not known is absent.
import * as format from "../../core/format";

/** JSON has no infinity: a pinned workload's penalty is the word. */
export type Amount = number | "Infinity" | "-Infinity" | "NaN" | undefined;

export interface Statement {
  id: string;
  shardId: string;
  kind: string;
  machineId: string;
  completedUnixNanos: number;
  fromNeed?: { clusterId: string };
  toNeed?: { clusterId: string };
  /** Names of the two Needs; absent: only the cluster is known, or not even that. */
  from?: string;
  to?: string;
  fromPriority?: number;
  toPriority?: number;
  interruptionPenaltyDollars?: Amount;
  reclamationPenaltyDollars?: Amount;
  drainSeconds?: number;
  drainValueDollars?: number;
  nextBest?: { kind?: string; text: string; extraDollars?: Amount; extraDollarsPerHour?: Amount };
  chain?: string[];
  unknown: string;
}
export interface Month {
  month: string;
  cluster?: string;
  team?: string;
  causedDollars: number;
  borneDollars: number;
  netDollars: number;
  /** Of caused and of borne: what it took from itself. */
  ownDollars: number;
  count: number;
  pinned: number;
  unknown: number;
}
export interface Invoices {
  by: string;
  months: Month[];
  statements: Statement[];
  total: number;
  gaps: { text: string; shardId: string }[];
  trouble: Record<string, string>;
  warnings?: string[];
}

export const amountOf = (amount: Amount): number | null => (typeof amount === "number" ? amount : null);

export function declaredOf(made: Statement): number | "pinned" | null {
  const both = [made.interruptionPenaltyDollars, made.reclamationPenaltyDollars];
  if (both.includes("Infinity")) return "pinned";
  const [interruption, reclamation] = both.map(amountOf);
  return format.known(interruption) && format.known(reclamation) ? interruption + reclamation : null;
}

/** "+$10.00": more was taken for it than from it. */
export const signed = (dollars: number): string => (dollars > 0 ? "+" : "") + format.money(dollars);
export const netText = ({ netDollars }: { netDollars: number }): string => signed(netDollars);

/** What the next best would have cost beside what was declared; each dollar says which kind it is. */
export function extraText(made: Statement): string {
  const [declared, billed] = [amountOf(made.nextBest?.extraDollars), amountOf(made.nextBest?.extraDollarsPerHour)];
  if (format.known(billed)) return `${signed(billed)}/h billed`;
  if (!format.known(declared)) return "";
  return declared === 0 ? "as many declared dollars" : `${signed(declared)} declared`;
}

/** The newest month of a cluster; a month without a statement has no line. */
export const newestOf = (told: Invoices | undefined, cluster: string): Month | undefined => told?.months.filter((line) => line.cluster === cluster).at(-1);

/** The newest first. */
export const monthsOf = (told: Invoices): string[] => [...new Set(told.months.map((line) => line.month))].sort().reverse();

export const nameOf = (line: Month): string => line.cluster ?? line.team ?? "";

/** Of one month, who caused or bore most first. */
export function rowsOf(told: Invoices, month: string): Month[] {
  const weight = (line: Month) => Math.max(line.causedDollars, line.borneDollars);
  return told.months.filter((line) => line.month === month).sort((a, b) => weight(b) - weight(a) || b.count - a.count || nameOf(a).localeCompare(nameOf(b)));
}

export const warningsOf = (told: Invoices): string[] => [
  ...Object.entries(told.trouble).map(([shard, why]) => `${shard} keeps no statements: ${why}`),
  ...told.gaps.slice(0, 5).map((gap) => `statements of ${gap.shardId} may be missing: ${gap.text}`),
  ...(told.gaps.length > 5 ? [`and ${format.plural(told.gaps.length - 5, "further gap")}`] : []),
];
