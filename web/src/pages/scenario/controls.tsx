// What people may do to the simulated fleet: scale demand, and try faults that undo themselves.
import { useEffect, useState } from "react";
import * as format from "../../core/format";
import { useNow } from "../../core/time";
import { Button, Pill } from "../../ui/basics";
import { Card } from "../../ui/card";
import type { Argument, Demand, Fault, Running, Scenario } from "./types";

type Send = (path: string, body: unknown) => Promise<void>;

function Slider({ row, send }: { row: Demand; send: Send }) {
  const [factor, setFactor] = useState(row.factor);
  useEffect(() => setFactor(row.factor), [row.factor]);
  const set = (): void => {
    if (factor !== row.factor) void send("/demand", { cluster: row.cluster, class: row.class, factor });
  };
  return (
    <label className="scenario-slider">
      <span><bdi>{row.cluster}</bdi> <span className="dim"><bdi>{row.class}</bdi>, priority {format.count(row.priority)}</span></span>
      <input type="range" min={row.least} max={row.most} step={row.step} value={factor} aria-valuetext={`${factor} times`} onChange={(event) => setFactor(Number(event.target.value))} onPointerUp={set} onKeyUp={set} onBlur={set} />
      <output>{factor.toFixed(1)} times</output>
    </label>
  );
}

export function DemandCard({ rows, send }: { rows: readonly Demand[]; send: Send }) {
  const later = rows.find((row) => row.applies !== "now")?.applies;
  return (
    <Card title="Demand" source={{ route: "/scenario" }}>
      {later && <p className="scenario-later"><Pill tone="warn">not yet</Pill> What you set applies {later}.</p>}
      <div className="scenario-sliders">{rows.map((row) => <Slider key={`${row.cluster}/${row.class}`} row={row} send={send} />)}</div>
    </Card>
  );
}

function ArgumentField({ argument, value, onChange }: { argument: Argument; value: string; onChange: (value: string) => void }) {
  return (
    <label className="scenario-field">
      <span>{argument.about}</span>
      {argument.choices.length > 0
        ? <select className="field" value={value} onChange={(event) => onChange(event.target.value)}>{argument.choices.map((each) => <option key={each}>{each}</option>)}</select>
        : <input className="field" type={argument.least === null ? "text" : "number"} min={argument.least ?? undefined} max={argument.most ?? undefined} step="any" value={value} maxLength={200} onChange={(event) => onChange(event.target.value)} />}
    </label>
  );
}

function FaultRow({ fault, send }: { fault: Fault; send: Send }) {
  const [given, setGiven] = useState<Record<string, string>>({});
  const [seconds, setSeconds] = useState(String(fault.seconds?.default ?? ""));
  const begin = (): void => {
    const body: Record<string, unknown> = { do: fault.do };
    for (const each of fault.arguments) body[each.name] = each.least === null ? (given[each.name] ?? each.default) : Number(given[each.name] ?? each.default);
    if (fault.seconds) body.seconds = Number(seconds);
    void send("/scenario/do", body);
  };
  return (
    <details className="scenario-fault">
      <summary><b>{fault.title}</b> <span className="dim">{fault.about}</span></summary>
      <form onSubmit={(event) => { event.preventDefault(); begin(); }}>
        {fault.arguments.map((each) => <ArgumentField key={each.name} argument={each} value={given[each.name] ?? String(each.default)} onChange={(value) => setGiven({ ...given, [each.name]: value })} />)}
        {fault.seconds && <label className="scenario-field"><span>for seconds</span><input className="field" type="number" min={fault.seconds.least} max={fault.seconds.most} value={seconds} onChange={(event) => setSeconds(event.target.value)} /></label>}
        <Button kind="danger" type="submit">{fault.title}</Button>
      </form>
    </details>
  );
}

function RunningRow({ running, send }: { running: Running; send: Send }) {
  const now = useNow();
  const left = (running.endsAtUnixNanos / 1e6 - now) / 1000;
  return (
    <li>
      <Pill tone="warn">runs</Pill>
      <span className="scenario-main"><bdi>{running.text}</bdi><span className="scenario-sub">{left > 0 ? `is undone in ${format.duration(left)}` : "is being undone"}</span></span>
      {running.endsEarly !== false && <Button small onClick={() => void send("/scenario/do", { end: running.number })}>End now</Button>}
    </li>
  );
}

export function FaultsCard({ controls, send }: { controls: Scenario["controls"]; send: Send }) {
  return (
    <Card title="Faults" source={{ route: "/scenario" }} flush>
      {controls.running.length > 0 && <ul className="scenario-rows">{controls.running.map((each) => <RunningRow key={each.number} running={each} send={send} />)}</ul>}
      <div className="scenario-faults">
        {controls.faults.map((fault) => <FaultRow key={fault.do} fault={fault} send={send} />)}
        {controls.notHere.length > 0 && <details className="scenario-fault"><summary className="dim">Not possible here</summary><ul>{controls.notHere.map((each) => <li key={each.do}><b>{each.do}</b>: {each.why}</li>)}</ul></details>}
      </div>
    </Card>
  );
}

const SPEEDS = [0.1, 0.5, 1, 2, 5, 10, 20, 30, 60];

/** How fast simulated time passes; for every part of the fleet, from now on. */
export function SpeedControl({ clock, send }: { clock: Scenario["clock"]; send: Send }) {
  const offered = [...new Set([...SPEEDS.filter((each) => each >= clock.slowest && each <= clock.fastest), clock.speed])].sort((a, b) => a - b);
  return (
    <label className="scenario-field">
      <span>Speed</span>
      <select className="field" value={clock.speed} onChange={(event) => void send("/scenario/do", { do: "speed", speed: Number(event.target.value) })}>
        {offered.map((each) => <option key={each} value={each}>{each === 1 ? "as real time" : `${each} times real time`}</option>)}
      </select>
    </label>
  );
}
