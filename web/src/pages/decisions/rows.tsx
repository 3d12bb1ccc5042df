// One decision in the feed, and the cycle it belongs to.
import { useState } from "react";
import { decisionKey, isDecision, sentenceOf } from "../../core/decisions";
import * as format from "../../core/format";
import { linkTo, objectPath } from "../../core/router";
import type { Decision } from "../../core/types";
import { Link, Pill, type Tone } from "../../ui/basics";
import { Icon } from "../../ui/icons";
import { Ago, Name } from "../../ui/values";
import { Explanation } from "./explanation";
import { type CycleGroup, DISPOSITIONS, dispositionOf, type Fate, fateOf, fateWord, type Run } from "./feed";

const FATE_TONES: Record<Fate, Tone> = { done: "good", started: "info", stopped: "warn", failed: "danger", unknown: "neutral" };

function fateText(row: Decision): { text: string; tip: string } {
  const disposition = dispositionOf(row);
  const words = DISPOSITIONS[disposition] ?? disposition;
  switch (fateOf(row)) {
    case "done": return { text: "done", tip: "Started, and seen to have happened" };
    case "started": return { text: "under way", tip: "Started; its end has not been seen yet" };
    case "stopped": return { text: fateWord(disposition), tip: row.outcome ? `${words}: ${row.outcome}` : words };
    case "failed": return { text: /^cancel/i.test(row.outcome ?? "") ? "cancelled" : "failed", tip: row.outcome ?? "" };
    case "unknown": return { text: "unknown", tip: "Its fate is not told" };
  }
}

/** "done", or "3 done, 9 under way" */
function fatesOf(rows: readonly Decision[]): string {
  const counts = new Map<string, number>();
  for (const row of rows) counts.set(fateText(row).text, (counts.get(fateText(row).text) ?? 0) + 1);
  return [...counts].map(([text, count]) => (counts.size === 1 ? text : `${format.count(count)} ${text}`)).join(", ");
}

/** One tick: started. Two: seen to have happened. A bar: a rail stopped it. */
function Ticks({ row }: { row: Decision }) {
  const fate = fateOf(row);
  return (
    <span className={`decisions-ticks ${FATE_TONES[fate]}`} aria-hidden="true">
      {fate === "stopped" ? <Icon name="pause" size={12} /> : fate === "failed" ? <Icon name="close" size={12} /> : <Icon name="check" size={12} />}
      {fate === "done" && <Icon name="check" size={12} />}
    </span>
  );
}

/** What, then why: the sentence without its kind, which stands before it. */
function Sentence({ row }: { row: Decision }) {
  const text = sentenceOf(row).replace(`${row.kind} `, "");
  const cut = text.indexOf(": ");
  if (cut < 0) return <bdi><b>{text}</b></bdi>;
  return <bdi><b>{text.slice(0, cut)}</b>{text.slice(cut)}</bdi>;
}

export function Row({ row, open, onToggle }: { row: Decision; open: boolean; onToggle: (row: Decision) => void }) {
  const { text, tip } = fateText(row);
  const delta = row.deltaHourlyCost;
  return (
    <li className={open ? "open" : ""} id={`decision-${decisionKey(row)}`}>
      <div className="decisions-row">
        <button type="button" className="decisions-open" aria-expanded={open} onClick={() => onToggle(row)} aria-label={`${open ? "Hide" : "Show"} why: ${sentenceOf(row)}`}>
          <Icon name="chevron" size={12} />
        </button>
        <span className={`decisions-kind ${row.kind.toLowerCase()}`}>{row.kind}</span>
        <p className="decisions-sentence" onClick={() => onToggle(row)}><Sentence row={row} /></p>
        {format.known(delta) && delta !== 0 ? <span className="dim" data-tip={`$${format.precise(delta)} an hour`}>{delta > 0 ? "+" : "−"}{format.perHour(Math.abs(delta))}</span> : <span />}
        <span className="decisions-fate"><Ticks row={row} /><Pill tone={FATE_TONES[fateOf(row)]} tip={tip}>{text}</Pill></span>
      </div>
      {open && (
        <div className="decisions-more">
          <p className="decisions-links">
            {row.machine && <span>machine <Link to={linkTo(objectPath("machines", row.machine))}><Name>{row.machine}</Name></Link></span>}
            {row.cluster && <span>cluster <Link to={linkTo(objectPath("clusters", row.cluster))}><Name>{row.cluster}</Name></Link></span>}
            {row.need && <span>need <Link to={linkTo("/needs", { need: row.need.replace(/^need\//, "") })}><Name>{row.need.replace(/^need\//, "")}</Name></Link></span>}
            <span>{tip}</span>
          </p>
          <Explanation id={row.id} row={row} shard={row.shardId} />
        </div>
      )}
    </li>
  );
}

function RunRows({ run, opened, onToggle }: { run: Run; opened: string; onToggle: (row: Decision) => void }) {
  const [all, setAll] = useState(false);
  const holds = run.rows.slice(run.shown).some((row) => isDecision(row, opened));
  const shown = all || holds ? run.rows : run.rows.slice(0, run.shown);
  const first = run.rows[0];
  return (
    <>
      {shown.map((row) => <Row key={decisionKey(row)} row={row} open={isDecision(row, opened)} onToggle={onToggle} />)}
      {shown.length < run.rows.length && first && (
        <li>
          <button type="button" className="decisions-like" onClick={() => setAll(true)}>
            <Icon name="down" size={12} /> {format.count(run.rows.length - shown.length)} more like these: <span>{first.kind}{first.cluster ? <> of <bdi>{first.cluster}</bdi></> : null}, {fatesOf(run.rows.slice(shown.length))}</span>
          </button>
        </li>
      )}
    </>
  );
}

export function Cycle({ group, shards, opened, onToggle }: { group: CycleGroup; shards: boolean; opened: string; onToggle: (row: Decision) => void }) {
  return (
    <section className="decisions-cycle" aria-label={`Cycle ${group.cycle}`}>
      <header>
        <h3>cycle {format.count(group.cycle)}</h3>
        {shards && <Name dim>{group.shardId}</Name>}
        <span className="dim"><Ago nanos={group.atUnixNanos} /></span>
        <span className="decisions-counts">
          {group.counts.map((count) => (
            <span key={count.kind}><b>{format.count(count.total)}</b> {count.kind}{count.stopped > 0 && <span className="decisions-stopped"> ({count.stopped === count.total ? "all" : format.count(count.stopped)} held back)</span>}</span>
          ))}
        </span>
      </header>
      <ol>{group.runs.map((run) => <RunRows key={run.key} run={run} opened={opened} onToggle={onToggle} />)}</ol>
    </section>
  );
}
