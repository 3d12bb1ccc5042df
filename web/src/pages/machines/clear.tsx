// Helping a Failed machine out: a write, so it asks who and why first.
import { useState } from "react";
import { ApiError, postJson } from "../../core/api";
import { announce } from "../../core/announce";
import { useStatus } from "../../core/live";
import { Button, Command, Segmented } from "../../ui/basics";
import { Dialog } from "../../ui/overlays";

const MODES = [
  { value: "recheck", text: "Recheck" },
  { value: "retry", text: "Retry" },
  { value: "forget", text: "Forget" },
] as const;
type Mode = (typeof MODES)[number]["value"];
const MEANING: Record<Mode, string> = {
  recheck: "Asks the provider how the machine is; it goes on from there.",
  retry: "Tries the step that failed once more.",
  forget: "Takes it out of the fleet. The provider is not asked to delete anything.",
};

export function ClearFailed({ id, onDone }: { id: string; onDone: () => void }) {
  const status = useStatus();
  const [open, setOpen] = useState(false);
  const [mode, setMode] = useState<Mode>("recheck");
  const [owner, setOwner] = useState("");
  const [reason, setReason] = useState("");
  const [error, setError] = useState<ApiError>();
  const [busy, setBusy] = useState(false);
  const command = `bigfleet machines clear ${id} --mode ${mode}`;
  if (status && !status.writes) return <div className="row"><span className="dim">This page only reads; clear it with</span><Command text={`bigfleet machines clear ${id}`} /></div>;
  const send = async (): Promise<void> => {
    setBusy(true);
    setError(undefined);
    try {
      const done = await postJson<{ text: string }>(`/machines/${encodeURIComponent(id)}/clear`, { mode, owner: owner.trim(), reason: reason.trim() });
      announce(done.text || "Done", true);
      setOpen(false);
      onDone();
    } catch (cause) {
      setError(cause instanceof ApiError ? cause : new ApiError(String(cause), 0, ""));
    } finally {
      setBusy(false);
    }
  };
  return (
    <>
      <Button kind="primary" onClick={() => setOpen(true)}>Clear this failure</Button>
      {open && (
        <Dialog title={`Clear ${id}`} onClose={() => setOpen(false)}>
          <form className="stack" onSubmit={(event) => { event.preventDefault(); void send(); }}>
            <Segmented label="How" options={MODES} value={mode} onChange={setMode} />
            <p>{MEANING[mode]}</p>
            <label className="clear-field">Your name<input className="field" required data-autofocus value={owner} maxLength={200} onChange={(event) => setOwner(event.target.value)} /></label>
            <label className="clear-field">Reason, kept in the journal<input className="field" required value={reason} maxLength={400} onChange={(event) => setReason(event.target.value)} /></label>
            {error && <p role="alert" className="machines-bad">{error.message}{error.remedy ? `. ${error.remedy}` : ""}</p>}
            <div className="row"><Button kind="primary" type="submit" disabled={busy}>{MODES.find((each) => each.value === mode)?.text} this machine</Button><Button onClick={() => setOpen(false)}>Cancel</Button><span className="push"><Command text={command} /></span></div>
          </form>
        </Dialog>
      )}
    </>
  );
}
