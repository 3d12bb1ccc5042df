import { expect, it } from "vitest";
import { type CostSeries, hasSamples, isFree, shownSeries } from "./series";

const told = (series: CostSeries["series"], total: (number | null)[] = [1, 2]): CostSeries => ({ by: "cluster", timestamps: total.map((_, index) => index), stepSeconds: 1, dollarsPerHour: total, idleDollarsPerHour: total, series, keptSeconds: 86400 });

it("names that cost nothing are left out", () => {
  expect(shownSeries(told([{ name: "shop", dollarsPerHour: [1, 0] }, { name: "ml", dollarsPerHour: [0, null] }])).map((each) => each.name)).toEqual(["shop"]);
});

it("beyond the colours that are told apart the rest is one series, with what the server summed up already", () => {
  const many = ["a", "b", "c", "d", "other"].map((name, index) => ({ name, dollarsPerHour: [index + 1, null] }));
  const shown = shownSeries(told(many), 3);
  expect(shown.map((each) => each.name)).toEqual(["a", "b", "other"]);
  expect(shown.at(-1)?.points).toEqual([3 + 4 + 5, null]);
});

it("a fleet that was never measured is not a fleet that costs nothing", () => {
  expect([hasSamples(told([], [null, null])), isFree(told([], [null, null]))]).toEqual([false, false]);
  expect([hasSamples(told([], [0, null])), isFree(told([], [0, null]))]).toEqual([true, true]);
});
