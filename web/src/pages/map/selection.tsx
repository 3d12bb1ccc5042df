// What was selected by dragging: totals, cost, and what would happen without it.
import { useMemo } from "react";
import { count, money, perHour, plural, precise } from "../../core/format";
import { linkTo } from "../../core/router";
import { Button, Link } from "../../ui/basics";
import { Icon } from "../../ui/icons";
import type { FleetMap } from "./data";
import { MOST_IDS, removalOf } from "./vanish";
import { totalsOf } from "./totals";

const listed = (pairs: readonly [string, number][]): string => pairs.slice(0, 6).map(([name, amount]) => `${name} ${count(amount)}`).join(", ") + (pairs.length > 6 ? `, ${pairs.length - 6} more` : "");

export function SelectionBar({ map, rows, onClear }: { map: FleetMap; rows: Uint32Array; onClear: () => void }) {
  const totals = totalsOf(map, rows);
  const edits = useMemo(() => removalOf(map, rows), [map, rows]);
  return (
    <section className="selection" aria-label="Selection">
      <strong>{plural(totals.machines, "machine")}</strong>
      <span>{listed(totals.byState)}</span>
      <span className="dim"><bdi>{listed(totals.byCluster)}</bdi></span>
      <span data-tip={totals.isBound ? "The map knows prices as buckets: this is their upper bound" : `$${precise(totals.dollars)} an hour, billed`}>
        {Number.isFinite(totals.dollars) ? `${totals.isBound ? "at most " : ""}${perHour(totals.dollars)}` : `more than ${money(0)}/h`}
      </span>
      <span className="push row">
        {edits
          ? <Link className="button primary small" to={linkTo("/whatif", { overlay: edits.join("\n") })}>What if these vanish <Icon name="chevron" size={14} /></Link>
          : <span className="dim">A what-if takes whole zones, racks or groups of the map, and {MOST_IDS} machines more: select fewer</span>}
        <Button small onClick={onClear}>Clear</Button>
      </span>
    </section>
  );
}
