// Values with units; the exact one, and the time in UTC, on hover and focus.
import type { ReactNode } from "react";
import * as format from "../core/format";
import { useNow } from "../core/time";

interface ValueProps {
  v: format.Maybe;
  /** Why the value is unknown, when it is. */
  why?: string;
}

function Value({ text, tip, unknown, why }: { text: ReactNode; tip: string; unknown: boolean; why?: string }) {
  if (unknown) return <span className="unknown" data-tip={why ?? "Not known"}>unknown</span>;
  return <span className="value" data-tip={tip}>{text}</span>;
}

export const Count = ({ v, why, unit = "" }: ValueProps & { unit?: string }) => (
  <Value text={format.count(v)} tip={`${format.precise(v)} ${unit}`.trim()} unknown={!format.known(v)} why={why} />
);
export const Money = ({ v, why }: ValueProps) => (
  <Value text={format.money(v)} tip={`$${format.precise(v)}`} unknown={!format.known(v)} why={why} />
);
export const PerHour = ({ v, why }: ValueProps) => (
  <Value
    text={<>{format.money(v)}<span className="unit">/h</span></>}
    tip={`$${format.precise(v)} an hour`}
    unknown={!format.known(v)}
    why={why}
  />
);
export const Percent = ({ v, why, digits }: ValueProps & { digits?: number }) => (
  <Value text={format.percent(v, digits)} tip={`${format.precise((v ?? 0) * 100)} %`} unknown={!format.known(v)} why={why} />
);
export const Seconds = ({ v, why }: ValueProps) => (
  <Value text={format.seconds(v)} tip={`${format.precise(v)} s`} unknown={!format.known(v)} why={why} />
);

/** "12 s ago", renewed every second; the UTC time on hover. */
export function Ago({ nanos, prefix = "" }: { nanos: format.Maybe; prefix?: string }) {
  const now = useNow();
  if (!format.known(nanos) || nanos <= 0) return <span className="unknown">unknown</span>;
  const then = nanos / 1e6;
  return (
    <time className="value" dateTime={new Date(then).toISOString()} data-tip={format.utc(then)}>
      {prefix}
      {format.relative(then, now)}
    </time>
  );
}

/** How long since, without "ago": for columns called age. */
export function Age({ nanos }: { nanos: format.Maybe }) {
  const now = useNow();
  if (!format.known(nanos) || nanos <= 0) return <span className="unknown" data-tip="Not known">–</span>;
  const then = nanos / 1e6;
  return (
    <time className="value" dateTime={new Date(then).toISOString()} data-tip={`since ${format.utc(then)}`}>
      {format.duration((now - then) / 1000)}
    </time>
  );
}

/** An id or name from the fleet: text only, cut by the layout and never wrapped, whole on hover. */
export function Name({ children, dim }: { children: string; dim?: boolean }) {
  return <bdi className={dim ? "name dim" : "name"} data-tip={children.length > 24 ? children : undefined}>{children}</bdi>;
}
