"""Pauses of the whole fleet, of a shard, and of rebalancing alone."""

from collections.abc import Iterator
from itertools import count

import pytest

from bigfleet.coordinator.membership import pauses
from bigfleet.coordinator.membership.pauses import is_paused, pauses_for, rebalance_paused
from bigfleet.model.actions import ActionKind
from bigfleet.model.options import SECOND
from bigfleet.model.pauses import PauseScope, PauseSource
from bigfleet.model.provider_calls import Code, Rejected
from bigfleet.model.shard_admin import Audit, PauseCall, Paused, ResumeCall, Resumed
from tests.coordination_model import ModelFleet

AUDIT = Audit("ann", "an incident")
NAMES: Iterator[int] = count()
EVERYTHING = PauseScope()


def fleet_of_two() -> ModelFleet:
    fleet = ModelFleet()
    for name in ("a", "b"):
        fleet.joined(name, "p:1")
    return fleet


def pause(
    fleet: ModelFleet,
    scope: PauseScope = EVERYTHING,
    pause_id: str = "",
    ttl_seconds: int = 0,
    no_expiry: bool = False,
) -> Paused:
    call = PauseCall(AUDIT, scope, ttl_seconds, no_expiry, pause_id)
    return fleet.do(pauses.pause, call, "bigfleet://admin", lambda: f"pause-{next(NAMES)}")


def resume(fleet: ModelFleet, **fields: object) -> Resumed:
    return fleet.do(pauses.resume, ResumeCall(AUDIT, **fields))  # type: ignore[arg-type]


def paused(fleet: ModelFleet) -> dict[str, bool]:
    return {name: is_paused(fleet.book, name, fleet.now) for name in ("a", "b")}


def ids(fleet: ModelFleet, *, expired: bool = False) -> list[str]:
    return [each.pause_id for each in pauses.pauses(fleet.book, expired, fleet.now).pauses]


def test_a_pause_of_everything_reaches_every_shard_and_stops_rebalancing() -> None:
    fleet = fleet_of_two()
    made = pause(fleet).pause
    assert (made.source, made.created_by) == (PauseSource.RPC, "bigfleet://admin")
    for shard in fleet.alive():
        (told,) = fleet.sync(shard).pauses
        assert (told.pause_id, told.source) == (made.pause_id, PauseSource.COORDINATOR)
    assert paused(fleet) == {"a": True, "b": True}
    assert rebalance_paused(fleet.book, fleet.now)


def test_a_pause_of_one_shard_reaches_that_shard_alone() -> None:
    fleet = fleet_of_two()
    pause(fleet, PauseScope(shard_ids=("a",)))
    assert [len(fleet.sync(shard).pauses) for shard in fleet.alive()] == [1, 0]
    assert paused(fleet) == {"a": True, "b": False}
    assert not rebalance_paused(fleet.book, fleet.now)


@pytest.mark.parametrize(
    "scope",
    [PauseScope(cluster_ids=("shop",)), PauseScope(kinds=(ActionKind.RECLAIM,))],
    ids=["of a cluster", "of one kind of action"],
)
def test_a_pause_of_less_reaches_the_shards_and_pauses_none_of_them(scope: PauseScope) -> None:
    fleet = fleet_of_two()
    pause(fleet, scope)
    assert [len(fleet.sync(shard).pauses) for shard in fleet.alive()] == [1, 1]
    assert paused(fleet) == {"a": False, "b": False}


def test_a_pause_of_rebalancing_is_sent_to_no_shard_and_is_obeyed_here() -> None:
    fleet = fleet_of_two()
    pause(fleet, PauseScope(rebalance_only=True))
    assert pauses_for(fleet.book, "a", fleet.now) == ()
    assert rebalance_paused(fleet.book, fleet.now)


def test_rebalancing_may_be_paused_for_one_shard() -> None:
    fleet = fleet_of_two()
    pause(fleet, PauseScope(shard_ids=("a",), rebalance_only=True))
    assert paused(fleet) == {"a": True, "b": False}
    assert not rebalance_paused(fleet.book, fleet.now)
    assert pauses_for(fleet.book, "a", fleet.now) == ()


@pytest.mark.parametrize(
    ("ttl_seconds", "no_expiry", "hours"),
    [(0, False, 4), (3600, False, 1), (-1, False, 4), (0, True, None)],
    ids=["by default", "as asked", "less than nothing", "until it is lifted"],
)
def test_how_long_a_pause_lasts(ttl_seconds: int, no_expiry: bool, hours: int | None) -> None:
    fleet = fleet_of_two()
    expires = pause(fleet, ttl_seconds=ttl_seconds, no_expiry=no_expiry).pause.expires_at
    assert expires == (None if hours is None else fleet.now + hours * 3600 * SECOND)


def test_more_than_a_week_is_refused() -> None:
    with pytest.raises(Rejected, match="at most 168 h") as caught:
        pause(fleet_of_two(), ttl_seconds=8 * 24 * 3600)
    assert caught.value.code is Code.INVALID_ARGUMENT


def test_a_pause_is_over_at_its_time_and_forgotten_by_the_next_second() -> None:
    fleet = fleet_of_two()
    pause(fleet, ttl_seconds=60, pause_id="short")
    fleet.wait(60)
    assert paused(fleet) == {"a": False, "b": False}
    assert (ids(fleet), ids(fleet, expired=True)) == ([], ["short"])
    fleet.tick()
    assert fleet.book.tables.pauses.rows == {}
    assert ids(fleet, expired=True) == ["short"]
    assert "pause_expired" in [event.kind for event in fleet.book.events]


def test_a_pause_outlives_its_leader() -> None:
    fleet = fleet_of_two()
    pause(fleet, pause_id="x")
    fleet.coordinator.fail_over()
    assert ids(fleet) == ["x"]


def test_asking_again_with_the_same_id_changes_nothing() -> None:
    fleet = fleet_of_two()
    first = pause(fleet, pause_id="x").pause
    fleet.wait(5)
    assert pause(fleet, pause_id="x").pause == first
    with pytest.raises(Rejected, match="another scope") as caught:
        pause(fleet, PauseScope(shard_ids=("a",)), pause_id="x")
    assert caught.value.code is Code.ALREADY_EXISTS


def test_a_pause_of_an_unknown_shard_is_refused_rather_than_without_effect() -> None:
    with pytest.raises(Rejected, match="ghost") as caught:
        pause(fleet_of_two(), PauseScope(shard_ids=("ghost",)))
    assert caught.value.code is Code.NOT_FOUND


def test_one_pause_is_lifted_by_name_and_all_at_once() -> None:
    fleet = fleet_of_two()
    for name in ("x", "y", "z"):
        pause(fleet, pause_id=name)
    lifted = resume(fleet, pause_id="y")
    assert [each.pause_id for each in lifted.removed] == ["y"]
    assert [each.pause_id for each in lifted.active] == ["x", "z"]
    assert len(resume(fleet, everything=True).removed) == 2
    assert (ids(fleet), ids(fleet, expired=True)) == ([], ["y", "x", "z"])


def test_a_pause_that_is_gone_already_is_not_an_error() -> None:
    assert resume(fleet_of_two(), pause_id="ghost").removed == ()


@pytest.mark.parametrize("fields", [{}, {"pause_id": "x", "everything": True}], ids=str)
def test_either_one_or_all_is_lifted(fields: dict[str, object]) -> None:
    with pytest.raises(Rejected) as caught:
        resume(fleet_of_two(), **fields)
    assert caught.value.code is Code.INVALID_ARGUMENT


def test_who_pauses_and_why_is_asked() -> None:
    fleet = fleet_of_two()
    with pytest.raises(Rejected, match="reason is empty"):
        fleet.do(pauses.pause, PauseCall(Audit("ann", "")), "", lambda: "x")
