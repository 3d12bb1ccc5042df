import { describe, expect, it } from "vitest";
import { askedAt, flagsAt, journalRanges, momentOf, momentText, parseMoment } from "./moments";
import type { Status } from "./types";

const statusOf = (...shards: string[]): Status =>
  ({ shards: shards.map((shardId, index) => ({ shardId, shardEpoch: index + 1 })), journal: Object.fromEntries(shards.map((id, index) => [id, { epoch: index + 1, firstCycle: 3, lastCycle: 40 * index + 20 }])) }) as unknown as Status;

describe("a moment", () => {
  it("is a cycle, with its epoch and its shard where they are named", () => {
    expect(parseMoment("18231")).toEqual({ shard: "", epoch: null, cycle: 18231 });
    expect(parseMoment("3:18231")).toEqual({ shard: "", epoch: 3, cycle: 18231 });
    expect(parseMoment("shard-1@3:18231")).toEqual({ shard: "shard-1", epoch: 3, cycle: 18231 });
    for (const text of ["", "0", "soon", "3:", "@5", "a@1,b@2", "-4", "1.5"]) expect(parseMoment(text)).toBeNull();
    for (const text of ["7", "3:7", "shard-1@3:7"]) expect(momentText(parseMoment(text)!)).toBe(text);
  });
  it("is asked of its shard, with its epoch", () => {
    expect(askedAt(null)).toEqual({});
    expect(askedAt(parseMoment("shard-1@3:7"))).toEqual({ at: "3:7", shard: "shard-1" });
    expect(flagsAt(parseMoment("shard-1@3:7"))).toBe(" --at 3:7 --shard shard-1");
    expect(flagsAt(parseMoment("3:7"))).toBe(" --at 3:7");
    expect(flagsAt(null)).toBe("");
  });
  it("of one shard needs no name", () => {
    expect(momentOf(statusOf("shard-0"), "shard-0", 9)).toBe("1:9");
    expect(momentOf(statusOf("shard-0", "shard-1"), "shard-1", 9)).toBe("shard-1@2:9");
    expect(momentOf(null, "shard-1", 9)).toBe("9");
  });
});

describe("journals", () => {
  it("are told for each shard; one that keeps nothing is left out", () => {
    const status = statusOf("shard-1", "shard-0");
    expect(journalRanges(status)).toEqual([
      { shard: "shard-0", epoch: 2, first: 3, last: 60 },
      { shard: "shard-1", epoch: 1, first: 3, last: 20 },
    ]);
    const none = { ...status, journal: { "shard-0": { epoch: 1, firstCycle: null, lastCycle: null } } } as Status;
    expect(journalRanges(none)).toEqual([]);
    expect(journalRanges(null)).toEqual([]);
  });
});
