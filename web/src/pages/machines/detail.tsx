// One machine: where it is in its life, what touched it, what it costs, why.
import type { ReactNode } from "react";
import { useApi } from "../../core/api";
import { enumWord, money, utcOfNanos } from "../../core/format";
import { serverNow, useResets, useStatus } from "../../core/live";
import { momentOf } from "../../core/moments";
import { linkTo, objectPath } from "../../core/router";
import { useNow } from "../../core/time";
import { CopyButton, Link, Pill, StateMark } from "../../ui/basics";
import { Card } from "../../ui/card";
import { Icon } from "../../ui/icons";
import { Empty, View } from "../../ui/states";
import { Age, Ago, Count, Money, Name, PerHour, Percent } from "../../ui/values";
import { ClearFailed } from "./clear";
import { StateDiagram } from "./diagram";
import { capacityOf, clusterOf, costSoFar, eventState, type MachineRow, needOf, notesOf, rackOf, sinceOf, stateOf, type StoryEvent } from "./rows";
import { WhyCard, WhyNotCard } from "./why";

interface Story {
  events: StoryEvent[];
  truncated?: boolean;
  warnings?: string[];
}

const amounts = (of?: { resources?: Record<string, string> }): string =>
  Object.entries(of?.resources ?? {}).map(([name, amount]) => `${amount} ${name}`).join(", ");

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return <div><dt>{name}</dt><dd>{children}</dd></div>;
}

function Facts({ row }: { row: MachineRow }) {
  const { machine } = row;
  const cluster = clusterOf(row);
  return (
    <dl className="facts">
      <Fact name="Cluster">{cluster ? <Link to={linkTo(objectPath("clusters", cluster))}><bdi>{cluster}</bdi></Link> : "none"}</Fact>
      <Fact name="Claimed by">{needOf(row) ? <Link to={linkTo("/needs", { need: needOf(row) })}><Name>{`need/${needOf(row)}`}</Name></Link> : "no Need"}</Fact>
      <Fact name="Reserved for">{row.reservedFor ? <><Link to={linkTo("/needs", { need: (row.reservedFor.need ?? "").replace(/^need\//, "") })}><Name>{row.reservedFor.need ?? ""}</Name></Link>{row.reservedFor.expiresUnixNanos ? <>, until <Ago nanos={row.reservedFor.expiresUnixNanos} /></> : null}</> : "nobody"}</Fact>
      <Fact name="Priority">{row.claimed ? <Count v={row.assignedPriority} /> : "none"}</Fact>
      <Fact name="Penalties declared">{row.claimed ? <><Money v={row.assignedInterruptionDollars} /> to interrupt, <Money v={row.assignedReclamationDollars} /> to reclaim</> : "none"}</Fact>
      <Fact name="Type"><bdi>{machine.instanceType || "unknown"}</bdi>, {capacityOf(row)}</Fact>
      <Fact name="Place">zone <bdi>{machine.zone || "unknown"}</bdi>{rackOf(row) && <>, rack <bdi>{rackOf(row)}</bdi></>}</Fact>
      <Fact name="Resources"><bdi>{amounts(machine.resources) || "unknown"}</bdi></Fact>
      <Fact name="Allocatable"><bdi>{amounts(machine.allocatable) || "unknown"}</bdi></Fact>
      <Fact name="Price"><PerHour v={machine.pricePerHour} /></Fact>
      <Fact name="Interrupted"><Percent v={machine.interruptionProbability} /> an hour</Fact>
      <Fact name="Price with risk"><PerHour v={row.cost?.effectiveCostPerHour} /></Fact>
      <Fact name="Provider"><bdi>{row.providerName || "none yet"}</bdi>{machine.host?.ref && <>, <Name>{machine.host.ref}</Name></>}</Fact>
      <Fact name="Node">{row.nodeName ? <Name>{row.nodeName}</Name> : "none"}</Fact>
      <Fact name="Shard">{row.shardId ? <Link to={linkTo(objectPath("shards", row.shardId))}><bdi>{row.shardId}</bdi></Link> : "unknown"}</Fact>
    </dl>
  );
}

const SOURCES: Record<string, string> = { Executor: "shard", Provider: "provider", Operator: "operator", Rail: "rail", Coordinator: "coordinator", Admin: "person" };

function StoryList({ story }: { story: Story }) {
  const status = useStatus();
  if (story.events.length === 0) return <Empty title="Nothing has touched it yet" height={120}><p>A story begins with the first decision about a machine.</p></Empty>;
  return (
    <>
      {story.truncated && <p className="dim">Only the newest events are kept.</p>}
      <ol className="story">
        {[...story.events].reverse().map((event, index) => {
          const to = eventState(event.toState);
          const source = enumWord(event.source, "STORY_SOURCE_");
          return (
            <li key={`${event.atUnixNanos}.${index}`} className={to ? "move" : ""}>
              <span className="story-when"><Ago nanos={event.atUnixNanos} /></span>
              <div>
                {to && <p className="row">{eventState(event.fromState) && <><StateMark state={eventState(event.fromState)} /><Icon name="chevron" size={12} /></>}<StateMark state={to} /></p>}
                <p><bdi>{event.text}</bdi></p>
                <p className="story-more">
                  <span>{SOURCES[source] ?? source}</span>
                  {event.cycle ? <Link to={linkTo("/map", { at: momentOf(status, event.shardId ?? "", event.cycle) })}>cycle {event.cycle}</Link> : null}
                  {event.clusterId && <span>cluster <bdi>{event.clusterId}</bdi></span>}
                  {event.operationId && <span data-tip="Operation of the provider"><Name dim>{event.operationId}</Name></span>}
                  {event.instructionId && <span data-tip="Instruction to the operator"><Name dim>{event.instructionId}</Name></span>}
                  {event.sequenceNumber ? <span data-tip="Fence: shard epoch and sequence number">fence {event.shardEpoch}.{event.sequenceNumber}</span> : null}
                </p>
              </div>
            </li>
          );
        })}
      </ol>
    </>
  );
}

function Spent({ row, story }: { row: MachineRow; story: Story | undefined }) {
  useNow();
  const price = row.machine.pricePerHour ?? 0;
  const spent = story ? costSoFar(story.events, price, stateOf(row), serverNow() * 1e6) : null;
  if (!spent) return <span className="dim">unknown: its story has no change of state yet</span>;
  return <span data-tip={`Price times the time it was billed since its story begins, ${utcOfNanos(spent.sinceNanos)}`}>{story?.truncated ? "at least " : ""}<b>{money(spent.dollars)}</b> <span className="dim">since <Ago nanos={spent.sinceNanos} /></span></span>;
}

export function MachineDetail({ id }: { id: string }) {
  const version = useResets();
  const path = `/machines/${encodeURIComponent(id)}`;
  const loaded = useApi<MachineRow>(path, {}, { version, every: 3_000 });
  const story = useApi<Story>(`${path}/story`, {}, { version, every: 6_000 });
  return (
    <div className="stack machine-page">
      <div className="page-head">
        <p className="crumbs"><Link to={linkTo("/machines")}>Machines</Link> <Icon name="chevron" size={12} /></p>
        <h1><bdi>{id}</bdi></h1>
        <CopyButton text={id} label="Copy id" />
        {loaded.data && <><StateMark state={stateOf(loaded.data)} /><span className="dim">for <Age nanos={sinceOf(loaded.data)} /></span>{notesOf(loaded.data).map((note) => <Pill key={note} tone="warn"><bdi>{note}</bdi></Pill>)}</>}
      </div>
      <View of={loaded} height={400}>
        {(row) => (
          <div className="columns">
            <div>
              <Card title="State" source={{ route: path, command: `bigfleet describe machine/${id}` }}>
                <StateDiagram state={stateOf(row)} />
                {row.machine.lastError && <p className="machine-error"><b>The provider said:</b> <bdi>{row.machine.lastError}</bdi></p>}
                {stateOf(row) === "Failed" && <ClearFailed id={id} onDone={loaded.reload} />}
              </Card>
              <Card title="Story" source={{ route: `${path}/story`, command: `bigfleet machines story ${id}` }}>
                <View of={story} height={300} lines={6}>{(told) => <StoryList story={told} />}</View>
              </Card>
            </div>
            <div>
              <WhyCard id={id} />
              <WhyNotCard id={id} />
              <Card title="Cost so far" source={{ route: `${path}/story` }}><Spent row={row} story={story.data} /></Card>
              <Card title="Facts" source={{ route: path, command: `bigfleet machines ${id} -o yaml` }}>
                <Facts row={row} />
                <details className="labels"><summary>Labels ({Object.keys(row.machine.labels ?? {}).length})</summary><dl>{Object.entries(row.machine.labels ?? {}).map(([key, value]) => <div key={key}><dt><Name>{key}</Name></dt><dd><Name>{value}</Name></dd></div>)}</dl></details>
              </Card>
            </div>
          </div>
        )}
      </View>
    </div>
  );
}
