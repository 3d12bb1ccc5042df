// Whether what the page shows is how the fleet is: live, catching up, stale or offline.
// Pure: events and the time go in, the next state comes out.

export const STALE_AFTER = 5_000;
/** The server comments every 15 s on an open stream: one that is silent for longer is dead. */
const DEAD_AFTER = 40_000;
const FIRST_RETRY = 1_000;
const LONGEST_RETRY = 15_000;

export type Phase = "connecting" | "catching-up" | "live" | "stale" | "offline";

export interface Connection {
  phase: Phase;
  /** When the last event came, in milliseconds of the browser's clock; 0: none yet. */
  lastEventAt: number;
  /** Since when nothing new came; only while stale or offline. */
  since: number;
  /** When the next attempt is made; only while offline. */
  retryAt: number;
  attempts: number;
}

export const INITIAL: Connection = { phase: "connecting", lastEventAt: 0, since: 0, retryAt: 0, attempts: 0 };

export type Happening =
  | { kind: "opened"; at: number; resumed: boolean }
  | { kind: "event"; at: number; behind?: boolean }
  | { kind: "lost"; at: number }
  | { kind: "retrying"; at: number }
  | { kind: "tick"; at: number };

export const retryDelay = (attempts: number): number =>
  Math.min(LONGEST_RETRY, FIRST_RETRY * 2 ** Math.min(attempts, 10));

export function next(now: Connection, what: Happening): Connection {
  switch (what.kind) {
    case "opened":
      return { ...now, phase: what.resumed ? "catching-up" : "connecting", attempts: 0, retryAt: 0 };
    case "event":
      return { phase: what.behind ? "catching-up" : "live", lastEventAt: what.at, since: 0, retryAt: 0, attempts: 0 };
    case "lost":
      return {
        ...now,
        phase: "offline",
        since: now.since || now.lastEventAt || what.at,
        retryAt: what.at + retryDelay(now.attempts),
        attempts: now.attempts + 1,
      };
    case "retrying":
      return { ...now, retryAt: 0 };
    case "tick": {
      // The browser's clock was set back: what came last came just now, as far as it can tell.
      if (what.at < now.lastEventAt) return { ...now, lastEventAt: what.at };
      const quiet = now.lastEventAt > 0 && what.at - now.lastEventAt > STALE_AFTER;
      if (quiet && (now.phase === "live" || now.phase === "catching-up"))
        return { ...now, phase: "stale", since: now.lastEventAt };
      return now;
    }
  }
}

/** No byte came for so long that nobody is at the other end: a laptop slept, or a network went away. */
export const isDead = (heardAt: number, at: number): boolean => at - heardAt > DEAD_AFTER;

/** Data on the page may be older than it looks. */
export const isOld = (connection: Connection): boolean =>
  connection.phase === "stale" || (connection.phase === "offline" && connection.lastEventAt > 0);
