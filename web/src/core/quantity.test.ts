import { describe, expect, test } from "vitest";
import { amount, missingShare, quantity, resourcesText, unitsIn, unwrapped } from "./quantity";

describe("quantities", () => {
  test("are read with both kinds of units", () => {
    expect(quantity("996200m")).toBeCloseTo(996.2);
    expect(quantity("28Gi")).toBe(28 * 2 ** 30);
    expect(quantity("1e3")).toBe(1000);
    expect(quantity("2M")).toBe(2e6);
    for (const odd of ["", "8 cpus", "Gi", "--1", "1Zi", undefined]) expect(quantity(odd)).toBeNull();
  });
  test("are written as people read them", () => {
    expect(amount("cpu", "996200m")).toBe("996.2");
    expect(amount("cpu", "1550m")).toBe("1.55");
    expect(amount("memory", "3653160Mi")).toBe("3.48Ti");
    expect(amount("memory", "1100Gi")).toBe("1.07Ti");
    expect(amount("nvidia.com/gpu", "24")).toBe("24");
    expect(amount("cpu", "1250000")).toBe("1,250,000");
  });
  test("what cannot be read is shown as it came", () => {
    expect(amount("cpu", "<b>8</b>")).toBe("<b>8</b>");
    expect(resourcesText({ "nvidia.com/gpu": "24", cpu: "8" })).toBe("gpu 24, cpu 8");
  });
  test("wrapped or not, they are the same", () => {
    expect(unwrapped({ resources: { cpu: "8" } })).toEqual({ cpu: "8" });
    expect(unwrapped({ cpu: "8" })).toEqual({ cpu: "8" });
    expect(unwrapped(null)).toEqual({});
  });
});

describe("what is missing", () => {
  test("is told by the scarcest dimension", () => {
    expect(missingShare({ cpu: "40", memory: "64Gi" }, { cpu: "10", memory: "32Gi" })).toBe(0.5);
    expect(missingShare({ cpu: "40" }, {})).toBe(0);
    expect(missingShare({ cpu: "40" }, undefined)).toBe(0);
  });
  test("is everything for what was not asked in that dimension, and unknown where it cannot be read", () => {
    expect(missingShare({ cpu: "40" }, { gpu: "1" })).toBeNull();
    expect(missingShare({ cpu: "0" }, { cpu: "1" })).toBe(1);
  });
  test("units are rounded up", () => {
    expect(unitsIn({ cpu: "41", memory: "1Gi" }, { cpu: "8" })).toBe(6);
    expect(unitsIn({ cpu: "40" }, {})).toBeNull();
  });
});
