// Dollars of past hours: what the ledgers of the shards added up, with what they did not observe.
import { API, type Query, routeOf, useApi } from "../../core/api";
import * as format from "../../core/format";
import { useResets } from "../../core/live";
import { useQueryState } from "../../core/router";
import { Segmented } from "../../ui/basics";
import { Card } from "../../ui/card";
import { Icon } from "../../ui/icons";
import { Empty, Partial, View } from "../../ui/states";
import { Money, Name, Percent } from "../../ui/values";
import { missingText, observedHours, type PastCosts, sinceOf, SPANS } from "./hours";

const EVERY = 30_000;

function Download({ href, text, label }: { href: string; text: string; label: string }) {
  return <a className="button small" href={href} download aria-label={label}><Icon name="download" size={14} />{text}</a>;
}

function Hours({ told, title, noName }: { told: PastCosts; title: string; noName: string }) {
  const period = told.period;
  if (!period) return null;
  return (
    <>
      <p className="costs-sum">
        <strong><Money v={period.total.billedDollars} /></strong> for {format.count(Math.round(period.total.machineHours))} machine-hours, in {observedHours(told).toFixed(1)} observed hours
      </p>
      <div className="costs-scroll" role="region" aria-label={`Dollars of past hours by ${title.toLowerCase()}`} tabIndex={0}>
        <table className="costs-table">
          <thead><tr><th scope="col">{title}</th><th scope="col">Machine-hours</th><th scope="col">Billed</th><th scope="col">Share</th><th scope="col">Of it idle</th><th scope="col">Stranded</th><th scope="col">Waste</th><th scope="col">Imputed</th><th scope="col">Interruptions</th></tr></thead>
          <tbody>
            {period.rows.map((row) => (
              <tr key={row.name}>
                <th scope="row">{row.name ? <Name>{row.name}</Name> : <span className="dim">{noName}</span>}</th>
                <td><span className="value" data-tip={`${format.precise(row.machineHours)} hours`}>{row.machineHours.toFixed(1)}</span></td>
                <td><Money v={row.billedDollars} /></td>
                <td><Percent v={period.total.billedDollars > 0 ? row.billedDollars / period.total.billedDollars : null} why="Nothing was billed" /></td>
                <td><Money v={row.idleDollars} /></td>
                <td><Money v={row.strandedDollars} /></td>
                <td><Money v={row.wasteDollars} /></td>
                <td><Money v={row.imputedDollars} /></td>
                <td><Money v={row.expectedInterruptionDollars} /></td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}

export function Ledger({ axis, title, noName }: { axis: string; title: string; noName: string }) {
  const [asked, setSpan] = useQueryState("span", "24h");
  const span = SPANS.find((each) => each.value === asked)?.value ?? "24h";
  const query: Query = { by: axis, from: sinceOf(span, Date.now()) };
  const loaded = useApi<PastCosts>("/costs", query, { version: useResets(), every: EVERY });
  const missing = loaded.data ? missingText(loaded.data) : "";
  const actions = (
    <>
      <Download href={routeOf("/costs", { ...query, format: "csv" })} text="CSV" label="Dollars of past hours as CSV" />
      <Download href={routeOf("/costs/focus", { from: query.from })} text="FOCUS" label="Every hour in the columns of FOCUS 1.0" />
    </>
  );
  return (
    <Card title={`Dollars of past hours, by ${title.toLowerCase()}`} source={{ route: routeOf("/costs", query).replace(API, ""), command: `bigfleet reports cost --by ${axis} --from ${span}` }} actions={actions} flush>
      <div className="costs-axes costs-span"><Segmented label="Time" options={SPANS} value={span} onChange={setSpan} /></div>
      {missing && <Partial warnings={[`${missing}; nothing is added for them`]} />}
      <View of={loaded} height={160} empty={(told) => ((told.period?.rows.length ?? 0) === 0 ? <Empty title="No hour was observed yet" height={110}><p>Each shard adds up what its machines cost from its first cycle on, and keeps the hours of 400 days.</p></Empty> : null)}>
        {(told) => <Hours told={told} title={title} noName={noName} />}
      </View>
    </Card>
  );
}
