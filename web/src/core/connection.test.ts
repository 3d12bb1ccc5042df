import { describe, expect, test } from "vitest";
import { type Connection, type Happening, INITIAL, isDead, isOld, next, retryDelay } from "./connection";

const after = (...what: Happening[]): Connection => what.reduce(next, INITIAL);

describe("the connection", () => {
  test("is live after an event", () => {
    expect(after({ kind: "opened", at: 0, resumed: false }, { kind: "event", at: 10 }).phase).toBe("live");
  });
  test("is stale after five seconds without an event, since the last one", () => {
    const quiet = after({ kind: "event", at: 1000 }, { kind: "tick", at: 6001 });
    expect(quiet).toMatchObject({ phase: "stale", since: 1000 });
    expect(isOld(quiet)).toBe(true);
    expect(after({ kind: "event", at: 1000 }, { kind: "tick", at: 6000 }).phase).toBe("live");
  });
  test("is not stale for as long as the browser's clock was set back", () => {
    const back = after({ kind: "event", at: 3_600_000 }, { kind: "tick", at: 1000 });
    expect(back).toMatchObject({ phase: "live", lastEventAt: 1000 });
    expect(next(back, { kind: "tick", at: 6001 }).phase).toBe("stale");
  });
  test("is dead when not even comments came, as after an hour of sleep", () => {
    expect(isDead(1000, 31_000)).toBe(false);
    expect(isDead(1000, 3_601_000)).toBe(true);
  });
  test("waits 1 s, then longer, at most 15 s", () => {
    expect([0, 1, 2, 3, 4, 50].map(retryDelay)).toEqual([1000, 2000, 4000, 8000, 15000, 15000]);
  });
  test("offline keeps since when, and when it tries again", () => {
    const lost = after({ kind: "event", at: 1000 }, { kind: "lost", at: 4000 }, { kind: "retrying", at: 5000 }, { kind: "lost", at: 5001 });
    expect(lost).toMatchObject({ phase: "offline", since: 1000, retryAt: 7001 });
  });
  test("a resumed connection catches up until its first event", () => {
    const resumed = after({ kind: "event", at: 1 }, { kind: "lost", at: 2 }, { kind: "opened", at: 3, resumed: true });
    expect(resumed.phase).toBe("catching-up");
    expect(next(resumed, { kind: "event", at: 4 })).toMatchObject({ phase: "live", attempts: 0 });
  });
});
