// A tour plays by itself after a while without input: what a person does is told to the server, which counts.
import { useEffect } from "react";
import { postJson } from "../../core/api";
import { useNow } from "../../core/time";

/** Input is told at most this often: it only has to keep a tour from playing by itself. */
const PRESENT_EVERY = 4_000;

export function Countdown({ nanos }: { nanos: number }) {
  const now = useNow();
  const left = Math.ceil((nanos / 1e6 - now) / 1000);
  return <span className="dim">{left > 0 ? `Plays by itself in ${left} s without input` : "Plays by itself now"}</span>;
}

/** Input on this page keeps the tour from playing by itself; the first one starts its count. */
export function usePresence(active: boolean): void {
  useEffect(() => {
    if (!active) return;
    let last = 0;
    const tell = (): void => {
      if (Date.now() - last < PRESENT_EVERY) return;
      last = Date.now();
      // A failure shows with the next poll, and with the connection.
      postJson("/scenario", { do: "present" }).catch(() => undefined);
    };
    tell();
    for (const kind of ["pointerdown", "keydown", "wheel"]) window.addEventListener(kind, tell, { passive: true });
    return () => { for (const kind of ["pointerdown", "keydown", "wheel"]) window.removeEventListener(kind, tell); };
  }, [active]);
}
