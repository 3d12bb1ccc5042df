// The output of `bigfleet replay DIR --diff -o json`, read from a file that anybody may have written: every value is
// checked, and what is wrong is named by its place.
export const MOST_BYTES = 32 * 1024 * 1024;
/** Of lists that are counted or shown; a file of ours has far fewer. */
const MOST_ROWS = 100_000;
const MOST_TEXT = 4_000;
const LARGEST_CHANGES = 10;

export const VERDICTS = ["IDENTICAL", "WITHIN", "BEYOND"] as const;
export type Verdict = (typeof VERDICTS)[number];

export interface DiffAction {
  kind: string;
  machine: string;
  cluster: string;
  need: string;
  dollarsPerHour: number;
  sentence: string;
}
export interface DiffChange {
  cycle: string;
  subject: string;
  dollarsPerHour: number;
  penaltyDollars: number;
  then: DiffAction[];
  now: DiffAction[];
}
export interface DiffRow {
  kind: string;
  cluster: string;
  added: number;
  removed: number;
}
export interface Diff {
  verdict: Verdict;
  /** Limits that are passed, in words. */
  beyond: string[];
  cycles: number;
  changed: number;
  first: string;
  last: string;
  firstChanged: string;
  notRecordedInFull: number;
  /** By kind and cluster. */
  actions: DiffRow[];
  plannedDollarsPerHour: number;
  recordedBoughtPerHour: number;
  preempts: number;
  penaltyDollars: number;
  /** Needs by name with their priority. */
  newShortfalls: [string, number][];
  goneShortfalls: [string, number][];
  /** The largest first, ten at most. */
  changes: DiffChange[];
  isClosed: boolean;
}

export class DiffProblem extends Error {
  constructor(
    /** "" is the file as a whole. */
    readonly field: string,
    message: string,
  ) {
    super(message);
    this.name = "DiffProblem";
  }
}

type Fields = Record<string, unknown>;

const below = (place: string, name: string): string => (place ? `${place}.${name}` : name);

function fieldsAt(value: unknown, place: string): Fields {
  if (value === null || typeof value !== "object" || Array.isArray(value)) throw new DiffProblem(place, "is not an object");
  return value as Fields;
}

function textAt(fields: Fields, name: string, place: string): string {
  const value = fields[name];
  if (typeof value !== "string") throw new DiffProblem(below(place, name), value === undefined ? "is missing" : "is not a text");
  return value.slice(0, MOST_TEXT);
}

/** null and absent are "". */
const textOrNothing = (fields: Fields, name: string, place: string): string => (fields[name] === null || fields[name] === undefined ? "" : textAt(fields, name, place));

function numberAt(fields: Fields, name: string, place: string): number {
  const value = fields[name];
  if (typeof value !== "number" || !Number.isFinite(value)) throw new DiffProblem(below(place, name), value === undefined ? "is missing" : "is not a number");
  return value;
}

function countAt(fields: Fields, name: string, place: string): number {
  const value = numberAt(fields, name, place);
  if (!Number.isInteger(value) || value < 0) throw new DiffProblem(below(place, name), "is not a whole number, 0 or more");
  return value;
}

function listAt(fields: Fields, name: string, place: string): unknown[] {
  const value = fields[name];
  if (!Array.isArray(value)) throw new DiffProblem(below(place, name), value === undefined ? "is missing" : "is not a list");
  if (value.length > MOST_ROWS) throw new DiffProblem(below(place, name), `has ${value.length.toLocaleString("en-US")} entries; at most ${MOST_ROWS.toLocaleString("en-US")} are read`);
  return value;
}

function actionsOf(document: Fields): DiffRow[] {
  const rows = new Map<string, DiffRow>();
  for (const side of ["added", "removed"] as const)
    listAt(document, side, "").forEach((each, index) => {
      const place = `${side}[${index}]`;
      const fields = fieldsAt(each, place);
      const [kind, cluster] = [textAt(fields, "kind", place), textAt(fields, "cluster", place)];
      const key = JSON.stringify([kind, cluster]);
      const row = rows.get(key) ?? { kind, cluster, added: 0, removed: 0 };
      row[side] += countAt(fields, "count", place);
      rows.set(key, row);
    });
  return [...rows.values()].sort((a, b) => b.added + b.removed - a.added - a.removed || a.kind.localeCompare(b.kind) || a.cluster.localeCompare(b.cluster));
}

function shortfallsAt(document: Fields, name: string): [string, number][] {
  const fields = fieldsAt(document[name], name);
  const names = Object.keys(fields);
  if (names.length > MOST_ROWS) throw new DiffProblem(name, `has ${names.length.toLocaleString("en-US")} Needs; at most ${MOST_ROWS.toLocaleString("en-US")} are read`);
  return names.map((need): [string, number] => [need.slice(0, MOST_TEXT), numberAt(fields, need, name)]).sort((a, b) => b[1] - a[1] || a[0].localeCompare(b[0]));
}

const actionAt = (value: unknown, place: string): DiffAction => {
  const fields = fieldsAt(value, place);
  return {
    kind: textAt(fields, "kind", place),
    machine: textAt(fields, "machine", place),
    cluster: textAt(fields, "cluster", place),
    need: textOrNothing(fields, "need", place),
    dollarsPerHour: numberAt(fields, "dollarsPerHour", place),
    sentence: textOrNothing(fields, "sentence", place),
  };
};

function changeAt(value: unknown, place: string): DiffChange {
  const fields = fieldsAt(value, place);
  const side = (name: "then" | "now"): DiffAction[] => listAt(fields, name, place).map((each, index) => actionAt(each, `${place}.${name}[${index}]`));
  return {
    cycle: textAt(fields, "cycle", place),
    subject: textAt(fields, "subject", place),
    dollarsPerHour: numberAt(fields, "dollarsPerHour", place),
    penaltyDollars: numberAt(fields, "penaltyDollars", place),
    then: side("then"),
    now: side("now"),
  };
}

/** Raises DiffProblem. */
export function readDiff(text: string): Diff {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (cause) {
    throw new DiffProblem("", `is not JSON: ${cause instanceof Error ? cause.message.slice(0, 200) : "it cannot be read"}`);
  }
  const document = fieldsAt(parsed, "");
  const verdict = VERDICTS.find((each) => each === document.verdict);
  if (!verdict) {
    if (document.verdict === undefined && "identical" in document) throw new DiffProblem("verdict", "is missing: this is a replay without --diff");
    throw new DiffProblem("verdict", document.verdict === undefined ? "is missing: this is not the output of bigfleet replay DIR --diff -o json" : `is not one of ${VERDICTS.join(", ")}`);
  }
  return {
    verdict,
    beyond: listAt(document, "beyond", "").map((each, index) => textAt({ [index]: each }, String(index), "beyond")),
    cycles: countAt(document, "cycles", ""),
    changed: countAt(document, "changed", ""),
    first: textAt(document, "first", ""),
    last: textAt(document, "last", ""),
    firstChanged: textOrNothing(document, "firstChanged", ""),
    notRecordedInFull: countAt(document, "notRecordedInFull", ""),
    actions: actionsOf(document),
    plannedDollarsPerHour: numberAt(document, "plannedDollarsPerHour", ""),
    recordedBoughtPerHour: numberAt(document, "recordedBoughtPerHour", ""),
    preempts: numberAt(document, "preempts", ""),
    penaltyDollars: numberAt(document, "penaltyDollars", ""),
    newShortfalls: shortfallsAt(document, "newShortfalls"),
    goneShortfalls: shortfallsAt(document, "goneShortfalls"),
    changes: listAt(document, "largestChanges", "").slice(0, LARGEST_CHANGES).map((each, index) => changeAt(each, `largestChanges[${index}]`)),
    isClosed: document.mode === "closed",
  };
}

export async function readDiffFile(file: Pick<File, "name" | "size" | "text">): Promise<Diff> {
  if (file.size > MOST_BYTES) throw new DiffProblem("", `has ${(file.size / 1024 / 1024).toFixed(0)} MiB; files of up to ${MOST_BYTES / 1024 / 1024} MiB are read: give --from and --to`);
  if (file.size === 0) throw new DiffProblem("", "is empty");
  return readDiff(await file.text());
}

/** How many at each priority, highest first. */
export function byPriority(shortfalls: readonly [string, number][]): [number, number][] {
  const counts = new Map<number, number>();
  for (const [, priority] of shortfalls) counts.set(priority, (counts.get(priority) ?? 0) + 1);
  return [...counts].sort((a, b) => b[0] - a[0]);
}
