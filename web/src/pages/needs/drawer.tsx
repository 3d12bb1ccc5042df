// Why a Need has what it has: the verdict, what to do, its demand, and how the engine came there.
import { type ReactNode, useId, useMemo } from "react";
import { PAST_DEADLINE, useApi } from "../../core/api";
import * as format from "../../core/format";
import { resourcesText, unitsIn, unwrapped } from "../../core/quantity";
import { askedAt, flagsAt } from "../../core/moments";
import { linkTo, objectPath, useMoment, useQueryState } from "../../core/router";
import type { Reason } from "../../core/types";
import { Button, Command, CopyButton, IconButton, Link, NeedStatePill, Pill } from "../../ui/basics";
import { Drawer } from "../../ui/overlays";
import { ObjectLink, Prose } from "../../ui/prose";
import { ErrorNotice, View } from "../../ui/states";
import { Age, Ago, Name, PerHour } from "../../ui/values";
import { Counterfactuals } from "./counterfactuals";
import { Candidates, Competitors, Domains, Funnel, Victims } from "./engine";
import { rowOf, stateOf } from "./explained";
import { NeedHistory } from "./history";
import { Amounts, CoverageBar, Requirements } from "./parts";
import { groupText, penaltyText, sourcesOf } from "./shapes";
import type { NeedExplanation, NeedList, NeedRow, Step } from "./types";

export function Section({ title, children, aside }: { title: string; children: ReactNode; aside?: ReactNode }) {
  const id = useId();
  return (
    <section className="needs-section" aria-labelledby={id}>
      <header><h3 id={id}>{title}</h3>{aside}</header>
      {children}
    </section>
  );
}

function Reasons({ reasons, numbers }: { reasons: readonly Reason[]; numbers: boolean }) {
  if (reasons.length === 0) return <p className="dim">No reason was given: nothing stands in its way.</p>;
  return (
    <ol className="needs-why">
      {reasons.map((reason, index) => (
        <li key={`${reason.code} ${index}`}>
          <code>{reason.code}</code>
          <p><Prose text={reason.text} /></p>
          {numbers && Object.keys(reason.facts ?? {}).length > 0 && (
            <dl className="needs-facts">
              {Object.entries(reason.facts ?? {}).map(([name, value]) => <div key={name}><dt><bdi>{name}</bdi></dt><dd><Prose text={String(value)} /></dd></div>)}
            </dl>
          )}
        </li>
      ))}
    </ol>
  );
}

/** What the list says first, as it knows what arrives and what is held back; then the engine's own. */
function reasonsOf(told: NeedExplanation | undefined, known: NeedRow | undefined): readonly Reason[] {
  const first = known?.reasons ?? [];
  const codes = new Set(first.map((reason) => reason.code));
  return [...first, ...(told?.reasons ?? []).filter((reason) => !codes.has(reason.code))];
}

/** What the answer leaves out; not again what is to be done. */
const notesOf = (told: NeedExplanation | undefined, todo: string): readonly string[] => (told?.notes ?? []).filter((note) => !todo || !note.includes(todo));

/** A command to copy where the remedy is one, a sentence where it is not. */
function ToDo({ text }: { text: string }) {
  const command = /^bigfleet [^;]+$/.test(text);
  return command ? <Command text={text} /> : <p><Prose text={text} /></p>;
}

function Demand({ row, numbers }: { row: NeedRow; numbers: boolean }) {
  const units = unitsIn(row.aggregateResources, row.minUnit);
  const penalties = [["interruption", penaltyText(row.interruptionPenaltyBucket)], ["reclamation", penaltyText(row.reclamationPenaltyBucket)]];
  const minUnit = resourcesText(row.minUnit);
  return (
    <dl className="needs-list">
      <div><dt>Asks for</dt><dd><Amounts of={row.aggregateResources} /></dd></div>
      <div><dt>Has</dt><dd><CoverageBar row={row} wide /></dd></div>
      {!row.satisfied && <div><dt>Short</dt><dd className="needs-short"><Amounts of={row.residualDeficit} /></dd></div>}
      <div><dt>In chunks of</dt><dd>{minUnit ? <><Amounts of={row.minUnit} />{units !== null && <span className="dim">, {format.plural(units, "chunk")}</span>}</> : <span className="dim">any size</span>}</dd></div>
      <div><dt>Machines</dt><dd>{format.count(row.claimedMachineCount)} claimed{row.arrivingMachines ? `, ${format.count(row.arrivingMachines)} of them ${row.state === "blocked" ? "held back" : "on the way"}` : ""}{row.stuckPods ? `; ${format.plural(row.stuckPods, "pod")} wait although the machines are there` : ""}</dd></div>
      <div><dt>Must have</dt><dd><Requirements requirements={row.requirements} spread={row.spread} /></dd></div>
      {row.group && <div><dt>Group</dt><dd><Name>{groupText(row.group)}</Name></dd></div>}
      <div><dt>Declares</dt><dd>{penalties.map(([name, text]) => `${name} ${text || "not declared"}`).join(", ")} <span className="dim">(not billed)</span></dd></div>
      {sourcesOf(row).length > 0 && <div><dt>Asked by</dt><dd>{sourcesOf(row).join(", ")}</dd></div>}
      {format.known(row.hourlyCost) && <div><dt>Costs</dt><dd><PerHour v={row.hourlyCost} /></dd></div>}
      {row.arrivalUnixNanos ? <div><dt>First asked</dt><dd><Ago nanos={row.arrivalUnixNanos} /></dd></div> : null}
      {numbers && row.profileFingerprint && <div><dt>Aggregation key</dt><dd className="needs-key"><code><bdi>{row.profileFingerprint}</bdi></code><CopyButton text={row.profileFingerprint} /></dd></div>}
    </dl>
  );
}

const STEP_TITLES: Record<string, string> = { credit: "Keeps", acquire: "Takes", preempt: "Preempts" };

function Flow({ steps, row, state }: { steps: readonly Step[]; row: NeedRow; state: string }) {
  return (
    <ol className="needs-flow">
      {steps.map((step) => {
        const covered = unwrapped(step.covered);
        const left = unwrapped(step.remaining);
        return (
          <li key={step.phase}>
            <b>{STEP_TITLES[step.phase] ?? <bdi>{step.phase}</bdi>}</b>
            <p><Prose text={step.text} /></p>
            <span className="dim">{Object.keys(covered).length > 0 ? `covers ${resourcesText(covered)}` : "covers nothing"}{Object.keys(left).length > 0 ? `; left ${resourcesText(left)}` : ""}</span>
          </li>
        );
      })}
      <li className="needs-verdict"><b>Verdict</b><p>{state ? <NeedStatePill state={state} /> : <Pill tip="Only of the last cycle is it known what arrives and what is held back">{row.satisfied ? "planned whole" : "not covered"}</Pill>}</p></li>
    </ol>
  );
}

function Explained({ told, row, rows, numbers, name }: { told: NeedExplanation; row: NeedRow; rows: readonly NeedRow[]; numbers: boolean; name: string }) {
  const state = stateOf(told.state);
  return (
    <>
      <Section title="Demand"><Demand row={row} numbers={numbers} /></Section>
      {(told.steps?.length ?? 0) > 0 && <Section title="How it was decided"><Flow steps={told.steps ?? []} row={row} state={state} /></Section>}
      {!row.satisfied || state === "blocked" || state === "short" ? <Section title="What would satisfy this"><Counterfactuals name={name} rows={rows} /></Section> : null}
      {(told.rejects?.length ?? 0) > 0 && <Section title="Supply" aside={<span className="dim">{format.plural(told.machines ?? 0, "machine")} of <Name>{told.shardId ?? "the shard"}</Name></span>}><Funnel told={told} /></Section>}
      <Section title="Who is ahead"><Competitors competitors={told.competitors ?? []} rows={rows} /></Section>
      {(told.domains?.length ?? 0) > 0 && <Section title="Domains weighed"><Domains domains={told.domains ?? []} numbers={numbers} /></Section>}
      {(told.victims?.length ?? 0) > 0 && <Section title="Preemption"><Victims victims={told.victims ?? []} numbers={numbers} /></Section>}
      {numbers && (told.candidates?.length ?? 0) > 0 && <Section title="Candidates" aside={<span className="dim">{format.count(told.candidates?.length)} shown, {format.count(told.totalCandidates)} free to take</span>}><Candidates candidates={told.candidates ?? []} /></Section>}
      <Section title="Lately"><NeedHistory need={name} /></Section>
    </>
  );
}

export function NeedDrawer({ name, rows, onClose }: { name: string; rows: readonly NeedRow[]; onClose: () => void }) {
  const moment = useMoment();
  const at = moment?.cycle ?? null;
  const [show, setShow] = useQueryState("numbers");
  const numbers = show === "1";
  const cluster = name.slice(0, name.lastIndexOf("/"));
  const prefix = name.slice(name.lastIndexOf("/") + 1);
  const listed = rows.find((row) => row.clusterId === cluster && row.needId.startsWith(prefix));
  const news = listed ? `${listed.state} ${listed.reasons?.[0]?.code} ${resourcesText(listed.residualDeficit)}` : "";
  const loaded = useApi<NeedExplanation>("/why", { object: `need/${name}`, ...askedAt(moment) }, { version: at === null ? news : "", deadline: at === null ? undefined : PAST_DEADLINE });
  const shard = loaded.data?.shardId;
  const single = useApi<NeedList>(at === null && shard && !listed ? "/needs" : null, { shard, cluster, id: loaded.data?.needId, limit: 1 });
  const known = at === null ? (listed ?? single.data?.needs[0]) : undefined;
  const row = useMemo(() => (loaded.data ? rowOf(loaded.data, known) : known), [loaded.data, known]);
  const whole = `${cluster}/${row?.needId ?? prefix}`;
  const state = stateOf(loaded.data?.state) || (at === null ? known?.state : "") || "";
  const todo = state === "met" ? "" : known?.remedy || loaded.data?.todo || "";
  const cycle = loaded.data?.cycleName ?? loaded.data?.cycle;
  return (
    <Drawer
      title={`Need ${whole}`}
      onClose={onClose}
      actions={
        <>
          <IconButton icon="clock" label="Ask again" onClick={loaded.reload} />
          <CopyButton text={`${window.location.origin}${linkTo(`/needs/${encodeURIComponent(cluster)}/${encodeURIComponent(row?.needId ?? prefix)}`)}`} label="Copy link" />
        </>
      }
    >
      <div className="needs-drawer">
        <div className="needs-headline">
          {state ? <NeedStatePill state={state} /> : row && <Pill>{row.satisfied ? "planned whole" : "not covered"}</Pill>}
          {row && <span>priority <b>{format.count(row.priority)}</b></span>}
          <span>cluster <Link to={linkTo(objectPath("clusters", cluster))}><bdi>{cluster}</bdi></Link></span>
          {known?.sinceUnixNanos ? <span className="dim">for <Age nanos={known.sinceUnixNanos} /></span> : null}
          <span className="dim push">{cycle !== undefined && <>cycle {String(cycle)}</>}{loaded.data?.decidedUnixNanos ? <>, <Ago nanos={loaded.data.decidedUnixNanos} /></> : null}</span>
        </div>
        {row && <Reasons reasons={reasonsOf(loaded.data, known)} numbers={numbers} />}
        {todo && <Section title="What to do"><ToDo text={todo} /></Section>}
        {known?.eta && <Section title="When it is met" aside={<span className="dim">cycle {known.eta.cycle}, <Ago nanos={known.eta.atUnixNanos} /></span>}><p><Prose text={known.eta.sentence} /></p></Section>}
        <div className="row">
          <Button small data-autofocus aria-pressed={numbers} onClick={() => setShow(numbers ? "" : "1")}>{numbers ? "Hide numbers" : "Show numbers"}</Button>
          <Command text={`bigfleet why need/${whole}${flagsAt(moment)}`} />
        </div>
        {notesOf(loaded.data, todo).map((note) => <p key={note} className="needs-note"><Prose text={note} /></p>)}
        {loaded.error?.unknown
          ? <><ErrorNotice error={loaded.error} retry={loaded.reload} /><p className="dim">A Need goes when its cluster stops asking for it. What was decided for it: <ObjectLink name={`cluster/${cluster}`} /></p></>
          : <View of={loaded} height={500} lines={9}>{(told) => row && <Explained told={told} row={row} rows={rows} numbers={numbers} name={whole} />}</View>}
      </div>
    </Drawer>
  );
}
