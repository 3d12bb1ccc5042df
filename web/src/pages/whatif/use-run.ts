// One run of a what-if at a time; a newer one, or Cancel, ends the wait for the one before.
import { useCallback, useEffect, useRef, useState } from "react";
import { ApiError, postJson } from "../../core/api";
import { shardOfBase } from "./overlay";
import type { WhatIf } from "./types";

/** A little longer than the server gives its shards: theirs is the better message. */
const DEADLINE = 95_000;

export interface Question {
  lines: readonly string[];
  base: string;
  settle: boolean;
  /** Axes as `bigfleet whatif --sweep` reads them. */
  sweep: readonly string[];
}

export interface Run {
  asked: Question | null;
  told: WhatIf | undefined;
  error: ApiError | undefined;
  busySince: number;
  cancelled: boolean;
}

const NONE: Run = { asked: null, told: undefined, error: undefined, busySince: 0, cancelled: false };
export const keyOf = (question: Question): string => JSON.stringify([question.lines, question.base, question.settle, question.sweep]);

export function useRun() {
  const [run, setRun] = useState<Run>(NONE);
  const abort = useRef<AbortController | null>(null);
  useEffect(() => () => abort.current?.abort(), []);
  const start = useCallback((asked: Question): void => {
    abort.current?.abort();
    const mine = new AbortController();
    abort.current = mine;
    setRun((before) => ({ ...before, asked, error: undefined, cancelled: false, busySince: Date.now() }));
    const body = { edits: asked.lines, at: asked.base, shard: shardOfBase(asked.base), settle: asked.settle, sweep: asked.sweep, machines: true };
    postJson<WhatIf>("/whatif", body, { signal: mine.signal, deadline: DEADLINE }).then(
      (told) => mine.signal.aborted || setRun({ asked, told, error: undefined, busySince: 0, cancelled: false }),
      (cause: unknown) => {
        if (mine.signal.aborted) return;
        const error = cause instanceof ApiError ? cause : new ApiError(String(cause), 0, "/api/v1/whatif");
        setRun({ asked, told: undefined, error, busySince: 0, cancelled: false });
      },
    );
  }, []);
  const cancel = useCallback((): void => {
    abort.current?.abort();
    setRun({ ...NONE, cancelled: true });
  }, []);
  return { run, start, cancel };
}
