import { expect, it } from "vitest";
import { heartbeatTone } from "./heartbeat";

it("turns amber after 30 s and red after 60 s, and claims nothing of a shard that was never heard", () => {
  const now = 1_000_000_000;
  const seconds = now / 1000;
  expect([1, 29, 30, 59, 60, 3600].map((age) => heartbeatTone(seconds - age, now))).toEqual(["good", "good", "warn", "warn", "danger", "danger"]);
  expect(heartbeatTone(0, now)).toBe("neutral");
});
