import { describe, expect, test } from "vitest";
import { duration } from "../../core/format";
import { byShape, classOf, coverageOf, etaText, groupText, inOrder, merged, penaltyText, requirementText, shapeKey, shapeKeys } from "./shapes";
import type { NeedRow } from "./types";

const row = (changes: Partial<NeedRow>): NeedRow => ({
  shardId: "shard-0", clusterId: "shop", needId: "n1", priority: 100, state: "met", satisfied: true,
  aggregateResources: { cpu: "40" }, claimedMachineCount: 5, bootstrapCount: 0, provisionCount: 0, ...changes,
});
const everything = (): boolean => true;

describe("chips", () => {
  test("say what a machine must have", () => {
    const zone = "topology.kubernetes.io/zone";
    expect(requirementText({ key: zone, operator: "In", values: ["a"] })).toBe("zone = a");
    expect(requirementText({ key: zone, operator: "OPERATOR_IN", values: ["a", "b"] })).toBe("zone in a, b");
    expect(requirementText({ key: "hw/security-module", operator: "OPERATOR_DOES_NOT_EXIST" })).toBe("!security-module");
    expect(requirementText({ key: "topology.bigfleet/rack", operator: "Same" })).toBe("same rack");
  });
  test("an operator of a newer version is shown as it is", () => {
    expect(requirementText({ key: "cpu", operator: "Gt", values: ["4"] })).toBe("cpu Gt 4");
  });
  test("penalties are dollars, pinned, or not declared", () => {
    expect(["UNSPECIFIED", "ZERO", "HALF_DOLLAR", "PENALTY_BUCKET_4", "8192", "PINNED"].map(penaltyText)).toEqual(["", "$0", "$0.50", "$4", "$8,192", "pinned"]);
  });
  test("a gang is known by what its pods share", () => {
    expect(["margin", "topology.bigfleet/rack\0job=train-0,;", "rack\0", "\0"].map(groupText)).toEqual(["margin", "job=train-0", "rack ", " "]);
  });
  test("classes are those of the shard's gauges", () => {
    expect([2_000_000, 100_000, 100, 0, -10].map(classOf)).toEqual(["critical", "service", "batch", "other", "other"]);
  });
});

describe("coverage", () => {
  test("divides what is planned between what is there and what comes", () => {
    expect(coverageOf(row({ state: "arriving", arrivingMachines: 1 }))).toEqual({ have: 0.8, coming: 0.2, missing: 0 });
  });
  test("tells what is missing by the scarcest dimension", () => {
    const part = coverageOf(row({ state: "short", satisfied: false, residualDeficit: { cpu: "10" } }));
    expect(part).toEqual({ have: 0.75, coming: 0, missing: 0.25 });
  });
  test("nothing is claimed to be there while nothing is", () => {
    expect(coverageOf(row({ state: "short", satisfied: false, residualDeficit: { cpu: "40" }, claimedMachineCount: 0 }))).toEqual({ have: 0, coming: 0, missing: 1 });
    expect(coverageOf(row({ state: "blocked", claimedMachineCount: 0 }))).toEqual({ have: 0, coming: 1, missing: 0 });
  });
  test("is unknown where it cannot be told", () => {
    expect(coverageOf(row({ satisfied: false, state: "short", residualDeficit: { gpu: "1" } }))).toBeNull();
  });
});

describe("shapes", () => {
  const rack = [{ key: "rack", operator: "Same" }];
  const rows = [
    row({ needId: "a", priority: 900, requirements: rack }),
    row({ needId: "b", priority: 800 }),
    row({ needId: "c", priority: 700, requirements: rack, state: "short", satisfied: false }),
    row({ needId: "d", priority: 600, requirements: rack, state: "short", satisfied: false }),
  ];
  test("keep the order, and are cut where supply ran out", () => {
    expect(byShape(rows, everything).map((line) => (line.kind === "need" ? line.need.needId : line.kind))).toEqual(["shape", "a", "cut", "c", "d", "shape", "b"]);
  });
  test("the cut stays where it is when a filter hides what is above it", () => {
    const lines = byShape(rows, (each) => each.needId === "d");
    expect(lines.map((line) => line.kind)).toEqual(["shape", "cut", "need"]);
    expect(lines[0]).toMatchObject({ rows: 3, counts: { met: 1, short: 2 } });
  });
  test("needs of different shards do not contest the same machines", () => {
    expect(byShape([row({}), row({ shardId: "shard-1" })], everything).filter((line) => line.kind === "shape")).toHaveLength(2);
  });
  test("the plain order has neither headings nor cuts", () => {
    expect(inOrder(rows, everything)).toHaveLength(4);
  });
});

test("several shards make one walk: each keeps its own order, the higher priority goes first", () => {
  const walk = merged([[row({ needId: "a", priority: 10 }), row({ needId: "b", priority: 1 })], [row({ needId: "c", priority: 10 }), row({ needId: "d", priority: 5 })]]);
  expect(walk.map((each) => each.needId)).toEqual(["a", "c", "d", "b"]);
});

test("a profile that came before gives its shape without looking again, each shard its own", () => {
  const keyOf = shapeKeys();
  const rack = { requirements: [{ key: "rack", operator: "Same" }], profileFingerprint: "f1" };
  expect(keyOf(row(rack))).toBe(shapeKey(row(rack)));
  expect(keyOf(row({ ...rack, needId: "n2" }))).toBe(shapeKey(row(rack)));
  expect(keyOf(row({ ...rack, shardId: "shard-1" }))).not.toBe(shapeKey(row(rack)));
  expect(keyOf(row({}))).toBe(shapeKey(row({})));
});

test("the cut is where it is, also when what is above is not shown", () => {
  const rows = [row({ needId: "a" }), row({ needId: "b", state: "short", satisfied: false }), row({ needId: "c" })];
  expect(byShape(rows, (each) => each.needId === "c").map((line) => line.kind)).toEqual(["shape", "cut", "need"]);
  expect(byShape(rows, (each) => each.needId === "a").map((line) => line.kind)).toEqual(["shape", "need"]);
});

test("an ETA counts from its forecast, and says when its time has passed or there is none", () => {
  const eta = { path: "create", sentence: "", cycle: 1, atUnixNanos: 0, p50: 120, p80: 240, p95: 600 };
  expect(etaText(eta, 60_000)).toBe(`ETA ${duration(180)}`);
  expect(etaText(eta, 601_000)).toBe("overdue");
  expect(etaText({ ...eta, p50: undefined, p80: undefined, p95: undefined }, 0)).toBe("no ETA");
  expect(etaText(null, 0)).toBe("");
});
