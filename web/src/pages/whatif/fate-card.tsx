// What becomes of machines: groups of them in words, and where they stand on the map.
import { lazy, Suspense, useState } from "react";
import * as format from "../../core/format";
import { parseMoment } from "../../core/moments";
import { linkTo } from "../../core/router";
import { Button, Link } from "../../ui/basics";
import { Card } from "../../ui/card";
import { Empty, Loading } from "../../ui/states";
import { Name } from "../../ui/values";
import { detailsOfFate, FATES, fateNumber } from "./fates";
import type { WhatIf } from "./types";

const FateMap = lazy(() => import("./fate-map"));
const GROUPS_SHOWN = 12;
const IDS_SHOWN = 3;
const SOURCE = { route: "/whatif,/fleet/map?by=zone" };

export function Fates({ told, base }: { told: WhatIf; base: string }) {
  const [isShown, setShown] = useState(false);
  const fates = told.fates;
  if (!fates) return null;
  // Of several cycles, one of each shard, the map shows now.
  const rest = fates.length - GROUPS_SHOWN;
  return (
    <Card title="What becomes of machines" source={SOURCE} flush actions={fates.length > 0 && <Button small icon="map" onClick={() => setShown(!isShown)} aria-expanded={isShown}>{isShown ? "Hide the map" : "Show on the map"}</Button>}>
      {fates.length === 0 ? <Empty title="Every machine is treated as before" height={60} /> : (
        <>
          {isShown && <div className="whatif-map"><Suspense fallback={<Loading height={340} lines={5} label="Loading the map" />}><FateMap fates={fates} moment={parseMoment(base)} /></Suspense></div>}
          {told.settling && <p className="whatif-note dim">Of the first cycle: later ones act on what the first began.</p>}
          <ul className="whatif-rows">
            {fates.slice(0, GROUPS_SHOWN).map((fate) => (
              <li key={`${fate.removed} ${detailsOfFate(fate)}`}>
                <span className="whatif-main">
                  <b>{FATES[fateNumber(fate)]?.text}</b> <span className="dim"><bdi>{detailsOfFate(fate)}</bdi></span>
                  <span className="whatif-sub">{fate.machineIds.slice(0, IDS_SHOWN).map((id, index) => <span key={id}>{index > 0 && ", "}<Link to={linkTo(`/machines/${encodeURIComponent(id)}`)}><Name>{id}</Name></Link></span>)}{fate.machines > IDS_SHOWN && fate.machineIds.length > 0 && ` and ${format.count(fate.machines - Math.min(IDS_SHOWN, fate.machineIds.length))} more`}</span>
                </span>
                <b>{format.plural(fate.machines, "machine")}</b>
              </li>
            ))}
            {rest > 0 && <li className="dim">{format.plural(rest, "smaller group")} more</li>}
          </ul>
        </>
      )}
    </Card>
  );
}
