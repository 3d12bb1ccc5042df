// What the last measured cycles cost against a lower bound, or why that is not known.
import { useApi } from "../../core/api";
import * as format from "../../core/format";
import { useResets } from "../../core/live";
import { categorical } from "../../core/palette";
import type { History } from "../../core/types";
import { Command } from "../../ui/basics";
import { Card } from "../../ui/card";
import { Chart, Legend, type Series } from "../../ui/charts";
import { Empty, View } from "../../ui/states";
import { Name, Percent, PerHour } from "../../ui/values";
import type { Range } from "./series";
import { isMeasured, lackOf, type ShardRegret, typeParts } from "./shard-regrets";

const EVERY = 15_000;
const SOURCE = {
  route: "/regret,/fleet/history",
  command: "bigfleet reports regret",
  promql: "sum(bigfleet_shard_regret_dollars_per_hour)",
};
const INSTALL = /pip install '[^']+'/;
/** Some 200 points each. */
const STEPS: Record<Range, string> = { "15m": "5s", "1h": "20s", "6h": "2m", "24h": "5m" };

function Course({ range }: { range: Range }) {
  const told = useApi<History>("/fleet/history", { duration: range, step: STEPS[range] }, { version: useResets(), every: EVERY }).data;
  const series: Series[] = [
    { label: "Effective cost", colour: categorical(0), points: told?.effectiveDollarsPerHour ?? [] },
    { label: "Lower bound", colour: categorical(1), points: told?.boundDollarsPerHour ?? [] },
  ];
  if (!told || !series.every(({ points }) => points.some(format.known))) return null;
  return <div className="costs-regret"><Chart label="Effective cost and its lower bound over time" times={told.timestamps} series={series} format={format.perHour} height={150} /><Legend series={series} format={format.perHour} /></div>;
}

function Shard({ row }: { row: ShardRegret }) {
  const name = <th scope="row"><Name>{row.shardId}</Name></th>;
  if (!isMeasured(row)) return <tr>{name}<td colSpan={5} className="costs-text"><span className="unknown">unknown</span> <bdi className="dim">{row.reason}</bdi></td></tr>;
  return (
    <tr>
      {name}
      <td><PerHour v={row.greedyPerHour} /></td>
      <td>{row.reason && <span className="dim" data-tip={row.reason}>at least </span>}<PerHour v={row.boundPerHour} /></td>
      <td><PerHour v={row.gapPerHour} /></td>
      <td><Percent v={row.ratio} /></td>
      <td className="costs-text"><bdi>{lackOf(row)}</bdi></td>
    </tr>
  );
}

function Types({ rows }: { rows: readonly ShardRegret[] }) {
  const parts = typeParts(rows);
  if (parts.length === 0) return null;
  return (
    <table className="costs-table">
      <thead><tr><th scope="col">Where the gap is, by machine type</th><th scope="col">Cost</th><th scope="col">In the bound</th><th scope="col">Gap</th></tr></thead>
      <tbody>{parts.map(({ name, cost, bound }) => <tr key={name}><th scope="row">{name ? <Name>{name}</Name> : <span className="dim">not said</span>}</th><td><PerHour v={cost} /></td><td><PerHour v={bound} /></td><td><PerHour v={cost - bound} /></td></tr>)}</tbody>
    </table>
  );
}

function Measured({ rows, range }: { rows: readonly ShardRegret[]; range: Range }) {
  const pinned = rows.filter(isMeasured).reduce((sum, row) => sum + row.pinnedMachines, 0);
  return (
    <>
      <Course range={range} />
      <div className="costs-scroll" role="region" aria-label="Regret by shard" tabIndex={0}>
        <table className="costs-table">
          <thead><tr><th scope="col">Shard</th><th scope="col">Effective cost</th><th scope="col"><span data-tip="No assignment of whole machines that covers as much costs less">Lower bound</span></th><th scope="col">Gap</th><th scope="col"><span data-tip="The gap as a part of the effective cost">Share</span></th><th scope="col" className="costs-text"><span data-tip="What the cycle leaves short, and what it could be if coverage came before cost">Uncovered</span></th></tr></thead>
          <tbody>{rows.map((row) => <Shard key={row.shardId} row={row} />)}</tbody>
        </table>
        <Types rows={rows} />
      </div>
      <p className="costs-note dim">
        Effective cost is not the bill: prices of the machines that work claims, and their interruptions at the penalties that are declared. The bound may move any machine at once, so a part of the gap cannot be had.
        {pinned > 0 && ` ${format.plural(pinned, "machine")} may be interrupted and must not be: counted at the price alone.`}
      </p>
    </>
  );
}

/** A reason that all shards have is told once; a command in it can be copied. */
function Unmeasured({ rows }: { rows: readonly ShardRegret[] }) {
  if (rows.length === 0) return <Empty title="No shard is known yet" height={110}><p>Each shard measures its own cycles, once a minute.</p></Empty>;
  const reasons = [...new Set(rows.map((row) => row.reason))];
  const command = reasons.map((reason) => INSTALL.exec(reason)?.[0]).find(Boolean);
  return (
    <Empty title="Not measured" height={110}>
      {reasons.map((reason) => <p key={reason}><bdi>{reason.charAt(0).toUpperCase() + reason.slice(1)}</bdi></p>)}
      {command && <Command text={command} />}
    </Empty>
  );
}

export function RegretCard({ range }: { range: Range }) {
  const loaded = useApi<{ regrets: ShardRegret[] }>("/regret", {}, { version: useResets(), every: EVERY });
  return (
    <Card title="Regret: what the fleet costs against a lower bound" source={SOURCE} flush>
      <View of={loaded} height={150} empty={({ regrets }) => (regrets.some(isMeasured) ? null : <Unmeasured rows={regrets} />)}>
        {({ regrets }) => <Measured rows={regrets} range={range} />}
      </View>
    </Card>
  );
}
