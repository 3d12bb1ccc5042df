// The server's history, continued by what this visit has seen. Pure.
import { known } from "../../core/format";
import type { Sample } from "../../core/live";
import type { History, Overview } from "../../core/types";
import type { Points } from "../../ui/charts";

export interface Course {
  times: readonly number[];
  column: (name: string) => Points;
}

type Pick = (overview: Overview) => number | null | undefined;

const PICKS: Record<string, Pick> = {
  dollarsPerHour: (o) => o.dollarsPerHour,
  idleDollarsPerHour: (o) => o.idleDollarsPerHour,
  cycleP99Seconds: (o) => o.cycleP99Seconds,
  demandMetFraction: (o) => o.demandMetFraction,
  effectiveDollarsPerHour: (o) => o.regret?.greedyPerHour,
  boundDollarsPerHour: (o) => o.regret?.boundPerHour,
};

const pickOf = (name: string): Pick => {
  const known = PICKS[name];
  if (known) return known;
  const [group, key = ""] = name.split(".");
  if (group === "machines") return (o) => o.machinesByState[key] ?? 0;
  return (o) => o.needs?.[key as keyof NonNullable<Overview["needs"]>];
};

function stored(history: History, name: string): Points | undefined {
  const [group, key = ""] = name.split(".");
  if (group === "machines") return history.machinesByState?.[key];
  if (group === "needs") return history.needsByState?.[key];
  return history[name as keyof History] as Points | undefined;
}

/** Without the time before anything was measured: nothing was missed there. */
function sinceFirstSample(history: History | undefined): number[] {
  if (!history) return [];
  const columns = Object.values(history).flatMap((each) => (Array.isArray(each) ? (each === history.timestamps ? [] : [each]) : Object.values(each as Record<string, Points>)));
  const first = history.timestamps.findIndex((_, index) => columns.some((column) => known(column[index])));
  return columns.length > 0 && first > 0 ? history.timestamps.slice(first) : history.timestamps;
}

/** Samples newer than the history are added, at most one per `step` seconds; what falls out of `span` is left out. */
export function courseOf(history: History | undefined, samples: readonly Sample[], step: number, span: number): Course {
  const old = sinceFirstSample(history);
  const lastOld = old.at(-1) ?? 0;
  const added: Sample[] = [];
  let last = lastOld;
  for (const sample of samples) {
    if (sample.seconds < last + step) continue;
    added.push(sample);
    last = sample.seconds;
  }
  const all = [...old, ...added.map((sample) => sample.seconds)];
  const from = all.findIndex((time) => time >= (all.at(-1) ?? 0) - span);
  const skip = Math.max(0, from);
  return {
    times: all.slice(skip),
    column: (name) => {
      const before = (history && stored(history, name)) ?? [];
      const lead = (history?.timestamps.length ?? 0) - old.length;
      const padded = old.map((_, index) => before[lead + index] ?? null);
      const pick = pickOf(name);
      return [...padded, ...added.map((sample) => pick(sample.overview) ?? null)].slice(skip);
    },
  };
}
