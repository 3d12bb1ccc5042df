"""A List with thousands of changes is taken over bit by bit, and life goes on in between."""

from dataclasses import replace

from bigfleet.model.shard_views import StorySource
from bigfleet.shard.reconciling.list_reading import RECORDS_AT_A_TIME, ListReading
from tests.reconciling.rig import CONFIGURED, CONFIGURING, DRAINING, IDLE, Rig, record

COUNT = 3 * RECORDS_AT_A_TIME
NAMES = [f"m-{i:04d}" for i in range(COUNT)]


def listed() -> tuple[Rig, ListReading]:
    """A fleet, and a List in which all of it has moved."""
    rig = Rig()
    rig.lists(*(record(name, CONFIGURED) for name in NAMES))
    rig.wait(1)
    return rig, rig.read([record(name, DRAINING) for name in NAMES])


def finish(rig: Rig) -> int:
    pieces = 1
    while rig.reconciler.continue_list("acme"):
        pieces += 1
    return pieces


def drained(rig: Rig) -> int:
    return sum(rig.state(name) is DRAINING for name in rig.ids())


def test_no_piece_is_the_whole() -> None:
    rig, reading = listed()
    more = rig.begins(reading, rig.now)
    sizes = []
    while more:
        rig.sent.clear()
        more = rig.reconciler.continue_list("acme")
        sizes.append(len(rig.sent))
    assert sum(sizes) == COUNT
    assert max(sizes) == RECORDS_AT_A_TIME


def test_the_first_list_has_come_when_all_of_it_is_there() -> None:
    rig = Rig()
    reading = rig.read([record(name) for name in NAMES])
    assert rig.begins(reading, rig.now)
    assert not rig.reconciler.listed_once()
    finish(rig)
    assert rig.reconciler.listed_once()
    assert rig.ids() == NAMES


def test_what_the_shard_does_between_two_pieces_stands() -> None:
    rig, reading = listed()
    started = rig.now
    rig.begins(reading, started)
    rig.wait(1)
    last = NAMES[-1]
    idle = replace(rig.machine(last), state=IDLE, cluster="")
    rig.local(idle)
    finish(rig)
    assert rig.state(last) is IDLE
    assert drained(rig) == COUNT - 1
    rig.lists(*(record(name, DRAINING) for name in NAMES))
    assert rig.state(last) is DRAINING


def test_a_machine_that_left_between_two_pieces_is_taken_in_again() -> None:
    rig, reading = listed()
    rig.begins(reading, rig.now)
    rig.machines.remove(NAMES[-1], rig.now, "by hand", StorySource.ADMIN)
    finish(rig)
    assert rig.ids() == NAMES


def test_the_next_list_waits_for_the_rest_of_the_last() -> None:
    rig, reading = listed()
    rig.begins(reading, rig.now)
    rig.lists(*(record(name, DRAINING) for name in NAMES[:-1]), record(NAMES[-1], CONFIGURING))
    assert drained(rig) == COUNT - 1
    assert rig.state(NAMES[-1]) is CONFIGURING


def test_ticks_finish_what_no_event_continues() -> None:
    rig, reading = listed()
    rig.begins(reading, rig.now)
    for _ in range(COUNT):
        rig.reconciler.tick(rig.now)
    assert drained(rig) == COUNT
    assert not rig.reconciler.continue_list("acme")
