// One shard: what it has, how long its cycles and their parts take, and how it went lately.
import { useApi } from "../../core/api";
import * as format from "../../core/format";
import { useResets } from "../../core/live";
import { categorical, shown } from "../../core/palette";
import { linkTo } from "../../core/router";
import { useStore } from "../../core/store";
import { Link, Pill, StateMark } from "../../ui/basics";
import { Card } from "../../ui/card";
import { Chart } from "../../ui/charts";
import { Empty, View } from "../../ui/states";
import { Count, Seconds } from "../../ui/values";

interface Shard {
  pod: string;
  cycleP99Seconds: number;
  cycleP99ByPhaseSeconds: Record<string, number>;
  machinesByState: Record<string, number>;
  machinesByCapacityType: Record<string, number>;
  occCommittedPerSec: number;
  occConflictPerSec: number;
  ratesKnown?: boolean;
  cycle: number;
  epoch: number;
  machines: number;
  shortfalls: number;
  activeSessions: number;
}

function Conflicts({ shard }: { shard: Shard }) {
  const all = shard.occCommittedPerSec + shard.occConflictPerSec;
  if (shard.ratesKnown === false || all <= 0) return <span className="unknown" data-tip="A share needs actions between two looks">unknown</span>;
  const share = shard.occConflictPerSec / all;
  return <Pill tone={share >= 0.3 ? "danger" : share >= 0.15 ? "warn" : "good"} tip="Warns from 15 %, danger from 30 %">{format.percent(share)}</Pill>;
}

export function ShardPage({ id }: { id: string }) {
  const version = useResets();
  useStore(shown);
  const loaded = useApi<Shard>(`/shards/${encodeURIComponent(id)}`, {}, { version, every: 3_000 });
  const trends = useApi<{ timestamps: number[]; cycleP99Seconds: (number | null)[] }>(`/shards/${encodeURIComponent(id)}/trends`, { duration: "15m", step: "10s" }, { version, every: 10_000 });
  return (
    <div className="topology stack">
      <div className="page-head"><h1><Link to={linkTo("/topology")}>Topology</Link> <span className="dim">/</span> <bdi>{id}</bdi></h1></div>
      <div className="topology-columns">
        <div>
          <Card title="Now" source={{ route: `/shards/${id}`, command: "bigfleet status" }}>
            <View of={loaded} height={180}>
              {(shard) => (
                <dl className="topology-facts">
                  <div><dt>Cycle</dt><dd><Count v={shard.cycle} /> <span className="dim">of epoch {format.count(shard.epoch)}</span></dd></div>
                  <div><dt>Machines</dt><dd><Count v={shard.machines} /></dd></div>
                  <div><dt>Clusters connected</dt><dd><Count v={shard.activeSessions} /></dd></div>
                  <div><dt>Shortfalls</dt><dd className={shard.shortfalls > 0 ? "topology-bad" : ""}><Count v={shard.shortfalls} /></dd></div>
                  <div><dt>Cycle p99</dt><dd><Seconds v={shard.cycleP99Seconds || null} why="No cycle was measured yet" /></dd></div>
                  <div><dt>Actions that met a newer state</dt><dd><Conflicts shard={shard} /></dd></div>
                </dl>
              )}
            </View>
          </Card>
          <Card title="Parts of a cycle, p99" source={{ route: `/shards/${id}`, promql: "histogram_quantile(0.99, sum by (le, phase) (rate(bigfleet_shard_cycle_phase_duration_seconds_bucket[5m])))" }}>
            <View of={loaded} height={120} empty={(shard) => (Object.keys(shard.cycleP99ByPhaseSeconds).length === 0 ? <Empty title="No cycle was measured yet" height={60} /> : null)}>
              {(shard) => <dl className="topology-facts">{Object.entries(shard.cycleP99ByPhaseSeconds).map(([phase, seconds]) => <div key={phase}><dt><bdi>{phase}</bdi></dt><dd><Seconds v={seconds} /></dd></div>)}</dl>}
            </View>
          </Card>
        </div>
        <div>
          <Card title="Cycle p99 over 15 minutes" source={{ route: `/shards/${id}/trends` }}>
            <View of={trends} height={180} empty={(told) => (told.timestamps.length < 2 ? <Empty title="No samples yet" height={150}><p>The chart fills as cycles are decided.</p></Empty> : null)}>
              {(told) => <Chart label="Cycle p99" times={told.timestamps} series={[{ label: "p99", colour: categorical(0), points: told.cycleP99Seconds }]} format={format.seconds} height={170} />}
            </View>
          </Card>
          <Card title="Its machines" source={{ route: `/shards/${id}`, command: "bigfleet machines" }}>
            <View of={loaded} height={140}>
              {(shard) => (
                <dl className="topology-facts">
                  {Object.entries(shard.machinesByState).map(([state, n]) => <div key={state}><dt><StateMark state={state} /></dt><dd>{format.count(n)}</dd></div>)}
                  {Object.entries(shard.machinesByCapacityType).map(([kind, n]) => <div key={kind}><dt><bdi>{kind}</bdi></dt><dd>{format.count(n)}</dd></div>)}
                </dl>
              )}
            </View>
          </Card>
        </div>
      </div>
    </div>
  );
}
