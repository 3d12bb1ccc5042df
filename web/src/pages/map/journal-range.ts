import type { JournalRange, Status } from "../../core/types";

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
