// Both sides of a what-if: numbers beside each other, clusters, Needs that change sides, machines that move.
import * as format from "../../core/format";
import { linkTo, objectPath } from "../../core/router";
import { Link, Pill } from "../../ui/basics";
import { Card } from "../../ui/card";
import { Icon } from "../../ui/icons";
import { Prose } from "../../ui/prose";
import { Empty, Partial } from "../../ui/states";
import { Name } from "../../ui/values";
import { differenceOf, differs, type Group, groupsOf, isBetter, isWorse, type Row, sentenceOf, shownValue } from "./compare";
import { Fates } from "./fate-card";
import { SweepResult } from "./sweep-result";
import type { ClusterRow, NeedChange, WhatIf } from "./types";

const NEEDS_SHOWN = 100;
const SOURCE = { command: "bigfleet whatif --zone-loss ZONE -o json" };

function Line({ row }: { row: Row }) {
  const tone = isWorse(row) ? "whatif-bad" : isBetter(row) ? "whatif-good" : "dim";
  return (
    <tr className={differs(row) ? "differs" : ""}>
      <th scope="row"><span data-tip={row.tip}><bdi>{row.title}</bdi></span></th>
      <td>{shownValue(row.base, row.unit)}</td>
      <td>{shownValue(row.then, row.unit)}</td>
      <td className={tone}>{differenceOf(row)}{isWorse(row) && <span className="sr-only"> (worse)</span>}{isBetter(row) && <span className="sr-only"> (better)</span>}</td>
    </tr>
  );
}

const Section = ({ group }: { group: Group }) => (
  <tbody>
    <tr className="whatif-group"><th scope="rowgroup" colSpan={4}>{group.title}</th></tr>
    {group.rows.map((row) => <Line key={row.key} row={row} />)}
  </tbody>
);

function Sides({ told }: { told: WhatIf }) {
  return (
    <Card title="Both sides" source={SOURCE} flush>
      <div className="whatif-scroll" role="region" aria-label="Base and result side by side" tabIndex={0}>
        <table className="whatif-table">
          <thead><tr><td /><th scope="col">As it is</th><th scope="col">With the changes</th><th scope="col">Difference</th></tr></thead>
          {groupsOf(told.base, told.changed).map((group) => <Section key={group.title} group={group} />)}
        </table>
      </div>
    </Card>
  );
}

const came = (row: ClusterRow): number => (row.after.actionsByKind.Bootstrap ?? 0) + (row.after.actionsByKind.Provision ?? 0);
const arrow = (before: string, after: string) => (before === after ? after : <><span className="dim">{before}</span> → <b>{after}</b></>);

function Clusters({ rows }: { rows: readonly ClusterRow[] }) {
  return (
    <Card title="Per cluster" source={SOURCE} flush>
      {rows.length === 0 ? <Empty title="No cluster has demand or machines" height={70} /> : (
        <div className="whatif-scroll" role="region" aria-label="Clusters" tabIndex={0}>
          <table className="whatif-table">
            <thead><tr><th scope="col">Cluster</th><th scope="col">Machines</th><th scope="col"><span data-tip="Of its machines, those that the changes take away">Lost</span></th><th scope="col"><span data-tip="Its machines that work of higher priority takes, with the changes">Victims</span></th><th scope="col"><span data-tip="Bootstrap and Provision, with the changes">New</span></th><th scope="col">Needs unmet</th><th scope="col">$/h</th></tr></thead>
            <tbody>
              {rows.map((row) => {
                const victims = row.after.actionsByKind.Preempt ?? 0;
                return (
                  <tr key={row.cluster}>
                    <th scope="row">{row.cluster ? <Link to={linkTo(objectPath("clusters", row.cluster))}><Name>{row.cluster}</Name></Link> : <span className="dim">no cluster</span>}</th>
                    <td>{arrow(format.count(row.before.machines), format.count(row.after.machines))}</td>
                    <td className={row.lostMachines > 0 ? "whatif-bad" : "dim"}>{format.count(row.lostMachines)}</td>
                    <td className={victims > 0 ? "whatif-bad" : "dim"}>{format.count(victims)}</td>
                    <td className={came(row) > 0 ? "" : "dim"}>{format.count(came(row))}</td>
                    <td className={row.after.unmet > row.before.unmet ? "whatif-bad" : ""}>{arrow(format.count(row.before.unmet), format.count(row.after.unmet))}</td>
                    <td>{arrow(format.money(row.before.costPerHour), format.money(row.after.costPerHour))}</td>
                  </tr>
                );
              })}
            </tbody>
          </table>
        </div>
      )}
    </Card>
  );
}

const needName = (name: string): string => name.replace(/^need\//, "");

function Needs({ title, rows, total, tone, none }: { title: string; rows: readonly NeedChange[]; total: number; tone: "danger" | "good"; none: string }) {
  const shown = rows.slice(0, NEEDS_SHOWN);
  return (
    <Card title={title} source={SOURCE} actions={total > 0 && <span className="dim">{format.count(shown.length)} of {format.count(total)} shown</span>} flush>
      {total === 0 ? <Empty title={none} height={60} /> : (
        <ul className="whatif-rows">
          {shown.map((row) => (
            <li key={row.need}>
              <Pill tone={tone}>priority {format.count(row.priority)}</Pill>
              <span className="whatif-main">
                <Link to={linkTo("/needs", { need: needName(row.need) })}><Name>{needName(row.need)}</Name></Link>
                <span className="whatif-sub"><Prose text={row.sentence} /></span>
              </span>
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
}

function Moved({ told }: { told: WhatIf }) {
  return (
    <Card title="Machines that move between clusters" source={SOURCE} flush>
      {told.moved.length === 0 ? <Empty title="None moves" height={60} /> : (
        <ul className="whatif-rows">
          {told.moved.map((move) => (
            <li key={`${move.fromCluster}>${move.toCluster}`}>
              <span className="whatif-main"><Name>{move.fromCluster || "no cluster"}</Name> → <Name>{move.toCluster || "no cluster"}</Name></span>
              <b>{format.plural(move.machines, "machine")}</b>
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
}

function Added({ told }: { told: WhatIf }) {
  const rows = told.added ?? [];
  if (rows.length === 0) return null;
  return (
    <Card title="Needs that the changes add" source={SOURCE} flush>
      <ul className="whatif-rows">
        {rows.map((row) => (
          <li key={row.need}><Pill tone={row.covered ? "good" : "danger"}>{row.covered ? "covered" : "not covered"}</Pill><span className="whatif-main"><Name>{row.need}</Name><span className="whatif-sub"><Prose text={row.sentence} /></span></span></li>
        ))}
      </ul>
    </Card>
  );
}

function Latencies({ told }: { told: WhatIf }) {
  const settling = told.settling;
  if (!settling) return null;
  const assumed = new Set(Object.keys(settling.assumedLatencies ?? {}));
  const words = Object.entries(settling.latencies).map(([step, text]) => `${step} ${text}${assumed.has(step) ? " (assumed)" : ""}`);
  return <p className="dim">Steps take: <bdi>{words.join(", ") || "as assumed"}</bdi>. Of {format.plural(settling.shortAtFirst, "Need")} that {settling.shortAtFirst === 1 ? "was" : "were"} short at first, {format.count(settling.recovered)} recovered.</p>;
}

export function Result({ told, base }: { told: WhatIf; base: string }) {
  const unmet = told.newlyUnmetCount ?? told.newlyUnmet.length;
  const met = told.newlyMetCount ?? told.newlyMet.length;
  return (
    <>
      <div className={`whatif-verdict ${unmet > 0 ? "bad" : ""}`} role="status">
        <Icon name={unmet > 0 ? "warning" : "info"} size={20} />
        <div>
          <p className="whatif-sentence">{sentenceOf(told)}</p>
          <p className="dim">Cycle <bdi>{told.cycle}</bdi> decided twice by the same engine, as it is and with: <bdi>{told.overlay.join("; ") || "no change"}</bdi>. Nothing was changed.</p>
          <Latencies told={told} />
        </div>
      </div>
      <Partial warnings={told.warnings} title="To know:" />
      {told.sweep && <SweepResult sweep={told.sweep} />}
      <div className="whatif-columns">
        <Sides told={told} />
        <div>
          <Clusters rows={told.clusters} />
          <Needs title="Newly unmet Needs" rows={told.newlyUnmet} total={unmet} tone="danger" none="No Need is newly unmet" />
          <Needs title="Newly met Needs" rows={told.newlyMet} total={met} tone="good" none="No Need is newly met" />
          <Moved told={told} />
          <Fates told={told} base={base} />
          <Added told={told} />
        </div>
      </div>
    </>
  );
}
