// A decision in full: what the engine saw, which rails it passed, what else could have been done.
import { useState } from "react";
import { PAST_DEADLINE, useApi } from "../../core/api";
import { decisionName } from "../../core/decisions";
import * as format from "../../core/format";
import { status } from "../../core/live";
import { momentOf } from "../../core/moments";
import { linkTo } from "../../core/router";
import type { Decision, Reason } from "../../core/types";
import { Button, Command, CopyButton, Link } from "../../ui/basics";
import { Prose } from "../../ui/prose";
import { View } from "../../ui/states";

interface Told {
  cycle?: string | number;
  sentence?: string;
  steps?: { phase: string; text: string; machineIds?: string[] }[];
  reasons?: Reason[];
  machine?: { cost?: Record<string, number | null>; machine?: Record<string, unknown>; assignedPriority?: number } & Record<string, unknown>;
  keepRank?: number;
  decision?: Decision;
  warnings?: string[];
}

const COSTS: readonly [string, string][] = [
  ["pricePerHour", "billed $ an hour"], ["interruptionProbability", "interruption probability"], ["interruptionPenaltyDollars", "interruption penalty $, declared"],
  ["expectedInterruptionPerHour", "expected interruption $ an hour"], ["effectiveCostPerHour", "effective cost $ an hour"],
];

function Numbers({ told, row }: { told: Told; row: Decision | undefined }) {
  const facts: [string, string][] = [];
  for (const [key, text] of COSTS) {
    const value = told.machine?.cost?.[key];
    if (value !== undefined) facts.push([text, format.known(value) ? format.precise(value) : "pinned"]);
  }
  if (told.machine?.assignedPriority) facts.push(["assigned priority", format.count(told.machine.assignedPriority)]);
  if (told.keepRank) facts.push(["place in keep order", format.count(told.keepRank)]);
  if (row) facts.push(["decided", format.utcOfNanos(row.atUnixNanos)], ["change of cost", format.known(row.deltaHourlyCost) ? `$${format.precise(row.deltaHourlyCost)} an hour` : "unknown: a shard does not tell it"]);
  return <dl className="decisions-facts">{facts.map(([name, value]) => <div key={name}><dt>{name}</dt><dd>{value}</dd></div>)}</dl>;
}

/** The shard only where there are several: each has an action of that name. */
export const whyCommand = (name: string, shard?: string): string =>
  `bigfleet why action/${name}${shard && (status.get()?.shards?.length ?? 0) > 1 ? ` --shard ${shard}` : ""}`;

export function Explanation({ id, row, shard }: { id: string; row?: Decision; shard?: string }) {
  const name = decisionName(id);
  const [numbers, setNumbers] = useState(false);
  const loaded = useApi<Told>("/why", { object: `action/${name}`, shard }, { deadline: PAST_DEADLINE });
  const known = row ?? loaded.data?.decision;
  const of = shard ?? known?.shardId;
  return (
    <div className="decisions-why">
      {!loaded.data && !loaded.error && <p className="dim">Its cycle is read from the journal and decided again; an old one takes a while.</p>}
      <View of={loaded} height={180} lines={5}>
        {(told) => (
          <>
            <dl className="decisions-steps">
              {(told.steps ?? []).map((step) => <div key={step.phase}><dt><bdi>{step.phase}</bdi></dt><dd><Prose text={step.text} /></dd></div>)}
            </dl>
            {(told.steps?.length ?? 0) === 0 && told.sentence && <p><Prose text={told.sentence} /></p>}
            {numbers && <Numbers told={told} row={known} />}
          </>
        )}
      </View>
      <div className="row">
        <Button small aria-pressed={numbers} onClick={() => setNumbers(!numbers)}>{numbers ? "Hide numbers" : "Show numbers"}</Button>
        <Command text={whyCommand(name, of)} />
        <CopyButton text={`${window.location.origin}${linkTo("/decisions", { decision: of ? `${name}@${of}` : name })}`} label="Copy link" />
        {known?.machine && <Link to={linkTo("/decisions", { machine: known.machine })}>All about this machine</Link>}
        {known && <Link to={linkTo("/map", { at: momentOf(status.get(), of ?? "", known.cycle) })}>Map at cycle {format.count(known.cycle)}</Link>}
      </div>
    </div>
  );
}
