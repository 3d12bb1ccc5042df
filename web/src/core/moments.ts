// A moment that is looked at: a cycle of one shard, as each shard counts its own, in one of its epochs.
import type { JournalRange, Status } from "./types";

export interface Moment {
  /** Empty: that of the only shard. */
  shard: string;
  /** Null: the current one. */
  epoch: number | null;
  cycle: number;
}

const MOMENT = /^(?:([^@,]{1,253})@)?(?:(\d{1,9}):)?(\d{1,15})$/;

/** 18231, 3:18231 or shard-0@3:18231; null: now. */
export function parseMoment(text: string): Moment | null {
  const [, shard = "", epoch, cycle] = MOMENT.exec(text) ?? [];
  if (!Number(cycle)) return null;
  return { shard, epoch: epoch === undefined ? null : Number(epoch), cycle: Number(cycle) };
}

/** 3:18231 */
export const cycleName = ({ epoch, cycle }: Moment): string => (epoch === null ? String(cycle) : `${epoch}:${cycle}`);
export const momentText = (moment: Moment): string => (moment.shard ? `${moment.shard}@` : "") + cycleName(moment);

/** What a route is asked with; of now nothing. */
export const askedAt = (moment: Moment | null): { at?: string; shard?: string } =>
  moment ? { at: cycleName(moment), shard: moment.shard || undefined } : {};

/** The same for a command. */
export const flagsAt = (moment: Moment | null): string =>
  moment ? ` --at ${cycleName(moment)}${moment.shard ? ` --shard ${moment.shard}` : ""}` : "";

export interface Range {
  shard: string;
  epoch: number | null;
  first: number;
  last: number;
}

/** The cycles that each shard's journal keeps since its last start, in the order of the shards' names. */
export function journalRanges(status: Status | null | undefined): Range[] {
  const journals = (status?.journal ?? {}) as Record<string, JournalRange>;
  return Object.entries(journals)
    .map(([shard, told]) => ({ shard, epoch: told.epoch ?? null, first: Math.max(1, told.firstCycle ?? 0), last: told.lastCycle ?? 0 }))
    .filter((range) => range.last > range.first)
    .sort((a, b) => (a.shard < b.shard ? -1 : 1));
}

/** A cycle of a shard as the page's address names it: alone where there is one shard. */
export function momentOf(status: Status | null | undefined, shard: string, cycle: number): string {
  const shards = status?.shards ?? [];
  const epoch = shards.find((each) => each.shardId === shard || shards.length === 1)?.shardEpoch ?? null;
  return momentText({ shard: shards.length > 1 ? shard : "", epoch, cycle });
}
