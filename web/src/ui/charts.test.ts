import { expect, test } from "vitest";
import { sparkPath, stackOf, withoutLead } from "./charts";

test("a stack adds up, and a gap in all of its parts stays a gap", () => {
  expect(stackOf([[1, null, 2], [3, null, null]])).toEqual([[1, null, 2], [4, null, 2]]);
});

test("a sparkline breaks at a gap", () => {
  expect(sparkPath([0, 1, null, 1, 0], 100, 20).match(/M/g)).toHaveLength(2);
});

test("one sample draws nothing", () => {
  expect(sparkPath([1], 100, 20)).toBe("");
});

test("gaps before the first sample are left out", () => {
  expect(withoutLead([null, null, 3, null, 4])).toEqual([3, null, 4]);
});
