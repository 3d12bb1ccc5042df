import { expect, it } from "vitest";
import { wordsOfCalls } from "./calls";

it("a provider that was not called lately is unknown, not fast", () => {
  expect(wordsOfCalls(undefined)).toBeNull();
  expect(wordsOfCalls({ windowSeconds: 300 })).toBeNull();
});

it("tells latency and failures, with how many calls they are of", () => {
  const told = wordsOfCalls({ windowSeconds: 300, ended: 200, failed: 1, p50Seconds: 0.012, p95Seconds: 1.5 });
  expect(told?.latency).toMatch(/^p50 12.0.ms, p95 1.50.s$/);
  expect(told?.errors).toMatch(/^0.5.% failed$/);
  expect(told?.window).toMatch(/^200.calls in 5.min$/);
  expect(told?.tone).toBe("good");
});

it("turns amber and red by the share that failed, and claims no latency where all did", () => {
  expect(wordsOfCalls({ ended: 20, failed: 1, windowSeconds: 300 })?.tone).toBe("warn");
  const down = wordsOfCalls({ ended: 4, failed: 4, windowSeconds: 300 });
  expect([down?.tone, down?.latency]).toEqual(["danger", null]);
});
