// The Needs of one shard or of all of them, kept fresh: asked again when the stream tells of changes.
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { ApiError, getJson, type Loaded, PAST_DEADLINE } from "../../core/api";
import { useResets, useTopic } from "../../core/live";
import { stillFor } from "../../core/scrolling";
import { NEED_STATES, type NeedCounts } from "../../core/types";
import { merged } from "./shapes";
import type { NeedList, NeedRow } from "./types";

export const FIRST_ROWS = 2_000;
export const MOST_ROWS = 20_000;
/** Between two looks: an answer of 20,000 rows costs more than one of a hundred. */
const PACE = (rows: number): number => (rows > FIRST_ROWS ? 5_000 : 1_000);
/** Also without news, as the demand of a Need that stays met may change. */
const QUIET = 10_000;

/** Nothing is asked for again before nothing has been scrolled for so long. */
const STILL = 600;

export interface NeedQuery {
  shards: readonly string[];
  cluster: string;
  state: string;
  source: string;
  /** Code of the first reason; empty: any. */
  reason: string;
  limit: number;
  /** A past cycle as a route is asked for it; null: now. */
  at: string | null;
}

export interface Needs {
  rows: NeedRow[];
  /** Of the cluster or of all, before any other filter. */
  total: number;
  /** That the filters of the server leave, before the limit. */
  matching: number;
  counts: NeedCounts;
  /** First reasons of all that the other filters leave, the most frequent first. */
  reasons: readonly (readonly [code: string, needs: number])[];
  /** Of a past cycle: Needs that may have been met. */
  unjudged: number;
  cycle: number;
  rebuilding: boolean;
  warnings: string[];
}

/** Answers are this page's own: their rows are named in place, as copies of 20,000 take their time. */
const named = (list: NeedList): NeedRow[] => {
  for (const row of list.needs) {
    row.shardId = list.shardId;
    row.state ??= row.satisfied ? "covered" : "uncovered";
  }
  return list.needs;
};

function reasonsOf(lists: readonly NeedList[]): Needs["reasons"] {
  const counts = new Map<string, number>();
  for (const list of lists) for (const { code, needs } of list.needReasons ?? []) counts.set(code, (counts.get(code) ?? 0) + needs);
  return [...counts].sort(([a, n], [b, m]) => m - n || a.localeCompare(b));
}

export function joined(lists: readonly NeedList[], failed: readonly string[]): Needs {
  const counts: NeedCounts = { met: 0, arriving: 0, blocked: 0, short: 0 };
  for (const list of lists) for (const state of NEED_STATES) counts[state] += list.needStates?.[state] ?? 0;
  const sum = (of: (list: NeedList) => number): number => lists.reduce((total, list) => total + of(list), 0);
  return {
    rows: merged(lists.map(named)),
    total: sum((list) => list.totalNeeds),
    matching: sum((list) => list.matchingNeeds ?? list.totalNeeds),
    counts,
    reasons: reasonsOf(lists),
    unjudged: sum((list) => list.needStates?.unjudged ?? 0),
    cycle: Math.max(0, ...lists.map((list) => list.cycle)),
    rebuilding: lists.length > 0 && lists.some((list) => list.cycle === 0),
    warnings: [...new Set([...failed, ...lists.flatMap((list) => list.warnings ?? [])])],
  };
}

async function ask(query: NeedQuery, signal: AbortSignal): Promise<Needs> {
  const { shards, cluster, state, source, reason, limit, at } = query;
  const asked = shards.map((shard) => getJson<NeedList>("/needs", { shard, cluster: cluster || undefined, state: state || undefined, source: source || undefined, reason: reason || undefined, reasons: true, limit, at: at ?? undefined }, signal, at === null ? undefined : PAST_DEADLINE));
  const told = await Promise.allSettled(asked);
  const lists: NeedList[] = [];
  const failed: string[] = [];
  let first: unknown;
  for (const [index, each] of told.entries()) {
    if (each.status === "fulfilled") lists.push({ ...each.value, shardId: each.value.shardId || shards[index] || "" });
    else {
      first ??= each.reason;
      failed.push(`${shards[index]}: ${each.reason instanceof Error ? each.reason.message : String(each.reason)}; its Needs are missing here.`);
    }
  }
  if (lists.length === 0 && first !== undefined) throw first;
  return joined(lists, failed);
}

/** What `query` asks for; `shards` empty: it is not known yet whom to ask. */
export function useNeeds(query: NeedQuery): Loaded<Needs> {
  const version = useResets();
  const key = JSON.stringify(query);
  const wanted = useMemo(() => query, [key]);
  const [state, setState] = useState<{ key: string; data?: Needs; error?: ApiError; loading: boolean; loadedAt: number }>({ key: "", loading: true, loadedAt: 0 });
  const [turn, setTurn] = useState(0);
  const reload = useCallback(() => setTurn((n) => n + 1), []);

  useEffect(() => {
    if (wanted.shards.length === 0) return;
    const abort = new AbortController();
    setState((before) => ({ ...before, key, loading: true }));
    ask(wanted, abort.signal).then(
      (data) => setState({ key, data, loading: false, loadedAt: Date.now() }),
      (cause: unknown) => {
        if (abort.signal.aborted) return;
        const error = cause instanceof ApiError ? cause : new ApiError(String(cause), 0, "/needs");
        setState((before) => ({ ...before, error, loading: false }));
      },
    );
    return () => abort.abort();
  }, [wanted, key, turn, version]);

  // News come up to four times a second: one look answers many of them.
  const busy = useRef(0);
  const pace = PACE(state.data?.rows.length ?? 0);
  const later = useCallback(() => {
    if (busy.current) return;
    const look = (): void => {
      // Reading 20,000 rows stops the page for a moment: not while a person scrolls.
      const still = stillFor();
      busy.current = still < STILL ? window.setTimeout(look, STILL - still) : 0;
      if (!busy.current && document.visibilityState === "visible" && wanted.at === null) reload();
    };
    busy.current = window.setTimeout(look, pace);
  }, [pace, reload, wanted]);
  useTopic("needs", later);
  useEffect(() => {
    const timer = window.setInterval(later, QUIET);
    return () => {
      window.clearInterval(timer);
      window.clearTimeout(busy.current);
      busy.current = 0;
    };
  }, [later]);

  // The rows before stay while other ones are asked for: the table does not blink with every chip.
  return { data: state.data, error: state.error, loading: state.loading, loadedAt: state.loadedAt, reload };
}
