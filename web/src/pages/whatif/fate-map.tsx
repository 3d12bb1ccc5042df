// The fleet map, coloured by what the edits change. Loaded only when someone wants to see it.
import { useMemo, useState } from "react";
import * as format from "../../core/format";
import type { Moment } from "../../core/moments";
import { shown } from "../../core/palette";
import { useStore } from "../../core/store";
import { Button } from "../../ui/basics";
import { ErrorNotice, Loading, NotWired, Partial } from "../../ui/states";
import { MapCanvas } from "../map/canvas";
import type { LegendEntry } from "../map/colours";
import { orderOf } from "../map/layout";
import { fateColumn, fateLegend, withoutRacks } from "./fates";
import { useFleetMap } from "../map/use-map";
import "../map/map.css";
import type { Fate } from "./types";

const HEIGHT = 340;
const NONE = new Uint32Array();
const isHidden = (entry: LegendEntry): boolean => entry.value === 0;
const nothing = (): void => undefined;

export default function FateMap({ fates, moment }: { fates: readonly Fate[]; moment: Moment | null }) {
  const { map, error, reload, changed } = useFleetMap("zone", moment);
  const [group, setGroup] = useState("");
  const theme = useStore(shown);
  const order = useMemo(() => (map ? withoutRacks(orderOf(map, group)) : null), [map, group]);
  const column = useMemo(() => (map ? fateColumn(map, fates) : null), [map, fates]);
  const entries = useMemo(() => (column ? fateLegend(column.column) : []), [column, theme]);
  if (!map || !order || !column) {
    if (error) return error.notWired ? <NotWired error={error} height={HEIGHT} /> : <ErrorNotice error={error} retry={reload} height={HEIGHT} />;
    return <Loading height={HEIGHT} lines={5} label="Loading the map" />;
  }
  const named = fates.reduce((sum, fate) => sum + fate.machineIds.length, 0);
  const all = fates.reduce((sum, fate) => sum + fate.machines, 0);
  const notes = [
    ...(named < all ? [`${format.plural(all, "machine")} in all, of which the answer names ${format.count(named)}.`] : []),
    ...(column.found < named ? [`${format.plural(named - column.found, "machine")} of the answer ${named - column.found === 1 ? "is" : "are"} not on the map: the edits add them, or they are gone by now.`] : []),
  ];
  return (
    <>
      <div className="map-legend" role="list" aria-label="Legend">
        {entries.map((entry) => <span key={entry.value} role="listitem" className="whatif-key"><span className={entry.value === 0 ? "swatch faint" : "swatch"} style={entry.value === 0 ? undefined : { background: entry.colour }} />{entry.name} <b>{format.count(entry.count)}</b></span>)}
        {group && <Button small icon="close" onClick={() => setGroup("")}>Only <bdi>{group}</bdi></Button>}
      </div>
      {map.header.warnings && <Partial warnings={map.header.warnings} />}
      <Partial warnings={notes} title="To know:" />
      <MapCanvas map={map} order={order} column={column.column} entries={entries} isHidden={isHidden} changed={changed} selection={NONE} onSelect={nothing} onGroup={setGroup} isPast={moment !== null} />
    </>
  );
}
