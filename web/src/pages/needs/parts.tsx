// Small parts of a Need's row and drawer.
import { exactResources, type Resources, resourcesText } from "../../core/quantity";
import * as format from "../../core/format";
import { stateColour } from "../../core/palette";
import { useNow } from "../../core/time";
import { Pill } from "../../ui/basics";
import { coverageOf, etaText, penaltyText, requirementExact, requirementText, spreadText } from "./shapes";
import type { Eta, NeedRow, Requirement, Spread } from "./types";

export function Requirements({ requirements = [], spread = [] }: { requirements?: readonly Requirement[]; spread?: readonly Spread[] }) {
  if (requirements.length + spread.length === 0) return <span className="dim">any machine</span>;
  return (
    <span className="needs-chips">
      {requirements.map((each) => <span key={requirementExact(each)} className="needs-chip" data-tip={requirementExact(each)}><bdi>{requirementText(each)}</bdi></span>)}
      {spread.map((each) => <span key={each.topologyKey} className="needs-chip" data-tip={`${each.topologyKey}, skew at most ${each.maxSkew}${each.whenUnsatisfiable ? `, ${each.whenUnsatisfiable}` : ""}`}><bdi>{spreadText(each)}</bdi></span>)}
    </span>
  );
}

export function Amounts({ of, none = "nothing" }: { of: Resources | undefined; none?: string }) {
  const text = resourcesText(of);
  return text ? <bdi className="value" data-tip={exactResources(of)}>{text}</bdi> : <span className="dim">{none}</span>;
}

export function Penalties({ row }: { row: NeedRow }) {
  const both = [
    ["interruption", penaltyText(row.interruptionPenaltyBucket), "declared for each machine that is lost or preempted"],
    ["reclaim", penaltyText(row.reclamationPenaltyBucket), "declared for each machine that is drained for another Need"],
  ] as const;
  return (
    <span className="needs-pills">
      {both.map(([name, text, tip]) => (
        <Pill key={name} tone={text === "pinned" ? "accent" : "neutral"} tip={`${name === "reclaim" ? "Reclamation" : "Interruption"} penalty: ${text ? `${text}, ${tip}; not billed` : "none declared"}`}>
          {name === "reclaim" ? "rec" : "int"} {text || "–"}
        </Pill>
      ))}
    </span>
  );
}

const whole = (share: number): string => format.percent(share, 0);

/** By when four of five such Needs are met; how it is known is its tip. */
export function EtaLine({ eta }: { eta: Eta }) {
  const now = useNow();
  return <span className="needs-sub" data-tip={eta.sentence}>{etaText(eta, now)}</span>;
}

/** How much of the demand is there, comes, or is missing. */
export function CoverageBar({ row, wide }: { row: NeedRow; wide?: boolean }) {
  const covered = coverageOf(row);
  if (!covered) return <span className="unknown" data-tip="What is missing is not in the dimensions that were asked for">unknown</span>;
  const { have, coming, missing } = covered;
  const held = row.state === "blocked" ? "held back" : "on its way";
  const claimed = format.plural(row.claimedMachineCount, "machine");
  const tip = [`${whole(have)} of the demand is there`, coming > 0 ? `${whole(coming)} is ${held} (${format.count(row.arrivingMachines)} of ${claimed})` : "", missing > 0 ? `${whole(missing)} is missing, in the scarcest dimension` : ""].filter(Boolean).join("\n");
  return (
    <span className={`needs-cover ${wide ? "wide" : ""}`} data-tip={tip} role="img" aria-label={tip.replace(/\n/g, ", ")}>
      <span className="needs-bar">
        <span style={{ flexGrow: have, background: stateColour("Configured") }} />
        <span style={{ flexGrow: coming, background: stateColour(row.state === "blocked" ? "Configuring" : "Idle") }} />
        <span className="needs-missing" style={{ flexGrow: missing }} />
      </span>
      <span className="needs-share">{whole(have)}</span>
    </span>
  );
}
