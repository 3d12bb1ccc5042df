// A selection as edits of a what-if: whole zones, racks, clusters, types and providers by their terms, the rest by id.
import type { FleetMap } from "./data";

/** More would not fit into an address, nor be read by anyone. */
export const MOST_IDS = 300;
const MOST_LINES = 60;
const RACK = "label.topology.bigfleet/rack";
/** What a term can say: names of the fleet are label syntax, "none" is not a name. */
const SAYABLE = /^[\w][\w.-]*$/;

interface Part {
  terms: string;
  rows: readonly number[];
}

/** Parts of the fleet that one edit can name, the largest first. */
function partsOf(map: FleetMap): Part[] {
  const parts: Part[] = [];
  const { by, groups = [] } = map.header;
  const rowsOf = ({ start, end }: { start: number; end: number }): number[] => Array.from({ length: end - start }, (_, place) => start + place);
  const added = (to: Map<string, number[]>, name: string): number[] => {
    const own = to.get(name) ?? [];
    to.set(name, own);
    return own;
  };
  const byColumn = (column: string, key: string): void => {
    const rows = new Map<string, number[]>();
    for (let row = 0; row < map.count; row += 1) added(rows, map.name(column, row)).push(row);
    for (const [name, own] of rows) if (SAYABLE.test(name)) parts.push({ terms: `${key}=${name}`, rows: own });
  };
  if (by === "cluster") byColumn("clusterIdx", "cluster");
  if (by === "type") byColumn("typeIdx", "type");
  if (by === "provider") for (const group of groups) if (group.name !== "none" && SAYABLE.test(group.name)) parts.push({ terms: `provider=${group.name}`, rows: rowsOf(group) });
  if (by === "zone") {
    const zones = new Map<string, number[]>();
    for (const group of groups) {
      const [zone = "", rack] = group.name.split("/");
      if (zone === "none" || !SAYABLE.test(zone)) continue;
      const own = added(zones, zone);
      for (const row of rowsOf(group)) own.push(row);
      if (rack && SAYABLE.test(rack)) parts.push({ terms: `zone=${zone} ${RACK}=${rack}`, rows: rowsOf(group) });
    }
    for (const [zone, rows] of zones) parts.push({ terms: `zone=${zone}`, rows });
  }
  return parts.sort((a, b) => b.rows.length - a.rows.length || (a.terms < b.terms ? -1 : 1));
}

/** Edits that take away exactly these machines; null: they are too many to be named. */
export function removalOf(map: FleetMap, rows: Uint32Array): string[] | null {
  const left = new Uint8Array(map.count);
  for (const row of rows) left[row] = 1;
  const chosen = left.slice();
  const lines: string[] = [];
  // Of a few machines the ids say more than a rack that has no others.
  if (rows.length > MOST_IDS) {
    for (const { terms, rows: own } of partsOf(map)) {
      if (!own.every((row) => chosen[row]) || !own.some((row) => left[row])) continue;
      lines.push(`machines-remove ${terms}`);
      for (const row of own) left[row] = 0;
    }
  }
  const ids = [...rows].filter((row) => left[row]).map((row) => map.id(row));
  if (ids.length > MOST_IDS || lines.length > MOST_LINES) return null;
  return ids.length > 0 ? [...lines, `machines-remove id=${ids.join(",")}`] : lines;
}
