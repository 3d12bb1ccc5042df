// What every dialog that changes the fleet has: who does it and why, one request, and what went wrong with it.
import { type FormEvent, type ReactNode, useState } from "react";
import { ApiError, postJson } from "../core/api";
import { Button, Command } from "./basics";
import { Dialog } from "./overlays";

export interface Audit {
  owner: string;
  reason: string;
}

export interface Told {
  text?: string;
  warnings?: string[];
}

interface WriteDialogProps {
  title: string;
  route: string;
  /** Of the request, beside who and why. */
  body: Record<string, unknown>;
  /** On the button that does it. */
  action: string;
  /** The same from a shell. */
  command: (audit: Audit) => string;
  onClose: () => void;
  onDone: (told: Told) => void;
  /** What will happen, and what can be chosen. */
  children: ReactNode;
  /** Below who and why. */
  more?: ReactNode;
}

export function WriteDialog({ title, route, body, action, command, onClose, onDone, children, more }: WriteDialogProps) {
  const [audit, setAudit] = useState<Audit>({ owner: "", reason: "" });
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<ApiError>();
  const send = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    setBusy(true);
    setError(undefined);
    try {
      onDone(await postJson<Told>(route, { ...body, owner: audit.owner.trim(), reason: audit.reason.trim() }));
    } catch (cause) {
      setError(cause instanceof ApiError ? cause : new ApiError(String(cause), 0, route));
      setBusy(false);
    }
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <form className="stack" onSubmit={(event) => void send(event)}>
        {children}
        <label className="write-field">Your name<input className="field" required data-autofocus value={audit.owner} maxLength={200} autoComplete="username" onChange={(event) => setAudit({ ...audit, owner: event.target.value })} /></label>
        <label className="write-field">Reason, shown to everyone and kept in the journal<input className="field" required value={audit.reason} maxLength={400} onChange={(event) => setAudit({ ...audit, reason: event.target.value })} /></label>
        {more}
        {error && <p role="alert" className="write-bad">{error.message}{error.field ? ` (${error.field})` : ""}{error.remedy ? `. ${error.remedy}` : ""}</p>}
        <div className="row">
          <Button kind="primary" type="submit" disabled={busy}>{action}</Button>
          <Button onClick={onClose}>Cancel</Button>
        </div>
        <Command text={command(audit)} />
      </form>
    </Dialog>
  );
}
