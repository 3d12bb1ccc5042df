// GET /scenario: only `bigfleet up` has one.
export interface Beat { number: number; name: string; title: string; about: string; status: string; sentence: string }
export interface Tour {
  available: boolean;
  why?: string;
  status?: "offered" | "playing" | "ended" | "left";
  playsOn?: boolean;
  playsAtUnixNanos?: number | null;
  beat?: number;
  waitsUntil?: string;
  sentence?: string;
  beats?: Beat[];
}
export interface Demand { cluster: string; class: string; priority: number; factor: number; least: number; most: number; step: number; applies: string }
export interface Argument { name: string; about: string; default: string | number; choices: string[]; least: number | null; most: number | null }
export interface Fault { do: string; title: string; about: string; arguments: Argument[]; seconds: { default: number; least: number; most: number } | null }
export interface Running { number: number; do: string; text: string; endsAtUnixNanos: number; endsEarly?: boolean }
export interface Scenario {
  tour: Tour;
  clock: { speed: number; slowest: number; fastest: number; simulatedUnixNanos: number; beganUnixNanos: number; scriptSeconds: number; scriptStands: boolean };
  controls: { demand: Demand[]; faults: Fault[]; running: Running[]; notHere: { do: string; why: string }[] };
  assertions: { name: string; holds: boolean; findings: string[] }[];
  down: string[];
  real: string[];
  simulated: string[];
}
