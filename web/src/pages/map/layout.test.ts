import { describe, expect, test } from "vitest";
import { parseMap } from "./data";
import { type Layout, layoutOf, neighbour, orderOf, placeAt, placesWithin } from "./layout";
import { fleetOf, synthetic } from "./synthetic";

const mapOf = (count: number) => parseMap(synthetic(fleetOf(count)));
const corner = (layout: Layout, place: number): [number, number] => {
  const offset = layout.offsets[place] ?? 0;
  return [offset % layout.width, Math.floor(offset / layout.width)];
};

describe("the order", () => {
  test("is by zone, then rack, in reading order", () => {
    const order = orderOf(mapOf(60));
    expect(order.groups.map((group) => group.name)).toEqual(["a", "b"]);
    expect(order.groups[0]?.inner.map((group) => group.name)).toEqual(["r1", "r2", "r10"]);
  });
  test("has every machine once", () => {
    const order = orderOf(mapOf(1000));
    expect([...order.rows].sort((a, b) => a - b)).toEqual(Array.from({ length: 1000 }, (_, index) => index));
  });
  test("puts machines without a group last", () => {
    const map = mapOf(30);
    map.header.by = "cluster";
    map.header.groups = [{ name: "none", start: 0, end: 10 }, { name: "shop/eu", start: 10, end: 30 }];
    expect(orderOf(map).groups.map((group) => group.name)).toEqual(["shop/eu", "none"]);
  });
  test("of one group holds only its machines", () => {
    const map = mapOf(30);
    const order = orderOf(map, "b");
    expect(order.rows).toHaveLength(15);
    expect([...order.rows].every((row) => map.header.groups?.some((group) => group.name.startsWith("b/") && row >= group.start && row < group.end))).toBe(true);
  });
});

describe.each([[7, 360, 300, 1], [1200, 1200, 600, 1], [1200, 700, 560, 2], [40_000, 1200, 700, 1], [200_000, 300, 200, 1]])("%i machines on %i x %i at scale %i", (count, width, room, scale) => {
  const order = orderOf(mapOf(count));
  const layout = layoutOf(order, width, room, scale);
  test("have squares of a pixel or more that do not overlap", () => {
    expect(layout.cell).toBeGreaterThanOrEqual(1);
    let outside = 0;
    let overlapping = 0;
    const taken = new Uint8Array(layout.width * layout.height);
    for (let place = 0; place < count; place += 1) {
      const [x, y] = corner(layout, place);
      const offset = y * layout.width + x;
      if (x + layout.cell > layout.width || y + layout.cell > layout.height) outside += 1;
      if (taken[offset]) overlapping += 1;
      taken[offset] = 1;
    }
    expect({ outside, overlapping }).toEqual({ outside: 0, overlapping: 0 });
  });
  test("are found again at their own place", () => {
    for (let place = 0; place < count; place += Math.ceil(count / 500)) {
      const [x, y] = corner(layout, place);
      expect(placeAt(layout, x, y)).toBe(place);
    }
  });
});

test("the squares fill the room", () => {
  const layout = layoutOf(orderOf(mapOf(1200)), 1200, 600);
  expect(layout.height).toBeLessThanOrEqual(600);
  expect(layout.cell).toBeGreaterThanOrEqual(12);
});

test("many racks give up their names for larger squares", () => {
  const order = orderOf(mapOf(25_000));
  const inner = Array.from({ length: 120 }, (_, rack) => rack);
  for (const group of order.groups) {
    const size = (group.end - group.start) / inner.length;
    group.inner = inner.map((rack) => ({ name: `r${rack}`, start: Math.round(group.start + rack * size), end: Math.round(group.start + (rack + 1) * size) }));
  }
  const layout = layoutOf(order, 1040, 620);
  expect(layout.cell).toBeGreaterThanOrEqual(3);
  expect(layout.labels.map((label) => label.text)).toEqual(["a", "b"]);
  expect(layout.height).toBeLessThanOrEqual(620);
});

describe("moving and selecting", () => {
  const layout = layoutOf(orderOf(mapOf(240)), 900, 500);
  test("right and back again leads home", () => {
    for (let place = 0; place < 240; place += 7) {
      const right = neighbour(layout, place, 1, 0);
      if (right === place + 1) expect(neighbour(layout, right, -1, 0)).toBe(place);
    }
  });
  test("every block can be reached by arrow keys", () => {
    const seen = new Set([0]);
    const queue = [0];
    for (let place = queue.pop(); place !== undefined; place = queue.pop())
      for (const [dx, dy] of [[1, 0], [-1, 0], [0, 1], [0, -1]] as const) {
        const next = neighbour(layout, place, dx, dy);
        if (!seen.has(next)) {
          seen.add(next);
          queue.push(next);
        }
      }
    expect(layout.blocks.every((block) => seen.has(block.start))).toBe(true);
  });
  test("a rectangle around everything selects everything, one outside nothing", () => {
    expect(placesWithin(layout, 0, 0, layout.width, layout.height)).toHaveLength(240);
    expect(placesWithin(layout, -50, -50, -10, -10)).toHaveLength(0);
  });
  test("a rectangle within a square selects that one", () => {
    const [x, y] = corner(layout, 11);
    expect([...placesWithin(layout, x + 1, y + 1, x + 2, y + 2)]).toEqual([11]);
  });
});
