// What a person chose for this browser: kept in its local storage, never sent anywhere.
import { createStore } from "./store";

export interface Settings {
  theme: "system" | "light" | "dark";
  palette: "standard" | "colour-blind";
  patterns: boolean;
}

const KEY = "bigfleet.settings";
const DEFAULTS: Settings = { theme: "system", palette: "standard", patterns: false };

export function readSettings(text: string | null): Settings {
  try {
    const kept = JSON.parse(text ?? "{}") as Partial<Settings>;
    return {
      theme: kept.theme === "light" || kept.theme === "dark" ? kept.theme : "system",
      palette: kept.palette === "colour-blind" ? "colour-blind" : "standard",
      patterns: kept.patterns === true,
    };
  } catch {
    return DEFAULTS;
  }
}

function kept(): Settings {
  try {
    return readSettings(window.localStorage.getItem(KEY));
  } catch {
    return DEFAULTS; // storage is switched off, or this is a test
  }
}

export const settings = createStore<Settings>(kept());

export function choose(changes: Partial<Settings>): void {
  settings.set((before) => ({ ...before, ...changes }));
  try {
    window.localStorage.setItem(KEY, JSON.stringify(settings.get()));
  } catch {
    // Storage is switched off: the choice holds for this visit.
  }
}
