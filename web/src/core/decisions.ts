// Decisions as sentences.
import type { Decision } from "./types";

/** "Bootstrap bm-0031 for shop: idle match at $0.00/h"; the server's reason alone where it names the machine itself. */
export function sentenceOf(row: Decision): string {
  if (!row.machine || row.sentence.includes(row.machine)) return row.sentence;
  const what = `${row.kind} ${row.machine}${row.cluster ? ` for ${row.cluster}` : ""}`;
  const why = row.need ? row.sentence.replace(` for ${row.need}`, "") : row.sentence;
  return why ? `${what}: ${why}` : what;
}

/** "action/18231.4" and "18231.4" are the same decision. */
export const decisionName = (id: string): string => id.replace(/^action\//, "");
