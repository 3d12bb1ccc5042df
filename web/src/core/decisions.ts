// Decisions as sentences.
import type { Decision } from "./types";

/** "Bootstrap bm-0031 for shop: idle match at $0.00/h" */
export function sentenceOf(row: Decision): string {
  // The Need has a link of its own beside the sentence.
  const why = row.need ? row.sentence.replace(` for ${row.need}`, "") : row.sentence;
  if (!row.machine || why.includes(row.machine)) return why;
  const word = row.kind === "Reclaim" || row.kind === "Preempt" ? "from" : "for";
  const what = `${row.kind} ${row.machine}${row.cluster ? ` ${word} ${row.cluster}` : ""}`;
  return why ? `${what}: ${why}` : what;
}

/** "action/18231.4" and "18231.4" are the same decision. */
export const decisionName = (id: string): string => id.replace(/^action\//, "");

/** Every shard counts its own cycles: "18231.4@shard-1" in the page's address. */
export const decisionKey = (row: Pick<Decision, "id" | "shardId">): string => decisionName(row.id) + (row.shardId ? `@${row.shardId}` : "");

/** Whether the address means this decision; one without a shard means that of any. */
export const isDecision = (row: Decision, key: string): boolean => key === (key.includes("@") ? decisionKey(row) : decisionName(row.id));
