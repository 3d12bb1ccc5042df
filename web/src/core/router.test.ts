import { describe, expect, test } from "vitest";
import { formatAddress, matchPath, parseAddress } from "./router";

describe("addresses", () => {
  test("a pattern gives its parameters, decoded", () => {
    expect(matchPath("/machines/:id", "/machines/od%2F7%20a")).toEqual({ id: "od/7 a" });
  });
  test("the last parameter takes slashes, as in need names", () => {
    expect(matchPath("/needs/:name", "/needs/ml/n3f9c")).toEqual({ name: "ml/n3f9c" });
  });
  test("another path does not match", () => {
    expect(matchPath("/machines/:id", "/machines")).toBeNull();
    expect(matchPath("/", "/machines")).toBeNull();
    expect(matchPath("/machines", "/machines/x")).toBeNull();
  });
  test("a stray percent sign stays as it was typed", () => {
    expect(matchPath("/machines/:id", "/machines/100%")).toEqual({ id: "100%" });
  });
  test("writing and reading an address gives the same query, in one order", () => {
    const text = formatAddress("/needs", { z: "1", cluster: "a&b", at: undefined, empty: "" });
    expect(text).toBe("/needs?cluster=a%26b&z=1");
    const [path = "", search = ""] = text.split("?");
    expect(parseAddress(path, `?${search}`)).toEqual({ path: "/needs", query: { cluster: "a&b", z: "1" } });
  });
  test("a slash at the end is the same page", () => {
    expect(parseAddress("/map/", "").path).toBe("/map");
    expect(parseAddress("/", "").path).toBe("/");
  });
});
