// What the fleet costs now, and by what: billed dollars and declared ones apart, never added.
import { API, PAST_DEADLINE, type Query, routeOf, useApi } from "../../core/api";
import * as format from "../../core/format";
import { useResets } from "../../core/live";
import { categorical, shown } from "../../core/palette";
import { askedAt } from "../../core/moments";
import { linkTo, objectPath, useMoment, useQueryState } from "../../core/router";
import { useStore } from "../../core/store";
import { Scrub } from "../../shell/scrub";
import { Link, Pill, Segmented } from "../../ui/basics";
import { Card, Tile } from "../../ui/card";
import { Chart, Legend, PartsBar, type Series } from "../../ui/charts";
import { Icon } from "../../ui/icons";
import { Empty, View } from "../../ui/states";
import { Count, Name, Percent, PerHour } from "../../ui/values";
import { IsolatedPools } from "./isolated";
import { Ledger } from "./ledger";
import { RegretCard } from "./regret";
import { type CostSeries, hasSamples, isFree, type Range, RANGES, shownSeries } from "./series";
import { Statements } from "./statements";
import "./costs.css";

const EVERY = 3_000;
const BARS = 8;
const AXES = [
  { value: "cluster", text: "Cluster" }, { value: "capacity", text: "Capacity type" }, { value: "type", text: "Machine type" },
  { value: "zone", text: "Zone" }, { value: "priority", text: "Priority" }, { value: "team", text: "Team" }, { value: "need", text: "Need" },
] as const;
type Axis = (typeof AXES)[number]["value"];

interface Totals {
  machines: number;
  committedMachines: number;
  dollarsPerHour: number;
  idleDollarsPerHour: number;
  expectedInterruptionDollarsPerHour: number;
  pinnedMachinesAtRisk: number;
  imputedDollarsPerHour: number;
  unvaluedMachines: number;
  wasteDollarsPerHour: number;
  strandedDollarsPerHour: number;
}
interface Flag {
  severity: string;
  code: string;
  subject: string;
  count: number;
  text: string;
}
interface Costs {
  by: string;
  rows: (Totals & { name: string })[];
  totals: Totals;
  redFlags: Flag[];
  unknown: string[];
}
interface Finops {
  capacityTypes: string[];
  buckets: string[];
  configured: Record<string, Record<string, number>>;
  redFlags: { severity: string; capacityType: string; bucket: string; count: number; message: string }[];
}

const NOT_YET = "No answer yet";
const titleOf = (axis: Axis): string => AXES.find((each) => each.value === axis)?.text ?? "";
const OWNED: readonly Axis[] = ["cluster", "team", "priority", "need"];
/** The chart samples these; teams and Needs are told by the cycle and by the hour. */
const CHARTED: readonly Axis[] = ["cluster", "capacity", "type", "zone", "priority"];
const noName = (axis: Axis): string => (OWNED.includes(axis) ? "shared idle" : "not said");

/** A number alone says nothing in a legend. */
const labelOf = (axis: Axis, name: string): string => (!name ? noName(axis) : axis === "priority" && name !== "other" ? `priority ${name}` : name);

function Label({ axis, name }: { axis: Axis; name: string }) {
  if (!name) return <span className="dim">{noName(axis)}</span>;
  if (axis === "cluster") return <Link to={linkTo(objectPath("clusters", name))}><Name>{name}</Name></Link>;
  if (axis === "need" && name.startsWith("need/")) return <Link to={linkTo("/needs", { need: name.slice("need/".length) })}><Name>{name.slice("need/".length)}</Name></Link>;
  return <Name>{name}</Name>;
}

/** Their places are there before their numbers are: nothing moves when those come. */
function Tiles({ told }: { told: Costs | undefined }) {
  const totals = told?.totals;
  return (
    <div className="costs-tiles">
      <Tile title="Billed" source={{ route: "/costs", command: "bigfleet reports cost" }} value={<PerHour v={totals?.dollarsPerHour} why={NOT_YET} />} note={totals ? format.plural(totals.machines, "machine") : "machines"} />
      <Tile title="Of it idle" value={<PerHour v={totals?.idleDollarsPerHour} why={NOT_YET} />} note="free to be taken" />
      <Tile title="Of it stranded" value={<PerHour v={totals?.strandedDollarsPerHour} why={NOT_YET} />} note="failed, held or unclaimed" />
      <Tile title="Of it waste" value={<PerHour v={totals?.wasteDollarsPerHour} why={NOT_YET} />} note="claimed and left unused" />
      <Tile title="Expected interruptions" value={<PerHour v={totals?.expectedInterruptionDollarsPerHour} why={NOT_YET} />} note="declared, never billed" />
      <Tile title="Without a price" value={<Count v={totals?.committedMachines} unit="machines" why={NOT_YET} />} note={totals && !isUnvalued(totals) ? `${format.perHour(totals.imputedDollarsPerHour)} by costs.imputed` : "owned or reserved: billed $0"} />
    </div>
  );
}

/** Without a price in the settings nothing is guessed. */
const isUnvalued = (totals: Totals): boolean => totals.unvaluedMachines > 0 && totals.unvaluedMachines === totals.committedMachines;

function Imputed({ totals }: { totals: Totals }) {
  return <PerHour v={isUnvalued(totals) ? null : totals.imputedDollarsPerHour} why="costs.imputed names no price for them, such as metal.8=3.00" />;
}

function Flags({ told }: { told: Costs }) {
  return (
    <Card title="Red flags" source={{ route: "/costs", command: "bigfleet reports cost" }}>
      {told.redFlags.length === 0 && <p className="costs-calm"><Icon name="check" size={14} /> None: no workload is on capacity that its penalty forbids, and no Idle machine is past its hold.</p>}
      {told.redFlags.length > 0 && <ul className="costs-flags costs-flags-alone">{told.redFlags.map((flag) => <li key={flag.code + flag.subject}><Pill tone={flag.severity === "danger" ? "danger" : "warn"}>{flag.severity}</Pill> <bdi>{flag.text}</bdi></li>)}</ul>}
      {told.unknown.map((text) => <p key={text} className="dim costs-unknown">{text}</p>)}
    </Card>
  );
}

function Rows({ told, axis }: { told: Costs; axis: Axis }) {
  const total = told.totals.dollarsPerHour;
  // In the order of the chart above, so that a name has one colour in both.
  const dearest = told.rows.filter((row) => row.dollarsPerHour > 0).sort((one, other) => other.dollarsPerHour - one.dollarsPerHour);
  const bars = dearest.slice(0, BARS).map((row, index) => ({ name: row.name || noName(axis), value: row.dollarsPerHour, colour: categorical(index) }));
  return (
    <>
      <div className="costs-bar"><PartsBar label={`Billed by ${axis}`} parts={bars} /></div>
      <div className="costs-scroll" role="region" aria-label={`Costs by ${axis}`} tabIndex={0}>
        <table className="costs-table">
          <thead><tr><th scope="col">{titleOf(axis)}</th><th scope="col">Machines</th><th scope="col">Without a price</th><th scope="col">Billed</th><th scope="col">Share</th><th scope="col"><span data-tip="Idle machines that may be taken">Of it idle</span></th><th scope="col"><span data-tip="Failed, held, or claimed by no Need">Stranded</span></th><th scope="col"><span data-tip="What claimed machines leave unused, in the dimension that fills first">Waste</span></th><th scope="col"><span data-tip="What machines with the price 0 would cost by costs.imputed; in no other number">Imputed</span></th><th scope="col"><span data-tip="Declared penalties times probability; never billed">Interruptions</span></th><th scope="col"><span data-tip="Machines that can be interrupted and run work that must not be">Pinned at risk</span></th></tr></thead>
          <tbody>
            {told.rows.map((row) => (
              <tr key={row.name}>
                <th scope="row"><Label axis={axis} name={row.name} /></th>
                <td><Count v={row.machines} /></td>
                <td><Count v={row.committedMachines} /></td>
                <td><PerHour v={row.dollarsPerHour} /></td>
                <td><Percent v={total > 0 ? row.dollarsPerHour / total : null} why="Nothing is billed" /></td>
                <td><PerHour v={row.idleDollarsPerHour} /></td>
                <td><PerHour v={row.strandedDollarsPerHour} /></td>
                <td><PerHour v={row.wasteDollarsPerHour} /></td>
                <td><Imputed totals={row} /></td>
                <td><PerHour v={row.expectedInterruptionDollarsPerHour} /></td>
                <td className={row.pinnedMachinesAtRisk > 0 ? "costs-bad" : ""}><Count v={row.pinnedMachinesAtRisk} /></td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}

const csvOf = (path: string, query: Query): string => routeOf(path, { ...query, format: "csv" });

function Download({ href, what }: { href: string; what: string }) {
  return <a className="button small" href={href} download aria-label={`${what} as CSV`}><Icon name="download" size={14} />CSV</a>;
}

function Course({ axis, range, setRange }: { axis: Axis; range: Range; setRange: (range: Range) => void }) {
  useStore(shown);
  const query = { by: axis, duration: range };
  const loaded = useApi<CostSeries>("/costs/series", query, { version: useResets(), every: range === "15m" ? 5_000 : 15_000 });
  const title = `Dollars per hour over time, by ${titleOf(axis).toLowerCase()}`;
  return (
    <Card title={title} source={{ route: routeOf("/costs/series", query).replace(API, "") }} actions={<Download href={csvOf("/costs/series", query)} what={title} />}>
      <div className="costs-axes costs-range"><Segmented label="Time" options={RANGES} value={range} onChange={setRange} /></div>
      <View of={loaded} height={270} empty={(told) => (!hasSamples(told) ? <Empty title="No samples of this time" height={250}><p>The chart fills while the page is served: a value a second for an hour, one a minute for a day. What was before is not kept.</p></Empty> : null)}>
        {(told) => {
          const series: Series[] = shownSeries(told).map(({ name, points }, index) => ({ label: labelOf(axis, name), colour: categorical(index), points }));
          if (series.length === 0) series.push({ label: isFree(told) ? "Billed: nothing" : "Billed", colour: categorical(0), points: told.dollarsPerHour });
          return <><Chart label={title} times={told.timestamps} series={series} format={format.perHour} height={220} stacked /><Legend series={series} format={format.perHour} /></>;
        }}
      </View>
    </Card>
  );
}

function Penalties() {
  const loaded = useApi<Finops>("/finops/snapshot", {}, { version: useResets(), every: EVERY });
  return (
    <Card title="Which capacity carries which penalty" source={{ route: "/finops/snapshot" }} flush>
      <View of={loaded} height={160} empty={(told) => (told.buckets.length === 0 ? <Empty title="No cluster declares a penalty" height={90}><p>Configured machines appear here by the penalty of the work on them.</p></Empty> : null)}>
        {(told) => (
          <>
            {told.redFlags.length > 0 && <ul className="costs-flags">{told.redFlags.map((flag) => <li key={flag.capacityType + flag.bucket}><Pill tone={flag.severity === "danger" ? "danger" : "warn"}>{flag.severity}</Pill> <bdi>{flag.message}</bdi></li>)}</ul>}
            <div className="costs-scroll" role="region" aria-label="Configured machines by capacity type and penalty" tabIndex={0}>
              <table className="costs-table">
                <thead><tr><th scope="col">Capacity type</th>{told.buckets.map((bucket) => <th key={bucket} scope="col"><bdi>{/^\d/.test(bucket) ? `$${bucket}` : bucket}</bdi></th>)}</tr></thead>
                <tbody>{told.capacityTypes.map((kind) => <tr key={kind}><th scope="row"><bdi>{kind}</bdi></th>{told.buckets.map((bucket) => {
                  const flag = told.redFlags.find((each) => each.capacityType === kind && each.bucket === bucket);
                  return <td key={bucket} className={flag ? "costs-bad" : ""} data-tip={flag?.message}><Count v={told.configured[kind]?.[bucket] ?? 0} unit="machines" /></td>;
                })}</tr>)}</tbody>
              </table>
            </div>
          </>
        )}
      </View>
    </Card>
  );
}

export default function CostsPage() {
  const [by, setBy] = useQueryState("by", "cluster");
  const axis = AXES.find((each) => each.value === by)?.value ?? "cluster";
  const [asked, setRange] = useQueryState("range", "1h");
  const range = RANGES.find((each) => each.value === asked)?.value ?? "1h";
  const moment = useMoment();
  useStore(shown);
  const loaded = useApi<Costs>("/costs", { by: axis, ...askedAt(moment) }, { version: useResets(), every: moment ? undefined : EVERY, deadline: moment ? PAST_DEADLINE : undefined });
  return (
    <div className="costs stack">
      <div className="page-head"><h1>Costs</h1></div>
      <Scrub loading={loaded.loading} />
      <Tiles told={loaded.data} />
      <div className="costs-axes"><Segmented label="By" options={AXES} value={axis} onChange={setBy} /></div>
      {!moment && CHARTED.includes(axis) && <Course axis={axis} range={range} setRange={setRange} />}
      <Card title={`Dollars per hour by ${titleOf(axis).toLowerCase()}`} source={{ route: `/costs?by=${axis}` }} actions={<Download href={csvOf("/costs", { by: axis, ...askedAt(moment) })} what={`Dollars per hour by ${titleOf(axis).toLowerCase()}`} />} flush>
        <View of={loaded} height={200} empty={(told) => (told.rows.length === 0 ? <Empty title="No machine exists yet" height={120}><p>Costs appear with the first machine that a provider lists.</p></Empty> : null)}>
          {(told) => <Rows told={told} axis={axis} />}
        </View>
      </Card>
      {!moment && <Ledger axis={axis} title={titleOf(axis)} noName={noName(axis)} />}
      {loaded.data && <Flags told={loaded.data} />}
      {!moment && <IsolatedPools />}
      {!moment && <RegretCard range={range} />}
      {!moment && <Statements />}
      {!moment && <Penalties />}
    </div>
  );
}
