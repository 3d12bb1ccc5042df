// Helping a Failed machine out: a write, so it asks who and why first.
import { useState } from "react";
import { announce } from "../../core/announce";
import { useStatus } from "../../core/live";
import { Button, Command, Segmented } from "../../ui/basics";
import { type Told, WriteDialog } from "../../ui/writes";

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
  if (status && !status.writes) return <div className="row"><span className="dim">This page only reads; clear it with</span><Command text={`bigfleet machines clear ${id}`} /></div>;
  const done = (told: Told): void => {
    announce(told.text || "Done", true);
    setOpen(false);
    onDone();
  };
  return (
    <>
      <Button kind="primary" onClick={() => setOpen(true)}>Clear this failure</Button>
      {open && (
        <WriteDialog
          title={`Clear ${id}`}
          route={`/machines/${encodeURIComponent(id)}/clear`}
          body={{ mode }}
          action={`${MODES.find((each) => each.value === mode)?.text} this machine`}
          command={() => `bigfleet machines clear ${id} --mode ${mode}`}
          onClose={() => setOpen(false)}
          onDone={done}
        >
          <Segmented label="How" options={MODES} value={mode} onChange={setMode} />
          <p>{MEANING[mode]}</p>
        </WriteDialog>
      )}
    </>
  );
}
