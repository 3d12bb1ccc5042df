// The map on screen: sizes, pointer and keyboard. Drawing is in surface.ts.
import { type KeyboardEvent, type PointerEvent, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import { announce } from "../../core/announce";
import { shown } from "../../core/palette";
import { navigate, linkTo, objectPath } from "../../core/router";
import { settings } from "../../core/settings";
import { useStore } from "../../core/store";
import { type LegendEntry, pixel, tableOf } from "./colours";
import type { Column, FleetMap } from "./data";
import { type Layout, layoutOf, neighbour, type Order, placeAt, placesWithin } from "./layout";
import { factsOf, MachineCard, sentenceOf } from "./machine-card";
import { patternOf } from "./paint";
import { Surface } from "./surface";

const LEAST_ROOM = 300;
const CARD_WIDTH = 250;
const LEAST_DRAG = 5;

interface Point {
  x: number;
  y: number;
}

export interface MapCanvasProps {
  map: FleetMap;
  order: Order;
  column: Column;
  entries: readonly LegendEntry[];
  isHidden: (entry: LegendEntry) => boolean;
  /** Rows that changed, with a number that grows with each batch. */
  changed: { batch: number; rows: readonly number[] };
  selection: Uint32Array;
  onSelect: (rows: Uint32Array) => void;
  onGroup: (name: string) => void;
  isPast: boolean;
}

function useRoom(box: React.RefObject<HTMLDivElement | null>): { width: number; room: number; scale: number } | null {
  const [size, setSize] = useState<{ width: number; room: number; scale: number } | null>(null);
  useLayoutEffect(() => {
    const home = box.current;
    if (!home) return;
    const measure = (): void => {
      const scale = window.devicePixelRatio || 1;
      const top = home.getBoundingClientRect().top + window.scrollY;
      const room = Math.max(LEAST_ROOM, window.innerHeight - top - 84);
      const width = Math.floor(home.clientWidth * scale);
      setSize((before) => (before && before.width === width && before.room === Math.floor(room * scale) && before.scale === scale ? before : { width, room: Math.floor(room * scale), scale }));
    };
    measure();
    const sizes = new ResizeObserver(measure);
    sizes.observe(home);
    window.addEventListener("resize", measure);
    return () => {
      sizes.disconnect();
      window.removeEventListener("resize", measure);
    };
  }, [box]);
  return size;
}

function cssPixel(name: string): number {
  return pixel(getComputedStyle(document.documentElement).getPropertyValue(name).trim());
}

const spot = (layout: Layout, place: number, scale: number): Point & { size: number } => {
  const offset = layout.offsets[place] ?? 0;
  return { x: (offset % layout.width) / scale, y: Math.floor(offset / layout.width) / scale, size: layout.cell / scale };
};

export function MapCanvas(props: MapCanvasProps) {
  const { map, order, column, entries, isHidden, changed, selection, onSelect, onGroup } = props;
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const surface = useRef<Surface | null>(null);
  const size = useRoom(box);
  const theme = useStore(shown);
  const { patterns } = useStore(settings);
  const layout = useMemo(() => (size ? layoutOf(order, size.width, size.room, size.scale) : null), [order, size]);
  const [focus, setFocus] = useState(-1);
  const [hasKeyboard, setHasKeyboard] = useState(false);
  const [drag, setDrag] = useState<{ from: Point; to: Point } | null>(null);
  const scale = size?.scale ?? 1;

  useEffect(() => {
    if (!canvas.current) return;
    surface.current = new Surface(canvas.current);
    return () => surface.current?.stop();
  }, []);

  const states = map.names("state");
  useEffect(() => {
    if (!layout) return;
    const faint = cssPixel("--surface-3");
    const draining = states.indexOf("Draining");
    surface.current?.show({
      map, order, layout, draining,
      flash: cssPixel("--text-1"),
      look: {
        faint, column, table: tableOf(entries, isHidden, faint), ring: cssPixel("--text-1"), ink: cssPixel("--surface-1"),
        patterns: patterns ? states.map(patternOf) : undefined,
        states: map.column("state"),
      },
    });
  }, [map, order, layout, column, entries, isHidden, theme, patterns, states]);

  useEffect(() => {
    if (changed.rows.length > 0) surface.current?.changed(changed.rows);
  }, [changed]);

  const pointOf = (event: PointerEvent): Point => {
    const at = canvas.current?.getBoundingClientRect();
    return { x: (event.clientX - (at?.left ?? 0)) * scale, y: (event.clientY - (at?.top ?? 0)) * scale };
  };
  const rowAt = (place: number): number => order.rows[place] ?? -1;
  const open = (place: number): void => {
    if (place >= 0) navigate(linkTo(objectPath("machines", map.id(rowAt(place)))));
  };
  const moved = (event: PointerEvent): void => {
    if (!layout) return;
    const to = pointOf(event);
    if (drag) setDrag({ ...drag, to });
    else {
      setHasKeyboard(false);
      setFocus(placeAt(layout, to.x, to.y));
    }
  };
  const released = (event: PointerEvent): void => {
    if (!drag || !layout) return;
    const to = pointOf(event);
    setDrag(null);
    const far = Math.max(Math.abs(to.x - drag.from.x), Math.abs(to.y - drag.from.y)) > LEAST_DRAG * scale;
    if (!far) {
      open(placeAt(layout, to.x, to.y));
      return;
    }
    const places = placesWithin(layout, Math.min(to.x, drag.from.x), Math.min(to.y, drag.from.y), Math.max(to.x, drag.from.x), Math.max(to.y, drag.from.y));
    const rows = places.map((place) => rowAt(place));
    onSelect(rows);
    announce(`${rows.length.toLocaleString("en-US")} machines selected`, true);
  };
  const go = (place: number): void => {
    setFocus(place);
    setHasKeyboard(true);
    if (place >= 0) announce(sentenceOf(factsOf(map, rowAt(place))), true);
  };
  const pressed = (event: KeyboardEvent): void => {
    if (!layout) return;
    const steps: Record<string, [number, number]> = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] };
    const step = steps[event.key];
    const last = order.rows.length - 1;
    if (step) go(focus < 0 ? 0 : neighbour(layout, focus, step[0], step[1]));
    else if (event.key === "Home") go(0);
    else if (event.key === "End") go(last);
    else if (event.key === "Enter") open(focus);
    else if (event.key === " " && focus >= 0) {
      const block = layout.blocks.find((each) => focus >= each.start && focus < each.end);
      if (block) {
        onSelect(order.rows.slice(block.start, block.end));
        announce(`${(block.end - block.start).toLocaleString("en-US")} machines selected`, true);
      }
    } else if (event.key === "Escape" && selection.length > 0) onSelect(new Uint32Array());
    else return;
    event.preventDefault();
  };

  const focused = focus >= 0 && focus < order.rows.length && layout ? spot(layout, focus, scale) : null;
  const wide = (size?.width ?? 0) / scale;
  return (
    <div className="map-box" ref={box} style={{ minHeight: layout ? layout.height / scale : (size?.room ?? LEAST_ROOM) / scale }}>
      <div
        className="map-surface"
        role="application"
        aria-roledescription="map of machines"
        aria-label={`${order.rows.length.toLocaleString("en-US")} machines. Arrow keys move between machines, Enter opens one, Space selects its group.`}
        tabIndex={0}
        onKeyDown={pressed}
        onFocus={() => focus < 0 && setFocus(0)}
        onPointerMove={moved}
        onPointerLeave={() => !drag && !hasKeyboard && setFocus(-1)}
        onPointerDown={(event) => {
          if (event.button !== 0 || (event.target as Element).closest("button")) return;
          event.currentTarget.setPointerCapture(event.pointerId);
          const from = pointOf(event);
          setDrag({ from, to: from });
        }}
        onPointerUp={released}
        onPointerCancel={() => setDrag(null)}
      >
        <canvas ref={canvas} style={layout ? { width: layout.width / scale, height: layout.height / scale } : undefined} />
        {layout?.labels.map((label) => {
          const style = { left: label.x / scale, top: label.y / scale, maxWidth: label.width / scale };
          if (!label.outer) return <span key={`i${label.x}.${label.y}`} className="map-label" style={style}>{label.text || "no rack"}</span>;
          return (
            <button key={`o${label.text}`} type="button" className="map-label outer" style={style} onClick={() => onGroup(label.text)} tabIndex={-1}>
              <bdi>{label.text}</bdi> <span>{label.count.toLocaleString("en-US")}</span>
            </button>
          );
        })}
        {focused && !drag && <span className={`map-focus ${hasKeyboard ? "keyboard" : ""}`} style={{ left: focused.x - 2, top: focused.y - 2, width: focused.size + 4, height: focused.size + 4 }} />}
        {drag && <span className="map-drag" style={{ left: Math.min(drag.from.x, drag.to.x) / scale, top: Math.min(drag.from.y, drag.to.y) / scale, width: Math.abs(drag.to.x - drag.from.x) / scale, height: Math.abs(drag.to.y - drag.from.y) / scale }} />}
      </div>
      {focused && !drag && (
        <MachineCard
          facts={factsOf(map, rowAt(focus))}
          isPast={props.isPast}
          left={Math.max(0, focused.x + CARD_WIDTH + 24 > wide ? focused.x - CARD_WIDTH - 12 : focused.x + focused.size + 12)}
          top={Math.max(0, Math.min(focused.y - 8, (layout?.height ?? 0) / scale - 190))}
        />
      )}
    </div>
  );
}
