// Time: any cycle the journal keeps, played at 1 to 60 cycles a second.
import { useEffect, useState } from "react";
import { useApi } from "../../core/api";
import { count } from "../../core/format";
import { useResets } from "../../core/live";
import { setQuery, useAt } from "../../core/router";
import type { Status } from "../../core/types";
import { Button, Select } from "../../ui/basics";
import { cyclesOf } from "./journal-range";

const SPEEDS = ["1", "2", "5", "10", "30", "60"] as const;

export function Scrub({ loading, liveCycle, notBefore }: { loading: boolean; liveCycle: number; notBefore: number }) {
  const at = useAt();
  const status = useApi<Status>("/status", {}, { version: useResets(), every: 10_000 });
  const [speed, setSpeed] = useState<(typeof SPEEDS)[number]>("1");
  const [playing, setPlaying] = useState(false);
  const range = cyclesOf(status.data, notBefore);
  const last = Math.max(range?.last ?? 0, at === null ? liveCycle : 0);

  useEffect(() => {
    // One step a second at 1x; above 4x several cycles at once: a picture every quarter of a second.
    if (!playing || at === null || loading || !range) return;
    const perSecond = Number(speed);
    const step = Math.max(1, Math.round(perSecond / 4));
    const timer = window.setTimeout(() => {
      const next = at + step;
      if (next >= range.last) {
        setPlaying(false);
        setQuery({ at: undefined });
      } else setQuery({ at: String(next) });
    }, (step / perSecond) * 1000);
    return () => window.clearTimeout(timer);
  }, [playing, at, loading, speed, range]);

  if (!range) return <p className="scrub dim">{status.data ? "No journal yet: only now can be shown." : ""}</p>;
  const place = at ?? last;
  return (
    <div className="scrub">
      <Button
        small
        icon={playing ? "pause" : "play"}
        onClick={() => {
          if (!playing && at === null) setQuery({ at: String(Math.max(range.first, range.last - 300)) }, { push: true });
          setPlaying(!playing);
        }}
      >
        {playing ? "Pause" : at === null ? "Play the last 300" : "Play"}
      </Button>
      <Select label="Speed" value={speed} onChange={setSpeed} options={SPEEDS.map((value) => ({ value, text: `${value}×` }))} />
      <input
        type="range"
        aria-label="Cycle"
        aria-valuetext={at === null ? `live, cycle ${count(last)}` : `cycle ${count(place)}`}
        min={range.first}
        max={Math.max(last, range.first + 1)}
        value={place}
        onChange={(event) => {
          const cycle = Number(event.target.value);
          setPlaying(false);
          setQuery({ at: cycle >= range.last ? undefined : String(cycle) });
        }}
      />
      <output className="scrub-at">{at === null ? <b>live</b> : <>cycle <b>{count(at)}</b></>}<span className="dim"> of {count(range.first)} to {count(last)}</span></output>
      {at !== null && <Button small kind="primary" onClick={() => { setPlaying(false); setQuery({ at: undefined }, { push: true }); }}>Back to live</Button>}
    </div>
  );
}
