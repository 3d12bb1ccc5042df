import { useCallback, useEffect, useMemo, useState } from "react";
import { count, plural } from "../../core/format";
import { serverNow } from "../../core/live";
import { shown } from "../../core/palette";
import { setQuery, useMoment, useQueryState } from "../../core/router";
import { useStore } from "../../core/store";
import { Scrub } from "../../shell/scrub";
import { Button, Chip, Select } from "../../ui/basics";
import { Card } from "../../ui/card";
import { Empty, ErrorNotice, Loading, NotWired, Partial } from "../../ui/states";
import { MapCanvas } from "./canvas";
import { columnFor, COLOURINGS, type Colouring, type LegendEntry, legendOf } from "./colours";
import type { FleetMap } from "./data";
import { type Grouping, GROUPINGS, type Order, orderOf } from "./layout";
import { SelectionBar } from "./selection";
import { Summary } from "./summary";
import { type LoadedMap, useFleetMap } from "./use-map";
import "./map.css";

const GROUP_WORDS: Record<Grouping, string> = { zone: "Zone and rack", provider: "Provider", cluster: "Cluster", type: "Machine type" };
const COLOUR_WORDS: Record<Colouring, string> = { state: "State", cluster: "Cluster", capacity: "Capacity type", price: "Price", priority: "Priority", age: "Time in state" };
const AGES = 10_000;

function useBeat(milliseconds: number, isOn: boolean): number {
  const [beat, setBeat] = useState(0);
  useEffect(() => {
    if (!isOn) return;
    const timer = window.setInterval(() => setBeat((n) => n + 1), milliseconds);
    return () => window.clearInterval(timer);
  }, [milliseconds, isOn]);
  return beat;
}

function Legend({ entries, only, onToggle }: { entries: readonly LegendEntry[]; only: ReadonlySet<string>; onToggle: (name: string) => void }) {
  return (
    <div className="map-legend" role="group" aria-label="Legend; each entry filters">
      {entries.map((entry) => (
        <Chip key={entry.value} on={only.has(entry.name)} onToggle={() => onToggle(entry.name)} swatch={entry.colour} count={count(entry.count)}>
          <bdi>{entry.name}</bdi>
        </Chip>
      ))}
    </div>
  );
}

function Shown({ loaded, map, order, colouring, onGroup, isPast }: { loaded: LoadedMap; map: FleetMap; order: Order; colouring: Colouring; onGroup: (name: string) => void; isPast: boolean }) {
  const [onlyText, setOnly] = useQueryState("only");
  const [selection, setSelection] = useState<Uint32Array>(new Uint32Array());
  const only = useMemo(() => new Set(onlyText ? onlyText.split("~") : []), [onlyText]);
  const ages = useBeat(AGES, colouring === "age");
  const theme = useStore(shown);
  const column = useMemo(() => columnFor(map, colouring, serverNow() / 1000), [map, colouring, ages]);
  const entries = useMemo(() => legendOf(map, colouring, column, order.rows), [map, colouring, column, order, loaded.changed.batch, theme]);
  // Painting everything again is for another meaning of colours, not for every batch of changes.
  const meaning = entries.map((entry) => entry.value + entry.colour).join();
  const painted = useMemo(() => entries, [meaning]);
  const isHidden = useCallback((entry: LegendEntry) => only.size > 0 && !only.has(entry.name), [only]);
  const toggle = (name: string): void => {
    const next = new Set(only);
    if (!next.delete(name)) next.add(name);
    setOnly([...next].join("~"));
  };
  useEffect(() => setSelection(new Uint32Array()), [map]);
  return (
    <>
      <Legend entries={entries} only={only} onToggle={toggle} />
      <Card title={`${plural(order.rows.length, "machine")}, cycle ${count(map.header.cycle)}`} source={{ route: "/fleet/map?by=zone", command: "bigfleet machines" }} className="map-card">
        <MapCanvas map={map} order={order} column={column} entries={painted} isHidden={isHidden} changed={loaded.changed} selection={selection} onSelect={setSelection} onGroup={onGroup} isPast={isPast} />
      </Card>
      {selection.length > 0 && <SelectionBar map={map} rows={selection} onClear={() => setSelection(new Uint32Array())} />}
      <Card title="Summary" source={{ route: "/fleet/map?by=zone", command: "bigfleet machines -o csv", promql: "sum by (state) (bigfleet_shard_inventory_machines)" }} flush>
        <Summary order={order} column={column} entries={entries} onGroup={onGroup} />
      </Card>
    </>
  );
}

export default function MapPage() {
  const moment = useMoment();
  const [groupText, setGrouping] = useQueryState("by", "zone");
  const [colourText] = useQueryState("colour", "state");
  const [group] = useQueryState("group");
  const grouping = (GROUPINGS as readonly string[]).includes(groupText) ? (groupText as Grouping) : "zone";
  const colouring = (COLOURINGS as readonly string[]).includes(colourText) ? (colourText as Colouring) : "state";
  const loaded = useFleetMap(grouping, moment);
  const { map } = loaded;
  const order = useMemo(() => (map ? orderOf(map, group) : null), [map, group]);
  const onGroup = useCallback((name: string) => setQuery({ group: name }, { push: true }), []);

  return (
    <div className="map-page">
      <div className="page-head">
        <h1>Fleet map</h1>
        {group && <Button small icon="close" onClick={() => setQuery({ group: undefined }, { push: true })}>Only <bdi>{group}</bdi></Button>}
        <div className="row">
          <Select label="Group by" value={grouping} onChange={(value) => { setGrouping(value); setQuery({ group: undefined }); }} options={GROUPINGS.map((value) => ({ value, text: GROUP_WORDS[value] }))} />
          <Select label="Colour by" value={colouring} onChange={(value) => setQuery({ colour: value === "state" ? undefined : value, only: undefined })} options={COLOURINGS.map((value) => ({ value, text: COLOUR_WORDS[value] }))} />
        </div>
      </div>
      <Scrub loading={loaded.loading} />
      {map?.header.warnings && <Partial warnings={map.header.warnings} />}
      {loaded.error && map && <Partial warnings={[`The map could not be loaded again: ${loaded.error.message}`]} />}
      {!map && (loaded.error
        ? (loaded.error.notWired ? <NotWired error={loaded.error} height={400} /> : <ErrorNotice error={loaded.error} retry={loaded.reload} height={400} />)
        : <Loading height={640} lines={6} label="Loading the map" />)}
      {map && order && (map.count === 0
        ? <Empty title="No machines" height={400}><p>A provider's first List makes machines appear: bigfleet providers says how it is.</p></Empty>
        : <Shown loaded={loaded} map={map} order={order} colouring={colouring} onGroup={onGroup} isPast={moment !== null} />)}
    </div>
  );
}
