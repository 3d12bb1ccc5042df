// Parts that the list of clusters and the page of one share.
import * as format from "../../core/format";
import { stateColour } from "../../core/palette";
import { NEED_STATES, type NeedCounts, type NeedState } from "../../core/types";
import { Pill } from "../../ui/basics";
import { PartsBar } from "../../ui/charts";
import { type Month, netText } from "../costs/invoices";
import type { Mark } from "./standing";
import type { Cluster } from "./types";

const COLOURS: Record<NeedState, string> = { met: "Configured", arriving: "Idle", blocked: "Configuring", short: "Failed" };

export const needsText = (needs: NeedCounts | undefined): string => {
  if (!needs) return "not told";
  const parts = NEED_STATES.filter((state) => needs[state] > 0).map((state) => `${format.count(needs[state])} ${state}`);
  return parts.join(", ") || "asks for nothing";
};

export const NeedsBar = ({ cluster }: { cluster: Cluster }) => (
  <PartsBar label={`Needs of ${cluster.id}`} parts={NEED_STATES.map((state) => ({ name: state, value: cluster.needs?.[state] ?? 0, colour: stateColour(COLOURS[state]) }))} />
);

/** What was declared for machines that were taken for it, and from it; beside what is billed, never in it. */
export const Declared = ({ of, isTold }: { of: Month | undefined; isTold: boolean }) => of
  ? <span className="clusters-two" data-tip={`Declared in ${of.month}, never billed: net ${netText(of)}, ${format.plural(of.count, "statement")}`}><span className="clusters-sub">caused {format.money(of.causedDollars)}</span><span className="clusters-sub">borne {format.money(of.borneDollars)}</span></span>
  : isTold ? <span className="dim" data-tip="No machine was taken for it or from it">–</span> : <span className="unknown">unknown</span>;

export const Marks = ({ marks }: { marks: readonly Mark[] }) => (
  <span className="clusters-marks">
    {marks.length === 0 && <span className="dim">–</span>}
    {marks.map((mark) => <Pill key={mark.text} tone={mark.tone} tip={mark.tip}>{mark.text}</Pill>)}
  </span>
);

/** "727 running, 5 waiting, 3 stuck"; what is not counted here is said to be unknown. */
export function podsText(cluster: Cluster): { main: string; sub: string; bad: boolean } {
  const pods = cluster.pods;
  const stuck = pods?.stuck ?? cluster.stuckPods ?? cluster.session?.report?.podsCoveredNotPlaced;
  const bad = (stuck ?? 0) > 0;
  const stuckWords = stuck === undefined ? "stuck unknown" : stuck > 0 ? `${format.count(stuck)} stuck` : "none stuck";
  if (!pods) return { main: stuckWords, sub: "running not told", bad };
  return { main: `${format.count(pods.running)} running`, sub: pods.waiting > 0 || bad ? `${format.count(pods.waiting)} waiting, ${stuckWords}` : "none waiting", bad };
}

export function nodesText(cluster: Cluster): { main: string; sub: string } {
  const report = cluster.session?.report;
  if (!report) return { main: "unknown", sub: "" };
  const rest = [[report.nodesNotReady, "not ready"], [report.nodesMissing, "missing"], [cluster.upcomingNodes, "upcoming"]] as const;
  return { main: `${format.count(report.nodesReady)} ready`, sub: rest.filter(([n]) => (n ?? 0) > 0).map(([n, word]) => `${format.count(n)} ${word}`).join(", ") };
}
