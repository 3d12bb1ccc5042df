import { type FocusEvent, type ReactNode, useEffect, useMemo, useState } from "react";
import { type Loaded, useApi } from "../../core/api";
import { announce } from "../../core/announce";
import { decisionKey, sentenceOf } from "../../core/decisions";
import * as format from "../../core/format";
import { decisions, overview, resets, samples, withRows } from "../../core/live";
import { categorical, MACHINE_STATES, shown, stateColour } from "../../core/palette";
import { linkTo, useQueryState } from "../../core/router";
import { useStore } from "../../core/store";
import { type Decision, type History, NEED_STATES, type Overview } from "../../core/types";
import { Link, needTone, Pill, Segmented, type Tone } from "../../ui/basics";
import { Card, LoadingTiles, Tile } from "../../ui/card";
import { Chart, Legend, PartsBar, type Series, Sparkline } from "../../ui/charts";
import { Empty, Loading, Partial, Rebuilding, View } from "../../ui/states";
import { Ago, Count, Percent, PerHour, Seconds } from "../../ui/values";
import { ActionsCard } from "./actions";
import { Findings, Rails } from "./findings";
import { RegretTile } from "./regret";
import { type Course, courseOf } from "./series";
import "./overview.css";

const RANGES = {
  "15m": { text: "15 min", span: 900, step: 5 },
  "1h": { text: "1 h", span: 3600, step: 15 },
  "24h": { text: "24 h", span: 86400, step: 300 },
} as const;
type Range = keyof typeof RANGES;
const DECISIONS_SHOWN = 10;
const TILES = 6;

export function toneOf(now: Overview): Tone {
  const short = (now.needs?.short ?? 0) + (now.shardsDown?.length ?? 0);
  if (short > 0) return "danger";
  if ((now.needs?.blocked ?? 0) > 0 || (now.pauses?.length ?? 0) > 0 || (now.findings?.length ?? 0) > 0 || (now.thrash ?? 0) > 0) return "warn";
  if ((now.needs?.arriving ?? 0) > 0) return "info";
  return now.needs ? "good" : "neutral";
}

const needColour = (state: string): string =>
  ({ met: stateColour("Configured"), arriving: stateColour("Idle"), blocked: stateColour("Configuring"), short: stateColour("Failed") })[state] ?? "#888888";

const p99Tone = (seconds: number): "" | "warn" | "danger" => (seconds >= 5 ? "danger" : seconds >= 1 ? "warn" : "");

function share(now: Overview): string {
  const needs = now.needs;
  if (!needs) return "";
  const total = NEED_STATES.reduce((sum, state) => sum + needs[state], 0);
  if (total === 0) return now.rebuilding ? "not known yet" : "No cluster asks for anything";
  return NEED_STATES.filter((state) => needs[state] > 0).map((state) => `${format.count(needs[state])} ${state}`).join(", ");
}

function Tiles({ now, course }: { now: Overview; course: Course }) {
  const shortNow = (now.needs?.short ?? 0) + (now.needs?.blocked ?? 0);
  return (
    <div className="tiles">
      <Tile
        title="Demand met"
        source={{ route: "/fleet/overview", command: "bigfleet status", promql: "bigfleet_shard_needs" }}
        value={<Percent v={now.demandMetFraction} why="The shards have not reported their demand yet" />}
        note={share(now)}
        tone={(now.needs?.short ?? 0) > 0 ? "danger" : shortNow > 0 ? "warn" : ""}
      >
        {now.needs && <PartsBar label="Needs by state" parts={NEED_STATES.map((state) => ({ name: state, value: now.needs?.[state] ?? 0, colour: needColour(state) }))} />}
      </Tile>
      <Tile
        title="Cost"
        source={{ route: "/fleet/overview,/costs/series", command: "bigfleet status -o json" }}
        value={<PerHour v={now.dollarsPerHour} why="No price is known" />}
        note="billed now"
      >
        <Sparkline points={course.column("dollarsPerHour")} label="Cost" format={format.perHour} />
      </Tile>
      <Tile
        title="Idle cost"
        source={{ route: "/fleet/overview", command: "bigfleet machines 'state=Idle'" }}
        value={<PerHour v={now.idleDollarsPerHour} why="No price is known" />}
        note={format.known(now.dollarsPerHour) && format.known(now.idleDollarsPerHour) && now.dollarsPerHour > 0 ? `${format.percent(now.idleDollarsPerHour / now.dollarsPerHour)} of the cost` : "billed, not in use"}
      >
        <Sparkline points={course.column("idleDollarsPerHour")} label="Idle cost" format={format.perHour} colour={stateColour("Idle")} />
      </Tile>
      <Tile
        title="Cycle p99"
        source={{ route: "/shards", command: "bigfleet top", promql: "histogram_quantile(0.99, sum by (le) (rate(bigfleet_shard_cycle_duration_seconds_bucket[5m])))" }}
        value={<Seconds v={now.cycleP99Seconds || null} why="No cycle was measured yet" />}
        note={<span data-tip="Warns from 1 s, danger from 5 s">p50 <Seconds v={now.cycleP50Seconds || null} /></span>}
        tone={p99Tone(now.cycleP99Seconds)}
      >
        <Sparkline points={course.column("cycleP99Seconds")} label="Cycle p99" format={format.seconds} />
      </Tile>
      <RegretTile regret={now.regret} course={course} />
      <Tile title="Forecasts" source={{ route: "/eta" }} value={<Percent v={typeof now.calibration === "number" ? now.calibration : null} why="Not enough forecasts have come due yet" />} note="kept by their p80" />
    </div>
  );
}

function Classes({ now }: { now: Overview }) {
  const rows = (now.needsByClass ?? []).filter((row) => NEED_STATES.some((state) => row[state] > 0));
  if (rows.length === 0 && now.rebuilding) return <Empty title="Not known yet" height={90}><p>Demand appears with the next roll-up of each cluster.</p></Empty>;
  if (rows.length === 0) return <Empty title="No demand" height={90}><p>A cluster's first roll-up makes its priority classes appear here.</p></Empty>;
  return (
    <ul className="class-rows">
      {rows.map((row) => {
        const worst = row.short > 0 ? "short" : row.blocked > 0 ? "blocked" : row.arriving > 0 ? "arriving" : "met";
        return (
          <li key={row.priorityClass} className="class-row">
            <Link to={linkTo("/needs", { priority: row.priorityClass })}><bdi>{row.priorityClass}</bdi></Link>
            <PartsBar label={`Needs of ${row.priorityClass}`} parts={NEED_STATES.map((state) => ({ name: state, value: row[state], colour: needColour(state) }))} />
            <Pill tone={needTone(worst)} tip={NEED_STATES.map((state) => `${state} ${format.count(row[state])}`).join(", ")}>{format.count(row[worst])} {worst}</Pill>
          </li>
        );
      })}
    </ul>
  );
}

function States({ now }: { now: Overview }) {
  return (
    <div className="states">
      <PartsBar label="Machines by state" parts={MACHINE_STATES.map((state) => ({ name: state, value: now.machinesByState[state] ?? 0, colour: stateColour(state) }))} />
      <ul className="state-list">
        {MACHINE_STATES.map((state) => (
          <li key={state}>
            <Link to={linkTo("/machines", { filter: `state=${state}` })}>
              <span className="swatch" style={{ background: stateColour(state) }} />
              {state}
              <b><Count v={now.machinesByState[state] ?? 0} unit="machines" /></b>
            </Link>
          </li>
        ))}
      </ul>
    </div>
  );
}

function Pods({ now }: { now: Overview }) {
  const rows = Object.entries(now.pods?.byCluster ?? {}).sort(([a], [b]) => a.localeCompare(b));
  return (
    <ul className="class-rows">
      {rows.map(([cluster, pods]) => (
        <li key={cluster} className="class-row">
          <Link to={linkTo(`/clusters/${encodeURIComponent(cluster)}`)}><bdi>{cluster}</bdi></Link>
          <PartsBar
            label={`Pods of ${cluster}`}
            parts={[
              { name: "running", value: pods.running, colour: needColour("met") },
              { name: "waiting", value: pods.waiting - pods.stuck, colour: needColour("arriving") },
              { name: "stuck", value: pods.stuck, colour: needColour("short") },
            ]}
          />
          <Pill tone={pods.stuck > 0 ? "danger" : pods.waiting > 0 ? "info" : "good"}>
            {format.count(pods.running)} run{pods.waiting > 0 ? `, ${format.count(pods.waiting)} wait` : ""}
          </Pill>
        </li>
      ))}
    </ul>
  );
}

/**
 * A board with a fixed number of places, so that a new decision moves nothing on the page. It stands
 * still while someone points at it or moves through it with the keyboard: a link must not become
 * another one under the finger.
 */
function LastDecisions({ known }: { known: readonly Decision[] }) {
  const live = useStore(decisions);
  const newest = withRows(known, live).slice(0, DECISIONS_SHOWN);
  const [held, setHeld] = useState<readonly Decision[] | null>(null);
  const rows = held ?? newest;
  if (rows.length === 0) return <Empty title="Nothing decided yet" height={DECISIONS_SHOWN * 46}><p>A decision appears when a cluster's demand or the fleet changes.</p></Empty>;
  const hold = (): void => setHeld((before) => before ?? newest);
  const release = (): void => setHeld(null);
  const isWithin = (event: FocusEvent<HTMLElement>): boolean => event.currentTarget.contains(event.relatedTarget);
  return (
    <ol className="feed" onPointerEnter={hold} onPointerLeave={release} onFocus={hold} onBlur={(event) => { if (!isWithin(event)) release(); }}>
      {rows.map((row, place) => (
        <li key={place}>
          <span className="when"><Ago nanos={row.atUnixNanos} /></span>
          <Link className="sentence" to={linkTo("/decisions", { decision: decisionKey(row) })} data-tip={sentenceOf(row)}><bdi>{sentenceOf(row)}</bdi></Link>
          <span className="more">{row.deltaHourlyCost ? <span data-tip={`$${format.precise(row.deltaHourlyCost)} an hour`}>{row.deltaHourlyCost > 0 ? "+" : ""}{format.perHour(row.deltaHourlyCost)}</span> : null}<Pill>{row.kind}</Pill></span>
        </li>
      ))}
    </ol>
  );
}

function DecisionsCard() {
  const version = useStore(resets);
  const loaded = useApi<{ decisions: Decision[] }>("/decisions", { limit: DECISIONS_SHOWN }, { version });
  return (
    <Card
      title="Last decisions"
      source={{ route: "/decisions?limit=10", command: "bigfleet why cluster/NAME" }}
      actions={<Link to={linkTo("/decisions")}>All decisions</Link>}
      flush
    >
      <View of={loaded} height={DECISIONS_SHOWN * 46} lines={8}>{(data) => <LastDecisions known={data.decisions} />}</View>
    </Card>
  );
}

/** A chart over time: of the server's history and of this visit. One that has no history yet is not empty. */
function Samples({ of, course, height, children }: { of: Loaded<History>; course: Course; height: number; children: ReactNode }) {
  if (course.times.length >= 2) return children;
  return <View of={of} height={height}>{() => <Empty title="No samples yet" height={height}><p>The chart fills as cycles are decided.</p></Empty>}</View>;
}

function MachinesChart({ course }: { course: Course }) {
  useStore(shown);
  // All of them, also those that no machine is in now: a legend that grows would move the page.
  const series: Series[] = MACHINE_STATES.filter((state) => state !== "Speculative")
    .map((state) => ({ label: state, colour: stateColour(state), points: course.column(`machines.${state}`) }));
  return (
    <>
      <Chart label="Machines by state" times={course.times} series={series} format={format.short} height={180} stacked />
      <Legend series={series} format={format.count} />
    </>
  );
}

function CostChart({ course }: { course: Course }) {
  useStore(shown);
  const series: Series[] = [
    { label: "Billed", colour: categorical(0), points: course.column("dollarsPerHour") },
    { label: "Idle", colour: categorical(1), points: course.column("idleDollarsPerHour") },
  ];
  return (
    <>
      <Chart label="Cost" times={course.times} series={series} format={format.perHour} height={160} />
      <Legend series={series} format={format.perHour} />
    </>
  );
}

function warningsOf(now: Overview): string[] {
  const down = now.shardsDown ?? [];
  return [...(now.warnings ?? []), ...(down.length > 0 ? [`Not answering: ${down.join(", ")}. Their machines and Needs are missing here.`] : [])];
}

/** In the place of the tiles: as high as they will be, or why they do not come. */
function WaitingTiles({ of }: { of: Loaded<Overview> }) {
  if (of.error) return <Card title="The fleet now" source={{ route: "/fleet/overview", command: "bigfleet status" }}><View of={of}>{() => null}</View></Card>;
  return <div className="tiles"><LoadingTiles count={TILES} /></div>;
}

/** A part of the overview; what went wrong with it is said once, in the place of the tiles. */
function Told({ now, of, height, children }: { now: Overview | undefined; of: Loaded<Overview>; height: number; children: (now: Overview) => ReactNode }) {
  if (now) return children(now);
  return of.error ? <p className="unknown">unknown</p> : <Loading height={height} />;
}

export default function OverviewPage() {
  const version = useStore(resets);
  const live = useStore(overview);
  const seen = useStore(samples);
  const [range, setRange] = useQueryState("range", "15m");
  const chosen = RANGES[range as Range] ?? RANGES["15m"];
  const first = useApi<Overview>("/fleet/overview", {}, { version });
  const history = useApi<History>("/fleet/history", { duration: `${chosen.span}s`, step: `${chosen.step}s` }, { version, every: chosen.span > 3600 ? 300_000 : undefined });
  const now = live ?? first.data;
  const course = useMemo(() => courseOf(history.data, seen, chosen.step, chosen.span), [history.data, seen, chosen]);
  const sentence = now?.sentence;
  useEffect(() => {
    if (sentence) announce(sentence);
  }, [sentence]);

  const chartRange = <Segmented label="Time range" options={(Object.keys(RANGES) as Range[]).map((value) => ({ value, text: RANGES[value].text }))} value={range as Range} onChange={setRange} />;
  return (
    <div className="overview">
      <div className="status-line">
        <span className={`status-dot ${now ? toneOf(now) : "neutral"}`} aria-hidden="true" />
        <h1>{now ? (now.sentence ?? `${format.plural(now.machines, "machine")} in ${format.plural(now.shards, "shard")}`) : first.error ? "The state of the fleet is unknown" : "Overview"}</h1>
      </div>
      {now?.rebuilding && <Rebuilding />}
      {now && <Partial warnings={warningsOf(now)} />}
      <Rails pauses={now?.pauses ?? []} />
      {now ? <Tiles now={now} course={course} /> : <WaitingTiles of={first} />}
      <div className="columns">
        <div>
          <Card title="Machines in use over time" source={{ route: "/fleet/history", promql: "sum by (state) (bigfleet_shard_inventory_machines)" }} actions={chartRange}><Samples of={history} course={course} height={230}><MachinesChart course={course} /></Samples></Card>
          <ActionsCard live={now?.actionsPerMinute} duration={`${chosen.span}s`} step={`${Math.max(15, chosen.step)}s`} />
          <DecisionsCard />
        </div>
        <div>
          <Card title="Findings" source={{ route: "/fleet/overview,/thrash", command: "bigfleet status" }} actions={<><Link to={linkTo("/whatif")}>What if a zone is lost</Link><span className="dim">·</span><Link to={linkTo("/topology")}>Pauses</Link></>}><Told now={now} of={first} height={60}>{(told) => <Findings now={told} />}</Told></Card>
          <Card title="Demand by priority class" source={{ route: "/fleet/overview,/needs", command: "bigfleet needs" }}><Told now={now} of={first} height={90}>{(told) => <Classes now={told} />}</Told></Card>
          <Card title="Machines by state" source={{ route: "/fleet/overview,/machines", command: "bigfleet machines" }} actions={now && <span className="dim">{format.plural(now.machines, "machine")}</span>}><Told now={now} of={first} height={140}>{(told) => <States now={told} />}</Told></Card>
          {now?.pods && now.pods.running !== null && <Card title="Pods" source={{ route: "/clusters", command: "bigfleet clusters" }} actions={<span className="dim">{format.count(now.pods.running)} run, {format.count(now.pods.waiting ?? 0)} wait{now.pods.unreportedClusters > 0 ? `; ${format.plural(now.pods.unreportedClusters, "cluster")} not counted` : ""}</span>}><Pods now={now} /></Card>}
          <Card title="Cost over time" source={{ route: "/fleet/history" }}><Samples of={history} course={course} height={182}><CostChart course={course} /></Samples></Card>
        </div>
      </div>
    </div>
  );
}
