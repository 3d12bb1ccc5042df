// A real table for any number of rows: only those in sight are in the document.
// Arrow keys move between rows, Enter opens one, headings sort.
import { type KeyboardEvent, type MouseEvent, memo, type ReactNode, useCallback, useEffect, useRef } from "react";
import { useRowsInSight } from "./rows-in-sight";

export interface Column<Row> {
  key: string;
  title: string;
  /** Shown on hover of the heading. */
  tip?: string;
  width: number;
  /** Takes the room that is left, beyond its width. */
  grow?: boolean;
  align?: "right";
  sortable?: boolean;
  cell: (row: Row) => ReactNode;
}

export interface Sort {
  key: string;
  descending: boolean;
}

export const parseSort = (text: string): Sort | null =>
  text ? { key: text.replace(/^-/, ""), descending: text.startsWith("-") } : null;
export const formatSort = (sort: Sort | null): string => (sort ? `${sort.descending ? "-" : ""}${sort.key}` : "");

/** Ascending, descending, then as the server gave it. */
export function nextSort(now: Sort | null, key: string): Sort | null {
  if (now?.key !== key) return { key, descending: false };
  return now.descending ? null : { key, descending: true };
}

interface TableProps<Row> {
  label: string;
  rows: readonly Row[];
  columns: readonly Column<Row>[];
  rowKey: (row: Row) => string;
  onOpen?: (row: Row) => void;
  selected?: string;
  sort?: Sort | null;
  onSort?: (sort: Sort | null) => void;
  rowHeight?: number;
  /** How tall the box may grow, as CSS; the page below stays reachable. */
  maxHeight?: string;
  /** Called when the end comes into sight: load more. */
  onEnd?: () => void;
  rowClass?: (row: Row) => string;
  /** A row that is one cell over all columns, such as the heading of a group; null: an ordinary row. */
  span?: (row: Row) => ReactNode | null;
  /** Of rows that are not as high as the others. */
  heightOf?: (row: Row) => number;
}

interface RowProps {
  row: unknown;
  index: number;
  height: number;
  columns: readonly Column<unknown>[];
  span: ((row: unknown) => ReactNode | null) | undefined;
  kind: string;
  isSelected: boolean | undefined;
  tabIndex: number | undefined;
  onClick: (event: MouseEvent<HTMLTableRowElement>, index: number) => void;
  onKeyDown: (event: KeyboardEvent<HTMLTableRowElement>, index: number) => void;
}

/** Made again only for another row, or where its columns are others: give the table constant functions. */
const TableRow = memo(function TableRow({ row, index, height, columns, span, kind, isSelected, tabIndex, onClick, onKeyDown }: RowProps) {
  const whole = span?.(row) ?? null;
  if (whole !== null)
    return (
      <tr data-index={index} aria-rowindex={index + 2} className={`spans ${kind.replace("opens ", "")}`} style={{ height }}>
        <td colSpan={columns.length}>{whole}</td>
      </tr>
    );
  return (
    <tr
      data-index={index}
      aria-rowindex={index + 2}
      aria-selected={isSelected}
      className={kind}
      tabIndex={tabIndex}
      style={{ height }}
      onClick={(event) => onClick(event, index)}
      onKeyDown={(event) => onKeyDown(event, index)}
    >
      {columns.map((column) => <td key={column.key} className={column.align}>{column.cell(row)}</td>)}
    </tr>
  );
});

export function Table<Row>(props: TableProps<Row>) {
  const { label, rows, columns, rowKey, onOpen, selected, sort, onSort, rowHeight = 34, maxHeight = "70vh", onEnd, span, heightOf } = props;
  const box = useRef<HTMLDivElement>(null);
  const heightAt = (index: number): number => {
    const row = rows[index];
    return row !== undefined && heightOf ? heightOf(row) : rowHeight;
  };
  const { first, end, tops, scrollTo } = useRowsInSight(box, rows.length, heightAt, heightOf ? rows : rowHeight);
  const above = tops[first] ?? 0;
  const below = (tops[rows.length] ?? 0) - (tops[end] ?? 0);
  const atEnd = end >= rows.length;
  useEffect(() => {
    if (atEnd && rows.length > 0) onEnd?.();
  }, [atEnd, rows.length, onEnd]);

  const isSpan = (index: number): boolean => {
    const row = rows[index];
    return row !== undefined && (span?.(row) ?? null) !== null;
  };
  const focusRow = (wanted: number, step: number): void => {
    let index = wanted;
    while (isSpan(index)) index += step;
    if (index < 0 || index >= rows.length) return;
    scrollTo(index);
    box.current?.querySelector<HTMLElement>(`tr[data-index="${index}"]`)?.focus({ preventScroll: true });
  };
  const pressed = (event: KeyboardEvent<HTMLTableRowElement>, row: Row, index: number): void => {
    if (event.target !== event.currentTarget) return;
    const page = Math.max(1, Math.floor((box.current?.clientHeight ?? 400) / rowHeight) - 2);
    const moves: Record<string, number> = {
      ArrowDown: index + 1, ArrowUp: index - 1, PageDown: Math.min(rows.length - 1, index + page),
      PageUp: Math.max(0, index - page), Home: 0, End: rows.length - 1,
    };
    const move = moves[event.key];
    if (move !== undefined) {
      event.preventDefault();
      focusRow(move, move > index || move === 0 ? 1 : -1);
    } else if (event.key === "Enter" && onOpen) {
      event.preventDefault();
      onOpen(row);
    }
  };
  // The same functions for every rendering: rows that are in sight already are not made again.
  const latest = useRef({ rows, onOpen, pressed });
  latest.current = { rows, onOpen, pressed };
  const clicked = useCallback((event: MouseEvent<HTMLTableRowElement>, index: number) => {
    const { rows: now, onOpen: open } = latest.current;
    const row = now[index];
    if (open && row !== undefined && !(event.target as Element).closest("a, button, input")) open(row);
  }, []);
  const keyed = useCallback((event: KeyboardEvent<HTMLTableRowElement>, index: number) => {
    const row = latest.current.rows[index];
    if (row !== undefined) latest.current.pressed(event, row, index);
  }, []);
  const inSight = Array.from({ length: end - first }, (_, place) => first + place);
  const firstOpen = inSight.find((index) => !isSpan(index));
  const width = columns.reduce((sum, column) => sum + column.width, 0);

  return (
    <div ref={box} className="table-box" style={{ maxHeight }} role="region" aria-label={label} tabIndex={0}>
      <table className="table" aria-rowcount={rows.length + 1} style={{ minWidth: width }}>
        <colgroup>{columns.map((c) => <col key={c.key} style={c.grow ? undefined : { width: c.width }} />)}</colgroup>
        <thead>
          <tr aria-rowindex={1}>
            {columns.map((column) => {
              const sorted = sort?.key === column.key ? (sort.descending ? "descending" : "ascending") : undefined;
              return (
                <th key={column.key} scope="col" className={column.align} aria-sort={sorted}>
                  {column.sortable && onSort ? (
                    <button type="button" onClick={() => onSort(nextSort(sort ?? null, column.key))} data-tip={column.tip}>
                      {column.title}
                      <span className="sort-mark" aria-hidden="true">{sorted === "ascending" ? "▲" : sorted === "descending" ? "▼" : ""}</span>
                    </button>
                  ) : <span data-tip={column.tip}>{column.title}</span>}
                </th>
              );
            })}
          </tr>
        </thead>
        <tbody>
          {above > 0 && <tr aria-hidden="true" className="spacer"><td colSpan={columns.length} style={{ height: above }} /></tr>}
          {inSight.map((index) => {
            const row = rows[index];
            if (row === undefined) return null;
            const key = rowKey(row);
            const isSelected = selected === undefined ? undefined : selected === key;
            return (
              <TableRow
                key={key}
                row={row}
                index={index}
                height={heightAt(index)}
                columns={columns as readonly Column<unknown>[]}
                span={span as RowProps["span"]}
                kind={`${onOpen ? "opens" : ""} ${props.rowClass?.(row) ?? ""}`}
                isSelected={isSelected}
                tabIndex={onOpen ? (index === firstOpen || isSelected ? 0 : -1) : undefined}
                onClick={clicked}
                onKeyDown={keyed}
              />
            );
          })}
          {below > 0 && <tr aria-hidden="true" className="spacer"><td colSpan={columns.length} style={{ height: below }} /></tr>}
        </tbody>
      </table>
    </div>
  );
}
