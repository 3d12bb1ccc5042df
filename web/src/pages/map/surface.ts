// The canvas: paints the scene, then only what changes. Changes flash, drains pulse, reservations have
// a ring; nothing moves for people who asked for less motion.
import { type FleetMap, RESERVED } from "./data";
import type { Layout, Order } from "./layout";
import { around, type Look, placesOf, Squares } from "./paint";

const FLASH = 600;
const PULSE = 1600;
const FRAME = 50;
/** With many squares in motion fewer pictures do: they cost a core otherwise. */
const MANY = 2_000;
const SLOW_FRAME = 150;
const MOST_FLASHES = 20_000;

export interface Scene {
  map: FleetMap;
  order: Order;
  layout: Layout;
  look: Look;
  flash: number;
  /** Number of the state that pulses; -1: none does. */
  draining: number;
}

export class Surface {
  private scene: Scene | null = null;
  private squares: Squares | null = null;
  private image: ImageData | null = null;
  private places: Int32Array = new Int32Array();
  private flashes = new Map<number, number>();
  private draining = new Set<number>();
  private timer = 0;
  private readonly context: CanvasRenderingContext2D;
  private readonly still = window.matchMedia("(prefers-reduced-motion: reduce)");

  constructor(private readonly canvas: HTMLCanvasElement) {
    const context = canvas.getContext("2d");
    if (!context) throw new Error("this browser has no canvas");
    this.context = context;
  }

  show(scene: Scene): void {
    performance.mark("map.repaint");
    const { layout, order, map } = scene;
    const moved = this.scene?.layout !== layout || this.scene.order !== order;
    this.scene = scene;
    if (moved || !this.squares || !this.image) {
      this.squares = new Squares(layout, order.rows);
      this.image = new ImageData(new Uint8ClampedArray(this.squares.pixels.buffer as ArrayBuffer), layout.width, layout.height);
      this.places = placesOf(order.rows, map.count);
      if (this.canvas.width !== layout.width) this.canvas.width = layout.width;
      if (this.canvas.height !== layout.height) this.canvas.height = layout.height;
      this.flashes.clear();
    }
    this.squares.drawAll(scene.look, map.column("flags"), RESERVED);
    this.context.putImageData(this.image, 0, 0);
    this.findDraining();
    performance.measure("map.repaint", "map.repaint");
    this.animate();
  }

  /** Rows of the map whose values are other than before. */
  changed(rows: readonly number[]): void {
    const { scene } = this;
    if (!scene) return;
    performance.mark("map.delta");
    const now = performance.now();
    const states = scene.map.column("state");
    const touched: number[] = [];
    for (const row of rows) {
      const place = this.places[row] ?? -1;
      if (place < 0) continue;
      touched.push(place);
      if (states?.[row] === scene.draining) this.draining.add(place);
      else this.draining.delete(place);
      if (!this.still.matches && this.flashes.size < MOST_FLASHES) this.flashes.set(place, now);
    }
    this.redraw(touched, now);
    performance.measure("map.delta", "map.delta");
    this.animate();
  }

  stop(): void {
    window.clearTimeout(this.timer);
    this.timer = 0;
  }

  private findDraining(): void {
    this.draining.clear();
    const { scene } = this;
    const states = scene?.map.column("state");
    if (!scene || !states || scene.draining < 0) return;
    scene.order.rows.forEach((row, place) => states[row] === scene.draining && this.draining.add(place));
  }

  private redraw(places: Iterable<number>, now: number): void {
    const { scene, squares, image } = this;
    if (!scene || !squares || !image) return;
    const flags = scene.map.column("flags");
    const wave = this.still.matches ? 0 : 0.28 + 0.28 * Math.sin((now / PULSE) * 2 * Math.PI);
    for (const place of places) {
      const reserved = ((flags?.[squares.rows[place] ?? 0] ?? 0) & RESERVED) !== 0;
      const began = this.flashes.get(place);
      const fresh = began === undefined ? 0 : Math.max(0, 1 - (now - began) / FLASH);
      if (fresh > 0) squares.draw(place, scene.look, reserved, scene.flash, fresh * 0.85);
      else if (this.draining.has(place) && this.isBright(place)) squares.draw(place, scene.look, reserved, scene.look.ink, wave);
      else squares.draw(place, scene.look, reserved);
    }
    const box = around(scene.layout, places);
    if (box) this.context.putImageData(image, 0, 0, box.x, box.y, box.width, box.height);
  }

  private isBright(place: number): boolean {
    const look = this.scene?.look;
    return look !== undefined && look.table[look.column[this.squares?.rows[place] ?? 0] ?? 0] !== look.faint;
  }

  private animate(): void {
    if (this.timer || this.still.matches || (this.flashes.size === 0 && this.draining.size === 0)) return;
    this.timer = window.setTimeout(() => {
      this.timer = 0;
      if (document.visibilityState === "visible") {
        const now = performance.now();
        const places = new Set([...this.flashes.keys(), ...this.draining]);
        for (const [place, began] of this.flashes) if (now - began >= FLASH) this.flashes.delete(place);
        this.redraw(places, now);
      }
      this.animate();
    }, this.flashes.size + this.draining.size > MANY ? SLOW_FRAME : FRAME);
  }
}
