// Offerings that a provider could not sell: what rests, since when, until when; and letting one be bought again.
import { useState } from "react";
import { announce } from "../../core/announce";
import { useApi } from "../../core/api";
import { quoted } from "../../core/commands";
import * as format from "../../core/format";
import { useResets, useStatus } from "../../core/live";
import { useAddress } from "../../core/router";
import { useNow } from "../../core/time";
import { Button, Command, Pill } from "../../ui/basics";
import { Card } from "../../ui/card";
import { Empty, View } from "../../ui/states";
import { Ago, Name } from "../../ui/values";
import { type Told, WriteDialog } from "../../ui/writes";

const EVERY = 3_000;
const LISTED = 200;

interface Offering { name: string; state?: string; kind?: string; attempts?: number; openedUnixNanos?: number; nextProbeUnixNanos?: number; text?: string; createsSaved?: number; shardId?: string }

const STATES: Record<string, { text: string; tip: string }> = {
  Open: { text: "rests", tip: "Nothing of it is bought until its time" },
  HalfOpen: { text: "is tried", tip: "One Create is under way: it goes well and all may be bought, or it rests twice as long" },
};
const KINDS: Record<string, string> = { stockout: "out of stock", failures: "Creates failed", join: "machines did not join", row: "its whole row is out" };

function Next({ nanos }: { nanos: number | undefined }) {
  const left = ((nanos ?? 0) / 1e6 - useNow()) / 1000;
  if (!nanos) return <>no next try known</>;
  return <time data-tip={format.utcOfNanos(nanos)}>{left > 0 ? `tried in ${format.duration(left)}` : "tried with the next order"}</time>;
}

function Reset({ offering, onClose, onDone }: { offering: Offering; onClose: () => void; onDone: (told: Told) => void }) {
  return (
    <WriteDialog
      title={`Let ${offering.name} be bought again`}
      route="/offerings/reset"
      body={{ offering: offering.name }}
      action="Reset"
      command={({ reason }) => `bigfleet reports offerings --reset ${quoted(offering.name)} --reason ${quoted(reason || "WHY")}`}
      onClose={onClose}
      onDone={onDone}
    >
      <p>From the next cycle on it may be bought at its full rate, by every shard that lets it rest. If the provider still has none, it rests again after the first refusal.</p>
    </WriteDialog>
  );
}

function Row({ of, chosen, onReset }: { of: Offering; chosen: boolean; onReset: (() => void) | undefined }) {
  const state = STATES[format.enumWord(of.state, "OFFERING_STATE_")];
  return (
    <li className={chosen ? "topology-chosen" : ""}>
      <Pill tone={of.state?.endsWith("HALF_OPEN") ? "info" : "warn"} tip={state?.tip}>{state?.text ?? "rests"}</Pill>
      <span className="topology-main">
        <Name>{of.name}</Name>
        <span className="topology-sub"><bdi>{KINDS[of.kind ?? ""] ?? of.kind}</bdi> since <Ago nanos={of.openedUnixNanos} />: <bdi>{of.text || "the provider gave no reason"}</bdi></span>
      </span>
      <span className="topology-end">
        <Next nanos={of.nextProbeUnixNanos} />
        <span className="topology-sub">{format.plural(of.attempts ?? 0, "time")} in a row; {format.plural(of.createsSaved ?? 0, "Create")} saved</span>
        {onReset && <Button small onClick={onReset} aria-label={`Reset ${of.name}`}>Reset</Button>}
      </span>
      {!onReset && <Command text={`bigfleet reports offerings --reset ${quoted(of.name)} --reason WHY`} />}
    </li>
  );
}

export function Offerings() {
  const { query } = useAddress();
  const writes = useStatus()?.writes === true;
  const [resetting, setResetting] = useState<Offering | null>(null);
  const loaded = useApi<{ offerings: Offering[] }>("/offerings", {}, { version: useResets(), every: EVERY });
  const done = (told: Told): void => {
    setResetting(null);
    announce(told.text || "It may be bought again", true);
    loaded.reload();
  };
  return (
    <Card title="Offerings in back-off" source={{ route: "/offerings", command: "bigfleet reports offerings", promql: "bigfleet_shard_offering_backoff" }} flush>
      <View of={loaded} height={94} empty={(data) => (data.offerings.length === 0 ? <Empty title={query.offering ? `${query.offering} does not rest now` : "None rests"} height={94}><p>An offering that a provider could not sell rests here until it is tried again.</p></Empty> : null)}>
        {(data) => (
          <ul className="topology-rows">
            {data.offerings.slice(0, LISTED).map((each) => <Row key={`${each.shardId}:${each.name}`} of={each} chosen={each.name === query.offering} onReset={writes ? () => setResetting(each) : undefined} />)}
            {data.offerings.length > LISTED && <li className="dim">{format.count(LISTED)} of {format.count(data.offerings.length)} shown</li>}
          </ul>
        )}
      </View>
      {resetting && <Reset offering={resetting} onClose={() => setResetting(null)} onDone={done} />}
    </Card>
  );
}
