"""The tour as a state machine: beats that are reached, fail, are repeated, skipped, left."""

from dataclasses import replace

import pytest

from bigfleet.engine.inventory import Inventory
from bigfleet.model.options import SECOND
from bigfleet.up.tour.instructions import GiveDemandBack, Instruction, SimVerb, StartShard
from bigfleet.up.tour.seen import FleetSeen
from bigfleet.up.tour.tour import (
    Beat,
    BeatStatus,
    Impossible,
    Playing,
    Tour,
    TourCommand,
    TourStatus,
    Wait,
)

NOW = 1_700_000_000 * SECOND
EMPTY = FleetSeen(
    at=NOW,
    epoch=1,
    cycle=1,
    is_up=True,
    snapshot=Inventory().snapshot(),
    dollars_per_hour=0.0,
    clusters={},
)
UNDO = (StartShard(),)


def at_cycle(cycle: int, after_seconds: float = 0.0) -> FleetSeen:
    return replace(EMPTY, cycle=cycle, at=NOW + round(after_seconds * SECOND))


def waiting_for(*cycles: int, limit: float = 60.0) -> Beat:
    """Asks for each cycle in turn and speaks of the last."""

    def play(seen: FleetSeen) -> Playing:
        for cycle in cycles:
            seen = yield Wait(
                f"cycle {cycle} has come",
                lambda seen, wanted=cycle: seen.cycle >= wanted,  # type: ignore[misc]
                (SimVerb("want", (str(cycle),)),),
                limit_seconds=limit,
                instead=lambda seen: f"it is cycle {seen.cycle}",
            )
        return f"cycle {seen.cycle} came"

    return Beat("wait", "Waiting", "Waits.", play, UNDO)


def impossible() -> Beat:
    def play(seen: FleetSeen) -> Playing:
        yield Wait("a cycle has come", lambda seen: True)
        raise Impossible("there is no such thing here")

    return Beat("never", "Never", "Cannot be.", play)


def wanted(*cycles: int) -> list[Instruction]:
    return [SimVerb("want", (str(cycle),)) for cycle in cycles]


def statuses(tour: Tour) -> list[BeatStatus]:
    return [record.status for record in tour.records]


def test_a_beat_asks_waits_speaks_and_undoes_what_it_set_up() -> None:
    tour = Tour([waiting_for(3, 5)])
    assert tour.command(TourCommand.NEXT, at_cycle(1), NOW) == wanted(3)
    assert tour.waits_until == "cycle 3 has come"
    assert tour.look(at_cycle(2), NOW) == []
    assert tour.look(at_cycle(3), NOW) == wanted(5)
    assert tour.look(at_cycle(6), NOW) == list(UNDO)
    [record] = tour.records
    assert (record.status, record.sentence) == (BeatStatus.REACHED, "cycle 6 came")


def test_a_condition_that_holds_at_once_is_seen_with_the_next_look() -> None:
    tour = Tour([waiting_for(1)])
    tour.command(TourCommand.NEXT, at_cycle(9), NOW)
    assert tour.is_in_beat
    tour.look(at_cycle(9), NOW)
    assert statuses(tour) == [BeatStatus.REACHED]


def test_a_beat_beyond_its_limit_says_what_it_saw_instead_and_the_tour_goes_on() -> None:
    tour = Tour([waiting_for(3, limit=10), waiting_for(1)], dwell_seconds=0)
    tour.command(TourCommand.PLAY, at_cycle(1), NOW)
    for seconds in range(0, 12, 2):
        tour.look(at_cycle(1, seconds), NOW)
    assert statuses(tour) == [BeatStatus.PLAYING, BeatStatus.AHEAD]
    assert tour.look(at_cycle(1, 12), NOW) == list(UNDO)
    assert tour.records[0].sentence == (
        "waited 12 s until cycle 3 has come; instead: it is cycle 1"
    )
    assert [beat.title for beat in tour.failed] == ["Waiting"]
    assert tour.look(at_cycle(1, 13), NOW) == wanted(1)


def test_time_in_which_nobody_could_look_does_not_count() -> None:
    tour = Tour([waiting_for(3, limit=60)])
    tour.command(TourCommand.NEXT, at_cycle(1), NOW)
    for step in range(1, 10):
        tour.look(at_cycle(1, step * 1_000.0), NOW)
    assert tour.is_in_beat
    assert tour.records[0].seconds == pytest.approx(45.0)


def test_what_may_be_missed_is_done_again_until_it_is_seen() -> None:
    def play(seen: FleetSeen) -> Playing:
        yield Wait("x", lambda seen: seen.cycle > 1, again=tuple(wanted(7)))
        return "seen"

    tour = Tour([Beat("again", "Again", "", play)])
    tour.command(TourCommand.NEXT, at_cycle(1), NOW)
    done = [tour.look(at_cycle(1, seconds), NOW) for seconds in range(0, 40, 4)]
    assert [each for each in done if each] == [wanted(7), wanted(7)]


def test_what_is_impossible_here_is_said_as_a_failure() -> None:
    tour = Tour([impossible(), waiting_for(1)], dwell_seconds=0)
    tour.command(TourCommand.PLAY, at_cycle(1), NOW)
    tour.look(at_cycle(1), NOW)
    assert (tour.records[0].status, tour.records[0].sentence) == (
        BeatStatus.FAILED,
        "there is no such thing here",
    )


def test_an_instruction_that_is_refused_fails_the_beat() -> None:
    tour = Tour([waiting_for(3)])
    tour.command(TourCommand.NEXT, at_cycle(1), NOW)
    assert tour.fail("the provider does not know the verb", NOW) == list(UNDO)
    assert tour.records[0].sentence == "the provider does not know the verb"


def test_a_tour_that_plays_by_itself_lets_a_sentence_be_read() -> None:
    tour = Tour([waiting_for(1), waiting_for(1)], dwell_seconds=10)
    tour.command(TourCommand.PLAY, at_cycle(1), NOW)
    tour.look(at_cycle(1), NOW)
    assert tour.look(at_cycle(1), NOW + 9 * SECOND) == []
    assert tour.plays_at == NOW + 10 * SECOND
    assert tour.look(at_cycle(1), NOW + 10 * SECOND) == wanted(1)


def test_after_the_last_beat_the_demand_is_given_back() -> None:
    tour = Tour([waiting_for(1)], dwell_seconds=0)
    tour.command(TourCommand.PLAY, at_cycle(1), NOW)
    tour.look(at_cycle(1), NOW)
    assert tour.look(at_cycle(1), NOW) == [GiveDemandBack()]
    assert tour.status is TourStatus.ENDED
    assert tour.look(at_cycle(1), NOW + 3_600 * SECOND) == []


def test_an_offered_tour_begins_after_twenty_seconds_without_input() -> None:
    tour = Tour([waiting_for(1)])
    assert tour.look(at_cycle(1), NOW + 3_600 * SECOND) == [], "no page was ever open"
    tour.command(TourCommand.PRESENT, at_cycle(1), NOW)
    assert tour.look(at_cycle(1), NOW + 15 * SECOND) == []
    tour.command(TourCommand.PRESENT, at_cycle(1), NOW + 15 * SECOND)
    assert tour.look(at_cycle(1), NOW + 34 * SECOND) == []
    assert tour.look(at_cycle(1), NOW + 35 * SECOND) == wanted(1)
    assert tour.plays_on


def test_skip_undoes_the_beat_and_begins_the_next() -> None:
    tour = Tour([waiting_for(9), waiting_for(4)])
    tour.command(TourCommand.NEXT, at_cycle(1), NOW)
    assert tour.command(TourCommand.SKIP, at_cycle(1), NOW) == [*UNDO, *wanted(4)]
    assert statuses(tour) == [BeatStatus.SKIPPED, BeatStatus.PLAYING]


def test_repeat_plays_the_beat_anew() -> None:
    tour = Tour([waiting_for(1), waiting_for(1)])
    tour.command(TourCommand.NEXT, at_cycle(1), NOW)
    tour.look(at_cycle(1), NOW)
    assert tour.command(TourCommand.REPEAT, at_cycle(1), NOW) == wanted(1)
    assert statuses(tour) == [BeatStatus.PLAYING, BeatStatus.AHEAD]


def test_any_beat_can_be_chosen() -> None:
    tour = Tour([waiting_for(1), waiting_for(2), waiting_for(3)])
    assert tour.command(TourCommand.REPEAT, at_cycle(1), NOW, 2) == wanted(3)
    assert tour.place == 2


def test_leave_undoes_the_beat_and_gives_the_demand_back() -> None:
    tour = Tour([waiting_for(9)])
    tour.command(TourCommand.PLAY, at_cycle(1), NOW)
    assert tour.command(TourCommand.LEAVE, at_cycle(1), NOW) == [*UNDO, GiveDemandBack()]
    assert (tour.status, tour.plays_at) == (TourStatus.LEFT, None)
    assert tour.look(at_cycle(1), NOW + 3_600 * SECOND) == []


def test_a_tour_that_was_left_begins_anew_when_it_is_played_again() -> None:
    tour = Tour([waiting_for(1), waiting_for(1)])
    tour.command(TourCommand.NEXT, at_cycle(1), NOW)
    tour.look(at_cycle(1), NOW)
    tour.command(TourCommand.LEAVE, at_cycle(1), NOW)
    assert tour.command(TourCommand.PLAY, at_cycle(1), NOW) == wanted(1)
    assert statuses(tour) == [BeatStatus.PLAYING, BeatStatus.AHEAD]
