import { expect, test } from "vitest";
import { isLiftable, pauseId, pauseOwner, pauseReason, scopeText } from "./pauses";

const PAUSE = {
  pauseId: "1f0c77ab02", source: "PAUSE_SOURCE_RPC", audit: { owner: "ann", reason: "release day" },
  scope: { shardIds: [], clusterIds: ["shop"], kinds: ["ACTION_KIND_RECLAIM", "ACTION_KIND_PREEMPT"], rebalanceOnly: false },
};

test("a pause says what it stops, who set it and why", () => {
  expect(scopeText(PAUSE)).toBe("Reclaim, Preempt for cluster shop");
  expect([pauseId(PAUSE), pauseOwner(PAUSE), pauseReason(PAUSE)]).toEqual(["1f0c77ab02", "ann", "release day"]);
});

test("an empty scope is everything", () => {
  expect(scopeText({ scope: {} })).toBe("all actions");
  expect(scopeText({ scope: { clusterIds: ["a", "b"], shardIds: ["shard-0"] } })).toBe("all actions for clusters a, b in shard shard-0");
  expect(scopeText({ scope: { rebalanceOnly: true } })).toBe("moves of machines between shards");
});

test("what a flag or a file of a shard sets is lifted there", () => {
  expect(isLiftable(PAUSE)).toBe(true);
  expect(isLiftable({ source: "PAUSE_SOURCE_FLAG" })).toBe(false);
});
