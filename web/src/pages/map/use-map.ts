// Loads the map and keeps it true: live by its changes, or as it was at a past cycle.
import { useCallback, useEffect, useRef, useState } from "react";
import { ApiError, getBytes } from "../../core/api";
import { askedAt, type Moment, momentText } from "../../core/moments";
import { orderMapBy, streamOpened, useResets, useTopic } from "../../core/live";
import { useStore } from "../../core/store";
import { applyChanges, difference, type FleetMap, type MapEvent, parseMap } from "./data";

export interface LoadedMap {
  map: FleetMap | undefined;
  error: ApiError | undefined;
  loading: boolean;
  /** Grows with every batch of changes; `rows` are those of the last one. */
  changed: { batch: number; rows: readonly number[] };
  reload: () => void;
}

const ROUTE = "/fleet/map";

/** `moment` null: now. */
export function useFleetMap(by: string, moment: Moment | null): LoadedMap {
  const at = moment && momentText(moment);
  const [map, setMap] = useState<FleetMap>();
  const [error, setError] = useState<ApiError>();
  const [loading, setLoading] = useState(true);
  const [changed, setChanged] = useState<{ batch: number; rows: readonly number[] }>({ batch: 0, rows: [] });
  const [turn, setTurn] = useState(0);
  const reload = useCallback(() => setTurn((n) => n + 1), []);
  const current = useRef<FleetMap>(undefined);
  const began = useRef(0);
  const resets = useResets();
  const opened = useStore(streamOpened);

  useEffect(() => orderMapBy(by), [by]);

  useEffect(() => {
    const abort = new AbortController();
    began.current = Date.now();
    setLoading(true);
    performance.mark("map.load");
    getBytes(ROUTE, { by, ...askedAt(moment) }, abort.signal)
      .then((bytes) => {
        const fresh = parseMap(bytes);
        const before = current.current;
        const rows = before && before.header.by === fresh.header.by ? difference(before, fresh) : null;
        current.current = fresh;
        setMap(fresh);
        setError(undefined);
        setLoading(false);
        setChanged(({ batch }) => ({ batch: batch + 1, rows: rows ?? [] }));
        performance.measure("map.load", "map.load");
      })
      .catch((cause: unknown) => {
        if (abort.signal.aborted) return;
        setError(cause instanceof ApiError ? cause : new ApiError(String(cause), 0, ROUTE));
        setLoading(false);
      });
    return () => abort.abort();
  }, [by, at, turn, resets]);

  useEffect(() => {
    // Changes between our request and a stream that opened later were not heard.
    if (at === null && opened.topics.includes("map") && opened.at > began.current && began.current > 0) reload();
  }, [opened, at, reload]);

  const heard = useCallback(
    (data: unknown) => {
      const event = data as MapEvent;
      const now = current.current;
      if (at !== null || !now || event.by !== now.header.by || event.cycle < now.header.cycle) return;
      const layout = event.layout ?? 0;
      if (!event.reset && layout < (now.header.layout ?? 0)) return; // of the order before ours
      if (event.reset || layout !== now.header.layout) {
        reload();
        return;
      }
      const rows = applyChanges(now, event);
      if (rows.length > 0) setChanged(({ batch }) => ({ batch: batch + 1, rows }));
    },
    [by, at, reload],
  );
  useTopic("map", heard);
  return { map, error, loading, changed, reload };
}
