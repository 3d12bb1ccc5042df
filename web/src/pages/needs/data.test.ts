import { expect, test } from "vitest";
import { joined } from "./data";
import type { NeedList } from "./types";

const list = (shardId: string, changes: Partial<NeedList> = {}): NeedList => ({
  shardId, cycle: 7, totalNeeds: 3, matchingNeeds: 2, needStates: { met: 2, arriving: 0, blocked: 0, short: 1 }, needs: [], ...changes,
});

test("lists of shards are added up, also where one of them tells only a part", () => {
  const all = joined([list("shard-0"), list("shard-1", { cycle: 9, warnings: ["half"] })], ["shard-2: down; its Needs are missing here."]);
  expect(all).toMatchObject({ total: 6, matching: 4, cycle: 9, rebuilding: false, counts: { met: 4, arriving: 0, blocked: 0, short: 2 } });
  expect(all.warnings).toEqual(["shard-2: down; its Needs are missing here.", "half"]);
});

test("the same warning is said once, and a shard without a cycle is rebuilding", () => {
  const all = joined([list("shard-0", { warnings: ["half"] }), list("shard-1", { cycle: 0, warnings: ["half"] })], []);
  expect(all.warnings).toEqual(["half"]);
  expect(all.rebuilding).toBe(true);
});

test("of a past cycle a Need is covered or not, and how many may have been met is told", () => {
  const row = { clusterId: "shop", needId: "n1", priority: 1, satisfied: true } as NeedList["needs"][number];
  const all = joined([list("shard-0", { needStates: { met: null, arriving: 0, blocked: 0, short: 1, unjudged: 2 }, needs: [row, { ...row, needId: "n2", satisfied: false }] })], []);
  expect(all.rows.map((each) => each.state)).toEqual(["covered", "uncovered"]);
  expect(all).toMatchObject({ unjudged: 2, counts: { met: 0, short: 1 } });
});

test("first reasons of all shards are added up, the most frequent first", () => {
  const of = (...needReasons: { code: string; needs: number }[]) => list("shard-0", { needReasons });
  const all = joined([of({ code: "b", needs: 2 }, { code: "a", needs: 1 }), of({ code: "a", needs: 3 }), list("shard-2")], []);
  expect(all.reasons).toEqual([["a", 4], ["b", 2]]);
});
