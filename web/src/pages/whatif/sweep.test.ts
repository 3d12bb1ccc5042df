import { describe, expect, it } from "vitest";
import { axesOfAddress, axisOf, barsOf, measuresOf, NEW_AXIS, pointsOf, rowsOf, squareOf, tellingMeasure, valuesOf, wordsOfAxis } from "./sweep";
import type { Side, Sweep } from "./types";

const side = (unmet: number, cost = 1, more: Partial<Side> = {}): Side => ({
  actionsByKind: {}, satisfiedNeeds: 3, unsatisfiedNeeds: unmet, shortfallsByPriority: {}, costPerHour: cost, expectedInterruptionPerHour: 0, declaredPenalties: 0, pinnedVictims: 0, machinesByState: {}, ...more,
});
const point = (values: Record<string, number>, changed: Side) => ({ values, newlyUnmetCount: 0, newlyMetCount: 0, changed });

describe("an axis", () => {
  it("is written as the command line reads it", () => {
    expect(axisOf({ ...NEW_AXIS, what: " ml " })).toEqual({ axis: "demand.ml=1:2:0.1" });
    expect(axisOf({ ...NEW_AXIS, kind: "price", what: "", last: "1e1" })).toEqual({ axis: "price=1:10:0.1" });
  });
  it("says what is missing", () => {
    for (const bad of [{ kind: "option" as const }, { first: "" }, { last: "much" }, { first: "3" }, { step: "0" }, { step: "-1" }])
      expect(axisOf({ ...NEW_AXIS, ...bad })).toHaveProperty("missing");
  });
  it("has as many values as decimal numbers give", () => {
    expect(valuesOf("demand.ml=1.0:2.0:0.1")).toBe(11);
    expect(valuesOf("demand.priority>=1000=1:1:5")).toBe(1);
    expect(valuesOf("demand.ml=2:1:1")).toBeNull();
    expect(valuesOf("demand.ml")).toBeNull();
    expect(pointsOf(["demand=1:2:0.1", "price=1:3:1"])).toBe(33);
    expect(pointsOf(["demand=1:2:0.1", "?"])).toBeNull();
  });
  it("is told in words, and as it stands where there are none", () => {
    expect(wordsOfAxis("demand.ml=1:2:0.1")).toBe("Demand of ml, times 1 to 2 in steps of 0.1");
    expect(wordsOfAxis("price=1:2:1")).toBe("Price of every machine, times 1 to 2 in steps of 1");
    expect(wordsOfAxis("moon=1")).toBe("moon=1");
  });
  it("comes from the address, at most two of them", () => {
    expect(axesOfAddress({ sweep: "a=1:2:1\n\n b=1:2:1\nc=1:2:1" })).toEqual(["a=1:2:1", "b=1:2:1"]);
    expect(axesOfAddress({})).toEqual([]);
  });
});

describe("one axis", () => {
  const sweep: Sweep = { axes: [{ name: "demand", values: [1, 2] }], pointCount: 2, complete: true, base: side(1), points: [point({ demand: 1 }, side(1)), point({ demand: 2 }, side(4))] };
  it("is bars beside how it is", () => {
    const [unmet] = measuresOf(sweep);
    const { bars, base, most } = barsOf(sweep, unmet!);
    expect([base, most]).toEqual([1, 4]);
    expect(bars.map((bar) => [bar.value, bar.amount, bar.height, bar.isAboveBase])).toEqual([[1, 1, 0.25, false], [2, 4, 1, true]]);
  });
  it("is shown by what its values change", () => {
    expect(tellingMeasure(sweep)).toBe("unmet");
    const dearer = { ...sweep, points: [point({ demand: 1 }, side(1, 1)), point({ demand: 2 }, side(1, 2))] };
    expect(tellingMeasure(dearer)).toBe("cost");
    expect(tellingMeasure({ ...sweep, points: sweep.points.slice(0, 1) })).toBe("cost");
  });
  it("stays flat where nothing is billed", () => {
    const free = { ...sweep, base: side(0, 0), points: [point({ demand: 1 }, side(0, 0))] };
    expect(barsOf(free, measuresOf(free)[1]!).bars[0]?.height).toBe(0);
  });
  it("tells times to cover only where the fleet settles", () => {
    expect(measuresOf(sweep).map((each) => each.key)).not.toContain("covered");
    const rest = { quietAfterCycles: 3, seconds: 3, timeToCoverSeconds: { p50: 1, p95: 2, max: null }, uncovered: 0 };
    const settled = { ...sweep, points: [point({ demand: 1 }, side(0, 1, { settled: rest }))] };
    const covered = measuresOf(settled).at(-1)!;
    expect(covered.of(settled.points[0]!.changed)).toBeNull();
    expect(covered.shown(null)).toBe("unknown");
    expect(rowsOf(settled)[0]?.covered).toBeNull();
  });
});

it("two axes are a square, in which points without an answer are empty", () => {
  const sweep: Sweep = {
    axes: [{ name: "a", values: [1, 2] }, { name: "b", values: [5, 6] }], pointCount: 4, complete: false, base: side(0),
    points: [point({ a: 1, b: 5 }, side(0)), point({ a: 1, b: 6 }, side(2)), point({ a: 2, b: 5 }, side(3))],
  };
  expect(squareOf(sweep, measuresOf(sweep)[0]!)).toEqual({ down: [1, 2], across: [5, 6], cells: [[0, 2], [3, null]], most: 3 });
  expect(rowsOf(sweep).map((row) => row.values)).toEqual([[1, 5], [1, 6], [2, 5]]);
});
