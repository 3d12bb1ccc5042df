// One cluster: what it asks for, what it has, what waits, and what was done to it.
import { useApi } from "../../core/api";
import { decisionKey, sentenceOf } from "../../core/decisions";
import * as format from "../../core/format";
import { useResets } from "../../core/live";
import { shown } from "../../core/palette";
import { resourcesText } from "../../core/quantity";
import { askedAt } from "../../core/moments";
import { linkTo, objectPath, useMoment } from "../../core/router";
import { useStore } from "../../core/store";
import type { Decision } from "../../core/types";
import { Link, NeedStatePill, Pill, StateMark } from "../../ui/basics";
import { Card, Tile } from "../../ui/card";
import { Icon } from "../../ui/icons";
import { Prose } from "../../ui/prose";
import { Empty, Partial, View } from "../../ui/states";
import { Age, Ago, Count, Money, Name, Percent, PerHour } from "../../ui/values";
import { capacityOf, idOf, type MachineRow, sinceOf, stateOf } from "../machines/rows";
import { fateOf } from "../decisions/feed";
import { firstReason, groupText } from "../needs/shapes";
import type { NeedList } from "../needs/types";
import { type Invoices, newestOf } from "../costs/invoices";
import { Marks, needsText, NeedsBar, nodesText, podsText } from "./parts";
import { PauseButton, PauseStrip } from "./pause";
import { marksOf, metShare, rollupQuarantine, worstOf } from "./standing";
import type { Cluster, ClusterDetail, Quarantine } from "./types";

const EVERY = 3_000;
const NEEDS_SHOWN = 50;
const MACHINES_SHOWN = 12;
/** Most of them may have been held back: only what was started is shown. */
const DECISIONS_ASKED = 200;
const DECISIONS_SHOWN = 8;
const started = (rows: readonly Decision[]): readonly Decision[] => rows.filter((row) => fateOf(row) !== "stopped").slice(0, DECISIONS_SHOWN);

function Tiles({ cluster }: { cluster: Cluster }) {
  const worst = worstOf(cluster);
  const { main, sub, bad } = podsText(cluster);
  const nodes = nodesText(cluster);
  const told = useApi<Invoices>("/invoices", { limit: 1 }, { version: useResets(), every: 5 * EVERY }).data;
  const month = newestOf(told, cluster.id);
  const notPlaced = cluster.session?.report?.podsCoveredNotPlaced;
  return (
    <div className="clusters-tiles one">
      <Tile title="Needs met" source={{ route: "/clusters/{id}", command: `bigfleet needs --cluster ${cluster.id}` }} value={<Percent v={metShare(cluster)} why={cluster.needs ? "It asks for nothing" : "Its shard does not tell"} digits={0} />} note={needsText(cluster.needs)} tone={worst === "short" ? "danger" : worst === "blocked" ? "warn" : ""}><NeedsBar cluster={cluster} /></Tile>
      <Tile title="Pods" value={<span className="clusters-words">{main}</span>} note={sub} tone={bad ? "warn" : ""} />
      <Tile title="Covered, not placed" value={<Count v={notPlaced} why={cluster.error ?? "Its operator does not report it"} unit="pods" />} note="their machines are there" tone={(notPlaced ?? 0) > 0 ? "warn" : ""} />
      <Tile title="Nodes" value={<span className={`clusters-words ${nodes.main === "unknown" ? "unknown" : ""}`}>{nodes.main}</span>} note={nodes.sub || "none missing, none to come"} />
      <Tile title="Machines it has" value={<Count v={cluster.machines} why={cluster.error} unit="machines" />} note={<Link to={linkTo("/machines", { filter: `cluster=${cluster.id}` })}>list them</Link>} />
      <Tile title="Cost" value={<PerHour v={cluster.dollarsPerHour} why={cluster.error} />} note="billed now" />
      <Tile title="Caused" source={{ route: "/invoices", command: "bigfleet reports invoices" }} value={<Money v={month?.causedDollars ?? (told ? 0 : null)} why="No answer yet" />} note={month ? `declared in ${month.month}, ${format.money(month.causedDollars - month.ownDollars)} of it for machines of others` : "no machine was taken for it"} />
      <Tile title="Borne" source={{ route: "/invoices", command: "bigfleet reports invoices" }} value={<Money v={month?.borneDollars ?? (told ? 0 : null)} why="No answer yet" />} note={month ? `declared in ${month.month}, ${format.money(month.borneDollars - month.ownDollars)} of it for others` : "no machine was taken from it"} />
    </div>
  );
}

function NeedsCard({ cluster }: { cluster: Cluster }) {
  const version = useResets();
  const loaded = useApi<NeedList>(cluster.shardId ? "/needs" : null, { shard: cluster.shardId, cluster: cluster.id, limit: NEEDS_SHOWN }, { version, every: EVERY });
  return (
    <Card title="Needs" source={{ route: `/needs?shard=${cluster.shardId ?? "ID"}&cluster=${cluster.id}`, command: `bigfleet needs --cluster ${cluster.id}` }} actions={<Link to={linkTo("/needs", { cluster: cluster.id })}>{loaded.data ? `${format.count(loaded.data.needs.length)} of ${format.count(loaded.data.totalNeeds)} shown: open all` : "Open all"}</Link>} flush>
      <View of={loaded} height={150} empty={(data) => (data.needs.length === 0 ? <Empty title="It asks for nothing" height={90}><p>Its next pod that finds no place makes a Need.</p></Empty> : null)}>
        {(data) => (
          <ul className="clusters-rows">
            {data.needs.map((need) => (
              <li key={need.needId}>
                <NeedStatePill state={need.state} />
                <span className="clusters-main">
                  <Link to={linkTo("/needs", { need: `${cluster.id}/${need.needId}` })}><Name>{need.needId}</Name></Link>
                  {need.group && <span className="dim"> <bdi>{groupText(need.group)}</bdi></span>}
                  <span className="clusters-sub"><bdi>{need.state === "met" ? resourcesText(need.aggregateResources) : (need.reasons?.[0]?.text || firstReason(need))}</bdi></span>
                </span>
                <span className="clusters-end">priority {format.count(need.priority)}<span className="clusters-sub">{format.plural(need.claimedMachineCount, "machine")}, <Age nanos={need.sinceUnixNanos} /></span></span>
              </li>
            ))}
          </ul>
        )}
      </View>
    </Card>
  );
}

function MachinesCard({ cluster }: { cluster: Cluster }) {
  const version = useResets();
  const loaded = useApi<{ total: number; machines: MachineRow[] }>("/machines", { filter: `cluster=${cluster.id}`, limit: MACHINES_SHOWN }, { version, every: 2 * EVERY });
  return (
    <Card title="Machines" source={{ route: `/machines?filter=cluster=${cluster.id}`, command: `bigfleet machines 'cluster=${cluster.id}'` }} actions={<Link to={linkTo("/machines", { filter: `cluster=${cluster.id}` })}>{loaded.data ? `${format.count(loaded.data.machines.length)} of ${format.count(loaded.data.total)} shown: open all` : "Open all"}</Link>} flush>
      <View of={loaded} height={150} empty={(data) => (data.machines.length === 0 ? <Empty title="It has no machine" height={90}><p>Machines come when its Needs are served.</p></Empty> : null)}>
        {(data) => (
          <ul className="clusters-rows">
            {data.machines.map((row) => (
              <li key={idOf(row)}>
                <StateMark state={stateOf(row)} codeOnly />
                <span className="clusters-main"><Link to={linkTo(objectPath("machines", idOf(row)))}><Name>{idOf(row)}</Name></Link><span className="clusters-sub"><bdi>{[row.machine.instanceType, row.machine.zone && `zone ${row.machine.zone}`, capacityOf(row)].filter(Boolean).join(", ")}</bdi></span></span>
                <span className="clusters-end"><PerHour v={row.machine.pricePerHour} />{sinceOf(row) > 0 && <span className="clusters-sub"><Age nanos={sinceOf(row)} /></span>}</span>
              </li>
            ))}
          </ul>
        )}
      </View>
    </Card>
  );
}

function Phases({ title, counts }: { title: string; counts: Readonly<Record<string, number>> | undefined }) {
  const rows = Object.entries(counts ?? {});
  return (
    <div>
      <h3>{title}</h3>
      {rows.length === 0 ? <p className="dim">none</p> : <dl className="clusters-list">{rows.map(([phase, count]) => <div key={phase}><dt><bdi>{phase}</bdi></dt><dd>{format.count(count)}</dd></div>)}</dl>}
    </div>
  );
}

function PhasesCard({ told }: { told: ClusterDetail }) {
  const report = told.cluster.session?.report;
  return (
    <Card title="Requests and nodes" source={{ route: `/clusters/${told.id}` }}>
      {report ? (
        <div className="clusters-phases">
          <Phases title="CapacityRequests" counts={told.capacityRequestsByPhase} />
          <Phases title="UpcomingNodes" counts={told.upcomingNodesByPhase} />
          <Phases title="Nodes" counts={{ Ready: report.nodesReady ?? 0, "Not ready": report.nodesNotReady ?? 0, Missing: report.nodesMissing ?? 0 }} />
        </div>
      ) : <Empty title="Not reported" height={80}><p>{told.cluster.error ?? "Its operator sends no reports."}</p></Empty>}
    </Card>
  );
}

function NotPlacedCard({ cluster }: { cluster: Cluster }) {
  const report = cluster.session?.report;
  const examples = report?.examples ?? [];
  if ((report?.podsCoveredNotPlaced ?? 0) === 0) return null;
  return (
    <Card title="Covered, not placed" source={{ route: `/clusters/${cluster.id}`, command: `bigfleet why pod/${cluster.id}/NAMESPACE/NAME` }} actions={<span className="dim">{format.count(examples.length)} of {format.plural(report?.podsCoveredNotPlaced ?? 0, "pod")} named</span>} flush>
      <ul className="clusters-rows">
        {examples.map((each) => (
          <li key={each.pod}>
            <Icon name="clock" size={14} />
            <span className="clusters-main"><Name>{each.pod}</Name>{each.needId && <> <Link to={linkTo("/needs", { need: `${cluster.id}/${each.needId}` })}><Name>{each.needId}</Name></Link></>}<span className="clusters-sub wrap"><bdi>{each.text || "The scheduler gives no reason"}</bdi></span></span>
          </li>
        ))}
      </ul>
    </Card>
  );
}

interface Hints {
  clusters: { id: string; error?: string; items: { name: string; availableCount: number; availability: string; cost: string; requirements?: string[] }[] }[];
}

function HintsCard({ id }: { id: string }) {
  const loaded = useApi<Hints>("/available-capacity", {}, { every: 15_000 });
  const tone = (word: string) => (word === "High" ? "good" : word === "Medium" ? "info" : word === "Low" ? "warn" : "danger");
  return (
    <Card title="Capacity hints" source={{ route: "/available-capacity" }} flush>
      <View of={loaded} height={80} empty={(data) => {
        const own = data.clusters.find((each) => each.id === id);
        return (own?.items.length ?? 0) === 0 ? <Empty title="No hint for it" height={70}><p>{own?.error ?? "Hints are made from the shapes that it asks for."}</p></Empty> : null;
      }}>
        {(data) => (
          <ul className="clusters-rows">
            {(data.clusters.find((each) => each.id === id)?.items ?? []).map((item) => (
              <li key={item.name}>
                <Pill tone={tone(item.availability)}>{item.availability}</Pill>
                <span className="clusters-main"><Name>{item.name}</Name><span className="clusters-sub"><bdi>{(item.requirements ?? []).join(", ") || "any machine"}</bdi></span></span>
                <span className="clusters-end">{format.count(item.availableCount)} more<span className="clusters-sub"><bdi>{item.cost}</bdi></span></span>
              </li>
            ))}
          </ul>
        )}
      </View>
    </Card>
  );
}

function DisruptionsCard({ id }: { id: string }) {
  const version = useResets();
  const moment = useMoment();
  const loaded = useApi<{ decisions: Decision[] }>("/decisions", { cluster: id, kind: "Preempt,Reclaim", limit: DECISIONS_ASKED, ...askedAt(moment) }, { version, every: EVERY });
  return (
    <Card title="Machines taken from it" source={{ route: `/decisions?cluster=${id}&kind=Preempt,Reclaim`, command: `bigfleet why cluster/${id}` }} actions={<Link to={linkTo("/decisions", { cluster: id, kind: "Preempt,Reclaim" })}>All</Link>} flush>
      <View of={loaded} height={110} empty={(data) => (started(data.decisions).length === 0 ? <Empty title="Nothing was taken lately" height={80}><p>{data.decisions.length > 0 ? `Of the last ${format.count(data.decisions.length)} decisions to take a machine from it, rails held all back.` : "Preempted and reclaimed machines appear here."}</p></Empty> : null)}>
        {(data) => (
          <ul className="clusters-rows">
            {started(data.decisions).map((row) => (
              <li key={row.id}>
                <span className="clusters-when"><Ago nanos={row.atUnixNanos} /></span>
                <span className="clusters-main"><Link to={linkTo("/decisions", { decision: decisionKey(row), cluster: id, kind: "Preempt,Reclaim" })}><bdi className="clusters-sentence">{sentenceOf(row)}</bdi></Link></span>
                <Pill tone={fateOf(row) === "done" ? "good" : fateOf(row) === "failed" ? "danger" : "info"} tip={row.outcome ?? undefined}>{fateOf(row) === "done" ? "done" : fateOf(row) === "failed" ? "cancelled" : "under way"}</Pill>
              </li>
            ))}
          </ul>
        )}
      </View>
    </Card>
  );
}

function SessionCard({ cluster, quarantine }: { cluster: Cluster; quarantine: Quarantine | undefined }) {
  const session = cluster.session;
  const refused = session?.refusedRollup;
  return (
    <Card title="Its stream" source={{ route: `/clusters/${cluster.id}`, command: "bigfleet clusters -o wide" }}>
      <dl className="clusters-list">
        <div><dt>Shard</dt><dd>{cluster.shardId ? <Link to={linkTo(objectPath("shards", cluster.shardId))}><Name>{cluster.shardId}</Name></Link> : <span className="unknown">none</span>}</dd></div>
        <div><dt>Stream</dt><dd>{cluster.connected ? <>open since <Ago nanos={session?.connectedUnixNanos} /></> : <span className="clusters-bad">not connected</span>}</dd></div>
        <div><dt>Last roll-up</dt><dd><Ago nanos={session?.lastRollupUnixNanos} /></dd></div>
        <div><dt>Last report</dt><dd>{session?.report ? <><Ago nanos={session.reportReceivedUnixNanos} />{session.reportStale && <span className="clusters-bad"> (overdue)</span>}</> : <span className="unknown">none</span>}</dd></div>
        {cluster.boundUnixNanos ? <div><dt>Bound to its shard</dt><dd><Ago nanos={cluster.boundUnixNanos} /></dd></div> : null}
        {session && <div><dt>Waits for its answer</dt><dd>{format.plural(session.openBootstraps ?? 0, "bootstrap")}, {format.plural(session.openReclaims ?? 0, "reclaim")}</dd></div>}
        {session && <div><dt>Not read yet</dt><dd>{format.plural(session.outboxFrames ?? 0, "frame")}, {format.bytes(session.outboxBytes ?? 0)}</dd></div>}
        {session?.protocolVersion && <div><dt>Protocol</dt><dd><Name>{session.protocolVersion}</Name></dd></div>}
        {quarantine && <div><dt>Quarantine</dt><dd className="clusters-bad"><Prose text={quarantine.what ?? "Its last roll-up is held"} />{quarantine.acceptsAfterUnixNanos ? <>; taken <Ago nanos={quarantine.acceptsAfterUnixNanos} /> if it stays so</> : null}</dd></div>}
        {refused && <div><dt>Refused roll-up</dt><dd className="clusters-bad"><Prose text={refused.text ?? refused.reason ?? ""} /> ({format.plural(refused.times ?? 0, "time")})</dd></div>}
      </dl>
    </Card>
  );
}

export function ClusterPage({ id }: { id: string }) {
  const version = useResets();
  useStore(shown);
  const loaded = useApi<ClusterDetail>(`/clusters/${encodeURIComponent(id)}`, {}, { version, every: EVERY });
  const quarantines = useApi<{ quarantines: Quarantine[] }>("/quarantines", {}, { version, every: 3 * EVERY });
  const cluster = loaded.data?.cluster;
  const quarantine = cluster && rollupQuarantine(cluster, quarantines.data?.quarantines ?? []);
  return (
    <div className="clusters stack">
      <div className="page-head">
        <h1><Link className="clusters-back" to={linkTo("/clusters")}>Clusters</Link> <span className="dim">/</span> <bdi>{id}</bdi></h1>
        {cluster && marksOf(cluster, quarantine).length > 0 && <Marks marks={marksOf(cluster, quarantine)} />}
        <div className="row">{cluster && <PauseButton cluster={id} onDone={loaded.reload} />}</div>
      </div>
      {quarantines.error && cluster && <Partial warnings={[`Whether its roll-up is held in quarantine is not known: ${quarantines.error.message}`]} />}
      <View of={loaded} height={600} lines={9}>
        {(told) => (
          <div className="clusters stack">
            <PauseStrip pauses={told.cluster.pauses ?? []} onDone={loaded.reload} />
            <Tiles cluster={told.cluster} />
            <div className="clusters-columns">
              <div>
                <NeedsCard cluster={told.cluster} />
                <NotPlacedCard cluster={told.cluster} />
                <DisruptionsCard id={id} />
              </div>
              <div>
                <SessionCard cluster={told.cluster} quarantine={quarantine} />
                <PhasesCard told={told} />
                <HintsCard id={id} />
                <MachinesCard cluster={told.cluster} />
              </div>
            </div>
          </div>
        )}
      </View>
    </div>
  );
}
