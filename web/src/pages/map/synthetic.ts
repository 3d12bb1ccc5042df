// A map as the server would send it, for tests.
export interface SyntheticMachine {
  id: string;
  state: number;
  /** Number of its group. */
  group: number;
  cluster?: number;
  flags?: number;
}

export const GROUP_NAMES = ["b/r10", "b/r2", "b/r1", "a/r10", "a/r2", "a/r1"];

export const LEGEND = {
  state: ["", "Speculative", "Creating", "Idle", "Configuring", "Configured", "Draining", "Deleting", "Failed"],
  cluster: ["", "shop", "ml"],
  price: ["0", "0.05", "0.1", "more"],
};

export function synthetic(given: readonly SyntheticMachine[]): ArrayBuffer {
  const machines = [...given].sort((a, b) => a.group - b.group);
  const count = machines.length;
  const bytes = (pick: (m: SyntheticMachine) => number): Uint8Array => Uint8Array.from(machines, pick);
  const words = (pick: (m: SyntheticMachine) => number): Uint8Array => new Uint8Array(Uint16Array.from(machines, pick).buffer);
  const parts: [string, number, Uint8Array][] = [
    ["state", 1, bytes((m) => m.state)],
    ["clusterIdx", 2, words((m) => m.cluster ?? 0)],
    ["priceBucket", 1, bytes(() => 1)],
    ["flags", 1, bytes((m) => m.flags ?? 0)],
  ];
  const groups = GROUP_NAMES.map((name, group) => ({ name, start: machines.filter((m) => m.group < group).length, end: machines.filter((m) => m.group <= group).length })).filter(({ start, end }) => end > start);
  let offset = 0;
  const columns = parts.map(([name, width, data]) => {
    const described = { name, bytes: width, offset };
    offset += data.length;
    return described;
  });
  const ids = machines.map((m) => new TextEncoder().encode(m.id));
  let end = 0;
  const ends = new Uint8Array(Uint32Array.from(ids, (id) => (end += id.length)).buffer);
  const room = 4096;
  const text = JSON.stringify({
    version: 1, cycle: 7, count, by: "zone", layout: 1, groups, legend: LEGEND,
    columns: columns.map((column) => ({ ...column, offset: column.offset + 4 + room })),
    ids: { offset: offset + 4 + room, length: end },
  });
  const header = new TextEncoder().encode(text.padEnd(room));
  const length = new Uint8Array(Uint32Array.of(header.length).buffer);
  const whole = [length, header, ...parts.map(([, , data]) => data), ends, ...ids];
  const answer = new Uint8Array(whole.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of whole) {
    answer.set(part, at);
    at += part.length;
  }
  return answer.buffer;
}

/** `count` machines over two zones with three racks each. */
export const fleetOf = (count: number): SyntheticMachine[] =>
  Array.from({ length: count }, (_, index) => ({ id: `m-${index}`, state: 1 + (index % 8), group: index % 6, cluster: index % 3 }));
