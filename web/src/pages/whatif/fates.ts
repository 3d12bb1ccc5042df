// Which machines the edits take away and which both sides treat differently: as words, and as a column of the map.
import { stateColour } from "../../core/palette";
import type { LegendEntry } from "../map/colours";
import type { FleetMap } from "../map/data";
import type { Order } from "../map/layout";
import type { Fate } from "./types";

/** By number in the map's column; 0 is every other machine. */
export const FATES = [
  { key: "same", text: "as before", state: "" },
  { key: "removed", text: "taken away", state: "Failed" },
  { key: "Preempt", text: "preempted", state: "Draining" },
  { key: "Bootstrap", text: "put to work", state: "Configured" },
  { key: "Provision", text: "bought", state: "Creating" },
  { key: "Reclaim", text: "taken back", state: "Idle" },
  { key: "Delete", text: "given back", state: "Deleting" },
  { key: "", text: "left alone", state: "Configuring" },
] as const;

export function fateNumber(fate: Fate): number {
  if (fate.removed) return 1;
  const found = FATES.findIndex((each, index) => index > 1 && each.key === fate.after.kind);
  return found < 0 ? FATES.length - 1 : found;
}

const sideWords = ({ kind, cluster }: { kind: string; cluster: string }): string => (kind ? `${kind}${cluster ? ` ${cluster}` : ""}` : "nothing");

/** "nothing → Preempt shop"; of those that are taken away what would be done with them, "" if nothing. */
export function detailsOfFate(fate: Fate): string {
  if (fate.removed) return fate.before.kind ? `as it is: ${sideWords(fate.before)}` : "";
  return `${sideWords(fate.before)} → ${sideWords(fate.after)}`;
}

/** How many machines there are of each number. */
export function countsOf(fates: readonly Fate[]): number[] {
  const counts = new Array<number>(FATES.length).fill(0);
  for (const fate of fates) counts[fateNumber(fate)] = (counts[fateNumber(fate)] ?? 0) + fate.machines;
  return counts;
}

/** The number of each machine on the map, and how many of the named ones are on it. */
export function fateColumn(map: Pick<FleetMap, "count" | "id">, fates: readonly Fate[]): { column: Uint8Array; found: number } {
  const numbers = new Map<string, number>();
  for (const fate of fates) for (const id of fate.machineIds) numbers.set(id, fateNumber(fate));
  const column = new Uint8Array(map.count);
  let found = 0;
  for (let row = 0; row < map.count && found < numbers.size; row += 1) {
    const number = numbers.get(map.id(row));
    if (number === undefined) continue;
    column[row] = number;
    found += 1;
  }
  return { column, found };
}

/** Racks are told apart where there are few: in a small map many of them are lines of a pixel. */
export const MOST_RACKS = 24;
export function withoutRacks(order: Order, most = MOST_RACKS): Order {
  if (order.groups.reduce((racks, group) => racks + group.inner.length, 0) <= most) return order;
  return { ...order, groups: order.groups.map((group) => ({ ...group, inner: [{ name: "", start: group.start, end: group.end }] })) };
}

/** Numbers that occur, with the colours of the states they lead to. */
export function fateLegend(column: Uint8Array): LegendEntry[] {
  const counts = new Array<number>(FATES.length).fill(0);
  for (const number of column) counts[number] = (counts[number] ?? 0) + 1;
  return FATES.map(({ text, state }, value) => ({ value, name: text, colour: stateColour(state), count: counts[value] ?? 0 })).filter((entry) => entry.count > 0);
}
