import { describe, expect, test } from "vitest";
import * as format from "./format";

describe("numbers", () => {
  test("always have their unit", () => {
    expect(format.perHour(41.2)).toBe("$41.20/h");
    expect(format.seconds(0.0248)).toBe("24.8 ms");
    expect(format.seconds(1.2)).toBe("1.20 s");
    expect(format.duration(11540)).toBe("3 h 12 min");
    expect(format.bytes(240816128)).toBe("230 MiB");
  });
  test("almost everything is not everything", () => {
    expect(format.percent(0.9999)).toBe("99.9 %");
    expect(format.percent(1)).toBe("100 %");
  });
  test("what is not known is said, not shown as zero", () => {
    for (const each of [format.count, format.money, format.perHour, format.percent, format.seconds, format.duration])
      expect(each(null)).toBe("unknown");
    expect(format.money(Number.NaN)).toBe("unknown");
    expect(format.utcOfNanos(0)).toBe("unknown");
  });
});

describe("times", () => {
  test("are UTC, to the millisecond", () => {
    expect(format.utcOfNanos(1795007499078514024)).toBe("2026-11-18 13:11:39.078 UTC");
  });
  test("relative ones know past and future", () => {
    expect(format.relative(1000, 13_000)).toBe("12 s ago");
    expect(format.relative(181_000, 1000)).toBe("in 3 min");
  });
});

test("enum names of the wire become words", () => {
  expect(format.enumWord("MACHINE_STATE_CONFIGURED", "MACHINE_STATE_")).toBe("Configured");
  expect(format.enumWord("CAPACITY_TYPE_BARE_METAL", "CAPACITY_TYPE_")).toBe("BareMetal");
  expect(format.enumWord("Idle", "MACHINE_STATE_")).toBe("Idle");
});
