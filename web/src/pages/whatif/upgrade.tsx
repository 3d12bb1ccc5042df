// What another version or other options would have decided: opens the output of `bigfleet replay DIR --diff`. The file
// stays in the browser.
import { type DragEvent, useEffect, useState } from "react";
import { announce } from "../../core/announce";
import * as format from "../../core/format";
import { linkTo } from "../../core/router";
import { Button, Command, Link, Pill, type Tone } from "../../ui/basics";
import { Card, Tile } from "../../ui/card";
import { Empty, Partial } from "../../ui/states";
import { ObjectLink, Prose } from "../../ui/prose";
import { Name } from "../../ui/values";
import { byPriority, type Diff, type DiffAction, type DiffChange, DiffProblem, readDiffFile, type Verdict } from "./diff";

const COMMAND = "bigfleet replay DIR --diff -o json > diff.json";
const SOURCE = { command: COMMAND };
const ACTIONS_SHOWN = 3;
const NEEDS_SHOWN = 50;
const ROWS_SHOWN = 200;

const TONES: Record<Verdict, Tone> = { IDENTICAL: "good", WITHIN: "info", BEYOND: "danger" };
const WORDS: Record<Verdict, string> = {
  IDENTICAL: "Every cycle is decided the same",
  WITHIN: "It decides otherwise, within the limits",
  BEYOND: "It decides otherwise, beyond the limits",
};

const signed = (value: number, shown: (value: number) => string): string => (value === 0 ? "same" : `${value > 0 ? "+" : "−"}${shown(Math.abs(value))}`);
const needName = (name: string): string => name.replace(/^need\//, "");

function Drop({ onFile }: { onFile: (file: File) => void }) {
  const [isOver, setOver] = useState(false);
  useEffect(() => {
    // A file that is dropped beside the field would replace the page.
    const ignore = (event: Event): void => event.preventDefault();
    for (const name of ["dragover", "drop"]) document.addEventListener(name, ignore);
    return () => {
      for (const name of ["dragover", "drop"]) document.removeEventListener(name, ignore);
    };
  }, []);
  const dropped = (event: DragEvent): void => {
    event.preventDefault();
    setOver(false);
    const file = event.dataTransfer.files[0];
    if (file) onFile(file);
  };
  return (
    <label className={`whatif-drop ${isOver ? "over" : ""}`} onDragOver={(event) => { event.preventDefault(); setOver(true); }} onDragLeave={() => setOver(false)} onDrop={dropped}>
      <input
        type="file"
        accept=".json,application/json"
        className="sr-only"
        onChange={(event) => {
          const file = event.target.files?.[0];
          if (file) onFile(file);
          event.target.value = "";
        }}
      />
      <span><b>Open a diff file</b>, or drop it here</span>
      <span className="dim">It is read in this browser and sent nowhere.</span>
    </label>
  );
}

function Shortfalls({ title, needs, tone }: { title: string; needs: readonly [string, number][]; tone: Tone }) {
  return (
    <Card title={title} source={SOURCE} flush actions={needs.length > NEEDS_SHOWN && <span className="dim">{format.count(NEEDS_SHOWN)} of {format.count(needs.length)} shown</span>}>
      {needs.length === 0 ? <Empty title="None" height={50} /> : (
        <>
          <p className="whatif-note">{byPriority(needs).map(([priority, count]) => <Pill key={priority} tone={tone}>{format.count(count)} at priority {format.count(priority)}</Pill>)}</p>
          <ul className="whatif-rows">{needs.slice(0, NEEDS_SHOWN).map(([need, priority]) => <li key={need}><span className="whatif-main"><Link to={linkTo("/needs", { need: needName(need) })}><Name>{needName(need)}</Name></Link></span><span className="dim">priority {format.count(priority)}</span></li>)}</ul>
        </>
      )}
    </Card>
  );
}

function Actions({ diff }: { diff: Diff }) {
  return (
    <Card title="Actions that differ" source={SOURCE} flush>
      {diff.actions.length === 0 ? <Empty title="None" height={50} /> : (
        <div className="whatif-scroll" role="region" aria-label="Actions by kind and cluster" tabIndex={0}>
          <table className="whatif-table">
            <thead><tr><th scope="col">Kind</th><th scope="col">Cluster</th><th scope="col">Not decided any more</th><th scope="col">Newly decided</th></tr></thead>
            <tbody>{diff.actions.slice(0, ROWS_SHOWN).map((row) => <tr key={`${row.kind} ${row.cluster}`}><th scope="row"><bdi>{row.kind}</bdi></th><td>{row.cluster ? <Name>{row.cluster}</Name> : <span className="dim">no cluster</span>}</td><td className={row.removed ? "" : "dim"}>{format.count(row.removed)}</td><td className={row.added ? "" : "dim"}>{format.count(row.added)}</td></tr>)}</tbody>
          </table>
        </div>
      )}
      {diff.actions.length > ROWS_SHOWN && <p className="whatif-note dim">{format.count(ROWS_SHOWN)} of {format.count(diff.actions.length)} shown</p>}
    </Card>
  );
}

function Side({ title, actions }: { title: string; actions: readonly DiffAction[] }) {
  return (
    <div>
      <dt>{title}</dt>
      <dd>
        {actions.length === 0 && <span className="dim">nothing</span>}
        {actions.slice(0, ACTIONS_SHOWN).map((action, index) => <p key={index}><b><bdi>{action.kind}</bdi></b> <ObjectLink name={`machine/${action.machine}`} text={action.machine} />{action.sentence && <>: <Prose text={action.sentence} /></>}</p>)}
        {actions.length > ACTIONS_SHOWN && <p className="dim">and {format.count(actions.length - ACTIONS_SHOWN)} more</p>}
      </dd>
    </div>
  );
}

function Change({ change }: { change: DiffChange }) {
  return (
    <li className="whatif-change">
      <p><b><Prose text={change.subject} /></b> <span className="dim">cycle <bdi>{change.cycle}</bdi></span><span className="push">{signed(change.dollarsPerHour, format.perHour)}{change.penaltyDollars !== 0 && <span className="dim">, {signed(change.penaltyDollars, format.money)} declared</span>}</span></p>
      <dl className="whatif-reproduce"><Side title="As recorded" actions={change.then} /><Side title="As it would be" actions={change.now} /></dl>
    </li>
  );
}

function Opened({ diff, name }: { diff: Diff; name: string }) {
  const bought = diff.recordedBoughtPerHour;
  return (
    <>
      <div className={`whatif-verdict ${diff.verdict === "BEYOND" ? "bad" : ""}`} role="status">
        <Pill tone={TONES[diff.verdict]}>{diff.verdict}</Pill>
        <div>
          <p className="whatif-sentence">{WORDS[diff.verdict]}</p>
          <p className="dim"><bdi>{name}</bdi>: cycles <bdi>{diff.first || "none"}</bdi> to <bdi>{diff.last || "none"}</bdi>{diff.isClosed ? "; each engine lives with what it decides" : "; each cycle is decided on what was recorded"}.{diff.firstChanged && <> First changed: cycle <bdi>{diff.firstChanged}</bdi>.</>}</p>
          {diff.beyond.length > 0 && <p>Beyond <bdi>{diff.beyond.join(", ")}</bdi></p>}
        </div>
      </div>
      <Partial warnings={diff.notRecordedInFull > 0 ? [`${format.plural(diff.notRecordedInFull, "changed cycle")} ${diff.notRecordedInFull === 1 ? "is" : "are"} not recorded in full, and left out of the numbers below.`] : []} title="To know:" />
      <div className="whatif-tiles">
        <Tile title="Cycles changed" value={format.count(diff.changed)} note={`of ${format.count(diff.cycles)}`} tone={diff.changed > 0 ? "warn" : "good"} />
        <Tile title="Planned" value={signed(diff.plannedDollarsPerHour, format.perHour)} note={bought > 0 ? `${diff.plannedDollarsPerHour === 0 ? "0 %" : signed(diff.plannedDollarsPerHour / bought, (share) => format.percent(share))} of what was bought` : "nothing was bought"} />
        <Tile title="Preemptions" value={signed(diff.preempts, format.count)} note="machines taken from lower work" tone={diff.preempts > 0 ? "warn" : ""} />
        <Tile title="Declared penalties" value={signed(diff.penaltyDollars, format.money)} note="never billed" />
        <Tile title="Shortfalls" value={`${format.count(diff.newShortfalls.length)} new`} note={`${format.count(diff.goneShortfalls.length)} gone`} tone={diff.newShortfalls.length > 0 ? "danger" : ""} />
      </div>
      <div className="whatif-columns">
        <Card title="Largest changes" source={SOURCE} flush>
          {diff.changes.length === 0 ? <Empty title="None" height={50} /> : <ol className="whatif-rows">{diff.changes.map((change, index) => <Change key={index} change={change} />)}</ol>}
        </Card>
        <div>
          <Actions diff={diff} />
          <Shortfalls title="Shortfalls that would be new" needs={diff.newShortfalls} tone="danger" />
          <Shortfalls title="Shortfalls that would be gone" needs={diff.goneShortfalls} tone="good" />
        </div>
      </div>
    </>
  );
}

export function Upgrade() {
  const [opened, setOpened] = useState<{ name: string; diff?: Diff; problem?: DiffProblem } | null>(null);
  const [reading, setReading] = useState(false);
  const open = (file: File): void => {
    setReading(true);
    readDiffFile(file).then(
      (diff) => {
        setOpened({ name: file.name, diff });
        announce(`${file.name}: ${WORDS[diff.verdict]}`, true);
      },
      (cause: unknown) => setOpened({ name: file.name, problem: cause instanceof DiffProblem ? cause : new DiffProblem("", `cannot be read: ${cause instanceof Error ? cause.message : String(cause)}`) }),
    ).finally(() => setReading(false));
  };
  return (
    <>
      <Card title="Upgrade" source={SOURCE} actions={opened && <Button small onClick={() => setOpened(null)}>Close the file</Button>}>
        <div className="whatif-ask">
          <p>What another version, or other options, would have decided on your own history.</p>
          <Command text={COMMAND} />
          <Drop onFile={open} />
          {reading && <p className="dim" role="status">Reading</p>}
          {opened?.problem && <p role="alert" className="whatif-bad"><bdi>{opened.name}</bdi>{opened.problem.field && <>: <code><bdi>{opened.problem.field}</bdi></code></>} {opened.problem.message}</p>}
        </div>
      </Card>
      {opened?.diff && <Opened diff={opened.diff} name={opened.name} />}
    </>
  );
}
