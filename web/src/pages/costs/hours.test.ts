import { describe, expect, it } from "vitest";
import { missingText, observedHours, type PastCosts, sinceOf } from "./hours";

const total = { machineHours: 2, billedDollars: 1, imputedDollars: 0, expectedInterruptionDollars: 0, wasteDollars: 0, idleDollars: 0, strandedDollars: 0 };
const seen = { observedSeconds: 5_400, unobservedHours: 3, partialHours: 1, keptSince: null };
const told: PastCosts = { period: { rows: [], total, shards: { "shard-0": seen, "shard-1": { ...seen, unobservedHours: 0, partialHours: 0 } } } };

describe("past hours", () => {
  it("begin at a whole hour, with the one that is running", () => {
    expect(sinceOf("24h", Date.parse("2026-03-14T15:20:00Z"))).toBe("2026-03-13T16:00:00Z");
    expect(sinceOf("nonsense", Date.parse("2026-03-14T15:20:00Z"))).toBe("2026-03-13T16:00:00Z");
  });

  it("that were not observed are named, not filled", () => {
    expect(missingText(told)).toBe("shard-0: 3 hours not observed, 1 hour only in part");
    expect(missingText({})).toBe("");
  });

  it("that were observed are added up over shards", () => {
    expect(observedHours(told)).toBe(3);
  });
});
