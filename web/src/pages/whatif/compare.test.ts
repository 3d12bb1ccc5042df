import { describe, expect, it } from "vitest";
import { differenceOf, groupsOf, isBetter, isWorse, sentenceOf } from "./compare";
import type { Side, WhatIf } from "./types";

const side = (more: Partial<Side> = {}): Side => ({
  actionsByKind: {}, satisfiedNeeds: 3, unsatisfiedNeeds: 0, shortfallsByPriority: {}, costPerHour: 10, expectedInterruptionPerHour: 0, declaredPenalties: 0, pinnedVictims: 0, machinesByState: {}, ...more,
});
const told = (changed: Partial<Side>, more: Partial<WhatIf> = {}): WhatIf => ({
  cycle: "1:4", overlay: [], warnings: [], removedMachines: 0, base: side(), changed: side(changed), clusters: [], newlyUnmet: [], newlyMet: [], moved: [], ...more,
});

describe("both sides", () => {
  it("have a row for what either side has", () => {
    const groups = groupsOf(side({ actionsByKind: { Bootstrap: 16 } }), side({ actionsByKind: { Preempt: 2, Odd: 1 } }));
    const actions = groups.find((group) => group.title === "Actions");
    expect(actions?.rows.map((row) => [row.key, row.base, row.then])).toEqual([["Bootstrap", 16, 0], ["Preempt", 0, 2], ["Odd", 0, 1]]);
    expect(groups.map((group) => group.title)).not.toContain("Shortfalls by priority");
  });
  it("order shortfalls by priority, highest first", () => {
    const rows = groupsOf(side(), side({ shortfallsByPriority: { "100": 1, "100000": 2 } })).find((group) => group.title === "Shortfalls by priority")?.rows;
    expect(rows?.map((row) => row.key)).toEqual(["100000", "100"]);
  });
  it("tell worse from better", () => {
    const [needs] = groupsOf(side(), side({ satisfiedNeeds: 2, unsatisfiedNeeds: 1, costPerHour: 8 }));
    const row = (key: string) => needs!.rows.find((each) => each.key === key)!;
    expect(isWorse(row("met"))).toBe(true);
    expect(isWorse(row("unmet"))).toBe(true);
    expect(isBetter(row("cost"))).toBe(true);
    expect(differenceOf(row("cost"))).toBe("−$2.00/h");
    expect(differenceOf(row("pinned"))).toBe("same");
  });
});

describe("the sentence", () => {
  it("never claims that all is well while someone waits", () => {
    expect(sentenceOf(told({}))).toBe("the plan covers every Need");
    expect(sentenceOf(told({ unsatisfiedNeeds: 2 }))).toMatch(/leaves 2.Needs unmet$/);
    expect(sentenceOf(told({ unsatisfiedNeeds: 5, costPerHour: 12 }, { removedMachines: 400, newlyUnmet: [], newlyUnmetCount: 5 }))).toMatch(/^400.machines gone; 5.Needs newly unmet; \+\$2.00\/h$/);
  });
});
