// How old a heartbeat may be.
export const AMBER_SECONDS = 30;
export const RED_SECONDS = 60;

export type HeartbeatTone = "good" | "warn" | "danger" | "neutral";

/** 0 is a shard that was never heard. */
export function heartbeatTone(lastUnixSeconds: number, nowMilliseconds: number): HeartbeatTone {
  if (lastUnixSeconds <= 0) return "neutral";
  const age = nowMilliseconds / 1000 - lastUnixSeconds;
  return age >= RED_SECONDS ? "danger" : age >= AMBER_SECONDS ? "warn" : "good";
}
