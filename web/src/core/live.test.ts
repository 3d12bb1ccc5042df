import { expect, test } from "vitest";
import { withRows } from "./live";
import type { Decision } from "./types";

const row = (id: string, at: number, outcome?: string): Decision => ({ id, cycle: 1, atUnixNanos: at, kind: "Bootstrap", sentence: id, outcome });

test("new decisions come first, newest on top", () => {
  expect(withRows([row("1.0", 1)], [row("2.0", 2), row("3.0", 3)]).map((d) => d.id)).toEqual(["3.0", "2.0", "1.0"]);
});

test("a decision that comes again takes the place of the old row", () => {
  const rows = withRows([row("2.0", 2), row("1.0", 1)], [row("1.0", 1, "done")]);
  expect(rows.map((d) => [d.id, d.outcome])).toEqual([["2.0", undefined], ["1.0", "done"]]);
});

test("decisions of two shards with one name are two", () => {
  const rows = withRows([{ ...row("1.0", 1), shardId: "a" }], [{ ...row("1.0", 2), shardId: "b" }]);
  expect(rows.map((d) => d.shardId)).toEqual(["b", "a"]);
});

test("the list is bounded", () => {
  const many = Array.from({ length: 500 }, (_, index) => row(`${index}.0`, index));
  expect(withRows([], many)).toHaveLength(200);
});
