// Dollars and machine-hours of past hours, as the ledgers of the shards tell them.
import * as format from "../../core/format";

export const SPANS = [
  { value: "24h", text: "24 h", hours: 24 }, { value: "7d", text: "7 d", hours: 168 }, { value: "30d", text: "30 d", hours: 720 }, { value: "400d", text: "400 d", hours: 9_600 },
] as const;

export interface HoursRow {
  name: string;
  machineHours: number;
  billedDollars: number;
  imputedDollars: number;
  expectedInterruptionDollars: number;
  wasteDollars: number;
  idleDollars: number;
  strandedDollars: number;
}
interface Observed {
  observedSeconds: number;
  unobservedHours: number;
  partialHours: number;
  keptSince: string | null;
}
export interface PastCosts {
  period?: { rows: HoursRow[]; total: Omit<HoursRow, "name">; shards: Record<string, Observed> };
  warnings?: string[];
}

const HOUR = 3_600_000;

/** The hour that is running is part of it; a minute later the address is the same, so the answer is asked for once. */
export function sinceOf(span: string, now: number): string {
  const hours = SPANS.find((each) => each.value === span)?.hours ?? SPANS[0].hours;
  return new Date(Math.floor(now / HOUR) * HOUR - (hours - 1) * HOUR).toISOString().replace(".000", "");
}

/** What the numbers do not cover: an hour that nobody observed is not an hour that cost nothing. */
export function missingText(told: PastCosts): string {
  const shards = Object.entries(told.period?.shards ?? {});
  const parts = shards.flatMap(([shard, seen]) => {
    const found = [];
    if (seen.unobservedHours > 0) found.push(`${format.plural(seen.unobservedHours, "hour")} not observed`);
    if (seen.partialHours > 0) found.push(`${format.plural(seen.partialHours, "hour")} only in part`);
    return found.length > 0 ? [`${shard}: ${found.join(", ")}`] : [];
  });
  return parts.join("; ");
}

export const observedHours = (told: PastCosts): number =>
  Object.values(told.period?.shards ?? {}).reduce((sum, seen) => sum + seen.observedSeconds / 3_600, 0);
