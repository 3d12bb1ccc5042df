// Small parts every page uses: links, buttons, chips, pills, and the colour-and-letter of a state.
import type { AnchorHTMLAttributes, ButtonHTMLAttributes, MouseEvent, ReactNode } from "react";
import { useEffect, useState } from "react";
import { announce } from "../core/announce";
import { isState, STATE_CODES } from "../core/palette";
import { navigate } from "../core/router";
import type { NeedState } from "../core/types";
import { Icon, type IconName } from "./icons";

/** A link within the page; with Ctrl or the middle button it opens a tab, as links do. */
export function Link({ to, onClick, ...rest }: { to: string } & AnchorHTMLAttributes<HTMLAnchorElement>) {
  const follow = (event: MouseEvent<HTMLAnchorElement>): void => {
    onClick?.(event);
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    navigate(to);
  };
  return <a href={to} onClick={follow} {...rest} />;
}

interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  icon?: IconName;
  kind?: "plain" | "primary" | "danger" | "ghost";
  small?: boolean;
}

export function Button({ icon, kind = "plain", small, children, className = "", ...rest }: ButtonProps) {
  return (
    <button type="button" className={`button ${kind} ${small ? "small" : ""} ${className}`} {...rest}>
      {icon && <Icon name={icon} size={14} />}
      {children}
    </button>
  );
}

/** A button that is only an icon: its label is spoken and shown on hover. */
export function IconButton({ icon, label, ...rest }: { icon: IconName; label: string } & ButtonHTMLAttributes<HTMLButtonElement>) {
  return (
    <button type="button" className="icon-button" aria-label={label} data-tip={label} {...rest}>
      <Icon name={icon} />
    </button>
  );
}

export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false; // not allowed here, for example over plain HTTP: the text can be selected by hand
  }
}

export function CopyButton({ text, label = "Copy" }: { text: string; label?: string }) {
  const [done, setDone] = useState<"" | "copied" | "failed">("");
  useEffect(() => {
    if (!done) return;
    const timer = window.setTimeout(() => setDone(""), 1600);
    return () => window.clearTimeout(timer);
  }, [done]);
  const copy = async (): Promise<void> => {
    const copied = await copyText(text);
    setDone(copied ? "copied" : "failed");
    announce(copied ? "Copied" : "The browser did not allow copying", true);
  };
  const words = done === "copied" ? "Copied" : done === "failed" ? "Select and copy by hand" : label;
  return (
    <button type="button" className="icon-button small" onClick={() => void copy()} aria-label={`${words}: ${text}`} data-tip={words}>
      <Icon name={done === "copied" ? "check" : "copy"} size={14} />
    </button>
  );
}

/** A command that reproduces what is shown, ready to copy. */
export function Command({ text }: { text: string }) {
  return (
    <span className="command">
      <code>{text}</code>
      <CopyButton text={text} label="Copy command" />
    </span>
  );
}

/** A filter that is on or off. With `count` it shows how many it would leave. */
export function Chip({ on, onToggle, children, count, swatch }: {
  on: boolean;
  onToggle: () => void;
  children: ReactNode;
  count?: string;
  swatch?: string;
}) {
  return (
    <button type="button" className="chip" aria-pressed={on} onClick={onToggle}>
      {swatch && <span className="swatch" style={{ background: swatch }} />}
      {children}
      {count !== undefined && <span className="chip-count">{count}</span>}
    </button>
  );
}

export type Tone = "neutral" | "good" | "info" | "warn" | "danger" | "accent";

/** A short fact; not a control. */
export function Pill({ tone = "neutral", children, tip }: { tone?: Tone; children: ReactNode; tip?: string }) {
  return <span className={`pill ${tone}`} data-tip={tip}>{children}</span>;
}

const NEED_TONES: Record<NeedState, Tone> = { met: "good", arriving: "info", blocked: "warn", short: "danger" };
export const needTone = (state: string): Tone => NEED_TONES[state as NeedState] ?? "neutral";

/** The state of a Need: met, arriving, blocked or short. */
export const NeedStatePill = ({ state }: { state: string }) => <Pill tone={needTone(state)}>{state || "unknown"}</Pill>;

/** A machine's state: colour, letter code and name. */
export function StateMark({ state, codeOnly }: { state: string; codeOnly?: boolean }) {
  const known = isState(state);
  return (
    <span className="state-mark" data-tip={codeOnly ? state : undefined}>
      <span className={`state-code ${known ? `state-${state.toLowerCase()}` : ""}`} aria-hidden={codeOnly ? undefined : true}>
        {known ? STATE_CODES[state] : "??"}
      </span>
      {codeOnly ? <span className="sr-only">{state}</span> : <span>{state || "unknown"}</span>}
    </span>
  );
}

/** A choice of few: the one in use is marked. */
export function Segmented<T extends string>({ label, options, value, onChange }: {
  label: string;
  options: readonly { value: T; text: string }[];
  value: T;
  onChange: (value: T) => void;
}) {
  return (
    <div className="segmented" role="group" aria-label={label}>
      {options.map((option) => (
        <button key={option.value} type="button" aria-pressed={option.value === value} onClick={() => onChange(option.value)}>
          {option.text}
        </button>
      ))}
    </div>
  );
}

export function Select<T extends string>({ label, options, value, onChange }: {
  label: string;
  options: readonly { value: T; text: string }[];
  value: T;
  onChange: (value: T) => void;
}) {
  return (
    <label className="select">
      <span>{label}</span>
      <select value={value} onChange={(event) => onChange(event.target.value as T)}>
        {options.map((option) => <option key={option.value} value={option.value}>{option.text}</option>)}
      </select>
    </label>
  );
}
