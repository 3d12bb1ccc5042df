// What someone should look at, and the rails that hold actions back.
import * as format from "../../core/format";
import { alerts } from "../../core/live";
import { pauseId, pauseOwner, pauseReason, scopeText } from "../../core/pauses";
import { useStore } from "../../core/store";
import { useNow } from "../../core/time";
import type { Finding, Overview, Pause } from "../../core/types";
import { Command } from "../../ui/basics";
import { Icon } from "../../ui/icons";
import { Ago } from "../../ui/values";

export function Findings({ now }: { now: Overview }) {
  const raised = useStore(alerts);
  const known = new Set((now.findings ?? []).map((finding) => finding.code));
  const all: Finding[] = [...(now.findings ?? []), ...raised.filter((finding) => !known.has(finding.code))];
  if (all.length === 0) {
    return (
      <p className="calm">
        <Icon name="check" />
        <span>
          Nothing needs a look.
          {now.thrash === 0 && " No machine went back and forth."}
          {now.calmSinceUnixNanos ? <> Calm since <Ago nanos={now.calmSinceUnixNanos} />.</> : null}
        </span>
      </p>
    );
  }
  return (
    <ul className="findings">
      {all.map((finding) => (
        <li key={finding.code + finding.text}>
          <Icon name="warning" />
          <p><bdi>{finding.text}</bdi></p>
          <div>{finding.command && <Command text={finding.command} />}{finding.advice && <bdi>{finding.advice}</bdi>}</div>
        </li>
      ))}
    </ul>
  );
}

function Countdown({ nanos }: { nanos: number }) {
  const now = useNow();
  const left = (nanos / 1e6 - now) / 1000;
  return <time data-tip={format.utcOfNanos(nanos)}>{left > 0 ? `ends in ${format.duration(left)}` : "ending"}</time>;
}

export function Rails({ pauses }: { pauses: readonly Pause[] }) {
  if (pauses.length === 0) return null;
  return (
    <section className="rails" aria-label="Pauses">
      {pauses.map((pause, index) => (
        <div key={pauseId(pause) || index} className="rail">
          <Icon name="pause" />
          <strong>Paused: <bdi>{scopeText(pause)}</bdi></strong>
          <span><bdi>{pauseReason(pause) || "no reason given"}</bdi></span>
          <span className="push">by <bdi>{pauseOwner(pause) || "unknown"}</bdi></span>
          <span>{pause.expiresUnixNanos ? <Countdown nanos={pause.expiresUnixNanos} /> : "until resumed"}</span>
          <Command text={`bigfleet resume ${pauseId(pause)} --reason WHY`} />
        </div>
      ))}
    </section>
  );
}
