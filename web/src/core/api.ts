// Requests to the server this page came from. Every answer is JSON (or bytes), every request has
// a deadline, and every failure says what happened and what to do.
import { useCallback, useEffect, useRef, useState } from "react";
import { formatAddress } from "./router";

export const API = "/api/v1";
const DEADLINE_MILLISECONDS = 10_000;
/** For questions about a past cycle: it is read from the journal and decided again. */
export const PAST_DEADLINE = 40_000;

export type Query = Readonly<Record<string, string | number | boolean | undefined | null>>;

export class ApiError extends Error {
  constructor(
    message: string,
    readonly status: number,
    readonly route: string,
    readonly field?: string,
    readonly remedy?: string,
  ) {
    super(message);
    this.name = "ApiError";
  }
  /** The source of this data is not switched on in this process. */
  get notWired(): boolean {
    return this.status === 503;
  }
  get unknown(): boolean {
    return this.status === 404;
  }
}

export function routeOf(path: string, query: Query = {}): string {
  const words: Record<string, string | undefined> = {};
  for (const [key, value] of Object.entries(query))
    words[key] = value === undefined || value === null ? undefined : String(value);
  return formatAddress(`${API}${path}`, words);
}

function text(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

export async function errorOf(response: Response, route: string): Promise<ApiError> {
  let body: Record<string, unknown> = {};
  try {
    const parsed: unknown = await response.json();
    if (parsed && typeof parsed === "object") body = parsed as Record<string, unknown>;
  } catch {
    // Not JSON, for example from a proxy: the status has to do.
  }
  const message = text(body.error) ?? `The server answered ${response.status} ${response.statusText}`.trim();
  return new ApiError(message, response.status, route, text(body.field), text(body.remedy));
}

async function answer(route: string, init: RequestInit & { deadline?: number }): Promise<Response> {
  const deadline = AbortSignal.timeout(init.deadline ?? DEADLINE_MILLISECONDS);
  const signal = init.signal ? AbortSignal.any([init.signal, deadline]) : deadline;
  let response: Response;
  try {
    response = await fetch(route, { ...init, signal, credentials: "same-origin" });
  } catch (cause) {
    if (init.signal?.aborted) throw cause;
    if (deadline.aborted) {
      const seconds = (init.deadline ?? DEADLINE_MILLISECONDS) / 1000;
      throw new ApiError(`No answer within ${seconds} s`, 0, route, undefined, "Try again; if it stays slow, look at the shard's cycle time.");
    }
    throw new ApiError("The server cannot be reached", 0, route, undefined, "Is bigfleet still running? The page tries again by itself.");
  }
  if (!response.ok) throw await errorOf(response, route);
  return response;
}

export async function getJson<T>(path: string, query: Query = {}, signal?: AbortSignal, deadline?: number): Promise<T> {
  const response = await answer(routeOf(path, query), { signal, deadline, headers: { accept: "application/json" } });
  return (await response.json()) as T;
}

export async function getBytes(path: string, query: Query = {}, signal?: AbortSignal): Promise<ArrayBuffer> {
  const response = await answer(routeOf(path, query), { signal, deadline: 30_000 });
  return response.arrayBuffer();
}

/** A POST. The header tells the server that it comes from this page and not from a foreign form. */
export async function postJson<T>(
  path: string,
  body: unknown,
  options: { signal?: AbortSignal; deadline?: number } = {},
): Promise<T> {
  const response = await answer(routeOf(path), {
    method: "POST",
    body: JSON.stringify(body),
    headers: { "content-type": "application/json", accept: "application/json", "x-bigfleet": "1" },
    ...options,
  });
  return (await response.json()) as T;
}

export interface Loaded<T> {
  data: T | undefined;
  error: ApiError | undefined;
  /** A request is under way; `data` may still hold the answer before. */
  loading: boolean;
  loadedAt: number;
  reload: () => void;
}

function asApiError(cause: unknown, route: string): ApiError {
  if (cause instanceof ApiError) return cause;
  return new ApiError(cause instanceof Error ? cause.message : String(cause), 0, route);
}

/**
 * GET a route, again whenever the route or `version` changes, and every `every` milliseconds.
 * The answer before stays until the next one is there. `path` null asks nothing.
 */
export function useApi<T>(
  path: string | null,
  query: Query = {},
  options: { version?: unknown; every?: number; deadline?: number } = {},
): Loaded<T> {
  const route = path === null ? null : routeOf(path, query);
  const [state, setState] = useState<{ route: string | null; data?: T; error?: ApiError; loading: boolean; loadedAt: number }>(
    { route: null, loading: route !== null, loadedAt: 0 },
  );
  const [turn, setTurn] = useState(0);
  const reload = useCallback(() => setTurn((n) => n + 1), []);
  const queryNow = useRef(query);
  queryNow.current = query;

  useEffect(() => {
    if (path === null || route === null) return;
    const abort = new AbortController();
    setState((before) =>
      before.route === route ? { ...before, loading: true } : { route, loading: true, loadedAt: 0 },
    );
    getJson<T>(path, queryNow.current, abort.signal, options.deadline).then(
      (data) => setState({ route, data, loading: false, loadedAt: Date.now() }),
      (cause: unknown) => {
        if (abort.signal.aborted) return;
        setState((before) => ({ ...before, route, error: asApiError(cause, route), loading: false }));
      },
    );
    return () => abort.abort();
  }, [path, route, turn, options.version]);

  useEffect(() => {
    if (!options.every || route === null) return;
    const timer = window.setInterval(reload, options.every);
    return () => window.clearInterval(timer);
  }, [options.every, route, reload]);

  const mine = state.route === route;
  return {
    data: mine ? state.data : undefined,
    error: mine ? state.error : undefined,
    loading: mine ? state.loading : route !== null,
    loadedAt: mine ? state.loadedAt : 0,
    reload,
  };
}
