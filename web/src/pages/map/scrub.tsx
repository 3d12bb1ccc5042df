// Time: any cycle the journal keeps, played at 1 to 60 cycles a second.
import { useEffect, useRef, useState } from "react";
import { useApi } from "../../core/api";
import { count } from "../../core/format";
import { useResets } from "../../core/live";
import { setQuery, useAt } from "../../core/router";
import type { Status } from "../../core/types";
import { Button, Select } from "../../ui/basics";
import { cyclesOf } from "./journal-range";

const LEAST_PAUSE = 200;
const SPEEDS = ["1", "2", "5", "10", "30", "60"] as const;

export function Scrub({ loading, liveCycle, notBefore }: { loading: boolean; liveCycle: number; notBefore: number }) {
  const at = useAt();
  const status = useApi<Status>("/status", {}, { version: useResets(), every: 10_000 });
  const [speed, setSpeed] = useState<(typeof SPEEDS)[number]>("1");
  const [playing, setPlaying] = useState(false);
  const shownAt = useRef(0);
  const range = cyclesOf(status.data, notBefore);
  const last = Math.max(range?.last ?? 0, at === null ? liveCycle : 0);

  useEffect(() => {
    // Pictures that take longer than the pace are skipped: the pace holds.
    if (!playing || at === null || loading || !range) return;
    const perSecond = Number(speed);
    const pause = Math.max(LEAST_PAUSE, 1000 / perSecond);
    const timer = window.setTimeout(() => {
      const now = performance.now();
      const next = at + Math.max(1, Math.round(((now - shownAt.current) / 1000) * perSecond));
      shownAt.current = now;
      if (next >= range.last) {
        setPlaying(false);
        setQuery({ at: undefined });
      } else setQuery({ at: String(next) });
    }, pause);
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
          shownAt.current = performance.now();
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
