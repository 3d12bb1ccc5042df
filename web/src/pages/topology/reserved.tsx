// Machines that wait for one Need: a Preempt reserves its victim until the Need takes it, or the time is over.
import { useApi } from "../../core/api";
import * as format from "../../core/format";
import { useResets } from "../../core/live";
import { linkTo, objectPath } from "../../core/router";
import { useNow } from "../../core/time";
import { Link, StateMark } from "../../ui/basics";
import { Card } from "../../ui/card";
import { Empty, View } from "../../ui/states";
import { Name } from "../../ui/values";
import { idOf, type MachineRow, stateOf } from "../machines/rows";

const EVERY = 3_000;
const LISTED = 100;

function Left({ nanos }: { nanos: number | undefined }) {
  const left = ((nanos ?? 0) / 1e6 - useNow()) / 1000;
  if (!nanos) return <span className="unknown">until when is unknown</span>;
  return <time data-tip={format.utcOfNanos(nanos)}>{left > 0 ? `for ${format.duration(left)} more` : "ending"}</time>;
}

export function Reserved() {
  const loaded = useApi<{ total: number; machines: MachineRow[] }>("/machines", { reserved: true, limit: LISTED }, { version: useResets(), every: EVERY });
  return (
    <Card title="Reserved machines" source={{ route: "/machines?reserved=true", command: "bigfleet machines reservations", promql: "bigfleet_shard_reservations" }} flush>
      <View of={loaded} height={94} empty={(data) => (data.total === 0 ? <Empty title="None is reserved" height={94}><p>A machine that a Preempt takes from one Need waits here for the other: no third one gets it meanwhile.</p></Empty> : null)}>
        {(data) => (
          <ul className="topology-rows">
            {data.machines.map((row) => {
              const need = (row.reservedFor?.need ?? "").replace(/^need\//, "");
              return (
                <li key={idOf(row)}>
                  <StateMark state={stateOf(row)} />
                  <span className="topology-main">
                    <Link to={linkTo(objectPath("machines", idOf(row)))}><Name>{idOf(row)}</Name></Link> for {need ? <Link to={linkTo("/needs", { need })}><Name>{need}</Name></Link> : <span className="unknown">a Need that is not told</span>}
                  </span>
                  <span className="topology-end"><Left nanos={row.reservedFor?.expiresUnixNanos} /></span>
                </li>
              );
            })}
            {data.total > data.machines.length && <li className="dim">{format.count(data.machines.length)} of {format.count(data.total)} shown</li>}
          </ul>
        )}
      </View>
    </Card>
  );
}
