// A small router over the History API. Filters, sort, selection and time live in the query,
// so that every view can be linked to, and back and forward work.
import { useCallback, useMemo } from "react";
import { type Moment, parseMoment } from "./moments";
import { createStore, useStore } from "./store";

export interface Address {
  path: string;
  query: Readonly<Record<string, string>>;
}

export type Params = Readonly<Record<string, string>>;

export function parseAddress(pathname: string, search: string): Address {
  const query: Record<string, string> = {};
  for (const [key, value] of new URLSearchParams(search)) query[key] = value;
  const path = pathname.length > 1 ? pathname.replace(/\/+$/, "") : pathname;
  return { path: path || "/", query };
}

export function formatAddress(path: string, query: Readonly<Record<string, string | undefined>> = {}): string {
  const words = new URLSearchParams();
  for (const key of Object.keys(query).sort()) {
    const value = query[key];
    if (value !== undefined && value !== "") words.set(key, value);
  }
  const text = words.toString();
  return text ? `${path}?${text}` : path;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // a stray % typed by hand
  }
}

/** The parameters when `path` fits `pattern` ("/machines/:id"), else null. The last one takes slashes too. */
export function matchPath(pattern: string, path: string): Params | null {
  const wanted = pattern.split("/").filter(Boolean);
  const given = path.split("/").filter(Boolean);
  if (given.length < wanted.length) return null;
  const params: Record<string, string> = {};
  for (const [index, word] of wanted.entries()) {
    const last = index === wanted.length - 1;
    if (word.startsWith(":")) {
      const rest = last ? given.slice(index) : [given[index] ?? ""];
      params[word.slice(1)] = rest.map(decoded).join("/");
      if (last) return params;
    } else if (word !== given[index]) return null;
  }
  return given.length === wanted.length ? params : null;
}

const inBrowser = typeof window !== "undefined";
const here = (): Address =>
  inBrowser ? parseAddress(window.location.pathname, window.location.search) : { path: "/", query: {} };

const address = createStore<Address>(here());
if (inBrowser) window.addEventListener("popstate", () => address.set(here()));

export const currentAddress = (): Address => address.get();

export function navigate(to: string, how: { replace?: boolean } = {}): void {
  const target = new URL(to, window.location.origin);
  if (target.origin !== window.location.origin) return;
  const text = target.pathname + target.search;
  if (text === window.location.pathname + window.location.search) return;
  const samePath = target.pathname === window.location.pathname;
  window.history[how.replace ? "replaceState" : "pushState"](null, "", text);
  address.set(here());
  if (!samePath && !how.replace) window.scrollTo(0, 0);
}

/** Change some words of the query; undefined or "" removes one. */
export function setQuery(changes: Record<string, string | undefined>, how: { push?: boolean } = {}): void {
  const { path, query } = address.get();
  navigate(formatAddress(path, { ...query, ...changes }), { replace: !how.push });
}

export const useAddress = (): Address => useStore(address);

/** One word of the query as state: [value, set]. Its default is never written into the address. */
export function useQueryState(key: string, fallback = ""): [string, (value: string) => void] {
  const value = useStore(address, (a) => a.query[key] ?? fallback);
  const set = useCallback(
    (next: string) => setQuery({ [key]: next === fallback ? undefined : next }),
    [key, fallback],
  );
  return [value, set];
}

/** The moment the page is about: null is now. */
export function useMoment(): Moment | null {
  const text = useStore(address, (a) => a.query.at ?? "");
  return useMemo(() => parseMoment(text), [text]);
}

/** Its cycle, to be shown: it says nothing without its shard. */
export const useAt = (): number | null => useMoment()?.cycle ?? null;

/** The address of a page, keeping the time that is looked at. */
export function linkTo(path: string, query: Readonly<Record<string, string | undefined>> = {}): string {
  return formatAddress(path, { at: address.get().query.at, ...query });
}

export const objectPath = (folder: string, name: string): string => `/${folder}/${encodeURIComponent(name)}`;
