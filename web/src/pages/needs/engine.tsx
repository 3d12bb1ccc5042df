// What the engine weighed for a Need: supply, competitors, domains, candidates, victims.
import * as format from "../../core/format";
import { resourcesText, unwrapped } from "../../core/quantity";
import { stateColour } from "../../core/palette";
import { linkTo, objectPath } from "../../core/router";
import { Link, Pill, StateMark } from "../../ui/basics";
import { Name } from "../../ui/values";
import { funnelOf, nameOfRef, outcomeWords } from "./explained";
import type { Candidate, Competitor, Domain, NeedExplanation, NeedRow, Victim } from "./types";

const KIND_COLOURS = { taken: "Configured", free: "Idle", out: "Speculative" } as const;
const OUTCOME_WORDS: Record<string, string> = {
  credited: "already its own", chosen: "taken now", "not needed": "fit, and were not needed", requirement: "lack a required label",
  "min unit": "too small for one chunk", domain: "in another domain", held: "held by another Need", state: "in a state that cannot be taken",
  reserved: "reserved for another", quota: "withheld by a quota", unseen: "not seen by their provider", spread: "would break the spread", backoff: "their offering is in back-off",
};

export function Funnel({ told }: { told: NeedExplanation }) {
  const parts = funnelOf(told);
  const most = Math.max(1, ...parts.map((part) => part.machines));
  return (
    <ul className="needs-funnel">
      {parts.map((part) => (
        <li key={`${part.outcome} ${part.code}`}>
          <b>{format.count(part.machines)}</b>
          <span className="needs-funnel-bar" aria-hidden="true"><span style={{ width: `${(part.machines / most) * 100}%`, background: stateColour(KIND_COLOURS[part.kind]) }} /></span>
          <span>{OUTCOME_WORDS[part.outcome] ?? part.outcome} <code className="dim">{part.code}</code></span>
        </li>
      ))}
    </ul>
  );
}

export function Competitors({ competitors, rows }: { competitors: readonly Competitor[]; rows: readonly NeedRow[] }) {
  if (competitors.length === 0) return <p className="dim">No other Need holds a machine that would fit.</p>;
  return (
    <ul className="needs-ahead">
      {competitors.map((each, index) => {
        const name = nameOfRef(each.need, rows);
        return (
          <li key={index}>
            {name ? <Link to={linkTo("/needs", { need: name })}><Name>{name}</Name></Link> : <span data-tip={each.need.profileFingerprint}><Name>{each.need.clusterId ?? "unknown"}</Name>{each.need.group ? <> <Name dim>{each.need.group}</Name></> : null}</span>}
            <Pill tone={each.strictlyHigher ? "warn" : "neutral"} tip={each.strictlyHigher ? "It may preempt, and cannot be preempted by this one" : "Equal precedence; it came first"}>{each.strictlyHigher ? "higher" : "earlier"}</Pill>
            <span className="dim">priority {format.count(each.priority)}</span>
            <span className="push">{format.plural(each.machines, "machine")}</span>
          </li>
        );
      })}
    </ul>
  );
}

export function Domains({ domains, numbers }: { domains: readonly Domain[]; numbers: boolean }) {
  return (
    <ul className="needs-domains">
      {domains.map((each) => (
        <li key={each.domain}>
          <span className="needs-domain-name"><Name>{each.domain}</Name>{each.rank === 1 && <Pill tone="accent">chosen</Pill>}</span>
          <span className="needs-funnel-bar" role="img" aria-label={`covers ${format.percent(each.covered)} of the gang`} data-tip={`covers ${format.percent(each.covered)} of the gang; ${format.percent(each.credited)} is there already`}>
            <span style={{ width: `${Math.min(1, each.covered) * 100}%`, background: stateColour(each.covered >= 1 ? "Configured" : "Idle") }} />
          </span>
          <span className="needs-share">{format.percent(each.covered, 0)}</span>
          <span className="dim needs-domain-text"><bdi>{each.rank === 1 ? `${format.plural(each.machines, "machine")}, ${resourcesText(unwrapped(each.offers)) || "nothing free"}` : each.text}</bdi></span>
          {numbers && <span className="dim needs-domain-text">rank {each.rank}, {format.plural(each.machines, "machine")} with {resourcesText(unwrapped(each.offers)) || "nothing"}; credited {format.percent(each.credited)}, own {format.percent(each.own)}, offered {format.percent(each.offered)}</span>}
        </li>
      ))}
    </ul>
  );
}

const dollars = (value: number | null | undefined): string => (format.known(value) ? `$${format.precise(Number(value.toFixed(4)))}` : "pinned");

export function Candidates({ candidates }: { candidates: readonly Candidate[] }) {
  return (
    <div className="needs-scroll" tabIndex={0} role="region" aria-label="Candidates">
      <table className="needs-table">
        <thead><tr><th scope="col">Machine</th><th scope="col">State</th><th scope="col">Rank</th><th scope="col">$/h</th><th scope="col">Prob.</th><th scope="col">Penalty</th><th scope="col">Cost</th><th scope="col">Why</th></tr></thead>
        <tbody>
          {candidates.map((each) => (
            <tr key={each.machineId}>
              <td><Link to={linkTo(objectPath("machines", each.machineId))}><Name>{each.machineId}</Name></Link></td>
              <td><StateMark state={format.enumWord(each.state, "MACHINE_STATE_")} codeOnly /></td>
              <td>{each.rank || "–"}</td>
              <td>{dollars(each.cost?.pricePerHour)}</td>
              <td>{format.precise(each.cost?.interruptionProbability)}</td>
              <td>{dollars(each.cost?.interruptionPenaltyDollars)}</td>
              <td>{dollars(each.cost?.effectiveCostPerHour)}</td>
              <td><bdi>{[outcomeWords(each.outcome), each.text].filter(Boolean).join(": ")}</bdi></td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

export function Victims({ victims, numbers }: { victims: readonly Victim[]; numbers: boolean }) {
  return (
    <div className="needs-scroll" tabIndex={0} role="region" aria-label="Machines weighed for preemption">
      <table className="needs-table">
        <thead><tr><th scope="col">Machine</th><th scope="col">Of</th><th scope="col">Priority</th>{numbers && <><th scope="col">Score</th><th scope="col">Gap</th><th scope="col">Drain</th><th scope="col">Interr.</th><th scope="col">Reclam.</th></>}<th scope="col">Verdict</th></tr></thead>
        <tbody>
          {victims.map((each) => (
            <tr key={each.machineId}>
              <td><Link to={linkTo(objectPath("machines", each.machineId))}><Name>{each.machineId}</Name></Link></td>
              <td><Name>{each.clusterId}</Name></td>
              <td>{format.count(each.assignedPriority)}</td>
              {numbers && [each.score, each.gapTerm, each.drainTerm, each.interruptionTerm, each.reclamationTerm].map((value, index) => <td key={index}>{format.known(value) ? Number(value.toFixed(3)) : "pinned"}</td>)}
              <td>{each.chosen ? `preempted, ${format.duration(each.gracePeriodSeconds)} of grace` : "spared"}{each.excludedReason && <>: <bdi>{each.excludedReason}</bdi></>}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
