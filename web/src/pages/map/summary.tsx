// The map as a table: every group with its machines by what the colours mean.
import { useMemo } from "react";
import { count } from "../../core/format";
import { type Column as TableColumn, Table } from "../../ui/table";
import type { LegendEntry } from "./colours";
import type { Column } from "./data";
import type { Order } from "./layout";
import { type SummaryRow, summaryOf } from "./summary-rows";

const MOST_COLUMNS = 16;

export function Summary({ order, column, entries, onGroup }: { order: Order; column: Column; entries: readonly LegendEntry[]; onGroup: (name: string) => void }) {
  const rows = useMemo(() => summaryOf(order, column, entries), [order, column, entries]);
  const columns: TableColumn<SummaryRow>[] = [
    { key: "name", title: "Group", width: 150, grow: true, cell: (row) => <bdi>{row.name}</bdi> },
    { key: "total", title: "Machines", width: 96, align: "right", cell: (row) => <b>{count(row.total)}</b> },
    ...entries.slice(0, MOST_COLUMNS).map((entry, index): TableColumn<SummaryRow> => ({
      key: String(entry.value),
      title: entry.name,
      width: Math.max(92, entry.name.length * 7 + 28),
      align: "right",
      cell: (row) => (row.counts[index] ? count(row.counts[index]) : <span className="dim">0</span>),
    })),
  ];
  return <Table label="The map as a table" rows={rows} columns={columns} rowKey={(row) => row.name} onOpen={(row) => onGroup(row.name)} maxHeight="360px" />;
}
