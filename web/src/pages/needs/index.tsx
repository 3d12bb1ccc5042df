import { useCallback, useEffect, useMemo, useState } from "react";
import { announce } from "../../core/announce";
import { useApi } from "../../core/api";
import * as format from "../../core/format";
import { useKey } from "../../core/keys";
import { overview, useStatus } from "../../core/live";
import { shown, stateColour } from "../../core/palette";
import { cycleName } from "../../core/moments";
import { linkTo, navigate, setQuery, useAddress, useMoment, useQueryState } from "../../core/router";
import { useStore } from "../../core/store";
import { NEED_STATES, type NeedState, type Status } from "../../core/types";
import { Scrub } from "../../shell/scrub";
import { Chip, NeedStatePill, Segmented, Select } from "../../ui/basics";
import { Card } from "../../ui/card";
import { Icon } from "../../ui/icons";
import { Empty, Partial, Rebuilding, View } from "../../ui/states";
import { type Column, Table } from "../../ui/table";
import { Age, Count, Name } from "../../ui/values";
import type { PageProps } from "..";
import { FIRST_ROWS, MOST_ROWS, type Needs, useNeeds } from "./data";
import { NeedDrawer } from "./drawer";
import { Amounts, CoverageBar, EtaLine, Penalties, Requirements } from "./parts";
import { byShape, CLASSES, classOf, firstReason, groupText, inOrder, type Line, sourcesOf } from "./shapes";
import type { NeedRow } from "./types";
import "./needs.css";

const STATE_WORDS: Record<NeedState, string> = {
  met: "Its machines are there and usable, and none of its pods is stuck",
  arriving: "Covered by what is on its way, and moving",
  blocked: "Planned, but held back: the reason names what holds it, and what lifts it",
  short: "No supply for it, even with every hold lifted",
};
const STATE_COLOURS: Record<NeedState, string> = { met: "Configured", arriving: "Idle", blocked: "Configuring", short: "Failed" };
const SHARDS_AGAIN = 5_000;
const REASONS_SHOWN = 12;
const SOURCES = ["pod", "buffer", "provisioning-request"];

const toggled = (list: string, word: string): string => {
  const words = list.split(",").filter(Boolean);
  return (words.includes(word) ? words.filter((each) => each !== word) : [...words, word]).join(",");
};

/** Below a heading that names the requirements, a row has room for its reason. */
const columns = (byShapes: boolean): readonly Column<Line>[] => [
  {
    key: "state", title: "State", width: 130,
    cell: (line) => line.kind === "need" && (
      <span className="needs-two">
        <span><NeedStatePill state={line.need.state} /></span>
        <span className="needs-sub" data-tip={line.need.reasons?.[0]?.text}>{firstReason(line.need) || (line.need.stuckPods ? "pods wait" : "")}</span>
      </span>
    ),
  },
  { key: "priority", title: "Priority", width: 92, align: "right", cell: (line) => line.kind === "need" && <Count v={line.need.priority} /> },
  {
    key: "need", title: "Need", width: 230, grow: true,
    cell: (line) => line.kind === "need" && (
      <span className="needs-two">
        <span className="needs-name">
          <Name>{line.need.clusterId}</Name> <Name dim>{line.need.needId}</Name>
          {line.need.group && <span className="needs-chip group" data-tip={`Group ${line.need.group.replace(/\0/g, " ")}`}><bdi>{groupText(line.need.group)}</bdi></span>}
        </span>
        <span className="needs-sub">{byShapes ? <bdi data-tip={line.need.reasons?.[0]?.text}>{line.need.reasons?.[0]?.text ?? ""}</bdi> : <Requirements requirements={line.need.requirements} spread={line.need.spread} />}</span>
      </span>
    ),
  },
  {
    key: "demand", title: "Demand", width: 204,
    cell: (line) => line.kind === "need" && (
      <span className="needs-two">
        <Amounts of={line.need.aggregateResources} />
        <span className="needs-sub">
          {line.need.satisfied ? `${format.plural(line.need.claimedMachineCount, "machine")}${line.need.arrivingMachines ? `, ${format.count(line.need.arrivingMachines)} ${line.need.state === "blocked" ? "held back" : "on the way"}` : ""}` : <span className="needs-short">short <Amounts of={line.need.residualDeficit} /></span>}
        </span>
      </span>
    ),
  },
  { key: "coverage", title: "Coverage", tip: "Of the demand: on machines that are there, on machines that come, missing", width: 136, cell: (line) => line.kind === "need" && <CoverageBar row={line.need} /> },
  { key: "penalties", title: "Penalties", tip: "What the cluster declares an interruption and a reclamation to cost; not billed", width: 158, cell: (line) => line.kind === "need" && <Penalties row={line.need} /> },
  {
    key: "age", title: "Since", tip: "How long it has been in its state; below, by when it is expected to be met, or what asks for it", width: 116,
    cell: (line) => line.kind === "need" && (
      <span className="needs-two">
        <Age nanos={line.need.sinceUnixNanos} />
        {line.need.eta ? <EtaLine eta={line.need.eta} /> : <span className="needs-sub" data-tip={sourcesOf(line.need).length ? undefined : "Its cluster does not tell what asks for it"}>{sourcesOf(line.need).join(", ") || "source –"}</span>}
      </span>
    ),
  },
];

const BY_SHAPE = columns(true);
const IN_ORDER = columns(false);
const HEIGHTS = { shape: 40, cut: 30, need: 54 } as const;

function ShapeHead({ line }: { line: Extract<Line, { kind: "shape" }> }) {
  return (
    <div className="needs-shape">
      <Requirements requirements={line.first.requirements} spread={line.first.spread} />
      <span className="dim">{format.plural(line.rows, "Need")}</span>
      {NEED_STATES.filter((state) => state !== "met" && line.counts[state] > 0).map((state) => <span key={state} className={`needs-tally ${state}`}>{format.count(line.counts[state])} {state}</span>)}
      {line.counts.met === line.rows && <span className="needs-tally met">all met</span>}
    </div>
  );
}

const CutLine = ({ waiting }: { waiting: number }) => (
  <div className="needs-cut"><span>Supply for these requirements ran out here: {format.plural(waiting, "Need")} short</span></div>
);

const keyOfLine = (line: Line): string => line.key;
const heightOf = (line: Line): number => HEIGHTS[line.kind];
const spanOf = (line: Line) => (line.kind === "shape" ? <ShapeHead line={line} /> : line.kind === "cut" ? <CutLine waiting={line.waiting} /> : null);
const classOfRow = (line: Line): string => (line.kind === "need" ? `needs-row ${line.need.state}` : `needs-${line.kind}-row`);

function useFilters() {
  const [states, setStates] = useQueryState("state");
  const [reason, setReason] = useQueryState("reason");
  const [cluster, setCluster] = useQueryState("cluster");
  const [shard, setShard] = useQueryState("shard");
  const [source, setSource] = useQueryState("source");
  const [priority, setPriority] = useQueryState("priority");
  const [view, setView] = useQueryState("view", "shape");
  return { states, setStates, reason, setReason, cluster, setCluster, shard, setShard, source, setSource, priority, setPriority, view, setView };
}
type Filters = ReturnType<typeof useFilters>;

const clearAll = (): void => setQuery({ state: undefined, reason: undefined, cluster: undefined, source: undefined, priority: undefined });

function Pickers({ filters, shards, clusters, isPast }: { filters: Filters; shards: readonly string[]; clusters: readonly string[]; isPast: boolean }) {
  const all = (word: string, names: readonly string[], now: string) =>
    [{ value: "", text: word }, ...[...new Set([...names, ...(now ? [now] : [])])].map((value) => ({ value, text: value }))];
  return (
    <div className="row">
      {shards.length > 1 && <Select label="Shard" value={filters.shard} onChange={filters.setShard} options={all("all", shards, filters.shard)} />}
      <Select label="Cluster" value={filters.cluster} onChange={filters.setCluster} options={all("all", clusters, filters.cluster)} />
      <Select label="Class" value={filters.priority} onChange={filters.setPriority} options={all("all", CLASSES, filters.priority)} />
      {isPast ? <span className="dim" data-tip="Clusters tell it of now; a journal has no word of it">sources of then are unknown</span> : <Select label="Source" value={filters.source} onChange={filters.setSource} options={all("all", SOURCES, filters.source)} />}
      <Segmented label="Order" value={filters.view as "shape" | "order"} onChange={filters.setView} options={[{ value: "shape", text: "By shape" }, { value: "order", text: "In order" }]} />
    </div>
  );
}

function StateChips({ filters, data }: { filters: Filters; data: Needs | undefined }) {
  useStore(shown);
  const chosen = filters.states.split(",");
  return (
    <div className="needs-states" role="group" aria-label="States">
      {NEED_STATES.map((state) => (
        <button key={state} type="button" className={`needs-state ${state}`} aria-pressed={chosen.includes(state)} data-tip={STATE_WORDS[state]} onClick={() => filters.setStates(toggled(filters.states, state))}>
          <span className="swatch" style={{ background: stateColour(STATE_COLOURS[state]) }} />
          <b>{!data || (state === "met" && data.unjudged > 0) ? "–" : format.count(data.counts[state])}</b>
          <span>{state}</span>
        </button>
      ))}
    </div>
  );
}

function ReasonChips({ filters, data }: { filters: Filters; data: Needs }) {
  const known = data.reasons.some(([code]) => code === filters.reason);
  return (
    <div className="needs-reasons row" role="group" aria-label="First reasons">
      {data.reasons.length === 0 && data.total > 0 && <span className="dim">No reason is told.</span>}
      {data.reasons.slice(0, REASONS_SHOWN).map(([code, needs]) => (
        <Chip key={code} on={filters.reason === code} count={format.count(needs)} onToggle={() => filters.setReason(filters.reason === code ? "" : code)}><bdi>{code}</bdi></Chip>
      ))}
      {filters.reason && !known && <Chip on count="0" onToggle={() => filters.setReason("")}><bdi>{filters.reason}</bdi></Chip>}
    </div>
  );
}

function shownText(data: Needs, visible: number, filtered: boolean): string {
  const all = `${format.count(visible)} of ${format.plural(data.total, "need")} shown`;
  const loaded = data.rows.length < data.matching ? `; the first ${format.count(data.rows.length)} of ${format.count(data.matching)} are loaded, more load as you scroll` : "";
  return `${all}${filtered && !loaded ? " with these filters" : ""}${loaded}, cycle ${format.count(data.cycle)}`;
}

function NothingThere({ data, filtered }: { data: Needs; filtered: boolean }) {
  if (data.rebuilding && data.total === 0) return <Rebuilding height={240} />;
  if (data.total > 0 || filtered)
    return (
      <Empty title="No Need fits these filters" height={240}>
        <p>{format.plural(data.total, "Need is", "Needs are")} known{data.total ? " without them" : ""}. <button type="button" className="needs-link" onClick={clearAll}>Show all</button></p>
      </Empty>
    );
  return <Empty title="No cluster asks for anything" height={240}><p>Needs appear with the first roll-up of a cluster that has pods to place, a CapacityBuffer or a ProvisioningRequest.</p></Empty>;
}

/** CLUSTER/ID of the Need that is open, from /needs/CLUSTER/ID or ?need=CLUSTER/ID. */
export const openNeed = (name: string | undefined, query: Readonly<Record<string, string>>): string => name ?? query.need ?? "";

export default function NeedsPage({ params }: PageProps) {
  const filters = useFilters();
  const { query } = useAddress();
  const moment = useMoment();
  const at = moment?.cycle ?? null;
  const live = useStatus();
  // Of a coordinator that no shard has reported to yet, too: the first one may come any time.
  const asking = useApi<Status>(live?.shards.length ? null : "/status", {}, { every: SHARDS_AGAIN });
  const status = live?.shards.length ? live : (asking.data ?? live);
  const summary = useStore(overview);
  const shards = useMemo(() => (status?.shards ?? []).map((shard) => shard.shardId).sort(), [status]);
  const [limit, setLimit] = useState(FIRST_ROWS);
  const asked = moment?.shard ? [moment.shard] : filters.shard ? [filters.shard] : shards;
  const needs = useNeeds({ shards: asked, cluster: filters.cluster, state: filters.states, source: at === null ? filters.source : "", reason: filters.reason, limit, at: moment && cycleName(moment) });
  // Without a shard there is no one to ask: what is wrong is that none is known.
  const loaded = asked.length === 0 && asking.error ? { ...needs, error: asking.error, reload: asking.reload } : needs;
  const isShardless = asked.length === 0 && status !== undefined && status !== null;
  const rows = loaded.data?.rows ?? [];
  const open = openNeed(params.name, query);

  const fits = useCallback(
    (row: NeedRow) => !filters.priority || classOf(row.priority) === filters.priority,
    [filters.priority],
  );
  const lines = useMemo(() => (filters.view === "order" ? inOrder(rows, fits) : byShape(rows, fits)), [rows, fits, filters.view]);
  const visible = useMemo(() => rows.filter(fits), [rows, fits]);
  const listedClusters = useMemo(() => [...new Set(rows.map((row) => row.clusterId))], [rows]);
  const clusters = useMemo(() => [...new Set([...Object.keys(summary?.pods?.byCluster ?? {}), ...listedClusters])].sort(), [summary?.pods, listedClusters]);
  const filtered = Boolean(filters.states || filters.reason || filters.cluster || filters.source || filters.priority);

  const openRow = useCallback((line: Line) => {
    if (line.kind === "need") setQuery({ need: `${line.need.clusterId}/${line.need.needId}` }, { push: true });
  }, []);
  const close = useCallback(() => {
    if (params.name) navigate(linkTo("/needs", { ...query, need: undefined }));
    else setQuery({ need: undefined }, { push: true });
  }, [params.name, query]);
  const more = useCallback(() => setLimit((now) => (loaded.data && loaded.data.rows.length < loaded.data.matching && now < MOST_ROWS ? Math.min(MOST_ROWS, now * 3) : now)), [loaded.data]);
  useKey("u", "Only what is not met", "Needs", useCallback(() => setQuery({ state: "arriving,blocked,short" }), []));
  useKey("x", "Clear the filters", "Needs", clearAll);

  const counts = loaded.data?.counts;
  const spoken = counts ? NEED_STATES.map((state) => `${counts[state]} ${state}`).join(", ") : "";
  useEffect(() => {
    if (spoken) announce(`Needs: ${spoken}`);
  }, [spoken]);

  return (
    <div className="needs stack">
      <div className="page-head">
        <h1>Needs</h1>
        <Pickers filters={filters} shards={moment ? [] : shards} clusters={clusters} isPast={moment !== null} />
      </div>
      <Scrub loading={loaded.loading} />
      {at !== null && (loaded.data?.unjudged ?? 0) > 0 && <Partial warnings={[`Of ${format.plural(loaded.data?.unjudged ?? 0, "Need")} it is not recorded whether their pods ran.`]} title="To know:" />}
      <StateChips filters={filters} data={loaded.data} />
      <Card
        title="What clusters ask for"
        source={{ route: `/needs?shard=${encodeURIComponent(asked[0] ?? "ID")}`, command: "bigfleet needs", promql: "sum by (state, priority_class) (bigfleet_shard_needs)" }}
        actions={filtered ? <button type="button" className="needs-link" onClick={clearAll}><Icon name="close" size={12} /> Clear filters</button> : <span className="dim">highest precedence first</span>}
        flush
      >
        <div className="needs-bar-row">
          {loaded.data ? <ReasonChips filters={filters} data={loaded.data} /> : <span />}
          <p className="dim" role="status">{loaded.data ? shownText(loaded.data, visible.length, filtered) : loaded.error ? "Needs are not known" : "Loading"}</p>
        </div>
        {isShardless ? <Empty title="No shard is known yet" height={420}><p>A shard appears when it registers: <code>bigfleet shard --coordinator ADDRESS</code></p></Empty> : (
        <View of={loaded} height={420} lines={9} empty={(data) => (lines.length === 0 ? <NothingThere data={data} filtered={filtered} /> : null)}>
          {() => (
            <Table
              label="Needs, highest precedence first"
              rows={lines}
              columns={filters.view === "order" ? IN_ORDER : BY_SHAPE}
              rowKey={keyOfLine}
              heightOf={heightOf}
              rowHeight={HEIGHTS.need}
              span={spanOf}
              rowClass={classOfRow}
              onOpen={openRow}
              onEnd={more}
              maxHeight="max(380px, calc(100vh - 272px))"
            />
          )}
        </View>
        )}
      </Card>
      {open && <NeedDrawer key={open} name={open} rows={rows} onClose={close} />}
    </div>
  );
}
