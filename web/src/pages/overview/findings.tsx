// What someone should look at, and the rails that hold actions back.
import * as format from "../../core/format";
import { useApi } from "../../core/api";
import { alerts, status, useResets } from "../../core/live";
import { momentOf } from "../../core/moments";
import { pauseId, pauseOwner, pauseReason, scopeText } from "../../core/pauses";
import { linkTo } from "../../core/router";
import { useStore } from "../../core/store";
import { useNow } from "../../core/time";
import type { Finding, Overview, Pause } from "../../core/types";
import { Command, Link } from "../../ui/basics";
import { Icon } from "../../ui/icons";
import { Prose } from "../../ui/prose";
import { Ago } from "../../ui/values";

const THRASH_SHOWN = 5;

interface Thrash {
  number: number;
  shardId: string;
  clusterId?: string;
  text: string;
  times?: number;
  lastUnixNanos?: number;
  heldUntilUnixNanos?: number;
  witness?: { cycle?: number }[];
}

/** Machines that went back and forth, each with the shortest trace that shows it. */
function ThrashFindings({ count }: { count: number }) {
  const told = useStore(status);
  const loaded = useApi<{ findings: Thrash[] }>("/thrash", {}, { version: `${useResets()}.${count}`, every: 10_000 });
  const rows = loaded.data?.findings;
  if (!rows) return <p className="dim">{loaded.error ? `What went back and forth is not known: ${loaded.error.message}` : `${format.plural(count, "machine or Need")} went back and forth.`}</p>;
  const several = (told?.shards.length ?? 0) > 1;
  return (
    <ul className="findings" aria-label="What went back and forth">
      {rows.slice(0, THRASH_SHOWN).map((row) => {
        const cycles = (row.witness ?? []).map((action) => action.cycle ?? 0).filter((cycle) => cycle > 0);
        return (
          <li key={`${row.shardId} ${row.number}`}>
            <Icon name="warning" />
            <p><Prose text={row.text} /></p>
            <div>
              <span>{format.plural(row.times ?? 1, "time")}, last <Ago nanos={row.lastUnixNanos} /></span>
              {row.heldUntilUnixNanos ? <span>Reclaims and Deletes of it are held: <Countdown nanos={row.heldUntilUnixNanos} /></span> : null}
              {cycles.length > 0 && <Link to={linkTo("/map", { at: momentOf(told, row.shardId, Math.min(...cycles)) })}>Its first action on the map</Link>}
              {row.clusterId && <Link to={linkTo("/decisions", { cluster: row.clusterId, at: cycles.length > 0 ? momentOf(told, row.shardId, Math.max(...cycles)) : undefined })}>Its decisions</Link>}
              <Command text={`bigfleet reports thrash --witness ${row.number}${several ? ` --shard ${row.shardId}` : ""}`} />
            </div>
          </li>
        );
      })}
      {rows.length > THRASH_SHOWN && <li className="dim"><span /><p>{format.plural(rows.length - THRASH_SHOWN, "finding")} more: <Command text="bigfleet reports thrash" /></p></li>}
    </ul>
  );
}

export function Findings({ now }: { now: Overview }) {
  const raised = useStore(alerts);
  const known = new Set((now.findings ?? []).map((finding) => finding.code));
  const all: Finding[] = [...(now.findings ?? []), ...raised.filter((finding) => !known.has(finding.code))];
  const thrash = now.thrash ?? 0;
  if (all.length === 0 && thrash > 0) return <ThrashFindings count={thrash} />;
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
    <>
      <ul className="findings">
        {all.map((finding) => (
          <li key={finding.code + finding.text}>
            <Icon name="warning" />
            <p><bdi>{finding.text}</bdi></p>
            <div>{finding.command && <Command text={finding.command} />}{finding.advice && <bdi>{finding.advice}</bdi>}</div>
          </li>
        ))}
      </ul>
      {thrash > 0 && <ThrashFindings count={thrash} />}
    </>
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
