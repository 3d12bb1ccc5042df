// One clock for all relative times on the page: a tick a second, not a timer for each.
import { useSyncExternalStore } from "react";
import { serverNow } from "./live";

const listeners = new Set<() => void>();
let now = Date.now();
let timer = 0;

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  if (!timer) {
    timer = window.setInterval(() => {
      now = serverNow();
      for (const each of [...listeners]) each();
    }, 1000);
    now = serverNow();
  }
  return () => {
    listeners.delete(listener);
    if (listeners.size === 0) {
      window.clearInterval(timer);
      timer = 0;
    }
  };
}

/** The server's time in milliseconds, renewed every second. */
export const useNow = (): number => useSyncExternalStore(subscribe, () => now);
