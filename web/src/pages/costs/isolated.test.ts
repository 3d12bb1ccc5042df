import { expect, test } from "vitest";
import { amount, lines, type Slice } from "./isolated";

const slice = (second: number, seconds: number, pooled: number, isolated: number): Slice => ({
  startUnixNanos: second * 1e9, seconds, pooled: { dollars: pooled }, isolated: { dollars: isolated },
});

test("dollars of a slice are told per hour of what was observed of it", () => {
  expect(lines([slice(0, 30, 0.5, 1), slice(60, 60, 1, 2)], 60)).toEqual({ times: [0, 60], pooled: [60, 60], isolated: [120, 120] });
});

test("a slice that was not observed is a gap and never a zero", () => {
  const found = lines([slice(0, 60, 1, 1), slice(180, 60, 1, 1), slice(240, 0, 0, 0)], 60);
  expect(found).toEqual({ times: [0, 60, 180, 240], pooled: [60, null, 60, null], isolated: [60, null, 60, null] });
});

test("amounts have cents below a thousand and none from there on", () => {
  expect([5.1, 56, -0.314, 1955145.3].map(amount)).toEqual(["5.10", "56", "-0.31", "1,955,145"]);
});
