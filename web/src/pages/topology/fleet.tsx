// The coordinator, every shard with its providers, and pauses, back-offs, transfers, quotas and the verifier.
import { useApi } from "../../core/api";
import * as format from "../../core/format";
import { useResets } from "../../core/live";
import { pauseId, pauseOwner, pauseReason, scopeText } from "../../core/pauses";
import { resourcesText } from "../../core/quantity";
import { linkTo, objectPath } from "../../core/router";
import { useNow } from "../../core/time";
import type { Pause, ShardStatus } from "../../core/types";
import { Command, Link, Pill } from "../../ui/basics";
import { Card } from "../../ui/card";
import { Prose } from "../../ui/prose";
import { Empty, Loading, View } from "../../ui/states";
import { Ago, Count, Name, PerHour, Seconds } from "../../ui/values";
import { type ProviderCalls, wordsOfCalls } from "./calls";
import { heartbeatTone } from "./heartbeat";
import { Offerings } from "./offerings";
import { Reserved } from "./reserved";

const EVERY = 3_000;
const LISTED = 200;
/** Of a shard with one provider. */
const SHARD_HEIGHT = 140;

interface Topology {
  coordinator: { raftTerm: number; pendingInstructionsTotal: number; replicaId?: string; isLeader?: boolean; leaderAddress?: string; storeRevision?: number; openTransfers?: number };
  shards: { shardId: string; address: string; registeredAtUnixSec: number; lastHeartbeatUnixSec: number; pendingInstructions: number }[];
  domainAssignments: { topologyKey: string; topologyValue: string; shardId: string }[];
}
interface Provider {
  name: string;
  address?: string;
  region?: string;
  breakerOpen?: boolean;
  lastListUnixNanos?: number;
  lastError?: string;
  machines?: number;
  calls?: ProviderCalls;
}
interface ShardLine {
  pod: string;
  cycleP99Seconds: number;
  machines: number;
  shortfalls: number;
  activeSessions: number;
}

function useLive<T>(path: string, query = {}) {
  return useApi<T>(path, query, { version: useResets(), every: EVERY });
}

function Heartbeat({ seconds }: { seconds: number }) {
  const now = useNow();
  if (seconds <= 0) return <Pill tip="The coordinator has not heard of it yet">never heard</Pill>;
  return <Pill tone={heartbeatTone(seconds, now)} tip={`${format.utc(seconds * 1000)}; amber from 30 s, red from 60 s`}>heard {format.relative(seconds * 1000, now)}</Pill>;
}

function Coordinator() {
  const loaded = useLive<Topology>("/topology");
  return (
    <Card title="Coordinator" source={{ route: "/topology", command: "bigfleet status" }}>
      <View of={loaded} height={146}>
        {({ coordinator, shards }) => (
          <dl className="topology-facts">
            <div><dt>Term</dt><dd><Count v={coordinator.raftTerm} /></dd></div>
            <div><dt>Leader</dt><dd>{coordinator.leaderAddress ? <Name>{coordinator.leaderAddress}</Name> : <span className="unknown">unknown</span>}{coordinator.replicaId && <span className="dim"> ({coordinator.isLeader ? "" : "told by "}<bdi>{coordinator.replicaId}</bdi>)</span>}</dd></div>
            <div><dt>Shards</dt><dd><Count v={shards.length} /></dd></div>
            <div><dt>Instructions that wait</dt><dd><Count v={coordinator.pendingInstructionsTotal} /></dd></div>
            <div><dt>Open transfers</dt><dd><Count v={coordinator.openTransfers} why="The leader does not tell" /></dd></div>
            <div><dt>Changes of its store</dt><dd><Count v={coordinator.storeRevision} why="The leader does not tell" /></dd></div>
          </dl>
        )}
      </View>
    </Card>
  );
}

/** Create, Configure, Drain, Delete and Get; Lists are told by their age. */
function Calls({ calls }: { calls: ProviderCalls | undefined }) {
  const told = wordsOfCalls(calls);
  if (!told) return <span className="topology-calls">Calls: <span className="unknown" data-tip="None has ended within the last 5 minutes">unknown</span></span>;
  return (
    <span className="topology-calls">
      Calls: {told.latency ?? <span className="unknown" data-tip="All of them failed">latency unknown</span>}{" "}
      <Pill tone={told.tone} tip={`${told.window}; amber from 5 %, red from 25 %`}>{told.errors}</Pill>{" "}
      <span className="dim">{told.window}</span>
    </span>
  );
}

function Providers({ status }: { status: ShardStatus | undefined }) {
  const providers = (status?.providers ?? []) as Provider[];
  if (providers.length === 0) return <p className="dim">{status ? "No provider" : "It does not answer: its providers are unknown"}</p>;
  return (
    <ul className="topology-providers">
      {providers.map((each) => (
        <li key={each.name}>
          <Name>{each.name}</Name>
          <Pill tone={each.breakerOpen ? "danger" : each.lastError ? "warn" : "good"}>{each.breakerOpen ? "not called: it failed too often" : each.lastError ? "last call failed" : "answers"}</Pill>
          <span className="dim">{format.plural(each.machines ?? 0, "machine")}, listed <Ago nanos={each.lastListUnixNanos} /></span>
          <Calls calls={each.calls} />
          {each.lastError && <span className="topology-bad"><bdi>{each.lastError}</bdi></span>}
        </li>
      ))}
    </ul>
  );
}

function Shards() {
  const lines = useLive<{ shards: ShardLine[] }>("/shards");
  const topology = useLive<Topology>("/topology");
  const status = useLive<{ shards: ShardStatus[] }>("/status");
  return (
    <Card title="Shards" source={{ route: "/shards,/topology,/status", command: "bigfleet status" }} flush>
      <View of={lines} height={SHARD_HEIGHT} empty={(data) => (data.shards.length === 0 ? <Empty title="No shard answers" height={90}><p>A shard appears when it registers: <code>bigfleet shard --coordinator ADDRESS</code></p></Empty> : null)}>
        {(data) => {
          // Else each would be said to be silent until the other answers are there.
          const isWhole = (topology.data ?? topology.error) && (status.data ?? status.error);
          if (!isWhole) return <Loading height={SHARD_HEIGHT} />;
          const silent = (topology.data?.shards ?? []).filter((entry) => !data.shards.some((line) => line.pod === entry.shardId));
          return (
            <ul className="topology-shards">
              {data.shards.map((line) => {
                const entry = topology.data?.shards.find((each) => each.shardId === line.pod);
                const own = status.data?.shards.find((each) => each.shardId === line.pod);
                const domains = (topology.data?.domainAssignments ?? []).filter((each) => each.shardId === line.pod).length;
                return (
                  <li key={line.pod}>
                    <div className="row">
                      <Link to={linkTo(objectPath("shards", line.pod))}><b><bdi>{line.pod}</bdi></b></Link>
                      {own && <Pill tone={own.ready ? "good" : "danger"} tip={own.notReadyReason || undefined}>{own.ready ? "ready" : "not ready"}</Pill>}
                      {entry && <Heartbeat seconds={entry.lastHeartbeatUnixSec} />}
                      {own?.notReadyReason && <span className="topology-bad"><bdi>{own.notReadyReason}</bdi></span>}
                    </div>
                    <p className="topology-line">
                      <span>{format.plural(line.machines, "machine")}</span>
                      <span>{format.plural(line.activeSessions, "cluster")} connected</span>
                      <span className={line.shortfalls > 0 ? "topology-bad" : ""}>{format.plural(line.shortfalls, "shortfall")}</span>
                      <span>cycle p99 <Seconds v={line.cycleP99Seconds || null} why="No cycle was measured yet" /></span>
                      {topology.data && <span>{domains > 0 ? format.plural(domains, "domain") : "no domain of its own"}</span>}
                      {entry && entry.pendingInstructions > 0 && <span>{format.plural(entry.pendingInstructions, "instruction")} wait</span>}
                    </p>
                    <Providers status={own} />
                  </li>
                );
              })}
              {silent.map((entry) => (
                <li key={entry.shardId}><div className="row"><b><bdi>{entry.shardId}</bdi></b><Pill tone="danger">does not answer</Pill><Heartbeat seconds={entry.lastHeartbeatUnixSec} /><Name dim>{entry.address}</Name></div></li>
              ))}
            </ul>
          );
        }}
      </View>
    </Card>
  );
}

function Ends({ nanos }: { nanos: number | undefined }) {
  const now = useNow();
  if (!nanos) return <>until resumed</>;
  return <time data-tip={format.utcOfNanos(nanos)}>ends {format.relative(nanos / 1e6, now)}</time>;
}

function Pauses() {
  const loaded = useLive<{ pauses: Pause[]; dryRunShardIds: string[] }>("/pauses");
  return (
    <Card title="Pauses" source={{ route: "/pauses", command: "bigfleet pause list", promql: "bigfleet_shard_pauses_active" }} flush>
      <View of={loaded} height={94} empty={(data) => (data.pauses.length === 0 && data.dryRunShardIds.length === 0 ? <Empty title="Nothing is paused" height={94}><p>A pause names who set it, why and until when: <code>bigfleet pause --ttl 1h --reason WHY</code></p></Empty> : null)}>
        {(data) => (
          <ul className="topology-rows">
            {data.dryRunShardIds.map((id) => <li key={id}><Pill tone="warn">dry run</Pill><span className="topology-main"><bdi>{id}</bdi> decides and starts nothing</span></li>)}
            {data.pauses.map((pause, index) => (
              <li key={pauseId(pause) || index}>
                <Pill tone="warn">paused</Pill>
                <span className="topology-main"><bdi>{scopeText(pause)}</bdi><span className="topology-sub"><bdi>{pauseReason(pause) || "no reason given"}</bdi>, by <bdi>{pauseOwner(pause) || "unknown"}</bdi>, <Ends nanos={pause.expiresUnixNanos} /></span></span>
                <Command text={`bigfleet resume ${pauseId(pause)} --reason WHY`} />
              </li>
            ))}
          </ul>
        )}
      </View>
    </Card>
  );
}

function Quarantines() {
  const loaded = useLive<{ quarantines: { kind: string; subject: string; what?: string; sinceUnixNanos?: number }[] }>("/quarantines");
  return (
    <Card title="Quarantines" source={{ route: "/quarantines", command: "bigfleet quarantines" }} flush>
      <View of={loaded} height={94} empty={(data) => (data.quarantines.length === 0 ? <Empty title="None" height={94}><p>A List or roll-up that looks wrong is held here and not believed.</p></Empty> : null)}>
        {(data) => <ul className="topology-rows">{data.quarantines.map((each) => <li key={each.kind + each.subject}><Pill tone="danger">{format.enumWord(each.kind, "QUARANTINE_KIND_")}</Pill><span className="topology-main"><Name>{each.subject}</Name><span className="topology-sub"><Prose text={each.what ?? ""} /></span></span><span className="topology-end"><Ago nanos={each.sinceUnixNanos} /></span></li>)}</ul>}
      </View>
    </Card>
  );
}

interface Transfer { transferId: string; fromShardId: string; toShardId: string; machineIds?: string[]; state: string; reason?: string; updatedUnixNanos?: number }

function Transfers() {
  const loaded = useLive<{ transfers: Transfer[] }>("/transfers");
  return (
    <Card title="Machines on their way between shards" source={{ route: "/transfers" }} flush>
      <View of={loaded} height={94} empty={(data) => (data.transfers.length === 0 ? <Empty title="None" height={94}><p>The coordinator moves machines when one shard is short and another has them free.</p></Empty> : null)}>
        {(data) => <ul className="topology-rows">{data.transfers.slice(0, LISTED).map((each) => <li key={each.transferId}><Pill tone="info">{format.enumWord(each.state, "TRANSFER_STATE_")}</Pill><span className="topology-main"><Name>{each.fromShardId}</Name> → <Name>{each.toShardId}</Name>, {format.plural(each.machineIds?.length ?? 0, "machine")}<span className="topology-sub"><bdi>{each.reason}</bdi></span></span><span className="topology-end"><Ago nanos={each.updatedUnixNanos} /></span></li>)}</ul>}
      </View>
    </Card>
  );
}

interface Shortfall { shardId: string; profileFingerprint: string; deficit?: { resources?: Record<string, string> }; priority?: number; ageCycles?: number; reason?: { code: string; text: string }; transferId?: string; sweptUnixNanos?: number }
interface ShortfallList { shortfalls: Shortfall[]; total: number; unknownShardIds: string[] }

function ShortfallRow({ of }: { of: Shortfall }) {
  return (
    <li>
      <Pill tone={of.transferId ? "info" : "warn"} tip={of.reason?.code}>{of.transferId ? "helped" : "short"}</Pill>
      <span className="topology-main">
        <Link to={linkTo(objectPath("shards", of.shardId))}><Name>{of.shardId}</Name></Link> needs <bdi>{resourcesText(of.deficit?.resources)}</bdi>, <span className="dim">priority {format.count(of.priority ?? 0)}, for {format.plural(of.ageCycles ?? 0, "cycle")}</span>
        <span className="topology-sub"><bdi>{of.reason?.text || "no reason is told"}</bdi></span>
      </span>
      <span className="topology-end">{of.sweptUnixNanos ? <>looked at <Ago nanos={of.sweptUnixNanos} /></> : "not looked at yet"}</span>
    </li>
  );
}

function Shortfalls() {
  const loaded = useLive<ShortfallList>("/shortfalls");
  return (
    <Card title="What shards are short of, and why no other helps" source={{ route: "/shortfalls", command: "bigfleet shards shortfalls", promql: "bigfleet_coordinator_rebalance_blocked" }} flush>
      <View of={loaded} height={70} empty={(data) => (data.total === 0 && data.unknownShardIds.length === 0 ? <Empty title="No shard is short" height={60}><p>What a shard has no machines for stands here, and why no other shard gives it any.</p></Empty> : null)}>
        {(data) => (
          <ul className="topology-rows">
            {data.shortfalls.map((each) => <ShortfallRow key={`${each.shardId}/${each.profileFingerprint}`} of={each} />)}
            {data.total > data.shortfalls.length && <li className="dim">{format.count(data.shortfalls.length)} of {format.count(data.total)} shown, the most urgent</li>}
            {data.unknownShardIds.map((id) => <li key={`unknown/${id}`}><Pill>unknown</Pill><span className="topology-main"><Name>{id}</Name><span className="topology-sub">It has told this coordinator nothing since it leads</span></span></li>)}
          </ul>
        )}
      </View>
    </Card>
  );
}

function Quotas() {
  const loaded = useLive<{ quotas: { provider: string; region?: string; total?: number; perShard?: Record<string, number>; inUse?: Record<string, number> }[] }>("/quotas");
  return (
    <Card title="Quotas" source={{ route: "/quotas", command: "bigfleet quotas" }} flush>
      <View of={loaded} height={94} empty={(data) => (data.quotas.length === 0 ? <Empty title="No quota is set" height={94}><p>A quota limits what shards together buy of a provider.</p></Empty> : null)}>
        {(data) => <ul className="topology-rows">{data.quotas.map((each) => <li key={`${each.provider}/${each.region}`}><span className="topology-main"><Name>{each.provider}</Name> <span className="dim"><bdi>{each.region}</bdi></span><span className="topology-sub"><bdi>{Object.entries(each.perShard ?? {}).map(([shard, most]) => `${shard}: ${format.count(each.inUse?.[shard] ?? 0)} of ${format.count(most)}`).join(", ")}</bdi></span></span><span className="topology-end">{format.count(each.total)} in all</span></li>)}</ul>}
      </View>
    </Card>
  );
}

interface Verifier { shardId?: string; enabled?: boolean; policy?: { freezeWindows?: unknown[]; spendCeiling?: number; reclaimZoneFraction?: number }; openFreezes?: unknown[]; spendPerHour?: number; incidents?: number; vetoes?: Record<string, number>; error?: string }

function Verifiers() {
  const loaded = useLive<{ verifiers: Verifier[] }>("/verifier");
  return (
    <Card title="Verifier" source={{ route: "/verifier", command: "bigfleet reports verifier" }} flush>
      <View of={loaded} height={90} empty={(data) => (data.verifiers.length === 0 ? <Empty title="No shard tells its policy" height={94} /> : null)}>
        {(data) => (
          <ul className="topology-rows">
            {data.verifiers.map((each, index) => (
              <li key={each.shardId ?? index}>
                <Pill tone={each.enabled ? ((each.incidents ?? 0) > 0 || each.error ? "danger" : "good") : "warn"}>{each.enabled ? "on" : "off"}</Pill>
                <span className="topology-main"><Name>{each.shardId ?? "unknown"}</Name><span className="topology-sub">
                  {(each.policy?.spendCeiling ?? 0) > 0 ? <>spends <PerHour v={each.spendPerHour} /> of at most <PerHour v={each.policy?.spendCeiling} /></> : "no ceiling of spending"}
                  {each.policy?.reclaimZoneFraction ? `; reclaims at most ${format.percent(each.policy.reclaimZoneFraction)} of a zone` : ""}
                  ; {format.plural(each.policy?.freezeWindows?.length ?? 0, "freeze window")}, {format.count(each.openFreezes?.length ?? 0)} open; vetoes: {Object.entries(each.vetoes ?? {}).map(([rule, times]) => `${rule} ${format.count(times)}`).join(", ") || "none"}
                  {each.error && <span className="topology-bad"> <bdi>{each.error}</bdi></span>}
                </span></span>
                <span className="topology-end">{format.plural(each.incidents ?? 0, "incident")}</span>
              </li>
            ))}
          </ul>
        )}
      </View>
    </Card>
  );
}

function Domains() {
  const loaded = useLive<Topology>("/topology");
  return (
    <Card title="Who owns which domain" source={{ route: "/topology" }} flush>
      <View of={loaded} height={94} empty={(data) => (data.domainAssignments.length === 0 ? <Empty title="No domain is assigned" height={94}><p>With several shards, each topology domain belongs to one of them.</p></Empty> : null)}>
        {(data) => <ul className="topology-rows">{data.domainAssignments.slice(0, LISTED).map((each) => <li key={each.topologyKey + each.topologyValue}><span className="topology-main"><Name>{`${each.topologyKey}=${each.topologyValue}`}</Name></span><Link to={linkTo(objectPath("shards", each.shardId))}><Name>{each.shardId}</Name></Link></li>)}{data.domainAssignments.length > LISTED && <li className="dim">{format.count(LISTED)} of {format.count(data.domainAssignments.length)} shown</li>}</ul>}
      </View>
    </Card>
  );
}

export function TopologyOverview() {
  return (
    <div className="topology stack">
      <div className="page-head"><h1>Topology</h1></div>
      <div className="topology-columns">
        {/* What grows and shrinks by itself comes last: nothing that is read is pushed away. */}
        <div><Coordinator /><Shards /><Domains /><Shortfalls /><Offerings /></div>
        <div><Pauses /><Quarantines /><Transfers /><Quotas /><Verifiers /><Reserved /></div>
      </div>
    </div>
  );
}
