// Squares as pixels in one array, which the canvas takes as it is. Pure: no canvas in here.
import { mix } from "./colours";
import type { Column } from "./data";
import type { Layout } from "./layout";

/** One bit per pixel of a 4 x 4 tile, by state: told apart without colour. 0: plain. */
const PATTERNS = new Map<string, number>([
  ["Speculative", 0b1000_0000_0010_0000],
  ["Creating", 0b1000_0100_0010_0001],
  ["Configuring", 0b1111_0000_0000_0000],
  ["Draining", 0b1000_1000_1000_1000],
  ["Deleting", 0b1010_0101_1010_0101],
  ["Failed", 0b1001_0110_0110_1001],
]);
export const SMALLEST_PATTERNED = 6;
const SMALLEST_RINGED = 4;
const SMALLEST_ROUNDED = 7;

export const patternOf = (state: string): number => PATTERNS.get(state) ?? 0;

export interface Look {
  /** The column that colours, and the pixel of each of its values. */
  column: Column;
  table: Uint32Array;
  /** What is filtered out has this colour, and stays still. */
  faint: number;
  ring: number;
  ink: number;
  /** Pattern by state number; undefined: no patterns. */
  patterns?: readonly number[];
  states?: Column;
}

export class Squares {
  readonly pixels: Uint32Array;

  constructor(
    readonly layout: Layout,
    readonly rows: Uint32Array,
  ) {
    this.pixels = new Uint32Array(layout.width * layout.height);
  }

  private fill(offset: number, colour: number): void {
    const { cell, width } = this.layout;
    if (cell === 1) {
      this.pixels[offset] = colour;
      return;
    }
    // Large squares lose their corner pixels: that reads as rounded.
    const corner = cell >= SMALLEST_ROUNDED ? 1 : 0;
    for (let line = 0, at = offset; line < cell; line += 1, at += width) {
      const inset = line === 0 || line === cell - 1 ? corner : 0;
      this.pixels.fill(colour, at + inset, at + cell - inset);
    }
  }

  private weave(offset: number, pattern: number, colour: number): void {
    const { cell, width } = this.layout;
    for (let y = 0; y < cell; y += 1)
      for (let x = 0; x < cell; x += 1)
        if ((pattern >> (15 - ((y & 3) * 4 + (x & 3)))) & 1) this.pixels[offset + y * width + x] = colour;
  }

  private frame(offset: number, colour: number): void {
    const { cell, width } = this.layout;
    const thick = cell >= 8 ? 2 : 1;
    for (let y = 0; y < cell; y += 1) {
      const edge = y < thick || y >= cell - thick;
      const at = offset + y * width;
      if (edge) this.pixels.fill(colour, at, at + cell);
      else {
        this.pixels.fill(colour, at, at + thick);
        this.pixels.fill(colour, at + cell - thick, at + cell);
      }
    }
  }

  /** One machine, with `towards` mixed in: for a flash or a pulse. */
  draw(place: number, look: Look, reserved: boolean, towards = 0, part = 0): void {
    const row = this.rows[place] ?? 0;
    const offset = this.layout.offsets[place] ?? 0;
    const plain = look.table[look.column[row] ?? 0] ?? 0;
    const colour = part > 0 ? mix(plain, towards, part) : plain;
    this.fill(offset, colour);
    const pattern = look.patterns?.[look.states?.[row] ?? 0] ?? 0;
    if (pattern && this.layout.cell >= SMALLEST_PATTERNED) this.weave(offset, pattern, mix(colour, look.ink, 0.62));
    if (reserved) {
      if (this.layout.cell >= SMALLEST_RINGED) this.frame(offset, look.ring);
      else this.fill(offset, look.ring);
    }
  }

  drawAll(look: Look, flags: Column | undefined, reservedFlag: number): void {
    const { offsets, cell } = this.layout;
    const { rows, pixels } = this;
    if (cell === 1 && !look.patterns) {
      const { column, table, ring } = look;
      for (let place = 0; place < rows.length; place += 1) {
        const row = rows[place] ?? 0;
        const isReserved = flags !== undefined && ((flags[row] ?? 0) & reservedFlag) !== 0;
        pixels[offsets[place] ?? 0] = isReserved ? ring : (table[column[row] ?? 0] ?? 0);
      }
      return;
    }
    for (let place = 0; place < rows.length; place += 1)
      this.draw(place, look, flags !== undefined && ((flags[rows[place] ?? 0] ?? 0) & reservedFlag) !== 0);
  }
}

/** The place of each row, for changes that name rows; -1: not shown. */
export function placesOf(rows: Uint32Array, count: number): Int32Array {
  const places = new Int32Array(count).fill(-1);
  for (let place = 0; place < rows.length; place += 1) places[rows[place] ?? 0] = place;
  return places;
}

/** The smallest rectangle around some places. */
export function around(layout: Layout, places: Iterable<number>): { x: number; y: number; width: number; height: number } | null {
  let left = Infinity;
  let top = Infinity;
  let right = -1;
  let bottom = -1;
  for (const place of places) {
    const offset = layout.offsets[place] ?? 0;
    const y = Math.floor(offset / layout.width);
    const x = offset - y * layout.width;
    if (x < left) left = x;
    if (y < top) top = y;
    if (x > right) right = x;
    if (y > bottom) bottom = y;
  }
  if (right < 0) return null;
  return { x: left, y: top, width: right - left + layout.cell, height: bottom - top + layout.cell };
}
