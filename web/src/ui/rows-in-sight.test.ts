import { describe, expect, test } from "vitest";
import { rangeOf, rowAt, scrollFor, topsOf } from "./rows-in-sight";

const even = topsOf(1000, () => 30);
/** A heading of 50, then nine rows of 30, again and again. */
const uneven = topsOf(1000, (index) => (index % 10 === 0 ? 50 : 30));

test("a row is found by any height within it", () => {
  expect([0, 29, 30, 59, 60].map((y) => rowAt(even, y))).toEqual([0, 0, 1, 1, 2]);
  expect([0, 49, 50, 319, 320].map((y) => rowAt(uneven, y))).toEqual([0, 0, 1, 9, 10]);
});

test("above the first and below the last row are the first and the last", () => {
  expect(rowAt(even, -50)).toBe(0);
  expect(rowAt(even, 1e9)).toBe(999);
  expect(rowAt(topsOf(0, () => 30), 0)).toBe(0);
});

describe("rows in the document", () => {
  test("are all that are in sight, with some beside them, wherever the box is scrolled to", () => {
    for (const tops of [even, uneven])
      for (let top = 0; top < (tops[1000] ?? 0) - 600; top += 77) {
        const { first, end } = rangeOf(tops, top, 600);
        expect(tops[first] ?? 0).toBeLessThanOrEqual(Math.max(0, top - 8 * 30));
        expect(end === 1000 || (tops[end] ?? 0) >= top + 600 + 8 * 30).toBe(true);
        expect(end - first).toBeLessThan(60);
      }
  });
  test("stay the same while one scrolls by less than a few rows", () => {
    const ranges = new Set<string>();
    for (let top = 3000; top < 3240; top += 1) ranges.add(JSON.stringify(rangeOf(even, top, 600)));
    expect(ranges.size).toBeLessThanOrEqual(3);
  });
  test("are all of a short list, and none of an empty one", () => {
    expect(rangeOf(topsOf(5, () => 30), 0, 600)).toEqual({ first: 0, end: 5 });
    expect(rangeOf(topsOf(0, () => 30), 0, 600)).toEqual({ first: 0, end: 0 });
  });
});

describe("a row that is wanted", () => {
  const now = { top: 3000, height: 600, head: 34 };
  test("and in sight moves nothing", () => expect(scrollFor(even, 105, now)).toBe(3000));
  test("and above comes below the heading", () => expect(scrollFor(even, 50, now)).toBe(1500));
  test("and below comes to the lower edge", () => expect(scrollFor(even, 200, now)).toBe(34 + 201 * 30 - 600));
});
