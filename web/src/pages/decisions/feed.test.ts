import { describe, expect, test } from "vitest";
import type { Decision } from "../../core/types";
import { csvOf, fateOf, fits, type Filters, groupsOf, merge } from "./feed";

const row = (cycle: number, index: number, changes: Partial<Decision> = {}): Decision => ({
  id: `action/${cycle}.${index}`, cycle, atUnixNanos: cycle * 1e9, kind: "Bootstrap", machine: `bm-${index}`, cluster: "shop",
  need: "need/shop/n1", disposition: "enqueued", outcome: null, sentence: `Bootstrap bm-${index} for shop`, shardId: "shard-0", ...changes,
});
const NONE: Filters = { kind: "", cluster: "", machine: "", need: "", rail: "", shard: "" };

describe("the feed", () => {
  test("is newest first, each decision once, with its newest outcome", () => {
    const rows = merge([row(2, 1), row(2, 0)], [row(3, 0), row(2, 1, { outcome: "success" })]);
    expect(rows.map((each) => each.id)).toEqual(["action/3.0", "action/2.1", "action/2.0"]);
    expect(rows[1]?.outcome).toBe("success");
  });
  test("decisions of two shards with the same number are two", () => {
    expect(merge([row(2, 0)], [row(2, 0, { shardId: "shard-1" })])).toHaveLength(2);
  });
  test("is grouped by cycle and shard, in the engine's order within", () => {
    const groups = groupsOf(merge([], [row(2, 0), row(2, 1), row(3, 0), row(2, 0, { shardId: "shard-1" })]));
    expect(groups.map((group) => [group.cycle, group.shardId, group.total])).toEqual([[3, "shard-0", 1], [2, "shard-0", 2], [2, "shard-1", 1]]);
    expect(groups[1]?.runs[0]?.rows.map((each) => each.id)).toEqual(["action/2.0", "action/2.1"]);
  });
  test("a run stays one when some of it are done and others not yet", () => {
    const many = Array.from({ length: 12 }, (_, index) => row(5, index, { outcome: index < 5 ? "success" : null }));
    expect(groupsOf(merge([], many))[0]?.runs.map((run) => [run.rows.length, run.shown])).toEqual([[12, 3]]);
  });
  test("many of the same are shown as a few and a number; a different fate begins a new run", () => {
    const many = Array.from({ length: 20 }, (_, index) => row(5, index, index < 15 ? {} : { disposition: "capped" }));
    const [group] = groupsOf(merge([], many));
    expect(group?.runs.map((run) => [run.rows.length, run.shown])).toEqual([[15, 3], [5, 5]]);
    expect(group?.counts).toEqual([{ kind: "Bootstrap", total: 20, stopped: 5 }]);
  });
});

test("a fate is told by disposition and outcome", () => {
  expect(fateOf(row(1, 0))).toBe("started");
  expect(fateOf(row(1, 0, { outcome: "success" }))).toBe("done");
  expect(fateOf(row(1, 0, { outcome: "cancelled: it is needed again" }))).toBe("failed");
  expect(fateOf(row(1, 0, { disposition: "DISPOSITION_DRY_RUN" }))).toBe("stopped");
  expect(fateOf(row(1, 0, { disposition: "" }))).toBe("unknown");
});

test("filters hold for rows of the stream as for those of the server", () => {
  const held = row(1, 0, { disposition: "held" });
  expect(fits(held, { ...NONE, kind: "Reclaim,Bootstrap", cluster: "shop", need: "shop/n1", rail: "stopped" })).toBe(true);
  expect(fits(held, { ...NONE, rail: "held", machine: "machine/bm-0" })).toBe(true);
  for (const other of [{ kind: "Delete" }, { cluster: "ml" }, { machine: "bm-1" }, { need: "need/ml/n" }, { rail: "capped" }, { shard: "shard-9" }])
    expect(fits(held, { ...NONE, ...other })).toBe(false);
});

test("a spreadsheet gets text, also of names that look like formulas", () => {
  const csv = csvOf([row(1, 0, { machine: '=HYPERLINK("http://x")', deltaHourlyCost: -0.38, sentence: "a, b" })]);
  expect(csv).toContain(`"'=HYPERLINK(""http://x"")"`);
  expect(csv).toContain(",-0.38,");
  expect(csv.split("\r\n")).toHaveLength(3);
});
