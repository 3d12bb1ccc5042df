// Numbers, money and times as people read them. Every short form has an exact one for the tooltip.

const NBSP = " ";
export const UNKNOWN = "unknown";

const whole = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
const exact = new Intl.NumberFormat("en-US", { maximumFractionDigits: 9 });
const compact = new Intl.NumberFormat("en-US", { notation: "compact", maximumFractionDigits: 1 });
const dollars = new Intl.NumberFormat("en-US", { style: "currency", currency: "USD" });
const bigDollars = new Intl.NumberFormat("en-US", { style: "currency", currency: "USD", maximumFractionDigits: 0 });

export type Maybe = number | null | undefined;
export const known = (value: Maybe): value is number => typeof value === "number" && Number.isFinite(value);

export const count = (value: Maybe): string => (known(value) ? whole.format(value) : UNKNOWN);
export const short = (value: Maybe): string =>
  known(value) ? (Math.abs(value) < 10_000 ? whole.format(value) : compact.format(value)) : UNKNOWN;
export const precise = (value: Maybe): string => (known(value) ? exact.format(value) : UNKNOWN);

export function money(value: Maybe): string {
  if (!known(value)) return UNKNOWN;
  return Math.abs(value) >= 100_000 ? bigDollars.format(value) : dollars.format(value);
}

export const perHour = (value: Maybe): string => (known(value) ? `${money(value)}/h` : UNKNOWN);

export function percent(fraction: Maybe, digits = 1): string {
  if (!known(fraction)) return UNKNOWN;
  const value = fraction * 100;
  // 99.96 % is not 100 %: rounding must not claim that everything is met.
  const shown = fraction < 1 && value > 99.9 ? Math.min(value, 99.9) : value;
  return `${shown.toFixed(Number.isInteger(shown) ? 0 : digits)}${NBSP}%`;
}

/** A measured time: 0.0248 becomes "24.8 ms". */
export function seconds(value: Maybe): string {
  if (!known(value)) return UNKNOWN;
  if (value === 0) return `0${NBSP}ms`;
  if (value < 0.001) return `${(value * 1e6).toFixed(0)}${NBSP}µs`;
  if (value < 1) return `${(value * 1000).toPrecision(3)}${NBSP}ms`;
  if (value < 100) return `${value.toPrecision(3)}${NBSP}s`;
  return duration(value);
}

/** A stretch of time in its two largest units: 11540 becomes "3 h 12 min". */
export function duration(value: Maybe): string {
  if (!known(value)) return UNKNOWN;
  const total = Math.max(0, Math.floor(value));
  const parts: [number, string][] = [
    [Math.floor(total / 86400), "d"],
    [Math.floor(total / 3600) % 24, "h"],
    [Math.floor(total / 60) % 60, "min"],
    [total % 60, "s"],
  ];
  const first = parts.findIndex(([amount]) => amount > 0);
  if (first < 0) return `0${NBSP}s`;
  return parts
    .slice(first, first + 2)
    .filter(([amount]) => amount > 0)
    .map(([amount, unit]) => `${amount}${NBSP}${unit}`)
    .join(" ");
}

export function bytes(value: Maybe): string {
  if (!known(value)) return UNKNOWN;
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let amount = value;
  let unit = 0;
  while (amount >= 1024 && unit < units.length - 1) {
    amount /= 1024;
    unit += 1;
  }
  return `${unit === 0 ? amount : amount.toPrecision(3)}${NBSP}${units[unit]}`;
}

/** "2026-11-18 13:07:53.123 UTC" */
export function utc(milliseconds: Maybe): string {
  if (!known(milliseconds) || milliseconds <= 0) return UNKNOWN;
  return `${new Date(milliseconds).toISOString().replace("T", " ").slice(0, -1)} UTC`;
}
export const utcOfNanos = (nanos: Maybe): string => (known(nanos) ? utc(nanos / 1e6) : UNKNOWN);
export const clock = (milliseconds: number): string => new Date(milliseconds).toISOString().slice(11, 19);

/** "12 s ago", "in 3 min" */
export function relative(thenMilliseconds: number, nowMilliseconds: number): string {
  const gap = (nowMilliseconds - thenMilliseconds) / 1000;
  if (Math.abs(gap) < 1) return "now";
  return gap > 0 ? `${duration(gap)} ago` : `in ${duration(-gap)}`;
}

/** MACHINE_STATE_CONFIGURED -> Configured, CAPACITY_TYPE_BARE_METAL -> BareMetal, Idle -> Idle */
export function enumWord(value: string | undefined, prefix: string): string {
  if (!value) return "";
  if (!value.startsWith(prefix)) return value;
  return value
    .slice(prefix.length)
    .split("_")
    .map((word) => word.charAt(0) + word.slice(1).toLowerCase())
    .join("");
}

export const plural = (amount: number, one: string, many = `${one}s`): string =>
  `${whole.format(amount)}${NBSP}${amount === 1 ? one : many}`;
