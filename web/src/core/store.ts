// State outside React: anything may read and write it, components subscribe to the part they show.
import { useSyncExternalStore } from "react";

export interface Store<T> {
  get(): T;
  set(next: T | ((current: T) => T)): void;
  subscribe(listener: () => void): () => void;
}

export function createStore<T>(initial: T): Store<T> {
  let value = initial;
  const listeners = new Set<() => void>();
  return {
    get: () => value,
    set(next) {
      const after = typeof next === "function" ? (next as (current: T) => T)(value) : next;
      if (Object.is(after, value)) return;
      value = after;
      for (const listener of [...listeners]) listener();
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

/** The store's value, or the part `select` picks; `select` must return the same object for the same value. */
export function useStore<T>(store: Store<T>): T;
export function useStore<T, P>(store: Store<T>, select: (value: T) => P): P;
export function useStore<T, P>(store: Store<T>, select?: (value: T) => P): T | P {
  return useSyncExternalStore(store.subscribe, () => (select ? select(store.get()) : store.get()));
}
