import { expect, test } from "vitest";
import { funnelOf, nameOfRef, outcomeWords, rowOf, stateOf } from "./explained";
import type { NeedExplanation, NeedRow } from "./types";

const TOLD: NeedExplanation = {
  needId: "n09c0bf67066b", state: "NEED_STATE_SHORT", shardId: "shard-0", machines: 7,
  view: {
    need: { priority: 1000, aggregateResources: { cpu: "40" }, minUnit: { cpu: "8" }, group: "g1", requirements: [{ key: "rack", operator: "OPERATOR_SAME", values: [] }] },
    clusterId: "ml", satisfied: false, residualDeficit: { resources: { cpu: "40" } }, claimedMachineCount: 0,
  },
  rejects: [
    { outcome: "CANDIDATE_OUTCOME_REQUIREMENT", code: "supply.requirement", machines: 1 },
    { outcome: "CANDIDATE_OUTCOME_DOMAIN", code: "same.too-small", machines: 4 },
    { outcome: "CANDIDATE_OUTCOME_CREDITED", code: "keep.order", machines: 2 },
  ],
};

test("an explanation is shown as a row is", () => {
  expect(rowOf(TOLD, undefined)).toMatchObject({ clusterId: "ml", priority: 1000, state: "short", residualDeficit: { cpu: "40" }, group: "g1", sinceUnixNanos: undefined });
});

test("a past cycle does not tell the state: it is what the engine decided", () => {
  expect(stateOf("NEED_STATE_UNSPECIFIED")).toBe("");
  expect(rowOf({ ...TOLD, state: "NEED_STATE_UNSPECIFIED" }, undefined).state).toBe("short");
});

test("the funnel has every machine once, what the Need has first", () => {
  const parts = funnelOf(TOLD);
  expect(parts.map((part) => part.kind)).toEqual(["taken", "out", "out"]);
  expect(parts.reduce((sum, part) => sum + part.machines, 0)).toBe(TOLD.machines);
  expect(outcomeWords("CANDIDATE_OUTCOME_NOT_NEEDED")).toBe("not needed");
});

test("a holder is named by what it asks for", () => {
  const rows = [{ clusterId: "shop", needId: "n5", profileFingerprint: "p=1", group: "" }] as NeedRow[];
  expect(nameOfRef({ clusterId: "shop", profileFingerprint: "p=1", group: "" }, rows)).toBe("shop/n5");
  expect(nameOfRef({ clusterId: "shop", profileFingerprint: "p=2" }, rows)).toBeNull();
  expect(nameOfRef({ clusterId: "shop", needId: "n9" }, [])).toBe("shop/n9");
});
