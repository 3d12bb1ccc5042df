// The tour of `bigfleet up`, its demand and faults, the clock, what is asserted, what is real.
import { useCallback, useEffect, useState } from "react";
import { announce } from "../../core/announce";
import { ApiError, postJson, useApi } from "../../core/api";
import * as format from "../../core/format";
import { useKey } from "../../core/keys";
import { useResets, useTopic } from "../../core/live";
import { Button, Pill, type Tone } from "../../ui/basics";
import { Card } from "../../ui/card";
import { Icon } from "../../ui/icons";
import { Prose } from "../../ui/prose";
import { Empty, Partial, View } from "../../ui/states";
import { DemandCard, FaultsCard, SpeedControl } from "./controls";
import { Countdown, usePresence } from "./presence";
import type { Beat, Scenario, Tour } from "./types";
import "./scenario.css";

const EVERY = 2_000;
const TONES: Record<string, Tone> = { reached: "good", playing: "info", failed: "danger", skipped: "neutral", ahead: "neutral" };

type Send = (path: string, body: unknown) => Promise<void>;

function Beats({ beats, current, send }: { beats: readonly Beat[]; current: number; send: Send }) {
  return (
    <ol className="scenario-beats">
      {beats.map((beat) => (
        <li key={beat.number} aria-current={beat.number === current ? "step" : undefined}>
          <span className="scenario-number">{beat.number}</span>
          <span className="scenario-main"><b>{beat.title}</b><span className="scenario-sub"><Prose text={beat.sentence || beat.about} /></span></span>
          <Pill tone={TONES[beat.status] ?? "neutral"}>{beat.status}</Pill>
          <Button small kind="ghost" onClick={() => void send("/scenario", { do: "next", beat: beat.number })} aria-label={`Play ${beat.title}`}>Play</Button>
        </li>
      ))}
    </ol>
  );
}

function TourCard({ tour, send }: { tour: Tour; send: Send }) {
  const beats = tour.beats ?? [];
  const number = tour.beat ?? 1;
  const beat = beats[number - 1];
  const command = (name: string) => () => void send("/scenario", { do: name });
  useKey("n", "Next beat of the tour", "Scenario", command("next"));
  const sentence = tour.sentence || beat?.sentence || "";
  useEffect(() => { if (sentence) announce(sentence); }, [sentence]);
  if (!tour.available) return <Card title="Tour"><Empty title="There is no tour here" height={80}><p>{tour.why}</p></Empty></Card>;
  const inBeat = beat?.status === "playing";
  return (
    <Card title="Tour" source={{ route: "/scenario", command: "bigfleet up --headless --tour" }} actions={<span className="dim">beat {number} of {beats.length}, {tour.status}</span>}>
      <div className="scenario-now">
        <h3>{beat?.title}</h3>
        <p className="scenario-sentence"><Prose text={sentence || beat?.about || ""} /></p>
        {inBeat && tour.waitsUntil && <p className="dim" role="status"><Icon name="clock" size={14} /> <span>waits until <bdi>{tour.waitsUntil}</bdi></span></p>}
        <div className="row">
          <Button kind="primary" icon="play" onClick={command("next")}>{tour.status === "offered" ? "Start" : tour.status === "playing" ? "Next" : "Start again"}</Button>
          {tour.status === "playing" && <Button onClick={command("repeat")}>Repeat</Button>}
          {inBeat && <Button onClick={command("skip")}>Skip</Button>}
          {tour.status === "playing" && <Button onClick={command("leave")}>Leave</Button>}
          {!tour.playsOn && <Button kind="ghost" onClick={command("play")}>Play by itself</Button>}
          {tour.playsOn && <Pill tone="info">plays by itself</Pill>}
          {tour.playsAtUnixNanos ? <Countdown nanos={tour.playsAtUnixNanos} /> : null}
        </div>
      </div>
      <Beats beats={beats} current={number} send={send} />
    </Card>
  );
}

function Assertions({ rows }: { rows: Scenario["assertions"] }) {
  return (
    <Card title="What must hold" source={{ route: "/scenario", command: "bigfleet up --headless --assert" }} flush>
      <ul className="scenario-rows">
        {rows.map((row) => <li key={row.name}><Pill tone={row.holds ? "good" : "danger"}>{row.holds ? "holds" : "broken"}</Pill><span className="scenario-main"><bdi>{row.name}</bdi>{row.findings.slice(-3).map((text, index) => <span key={index} className="scenario-sub scenario-bad"><Prose text={text} /></span>)}</span></li>)}
      </ul>
    </Card>
  );
}

function ClockCard({ told, send }: { told: Scenario; send: Send }) {
  return (
    <Card title="Clock, and what is real" source={{ route: "/scenario" }}>
      <div className="scenario-speed"><SpeedControl clock={told.clock} send={send} /></div>
      <dl className="scenario-facts">
        <div><dt>Simulated time</dt><dd>{format.utcOfNanos(told.clock.simulatedUnixNanos)}</dd></div>
        <div><dt>Script of demand</dt><dd>{told.clock.scriptStands ? "stands while the tour leads" : `at ${format.duration(told.clock.scriptSeconds)}`}</dd></div>
        {told.down.length > 0 && <div><dt>Down</dt><dd className="scenario-bad">{told.down.join(", ")}</dd></div>}
        <div><dt>Real</dt><dd>{told.real.join(", ")}</dd></div>
        <div><dt>Simulated</dt><dd>{told.simulated.join(", ")}</dd></div>
      </dl>
    </Card>
  );
}

export default function ScenarioPage() {
  const version = useResets();
  const [turn, setTurn] = useState(0);
  const loaded = useApi<Scenario>("/scenario", {}, { version: `${version}.${turn}`, every: EVERY });
  useTopic("scenario", useCallback(() => setTurn((n) => n + 1), []));
  const [problem, setProblem] = useState("");
  const reload = loaded.reload;
  const send = useCallback<Send>(async (path, body) => {
    setProblem("");
    try {
      await postJson(path, body);
    } catch (cause) {
      setProblem(cause instanceof ApiError ? [cause.message, cause.remedy].filter(Boolean).join(". ") : String(cause));
    }
    reload();
  }, [reload]);
  const status = loaded.data?.tour.status;
  usePresence(status === "offered" || status === "playing");
  return (
    <div className="scenario stack">
      <div className="page-head"><h1>Scenario</h1></div>
      {problem && <div role="alert"><Partial warnings={[problem]} title="Not done." /></div>}
      <View of={loaded} height={500} lines={8}>
        {(told) => (
          <div className="scenario-columns">
            <div><TourCard tour={told.tour} send={send} /></div>
            <div><Assertions rows={told.assertions} /><DemandCard rows={told.controls.demand} send={send} /><FaultsCard controls={told.controls} send={send} /><ClockCard told={told} send={send} /></div>
          </div>
        )}
      </View>
    </div>
  );
}
