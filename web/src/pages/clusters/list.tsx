// All clusters: who waits, what they have and cost, and whether they are heard.
import { useCallback, useMemo } from "react";
import { useApi } from "../../core/api";
import * as format from "../../core/format";
import { useResets } from "../../core/live";
import { shown } from "../../core/palette";
import { linkTo, navigate, objectPath, useQueryState } from "../../core/router";
import { useStore } from "../../core/store";
import { NEED_STATES } from "../../core/types";
import { Link } from "../../ui/basics";
import { Card, LoadingTiles, Tile } from "../../ui/card";
import { Empty, Partial, View } from "../../ui/states";
import { type Column, formatSort, parseSort, Table } from "../../ui/table";
import { Age, Ago, Count, Name, PerHour } from "../../ui/values";
import { type Invoices, newestOf } from "../costs/invoices";
import { Declared, Marks, needsText, NeedsBar, nodesText, podsText } from "./parts";
import { marksOf, rollupQuarantine, sorted } from "./standing";
import type { Cluster, ClusterList, Quarantine } from "./types";

const EVERY = 3_000;
const TILES = 5;

function columns(quarantines: readonly Quarantine[], declared: Invoices | undefined): readonly Column<Cluster>[] {
  return [
    {
      key: "id", title: "Cluster", width: 112, grow: true, sortable: true,
      cell: (row) => <span className="clusters-two"><Link to={linkTo(objectPath("clusters", row.id))}><Name>{row.id}</Name></Link><span className="clusters-sub"><bdi>{row.shardId ?? "no shard"}</bdi></span></span>,
    },
    {
      key: "demand", title: "Demand met", tip: "Its Needs by state", width: 150, sortable: true,
      cell: (row) => <span className="clusters-two"><NeedsBar cluster={row} /><span className="clusters-sub">{needsText(row.needs)}</span></span>,
    },
    {
      key: "stuck", title: "Pods", tip: "Stuck: the machines of their Need are there, and they found no place", width: 126, sortable: true,
      cell: (row) => {
        const { main, sub, bad } = podsText(row);
        return <span className="clusters-two"><span className={bad && !row.pods ? "clusters-bad" : ""}>{main}</span><span className={`clusters-sub ${bad && row.pods ? "clusters-bad" : ""}`}>{sub}</span></span>;
      },
    },
    {
      key: "nodes", title: "Nodes", tip: "As its operator reports them", width: 98,
      cell: (row) => { const { main, sub } = nodesText(row); return <span className="clusters-two"><span className={main === "unknown" ? "unknown" : ""}>{main}</span><span className="clusters-sub">{sub}</span></span>; },
    },
    {
      key: "requests", title: "Requests", tip: "CapacityRequests: pending of all", width: 92,
      cell: (row) => (row.session?.report ? `${format.count(row.capacityRequestsPending)} of ${format.count(row.capacityRequests)}` : <span className="unknown" data-tip={row.error}>unknown</span>),
    },
    { key: "machines", title: "Machines", width: 88, align: "right", sortable: true, cell: (row) => <Count v={row.machines} why={row.error} unit="machines" /> },
    { key: "cost", title: "$/h", width: 88, align: "right", sortable: true, cell: (row) => <PerHour v={row.dollarsPerHour} why={row.error} /> },
    { key: "declared", title: "Declared", tip: "Penalties of machines taken for it and from it in its newest month: declared, never billed", width: 136, align: "right", cell: (row) => <Declared of={newestOf(declared, row.id)} isTold={declared !== undefined} /> },
    {
      key: "rollup", title: "Last roll-up", tip: "When it last said what it needs; below, since when its stream is open", width: 100, sortable: true,
      cell: (row) => <span className="clusters-two"><Ago nanos={row.session?.lastRollupUnixNanos} /><span className="clusters-sub">{row.connected ? <>open <Age nanos={row.session?.connectedUnixNanos} /></> : "no stream"}</span></span>,
    },
    { key: "marks", title: "Holds", tip: "Pauses, quarantines, refused roll-ups", width: 88, cell: (row) => <Marks marks={marksOf(row, rollupQuarantine(row, quarantines))} /> },
  ];
}

function Tiles({ clusters }: { clusters: readonly Cluster[] }) {
  const sum = (of: (cluster: Cluster) => number | null | undefined): number => clusters.reduce((total, cluster) => total + (of(cluster) ?? 0), 0);
  const waiting = clusters.filter((cluster) => NEED_STATES.some((state) => state !== "met" && (cluster.needs?.[state] ?? 0) > 0)).length;
  const silent = clusters.filter((cluster) => cluster.connected === false).length;
  const stuck = sum((cluster) => cluster.stuckPods);
  return (
    <div className="clusters-tiles">
      <Tile title="Known" value={<Count v={clusters.length} />} note={silent > 0 ? `${format.count(silent)} without a stream` : "all connected"} tone={silent > 0 ? "danger" : ""} />
      <Tile title="That wait for something" value={<Count v={waiting} />} note={waiting > 0 ? "not all of their Needs are met" : "every Need is met"} tone={waiting > 0 ? "warn" : ""} />
      <Tile title="Covered, not placed" value={<Count v={stuck} unit="pods" />} note="pods whose machines are there" tone={stuck > 0 ? "warn" : ""} />
      <Tile title="In use" value={<Count v={sum((cluster) => cluster.machines)} unit="machines" />} note="machines of clusters" />
      <Tile title="Cost" value={<PerHour v={sum((cluster) => cluster.dollarsPerHour)} />} note="billed, without shared idle" />
    </div>
  );
}

export function ClusterListPage() {
  const version = useResets();
  useStore(shown);
  const [wanted, setWanted] = useQueryState("q");
  const [sortText, setSort] = useQueryState("sort");
  const loaded = useApi<ClusterList>("/clusters", {}, { version, every: EVERY });
  const quarantines = useApi<{ quarantines: Quarantine[] }>("/quarantines", {}, { version, every: 3 * EVERY });
  const declared = useApi<Invoices>("/invoices", { limit: 1 }, { version, every: 5 * EVERY });
  const sort = useMemo(() => parseSort(sortText), [sortText]);
  const rows = useMemo(() => {
    const word = wanted.trim().toLowerCase();
    return sorted((loaded.data?.clusters ?? []).filter((row) => !word || row.id.toLowerCase().includes(word) || row.shardId?.toLowerCase().includes(word)), sort);
  }, [loaded.data, wanted, sort]);
  const shownColumns = useMemo(() => columns(quarantines.data?.quarantines ?? [], declared.data), [quarantines.data, declared.data]);
  const open = useCallback((row: Cluster) => navigate(linkTo(objectPath("clusters", row.id))), []);
  const total = loaded.data?.clusters.length ?? 0;
  return (
    <div className="clusters stack">
      <div className="page-head">
        <h1>Clusters</h1>
        <div className="row"><label className="select"><span>Filter</span><input className="field" type="search" value={wanted} maxLength={200} spellCheck={false} placeholder="cluster or shard" onChange={(event) => setWanted(event.target.value)} /></label></div>
      </div>
      {quarantines.error && loaded.data && <Partial warnings={[`Whether a roll-up is held in quarantine is not known: ${quarantines.error.message}`]} />}
      {loaded.data ? total > 0 && <Tiles clusters={loaded.data.clusters} /> : !loaded.error && <div className="clusters-tiles"><LoadingTiles count={TILES} /></div>}
      <Card title="What each asks for and has" source={{ route: "/clusters,/quarantines", command: "bigfleet clusters" }} actions={<span className="dim" role="status">{loaded.data ? `${format.count(rows.length)} of ${format.plural(total, "cluster")} shown` : ""}</span>} flush>
        <View of={loaded} height={300} lines={6} empty={() => (total === 0
          ? <Empty title="No cluster is known" height={200}><p>A cluster appears when its operator opens a stream to a shard: <code>bigfleet operator --cluster-id NAME</code></p></Empty>
          : rows.length === 0 ? <Empty title="No cluster has this in its name" height={200}><p>Its id or its shard's id must contain it.</p></Empty> : null)}>
          {() => <Table label="All clusters" rows={rows} columns={shownColumns} rowKey={(row) => row.id} rowHeight={54} onOpen={open} sort={sort} onSort={(next) => setSort(formatSort(next))} maxHeight="max(380px, calc(100vh - 320px))" />}
        </View>
      </Card>
    </div>
  );
}
