// What one pool saves against a pool for each cluster: two lines, all that is assumed beside them, totals.
import { useState } from "react";
import { API, routeOf, useApi } from "../../core/api";
import * as format from "../../core/format";
import { categorical, shown } from "../../core/palette";
import { useQueryState } from "../../core/router";
import { useStore } from "../../core/store";
import { Button, Segmented } from "../../ui/basics";
import { Card } from "../../ui/card";
import { Chart, Legend, type Series } from "../../ui/charts";
import { Partial, View } from "../../ui/states";
import { Count, Name, Percent } from "../../ui/values";
import "./isolated.css";

interface Measures { dollars: number }
export interface Slice { startUnixNanos: number; seconds: number; pooled: Measures; isolated: Measures }
interface Row { measure: string; unit: string; pooled: number; isolated: number; difference: number; interval: number[] | null }
interface Pool { clusterId: string; share: number; committedMachines: number; measures: Measures }
interface OfShard {
  shardId: string;
  report: { slices: Slice[]; sliceSeconds: number; gaps: string[]; cutShort: string; clusters: Pool[] };
  headline: string;
  rows: Row[];
  whyNoInterval: string;
  assumptions: string[];
}
interface Told { reports: OfShard[] }

/** A shard has a minute. */
const DEADLINE = 95_000;
const SPLITS = [{ value: "peak", text: "Peak demand" }, { value: "mean", text: "Mean demand" }, { value: "actual", text: "As it was" }] as const;
const HEADROOMS = [{ value: "0", text: "No headroom" }, { value: "0.1", text: "10 %" }, { value: "0.2", text: "20 %" }] as const;

/** Dollars per hour of both sides; a slice that was not observed is a gap. */
export function lines(slices: readonly Slice[], seconds: number): { times: number[]; pooled: (number | null)[]; isolated: (number | null)[] } {
  const found = { times: [] as number[], pooled: [] as (number | null)[], isolated: [] as (number | null)[] };
  for (const slice of slices) {
    const at = Math.round(slice.startUnixNanos / 1e9);
    const before = found.times[found.times.length - 1];
    if (before !== undefined && at - before > seconds) {
      found.times.push(before + seconds);
      found.pooled.push(null);
      found.isolated.push(null);
    }
    const rate = (side: Measures): number | null => (slice.seconds > 0 ? (side.dollars * 3600) / slice.seconds : null);
    found.times.push(at);
    found.pooled.push(rate(slice.pooled));
    found.isolated.push(rate(slice.isolated));
  }
  return found;
}

/** Whole from a thousand on: what is behind the point is noise there. */
export function amount(value: number): string {
  const digits = Number.isInteger(value) || Math.abs(value) >= 1000 ? 0 : 2;
  return value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

function Totals({ told, of }: { told: OfShard; of: string }) {
  return (
    <div className="costs-scroll" role="region" aria-label={`Totals of both sides${of}`} tabIndex={0}>
      <table className="costs-table">
        <thead><tr><th scope="col">Measure</th><th scope="col">One pool</th><th scope="col">Isolated</th><th scope="col">Difference</th><th scope="col">95 % interval</th><th scope="col">Unit</th></tr></thead>
        <tbody>{told.rows.map((row) => (
          <tr key={row.measure}>
            <th scope="row"><bdi>{row.measure}</bdi></th>
            <td>{amount(row.pooled)}</td><td>{amount(row.isolated)}</td><td>{amount(row.difference)}</td>
            <td>{row.interval ? row.interval.map(amount).join(" to ") : <span className="unknown" data-tip={told.whyNoInterval}>unknown</span>}</td>
            <td><bdi>{row.unit || "–"}</bdi></td>
          </tr>
        ))}</tbody>
      </table>
    </div>
  );
}

function Pools({ told, of }: { told: OfShard; of: string }) {
  return (
    <div className="costs-scroll" role="region" aria-label={`Isolated pools${of}`} tabIndex={0}>
      <table className="costs-table">
        <thead><tr><th scope="col">Isolated pool of</th><th scope="col">Share</th><th scope="col">Committed machines</th><th scope="col">Billed</th></tr></thead>
        <tbody>{told.report.clusters.map((pool) => (
          <tr key={pool.clusterId}><th scope="row"><Name>{pool.clusterId}</Name></th><td><Percent v={pool.share} /></td><td><Count v={pool.committedMachines} /></td><td>{format.money(pool.measures.dollars)}</td></tr>
        ))}</tbody>
      </table>
    </div>
  );
}

function Shard({ told, several }: { told: OfShard; several: boolean }) {
  const { times, pooled, isolated } = lines(told.report.slices, told.report.sliceSeconds);
  const series: Series[] = [
    { label: "One pool", colour: categorical(0), points: pooled },
    { label: "Isolated", colour: categorical(1), points: isolated },
  ];
  const missing = [...told.report.gaps, ...(told.report.cutShort ? [told.report.cutShort] : [])];
  const of = several ? ` of ${told.shardId}` : "";
  const label = `Dollars per hour of one pool and of isolated pools${of}`;
  return (
    <section className="isolated" aria-label={`Both sides${of}`}>
      <p className="isolated-headline"><bdi>{several ? `${told.shardId}: ` : ""}{told.headline}</bdi></p>
      {told.whyNoInterval && <p className="dim">{told.whyNoInterval}</p>}
      {missing.length > 0 && <Partial title="Not all of it is compared." warnings={missing} />}
      <div className="isolated-columns">
        <div><Chart label={label} times={times} series={series} format={format.perHour} height={300} /><Legend series={series} format={format.perHour} /></div>
        <div><h3>What this assumes</h3><ul className="isolated-assumed">{told.assumptions.map((text) => <li key={text}><bdi>{text}</bdi></li>)}</ul></div>
      </div>
      <Totals told={told} of={of} />
      <Pools told={told} of={of} />
    </section>
  );
}

/** It costs the shard's machine a minute, so it runs when a person asks, for what is chosen then. */
export function IsolatedPools() {
  useStore(shown);
  const [saidSplit, setSplit] = useQueryState("split", "peak");
  const [saidRoom, setRoom] = useQueryState("headroom", "0");
  const [asked, setAsked] = useState<{ split: string; headroom: string } | null>(null);
  const split = SPLITS.find((each) => each.value === saidSplit)?.value ?? "peak";
  const headroom = HEADROOMS.find((each) => each.value === saidRoom)?.value ?? "0";
  const query = { split, headroom };
  const isAsked = asked !== null && asked.split === split && asked.headroom === headroom;
  const loaded = useApi<Told>(isAsked ? "/costs/isolated" : null, query, { deadline: DEADLINE });
  return (
    <Card title="One pool, or a pool per cluster" source={{ route: routeOf("/costs/isolated", query).replace(API, ""), command: `bigfleet reports isolated --split ${split} --headroom ${headroom}` }} flush>
      <div className="isolated-asks">
        <Segmented label="Committed machines are divided by" options={SPLITS} value={split} onChange={setSplit} />
        <Segmented label="What isolated pools keep free" options={HEADROOMS} value={headroom} onChange={setRoom} />
        {!isAsked && <Button kind="primary" onClick={() => setAsked(query)}>Compare</Button>}
        {isAsked && loaded.data && <Button onClick={loaded.reload} disabled={loaded.loading}>Compare again</Button>}
      </div>
      {isAsked ? (
        <>
          {loaded.loading && <p className="isolated-note dim" role="status">The journal is being run with both kinds of pools. It takes up to a minute.</p>}
          <View of={loaded} height={260}>{(told) => <>{told.reports.map((each) => <Shard key={each.shardId} told={each} several={told.reports.length > 1} />)}</>}</View>
        </>
      ) : (
        <p className="isolated-note dim">Runs the newest part of the journal twice: with one pool for all clusters, and with a pool, and an autoscaler, for each of them. It takes up to a minute; cycles do not wait for it.</p>
      )}
    </Card>
  );
}
