// The five states of a view: loading, empty, not wired, partial, error; and "rebuilding".
// An error stays inside its card.
import { Component, type ErrorInfo, type ReactNode, useEffect, useState } from "react";
import type { ApiError, Loaded } from "../core/api";
import { Button, Command, CopyButton } from "./basics";
import { Icon, type IconName } from "./icons";

const SKELETON_AFTER = 150;

/** Keeps its height from the start; its bars appear only when waiting is felt. */
export function Loading({ height = 120, lines = 3, label = "Loading" }: { height?: number; lines?: number; label?: string }) {
  const [late, setLate] = useState(false);
  useEffect(() => {
    const timer = window.setTimeout(() => setLate(true), SKELETON_AFTER);
    return () => window.clearTimeout(timer);
  }, []);
  return (
    <div className="skeleton" style={{ minHeight: height }} role="status" aria-busy="true" aria-label={label}>
      {late && Array.from({ length: lines }, (_, index) => <span key={index} className={`bone bone-${index % 3}`} />)}
    </div>
  );
}

function Notice({ icon, title, children, tone = "", height }: { icon: IconName; title: string; children?: ReactNode; tone?: string; height?: number }) {
  return (
    <div className={`notice ${tone}`} style={{ minHeight: height }}>
      <Icon name={icon} size={20} />
      <div>
        <p className="notice-title">{title}</p>
        {children && <div className="notice-body">{children}</div>}
      </div>
    </div>
  );
}

/** Nothing is there; `children` says what would make data appear. */
export const Empty = ({ title, children, height }: { title: string; children?: ReactNode; height?: number }) => (
  <Notice icon="info" title={title} height={height}>{children}</Notice>
);

/** This process has no such source; the server names the flag. */
export const NotWired = ({ error, height }: { error: ApiError; height?: number }) => (
  <Notice icon="eye" title="Not available here" height={height}>
    <p>{error.message}</p>
    {error.remedy && <p>{error.remedy}</p>}
  </Notice>
);

/** After a restart the shard knows no demand yet: that is not "no demand". */
export const Rebuilding = ({ height }: { height?: number }) => (
  <Notice icon="clock" title="Rebuilding after a restart" tone="warn" height={height}>
    <p>The shard has not decided its first cycle yet. Clusters keep running; demand appears with their next roll-up.</p>
  </Notice>
);

export function Partial({ warnings, title = "Partial answer." }: { warnings: readonly string[]; title?: string }) {
  if (warnings.length === 0) return null;
  return (
    <div className="partial" role="status">
      <Icon name="warning" />
      <div>
        <strong>{title}</strong>{" "}
        {warnings.length === 1 ? warnings[0] : <ul>{warnings.map((text) => <li key={text}>{text}</li>)}</ul>}
      </div>
    </div>
  );
}

export function ErrorNotice({ error, retry, height, method = "GET", title = "This could not be loaded", children }: {
  error: ApiError;
  retry?: () => void;
  height?: number;
  method?: "GET" | "POST";
  title?: string;
  /** Other ways out, beside trying again. */
  children?: ReactNode;
}) {
  const detail = [`${method} ${error.route}`, `status ${error.status || "none"}`, error.message, error.field && `field ${error.field}`, error.remedy]
    .filter(Boolean)
    .join("\n");
  return (
    <Notice icon="warning" title={error.unknown ? "Not found" : title} tone="danger" height={height}>
      <p>{error.message}{error.field ? ` (${error.field})` : ""}</p>
      {error.remedy && <p>{error.remedy}</p>}
      <p className="notice-actions">
        {retry && <Button small onClick={retry}>Try again</Button>}
        {children}
        <CopyButton text={detail} label="Copy detail" />
      </p>
    </Notice>
  );
}

/**
 * Shows what `of` loaded, or the state it is in. While newer data is on its way, or a refresh failed,
 * what is there stays.
 */
export function View<T>({ of, height = 120, lines, empty, children }: {
  of: Loaded<T>;
  height?: number;
  lines?: number;
  /** An element when there is nothing to show (usually <Empty>), else null. */
  empty?: (data: T) => ReactNode;
  children: (data: T) => ReactNode;
}) {
  if (of.data === undefined) {
    if (of.error) return of.error.notWired ? <NotWired error={of.error} height={height} /> : <ErrorNotice error={of.error} retry={of.reload} height={height} />;
    return <Loading height={height} lines={lines} />;
  }
  const warnings = (of.data as { warnings?: unknown } | null)?.warnings;
  const nothing = empty?.(of.data);
  return (
    <>
      {of.error && <Partial warnings={[`The last refresh failed: ${of.error.message}. What you see is older.`]} />}
      {Array.isArray(warnings) && <Partial warnings={warnings.map(String)} />}
      {nothing || children(of.data)}
    </>
  );
}

/** A mistake in one card never blanks the page. */
export class Boundary extends Component<{ what: string; children: ReactNode }, { failed: Error | null }> {
  override state: { failed: Error | null } = { failed: null };
  static getDerivedStateFromError(failed: Error): { failed: Error } {
    return { failed };
  }
  override componentDidCatch(failed: Error, info: ErrorInfo): void {
    console.error(`${this.props.what} failed`, failed, info.componentStack);
  }
  override render(): ReactNode {
    const { failed } = this.state;
    if (!failed) return this.props.children;
    return (
      <Notice icon="warning" title={`${this.props.what} failed to draw`} tone="danger">
        <p>{failed.message}</p>
        <p className="notice-actions">
          <Button small onClick={() => this.setState({ failed: null })}>Try again</Button>
          <CopyButton text={`${failed.message}\n${failed.stack ?? ""}`} label="Copy detail" />
        </p>
        <Command text="bigfleet status" />
      </Notice>
    );
  }
}
