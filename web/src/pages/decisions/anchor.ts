// New decisions come above the others. What is read must not move: the feed is a box of its own, and its
// place is put back when rows come above. Only at its very top it goes on to what is new.
import { type RefObject, useLayoutEffect, useRef } from "react";

/** So near to the top is at the top: a touch pad may stop a pixel before. */
const AT_TOP = 4;

interface Seen {
  /** The topmost child in sight, and how far below the box's edge it began. */
  child: Element;
  from: number;
}

function topmost(box: HTMLElement): Seen | null {
  const edge = box.getBoundingClientRect().top;
  for (const child of box.children) {
    const { top, bottom } = child.getBoundingClientRect();
    if (bottom > edge) return { child, from: top - edge };
  }
  return null;
}

/** For the box that scrolls, whose children have keys; `content` changes whenever the children may have. */
export function useAnchored(content: unknown): RefObject<HTMLDivElement | null> {
  const box = useRef<HTMLDivElement>(null);
  const seen = useRef<Seen | null>(null);
  const follows = useRef(true);
  /** Where we put it ourselves: any other place was chosen by a person. */
  const put = useRef(0);

  useLayoutEffect(() => {
    const home = box.current;
    if (!home) return;
    const place = (top: number): void => {
      home.scrollTop = top;
      put.current = home.scrollTop;
      seen.current = topmost(home);
    };
    const scrolled = (): void => {
      if (home.scrollTop !== put.current) follows.current = home.scrollTop <= AT_TOP;
      seen.current = topmost(home);
    };
    const before = seen.current;
    const moved = before?.child.isConnected ? before.child.getBoundingClientRect().top - home.getBoundingClientRect().top - before.from : 0;
    place(home.scrollTop + moved);
    home.addEventListener("scroll", scrolled, { passive: true });
    // First a frame in which what was on the screen stays, then the feed rolls on. The first callback
    // comes before that frame is drawn.
    let frame = requestAnimationFrame(() => {
      frame = requestAnimationFrame(() => {
        if (follows.current) place(0);
      });
    });
    return () => {
      cancelAnimationFrame(frame);
      home.removeEventListener("scroll", scrolled);
    };
  }, [content]);
  return box;
}
