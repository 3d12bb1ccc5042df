import { describe, expect, test } from "vitest";
import { ageColumn, legendOf, mix, pixel, priceName, tableOf } from "./colours";
import { FleetMap, parseMap } from "./data";
import { layoutOf, orderOf } from "./layout";
import { around, placesOf, Squares } from "./paint";
import { totalsOf } from "./totals";
import { summaryOf } from "./summary-rows";
import { fleetOf, LEGEND, synthetic } from "./synthetic";

const map = parseMap(synthetic(fleetOf(80)));
const order = orderOf(map);
const column = map.column("state") ?? new Uint8Array();
const FAINT = pixel("#111111");

describe("colours", () => {
  test("are kept as the canvas wants them: red first in memory", () => {
    const memory = new Uint8Array(Uint32Array.of(pixel("#102030")).buffer);
    expect([...memory]).toEqual([0x10, 0x20, 0x30, 0xff]);
  });
  test("mix from one to the other", () => {
    expect(mix(pixel("#000000"), pixel("#ffffff"), 0)).toBe(pixel("#000000"));
    expect(mix(pixel("#000000"), pixel("#fe8040"), 1)).toBe(pixel("#fe8040"));
    expect(mix(pixel("#000000"), pixel("#646464"), 0.5)).toBe(pixel("#323232"));
  });
  test("the legend counts every machine once", () => {
    const entries = legendOf(map, "state", column, order.rows);
    expect(entries.map((entry) => entry.name)).toEqual(LEGEND.state.slice(1));
    expect(entries.reduce((sum, entry) => sum + entry.count, 0)).toBe(80);
  });
  test("what is filtered out is faint", () => {
    const entries = legendOf(map, "state", column, order.rows);
    const table = tableOf(entries, (entry) => entry.name !== "Idle", FAINT);
    expect([table[1] === FAINT, table[3] === FAINT]).toEqual([true, false]);
  });
  test("ages fall into buckets, and unknown stays unknown", () => {
    expect([...ageColumn(Uint32Array.of(0, 995, 900, 1), 4, 1000)]).toEqual([0, 1, 2, 3]);
  });
  test("price buckets are named by their limits", () => {
    expect([0, 2, 3].map((value) => priceName(LEGEND.price, value))).toEqual(["$0/h", "up to $0.10/h", "above $0.10/h"]);
  });
});

describe("squares", () => {
  const layout = layoutOf(order, 600, 400);
  const look = { column, table: tableOf(legendOf(map, "state", column, order.rows), () => false, FAINT), faint: FAINT, ring: pixel("#abcdef"), ink: 0 };
  test("are painted in the colour of their value, gaps stay clear", () => {
    const squares = new Squares(layout, order.rows);
    squares.drawAll(look, undefined, 1);
    const middle = (layout.offsets[5] ?? 0) + (layout.cell >> 1) * (layout.width + 1);
    expect(squares.pixels[middle]).toBe(look.table[column[order.rows[5] ?? 0] ?? 0]);
    const painted = squares.pixels.reduce((sum, each) => sum + (each === 0 ? 0 : 1), 0);
    expect(painted).toBe(80 * (layout.cell ** 2 - 4));
  });
  test("a reservation has a ring", () => {
    const squares = new Squares(layout, order.rows);
    squares.draw(3, look, true);
    expect(squares.pixels[layout.offsets[3] ?? 0]).toBe(look.ring);
  });
  test("a change of one value paints one square", () => {
    const squares = new Squares(layout, order.rows);
    squares.draw(3, look, false);
    const box = around(layout, [3]);
    expect([box?.width, box?.height]).toEqual([layout.cell, layout.cell]);
    expect(placesOf(order.rows, 80)[order.rows[3] ?? 0]).toBe(3);
  });
});

test("the table says the same as the map", () => {
  const entries = legendOf(map, "state", column, order.rows);
  const rows = summaryOf(order, column, entries);
  expect(rows.map((row) => row.name)).toEqual(["a", "b"]);
  expect(entries.map((_, index) => rows.reduce((sum, row) => sum + (row.counts[index] ?? 0), 0))).toEqual(entries.map((entry) => entry.count));
});

test("a selection's cost is a bound where the map has only buckets", () => {
  const totals = totalsOf(map, Uint32Array.of(0, 2)); // Speculative and Idle
  expect(totals).toMatchObject({ machines: 2, isBound: true, dollars: 0.05 });
});

test("a selection's cost is exact where the map has prices", () => {
  const priced = new FleetMap(map.header, new Map([...map.columns, ["priceMicros", new Uint32Array(80).fill(380_000)]]), new Uint32Array(80), new Uint8Array());
  expect(totalsOf(priced, Uint32Array.of(0, 1, 2))).toMatchObject({ machines: 3, isBound: false, dollars: 0.76 });
});
