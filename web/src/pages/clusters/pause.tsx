// Pause and resume of one cluster: writes, so they state their scope, and ask who, why and until when.
import { type ReactNode, useState } from "react";
import { announce } from "../../core/announce";
import { ApiError, postJson } from "../../core/api";
import * as format from "../../core/format";
import { useStatus } from "../../core/live";
import { isLiftable, pauseId, pauseOwner, pauseReason, scopeText } from "../../core/pauses";
import { useNow } from "../../core/time";
import type { Pause } from "../../core/types";
import { Button, Command, Segmented, Select } from "../../ui/basics";
import { Icon } from "../../ui/icons";
import { Dialog } from "../../ui/overlays";
import { PAUSE_SCOPES, pauseCommand, type PauseScopeName, TTLS } from "./standing";

interface Told {
  warnings?: string[];
}

/** Sends one write; `send` answers whether it went through. */
function useWrite(done: (told: Told) => void) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<ApiError>();
  const send = async (path: string, body: unknown): Promise<void> => {
    setBusy(true);
    setError(undefined);
    try {
      done(await postJson<Told>(path, body));
    } catch (cause) {
      setError(cause instanceof ApiError ? cause : new ApiError(String(cause), 0, path));
    } finally {
      setBusy(false);
    }
  };
  return { busy, error, send };
}

function Fields({ owner, setOwner, reason, setReason }: { owner: string; setOwner: (text: string) => void; reason: string; setReason: (text: string) => void }) {
  return (
    <>
      <label className="clusters-field">Your name<input className="field" required data-autofocus value={owner} maxLength={200} autoComplete="username" onChange={(event) => setOwner(event.target.value)} /></label>
      <label className="clusters-field">Reason, shown to everyone and kept in the journal<input className="field" required value={reason} maxLength={400} onChange={(event) => setReason(event.target.value)} /></label>
    </>
  );
}

const Problem = ({ error }: { error: ApiError | undefined }): ReactNode =>
  error && <p role="alert" className="clusters-bad">{error.message}{error.field ? ` (${error.field})` : ""}{error.remedy ? `. ${error.remedy}` : ""}</p>;

function PauseDialog({ cluster, onClose, onDone }: { cluster: string; onClose: () => void; onDone: (told: Told) => void }) {
  const [scope, setScope] = useState<PauseScopeName>("all");
  const [ttl, setTtl] = useState<string>("3600");
  const [owner, setOwner] = useState("");
  const [reason, setReason] = useState("");
  const { busy, error, send } = useWrite(onDone);
  const chosen = PAUSE_SCOPES.find((each) => each.value === scope) ?? PAUSE_SCOPES[0];
  const body = { clusterIds: [cluster], kinds: chosen.kinds, owner: owner.trim(), reason: reason.trim(), ...(ttl === "0" ? { noExpiry: true } : { ttlSeconds: Number(ttl) }) };
  return (
    <Dialog title={`Pause cluster ${cluster}`} onClose={onClose}>
      <form className="stack" onSubmit={(event) => { event.preventDefault(); void send("/pause", body); }}>
        <Segmented label="What is stopped" options={PAUSE_SCOPES} value={scope} onChange={setScope} />
        <p>{chosen.words} Shards go on deciding and say what they would do; what is under way ends.</p>
        <Fields owner={owner} setOwner={setOwner} reason={reason} setReason={setReason} />
        <Select label="It ends by itself after" value={ttl} onChange={setTtl} options={TTLS} />
        <Problem error={error} />
        <div className="row">
          <Button kind="primary" type="submit" disabled={busy}>Pause {ttl === "0" ? "until resumed" : `for ${format.duration(Number(ttl))}`}</Button>
          <Button onClick={onClose}>Cancel</Button>
        </div>
        <Command text={pauseCommand(cluster, scope, ttl, reason)} />
      </form>
    </Dialog>
  );
}

function ResumeDialog({ pause, onClose, onDone }: { pause: Pause; onClose: () => void; onDone: (told: Told) => void }) {
  const [owner, setOwner] = useState("");
  const [reason, setReason] = useState("");
  const { busy, error, send } = useWrite(onDone);
  return (
    <Dialog title="Lift the pause" onClose={onClose}>
      <form className="stack" onSubmit={(event) => { event.preventDefault(); void send("/resume", { pauseId: pauseId(pause), owner: owner.trim(), reason: reason.trim() }); }}>
        <p>It stops <bdi><b>{scopeText(pause)}</b></bdi>, set by <bdi>{pauseOwner(pause) || "unknown"}</bdi>: <bdi>{pauseReason(pause) || "no reason given"}</bdi>. With the next cycle these actions start again.</p>
        <Fields owner={owner} setOwner={setOwner} reason={reason} setReason={setReason} />
        <Problem error={error} />
        <div className="row"><Button kind="primary" type="submit" disabled={busy}>Resume</Button><Button onClick={onClose}>Cancel</Button><span className="push"><Command text={`bigfleet resume ${pauseId(pause)} --reason WHY`} /></span></div>
      </form>
    </Dialog>
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
