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
