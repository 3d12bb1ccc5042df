// The one connection for live updates: topics that parts of the page ask for, resumed where it
// broke, and what everything else on the page reads from it.
import { useEffect } from "react";
import { API } from "./api";
import { type Connection, INITIAL, type Happening, isDead, next } from "./connection";
import { decisionKey } from "./decisions";
import { formatAddress } from "./router";
import { EventCutter, type ServerEvent } from "./sse";
import { createStore, useStore } from "./store";
import type { Decision, Finding, Overview, Status } from "./types";

export type Topic = "overview" | "decisions" | "map" | "needs" | "costs" | "alerts" | "scenario";
type Handler = (data: unknown) => void;

const ALWAYS: readonly Topic[] = ["overview", "decisions", "alerts"];
const DECISIONS_KEPT = 200;
const SAMPLES_KEPT = 3600;
const PARK_AFTER = 30_000;

export interface Sample {
  seconds: number;
  overview: Overview;
}

export const connection = createStore<Connection>(INITIAL);
export const status = createStore<Status | null>(null);
export const overview = createStore<Overview | null>(null);
export const decisions = createStore<readonly Decision[]>([]);
export const alerts = createStore<readonly Finding[]>([]);
/** Overviews of this visit, oldest first, for charts that go on where the server's history ends. */
export const samples = createStore<readonly Sample[]>([]);
/** Counts how often the server said that the page must load everything again. */
export const resets = createStore(0);
/** When the stream was last opened (browser's clock), and for which topics. */
export const streamOpened = createStore<{ at: number; topics: readonly string[] }>({ at: 0, topics: [] });
/** How far the server's clock is ahead of the browser's, in milliseconds. */
export const clockAhead = createStore(0);

export const serverNow = (): number => Date.now() + clockAhead.get();

const handlers = new Map<Topic, Set<Handler>>();
let abort: AbortController | null = null;
let lastId = "";
let retryTimer = 0;
let topicTimer = 0;
let connectedTopics = "";
let mapOrder = "zone";
let isParked = false;
let parkTimer = 0;
/** When the stream last brought anything, also a comment (browser's clock). */
let heardAt = 0;

const happened = (what: Happening): void => connection.set((before) => next(before, what));

function wantedTopics(): string {
  const wanted = new Set<string>(ALWAYS);
  for (const [topic, listeners] of handlers) if (listeners.size > 0) wanted.add(topic);
  return [...wanted].sort().join(",");
}

/** Changes of the map name places in one of its orders: say in which. */
export function orderMapBy(by: string): void {
  if (by === mapOrder) return;
  mapOrder = by;
  if (!isParked && connectedTopics.split(",").includes("map")) connect();
}

/** New decisions before those already shown; a row that came again (its outcome is known) replaces the old one. */
export function withRows(before: readonly Decision[], rows: readonly Decision[]): readonly Decision[] {
  if (rows.length === 0) return before;
  const fresh = new Map(rows.map((row) => [decisionKey(row), row]));
  const known = before.map((row) => {
    const again = fresh.get(decisionKey(row));
    if (again) fresh.delete(decisionKey(row));
    return again ?? row;
  });
  const added = [...fresh.values()].sort((a, b) => b.atUnixNanos - a.atUnixNanos || b.cycle - a.cycle);
  return [...added, ...known].slice(0, DECISIONS_KEPT);
}

function tellTime(nanos: unknown): void {
  if (typeof nanos === "number" && nanos > 0) clockAhead.set(Math.round(nanos / 1e6 - Date.now()));
}

function received(event: ServerEvent): void {
  if (event.id) lastId = event.id;
  let data: unknown;
  try {
    data = JSON.parse(event.data);
  } catch {
    return; // half an event of a server that went away; the next one is whole
  }
  happened({ kind: "event", at: Date.now() });
  const body = data as Record<string, unknown>;
  switch (event.event) {
    case "hello": {
      const hello = (body.status ?? body) as Status;
      if (hello.version) status.set(hello);
      tellTime(body.serverTimeUnixNanos ?? hello.serverTimeUnixNanos);
      break;
    }
    case "reset":
      lastId = "";
      resets.set((n) => n + 1);
      break;
    case "overview": {
      const now = data as Overview;
      overview.set(now);
      samples.set((before) => [...before.slice(-SAMPLES_KEPT), { seconds: Math.floor(serverNow() / 1000), overview: now }]);
      break;
    }
    case "decisions":
      decisions.set((before) => withRows(before, (body.rows as Decision[] | undefined) ?? []));
      break;
    case "alerts":
      alerts.set((before) => {
        const cleared = new Set((body.cleared as string[] | undefined) ?? []);
        const raised = (body.raised as Finding[] | undefined) ?? [];
        const again = new Set(raised.map((finding) => finding.code));
        return [...before.filter((f) => !cleared.has(f.code) && !again.has(f.code)), ...raised];
      });
      break;
  }
  for (const handler of handlers.get(event.event as Topic) ?? []) handler(data);
}

async function read(topics: string, signal: AbortSignal): Promise<void> {
  const headers: Record<string, string> = { accept: "text/event-stream" };
  if (lastId) headers["last-event-id"] = lastId;
  const response = await fetch(formatAddress(`${API}/stream`, { topics, by: mapOrder }), { signal, headers, cache: "no-store" });
  if (!response.ok || !response.body) throw new Error(`the stream answered ${response.status}`);
  happened({ kind: "opened", at: Date.now(), resumed: lastId !== "" });
  streamOpened.set({ at: Date.now(), topics: topics.split(",") });
  const cutter = new EventCutter();
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    heardAt = Date.now();
    for (const event of cutter.push(value)) received(event);
  }
}

/** Closed until the tab is looked at again; it then resumes with what it missed. */
function park(): void {
  isParked = true;
  window.clearTimeout(retryTimer);
  abort?.abort();
}

/** What we had is gone; the next attempt comes with the usual pause. */
function lose(): void {
  abort?.abort();
  happened({ kind: "lost", at: Date.now() });
  window.clearTimeout(retryTimer);
  retryTimer = window.setTimeout(connect, Math.max(0, connection.get().retryAt - Date.now()));
}

function ticked(): void {
  const at = Date.now();
  // After a step of the browser's clock back, silence is counted from here.
  heardAt = Math.min(heardAt, at);
  happened({ kind: "tick", at });
  const { phase, retryAt } = connection.get();
  const isTrying = phase !== "offline" || retryAt === 0;
  if (!isParked && isTrying && isDead(heardAt, at)) lose();
}

function connect(): void {
  isParked = false;
  heardAt = Date.now();
  window.clearTimeout(retryTimer);
  abort?.abort();
  const mine = new AbortController();
  abort = mine;
  connectedTopics = wantedTopics();
  happened({ kind: "retrying", at: Date.now() });
  const over = (): void => {
    if (!mine.signal.aborted) lose();
  };
  read(connectedTopics, mine.signal).then(over, over);
}

function topicsChanged(): void {
  window.clearTimeout(topicTimer);
  topicTimer = window.setTimeout(() => {
    if (abort && !isParked && wantedTopics() !== connectedTopics) connect();
  }, 50);
}

/** Begin; called once by the page's entry. */
export function startLive(): void {
  connect();
  window.setInterval(ticked, 1000);
  // A laptop that wakes up: look at once, not after the rest of a long retry.
  const wake = (): void => {
    if (document.visibilityState === "visible" && (isParked || connection.get().phase === "offline")) connect();
  };
  // A browser opens six connections to one server: tabs in the background must not hold them all.
  const parkLater = (): void => {
    window.clearTimeout(parkTimer);
    if (document.visibilityState === "hidden") parkTimer = window.setTimeout(park, PARK_AFTER);
  };
  document.addEventListener("visibilitychange", wake);
  document.addEventListener("visibilitychange", parkLater);
  window.addEventListener("online", wake);
}

export const retryNow = (): void => connect();

export function onTopic(topic: Topic, handler: Handler): () => void {
  const listeners = handlers.get(topic) ?? new Set<Handler>();
  handlers.set(topic, listeners);
  listeners.add(handler);
  topicsChanged();
  return () => {
    listeners.delete(handler);
    topicsChanged();
  };
}

/** Hear every event of a topic while the component is shown. Keep `handler` stable (useCallback). */
export function useTopic(topic: Topic, handler: Handler): void {
  useEffect(() => onTopic(topic, handler), [topic, handler]);
}

export const useConnection = (): Connection => useStore(connection);
export const useStatus = (): Status | null => useStore(status);
export const useResets = (): number => useStore(resets);
