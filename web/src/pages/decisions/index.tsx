import { useCallback, useEffect, useMemo, useState } from "react";
import { announce } from "../../core/announce";
import { decisionKey, decisionName, isDecision } from "../../core/decisions";
import * as format from "../../core/format";
import { useKey } from "../../core/keys";
import { overview, useStatus } from "../../core/live";
import { setQuery, useMoment, useQueryState } from "../../core/router";
import { useStore } from "../../core/store";
import type { Decision } from "../../core/types";
import { Scrub } from "../../shell/scrub";
import { Button, Chip, Select } from "../../ui/basics";
import { Card } from "../../ui/card";
import { Icon } from "../../ui/icons";
import { Empty, ErrorNotice, View } from "../../ui/states";
import { useDecisions } from "./data";
import { useAnchored } from "./anchor";
import { Explanation, whyCommand } from "./explanation";
import { csvOf, DISPOSITIONS, fateWord, type Filters, fits, groupsOf, jsonOf, KINDS } from "./feed";
import { Cycle } from "./rows";
import "./decisions.css";

const clearAll = (): void => setQuery({ kind: undefined, cluster: undefined, machine: undefined, need: undefined, rail: undefined, shard: undefined });

const toggled = (list: string, word: string): string => {
  const all = list.split(",").filter(Boolean);
  return (all.includes(word) ? all.filter((each) => each !== word) : [...all, word]).join(",");
};

function useFilters(): Filters {
  const [kind] = useQueryState("kind");
  const [cluster] = useQueryState("cluster");
  const [machine] = useQueryState("machine");
  const [need] = useQueryState("need");
  const [rail] = useQueryState("rail");
  const [shard] = useQueryState("shard");
  return useMemo(() => ({ kind, cluster, machine, need, rail, shard }), [kind, cluster, machine, need, rail, shard]);
}

const set = (key: keyof Filters) => (value: string): void => setQuery({ [key]: value || undefined });

/** A text filter: taken with Enter or when it is left, so that no half name is asked for. */
function TextFilter({ label, value, placeholder, onChange }: { label: string; value: string; placeholder: string; onChange: (value: string) => void }) {
  const [text, setText] = useState(value);
  useEffect(() => setText(value), [value]);
  return (
    <label className="select">
      <span>{label}</span>
      <input
        className="field decisions-field"
        value={text}
        placeholder={placeholder}
        maxLength={300}
        spellCheck={false}
        onChange={(event) => setText(event.target.value)}
        onBlur={() => onChange(text.trim())}
        onKeyDown={(event) => {
          if (event.key === "Enter") onChange(text.trim());
          if (event.key === "Escape") setText(value);
        }}
      />
    </label>
  );
}

const RAILS = [
  { value: "", text: "all" }, { value: "enqueued", text: "started" }, { value: "failed", text: "failed or cancelled" }, { value: "stopped", text: "held back, any" },
  ...Object.keys(DISPOSITIONS).filter((name) => name !== "enqueued").map((value) => ({ value, text: fateWord(value) })),
];

function FilterBar({ filters, rows, shards }: { filters: Filters; rows: readonly Decision[]; shards: readonly string[] }) {
  const summary = useStore(overview);
  const clusters = useMemo(
    () => [...new Set([...Object.keys(summary?.pods?.byCluster ?? {}), ...rows.map((row) => row.cluster ?? ""), filters.cluster])].filter(Boolean).sort(),
    [summary?.pods?.byCluster, rows, filters.cluster],
  );
  const choices = (names: readonly string[]) => [{ value: "", text: "all" }, ...names.map((value) => ({ value, text: value }))];
  return (
    <div className="decisions-filters" role="group" aria-label="Filters">
      <div className="row" role="group" aria-label="Kinds">
        {KINDS.map((kind) => <Chip key={kind} on={filters.kind.split(",").includes(kind)} onToggle={() => set("kind")(toggled(filters.kind, kind))}>{kind}</Chip>)}
      </div>
      <Select label="Cluster" value={filters.cluster} onChange={set("cluster")} options={choices(clusters)} />
      <TextFilter label="Machine" value={filters.machine} placeholder="bm-0031" onChange={set("machine")} />
      <TextFilter label="Need" value={filters.need} placeholder="shop/n3f9c" onChange={set("need")} />
      <Select label="Rail" value={filters.rail} onChange={set("rail")} options={RAILS} />
      {shards.length > 1 && <Select label="Shard" value={filters.shard} onChange={set("shard")} options={choices(shards)} />}
    </div>
  );
}

function save(name: string, type: string, text: string): void {
  const address = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  window.setTimeout(() => URL.revokeObjectURL(address), 10_000);
  announce(`Saved ${name}`, true);
}

function Export({ rows, filters }: { rows: readonly Decision[]; filters: Filters }) {
  const stamp = new Date().toISOString().slice(0, 19).replace(/:/g, "");
  return (
    <>
      <Button small icon="download" disabled={rows.length === 0} data-tip="What is shown, with every column" onClick={() => save(`decisions-${stamp}.json`, "application/json", jsonOf(rows, filters))}>JSON</Button>
      <Button small icon="download" disabled={rows.length === 0} data-tip="What is shown, for a spreadsheet" onClick={() => save(`decisions-${stamp}.csv`, "text/csv", csvOf(rows))}>CSV</Button>
    </>
  );
}

function Nothing({ filtered, at }: { filtered: boolean; at: number | null }) {
  if (filtered)
    return <Empty title="No decision fits these filters" height={200}><p>Of those that are loaded. <button type="button" className="decisions-link" onClick={clearAll}>Show all</button></p></Empty>;
  if (at !== null) return <Empty title={`Nothing decided up to cycle ${format.count(at)} is kept`} height={200}><p>Older cycles are in the journal: <code>bigfleet why cluster/ID --journal DIR --at CYCLE</code></p></Empty>;
  return <Empty title="Nothing decided yet" height={200}><p>A decision appears when a cluster's demand changes, or when a machine comes, goes or fails.</p></Empty>;
}

/** A decision that was linked to and is not among those that are loaded. */
function Linked({ wanted, filter }: { wanted: string; filter: string }) {
  const [name = "", of = filter] = wanted.split("@");
  const shard = of || undefined;
  return (
    <Card title={`Decision ${name}`} source={{ route: `/why?object=action/${name}${shard ? `&shard=${shard}` : ""}`, command: whyCommand(name, shard) }} actions={<Button small kind="ghost" icon="close" onClick={() => setQuery({ decision: undefined })}>Close</Button>}>
      <Explanation id={name} shard={shard} />
    </Card>
  );
}

export default function DecisionsPage() {
  const filters = useFilters();
  const moment = useMoment();
  const at = moment?.cycle ?? null;
  const status = useStatus();
  const shards = useMemo(() => (status?.shards ?? []).map((shard) => shard.shardId).sort(), [status]);
  const [paused, setPaused] = useState(false);
  const [opened] = useQueryState("decision");
  const following = useDecisions(filters, moment, paused);
  const loaded = following.loaded;
  const all = loaded.data?.rows ?? [];
  const rows = useMemo(() => all.filter((row) => fits(row, filters)), [all, filters]);
  const groups = useMemo(() => groupsOf(rows), [rows]);
  const filtered = Object.values(filters).some(Boolean);
  const wanted = decisionName(opened);
  const box = useAnchored(groups);
  const isLoaded = !wanted || rows.some((row) => isDecision(row, wanted));

  const toggle = useCallback((row: Decision) => {
    const before = decisionName(new URLSearchParams(window.location.search).get("decision") ?? "");
    setQuery({ decision: isDecision(row, before) ? undefined : decisionKey(row) });
  }, []);
  const follow = useCallback(() => setPaused((now) => !now), []);
  useKey("p", "Pause or go on following", "Decisions", follow);
  useKey("x", "Clear the filters", "Decisions", clearAll);

  const newest = rows[0];
  const spoken = newest ? `Cycle ${newest.cycle}: ${groups[0]?.counts.map((count) => `${count.total} ${count.kind}`).join(", ")}` : "";
  useEffect(() => {
    if (spoken && !paused && at === null) announce(spoken);
  }, [spoken, paused, at]);

  const reachesBack = rows.at(-1);
  return (
    <div className="decisions stack">
      <div className="page-head">
        <h1>Decisions</h1>
        <div className="row">
          {filtered && <Button small kind="ghost" icon="close" onClick={clearAll}>Clear filters</Button>}
          {at === null && <Button small icon={paused ? "play" : "pause"} aria-pressed={paused} onClick={follow} data-tip="p">{paused ? "Follow" : "Pause following"}</Button>}
          <Export rows={rows} filters={filters} />
        </div>
      </div>
      <Scrub loading={loaded.loading} />
      <FilterBar filters={filters} rows={all} shards={moment ? [] : shards} />
      {wanted && loaded.data && !isLoaded && <Linked wanted={wanted} filter={filters.shard} />}
      <Card
        title={at === null ? "What was decided, newest first" : `What was decided up to cycle ${format.count(at)}`}
        source={{ route: "/decisions", command: "bigfleet why cluster/ID", promql: "sum by (kind) (rate(bigfleet_shard_actions_total[5m]))" }}
        flush
      >
        <p className="decisions-count dim" role="status">{loaded.data ? `${format.plural(rows.length, "decision")} shown${following.loaded.data?.next ? ", older ones below" : ""}` : ""}</p>
        {following.waiting > 0 && (
          <button type="button" className="decisions-new" onClick={following.showWaiting}><Icon name="up" size={12} /> {format.plural(following.waiting, "new or changed decision")}: show</button>
        )}
        <View of={loaded} height={480} lines={10} empty={() => (rows.length === 0 && !loaded.data?.next ? <Nothing filtered={filtered} at={at} /> : null)}>
          {(feed) => (
            <div className="decisions-feed" ref={box} role="region" aria-label="Decisions, newest first" tabIndex={0}>
              {groups.map((group) => <Cycle key={group.key} group={group} shards={shards.length > 1} opened={wanted} onToggle={toggle} />)}
              <div className="decisions-end">
                {feed.next ? (
                  <>
                    <Button small disabled={following.loadingOlder} onClick={following.older}>{following.loadingOlder ? "Loading" : "Load older"}</Button>
                    <span className="dim">{reachesBack ? `back to cycle ${format.count(reachesBack.cycle)}` : "none of the newest fit"}</span>
                  </>
                ) : <span className="dim">{reachesBack ? `This is the oldest that is kept: cycle ${format.count(reachesBack.cycle)}.` : ""}</span>}
                {following.olderError && <ErrorNotice error={following.olderError} retry={following.older} />}
              </div>
            </div>
          )}
        </View>
      </Card>
    </div>
  );
}
