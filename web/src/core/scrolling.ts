// When something on the page was scrolled last.
let scrolledAt = Number.NEGATIVE_INFINITY;

if (typeof document !== "undefined")
  document.addEventListener("scroll", () => { scrolledAt = performance.now(); }, { capture: true, passive: true });

/** Milliseconds since then. */
export const stillFor = (): number => performance.now() - scrolledAt;
