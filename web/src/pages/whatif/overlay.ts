// Edits of a what-if as `bigfleet whatif --overlay` reads them, one a line: from a form, as words, as a command.
import { quoted } from "../../core/commands";

export const KINDS = [
  { value: "zone-loss", text: "A zone is lost" },
  { value: "demand", text: "Demand changes" },
  { value: "price", text: "A price changes" },
  { value: "stock-out", text: "Nothing can be bought" },
  { value: "machines-remove", text: "Machines vanish" },
  { value: "other", text: "Another edit" },
] as const;
export type Kind = (typeof KINDS)[number]["value"];
export const CAPACITIES = ["BareMetal", "Reserved", "OnDemand", "Spot"] as const;

export interface Draft {
  kind: Kind;
  zone: string;
  cluster: string;
  capacity: string;
  factor: string;
  selector: string;
  line: string;
}
export const NEW_DRAFT: Draft = { kind: "zone-loss", zone: "", cluster: "", capacity: "", factor: "1.5", selector: "", line: "" };

const words = (...all: string[]): string => all.map((word) => word.trim()).filter(Boolean).join(" ");
const term = (key: string, value: string): string => (value.trim() ? `${key}=${value.trim()}` : "");

function factorOf(draft: Draft): string {
  const factor = Number(draft.factor);
  return draft.factor.trim() !== "" && Number.isFinite(factor) && factor >= 0 ? `x${factor}` : "";
}

/** The edit as a line, or what is missing. The server has the last word about what it means. */
export function lineOf(draft: Draft): { line: string } | { missing: string } {
  const factor = factorOf(draft);
  switch (draft.kind) {
    case "zone-loss": return draft.zone.trim() ? { line: words("zone-loss", draft.zone) } : { missing: "Name the zone." };
    case "demand": return factor ? { line: words("demand", term("cluster", draft.cluster), factor) } : { missing: "Write the factor as a number, 0 or more." };
    case "price": return factor ? { line: words("price", term("capacity", draft.capacity), draft.selector, factor) } : { missing: "Write the factor as a number, 0 or more." };
    case "stock-out": {
      const selector = words(term("capacity", draft.capacity), term("zone", draft.zone), draft.selector);
      return selector ? { line: words("stock-out", selector) } : { missing: "Say what cannot be bought: a capacity type, a zone, or terms." };
    }
    case "machines-remove": return draft.selector.trim() ? { line: words("machines-remove", draft.selector) } : { missing: "Say which machines, such as zone=a capacity=Spot." };
    case "other": return draft.line.trim() ? { line: draft.line.trim().replace(/\s*\n\s*/g, " ") } : { missing: "Write an edit, such as cluster-leave batch." };
  }
}

export const linesOf = (overlay: string): string[] => overlay.split("\n").map((line) => line.trim()).filter(Boolean);

/** What the address asks for; `remove` is the map's selection: ids with commas between them. */
export function linesOfAddress(query: Readonly<Record<string, string>>): string[] {
  const lines = linesOf(query.overlay ?? "");
  const ids = (query.remove ?? "").split(",").map((id) => id.trim()).filter(Boolean);
  return ids.length > 0 ? [...lines, `machines-remove id=${ids.join(",")}`] : lines;
}

/** 18231, 3:18231, or one of each shard: shard-0@3:18231,shard-1@977 */
const BASE = /^((\d{1,9}:)?\d{1,15}|[^@,]+@(\d{1,9}:)?\d{1,15}(,[^@,]+@(\d{1,9}:)?\d{1,15})*)$/;

/** "" is the last cycle; so is what cannot be read. */
export const baseOfAddress = (query: Readonly<Record<string, string>>): string => {
  const text = query.base ?? query.at ?? "";
  return BASE.test(text) ? text : "";
};

/** The only one that is asked, where a base names one; empty: all of them. */
export const shardOfBase = (base: string): string => (base.includes(",") ? "" : base.slice(0, Math.max(0, base.indexOf("@"))));

/** The base of an answer, such as "3:18231" or "shard-0 3:18231, shard-1 2:977". */
export const baseOfCycle = (cycle: string): string => baseOfAddress({ base: cycle.replace(/ (?=[\d:]+(,|$))/g, "@").replace(/, /g, ",") });

/** The same cycles again: those of the answer, with the shard where one was asked. */
export function pinnedBase(asked: string, told: string): string {
  const [shard, found] = [shardOfBase(asked), baseOfCycle(told)];
  return (shard && found && !found.includes("@") ? `${shard}@${found}` : found) || asked;
}

/** A sweep over a past cycle reads its journal: there the command line asks no shard. It asks all
 * shards about their last cycle, or one about another. */
export function commandOf(lines: readonly string[], base: string, settle: boolean, sweep: readonly string[] = []): string {
  const axes = sweep.map((axis) => ` --sweep ${quoted(axis)}`).join("");
  const [of, cycle] = base.includes("@") ? base.split("@") : ["", base];
  const one = base.includes(",") ? "" : cycle;
  const at = one ? `${of ? ` --shard ${of}` : ""}${axes ? " --journal DIR" : ""} --at ${one}` : "";
  const flags = lines.map((line) => {
    const space = line.indexOf(" ");
    return space < 0 ? ` --${line}` : ` --${line.slice(0, space)} ${quoted(line.slice(space + 1).trim())}`;
  });
  return `bigfleet whatif${at}${flags.join("")}${settle ? " --settle" : ""}${axes}`;
}

/** "Zone b is lost"; an edit without a sentence of its own is told as it is written. */
export function wordsOf(line: string): string {
  const space = line.indexOf(" ");
  const [operation, rest] = space < 0 ? [line, ""] : [line.slice(0, space), line.slice(space + 1).trim()];
  const factor = /^(.*?)\s*x([\d.eE+-]+)$/.exec(rest);
  switch (operation) {
    case "zone-loss": return `Zone ${rest} is lost`;
    case "domain-loss": return `All machines with ${rest} are lost`;
    case "stock-out": return `Nothing of ${rest} can be bought`;
    case "cluster-leave": return `Cluster ${rest} asks for nothing any more`;
    case "machines-remove": {
      const ids = /^id=([^\s=]+)$/.exec(rest)?.[1]?.split(",");
      return ids ? (ids.length === 1 ? `Machine ${ids[0]} vanishes` : `${ids.length.toLocaleString("en-US")} machines vanish`) : `Machines with ${rest} vanish`;
    }
    case "demand": {
      if (!factor) return line;
      const who = factor[1] ? factor[1].replace(/^cluster=/, "") : "Every cluster";
      return `${who} asks for ${factor[2]} times as much`;
    }
    case "price": return factor ? `${factor[1] ? factor[1].replace(/^capacity=/, "") : "Every machine"} costs ${factor[2]} times as much` : line;
    default: return line;
  }
}
