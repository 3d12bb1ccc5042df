import { describe, expect, test } from "vitest";
import { applyChanges, difference, parseMap } from "./data";
import { fleetOf, synthetic } from "./synthetic";

describe("the map's bytes", () => {
  test("become columns and ids", () => {
    const map = parseMap(synthetic([{ id: "bm-1", state: 3, group: 0 }, { id: "ключ-λ", state: 5, group: 1, cluster: 1 }]));
    expect([map.id(0), map.id(1)]).toEqual(["bm-1", "ключ-λ"]);
    expect([map.name("state", 0), map.name("clusterIdx", 1)]).toEqual(["Idle", "shop"]);
    expect([map.find("ключ-λ"), map.find("bm")]).toEqual([1, -1]);
  });
  test("that are cut off are refused", () => {
    const whole = synthetic(fleetOf(10));
    for (const length of [0, 3, 50, 4110]) expect(() => parseMap(whole.slice(0, length))).toThrow();
  });
});

describe("changes", () => {
  test("are written into the columns, by the column's name or number", () => {
    const map = parseMap(synthetic(fleetOf(4)));
    const rows = applyChanges(map, { cycle: 9, changes: [[2, "state", 8], [3, 1, 2], [0, "state", 1]] });
    expect(rows).toEqual([2, 3]);
    expect([map.name("state", 2), map.name("clusterIdx", 3), map.header.cycle]).toEqual(["Failed", "ml", 9]);
  });
  test("of rows and columns that are not there are left out", () => {
    const map = parseMap(synthetic(fleetOf(2)));
    expect(applyChanges(map, { cycle: 9, changes: [[5, "state", 1], [-1, "state", 1], [0, "nothing", 1], [0, 99, 1]] })).toEqual([]);
  });
  test("between two cycles are found, unless the machines are others", () => {
    const before = parseMap(synthetic(fleetOf(5)));
    const machines = fleetOf(5);
    const third = machines[3];
    if (third) third.state = 8;
    expect(difference(before, parseMap(synthetic(machines)))).toEqual([3]);
    expect(difference(before, parseMap(synthetic(fleetOf(6))))).toBeNull();
  });
});
