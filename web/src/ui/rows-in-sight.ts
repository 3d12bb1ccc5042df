// Which rows of a long list are in the document: those in sight and a few beside them.
import { type RefObject, useCallback, useEffect, useMemo, useRef, useState } from "react";
import { flushSync } from "react-dom";

/** Beyond the window on either side: a wheel turns less than that between two frames. */
const BESIDE = 8;
/** Rows come and go in such steps: not every pixel makes the list again. */
const STEP = 8;
/** Of a box that is not measured yet. */
const HEIGHT = 600;

export interface Range {
  first: number;
  /** Exclusive. */
  end: number;
}

/** Where each row begins, and where the last one ends. */
export function topsOf(count: number, heightAt: (index: number) => number): Float64Array {
  const tops = new Float64Array(count + 1);
  for (let index = 0; index < count; index += 1) tops[index + 1] = (tops[index] ?? 0) + heightAt(index);
  return tops;
}

/** The row at a height: the last one that begins there or above. */
export function rowAt(tops: Float64Array, y: number): number {
  let low = 0;
  let high = Math.max(0, tops.length - 2);
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((tops[middle] ?? 0) <= y) low = middle;
    else high = middle - 1;
  }
  return low;
}

export function rangeOf(tops: Float64Array, top: number, height: number): Range {
  const first = Math.max(0, rowAt(tops, top) - BESIDE);
  const end = Math.min(tops.length - 1, rowAt(tops, top + height) + 1 + BESIDE);
  return { first: Math.floor(first / STEP) * STEP, end: Math.min(tops.length - 1, Math.ceil(end / STEP) * STEP) };
}

/** How far a box is scrolled so that a row lies below its heading and within it, moving as little as possible. */
export function scrollFor(tops: Float64Array, index: number, now: { top: number; height: number; head: number }): number {
  const begin = tops[index] ?? 0;
  const end = now.head + (tops[index + 1] ?? 0);
  if (begin < now.top) return begin;
  return end > now.top + now.height ? end - now.height : now.top;
}

export interface RowsInSight extends Range {
  tops: Float64Array;
  /** Puts a row in sight, and into the document before this returns. */
  scrollTo: (index: number) => void;
}

/** `heights` changes when `heightAt` gives other ones. */
export function useRowsInSight(box: RefObject<HTMLElement | null>, count: number, heightAt: (index: number) => number, heights: unknown): RowsInSight {
  const tops = useMemo(() => topsOf(count, heightAt), [count, heights]);
  const seen = useRef({ top: 0, height: HEIGHT });
  const [, again] = useState(0);
  const range = rangeOf(tops, seen.current.top, seen.current.height);
  const latest = useRef({ tops, range });
  latest.current = { tops, range };
  const look = useCallback(() => {
    if (!box.current) return;
    seen.current = { top: box.current.scrollTop, height: box.current.clientHeight };
    const { tops: now, range: shown } = latest.current;
    const next = rangeOf(now, seen.current.top, seen.current.height);
    // At once: else the next frame has a gap where rows should be.
    if (next.first !== shown.first || next.end !== shown.end) flushSync(() => again((n) => n + 1));
  }, [box]);
  useEffect(() => {
    const own = box.current;
    if (!own) return;
    const sizes = new ResizeObserver(look);
    sizes.observe(own);
    own.addEventListener("scroll", look, { passive: true });
    return () => {
      sizes.disconnect();
      own.removeEventListener("scroll", look);
    };
  }, [box, look]);
  const scrollTo = useCallback((index: number) => {
    const own = box.current;
    if (!own) return;
    const head = own.querySelector("thead")?.offsetHeight ?? 0;
    own.scrollTop = scrollFor(latest.current.tops, index, { top: own.scrollTop, height: own.clientHeight, head });
    look();
  }, [box, look]);
  return { ...range, tops, scrollTo };
}
