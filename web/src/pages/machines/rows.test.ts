import { expect, test } from "vitest";
import { capacityOf, costSoFar, needOf, notesOf, serverSort, stateOf, type MachineRow, type StoryEvent } from "./rows";

const row: MachineRow = {
  machine: { id: "sp-1", state: "MACHINE_STATE_CONFIGURED", capacityType: "CAPACITY_TYPE_ON_DEMAND", cluster: "shop", lastError: "" },
  needId: "n3f9c",
  withheldByQuota: false,
  reservedFor: { need: "need/ml/n1" },
};

test("a row is told in words", () => {
  expect([stateOf(row), capacityOf(row), needOf(row)]).toEqual(["Configured", "OnDemand", "shop/n3f9c"]);
  expect(notesOf(row)).toEqual(["reserved for need/ml/n1"]);
});

const HOUR = 3.6e12;
const moved = (hours: number, to: string): StoryEvent => ({ atUnixNanos: hours * HOUR, source: "", toState: `MACHINE_STATE_${to}`, text: "" });

test("cost so far counts the hours in which a machine was billed", () => {
  const story = [moved(1, "CREATING"), moved(2, "IDLE"), { ...moved(2, "UNSPECIFIED") }, moved(4, "SPECULATIVE"), moved(9, "CREATING")];
  expect(costSoFar(story, 0.5, "Creating", 10 * HOUR)).toEqual({ dollars: 0.5 * (1 + 2 + 1), sinceNanos: HOUR });
});

test("without a story nothing is said about the cost", () => {
  expect(costSoFar([], 0.5, "Idle", HOUR)).toBeNull();
});

test("a sort of the table is the server's, where it has one; the youngest came last", () => {
  expect(serverSort({ key: "price", descending: true })).toBe("-price");
  expect(serverSort({ key: "id", descending: false })).toBe("name");
  expect(serverSort({ key: "age", descending: false })).toBe("-since");
  expect(serverSort({ key: "age", descending: true })).toBe("since");
  expect(serverSort({ key: "notes", descending: false })).toBe("");
  expect(serverSort(null)).toBe("");
});
