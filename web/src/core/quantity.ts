// Kubernetes quantities ("996200m", "3653160Mi"): read exactly enough to compare, written as people read them.

export type Resources = Readonly<Record<string, string>>;

const DECIMAL: Readonly<Record<string, number>> = { n: 1e-9, u: 1e-6, m: 1e-3, "": 1, k: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15, E: 1e18 };
const BINARY: readonly [string, number][] = [["Ei", 2 ** 60], ["Pi", 2 ** 50], ["Ti", 2 ** 40], ["Gi", 2 ** 30], ["Mi", 2 ** 20], ["Ki", 2 ** 10]];
const BINARY_OF = Object.fromEntries(BINARY);

/** Its value in the base unit; null where it cannot be read. */
export function quantity(text: string | undefined): number | null {
  const parts = /^([+-]?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?)([KMGTPE]i|[numkMGTPE])?$/.exec(text?.trim() ?? "");
  if (!parts) return null;
  const unit = parts[2] ?? "";
  const scale = DECIMAL[unit] ?? BINARY_OF[unit];
  const value = Number(parts[1]) * (scale ?? Number.NaN);
  return Number.isFinite(value) ? value : null;
}

const isBytes = (resource: string, text: string): boolean =>
  /i$/.test(text) || /(^|\W)(memory|storage|ephemeral-storage)$/.test(resource) || resource.startsWith("hugepages-");

const three = (value: number): string => Number(value.toPrecision(value >= 100 ? Math.ceil(Math.log10(value + 1)) + 1 : 3)).toString();

/** "996200m" of cpu becomes "996.2", "3653160Mi" becomes "3.48Ti"; what cannot be read stays as it is. */
export function amount(resource: string, text: string): string {
  const value = quantity(text);
  if (value === null) return text;
  if (!isBytes(resource, text)) return Math.abs(value) >= 100_000 ? value.toLocaleString("en-US") : three(value);
  for (const [unit, size] of BINARY) if (Math.abs(value) >= size) return `${Number((value / size).toPrecision(3))}${unit}`;
  return `${value}`;
}

/** The parts of a resource's name that people say: "nvidia.com/gpu" is "gpu". */
export const resourceName = (name: string): string => name.slice(name.lastIndexOf("/") + 1) || name;

/** "cpu 996.2, memory 3.48Ti"; empty for nothing. */
export const resourcesText = (resources: Resources | undefined | null): string =>
  Object.entries(resources ?? {}).map(([name, text]) => `${resourceName(name)} ${amount(name, text)}`).join(", ");

/** As they came, for tooltips. */
export const exactResources = (resources: Resources | undefined | null): string =>
  Object.entries(resources ?? {}).map(([name, text]) => `${name} ${text}`).join("\n");

/** Some answers wrap them once more: {"resources": {"cpu": "8"}}. */
export function unwrapped(told: unknown): Resources {
  if (!told || typeof told !== "object") return {};
  const inner = (told as { resources?: unknown }).resources;
  const found = inner && typeof inner === "object" ? inner : told;
  return Object.fromEntries(Object.entries(found as Record<string, unknown>).map(([name, value]) => [name, String(value)]));
}

/** How much of `wanted` is missing in the scarcest dimension, 0 to 1; null where it cannot be told. */
export function missingShare(wanted: Resources, deficit: Resources | undefined): number | null {
  let worst = 0;
  for (const [name, text] of Object.entries(deficit ?? {})) {
    const lacks = quantity(text);
    const asks = quantity(wanted[name]);
    if (lacks === null || asks === null) return null;
    if (lacks > 0) worst = Math.max(worst, asks > 0 ? Math.min(1, lacks / asks) : 1);
  }
  return worst;
}

/** How many times `unit` fits into `total`, rounded up over all dimensions; null where it cannot be told. */
export function unitsIn(total: Resources, unit: Resources | undefined): number | null {
  let most: number | null = null;
  for (const [name, text] of Object.entries(unit ?? {})) {
    const size = quantity(text);
    const whole = quantity(total[name]);
    if (size === null || whole === null || size <= 0) continue;
    most = Math.max(most ?? 0, Math.ceil(whole / size - 1e-9));
  }
  return most;
}
