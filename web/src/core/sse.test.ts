import { expect, test } from "vitest";
import { EventCutter } from "./sse";

const STREAM = 'event: overview\nid: 3.17.1\ndata: {"a":\ndata: 1}\n\n: alive\n\nevent: reset\r\ndata: {}\r\n\r\n';
const EXPECTED = [
  { event: "overview", id: "3.17.1", data: '{"a":\n1}' },
  { event: "reset", id: "3.17.1", data: "{}" },
];

test("events are the same however the stream is cut into pieces", () => {
  for (let size = 1; size <= STREAM.length; size += 1) {
    const cutter = new EventCutter();
    const events = [];
    for (let at = 0; at < STREAM.length; at += size) events.push(...cutter.push(STREAM.slice(at, at + size)));
    expect(events).toEqual(EXPECTED);
  }
});

test("half an event is kept back", () => {
  expect(new EventCutter().push("event: overview\ndata: 1\n")).toEqual([]);
});
