"""Pauses by RPC: their time, their idempotence, and who may lift which."""

from dataclasses import replace

import pytest

from bigfleet.model.actions import ActionKind as K
from bigfleet.model.machines import Instant
from bigfleet.model.options import SECOND
from bigfleet.model.pauses import Pause, PauseScope, PauseSource
from bigfleet.model.provider_calls import Code, Rejected
from bigfleet.shard.effects import PAUSES
from bigfleet.shard.instructions import Log, Persist, WakeCycle
from bigfleet.shard.rails.pauses import MOST
from bigfleet.shard.settings import RailSettings
from tests.pauses.switches import HOUR, START, asked, logged, shard, switch


@pytest.mark.parametrize(
    ("facts", "expiry"),
    [
        ({}, START + 4 * HOUR),
        ({"ttl_seconds": -5}, START + 4 * HOUR),
        ({"ttl_seconds": 90}, START + 90 * SECOND),
        ({"ttl_seconds": 7 * 24 * 3600}, START + 7 * 24 * HOUR),
        ({"no_expiry": True}, None),
        ({"no_expiry": True, "ttl_seconds": 60}, None),
    ],
    ids=["nothing said", "less than nothing", "a minute and a half", "a week", "none", "none wins"],
)
def test_the_time_of_a_pause(facts: dict[str, object], expiry: Instant | None) -> None:
    assert switch().pause(asked(**facts), START).expires_at == expiry


@pytest.mark.parametrize(
    "facts",
    [{"owner": ""}, {"reason": ""}, {"ttl_seconds": 7 * 24 * 3600 + 1}],
    ids=["no owner", "for nothing", "for too long"],
)
def test_a_pause_is_refused_when_asked_by(facts: dict[str, object]) -> None:
    pauses = switch()
    with pytest.raises(Rejected) as refused:
        pauses.pause(asked(**facts), START)
    assert refused.value.code is Code.INVALID_ARGUMENT
    assert pauses.active() == ()


def test_asking_again_with_the_same_id_changes_nothing() -> None:
    pauses = switch()
    first = pauses.pause(asked(pause_id="mine"), START)
    assert pauses.pause(asked(pause_id="mine"), START + HOUR) == first
    assert pauses.active() == (first,)


def test_an_id_in_use_for_something_else_is_refused() -> None:
    pauses = switch()
    pauses.pause(asked(pause_id="mine"), START)
    with pytest.raises(Rejected) as refused:
        pauses.pause(asked(pause_id="mine", scope=PauseScope(kinds=(K.DELETE,))), START)
    assert refused.value.code is Code.ALREADY_EXISTS


def test_pauses_are_bounded() -> None:
    pauses = switch()
    for _ in range(MOST):
        pauses.pause(asked(), START)
    with pytest.raises(Rejected) as refused:
        pauses.pause(asked(), START)
    assert refused.value.code is Code.RESOURCE_EXHAUSTED


def test_all_lifts_what_the_rpc_set_and_nothing_else() -> None:
    pauses = switch(RailSettings(actuation_paused=True))
    pauses.on_file("", START)
    one, two = pauses.pause(asked(), START), pauses.pause(asked(), START)
    assert pauses.resume("", True, START) == (one, two)
    assert [pause.source for pause in pauses.active()] == [PauseSource.FLAG, PauseSource.FILE]


@pytest.mark.parametrize("source", ["flag", "file", "coordinator"])
def test_the_rpc_does_not_lift_a_pause_of(source: str) -> None:
    pauses = switch(RailSettings(actuation_paused=True))
    pauses.on_file("", START)
    pauses.on_coordinator([Pause("coordinator", PauseSource.COORDINATOR)], START)
    with pytest.raises(Rejected) as refused:
        pauses.resume(source, False, START)
    assert refused.value.code is Code.ABORTED
    assert len(pauses.active()) == 3


def test_a_pause_of_the_fleet_is_told_twice_and_lifted_where_it_was_set() -> None:
    """By the coordinator and directly, whichever comes first; each lifts its own."""
    pauses = switch()
    pauses.on_coordinator([Pause("fleet", PauseSource.COORDINATOR)], START)
    made = pauses.pause(asked(pause_id="fleet"), START)
    assert [pause.source for pause in pauses.active()] == [PauseSource.RPC, PauseSource.COORDINATOR]
    assert pauses.pause(asked(pause_id="fleet"), START) == made
    assert pauses.resume("fleet", False, START) == (made,)
    assert [pause.source for pause in pauses.active()] == [PauseSource.COORDINATOR]


def test_lifting_twice_is_not_an_error() -> None:
    pauses = switch()
    made = pauses.pause(asked(), START)
    assert pauses.resume(made.pause_id, False, START) == (made,)
    assert pauses.resume(made.pause_id, False, START) == ()


@pytest.mark.parametrize(("pause_id", "everything"), [("", False), ("p-1", True)])
def test_lifting_needs_one_name_or_all(pause_id: str, everything: bool) -> None:
    with pytest.raises(Rejected) as refused:
        switch().resume(pause_id, everything, START)
    assert refused.value.code is Code.INVALID_ARGUMENT


def test_lifting_wakes_the_cycle_and_is_told_with_who_and_why() -> None:
    parts = shard()
    effects, pauses = parts.effects, parts.pauses
    made = pauses.pause(asked(), START)
    effects.taken()
    pauses.resume(made.pause_id, False, START, owner="joe", reason="done")
    taken = effects.taken()
    (line,) = [told for told in taken if isinstance(told, Log)]
    assert (line.event, line.facts["lifted_by"], line.facts["why"]) == (
        "pause_lifted",
        "joe",
        "done",
    )
    assert WakeCycle() in taken
    assert Persist(PAUSES, made.pause_id, None) in taken


def test_a_pause_ends_with_its_time() -> None:
    parts = shard()
    effects, pauses = parts.effects, parts.pauses
    made = pauses.pause(asked(ttl_seconds=60), START)
    effects.taken()
    pauses.tick(START + 60 * SECOND - 1)
    assert pauses.active() == (made,)
    pauses.tick(START + 60 * SECOND)
    assert pauses.active() == ()
    assert pauses.gone() == (replace(made, ended_at=START + 60 * SECOND, ended="expired"),)
    assert pauses.why_suppressed(K.RECLAIM, "shop") is None
    assert logged(effects) == [("pause_expired", "the pause of everything has expired")]


def test_an_expired_pause_of_the_coordinator_is_not_taken_up_again() -> None:
    parts = shard()
    effects, pauses = parts.effects, parts.pauses
    fleet = Pause("fleet", PauseSource.COORDINATOR, expires_at=START + SECOND)
    pauses.on_coordinator([fleet], START)
    pauses.tick(START + SECOND)
    effects.taken()
    pauses.on_coordinator([fleet], START + 2 * SECOND)
    assert pauses.active() == ()
    assert effects.taken() == []
