import { expect, test } from "vitest";
import { decisionName, sentenceOf } from "./decisions";

const row = { id: "action/17.2", cycle: 17, atUnixNanos: 1, kind: "Bootstrap", machine: "bm-1", cluster: "shop", need: "need/shop/n1" };

test("a decision is told in one sentence, without its Need", () => {
  const whole = "Bootstrap bm-1 for shop: idle match at $0.00/h";
  expect(sentenceOf({ ...row, sentence: "idle match at $0.00/h for need/shop/n1" })).toBe(whole);
  expect(sentenceOf({ ...row, sentence: `${whole} for need/shop/n1` })).toBe(whole);
  expect(sentenceOf({ ...row, sentence: "" })).toBe("Bootstrap bm-1 for shop");
});

test("a machine is taken from a cluster", () => {
  expect(sentenceOf({ ...row, kind: "Reclaim", sentence: "" })).toBe("Reclaim bm-1 from shop");
});

test("a decision's name is its cycle and index", () => {
  expect([decisionName("action/17.2"), decisionName("17.2")]).toEqual(["17.2", "17.2"]);
});
