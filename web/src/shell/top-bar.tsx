// Product name, search, time, connection and looks.
import { useEffect } from "react";
import { announce } from "../core/announce";
import type { Connection } from "../core/connection";
import { clock, duration } from "../core/format";
import { helpShown, searchShown } from "../core/keys";
import { clockAhead, overview, retryNow, useConnection } from "../core/live";
import { linkTo, setQuery, useMoment } from "../core/router";
import { choose, type Settings, settings } from "../core/settings";
import { useStore } from "../core/store";
import { useNow } from "../core/time";
import { IconButton, Link, Segmented } from "../ui/basics";
import { Popover } from "../ui/card";
import { Icon, Logo } from "../ui/icons";

/** `atMilliseconds` is of the browser's clock; people are told the server's, which is `ahead` of it. */
export function connectionWords(now: Connection, atMilliseconds: number, ahead: number): { text: string; tone: string; tip: string } {
  const since = clock(now.since + ahead);
  switch (now.phase) {
    case "live":
      return { text: "Live", tone: "good", tip: "Every cycle appears here as it is decided" };
    case "connecting":
      return { text: "Connecting", tone: "neutral", tip: "Waiting for the first event" };
    case "catching-up":
      return { text: "Catching up", tone: "info", tip: "Connected again; missed events are being read" };
    case "stale":
      return { text: `Stale since ${since}`, tone: "warn", tip: `Connected, but nothing new for ${duration((atMilliseconds - now.since) / 1000)}; what you see is from ${since} UTC` };
    case "offline": {
      const wait = Math.max(0, Math.ceil((now.retryAt - atMilliseconds) / 1000));
      const next = now.retryAt ? `next attempt in ${wait} s` : "trying now";
      return { text: "Offline", tone: "danger", tip: `The server is not reachable since ${since} UTC; ${next}. Click to try now.` };
    }
  }
}

function ConnectionState() {
  const now = useConnection();
  const ahead = useStore(clockAhead);
  const { text, tone, tip } = connectionWords(now, useNow() - ahead, ahead);
  useEffect(() => announce(`Connection: ${text}`), [now.phase]);
  return (
    <button type="button" className={`connection ${tone}`} data-tip={tip} onClick={retryNow} aria-label={`Connection: ${text}. ${tip}`}>
      <span className="dot" aria-hidden="true" />
      <span className="connection-text">{text}</span>
    </button>
  );
}

function TimeState() {
  const moment = useMoment();
  const now = useStore(overview);
  if (!moment) {
    return now?.cycle ? <span className="time-state" data-tip="The last decided cycle">cycle <b>{now.cycle.toLocaleString("en-US")}</b></span> : <span className="time-state" />;
  }
  return (
    <button type="button" className="time-state past" onClick={() => setQuery({ at: undefined }, { push: true })} data-tip="You look at the past; click, or press l, to return to now">
      <Icon name="clock" size={14} /> cycle <b>{moment.cycle.toLocaleString("en-US")}</b>{moment.shard && <> of <bdi>{moment.shard}</bdi></>} <span className="to-live">Back to live</span>
    </button>
  );
}

const THEMES = [{ value: "system", text: "System" }, { value: "light", text: "Light" }, { value: "dark", text: "Dark" }] as const;
const PALETTE_CHOICES = [{ value: "standard", text: "Standard" }, { value: "colour-blind", text: "Colour-blind" }] as const;

function Looks() {
  const now: Settings = useStore(settings);
  return (
    <Popover label="Looks" icon={<Icon name={now.theme === "dark" ? "moon" : now.theme === "light" ? "sun" : "system"} />}>
      <div className="looks">
        <h3>Theme</h3>
        <Segmented label="Theme" options={THEMES} value={now.theme} onChange={(theme) => choose({ theme })} />
        <h3>Colours of states</h3>
        <Segmented label="Colours of states" options={PALETTE_CHOICES} value={now.palette} onChange={(palette) => choose({ palette })} />
        <label className="check"><input type="checkbox" checked={now.patterns} onChange={(event) => choose({ patterns: event.target.checked })} /> Patterns on the map</label>
      </div>
    </Popover>
  );
}

export function TopBar({ menu, onMenu }: { menu: boolean; onMenu: () => void }) {
  return (
    <header className="topbar">
      <button type="button" className="icon-button menu-button" aria-label="Pages" aria-expanded={menu} aria-controls="pages" onClick={onMenu}>
        <Icon name="menu" />
      </button>
      <Link to={linkTo("/")} className="brand" aria-label="BigFleet, overview"><Logo /><span>BigFleet</span></Link>
      <button type="button" className="search-button" onClick={() => searchShown.set(true)} aria-label="Search (press /)">
        <Icon name="search" size={14} />
        <span>Search machines, needs, clusters</span>
        <kbd>/</kbd>
      </button>
      <div className="topbar-end">
        <TimeState />
        <ConnectionState />
        <Looks />
        <IconButton icon="keyboard" label="Keys (?)" onClick={() => helpShown.set(true)} />
      </div>
    </header>
  );
}
