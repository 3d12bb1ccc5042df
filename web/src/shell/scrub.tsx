// Time: any cycle that a journal keeps, played at 1 to 60 cycles a second. Each shard has cycles of its own.
import { useEffect, useRef, useState } from "react";
import { useApi } from "../core/api";
import { count } from "../core/format";
import { overview, useResets } from "../core/live";
import { type Moment, journalRanges, momentText, type Range } from "../core/moments";
import { setQuery, useMoment } from "../core/router";
import { useStore } from "../core/store";
import type { Status } from "../core/types";
import { Button, Select } from "../ui/basics";

const LEAST_PAUSE = 200;
const PLAYED = 300;
const SPEEDS = ["1", "2", "5", "10", "30", "60"] as const;

const goTo = (range: Range, several: boolean, cycle: number, how: { push?: boolean } = {}): void =>
  setQuery({ at: cycle >= range.last ? undefined : momentText({ shard: several ? range.shard : "", epoch: range.epoch, cycle }) }, how);

function Note({ moment, range, others }: { moment: Moment; range: Range | undefined; others: number }) {
  const name = momentText({ ...moment, shard: "" });
  return (
    <p className="scrub-note dim">
      {moment.shard ? <>Cycle {name} of <b><bdi>{moment.shard}</bdi></b> alone: each shard counts its own cycles{others > 0 ? `, and ${others === 1 ? "the other one is" : `the other ${count(others)} are`} not shown` : ""}. </> : <>As the journal has cycle {name}. </>}
      {range && <>It can be read back to cycle {count(range.first)}, of epoch {range.epoch}: what was before the shard last started is for <code>bigfleet replay</code>.</>}
    </p>
  );
}

/** `loading`: what is shown of the moment is still on its way; playing waits for it. */
export function Scrub({ loading }: { loading: boolean }) {
  const moment = useMoment();
  const summary = useStore(overview);
  const asked = useApi<Status>("/status", {}, { version: useResets(), every: 10_000 });
  const [chosen, setChosen] = useState("");
  const [speed, setSpeed] = useState<(typeof SPEEDS)[number]>("1");
  const [playing, setPlaying] = useState(false);
  const shownAt = useRef(0);
  const ranges = journalRanges(asked.data);
  const several = (asked.data?.shards.length ?? 0) > 1;
  const wanted = moment?.shard || chosen;
  const range = ranges.find((each) => each.shard === wanted) ?? (moment?.shard ? undefined : ranges[0]);
  const at = moment?.cycle ?? null;
  const last = Math.max(range?.last ?? 0, at === null && !several ? (summary?.cycle ?? 0) : 0);

  useEffect(() => {
    // A bare number of an address typed by hand: the page says of which shard it is.
    if (moment && !moment.shard && several && range) setQuery({ at: momentText({ ...moment, shard: range.shard }) });
  }, [moment, several, range]);

  useEffect(() => {
    // Pictures that take longer than the pace are skipped: the pace holds.
    if (!playing || at === null || loading || !range) return;
    const perSecond = Number(speed);
    const pause = Math.max(LEAST_PAUSE, 1000 / perSecond);
    const timer = window.setTimeout(() => {
      const now = performance.now();
      const next = at + Math.max(1, Math.round(((now - shownAt.current) / 1000) * perSecond));
      shownAt.current = now;
      if (next >= range.last) setPlaying(false);
      goTo(range, several, next);
    }, pause);
    return () => window.clearTimeout(timer);
  }, [playing, at, loading, speed, range?.shard, range?.last]);

  if (ranges.length === 0) return <p className="scrub dim">{asked.data ? "No journal yet: only now can be shown." : ""}</p>;
  const now = (): void => { setPlaying(false); setQuery({ at: undefined }, { push: true }); };
  return (
    <div className="scrub" role="group" aria-label="Time">
      {several && (
        <Select
          label="Time of shard"
          value={range?.shard ?? ""}
          onChange={(shard) => {
            setPlaying(false);
            setChosen(shard);
            const next = ranges.find((each) => each.shard === shard);
            if (moment && next) goTo(next, true, next.first + Math.floor((next.last - next.first) / 2), { push: true });
          }}
          options={[...(range ? [] : [{ value: "", text: moment?.shard ?? "choose" }]), ...ranges.map(({ shard }) => ({ value: shard, text: shard }))]}
        />
      )}
      {range && (
        <>
          <Button
            small
            icon={playing ? "pause" : "play"}
            onClick={() => {
              if (!playing && at === null) goTo(range, several, Math.max(range.first, range.last - PLAYED), { push: true });
              shownAt.current = performance.now();
              setPlaying(!playing);
            }}
          >
            {playing ? "Pause" : at === null ? `Play the last ${PLAYED}` : "Play"}
          </Button>
          <Select label="Speed" value={speed} onChange={setSpeed} options={SPEEDS.map((value) => ({ value, text: `${value}×` }))} />
          <input
            type="range"
            aria-label="Cycle"
            aria-valuetext={at === null ? `live, cycle ${count(last)}` : `cycle ${count(at)}`}
            min={range.first}
            max={Math.max(last, range.first + 1)}
            value={at ?? last}
            onChange={(event) => {
              setPlaying(false);
              goTo(range, several, Number(event.target.value));
            }}
          />
          <output className="scrub-at">{at === null ? <b>live</b> : <>cycle <b>{count(at)}</b></>}<span className="dim"> of {count(range.first)} to {count(last)}</span></output>
        </>
      )}
      {moment && !range && <span className="dim">{asked.data ? <><bdi>{moment.shard}</bdi> keeps no journal, or is not of this fleet.</> : ""}</span>}
      {at !== null && <Button small kind="primary" onClick={now} data-tip="l">Back to live</Button>}
      {moment && <Note moment={moment} range={range} others={(asked.data?.shards.length ?? 1) - 1} />}
    </div>
  );
}
