// How a provider answered lately, in words.
import * as format from "../../core/format";

export interface ProviderCalls {
  windowSeconds?: number;
  ended?: number;
  failed?: number;
  p50Seconds?: number;
  p95Seconds?: number;
}

export type CallTone = "good" | "warn" | "danger";
/** Shares of failed calls from which people look, and from which something is wrong. */
export const WARN_SHARE = 0.05;
export const DANGER_SHARE = 0.25;

export interface CallWords {
  /** null: no call succeeded. */
  latency: string | null;
  errors: string;
  window: string;
  tone: CallTone;
}

/** null: no call has ended lately, so nothing is known. */
export function wordsOfCalls(calls: ProviderCalls | undefined): CallWords | null {
  const ended = calls?.ended ?? 0;
  if (!calls || ended === 0) return null;
  const failed = calls.failed ?? 0;
  const share = failed / ended;
  return {
    latency: failed < ended ? `p50 ${format.seconds(calls.p50Seconds ?? 0)}, p95 ${format.seconds(calls.p95Seconds ?? 0)}` : null,
    errors: failed === 0 ? "none failed" : `${format.percent(share)} failed`,
    window: `${format.plural(ended, "call")} in ${format.duration(calls.windowSeconds)}`,
    tone: share >= DANGER_SHARE ? "danger" : share >= WARN_SHARE ? "warn" : "good",
  };
}
