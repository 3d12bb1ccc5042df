// Where each machine's square lies. All numbers are device pixels. Groups keep their order; squares are
// as large as the room allows, and one pixel at least.
import type { FleetMap } from "./data";

export const GROUPINGS = ["zone", "provider", "cluster", "type"] as const;
export type Grouping = (typeof GROUPINGS)[number];

export interface Group {
  name: string;
  start: number;
  end: number;
}
export interface OuterGroup extends Group {
  inner: Group[];
}
export interface Order {
  /** The row of the machine at each place. */
  rows: Uint32Array;
  groups: OuterGroup[];
}

const collator = new Intl.Collator("en", { numeric: true });
const NO_NAME = "none";

/** Those of the server ("zone/rack"), in reading order: r2 before r10, those without a name last. */
function sorted(map: FleetMap): { outer: string; inner: string; start: number; end: number }[] {
  const given = map.header.groups?.length ? map.header.groups : [{ name: "fleet", start: 0, end: map.count }];
  return given
    .map(({ name, start, end }) => {
      const slash = map.header.by === "zone" ? name.indexOf("/") : -1;
      return { outer: slash < 0 ? name : name.slice(0, slash), inner: slash < 0 ? "" : name.slice(slash + 1), start, end };
    })
    .sort((a, b) => Number(a.outer === NO_NAME) - Number(b.outer === NO_NAME) || collator.compare(a.outer, b.outer) || collator.compare(a.inner, b.inner));
}

/** Every machine of the map, or of one of its groups. */
export function orderOf(map: FleetMap, only = ""): Order {
  const groups: OuterGroup[] = [];
  const rows = new Uint32Array(map.count);
  let place = 0;
  for (const { outer, inner, start, end } of sorted(map)) {
    if (only && outer !== only) continue;
    const from = place;
    for (let row = start; row < end; row += 1, place += 1) rows[place] = row;
    const last = groups.at(-1);
    if (last?.name === outer) {
      last.inner.push({ name: inner, start: from, end: place });
      last.end = place;
    } else groups.push({ name: outer, start: from, end: place, inner: [{ name: inner, start: from, end: place }] });
  }
  return { rows: rows.subarray(0, place), groups };
}

export interface Block {
  name: string;
  x: number;
  y: number;
  columns: number;
  /** Places start..end of the order lie in it, row by row. */
  start: number;
  end: number;
  group: number;
}
export interface Label {
  text: string;
  x: number;
  y: number;
  width: number;
  outer: boolean;
  count: number;
}
export interface Layout {
  width: number;
  height: number;
  cell: number;
  pitch: number;
  blocks: Block[];
  labels: Label[];
  /** Offset of the top left pixel of each place: y * width + x. */
  offsets: Uint32Array;
}

interface Sizes {
  scale: number;
  outerLabel: number;
  innerLabel: number;
  gap: number;
  narrowest: number;
}

const MOST_BLOCKS = 400;
const LARGEST_CELL = 26;

const sizesAt = (scale: number): Sizes => ({ scale, outerLabel: Math.round(26 * scale), innerLabel: Math.round(15 * scale), gap: Math.round(10 * scale), narrowest: Math.round(104 * scale) });

/** Space between squares: none for pixels, one for small ones, two for large ones. */
const pitchOf = (cell: number): number => cell + (cell >= 12 ? 2 : cell >= 4 ? 1 : 0);

interface Inside {
  height: number;
  perLine: number;
}

const isPlain = (group: OuterGroup): boolean => group.inner.length <= 1 || group.inner.length > MOST_BLOCKS;

/** How tall a group is at a width; inner blocks stand in lines, as many in one as makes it least tall. */
function inside(group: OuterGroup, width: number, pitch: number, s: Sizes): Inside {
  if (isPlain(group)) {
    const columns = Math.max(1, Math.floor(width / pitch));
    return { height: Math.ceil((group.end - group.start) / columns) * pitch, perLine: 1 };
  }
  const most = Math.max(1, Math.min(group.inner.length, Math.floor((width + s.gap) / (s.narrowest * 0.6 + s.gap))));
  let best: Inside = { height: Infinity, perLine: 1 };
  for (let perLine = 1; perLine <= most; perLine += 1) {
    const columns = Math.max(1, Math.floor((Math.floor((width + s.gap) / perLine) - s.gap) / pitch));
    let height = 0;
    for (let first = 0; first < group.inner.length; first += perLine) {
      let tallest = 0;
      for (const block of group.inner.slice(first, first + perLine)) tallest = Math.max(tallest, Math.ceil((block.end - block.start) / columns));
      height += tallest * pitch + s.innerLabel + s.gap;
    }
    if (height < best.height) best = { height, perLine };
  }
  return best;
}

/** Groups in `lines` lines of about as many machines each, in order. */
function linesOf(groups: readonly OuterGroup[], lines: number): OuterGroup[][] {
  const total = groups.reduce((sum, group) => sum + group.end - group.start, 0);
  const result: OuterGroup[][] = [];
  let line: OuterGroup[] = [];
  let filled = 0;
  for (const group of groups) {
    line.push(group);
    filled += group.end - group.start;
    if (filled >= (total * (result.length + 1)) / lines && result.length < lines - 1) {
      result.push(line);
      line = [];
    }
  }
  if (line.length > 0) result.push(line);
  return result;
}

function widthsOf(line: readonly OuterGroup[], width: number, s: Sizes): number[] {
  const room = width - s.gap * 2 * (line.length - 1);
  const total = line.reduce((sum, group) => sum + group.end - group.start, 0);
  const least = Math.min(s.narrowest, Math.floor(room / line.length));
  const free = Math.max(0, room - least * line.length);
  return line.map((group) => Math.floor(least + (free * (group.end - group.start)) / Math.max(1, total)));
}

function heightOf(lines: readonly OuterGroup[][], width: number, pitch: number, s: Sizes): number {
  let height = 0;
  for (const line of lines) {
    const widths = widthsOf(line, width, s);
    height += Math.max(...line.map((group, index) => inside(group, widths[index] ?? 1, pitch, s).height)) + s.outerLabel + s.gap;
  }
  return height;
}

/** The largest squares with which all groups fit into the room, over all ways to break them into lines. */
function bestLines(groups: readonly OuterGroup[], width: number, room: number, s: Sizes): { lines: OuterGroup[][]; cell: number } {
  let best = { lines: linesOf(groups, 1), cell: 0 };
  const narrow = Math.max(1, Math.floor((width + 2 * s.gap) / (s.narrowest + 2 * s.gap)));
  const from = Math.ceil(groups.length / narrow);
  const to = Math.min(groups.length, Math.max(from, 8));
  for (let count = from; count <= to; count += 1) {
    const lines = linesOf(groups, count);
    let low = best.cell + 1;
    let high = Math.round(LARGEST_CELL * s.scale);
    while (low <= high) {
      const cell = (low + high) >> 1;
      if (heightOf(lines, width, pitchOf(cell), s) <= room) {
        best = { lines, cell };
        low = cell + 1;
      } else high = cell - 1;
    }
  }
  return best.cell > 0 ? best : { lines: linesOf(groups, from), cell: Math.max(1, Math.round(s.scale)) };
}

/** Below this many pixels a square is too small to be seen well. */
const SMALL_CELL = 4;

/** Racks have names and places of their own unless that leaves too little room for the machines. */
function groupsThatFit(groups: readonly OuterGroup[], width: number, room: number, s: Sizes): { groups: readonly OuterGroup[]; lines: OuterGroup[][]; cell: number } {
  if (groups.length === 0) return { groups, lines: [], cell: 1 };
  const named = { groups, ...bestLines(groups, width, room, s) };
  if (named.cell >= SMALL_CELL * s.scale || groups.every(isPlain)) return named;
  const plain = groups.map((group) => ({ ...group, inner: [{ name: "", start: group.start, end: group.end }] }));
  const unnamed = { groups: plain, ...bestLines(plain, width, room, s) };
  return unnamed.cell >= 1.5 * named.cell ? unnamed : named;
}

export function layoutOf(order: Order, width: number, room: number, scale = 1): Layout {
  const s = sizesAt(scale);
  const { groups, lines, cell } = groupsThatFit(order.groups, width, room, s);
  const pitch = pitchOf(cell);
  const blocks: Block[] = [];
  const labels: Label[] = [];
  let y = 0;
  for (const line of lines) {
    const widths = widthsOf(line, width, s);
    let x = 0;
    let tallest = 0;
    line.forEach((group, index) => {
      const wide = widths[index] ?? 1;
      labels.push({ text: group.name, x, y, width: wide, outer: true, count: group.end - group.start });
      const { height } = placeInside(group, groups.indexOf(group), x, y + s.outerLabel, wide, pitch, s, blocks, labels);
      tallest = Math.max(tallest, height);
      x += wide + 2 * s.gap;
    });
    y += tallest + s.outerLabel + s.gap;
  }
  const offsets = new Uint32Array(order.rows.length);
  for (const block of blocks) {
    for (let place = block.start; place < block.end; place += 1) {
      const nth = place - block.start;
      offsets[place] = (block.y + Math.floor(nth / block.columns) * pitch) * width + block.x + (nth % block.columns) * pitch;
    }
  }
  return { width, height: Math.max(1, y), cell, pitch, blocks, labels, offsets };
}

function placeInside(group: OuterGroup, number: number, x: number, y: number, width: number, pitch: number, s: Sizes, blocks: Block[], labels: Label[]): Inside {
  const plan = inside(group, width, pitch, s);
  if (isPlain(group)) {
    blocks.push({ name: "", x, y, columns: Math.max(1, Math.floor(width / pitch)), start: group.start, end: group.end, group: number });
    return plan;
  }
  const blockWidth = Math.floor((width + s.gap) / plan.perLine) - s.gap;
  const columns = Math.max(1, Math.floor(blockWidth / pitch));
  let top = y;
  for (let first = 0; first < group.inner.length; first += plan.perLine) {
    let tallest = 0;
    group.inner.slice(first, first + plan.perLine).forEach((block, nth) => {
      const left = x + nth * (blockWidth + s.gap);
      labels.push({ text: block.name, x: left, y: top, width: blockWidth, outer: false, count: block.end - block.start });
      blocks.push({ name: block.name, x: left, y: top + s.innerLabel, columns, start: block.start, end: block.end, group: number });
      tallest = Math.max(tallest, Math.ceil((block.end - block.start) / columns));
    });
    top += tallest * pitch + s.innerLabel + s.gap;
  }
  return plan;
}

/** The place under a point; -1: none. The gap beside a square belongs to it. */
export function placeAt(layout: Layout, x: number, y: number): number {
  const { pitch } = layout;
  for (const block of layout.blocks) {
    const column = Math.floor((x - block.x) / pitch);
    const line = Math.floor((y - block.y) / pitch);
    if (column < 0 || line < 0 || column >= block.columns) continue;
    const place = block.start + line * block.columns + column;
    if (place < block.end) return place;
  }
  return -1;
}

/** Places whose squares touch a rectangle. */
export function placesWithin(layout: Layout, left: number, top: number, right: number, bottom: number): Uint32Array {
  const { pitch, cell } = layout;
  const found: number[] = [];
  for (const block of layout.blocks) {
    const lines = Math.ceil((block.end - block.start) / block.columns);
    const firstColumn = Math.max(0, Math.ceil((left - block.x - cell + 1) / pitch));
    const lastColumn = Math.min(block.columns - 1, Math.floor((right - block.x) / pitch));
    const firstLine = Math.max(0, Math.ceil((top - block.y - cell + 1) / pitch));
    const lastLine = Math.min(lines - 1, Math.floor((bottom - block.y) / pitch));
    for (let line = firstLine; line <= lastLine; line += 1)
      for (let column = firstColumn; column <= lastColumn; column += 1) {
        const place = block.start + line * block.columns + column;
        if (place < block.end) found.push(place);
      }
  }
  return Uint32Array.from(found);
}

/** The neighbour in a direction: within a block by its grid, over its edge to the nearest block there. */
export function neighbour(layout: Layout, place: number, dx: number, dy: number): number {
  const block = layout.blocks.find((each) => place >= each.start && place < each.end);
  if (!block) return layout.blocks[0]?.start ?? -1;
  const nth = place - block.start;
  const column = (nth % block.columns) + dx;
  const line = Math.floor(nth / block.columns) + dy;
  if (column >= 0 && column < block.columns && line >= 0) {
    const next = block.start + line * block.columns + column;
    if (next < block.end) return next;
  }
  const x = block.x + (nth % block.columns) * layout.pitch;
  const y = block.y + Math.floor(nth / block.columns) * layout.pitch;
  return nearestBeyond(layout, block, x, y, dx, dy) ?? place;
}

function nearestBeyond(layout: Layout, from: Block, x: number, y: number, dx: number, dy: number): number | null {
  let best: number | null = null;
  let least = Infinity;
  for (const block of layout.blocks) {
    if (block === from || block.end === block.start) continue;
    const lines = Math.ceil((block.end - block.start) / block.columns);
    const column = Math.min(block.columns - 1, Math.max(0, Math.round((x - block.x) / layout.pitch)));
    const line = Math.min(lines - 1, Math.max(0, Math.round((y - block.y) / layout.pitch)));
    const place = Math.min(block.end - 1, block.start + line * block.columns + column);
    const nth = place - block.start;
    const byX = block.x + (nth % block.columns) * layout.pitch - x;
    const byY = block.y + Math.floor(nth / block.columns) * layout.pitch - y;
    const ahead = byX * dx + byY * dy;
    if (ahead <= 0) continue;
    const distance = ahead + 3 * Math.abs(byX * dy + byY * dx);
    if (distance < least) {
      least = distance;
      best = place;
    }
  }
  return best;
}
