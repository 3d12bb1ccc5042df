import { describe, expect, test } from "vitest";
import { marksOf, metShare, pauseCommand, rollupQuarantine, sorted, worstOf } from "./standing";
import type { Cluster } from "./types";

const cluster = (id: string, changes: Partial<Cluster> = {}): Cluster => ({
  id, capacityRequests: 0, capacityRequestsPending: 0, upcomingNodes: 0, connected: true, needs: { met: 3, arriving: 0, blocked: 1, short: 0 }, ...changes,
});

describe("how a cluster stands", () => {
  test("nothing is called met while someone waits", () => {
    expect(metShare(cluster("a"))).toBe(0.75);
    expect(worstOf(cluster("a"))).toBe("blocked");
  });
  test("what is not told is not known", () => {
    expect(metShare(cluster("a", { needs: undefined }))).toBeNull();
    expect(metShare(cluster("a", { needs: { met: 0, arriving: 0, blocked: 0, short: 0 } }))).toBeNull();
    expect(worstOf(cluster("a", { needs: undefined }))).toBe("");
  });
  test("marks name what is wrong, the worst first", () => {
    const odd = cluster("a", { connected: false, pauses: [{}], session: { refusedRollup: { text: "too many Needs" } } });
    expect(marksOf(odd, { kind: "QUARANTINE_KIND_ROLLUP", subject: "a" }).map((mark) => mark.text)).toEqual(["quarantine", "roll-up refused", "disconnected", "paused"]);
    expect(marksOf(cluster("a"), undefined)).toEqual([]);
    expect(marksOf(cluster("a", { error: "its operator sends no reports" }), undefined).map((mark) => mark.text)).toEqual(["no report"]);
  });
  test("a quarantine of a provider's List is not the cluster's", () => {
    expect(rollupQuarantine(cluster("sim"), [{ kind: "QUARANTINE_KIND_PROVIDER_LIST", subject: "sim" }])).toBeUndefined();
  });
});

test("lists are sorted by number or name, both ways, equal ones by name", () => {
  const all = [cluster("b", { machines: 2 }), cluster("a", { machines: 2 }), cluster("c", { machines: 9 })];
  expect(sorted(all, { key: "machines", descending: true }).map((each) => each.id)).toEqual(["c", "a", "b"]);
  expect(sorted(all, { key: "id", descending: false }).map((each) => each.id)).toEqual(["a", "b", "c"]);
  expect(sorted(all, null)).toBe(all);
});

test("a pause has its command, safe to paste", () => {
  expect(pauseCommand("shop", "taking", "1800", "release day")).toBe("bigfleet pause --cluster shop --kind reclaim --kind preempt --kind delete --ttl 30m --reason 'release day'");
  expect(pauseCommand("a'b; rm -rf /", "all", "0", "")).toBe("bigfleet pause --cluster 'a'\\''b; rm -rf /' --no-expiry --reason WHY");
});
