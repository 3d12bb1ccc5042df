import { describe, expect, it } from "vitest";
import { byPriority, type DiffProblem, MOST_BYTES, readDiff, readDiffFile } from "./diff";

const ACTION = { kind: "Provision", machine: "od-3", cluster: "shop", need: null, dollarsPerHour: 0.38, sentence: "cheapest" };
const DIFF = {
  verdict: "BEYOND", beyond: ["preempts>0 (2)"], cycles: 600, changed: 3, first: "1:1", last: "1:600", firstChanged: "1:42", notRecordedInFull: 1,
  added: [{ kind: "Provision", cluster: "shop", count: 4 }, { kind: "Preempt", cluster: "ml", count: 2 }],
  removed: [{ kind: "Provision", cluster: "shop", count: 1 }],
  plannedDollarsPerHour: 1.14, recordedBoughtPerHour: 3, preempts: 2, penaltyDollars: -8,
  newShortfalls: { "need/ml/n1": 100, "need/ml/n2": 1000, "need/ml/n3": 100 }, goneShortfalls: {},
  largestChanges: [{ cycle: "1:42", subject: "need/shop/n9", dollarsPerHour: 0.38, penaltyDollars: 0, then: [], now: [ACTION] }],
};
const without = (name: string): string => JSON.stringify(Object.fromEntries(Object.entries(DIFF).filter(([key]) => key !== name)));
const problemOf = (text: string): [string, string] => {
  try {
    readDiff(text);
  } catch (problem) {
    return [(problem as DiffProblem).field, (problem as DiffProblem).message];
  }
  return ["", "none"];
};

describe("a diff", () => {
  it("is read whole", () => {
    const diff = readDiff(JSON.stringify(DIFF));
    expect(diff.actions).toEqual([{ kind: "Provision", cluster: "shop", added: 4, removed: 1 }, { kind: "Preempt", cluster: "ml", added: 2, removed: 0 }]);
    expect(byPriority(diff.newShortfalls)).toEqual([[1000, 1], [100, 2]]);
    expect(diff.changes[0]?.now[0]).toEqual({ ...ACTION, need: "" });
    expect(diff.isClosed).toBe(false);
    expect(readDiff(JSON.stringify({ ...DIFF, mode: "closed", firstChanged: null })).isClosed).toBe(true);
  });
  it("shows ten of its largest changes", () => {
    expect(readDiff(JSON.stringify({ ...DIFF, largestChanges: Array.from({ length: 30 }, () => DIFF.largestChanges[0]) })).changes).toHaveLength(10);
  });
});

describe("a file that is something else", () => {
  it.each([
    ["", "", /is not JSON/],
    ["null", "", /is not an object/],
    ["[]", "", /is not an object/],
    ['{"identical": 5}', "verdict", /without --diff/],
    ['{"a": 1}', "verdict", /not the output of bigfleet replay/],
    [JSON.stringify({ ...DIFF, verdict: "FINE" }), "verdict", /is not one of/],
    [without("cycles"), "cycles", /is missing/],
    [without("largestChanges"), "largestChanges", /is missing/],
    [JSON.stringify({ ...DIFF, cycles: 1.5 }), "cycles", /whole number/],
    [JSON.stringify({ ...DIFF, beyond: [7] }), "beyond.0", /is not a text/],
    [JSON.stringify({ ...DIFF, added: [{ kind: "Preempt", cluster: "ml", count: "2" }] }), "added[0].count", /is not a number/],
    [JSON.stringify({ ...DIFF, newShortfalls: [] }), "newShortfalls", /is not an object/],
    [JSON.stringify({ ...DIFF, goneShortfalls: { "need/a/b": null } }), "goneShortfalls.need/a/b", /is not a number/],
    [JSON.stringify({ ...DIFF, largestChanges: [{ ...DIFF.largestChanges[0], now: [{ ...ACTION, kind: 5 }] }] }), "largestChanges[0].now[0].kind", /is not a text/],
    [JSON.stringify({ ...DIFF, removed: Array.from({ length: 100_001 }, () => 0) }), "removed", /at most 100,000/],
  ])("is refused by the place of what is wrong (%#)", (text, field, message) => {
    const [place, words] = problemOf(text);
    expect(place).toBe(field);
    expect(words).toMatch(message);
  });
  it("is not read at all where it is huge or empty", async () => {
    const unread = { name: "diff.json", text: () => Promise.reject(new Error("it was read")) };
    await expect(readDiffFile({ ...unread, size: MOST_BYTES + 1 })).rejects.toThrow(/up to 32 MiB/);
    await expect(readDiffFile({ ...unread, size: 0 })).rejects.toThrow(/is empty/);
  });
});
