// Keyboard: single keys and chords ("g m"), documented by "?". A key never fires while someone types.
import { useEffect } from "react";
import { createStore } from "./store";

export interface KeyHelp {
  keys: string;
  what: string;
  group: string;
}
interface Binding extends KeyHelp {
  run: (event: KeyboardEvent) => void;
}

const bindings = new Set<Binding>();
export const helpShown = createStore(false);
export const searchShown = createStore(false);
export const currentKeys = (): readonly KeyHelp[] => [...bindings];

export function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName);
}

let prefix = "";
let prefixTimer = 0;

function pressed(event: KeyboardEvent): void {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  if (isTyping(event.target) || document.querySelector("dialog[open]")) return;
  const chord = prefix ? `${prefix} ${event.key}` : event.key;
  prefix = "";
  window.clearTimeout(prefixTimer);
  for (const binding of [...bindings].reverse()) {
    if (binding.keys !== chord) continue;
    event.preventDefault();
    binding.run(event);
    return;
  }
  if ([...bindings].some((binding) => binding.keys.startsWith(`${event.key} `))) {
    prefix = event.key;
    prefixTimer = window.setTimeout(() => (prefix = ""), 1200);
  }
}

export const startKeys = (): void => document.addEventListener("keydown", pressed);

/** Bind a key while the component is shown. Keep `run` stable (useCallback) or accept a new binding each time. */
export function useKey(keys: string, what: string, group: string, run: (event: KeyboardEvent) => void): void {
  useEffect(() => {
    const binding = { keys, what, group, run };
    bindings.add(binding);
    return () => void bindings.delete(binding);
  }, [keys, what, group, run]);
}
