// What a cycle would decide if the fleet were another: changes in, both sides out. Nothing is changed.
import { useCallback, useEffect } from "react";
import { announce } from "../../core/announce";
import { useKey } from "../../core/keys";
import { formatAddress, setQuery, useAddress } from "../../core/router";
import { useNow } from "../../core/time";
import { serverNow } from "../../core/live";
import { API, useApi } from "../../core/api";
import type { Status } from "../../core/types";
import { Button, Command, CopyButton, Segmented } from "../../ui/basics";
import { Card } from "../../ui/card";
import { Icon } from "../../ui/icons";
import { Empty, ErrorNotice, Loading } from "../../ui/states";
import { sentenceOf } from "./compare";
import { AddEdit, EditList, useNames } from "./form";
import { baseOfAddress, commandOf, linesOfAddress, pinnedBase, wordsOf } from "./overlay";
import { Result } from "./result";
import { axesOfAddress } from "./sweep";
import { SweepForm } from "./sweep-form";
import { Upgrade } from "./upgrade";
import { keyOf, type Question, type Run, useRun } from "./use-run";
import "./whatif.css";

const TABS = [{ value: "", text: "Question" }, { value: "upgrade", text: "Upgrade" }] as const;
const EXAMPLES = ["demand x1.5", "price capacity=Spot x2", "stock-out capacity=OnDemand"] as const;

function Waiting({ since, onCancel }: { since: number; onCancel: () => void }) {
  const now = useNow() - (serverNow() - Date.now());
  const seconds = Math.max(0, Math.floor((now - since) / 1000));
  return (
    <Card title="The engine decides both sides" actions={<Button small onClick={onCancel}>Cancel</Button>}>
      <p className="dim" role="status">{seconds > 1 ? `For ${seconds} s; large fleets take up to a minute.` : "One moment."}</p>
      <Loading height={200} lines={5} label="The what-if runs" />
    </Card>
  );
}

function Permalink({ run }: { run: Run }) {
  if (!run.asked || !run.told) return null;
  const pinned = pinnedBase(run.asked.base, run.told.cycle);
  const link = window.location.origin + formatAddress("/whatif", { overlay: run.told.overlay.join("\n"), base: pinned || undefined, settle: run.asked.settle ? "1" : undefined, sweep: run.asked.sweep.join("\n") });
  return (
    <dl className="whatif-reproduce">
      <div><dt>Command</dt><dd><Command text={commandOf(run.told.overlay, pinned, run.asked.settle, run.asked.sweep)} /></dd></div>
      <div><dt>Link to this answer</dt><dd><span className="command"><code>{link}</code><CopyButton text={link} label="Copy link" /></span></dd></div>
    </dl>
  );
}

function Outcome({ run, question, start, cancel }: { run: Run; question: Question; start: (question: Question) => void; cancel: () => void }) {
  if (run.busySince > 0) return <Waiting since={run.busySince} onCancel={cancel} />;
  if (run.error) {
    const lost = run.error.unknown && question.base !== "";
    return (
      <Card title="No answer">
        <ErrorNotice error={run.error} method="POST" title="This what-if could not be run" retry={() => start(question)} height={110}>
          {lost && <Button small onClick={() => { setQuery({ base: undefined, at: undefined }); start({ ...question, base: "" }); }}>Use the last cycle</Button>}
        </ErrorNotice>
        <p className="dim">{run.error.field === "sweep" ? "An axis cannot be read: remove it, or write it as the message says." : run.error.field === "edits" ? "The number in brackets is the place of the edit, from 0: remove it, or write it as the message says." : run.error.status === 0 || lost ? "" : "Nothing was changed by this."}</p>
      </Card>
    );
  }
  if (run.told && run.asked) {
    return (
      <>
        {keyOf(run.asked) !== keyOf(question) && <div className="whatif-stale" role="status">This answer is about other changes than those above. <Button small kind="primary" onClick={() => start(question)}>Run again</Button></div>}
        <Result told={run.told} base={run.asked.base} />
        <Card title="Again, elsewhere"><Permalink run={run} /></Card>
      </>
    );
  }
  return (
    <Card title="Answer">
      <Empty title={run.cancelled ? "Cancelled" : "Nothing was asked yet"} height={110}>
        <p>{run.cancelled ? "The shard stops working on it. Nothing was changed." : "Add a change and run: the same engine decides the cycle as it is and with the changes. Nothing is changed anywhere."}</p>
      </Empty>
    </Card>
  );
}

/** One link for each shard: a fleet file is of one. */
function FleetFiles() {
  const { data } = useApi<Status>("/status");
  const shards = data?.shards ?? [];
  if (shards.length === 0) return null;
  return (
    <p className="whatif-files">
      <span className="dim">Fleet file, for <code>bigfleet whatif --fleet</code>:</span>
      {shards.slice(0, 64).map((each) => <a key={each.shardId} href={`${API}/fleet/file?shard=${encodeURIComponent(each.shardId)}`} download><Icon name="download" size={14} /> <bdi>{each.shardId}</bdi></a>)}
    </p>
  );
}

function Asking() {
  const { query } = useAddress();
  const lines = linesOfAddress(query);
  const base = baseOfAddress(query);
  const settle = query.settle === "1";
  const sweep = axesOfAddress(query);
  const question: Question = { lines, base, settle, sweep };
  const { run, start, cancel } = useRun();
  const names = useNames();
  const examples = [...names.zones.slice(-1).map((zone) => `zone-loss ${zone}`), ...EXAMPLES];
  const change = (next: readonly string[]): void => setQuery({ overlay: next.join("\n"), remove: undefined });
  const ask = (next: readonly string[]): void => { change(next); start({ ...question, lines: next }); };
  // A link that was opened is answered; what is typed waits for Run.
  useEffect(() => { if (lines.length > 0 || sweep.length > 0) start(question); }, []);
  const again = useCallback(() => start({ lines: linesOfAddress(query), base: baseOfAddress(query), settle: query.settle === "1", sweep: axesOfAddress(query) }), [query, start]);
  useKey("r", "Run the what-if", "What-if", again);
  const sentence = run.told ? sentenceOf(run.told) : run.error ? `The what-if failed: ${run.error.message}` : "";
  useEffect(() => { if (sentence) announce(sentence, true); }, [sentence]);
  return (
    <>
      <Card title="Changes" source={{ route: "/whatif", command: commandOf(lines, base, settle, sweep) }}>
        <div className="whatif-ask">
          {lines.length > 0 ? <EditList lines={lines} onRemove={(index) => change(lines.filter((_, at) => at !== index))} /> : (
            <p className="whatif-examples"><span className="dim">For example</span>{examples.map((line) => <Button key={line} small onClick={() => ask([line])}>{wordsOf(line)}</Button>)}</p>
          )}
          <AddEdit names={names} onAdd={(line) => change([...lines, line])} />
          <SweepForm axes={sweep} clusters={names.clusters} onChange={(axes) => setQuery({ sweep: axes.join("\n") })} />
          <div className="whatif-run">
            <label className="select"><span>Base</span><input className="field" inputMode="numeric" value={query.base ?? query.at ?? ""} maxLength={20000} placeholder="the last cycle" aria-label="Base: a cycle, or empty for the last one" onChange={(event) => setQuery({ base: event.target.value.trim() || undefined, at: undefined })} /></label>
            {(query.base ?? "") !== "" && base === "" && <span role="alert" className="whatif-bad">Not a cycle: write 18231, 3:18231 or shard-0@3:18231,shard-1@977.</span>}
            <label className="check"><input type="checkbox" checked={settle} onChange={(event) => setQuery({ settle: event.target.checked ? "1" : undefined })} /> <span data-tip="Goes on in virtual time, cycle after cycle, until nothing happens any more">until the fleet settles</span></label>
            <span className="push row">
              <Button kind="primary" icon="play" disabled={(lines.length === 0 && sweep.length === 0) || run.busySince > 0} onClick={() => start(question)}>Run</Button>
            </span>
          </div>
          <FleetFiles />
        </div>
      </Card>
      <Outcome run={run} question={question} start={start} cancel={cancel} />
    </>
  );
}

export default function WhatIfPage() {
  const { query } = useAddress();
  const isUpgrade = query.tab === "upgrade";
  return (
    <div className="whatif stack">
      <div className="page-head">
        <h1>What if</h1>
        <Segmented label="What is asked" options={TABS} value={isUpgrade ? "upgrade" : ""} onChange={(tab) => setQuery({ tab: tab || undefined }, { push: true })} />
      </div>
      {isUpgrade ? <Upgrade /> : <Asking />}
    </div>
  );
}
