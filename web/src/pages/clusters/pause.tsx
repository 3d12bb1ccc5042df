// Pause and resume of one cluster: writes, so they state their scope, and ask who, why and until when.
import { useState } from "react";
import { announce } from "../../core/announce";
import { quoted } from "../../core/commands";
import * as format from "../../core/format";
import { useStatus } from "../../core/live";
import { isLiftable, pauseId, pauseOwner, pauseReason, scopeText } from "../../core/pauses";
import { useNow } from "../../core/time";
import type { Pause } from "../../core/types";
import { Button, Command, Segmented, Select } from "../../ui/basics";
import { Icon } from "../../ui/icons";
import { type Told, WriteDialog } from "../../ui/writes";
import { PAUSE_SCOPES, pauseCommand, type PauseScopeName, TTLS } from "./standing";

function PauseDialog({ cluster, onClose, onDone }: { cluster: string; onClose: () => void; onDone: (told: Told) => void }) {
  const [scope, setScope] = useState<PauseScopeName>("all");
  const [ttl, setTtl] = useState<string>("3600");
  const chosen = PAUSE_SCOPES.find((each) => each.value === scope) ?? PAUSE_SCOPES[0];
  return (
    <WriteDialog
      title={`Pause cluster ${cluster}`}
      route="/pause"
      body={{ clusterIds: [cluster], kinds: chosen.kinds, ...(ttl === "0" ? { noExpiry: true } : { ttlSeconds: Number(ttl) }) }}
      action={`Pause ${ttl === "0" ? "until resumed" : `for ${format.duration(Number(ttl))}`}`}
      command={({ reason }) => pauseCommand(cluster, scope, ttl, reason)}
      onClose={onClose}
      onDone={onDone}
      more={<Select label="It ends by itself after" value={ttl} onChange={setTtl} options={TTLS} />}
    >
      <Segmented label="What is stopped" options={PAUSE_SCOPES} value={scope} onChange={setScope} />
      <p>{chosen.words} Shards go on deciding and say what they would do; what is under way ends.</p>
    </WriteDialog>
  );
}

function ResumeDialog({ pause, onClose, onDone }: { pause: Pause; onClose: () => void; onDone: () => void }) {
  return (
    <WriteDialog
      title="Lift the pause"
      route="/resume"
      body={{ pauseId: pauseId(pause) }}
      action="Resume"
      command={({ reason }) => `bigfleet resume ${pauseId(pause)} --reason ${quoted(reason || "WHY")}`}
      onClose={onClose}
      onDone={onDone}
    >
      <p>It stops <bdi><b>{scopeText(pause)}</b></bdi>, set by <bdi>{pauseOwner(pause) || "unknown"}</bdi>: <bdi>{pauseReason(pause) || "no reason given"}</bdi>. With the next cycle these actions start again.</p>
    </WriteDialog>
  );
}

/** The button that opens the dialog; without writes, the command. */
export function PauseButton({ cluster, onDone }: { cluster: string; onDone: () => void }) {
  const status = useStatus();
  const [open, setOpen] = useState(false);
  if (status && !status.writes) return <span className="row"><span className="dim">This page only reads.</span><Command text={pauseCommand(cluster, "all", "14400", "")} /></span>;
  if (!status) return null;
  const done = (told: Told): void => {
    setOpen(false);
    announce(`Cluster ${cluster} is paused. ${(told.warnings ?? []).join(". ")}`, true);
    onDone();
  };
  return (
    <>
      <Button icon="pause" onClick={() => setOpen(true)}>Pause this cluster</Button>
      {open && <PauseDialog cluster={cluster} onClose={() => setOpen(false)} onDone={done} />}
    </>
  );
}

function Ends({ nanos }: { nanos: number | undefined }) {
  const now = useNow();
  if (!nanos) return <>until resumed</>;
  const left = (nanos / 1e6 - now) / 1000;
  return <time data-tip={format.utcOfNanos(nanos)}>{left > 0 ? `ends in ${format.duration(left)}` : "ending"}</time>;
}

export function PauseStrip({ pauses, onDone }: { pauses: readonly Pause[]; onDone: () => void }) {
  const writes = useStatus()?.writes === true;
  const [lifting, setLifting] = useState<Pause | null>(null);
  const done = (): void => {
    setLifting(null);
    announce("The pause is lifted", true);
    onDone();
  };
  return (
    <>
      {pauses.map((pause) => (
        <div key={pauseId(pause)} className="clusters-rail">
          <Icon name="pause" />
          <strong>Paused: <bdi>{scopeText(pause)}</bdi></strong>
          <span><bdi>{pauseReason(pause) || "no reason given"}</bdi></span>
          <span className="push">by <bdi>{pauseOwner(pause) || "unknown"}</bdi></span>
          <span><Ends nanos={pause.expiresUnixNanos} /></span>
          {writes && isLiftable(pause) ? <Button small onClick={() => setLifting(pause)}>Resume</Button> : <Command text={`bigfleet resume ${pauseId(pause)} --reason WHY`} />}
        </div>
      ))}
      {lifting && <ResumeDialog pause={lifting} onClose={() => setLifting(null)} onDone={done} />}
    </>
  );
}
