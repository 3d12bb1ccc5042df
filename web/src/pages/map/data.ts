// The map's binary answer as typed columns, one value per machine. No object per machine anywhere:
// half a million of them must load in a second and a half.

export interface MapHeader {
  version: number;
  cycle: number;
  epoch?: number;
  count: number;
  by?: string;
  /** Number of the order of its machines; changes name places in one. */
  layout?: number;
  atUnixNanos?: number;
  groups?: { name: string; start: number; end: number }[];
  legend: Record<string, string[]>;
  columns?: { name: string; bytes: number; offset: number }[];
  ids?: { offset: number; length: number };
  shards?: string[];
  warnings?: string[];
}

export type Column = Uint8Array | Uint16Array | Uint32Array;

export const RESERVED = 1;
export const HELD = 2;
export const OVERDUE = 4;

/** Of an answer without a table of its own (product.md 5.3). */
const DEFAULT_COLUMNS: readonly [string, number][] = [
  ["state", 1], ["capacityType", 1], ["clusterIdx", 2], ["typeIdx", 2], ["priorityClass", 1], ["priceBucket", 1],
];

const LEGEND_NAMES: Record<string, string> = { clusterIdx: "cluster", typeIdx: "type", priorityClass: "priority", priceBucket: "price" };

const decoder = new TextDecoder();

export class FleetMap {
  constructor(
    readonly header: MapHeader,
    readonly columns: ReadonlyMap<string, Column>,
    private readonly idEnds: Uint32Array,
    private readonly idBytes: Uint8Array,
  ) {}

  get count(): number {
    return this.header.count;
  }

  column(name: string): Column | undefined {
    return this.columns.get(name);
  }

  value(name: string, row: number): number {
    return this.columns.get(name)?.[row] ?? 0;
  }

  id(row: number): string {
    const start = row === 0 ? 0 : (this.idEnds[row - 1] ?? 0);
    return decoder.decode(this.idBytes.subarray(start, this.idEnds[row] ?? start));
  }

  /** What the numbers of a column mean. */
  names(column: string): readonly string[] {
    const { legend } = this.header;
    return legend[column] ?? legend[LEGEND_NAMES[column] ?? column] ?? [];
  }

  name(column: string, row: number): string {
    const value = this.value(column, row);
    return this.names(column)[value] ?? String(value);
  }

  /** The row of an id; -1 when it is not on the map. */
  find(id: string): number {
    const wanted = new TextEncoder().encode(id);
    let start = 0;
    for (let row = 0; row < this.count; row += 1) {
      const end = this.idEnds[row] ?? start;
      if (end - start === wanted.length) {
        let same = true;
        for (let at = 0; same && at < wanted.length; at += 1) same = this.idBytes[start + at] === wanted[at];
        if (same) return row;
      }
      start = end;
    }
    return -1;
  }
}

function columnOf(bytes: ArrayBuffer, offset: number, width: number, count: number): Column {
  const end = offset + width * count;
  if (end > bytes.byteLength) throw new Error("the map is shorter than its header says");
  const piece = bytes.slice(offset, end);
  return width === 4 ? new Uint32Array(piece) : width === 2 ? new Uint16Array(piece) : new Uint8Array(piece);
}

export function parseMap(answer: ArrayBuffer): FleetMap {
  if (answer.byteLength < 4) throw new Error("the map is empty");
  const headerLength = new DataView(answer).getUint32(0, true);
  const body = 4 + headerLength;
  if (body > answer.byteLength) throw new Error("the map's header is cut off");
  const header = JSON.parse(decoder.decode(new Uint8Array(answer, 4, headerLength))) as MapHeader;
  const { count } = header;
  const columns = new Map<string, Column>();
  // Offsets count from the beginning of the answer.
  let next = body;
  const described = header.columns ?? DEFAULT_COLUMNS.map(([name, width]) => {
    const offset = next;
    next += width * count;
    return { name, bytes: width, offset };
  });
  for (const { name, bytes, offset } of described) columns.set(name, columnOf(answer, offset, bytes, count));
  if (!header.ids) return new FleetMap(header, columns, new Uint32Array(count), new Uint8Array());
  const ends = columnOf(answer, header.ids.offset, 4, count) as Uint32Array;
  const text = new Uint8Array(answer, header.ids.offset + 4 * count);
  return new FleetMap(header, columns, ends, text);
}

export type Change = [index: number, column: string | number, value: number];

export interface MapEvent {
  cycle: number;
  reset?: boolean;
  by?: string;
  layout?: number;
  changes?: Change[];
  legend?: Record<string, string[]>;
}

/** Writes the changes into the columns; the rows that look different now. */
export function applyChanges(map: FleetMap, event: MapEvent): number[] {
  const touched = new Set<number>();
  if (event.legend) Object.assign(map.header.legend, event.legend);
  for (const [row, column, value] of event.changes ?? []) {
    const name = typeof column === "number" ? map.header.columns?.[column]?.name : column;
    const values = name === undefined ? undefined : map.columns.get(name);
    if (!values || row < 0 || row >= map.count || values[row] === value) continue;
    values[row] = value;
    if (name !== "sinceSeconds") touched.add(row);
  }
  map.header.cycle = event.cycle;
  return [...touched];
}

/** Rows whose state, cluster or flags differ between two maps of the same machines; null: they are not the same. */
export function difference(before: FleetMap, after: FleetMap): number[] | null {
  if (before.count !== after.count || before.id(0) !== after.id(0) || before.id(before.count - 1) !== after.id(after.count - 1)) return null;
  const rows: number[] = [];
  const pairs = ["state", "clusterIdx", "flags"].map((name) => [before.column(name), after.column(name)] as const);
  for (let row = 0; row < after.count; row += 1)
    if (pairs.some(([a, b]) => a && b && a[row] !== b[row])) rows.push(row);
  return rows;
}
