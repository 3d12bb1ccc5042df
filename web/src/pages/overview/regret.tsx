// How far the fleet's cost is from a lower bound; the card on Costs says the rest.
import * as format from "../../core/format";
import { linkTo } from "../../core/router";
import type { FleetRegret } from "../../core/types";
import { Link } from "../../ui/basics";
import { Tile } from "../../ui/card";
import { Sparkline } from "../../ui/charts";
import { Percent, PerHour } from "../../ui/values";
import type { Course } from "./series";

const SOURCE = {
  route: "/regret",
  command: "bigfleet reports regret",
  promql: "sum(bigfleet_shard_regret_dollars_per_hour)",
};

export function RegretTile({ regret, course }: { regret?: FleetRegret | null; course: Course }) {
  const why = regret?.reason || "No shard has told its regret yet";
  const isKnown = format.known(regret?.ratio);
  const bounds = course.column("boundDollarsPerHour");
  const gaps = course.column("effectiveDollarsPerHour").map((cost, index) => {
    const bound = bounds[index];
    return format.known(cost) && format.known(bound) ? cost - bound : null;
  });
  return (
    <Tile
      title="Regret"
      source={SOURCE}
      value={<Percent v={regret?.ratio} why={why} />}
      note={<Link to={linkTo("/costs")} data-tip={isKnown ? regret?.reason || undefined : why}>{isKnown ? <><PerHour v={regret?.gapPerHour} /> above the bound</> : "why it is not measured"}</Link>}
    >
      {isKnown && <Sparkline points={gaps} label="Gap to the bound" format={format.perHour} />}
    </Tile>
  );
}
