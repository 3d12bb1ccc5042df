// Which changes are asked about: a form for the usual ones, a line of text for all others.
import { type FormEvent, useId, useState } from "react";
import { useApi } from "../../core/api";
import { Button, IconButton, Select } from "../../ui/basics";
import { CAPACITIES, type Draft, KINDS, lineOf, NEW_DRAFT, wordsOf } from "./overlay";

const MOST_FACTOR = 4;
const CAPACITY_CHOICES = [{ value: "", text: "any" }, ...CAPACITIES.map((value) => ({ value: value as string, text: value as string }))];

function Known({ label, value, onChange, names, placeholder }: { label: string; value: string; onChange: (value: string) => void; names: readonly string[]; placeholder: string }) {
  const id = useId();
  return (
    <label className="whatif-field">
      <span>{label}</span>
      <input className="field" list={id} value={value} maxLength={300} spellCheck={false} autoComplete="off" placeholder={placeholder} onChange={(event) => onChange(event.target.value)} />
      <datalist id={id}>{names.map((name) => <option key={name} value={name} />)}</datalist>
    </label>
  );
}

function Factor({ value, onChange }: { value: string; onChange: (value: string) => void }) {
  return (
    <label className="whatif-field wide">
      <span>times</span>
      <span className="whatif-factor">
        <input type="range" min={0} max={MOST_FACTOR} step={0.1} value={Math.min(MOST_FACTOR, Number(value) || 0)} aria-label="Factor" onChange={(event) => onChange(event.target.value)} />
        <input className="field" type="number" min={0} step="any" value={value} aria-label="Factor, exact" onChange={(event) => onChange(event.target.value)} />
      </span>
    </label>
  );
}

const Terms = ({ label, value, onChange, placeholder }: { label: string; value: string; onChange: (value: string) => void; placeholder: string }) => (
  <label className="whatif-field wide">
    <span>{label}</span>
    <input className="field" value={value} maxLength={4000} spellCheck={false} autoComplete="off" placeholder={placeholder} onChange={(event) => onChange(event.target.value)} />
  </label>
);

function Fields({ draft, change, zones, clusters }: { draft: Draft; change: (part: Partial<Draft>) => void; zones: readonly string[]; clusters: readonly string[] }) {
  const zone = <Known label="Zone" value={draft.zone} onChange={(value) => change({ zone: value })} names={zones} placeholder={zones[0] ?? "name"} />;
  const capacity = <label className="whatif-field"><span>Capacity type</span><select className="field" value={draft.capacity} onChange={(event) => change({ capacity: event.target.value })}>{CAPACITY_CHOICES.map((each) => <option key={each.value} value={each.value}>{each.text}</option>)}</select></label>;
  const terms = (placeholder: string, label = "Further terms") => <Terms label={label} value={draft.selector} onChange={(value) => change({ selector: value })} placeholder={placeholder} />;
  const factor = <Factor value={draft.factor} onChange={(value) => change({ factor: value })} />;
  switch (draft.kind) {
    case "zone-loss": return zone;
    case "demand": return <><Known label="Cluster" value={draft.cluster} onChange={(value) => change({ cluster: value })} names={clusters} placeholder="every cluster" />{factor}</>;
    case "price": return <>{capacity}{factor}</>;
    case "stock-out": return <>{capacity}{zone}{terms("type=std-8")}</>;
    case "machines-remove": return terms("zone=a capacity=Spot, state=idle, cluster=shop, or ids", "Which machines");
    case "other": return <Terms label="As `bigfleet whatif --overlay` reads it" value={draft.line} onChange={(value) => change({ line: value })} placeholder="cluster-leave batch" />;
  }
}

export interface Names {
  zones: string[];
  clusters: string[];
}

/** Zones that machines are in, and clusters: suggestions only, any name can be written. */
export function useNames(): Names {
  const zones = useApi<{ rows: { name: string }[] }>("/costs", { by: "zone" });
  const clusters = useApi<{ clusters: { id: string }[] }>("/clusters");
  return {
    zones: (zones.data?.rows ?? []).map((row) => row.name).filter(Boolean).sort(),
    clusters: (clusters.data?.clusters ?? []).map((row) => row.id).sort(),
  };
}

export function AddEdit({ names, onAdd }: { names: Names; onAdd: (line: string) => void }) {
  const [draft, setDraft] = useState<Draft>(NEW_DRAFT);
  const [missing, setMissing] = useState("");
  const change = (part: Partial<Draft>): void => {
    setDraft((before) => ({ ...before, ...part }));
    setMissing("");
  };
  const add = (event: FormEvent): void => {
    event.preventDefault();
    const made = lineOf(draft);
    if ("missing" in made) return setMissing(made.missing);
    onAdd(made.line);
    setDraft({ ...NEW_DRAFT, kind: draft.kind });
  };
  return (
    <form className="whatif-add" onSubmit={add} noValidate>
      <Select label="What if" options={KINDS} value={draft.kind} onChange={(kind) => change({ kind })} />
      <div className="whatif-fields">
        <Fields draft={draft} change={change} zones={names.zones} clusters={names.clusters} />
        <Button type="submit">Add</Button>
      </div>
      {missing && <p role="alert" className="whatif-bad">{missing}</p>}
    </form>
  );
}

export function EditList({ lines, onRemove }: { lines: readonly string[]; onRemove: (index: number) => void }) {
  return (
    <ol className="whatif-edits" aria-label="Changes, in the order they apply">
      {lines.map((line, index) => (
        <li key={`${index}:${line}`}>
          <span className="whatif-edit"><bdi>{wordsOf(line)}</bdi>{wordsOf(line) !== line && <code className="whatif-line"><bdi>{line}</bdi></code>}</span>
          <IconButton icon="close" label={`Remove: ${wordsOf(line)}`} onClick={() => onRemove(index)} />
        </li>
      ))}
    </ol>
  );
}
