// Axes of a sweep: a form for one, and those that were added.
import { type FormEvent, useId, useState } from "react";
import * as format from "../../core/format";
import { Button, IconButton, Select } from "../../ui/basics";
import { CAPACITIES } from "./overlay";
import { AXIS_KINDS, type AxisDraft, axisOf, MOST_AXES, MOST_POINTS, NEW_AXIS, pointsOf, wordsOfAxis } from "./sweep";

const PLACEHOLDERS = { demand: "every cluster", price: "every machine", probability: "every machine", option: "drainSeconds" } as const;

export function SweepForm({ axes, clusters, onChange }: { axes: readonly string[]; clusters: readonly string[]; onChange: (axes: readonly string[]) => void }) {
  const [draft, setDraft] = useState<AxisDraft>(NEW_AXIS);
  const [missing, setMissing] = useState("");
  const names = useId();
  const change = (part: Partial<AxisDraft>): void => {
    setDraft((before) => ({ ...before, ...part }));
    setMissing("");
  };
  const add = (event: FormEvent): void => {
    event.preventDefault();
    const made = axisOf(draft);
    if ("missing" in made) return setMissing(made.missing);
    onChange([...axes, made.axis]);
  };
  const points = pointsOf(axes);
  const known = draft.kind === "demand" ? clusters : draft.kind === "option" ? [] : CAPACITIES;
  const number = (key: "first" | "last" | "step", label: string) => (
    <label className="whatif-field narrow"><span>{label}</span><input className="field" inputMode="decimal" value={draft[key]} maxLength={20} onChange={(event) => change({ [key]: event.target.value })} /></label>
  );
  return (
    <details className="whatif-sweep" open={axes.length > 0 ? true : undefined}>
      <summary>Sweep <span className="dim">ask once for each value of one or two axes</span></summary>
      <div className="whatif-ask">
        {axes.length > 0 && (
          <ul className="whatif-edits" aria-label="Axes">
            {axes.map((axis, index) => (
              <li key={`${index}:${axis}`}>
                <span className="whatif-edit"><bdi>{wordsOfAxis(axis)}</bdi><code className="whatif-line"><bdi>{axis}</bdi></code></span>
                <IconButton icon="close" label={`Remove: ${wordsOfAxis(axis)}`} onClick={() => onChange(axes.filter((_, at) => at !== index))} />
              </li>
            ))}
          </ul>
        )}
        {axes.length < MOST_AXES && (
          <form className="whatif-add" onSubmit={add} noValidate>
            <Select label="Axis" options={AXIS_KINDS} value={draft.kind} onChange={(kind) => change({ kind, what: "" })} />
            <div className="whatif-fields">
              <label className="whatif-field">
                <span>of</span>
                <input className="field" list={names} value={draft.what} maxLength={300} spellCheck={false} autoComplete="off" placeholder={PLACEHOLDERS[draft.kind]} onChange={(event) => change({ what: event.target.value })} />
                <datalist id={names}>{known.map((name) => <option key={name} value={name} />)}</datalist>
              </label>
              {number("first", draft.kind === "option" ? "from" : "times, from")}
              {number("last", "to")}
              {number("step", "step")}
              <Button type="submit">Add axis</Button>
            </div>
            {missing && <p role="alert" className="whatif-bad">{missing}</p>}
          </form>
        )}
        {axes.length > 0 && <p className="dim">{points === null ? "The server says what cannot be read." : points > MOST_POINTS ? `${format.plural(points, "point")}: the server takes larger steps, at most ${MOST_POINTS} points.` : format.plural(points, "point")}</p>}
      </div>
    </details>
  );
}
