import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { announce, announcement } from "./announce";

const SECOND = 1_000;

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal("window", { setTimeout, clearTimeout });
  // Whatever was said by an earlier test is long ago.
  vi.advanceTimersByTime(60 * SECOND);
  announcement.set("");
});
afterEach(() => {
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

test("at most one message in five seconds is said, and the newest is never lost", () => {
  const said: [at: number, text: string][] = [];
  const stop = announcement.subscribe(() => said.push([Date.now(), announcement.get()]));
  for (let step = 0; step < 20; step += 1) {
    announce(`cycle ${step}`);
    vi.advanceTimersByTime(SECOND);
  }
  vi.advanceTimersByTime(10 * SECOND);
  stop();
  const gaps = said.slice(1).map(([at], index) => at - (said[index]?.[0] ?? 0));
  expect(gaps.length).toBeGreaterThan(2);
  expect(Math.min(...gaps)).toBeGreaterThanOrEqual(5 * SECOND);
  expect(said.at(-1)?.[1]).toBe("cycle 19");
});

test("an answer to what a person just did is said at once", () => {
  announce("cycle 1");
  vi.advanceTimersByTime(0);
  announce("machine bm-1", true);
  vi.advanceTimersByTime(0);
  expect(announcement.get()).toBe("machine bm-1");
});
