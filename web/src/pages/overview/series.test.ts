import { expect, test } from "vitest";
import type { Sample } from "../../core/live";
import type { Overview } from "../../core/types";
import { courseOf } from "./series";

const sample = (seconds: number, dollarsPerHour: number | null): Sample => ({
  seconds,
  overview: { machinesByState: { Idle: seconds }, dollarsPerHour } as unknown as Overview,
});

test("samples go on where the history ends, one per step", () => {
  const course = courseOf({ timestamps: [0, 5], dollarsPerHour: [1, null] }, [sample(4, 9), sample(7, 9), sample(10, 3), sample(12, 9), sample(15, null)], 5, 900);
  expect(course.times).toEqual([0, 5, 10, 15]);
  expect(course.column("dollarsPerHour")).toEqual([1, null, 3, null]);
});

test("without a history the visit's own samples are shown", () => {
  const course = courseOf(undefined, [sample(10, 1), sample(20, 2)], 5, 900);
  expect(course.times).toEqual([10, 20]);
  expect(course.column("machines.Idle")).toEqual([10, 20]);
});

test("what is older than the span is left out", () => {
  expect(courseOf({ timestamps: [0, 100, 1000] }, [], 5, 900).times).toEqual([100, 1000]);
});

test("time before the first sample is left out, gaps after it stay", () => {
  const course = courseOf({ timestamps: [0, 5, 10, 15], dollarsPerHour: [null, null, 2, null], machinesByState: { Idle: [null, 1, null, 3] } }, [], 5, 900);
  expect(course.times).toEqual([5, 10, 15]);
  expect(course.column("dollarsPerHour")).toEqual([null, 2, null]);
  expect(course.column("machines.Idle")).toEqual([1, null, 3]);
});
