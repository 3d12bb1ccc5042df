import { expect, test } from "vitest";
import { addressOfObject, piecesOf } from "./objects";

test("objects within a sentence are found, punctuation is not part of them", () => {
  const text = "3 machines that fit are held by need/shop/n568fdbdfe7ff (priority 100000); see machine/rs-0033.";
  const pieces = piecesOf(text);
  expect(pieces.filter((piece) => piece.object).map((piece) => piece.text)).toEqual(["need/shop/n568fdbdfe7ff", "machine/rs-0033"]);
  expect(pieces.map((piece) => piece.text).join("")).toBe(text);
});

test("a sentence without objects is one piece, markup stays text", () => {
  expect(piecesOf("<img src=x onerror=alert(1)>")).toEqual([{ text: "<img src=x onerror=alert(1)>", object: false }]);
});

test("every kind has its address; an action has a number with a dot", () => {
  expect(addressOfObject("action/188.46")).toBe("/decisions?decision=188.46");
  expect(addressOfObject("need/ml/n3f9c")).toBe("/needs?need=ml%2Fn3f9c");
  expect(addressOfObject("machine/a b/c")).toBe("/machines/a%20b%2Fc");
  expect(addressOfObject("pod/ml/x/y")).toBeNull();
  expect(addressOfObject("machine/")).toBeNull();
});
