// A map as the server would send it, for tests.
export interface SyntheticMachine {
  id: string;
  state: number;
  zone: number;
  rack: number;
  cluster?: number;
  flags?: number;
}

export const LEGEND = {
  state: ["", "Speculative", "Creating", "Idle", "Configuring", "Configured", "Draining", "Deleting", "Failed"],
  clusterIdx: ["", "shop", "ml"],
  zoneIdx: ["", "b", "a"],
  rackIdx: ["", "r10", "r2", "r1"],
  priceBucket: ["0", "0.05", "0.1", "more"],
};

export function synthetic(machines: readonly SyntheticMachine[]): ArrayBuffer {
  const count = machines.length;
  const bytes = (pick: (m: SyntheticMachine) => number): Uint8Array => Uint8Array.from(machines, pick);
  const words = (pick: (m: SyntheticMachine) => number): Uint8Array => new Uint8Array(Uint16Array.from(machines, pick).buffer);
  const parts: [string, number, Uint8Array][] = [
    ["state", 1, bytes((m) => m.state)],
    ["clusterIdx", 2, words((m) => m.cluster ?? 0)],
    ["priceBucket", 1, bytes(() => 1)],
    ["zoneIdx", 2, words((m) => m.zone)],
    ["rackIdx", 2, words((m) => m.rack)],
    ["flags", 1, bytes((m) => m.flags ?? 0)],
  ];
  let offset = 0;
  const columns = parts.map(([name, width, data]) => {
    const described = { name, bytes: width, offset };
    offset += data.length;
    return described;
  });
  const ids = machines.map((m) => new TextEncoder().encode(m.id));
  let end = 0;
  const ends = new Uint8Array(Uint32Array.from(ids, (id) => (end += id.length)).buffer);
  const header = new TextEncoder().encode(JSON.stringify({ version: 1, cycle: 7, count, legend: LEGEND, columns, ids: { offset, length: end } }));
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

/** `count` machines over two zones and three racks. */
export const fleetOf = (count: number): SyntheticMachine[] =>
  Array.from({ length: count }, (_, index) => ({ id: `m-${index}`, state: 1 + (index % 8), zone: 1 + (index % 2), rack: 1 + (index % 3), cluster: index % 3 }));
