// Colours of machine states (product.md 5.6), for the style sheet and for the canvas alike.
// Each keeps 3:1 against the card it is drawn on (styles/contrast.test.ts); never colour alone: every
// state has a letter code, and the map has patterns.
import { settings } from "./settings";
import { createStore } from "./store";

export const MACHINE_STATES = [
  "Speculative", "Creating", "Idle", "Configuring", "Configured", "Draining", "Deleting", "Failed",
] as const;
export type MachineState = (typeof MACHINE_STATES)[number];

export const STATE_CODES: Record<MachineState, string> = {
  Speculative: "Sp", Creating: "Cr", Idle: "Id", Configuring: "Cg", Configured: "Cd", Draining: "Dr", Deleting: "De", Failed: "Fa",
};

type Colours = Record<MachineState, string>;
export type PaletteName = "standard" | "colour-blind";

export const PALETTES: Record<PaletteName, { light: Colours; dark: Colours }> = {
  standard: {
    light: {
      Speculative: "#8591a5", Creating: "#2a94cf", Idle: "#2563d9", Configuring: "#b87d00",
      Configured: "#1b9352", Draining: "#d95f14", Deleting: "#85583b", Failed: "#d3222f",
    },
    dark: {
      Speculative: "#677388", Creating: "#6cc4f5", Idle: "#4385f5", Configuring: "#e8b13f",
      Configured: "#37b56d", Draining: "#f5893d", Deleting: "#ab7a59", Failed: "#f2555f",
    },
  },
  // After Okabe and Ito, whose colours differ in lightness too.
  "colour-blind": {
    light: {
      Speculative: "#8b8f96", Creating: "#3197cd", Idle: "#0067a5", Configuring: "#b98500",
      Configured: "#008f68", Draining: "#c85100", Deleting: "#5f4b3a", Failed: "#b2467f",
    },
    dark: {
      Speculative: "#6e737b", Creating: "#7cc9f2", Idle: "#2f8fd0", Configuring: "#f0cf3c",
      Configured: "#0bb58a", Draining: "#ec7420", Deleting: "#b09a83", Failed: "#e58fbd",
    },
  },
};

/** Colours for things without a meaning of their own: clusters, types, series of a chart. */
export const CATEGORICAL: { light: readonly string[]; dark: readonly string[] } = {
  light: ["#4f52d9", "#0e8f7e", "#c2571b", "#b13a8a", "#2b7fc4", "#7a8a12", "#8a5cd6", "#b8860b", "#3f8f3f", "#c43d4b", "#5a6b86", "#12909e"],
  dark: ["#8f91ff", "#35c4b0", "#f0894a", "#e275be", "#5cb0f2", "#b4c24a", "#b693f7", "#e0b340", "#6cc46c", "#f5707c", "#93a4c0", "#4dc6d4"],
};

export const isState = (name: string): name is MachineState => (MACHINE_STATES as readonly string[]).includes(name);

/** The theme that is shown now; charts and the map draw again when it changes. */
export const shown = createStore<{ theme: "light" | "dark"; palette: PaletteName }>({ theme: "light", palette: "standard" });

export const stateColour = (state: string): string => {
  const { theme, palette } = shown.get();
  return isState(state) ? PALETTES[palette][theme][state] : "#888888";
};

export const categorical = (index: number): string => {
  const colours = CATEGORICAL[shown.get().theme];
  return colours[index % colours.length] ?? "#888888";
};

function apply(): void {
  const { theme: wanted, palette } = settings.get();
  const dark = wanted === "system" ? window.matchMedia("(prefers-color-scheme: dark)").matches : wanted === "dark";
  const theme = dark ? "dark" : "light";
  const root = document.documentElement;
  root.dataset.theme = theme;
  for (const state of MACHINE_STATES)
    root.style.setProperty(`--state-${state.toLowerCase()}`, PALETTES[palette][theme][state]);
  shown.set({ theme, palette });
}

/** Follow the settings and the system; called once, before anything is drawn. */
export function startTheme(): void {
  apply();
  settings.subscribe(apply);
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", apply);
}
