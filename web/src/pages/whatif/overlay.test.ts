import { describe, expect, it } from "vitest";
import { baseOfAddress, baseOfCycle, commandOf, lineOf, linesOfAddress, NEW_DRAFT, pinnedBase, shardOfBase, wordsOf } from "./overlay";

describe("edits of a form", () => {
  it("become the lines that the command line reads", () => {
    expect(lineOf({ ...NEW_DRAFT, kind: "zone-loss", zone: " b " })).toEqual({ line: "zone-loss b" });
    expect(lineOf({ ...NEW_DRAFT, kind: "demand", cluster: "ml", factor: "1.40" })).toEqual({ line: "demand cluster=ml x1.4" });
    expect(lineOf({ ...NEW_DRAFT, kind: "demand", factor: "0" })).toEqual({ line: "demand x0" });
    expect(lineOf({ ...NEW_DRAFT, kind: "price", capacity: "Spot", factor: "2" })).toEqual({ line: "price capacity=Spot x2" });
    expect(lineOf({ ...NEW_DRAFT, kind: "stock-out", capacity: "OnDemand", zone: "a" })).toEqual({ line: "stock-out capacity=OnDemand zone=a" });
    expect(lineOf({ ...NEW_DRAFT, kind: "other", line: "cluster-leave\n batch" })).toEqual({ line: "cluster-leave batch" });
  });
  it("say what is missing", () => {
    for (const kind of ["zone-loss", "stock-out", "machines-remove", "other"] as const) expect(lineOf({ ...NEW_DRAFT, kind })).toHaveProperty("missing");
    for (const factor of ["", "much", "-1"]) expect(lineOf({ ...NEW_DRAFT, kind: "demand", factor })).toHaveProperty("missing");
  });
});

describe("an address", () => {
  it("holds edits, the map's selection and the base", () => {
    expect(linesOfAddress({ overlay: "zone-loss b\n\n demand x2 ", remove: "m-1,m-2," })).toEqual(["zone-loss b", "demand x2", "machines-remove id=m-1,m-2"]);
    expect(linesOfAddress({})).toEqual([]);
    expect(baseOfAddress({ base: "3:18231", at: "7" })).toBe("3:18231");
    expect(baseOfAddress({ at: "7" })).toBe("7");
    expect(baseOfAddress({ base: "shard-0 1:2, shard-1 1:3" })).toBe("");
    expect(baseOfAddress({ base: "shard-0@1:2,shard-1@3" })).toBe("shard-0@1:2,shard-1@3");
    expect(baseOfCycle("shard-0 1:2, shard-1 1:3")).toBe("shard-0@1:2,shard-1@1:3");
    expect(baseOfCycle("1:2")).toBe("1:2");
    expect(baseOfCycle("of a file")).toBe("");
    expect(pinnedBase("", "1:2")).toBe("1:2");
    expect(pinnedBase("shard-1@2", "1:2")).toBe("shard-1@1:2");
    expect(pinnedBase("shard-0@2,shard-1@3", "shard-0 1:2, shard-1 1:3")).toBe("shard-0@1:2,shard-1@1:3");
    expect(["shard-1@2", "1:2", "", "shard-0@2,shard-1@3"].map(shardOfBase)).toEqual(["shard-1", "", "", ""]);
  });
});

describe("a command", () => {
  it("keeps the order of the edits and quotes what a shell would cut", () => {
    expect(commandOf(["zone-loss b", "demand cluster=ml x1.4"], "1:42", true)).toBe("bigfleet whatif --at 1:42 --zone-loss b --demand 'cluster=ml x1.4' --settle");
    expect(commandOf(["zone-loss b'; rm -rf /"], "", false)).toBe(`bigfleet whatif --zone-loss 'b'\\''; rm -rf /'`);
  });
});

describe("an edit in words", () => {
  it("is a sentence where there is one", () => {
    expect(wordsOf("zone-loss b")).toBe("Zone b is lost");
    expect(wordsOf("demand cluster=ml x1.4")).toBe("ml asks for 1.4 times as much");
    expect(wordsOf("demand x2")).toBe("Every cluster asks for 2 times as much");
    expect(wordsOf("price capacity=Spot x2")).toBe("Spot costs 2 times as much");
    expect(wordsOf("machines-remove id=a,b")).toBe("2 machines vanish");
    expect(wordsOf("option foo=1")).toBe("option foo=1");
  });
});
