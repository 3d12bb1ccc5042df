// Decisions of the past by REST, those of now by the stream, as one list. Following can be paused.
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { ApiError, getJson, type Loaded, PAST_DEADLINE, type Query } from "../../core/api";
import { askedAt, type Moment, momentText } from "../../core/moments";
import { useResets, useTopic } from "../../core/live";
import type { Decision } from "../../core/types";
import { type Filters, fits, merge } from "./feed";

const PAGE = 200;

interface Answer {
  decisions: Decision[];
  next?: string;
  warnings?: string[];
}

export interface Feed {
  rows: readonly Decision[];
  /** Where older ones begin; undefined: there are none. */
  next: string | undefined;
  warnings: string[];
}

export interface Following {
  loaded: Loaded<Feed>;
  /** New ones that are not shown as following is paused. */
  waiting: number;
  showWaiting: () => void;
  older: () => void;
  loadingOlder: boolean;
  olderError: ApiError | undefined;
}

function queryOf(filters: Filters, more: Query): Query {
  const { kind, cluster, machine, need, shard } = filters;
  const named = need && !need.startsWith("need/") ? `need/${need}` : need;
  // The shard of a past moment counts: it is among `more`.
  return { kind: kind || undefined, cluster: cluster || undefined, machine: machine || undefined, need: named || undefined, shard: shard || undefined, limit: PAGE, ...more };
}

const asError = (cause: unknown): ApiError => (cause instanceof ApiError ? cause : new ApiError(String(cause), 0, "/decisions"));

/** `moment`: nothing after this cycle of its shard, and nothing new. */
export function useDecisions(filters: Filters, moment: Moment | null, paused: boolean): Following {
  const at = moment && momentText(moment);
  const version = useResets();
  const key = JSON.stringify([filters, at]);
  const wanted = useMemo(() => filters, [key]);
  const [feed, setFeed] = useState<{ key: string; data?: Feed; error?: ApiError; loading: boolean; loadedAt: number }>({ key, loading: true, loadedAt: 0 });
  const [waiting, setWaiting] = useState<readonly Decision[]>([]);
  const [older, setOlder] = useState<{ loading: boolean; error?: ApiError }>({ loading: false });
  const [turn, setTurn] = useState(0);
  const reload = useCallback(() => setTurn((n) => n + 1), []);

  useEffect(() => {
    const abort = new AbortController();
    setFeed((before) => (before.key === key ? { ...before, loading: true } : { key, loading: true, loadedAt: 0 }));
    setWaiting([]);
    setOlder({ loading: false });
    getJson<Answer>("/decisions", queryOf(wanted, askedAt(moment)), abort.signal, moment ? PAST_DEADLINE : undefined).then(
      (told) => setFeed({ key, data: { rows: told.decisions, next: told.next, warnings: told.warnings ?? [] }, loading: false, loadedAt: Date.now() }),
      (cause: unknown) => {
        if (!abort.signal.aborted) setFeed((before) => ({ ...before, error: asError(cause), loading: false }));
      },
    );
    return () => abort.abort();
  }, [wanted, key, at, turn, version]);

  const isPaused = useRef(paused);
  isPaused.current = paused;
  const hear = useCallback(
    (event: unknown) => {
      if (at !== null) return;
      const rows = ((event as { rows?: Decision[] }).rows ?? []).filter((row) => fits(row, { ...wanted, rail: "" }));
      if (rows.length === 0) return;
      if (isPaused.current) setWaiting((before) => merge(before, rows));
      else setFeed((before) => (before.data ? { ...before, data: { ...before.data, rows: merge(before.data.rows, rows) } } : before));
    },
    [wanted, at],
  );
  useTopic("decisions", hear);

  const showWaiting = useCallback(() => {
    setWaiting((held) => {
      if (held.length > 0) setFeed((before) => (before.data ? { ...before, data: { ...before.data, rows: merge(before.data.rows, held) } } : before));
      return [];
    });
  }, []);
  useEffect(() => {
    if (!paused) showWaiting();
  }, [paused, showWaiting]);

  const next = feed.data?.next;
  const olderNow = useCallback(() => {
    if (!next || older.loading) return;
    setOlder({ loading: true });
    getJson<Answer>("/decisions", queryOf(wanted, { ...askedAt(moment), before: next }), undefined, PAST_DEADLINE).then(
      (told) => {
        setFeed((before) => (before.key === key && before.data ? { ...before, data: { rows: merge(before.data.rows, told.decisions), next: told.decisions.length > 0 ? told.next : undefined, warnings: told.warnings ?? before.data.warnings } } : before));
        setOlder({ loading: false });
      },
      (cause: unknown) => setOlder({ loading: false, error: asError(cause) }),
    );
  }, [next, older.loading, wanted, key]);

  const mine = feed.key === key;
  return {
    loaded: { data: mine ? feed.data : undefined, error: mine ? feed.error : undefined, loading: feed.loading, loadedAt: feed.loadedAt, reload },
    waiting: waiting.length,
    showWaiting,
    older: olderNow,
    loadingOlder: older.loading,
    olderError: older.error,
  };
}
