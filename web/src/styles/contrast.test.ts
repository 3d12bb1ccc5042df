// WCAG 2.2 AA: text 4.5:1, graphics that carry meaning 3:1, in both themes.
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { CATEGORICAL, MACHINE_STATES, PALETTES, type PaletteName } from "../core/palette";

const css = readFileSync(new URL("./tokens.css", import.meta.url), "utf8");

function tokens(theme: string): Record<string, string> {
  const block = css.split(`:root[data-theme="${theme}"] {`)[1]?.split("}")[0] ?? "";
  return Object.fromEntries([...block.matchAll(/--([\w-]+): (#[0-9a-f]{6});/g)].map((match) => [match[1], match[2] ?? ""]));
}

function luminance(colour: string): number {
  const parts = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16) / 255);
  const [r = 0, g = 0, b = 0] = parts.map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function contrast(a: string, b: string): number {
  const [low = 0, high = 0] = [luminance(a), luminance(b)].sort((x, y) => x - y);
  return (high + 0.05) / (low + 0.05);
}

const themes = ["light", "dark"] as const;

describe.each(themes)("%s", (theme) => {
  const t = tokens(theme);
  const of = (name: string): string => t[name] ?? "missing";
  test.each(["surface-0", "surface-1", "surface-2"])("text on %s", (surface) => {
    for (const text of ["text-1", "text-2", "accent", "good", "info", "warn", "danger"])
      expect([text, contrast(of(text), of(surface)) >= 4.5]).toEqual([text, true]);
  });
  test.each(["accent", "good", "info", "warn", "danger"])("pills of %s", (tone) => {
    expect(contrast(of(tone), of(`${tone}-soft`))).toBeGreaterThanOrEqual(4.5);
    expect(contrast(of("text-1"), of(`${tone}-soft`))).toBeGreaterThanOrEqual(4.5);
  });
  test("buttons and fields", () => {
    expect(contrast(of("on-accent"), of("accent"))).toBeGreaterThanOrEqual(4.5);
    expect(contrast(of("control-line"), of("surface-1"))).toBeGreaterThanOrEqual(3);
  });
  test.each(Object.keys(PALETTES) as PaletteName[])("states of the %s palette", (palette) => {
    for (const state of MACHINE_STATES) {
      const colour = PALETTES[palette][theme][state];
      expect([state, contrast(colour, of("surface-1")) >= 3]).toEqual([state, true]);
    }
  });
  test("series of charts", () => {
    for (const colour of CATEGORICAL[theme]) expect([colour, contrast(colour, of("surface-1")) >= 3]).toEqual([colour, true]);
  });
});
