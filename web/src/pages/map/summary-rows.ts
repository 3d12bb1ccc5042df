import type { LegendEntry } from "./colours";
import type { Column } from "./data";
import type { Order } from "./layout";

export interface SummaryRow {
  name: string;
  total: number;
  counts: Uint32Array;
}

export function summaryOf(order: Order, column: Column, entries: readonly LegendEntry[]): SummaryRow[] {
  const columnOf = new Map(entries.map((entry, index) => [entry.value, index]));
  return order.groups.map((group) => {
    const counts = new Uint32Array(entries.length);
    for (let place = group.start; place < group.end; place += 1) {
      const index = columnOf.get(column[order.rows[place] ?? 0] ?? 0);
      if (index !== undefined) counts[index] = (counts[index] ?? 0) + 1;
    }
    return { name: group.name, total: group.end - group.start, counts };
  });
}
