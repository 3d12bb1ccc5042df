// Cards and tiles. Every card names the route its numbers come from and the command that prints them.
import { type ReactNode, useEffect, useId, useLayoutEffect, useRef, useState } from "react";
import { Command } from "./basics";
import { Icon } from "./icons";
import { Boundary, Loading } from "./states";

export interface Source {
  /** Such as "/fleet/overview"; several are separated by a comma. */
  route?: string;
  /** Such as "bigfleet status". */
  command?: string;
  promql?: string;
}

const MARGIN = 8;

/** A small panel below its button; Escape, or leaving it, closes it. */
export function Popover({ label, icon, children }: { label: string; icon: ReactNode; children: ReactNode }) {
  const [open, setOpen] = useState(false);
  const box = useRef<HTMLDivElement>(null);
  const panel = useRef<HTMLDivElement>(null);
  const id = useId();
  useLayoutEffect(() => {
    // Below its button as far as the window allows.
    const own = panel.current;
    if (!open || !own) return;
    own.style.translate = "0";
    const { left, right } = own.getBoundingClientRect();
    const room = document.documentElement.clientWidth - MARGIN;
    own.style.translate = `${left < MARGIN ? MARGIN - left : right > room ? room - right : 0}px`;
  }, [open]);
  useEffect(() => {
    if (!open) return;
    const outside = (event: Event): void => {
      if (!box.current?.contains(event.target as Node)) setOpen(false);
    };
    const escape = (event: KeyboardEvent): void => {
      if (event.key !== "Escape") return;
      setOpen(false);
      box.current?.querySelector("button")?.focus();
      event.preventDefault();
    };
    document.addEventListener("pointerdown", outside);
    document.addEventListener("focusin", outside);
    document.addEventListener("keydown", escape);
    return () => {
      document.removeEventListener("pointerdown", outside);
      document.removeEventListener("focusin", outside);
      document.removeEventListener("keydown", escape);
    };
  }, [open]);
  return (
    <div className="popover" ref={box}>
      <button type="button" className="icon-button small" aria-label={label} data-tip={open ? undefined : label} aria-expanded={open} aria-controls={id} onClick={() => setOpen(!open)}>
        {icon}
      </button>
      <div ref={panel} id={id} className="popover-panel" hidden={!open}>{open && children}</div>
    </div>
  );
}

function Sources({ title, source }: { title: string; source: Source }) {
  return (
    <Popover label={`Where "${title}" comes from`} icon={<Icon name="code" size={14} />}>
      <dl className="sources">
        {source.route && source.route.split(",").map((route, index) => (
          <div key={route}>
            <dt>{index === 0 ? "Route" : ""}</dt>
            <dd><Command text={`GET /api/v1${route.trim()}`} /></dd>
          </div>
        ))}
        {source.command && <div><dt>Command</dt><dd><Command text={source.command} /></dd></div>}
        {source.promql && <div><dt>PromQL</dt><dd><Command text={source.promql} /></dd></div>}
      </dl>
    </Popover>
  );
}

export function Card({ title, source, actions, children, className = "", flush }: {
  title: string;
  source?: Source;
  actions?: ReactNode;
  children: ReactNode;
  className?: string;
  /** The content reaches the card's edges (tables, charts). */
  flush?: boolean;
}) {
  const id = useId();
  return (
    <section className={`card ${flush ? "flush" : ""} ${className}`} aria-labelledby={id}>
      <header className="card-head">
        <h2 id={id}>{title}</h2>
        <div className="card-actions">
          {actions}
          {source && <Sources title={title} source={source} />}
        </div>
      </header>
      <div className="card-body"><Boundary what={title}>{children}</Boundary></div>
    </section>
  );
}

/** In the place of tiles that are on their way, as many and as high. */
export const LoadingTiles = ({ count }: { count: number }) => (
  <>{Array.from({ length: count }, (_, index) => <div key={index} className="tile"><Loading height={0} lines={2} /></div>)}</>
);

/** One number that matters, with its unit, a note and perhaps its course. */
export function Tile({ title, source, value, note, tone = "", children }: {
  title: string;
  source?: Source;
  value: ReactNode;
  note?: ReactNode;
  tone?: "" | "good" | "warn" | "danger";
  children?: ReactNode;
}) {
  const id = useId();
  return (
    <div className={`tile ${tone}`} role="group" aria-labelledby={id}>
      <header className="card-head">
        <h2 id={id}>{title}</h2>
        {source && <Sources title={title} source={source} />}
      </header>
      <div className="tile-value">{value}</div>
      <div className="tile-note">{note}</div>
      {children && <div className="tile-foot">{children}</div>}
    </div>
  );
}
