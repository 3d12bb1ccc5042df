import { describe, expect, it } from "vitest";
import { lackOf, type ShardRegret, typeParts } from "./shard-regrets";

const row = (changes: Partial<ShardRegret>): ShardRegret => ({
  shardId: "shard-0", status: "REGRET_STATUS_OPTIMAL", reason: "", cycle: 7, greedyPerHour: 2, boundPerHour: 0.4, gapPerHour: 1.6, ratio: 0.8,
  pinnedMachines: 0, uncovered: [], byType: [], ...changes,
});
const type = (instanceType: string, greedyPerHour: number, boundPerHour: number) => ({ instanceType, greedyPerHour, boundPerHour, gapPerHour: greedyPerHour - boundPerHour });

describe("the regret of shards", () => {
  it("adds the parts of one type up over shards, the largest gap first", () => {
    const rows = [row({ byType: [type("big", 2, 0), type("small", 0, 0.5)] }), row({ byType: [type("small", 3, 0)] })];
    expect(typeParts(rows)).toEqual([{ name: "small", cost: 3, bound: 0.5 }, { name: "big", cost: 2, bound: 0 }]);
  });
  it("leaves out what is rounding, and what is beyond the most", () => {
    const rows = [row({ byType: [type("a", 1, 1.001), type("b", 3, 1), type("c", 2, 1)] })];
    expect(typeParts(rows, 1).map((part) => part.name)).toEqual(["b"]);
    expect(typeParts(rows).map((part) => part.name)).toEqual(["b", "c"]);
  });
  it("says what each class lacks and what it could be, also where that is unknown", () => {
    const lacking = (boundKnown: boolean) => lackOf(row({ uncovered: [{ priorityClass: "batch", greedy: { resources: { cpu: "32" } }, boundKnown }] }));
    expect(lacking(true)).toBe("batch: cpu 32; could be nothing");
    expect(lacking(false)).toBe("batch: cpu 32; could be unknown");
    expect(lackOf(row({}))).toBe("nothing");
  });
});
