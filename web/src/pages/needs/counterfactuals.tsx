// The least change of each kind that would satisfy a Need: the engine runs on changed copies, when asked to.
import { useState } from "react";
import { PAST_DEADLINE, useApi } from "../../core/api";
import * as format from "../../core/format";
import { resourcesText, unwrapped } from "../../core/quantity";
import { askedAt, flagsAt } from "../../core/moments";
import { linkTo, useMoment } from "../../core/router";
import { Button, Command, Link, Pill } from "../../ui/basics";
import { Empty, View } from "../../ui/states";
import { Name } from "../../ui/values";
import { nameOfRef } from "./explained";
import type { Change, Counterfactual, NeedRow } from "./types";

const signed = (value: number): string => `${value >= 0 ? "+" : "−"}${format.perHour(Math.abs(value))}`;

/** The address of the same change on the What-if page: its edits, one a line, and the cycle they are about. */
export const whatIfAddress = (change: Change, cycle: string | undefined): string =>
  linkTo("/whatif", { overlay: (change.overlay ?? []).join("\n"), base: cycle });

function Losers({ change, rows }: { change: Change; rows: readonly NeedRow[] }) {
  const losers = change.losers ?? [];
  if ((change.loserCount ?? losers.length) === 0) return <span className="dim">no other Need loses</span>;
  return (
    <span>
      loses:{" "}
      {losers.slice(0, 3).map((each, index) => {
        const name = nameOfRef(each.need, rows);
        const lost = resourcesText(unwrapped(each.lost));
        return <span key={index}>{index > 0 && ", "}{name ? <Link to={linkTo("/needs", { need: name })}><Name>{name}</Name></Link> : <Name>{each.need.clusterId ?? "unknown"}</Name>}{lost && <span className="dim"> {lost}</span>}</span>;
      })}
      {(change.loserCount ?? 0) > 3 && ` and ${format.count((change.loserCount ?? 0) - 3)} more`}
    </span>
  );
}

function ChangeRow({ change, cycle, rows }: { change: Change; cycle: string | undefined; rows: readonly NeedRow[] }) {
  return (
    <li>
      <div className="needs-change">
        <Pill tone={change.satisfied ? "good" : "neutral"}>{change.satisfied ? "satisfies" : "helps"}</Pill>
        <span className="needs-change-text"><bdi>{change.change}</bdi></span>
        {(change.overlay?.length ?? 0) > 0 && <Link to={whatIfAddress(change, cycle)} className="push">Open in What-if</Link>}
      </div>
      <p className="needs-sub">
        {format.known(change.deltaHourlyCost) && <span data-tip="Billed">{signed(change.deltaHourlyCost)} billed</span>}
        {(change.declaredPenalties ?? 0) > 0 && <span data-tip="Penalties of machines that are preempted: declared, never billed">{format.money(change.declaredPenalties)} declared</span>}
        {(change.pinnedVictims ?? 0) > 0 && <span>{format.plural(change.pinnedVictims ?? 0, "pinned machine")}</span>}
        {(change.preempts ?? 0) > 0 && <span>preempts {format.plural(change.preempts ?? 0, "machine")}, which drain first</span>}
        {!change.satisfied && <span>still short {resourcesText(unwrapped(change.newDeficit)) || "something"}</span>}
        {change.smallest === false && <span>a smaller one may do</span>}
        <Losers change={change} rows={rows} />
      </p>
    </li>
  );
}

/** Pairs are many: they get more time than single changes. */
const PAIRS_BUDGET = 10_000;

export function Counterfactuals({ name, rows }: { name: string; rows: readonly NeedRow[] }) {
  const moment = useMoment();
  const [depth, setDepth] = useState(0);
  const pairs = depth > 1 ? { depth, budgetMs: PAIRS_BUDGET } : {};
  const loaded = useApi<Counterfactual>(depth > 0 ? "/why" : null, { object: `need/${name}`, counterfactual: 1, ...pairs, ...askedAt(moment) }, { deadline: PAST_DEADLINE });
  if (depth === 0)
    return (
      <div className="row">
        <Button small icon="whatif" onClick={() => setDepth(1)}>Try changes</Button>
        <span className="dim">Decides the cycle again with one thing changed at a time, for up to 2 s; nothing is changed anywhere.</span>
      </div>
    );
  const more = (
    <span className="row">
      {depth === 1 && <Button small icon="whatif" onClick={() => setDepth(2)}>Try pairs of changes</Button>}
      <Command text={`bigfleet why need/${name} --counterfactual${depth > 1 ? " --depth 2 --budget 10s" : ""}${flagsAt(moment)}`} />
    </span>
  );
  return (
    <View of={loaded} height={110} empty={(told) => {
      if (told.met) return <Empty title="Nothing is missing once this cycle's actions are done" height={80}><p>What holds it back is named above; no change of demand or supply is needed.</p></Empty>;
      return (told.changes?.length ?? 0) === 0 ? <Empty title={depth > 1 ? "Neither one change nor a pair of them would satisfy it" : "No single change would satisfy it"} height={80}><p>{told.exhaustive ? "All kinds were tried." : "The time ended before all was tried."}</p>{more}</Empty> : null;
    }}>
      {(told) => (
        <>
          <ol className="needs-changes">{(told.changes ?? []).map((change, index) => <ChangeRow key={index} change={change} cycle={told.cycle} rows={rows} />)}</ol>
          <p className="dim">{told.exhaustive ? "All was tried" : "The time ended before all was tried"}, in {format.plural(told.runs, "run")} of the engine on cycle {told.cycle ?? "unknown"}. {(told.notes ?? []).join(" ")}</p>
          {more}
        </>
      )}
    </View>
  );
}
