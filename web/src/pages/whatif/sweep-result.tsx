// What came of a sweep: bars over one axis or a square over two, and every point in a table.
import { useState } from "react";
import * as format from "../../core/format";
import { Segmented } from "../../ui/basics";
import { Card } from "../../ui/card";
import { Empty } from "../../ui/states";
import { barsOf, type Measure, measuresOf, rowsOf, squareOf, tellingMeasure } from "./sweep";
import type { Sweep } from "./types";

const SOURCE = { route: "/whatif", command: "bigfleet whatif --sweep demand.ml=1.0:2.0:0.1 -o csv" };
/** A tint under text: more of it would cost contrast. */
const MOST_TINT = 34;

function Bars({ sweep, measure }: { sweep: Sweep; measure: Measure }) {
  const { bars, base, most } = barsOf(sweep, measure);
  const name = sweep.axes[0]?.name ?? "";
  const first = bars[0];
  const last = bars.at(-1);
  const words = first && last ? `${measure.title} by ${name}: ${measure.shown(first.amount)} at ${first.value}, ${measure.shown(last.amount)} at ${last.value}; ${measure.shown(base)} as it is` : "";
  return (
    <figure className="whatif-plot">
      <div className="whatif-scale" aria-hidden="true"><span>{most > 0 && measure.shown(most)}</span><span>{measure.shown(0)}</span></div>
      <div className="whatif-bars" role="img" aria-label={words}>
        {base !== null && most > 0 && <span className="whatif-base" style={{ bottom: `${(base / most) * 100}%` }} data-tip={`As it is: ${measure.shown(base)}`} />}
        {bars.map((bar) => (
          <span key={bar.value} className="whatif-bar" data-tip={`${name} ${bar.value}: ${measure.shown(bar.amount)}`}>
            <span className={bar.amount === null ? "unknown" : bar.isAboveBase ? "above" : ""} style={{ height: `${bar.height * 100}%` }} />
          </span>
        ))}
      </div>
      <figcaption className="whatif-ticks"><span>{first?.value}</span><bdi>{name}</bdi><span>{last?.value}</span></figcaption>
    </figure>
  );
}

function Grid({ sweep, measure }: { sweep: Sweep; measure: Measure }) {
  const { down, across, cells, most } = squareOf(sweep, measure);
  const [rows, columns] = [sweep.axes[0]?.name ?? "", sweep.axes[1]?.name ?? ""];
  return (
    <div className="whatif-scroll" role="region" aria-label={`${measure.title} by ${rows} and ${columns}`} tabIndex={0}>
      <table className="whatif-table whatif-square">
        <caption><bdi>{rows}</bdi> down, <bdi>{columns}</bdi> across</caption>
        <thead><tr><td />{across.map((value) => <th key={value} scope="col">{value}</th>)}</tr></thead>
        <tbody>
          {down.map((value, row) => (
            <tr key={value}>
              <th scope="row">{value}</th>
              {across.map((other, column) => {
                const amount = cells[row]?.[column] ?? null;
                const tint = amount !== null && most > 0 ? Math.round((amount / most) * MOST_TINT) : 0;
                return <td key={other} style={{ background: `color-mix(in srgb, var(--accent) ${tint}%, transparent)` }}>{amount === null ? <span className="unknown" data-tip="No answer for this point">–</span> : measure.shown(amount)}</td>;
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Points({ sweep }: { sweep: Sweep }) {
  const rows = rowsOf(sweep);
  const settles = sweep.points.some((point) => point.changed.settled !== undefined);
  return (
    <div className="whatif-scroll whatif-points" role="region" aria-label="Every point" tabIndex={0}>
      <table className="whatif-table">
        <thead><tr>{sweep.axes.map((axis) => <th key={axis.name} scope="col"><bdi>{axis.name}</bdi></th>)}<th scope="col">Not covered</th><th scope="col">Newly</th><th scope="col">Preempted</th><th scope="col"><span data-tip="Machines that clusters get">New</span></th><th scope="col">Billed</th><th scope="col">Penalties</th>{settles && <th scope="col">Covered after</th>}</tr></thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.values.join(" ")}>
              {row.values.map((value, axis) => (axis === 0 ? <th key={axis} scope="row">{value}</th> : <td key={axis}>{value}</td>))}
              <td className={row.unmet > 0 ? "whatif-bad" : "dim"}>{format.count(row.unmet)}</td>
              <td className={row.newlyUnmet > 0 ? "whatif-bad" : "dim"}>{format.count(row.newlyUnmet)}</td>
              <td>{format.count(row.preempted)}</td>
              <td>{format.count(row.new)}</td>
              <td>{format.perHour(row.cost)}</td>
              <td>{format.money(row.penalties)}</td>
              {settles && <td>{row.covered === null ? <span className="unknown">never</span> : format.duration(row.covered)}</td>}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

export function SweepResult({ sweep }: { sweep: Sweep }) {
  const measures = measuresOf(sweep);
  const [chosen, setKey] = useState("");
  const key = chosen || tellingMeasure(sweep);
  const measure = measures.find((each) => each.key === key) ?? measures[0];
  const told = sweep.complete ? format.plural(sweep.points.length, "point") : `${format.count(sweep.points.length)} of ${format.plural(sweep.pointCount, "point")}`;
  if (!measure || sweep.points.length === 0) return <Card title="Sweep" source={SOURCE}><Empty title="There was no time for a single point" height={90}><p>Large fleets take seconds for each: ask for fewer values, or without settling.</p></Empty></Card>;
  return (
    <Card title="Sweep" source={SOURCE} flush actions={<span className="dim">{told}</span>}>
      <div className="whatif-measures"><Segmented label="Measure" options={measures.map((each) => ({ value: each.key, text: each.title }))} value={measure.key} onChange={setKey} /></div>
      {sweep.axes.length === 1 ? <Bars sweep={sweep} measure={measure} /> : <Grid sweep={sweep} measure={measure} />}
      <Points sweep={sweep} />
    </Card>
  );
}
