// The states of a machine and how it goes from one to the next, with where this one is.
import { isState, type MachineState } from "../../core/palette";

const AT: Record<MachineState, [x: number, y: number]> = {
  Speculative: [70, 36], Creating: [230, 36], Idle: [390, 36], Configuring: [550, 36],
  Deleting: [230, 116], Draining: [390, 116], Configured: [550, 116], Failed: [70, 116],
};

const STEPS: readonly [MachineState, MachineState, string][] = [
  ["Speculative", "Creating", "bought"], ["Creating", "Idle", "arrives"], ["Idle", "Configuring", "given to a cluster"],
  ["Configuring", "Configured", "joined"], ["Configured", "Draining", "taken back"], ["Draining", "Idle", "drained"], ["Idle", "Deleting", "released"],
];

export const nextStates = (state: string): string[] => STEPS.filter(([from]) => from === state).map(([, to]) => to);

const W = 116;
const H = 32;

function path(from: MachineState, to: MachineState): string {
  const [x1, y1] = AT[from];
  const [x2, y2] = AT[to];
  if (y1 === y2) {
    const side = x2 > x1 ? 1 : -1;
    return `M${x1 + (side * W) / 2} ${y1}L${x2 - (side * W) / 2 - side * 5} ${y2}`;
  }
  const down = y2 > y1 ? 1 : -1;
  if (x1 === x2) return `M${x1} ${y1 + (down * H) / 2}L${x2} ${y2 - (down * H) / 2 - down * 5}`;
  return `M${x1 - W / 2 + 14} ${y1 + (down * H) / 2}L${x2 + W / 2 - 6} ${y2 - (down * H) / 2 - down * 4}`;
}

export function StateDiagram({ state }: { state: string }) {
  const next = nextStates(state);
  const words = next.length > 0 ? `Next: ${next.join(" or ")}, or Failed.` : state === "Failed" ? "It leaves this state when it is rechecked, retried or forgotten." : "It leaves the fleet next.";
  return (
    <figure className="diagram">
      <div className="diagram-box" role="region" aria-label="States of a machine" tabIndex={0}>
      <svg viewBox="0 0 620 152" role="img" aria-label={`The machine is ${state || "in an unknown state"}. ${words}`}>
        <defs>
          <marker id="arrow" viewBox="0 0 8 8" refX="6" refY="4" markerWidth="7" markerHeight="7" orient="auto-start-reverse"><path d="M0 0L8 4L0 8z" className="diagram-head" /></marker>
        </defs>
        {STEPS.map(([from, to]) => <path key={from + to} d={path(from, to)} className={`diagram-step ${from === state ? "ahead" : ""}`} markerEnd="url(#arrow)" />)}
        {Object.entries(AT).map(([name, [x, y]]) => (
          <g key={name} className={`diagram-state ${name === state ? "here" : ""}`}>
            <rect x={x - W / 2} y={y - H / 2} width={W} height={H} rx="7" style={{ stroke: `var(--state-${name.toLowerCase()})`, fill: name === state ? `color-mix(in srgb, var(--state-${name.toLowerCase()}) 24%, var(--surface-1))` : undefined }} />
            <text x={x} y={y + 4} textAnchor="middle">{name}</text>
          </g>
        ))}
      </svg>
      </div>
      <figcaption>{isState(state) ? words : "This state is not one the page knows."}</figcaption>
    </figure>
  );
}
