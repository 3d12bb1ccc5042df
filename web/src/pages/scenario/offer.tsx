// The tour beside other pages of `bigfleet up`: a card that offers the next beat and says what the present one shows.
import { useCallback, useEffect, useState } from "react";
import { announce } from "../../core/announce";
import { postJson, useApi } from "../../core/api";
import { useResets, useTopic } from "../../core/live";
import { Button, Link } from "../../ui/basics";
import { Icon } from "../../ui/icons";
import { Prose } from "../../ui/prose";
import { Countdown, usePresence } from "./presence";
import type { Scenario } from "./types";
import "./offer.css";

const EVERY = 2_000;

export default function TourOffer() {
  const version = useResets();
  const [turn, setTurn] = useState(0);
  useTopic("scenario", useCallback(() => setTurn((n) => n + 1), []));
  const [isOver, setOver] = useState(false);
  const loaded = useApi<Scenario>("/scenario", {}, { version: `${version}.${turn}`, every: isOver ? undefined : EVERY });
  const tour = loaded.data?.tour;
  const isOn = tour?.available === true && (tour.status === "offered" || tour.status === "playing");
  useEffect(() => setOver(tour !== undefined && !isOn), [tour, isOn]);
  usePresence(isOn);
  const beats = tour?.beats ?? [];
  const beat = beats[(tour?.beat ?? 1) - 1];
  const sentence = tour?.sentence || beat?.sentence || "";
  useEffect(() => { if (isOn && sentence) announce(sentence); }, [isOn, sentence]);
  if (!tour || !isOn || !beat) return null;
  // What cannot be sent shows with the connection, and the next look has the tour as it is.
  const send = (name: string) => () => void postJson("/scenario", { do: name }).catch(() => undefined).then(loaded.reload);
  return (
    <section className="tour-offer" aria-label="Tour">
      <p className="tour-offer-head"><b>Tour</b> <span className="dim">{beat.number} of {beats.length}</span><Link className="push" to="/scenario">All beats</Link></p>
      <h2>{beat.title}</h2>
      <p><Prose text={sentence || beat.about} /></p>
      {beat.status === "playing" && tour.waitsUntil && <p className="dim"><Icon name="clock" size={14} /> waits until <bdi>{tour.waitsUntil}</bdi></p>}
      <div className="row">
        <Button kind="primary" small icon="play" onClick={send("next")}>Next</Button>
        <Button small kind="ghost" onClick={send("leave")}>Leave the tour</Button>
        {tour.playsAtUnixNanos ? <Countdown nanos={tour.playsAtUnixNanos} /> : null}
      </div>
    </section>
  );
}
