import { describe, expect, it } from "vitest";
import { declaredOf, extraText, type Invoices, monthsOf, nameOf, netText, newestOf, rowsOf, type Statement, warningsOf } from "./invoices";

const made: Statement = { id: "1:2/m", shardId: "s", kind: "ACTION_KIND_PREEMPT", machineId: "m", completedUnixNanos: 1, unknown: "" };
const line = { causedDollars: 1, borneDollars: 2, netDollars: -1, ownDollars: 0, count: 1, pinned: 0, unknown: 0 };
const told: Invoices = { by: "cluster", months: [{ month: "2026-02", cluster: "a", ...line }, { month: "2026-03", cluster: "a", ...line }], statements: [], total: 0, gaps: [{ text: "g", shardId: "s" }], trouble: { t: "disk" } };

describe("statements", () => {
  it("adds what is declared, and guesses nothing", () => {
    expect(declaredOf({ ...made, interruptionPenaltyDollars: 4, reclamationPenaltyDollars: 0 })).toBe(4);
    expect(declaredOf({ ...made, interruptionPenaltyDollars: "Infinity", reclamationPenaltyDollars: 1 })).toBe("pinned");
    expect(declaredOf(made)).toBeNull();
  });

  it("shows who took more than was taken from it", () => {
    expect(netText({ netDollars: 10 })).toBe("+$10.00");
    expect(netText({ netDollars: -10 })).toBe("-$10.00");
  });

  it("finds the newest month of a cluster", () => {
    expect(newestOf(told, "a")?.month).toBe("2026-03");
    expect(newestOf(told, "b")).toBeUndefined();
  });

  it("says what may be missing", () => {
    expect(warningsOf(told)).toEqual(["t keeps no statements: disk", "statements of s may be missing: g"]);
  });

  it("says of each further dollar whether it is declared or billed", () => {
    const best = (extra: object): Statement => ({ ...made, nextBest: { text: "m-2", ...extra } });
    expect(extraText(best({ extraDollars: -75 }))).toBe("-$75.00 declared");
    expect(extraText(best({ extraDollars: 0 }))).toBe("as many declared dollars");
    expect(extraText(best({ extraDollarsPerHour: 2 }))).toBe("+$2.00/h billed");
    expect(extraText(best({ extraDollars: "Infinity" }))).toBe("");
    expect(extraText(made)).toBe("");
  });

  it("shows one month, who moved most first", () => {
    const months = [
      { month: "2026-03", cluster: "a", ...line },
      { month: "2026-03", cluster: "b", ...line, borneDollars: 9 },
      { month: "2026-02", cluster: "c", ...line },
    ];
    expect(monthsOf({ ...told, months })).toEqual(["2026-03", "2026-02"]);
    expect(rowsOf({ ...told, months }, "2026-03").map(nameOf)).toEqual(["b", "a"]);
  });
});
