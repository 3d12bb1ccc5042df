// All machines, as many as one scrolls to, by the terms of `bigfleet machines`.
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { ApiError, getJson } from "../../core/api";
import { count } from "../../core/format";
import { useResets } from "../../core/live";
import { MACHINE_STATES } from "../../core/palette";
import { linkTo, navigate, objectPath, setQuery, useQueryState } from "../../core/router";
import { Button, Chip, Link, StateMark } from "../../ui/basics";
import { Card, Popover } from "../../ui/card";
import { Icon } from "../../ui/icons";
import { Empty, ErrorNotice, Loading, NotWired, Partial } from "../../ui/states";
import { type Column, formatSort, parseSort, Table } from "../../ui/table";
import { Age, Count, Name, PerHour } from "../../ui/values";
import { capacityOf, clusterOf, idOf, type MachineRow, needOf, notesOf, rackOf, SERVER_SORTS, serverSort, sinceOf, stateOf } from "./rows";

const PAGE = 200;
const REFRESH = 5_000;
const REFRESHED_PAGES = 2;

interface Answer {
  total: number;
  machines: MachineRow[];
  next?: string;
  warnings?: string[];
}

interface Choice extends Column<MachineRow> {
  isDefault?: boolean;
  by: (row: MachineRow) => string | number;
}

const COLUMNS: readonly Choice[] = [
  { key: "id", title: "Machine", width: 150, grow: true, isDefault: true, by: idOf, cell: (row) => <Link to={linkTo(objectPath("machines", idOf(row)))}><Name>{idOf(row)}</Name></Link> },
  { key: "state", title: "State", width: 144, isDefault: true, by: stateOf, cell: (row) => <StateMark state={stateOf(row)} /> },
  { key: "cluster", title: "Cluster", width: 110, isDefault: true, by: clusterOf, cell: (row) => (clusterOf(row) ? <Link to={linkTo(objectPath("clusters", clusterOf(row)))}><bdi>{clusterOf(row)}</bdi></Link> : <span className="dim">–</span>) },
  { key: "need", title: "Need", width: 136, by: needOf, cell: (row) => (needOf(row) ? <Link to={linkTo("/needs", { need: needOf(row) })}><Name>{row.needId ?? ""}</Name></Link> : <span className="dim">–</span>) },
  { key: "priority", title: "Priority", width: 92, align: "right", isDefault: true, by: (row) => row.assignedPriority ?? 0, cell: (row) => (row.claimed ? <Count v={row.assignedPriority} /> : <span className="dim">–</span>) },
  { key: "type", title: "Type", width: 120, isDefault: true, by: (row) => row.machine.instanceType ?? "", cell: (row) => <bdi>{row.machine.instanceType}</bdi> },
  { key: "capacity", title: "Capacity", width: 100, isDefault: true, by: capacityOf, cell: capacityOf },
  { key: "zone", title: "Zone", width: 76, isDefault: true, by: (row) => row.machine.zone ?? "", cell: (row) => <bdi>{row.machine.zone}</bdi> },
  { key: "rack", title: "Rack", width: 90, by: rackOf, cell: (row) => <bdi>{rackOf(row)}</bdi> },
  { key: "price", title: "Price", width: 96, align: "right", isDefault: true, by: (row) => row.machine.pricePerHour ?? 0, cell: (row) => <PerHour v={row.machine.pricePerHour} /> },
  { key: "cost", title: "With risk", tip: "Price plus the expected cost of an interruption", width: 96, align: "right", by: (row) => row.cost?.effectiveCostPerHour ?? 0, cell: (row) => <PerHour v={row.cost?.effectiveCostPerHour} /> },
  { key: "age", title: "In state", width: 104, align: "right", isDefault: true, by: (row) => -sinceOf(row), cell: (row) => <Age nanos={sinceOf(row)} /> },
  { key: "node", title: "Node", width: 150, by: (row) => row.nodeName ?? "", cell: (row) => <Name>{row.nodeName ?? ""}</Name> },
  { key: "provider", title: "Provider", width: 96, by: (row) => row.providerName ?? "", cell: (row) => <bdi>{row.providerName}</bdi> },
  { key: "shard", title: "Shard", width: 96, by: (row) => row.shardId ?? "", cell: (row) => <bdi>{row.shardId}</bdi> },
  { key: "notes", title: "Notes", width: 150, grow: true, isDefault: true, by: (row) => notesOf(row).join(), cell: (row) => { const text = notesOf(row).join("; "); return text ? <span data-tip={text}><bdi>{text}</bdi></span> : null; } },
];
const DEFAULT_COLUMNS = COLUMNS.filter((column) => column.isDefault).map((column) => column.key).join(",");

interface Pages {
  filter: string;
  rows: MachineRow[];
  total: number;
  next?: string;
  warnings: string[];
  error?: ApiError;
  loading: boolean;
  loaded: boolean;
}

const NOTHING: Omit<Pages, "filter"> = { rows: [], total: 0, warnings: [], loading: true, loaded: false };

/** Pages of the list: the next one when the end comes into sight, the first ones again every few seconds. */
function usePages(filter: string, order: string): Pages & { more: () => void; reload: () => void } {
  const [pages, setPages] = useState<Pages>({ filter, ...NOTHING });
  const busy = useRef(false);
  const latest = useRef(pages);
  latest.current = pages;
  const resets = useResets();

  const load = useCallback(async (wanted: number, signal: AbortSignal) => {
    if (busy.current) return;
    busy.current = true;
    try {
      const rows: MachineRow[] = [];
      let last: Answer | undefined;
      for (let page = 0; page < wanted; page += 1) {
        last = await getJson<Answer>("/machines", { filter: filter || undefined, sort: order || undefined, limit: PAGE, after: last?.next }, signal);
        rows.push(...last.machines);
        if (!last.next) break;
      }
      setPages({ filter, rows, total: last?.total ?? rows.length, next: last?.next, warnings: last?.warnings ?? [], loading: false, loaded: true });
    } catch (cause) {
      if (!signal.aborted) setPages((before) => ({ ...before, filter, loading: false, error: cause instanceof ApiError ? cause : new ApiError(String(cause), 0, "/machines") }));
    } finally {
      busy.current = false;
    }
  }, [filter, order]);

  useEffect(() => {
    const abort = new AbortController();
    busy.current = false;
    setPages((before) => (before.filter === filter ? { ...before, loading: true } : { filter, ...NOTHING }));
    void load(1, abort.signal);
    const timer = window.setInterval(() => {
      const held = Math.ceil(latest.current.rows.length / PAGE) || 1;
      if (held <= REFRESHED_PAGES && document.visibilityState === "visible") void load(held, abort.signal);
    }, REFRESH);
    return () => {
      abort.abort();
      window.clearInterval(timer);
    };
  }, [filter, load, resets]);

  const more = useCallback(() => {
    const now = latest.current;
    if (!now.next || busy.current) return;
    busy.current = true;
    getJson<Answer>("/machines", { filter: filter || undefined, sort: order || undefined, limit: PAGE, after: now.next })
      .then((answer) => setPages((before) => (before.filter === filter && before.next === now.next ? { ...before, rows: [...before.rows, ...answer.machines], next: answer.next, total: answer.total } : before)))
      .catch((cause: unknown) => setPages((before) => ({ ...before, error: cause instanceof ApiError ? cause : new ApiError(String(cause), 0, "/machines") })))
      .finally(() => (busy.current = false));
  }, [filter, order]);
  const reload = useCallback(() => void load(1, new AbortController().signal), [load]);
  return { ...pages, more, reload };
}

/** The filter without, or with, a term `state=NAME` of one state. */
export function toggledState(filter: string, state: string): string {
  const words = filter.split(/\s+/).filter(Boolean);
  const others = words.filter((word) => !word.startsWith("state="));
  const states = words.filter((word) => word.startsWith("state=")).flatMap((word) => word.slice(6).split(",")).filter(Boolean);
  const same = (name: string): boolean => name.toLowerCase() === state.toLowerCase();
  const next = states.some(same) ? states.filter((name) => !same(name)) : [...states, state.toLowerCase()];
  return [...others, ...(next.length > 0 ? [`state=${next.join(",")}`] : [])].join(" ");
}

const hasState = (filter: string, state: string): boolean =>
  new RegExp(`(^|\\s)state=([^\\s]*,)?${state}(,|\\s|$)`, "i").test(filter);

function FilterBox({ filter, error }: { filter: string; error?: ApiError }) {
  const [text, setText] = useState(filter);
  useEffect(() => setText(filter), [filter]);
  const apply = (next: string): void => setQuery({ filter: next.trim() || undefined }, { push: true });
  const isBad = error?.status === 400;
  return (
    <form className="machines-filter" role="search" onSubmit={(event) => { event.preventDefault(); apply(text); }}>
      <div className="row">
        <label className="machines-filter-field">
          <Icon name="filter" size={14} />
          <span className="sr-only">Filter</span>
          <input value={text} maxLength={400} spellCheck={false} autoComplete="off" placeholder="state=idle zone=a,b type=m5.2xlarge cluster=shop id=od-*" aria-invalid={isBad} onChange={(event) => setText(event.target.value)} />
        </label>
        <Button type="submit">Filter</Button>
        <Popover label="Terms of a filter" icon={<Icon name="info" size={14} />}>
          <dl className="machines-terms">
            {[["state=idle,failed", "any of these states"], ["zone=a", "in a zone"], ["type=m5.2xlarge", "of a machine type"], ["capacity=spot", "bare-metal, reserved, on-demand, spot"], ["cluster=shop", "bound to a cluster"], ["provider=sim", "of a provider"], ["label.topology.bigfleet/rack=a-r1", "with a label"], ["id=od-*", "ids that begin so; or one whole id"]].map(([term, what]) => <div key={term}><dt><code>{term}</code></dt><dd>{what}</dd></div>)}
          </dl>
          <p className="dim">All terms must hold; values with commas are alternatives.</p>
        </Popover>
      </div>
      {isBad && <p className="machines-bad" role="alert">{error.message}{error.remedy ? `. ${error.remedy}` : ""}</p>}
      <div className="row">
        {MACHINE_STATES.map((state) => <Chip key={state} on={hasState(filter, state)} onToggle={() => apply(toggledState(filter, state))} swatch={`var(--state-${state.toLowerCase()})`}>{state}</Chip>)}
      </div>
    </form>
  );
}

function ColumnChooser({ chosen, onChange }: { chosen: ReadonlySet<string>; onChange: (text: string) => void }) {
  const toggle = (key: string): void => {
    const next = COLUMNS.filter((column) => (column.key === key ? !chosen.has(key) : chosen.has(column.key))).map((column) => column.key);
    onChange((next.length > 0 ? next : ["id"]).join(","));
  };
  return (
    <Popover label="Columns" icon={<Icon name="eye" size={14} />}>
      <div className="machines-columns" role="group" aria-label="Columns">
        {COLUMNS.map((column) => <label key={column.key} className="check"><input type="checkbox" checked={chosen.has(column.key)} onChange={() => toggle(column.key)} /> {column.title}</label>)}
      </div>
    </Popover>
  );
}

export function MachineList() {
  const [filter] = useQueryState("filter");
  const [columnText, setColumns] = useQueryState("columns", DEFAULT_COLUMNS);
  const [sortText, setSort] = useQueryState("sort");
  const wanted = parseSort(sortText);
  const order = serverSort(wanted);
  const pages = usePages(filter, order);
  const chosen = useMemo(() => new Set(columnText.split(",")), [columnText]);
  // The server has no order of some columns: those need all rows here.
  const isWhole = pages.loaded && !pages.next;
  const sort = isWhole || order ? wanted : null;
  const rows = useMemo(() => {
    const by = sort && !order && COLUMNS.find((column) => column.key === sort.key)?.by;
    if (!by) return pages.rows;
    const sign = sort.descending ? -1 : 1;
    return [...pages.rows].sort((a, b) => {
      const [x, y] = [by(a), by(b)];
      return sign * (typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y), "en", { numeric: true }));
    });
  }, [pages.rows, sortText, isWhole, order]);
  const columns = COLUMNS.filter((column) => chosen.has(column.key)).map((column) => ({ ...column, sortable: isWhole || column.key in SERVER_SORTS }));
  const open = useCallback((row: MachineRow) => navigate(linkTo(objectPath("machines", idOf(row)))), []);
  const shownError = pages.error && pages.error.status !== 400 ? pages.error : undefined;

  return (
    <div className="stack">
      <div className="page-head"><h1>Machines</h1></div>
      <FilterBox filter={filter} error={pages.error} />
      <Partial warnings={[...pages.warnings, ...(shownError && pages.loaded ? [`The last refresh failed: ${shownError.message}`] : [])]} />
      <Card
        title={pages.loaded ? `${count(pages.rows.length)} of ${count(pages.total)} machines` : "Machines"}
        source={{ route: `/machines${filter ? `?filter=${encodeURIComponent(filter)}` : ""}`, command: `bigfleet machines${filter ? ` ${filter}` : ""}` }}
        actions={<ColumnChooser chosen={chosen} onChange={setColumns} />}
        flush
      >
        <p className="machines-order dim">{pages.loaded && !isWhole ? "some columns sort once all are loaded" : ""}</p>
        {!pages.loaded ? (
          pages.error
            ? (pages.error.notWired ? <NotWired error={pages.error} height={300} /> : <ErrorNotice error={pages.error} retry={pages.reload} height={300} />)
            : <Loading height={560} lines={12} />
        ) : rows.length === 0 ? (
          <Empty title={filter ? "No machine fits this filter" : "No machines"} height={200}>
            <p>{filter ? "Take a term away, or look at the terms beside the field." : "A provider's first List makes machines appear."}</p>
          </Empty>
        ) : (
          <Table label="Machines" rows={rows} columns={columns} rowKey={idOf} onOpen={open} sort={sort} onSort={(next) => setSort(formatSort(next))} onEnd={pages.more} maxHeight="max(420px, calc(100vh - 300px))" />
        )}
      </Card>
    </div>
  );
}
