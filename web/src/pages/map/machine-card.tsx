// What is known of the machine under the pointer or the keyboard's focus, from the map itself.
import { useApi } from "../../core/api";
import { duration } from "../../core/format";
import { serverNow } from "../../core/live";
import { objectPath } from "../../core/router";
import { useNow } from "../../core/time";
import { StateMark } from "../../ui/basics";
import { priceName } from "./colours";
import type { MachineRow } from "../machines/rows";
import { type FleetMap, HELD, OVERDUE, RESERVED } from "./data";

export interface MachineFacts {
  id: string;
  state: string;
  cluster: string;
  type: string;
  capacity: string;
  place: string;
  price: string;
  priority: string;
  since: string;
  notes: string[];
}

/** Zone and rack, where the map is in that order. */
function placeOf(map: FleetMap, row: number): string {
  if (map.header.by !== "zone") return "";
  const group = map.header.groups?.find((each) => row >= each.start && row < each.end)?.name ?? "";
  const [zone = "", ...rack] = group.split("/");
  return rack.length > 0 ? `zone ${zone}, rack ${rack.join("/")}` : `zone ${zone}`;
}

export function factsOf(map: FleetMap, row: number): MachineFacts {
  const flags = map.value("flags", row);
  const since = map.value("sinceSeconds", row);
  const micros = map.column("priceMicros")?.[row];
  return {
    id: map.id(row),
    state: map.name("state", row),
    cluster: map.name("clusterIdx", row),
    type: map.name("typeIdx", row),
    capacity: map.name("capacityType", row),
    place: placeOf(map, row),
    price: micros === undefined ? priceName(map.names("priceBucket"), map.value("priceBucket", row)) : `$${(micros / 1e6).toLocaleString("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 6 })}/h`,
    priority: map.name("priorityClass", row),
    since: since ? duration(serverNow() / 1000 - since) : "",
    notes: [flags & RESERVED ? "reserved" : "", flags & HELD ? "held" : "", flags & OVERDUE ? "overdue" : ""].filter(Boolean),
  };
}

export function sentenceOf(facts: MachineFacts): string {
  return [
    facts.id, facts.state, facts.cluster && `cluster ${facts.cluster}`, facts.type, facts.capacity, facts.place, facts.price,
    facts.since && `for ${facts.since}`, ...facts.notes,
  ].filter(Boolean).join(", ");
}

/** The map knows only that it is: for whom and how long is asked for when someone looks. */
function ReservedFor({ id }: { id: string }) {
  const held = useApi<MachineRow>(objectPath("machines", id)).data?.reservedFor;
  const left = ((held?.expiresUnixNanos ?? 0) / 1e6 - useNow()) / 1000;
  return <p>reserved{held?.need && <> for <bdi>{held.need.replace(/^need\//, "")}</bdi></>}{held?.expiresUnixNanos ? (left > 0 ? `, for ${duration(left)} more` : ", ending") : ""}</p>;
}

export function MachineCard({ facts, left, top, isPast }: { facts: MachineFacts; left: number; top: number; isPast: boolean }) {
  const rows: [string, string][] = [
    ["Cluster", facts.cluster || "none"], ["Type", facts.type], ["Capacity", facts.capacity], ["Place", facts.place],
    ["Price", facts.price], ["Priority", facts.priority], ["In this state", facts.since || "unknown"],
  ];
  return (
    <div className="machine-card" style={{ left, top }} aria-hidden="true">
      <div className="machine-card-head"><bdi className="name">{facts.id}</bdi><StateMark state={facts.state} /></div>
      <dl>{rows.filter(([, text]) => text).map(([name, text]) => <div key={name}><dt>{name}</dt><dd><bdi>{text}</bdi></dd></div>)}</dl>
      {facts.notes.map((note) => (note === "reserved" && !isPast ? <ReservedFor key={facts.id} id={facts.id} /> : <p key={note}>{note}</p>))}
    </div>
  );
}
