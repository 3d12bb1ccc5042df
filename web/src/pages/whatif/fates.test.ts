import { expect, it } from "vitest";
import { countsOf, detailsOfFate, fateColumn, fateLegend, fateNumber, FATES, withoutRacks } from "./fates";
import type { Fate } from "./types";

const NOTHING = { kind: "", cluster: "" };
const fate = (more: Partial<Fate>): Fate => ({ removed: false, before: NOTHING, after: NOTHING, machines: more.machineIds?.length ?? 0, machineIds: [], ...more });
const GONE = fate({ removed: true, before: { kind: "Reclaim", cluster: "ml" }, machineIds: ["m-1", "m-3"] });
const TAKEN = fate({ after: { kind: "Preempt", cluster: "shop" }, machineIds: ["m-0"] });
const SPARED = fate({ before: { kind: "Bootstrap", cluster: "ml" }, machineIds: ["m-9"] });

it("a fate is told in words", () => {
  expect([GONE, TAKEN, SPARED].map(detailsOfFate)).toEqual(["as it is: Reclaim ml", "nothing → Preempt shop", "Bootstrap ml → nothing"]);
  expect([GONE, TAKEN, SPARED].map((each) => FATES[fateNumber(each)]?.text)).toEqual(["taken away", "preempted", "left alone"]);
});

it("a kind of a later version is not called as before", () => {
  expect(FATES[fateNumber(fate({ after: { kind: "Odd", cluster: "" } }))]?.text).toBe("left alone");
});

it("machines get their place on the map, and those that are not on it are told apart", () => {
  const map = { count: 4, id: (row: number) => `m-${row}` };
  const { column, found } = fateColumn(map, [GONE, TAKEN, SPARED]);
  expect([...column]).toEqual([2, 1, 0, 1]);
  expect(found).toBe(3);
  expect(fateLegend(column).map((entry) => [entry.name, entry.count])).toEqual([["as before", 1], ["taken away", 2], ["preempted", 1]]);
  expect(countsOf([GONE, TAKEN, SPARED])[1]).toBe(2);
});

it("many racks are one block of their zone, few stay as they are", () => {
  const rack = (start: number) => ({ name: `r${start}`, start, end: start + 1 });
  const order = { rows: Uint32Array.of(0, 1, 2), groups: [{ name: "a", start: 0, end: 3, inner: [rack(0), rack(1), rack(2)] }] };
  expect(withoutRacks(order, 3)).toBe(order);
  expect(withoutRacks(order, 2).groups).toEqual([{ name: "a", start: 0, end: 3, inner: [{ name: "", start: 0, end: 3 }] }]);
});
