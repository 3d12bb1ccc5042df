import type { JournalRange, Status } from "../../core/types";

/**
 * The cycles that can be looked at. A server that does not tell what its journals keep has told at
 * least its last cycle; `notBefore` is where it refused to go further back.
 */
export function cyclesOf(status: Status | undefined, notBefore: number): { first: number; last: number } | null {
  const told = status && journalRange(status.journal);
  if (status?.journal && !told) return null;
  if (told) return told.last > notBefore ? { first: Math.max(told.first, notBefore), last: told.last } : null;
  const cycles = (status?.shards ?? []).map((shard) => shard.cycle).filter((cycle) => cycle > 0);
  if (cycles.length === 0) return null;
  const first = Math.max(1, notBefore);
  const last = Math.min(...cycles);
  return last > first ? { first, last } : null;
}

/** The cycles that every shard's journal keeps; null: no journal. */
export function journalRange(journal: Status["journal"]): { first: number; last: number } | null {
  if (!journal) return null;
  const isOne = (value: object): value is JournalRange => "lastCycle" in value || "firstCycle" in value;
  const all: JournalRange[] = Array.isArray(journal) ? journal : isOne(journal) ? [journal] : Object.values(journal);
  const known = all.filter((range) => (range.lastCycle ?? 0) > 0);
  if (known.length === 0) return null;
  const first = Math.max(...known.map((range) => range.firstCycle ?? 0));
  const last = Math.min(...known.map((range) => range.lastCycle ?? 0));
  return last > first ? { first: Math.max(1, first), last } : null;
}
