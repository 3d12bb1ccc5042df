// Polite messages for screen readers: at most one in five seconds, the newest wins.
import { createStore } from "./store";

const PACE = 5_000;
export const announcement = createStore("");
let waiting: string | null = null;
let last = 0;
let timer = 0;

function say(): void {
  if (waiting === null) return;
  announcement.set(waiting);
  waiting = null;
  last = Date.now();
}

/** `soon`: an answer to something the person just did (moved, selected), said without waiting. */
export function announce(text: string, soon = false): void {
  waiting = text;
  window.clearTimeout(timer);
  const wait = soon ? 0 : Math.max(0, last + PACE - Date.now());
  timer = window.setTimeout(say, wait);
}
