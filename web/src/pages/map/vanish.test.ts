import { describe, expect, test } from "vitest";
import { parseMap } from "./data";
import { fleetOf, GROUP_NAMES, synthetic } from "./synthetic";
import { MOST_IDS, removalOf } from "./vanish";

const map = parseMap(synthetic(fleetOf(3000)));
const groups = map.header.groups ?? [];
const rowsOf = (wanted: (group: string) => boolean): number[] => groups.filter(({ name }) => wanted(name)).flatMap(({ start, end }) => Array.from({ length: end - start }, (_, place) => start + place));
const removed = (rows: readonly number[]): string[] | null => removalOf(map, Uint32Array.from(rows));

describe("a selection that vanishes", () => {
  test("of few machines is told by their ids", () => {
    expect(removed([0, 1])).toEqual([`machines-remove id=${map.id(0)},${map.id(1)}`]);
    expect(removed([])).toEqual([]);
  });
  test("of whole racks and zones is told by their terms, and the rest by id", () => {
    expect(GROUP_NAMES).toContain("a/r1");
    expect(removed(rowsOf((name) => name === "a/r1"))).toEqual(["machines-remove zone=a label.topology.bigfleet/rack=r1"]);
    expect(removed(rowsOf((name) => name.startsWith("b/")))).toEqual(["machines-remove zone=b"]);
    expect(removed(rowsOf(() => true))).toEqual(["machines-remove zone=a", "machines-remove zone=b"]);
    const [first = 0] = rowsOf((name) => name === "a/r1");
    expect(removed([...rowsOf((name) => name.startsWith("b/")), first])).toEqual(["machines-remove zone=b", `machines-remove id=${map.id(first)}`]);
  });
  test("that no terms cover is not told in thousands of ids", () => {
    const half = rowsOf(() => true).filter((row) => row % 2 === 0);
    expect(half.length).toBeGreaterThan(MOST_IDS);
    expect(removed(half)).toBeNull();
  });
  test("of a map by cluster is told by the cluster, whatever group a machine still stands in", () => {
    const byCluster = parseMap(synthetic(fleetOf(3000)));
    byCluster.header.by = "cluster";
    const shop = Array.from({ length: byCluster.count }, (_, row) => row).filter((row) => byCluster.name("clusterIdx", row) === "shop");
    expect(removalOf(byCluster, Uint32Array.from(shop))).toEqual(["machines-remove cluster=shop"]);
    expect(removalOf(byCluster, Uint32Array.from(shop.slice(1)))).toBeNull();
  });
});
