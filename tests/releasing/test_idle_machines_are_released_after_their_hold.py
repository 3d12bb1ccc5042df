"""Phase 3, release: only on-demand and spot capacity, and only once its hold is over."""

from dataclasses import replace

import pytest

from bigfleet.model.actions import ActionKind, Rule
from bigfleet.model.fleet import FleetMachine, Held, HeldBy, Marks
from bigfleet.model.machines import CapacityType
from bigfleet.model.options import SECOND
from tests.worlds import gpus
from tests.worlds.fleets import NOW, PHASES, actions_of, decided, deleted, reclaimed
from tests.worlds.gpus import bound_many, plain

MINUTE = 60 * SECOND


def idle_for(duration: int, kind: CapacityType) -> FleetMachine:
    return gpus.host(kind.label, capacity_type=kind, marks=Marks(idle_since=NOW - duration))


def one_of_each(duration: int) -> list[FleetMachine]:
    return [idle_for(duration, kind) for kind in CapacityType]


@pytest.mark.parametrize(
    ("duration", "gone"),
    [
        pytest.param(2 * MINUTE, ["Spot"], id="R17: after two minutes spot"),
        pytest.param(11 * MINUTE, ["OnDemand", "Spot"], id="R18: after eleven minutes both"),
        pytest.param(60_000 * MINUTE, ["OnDemand", "Spot"], id="R19: owned capacity never"),
        pytest.param(MINUTE, ["Spot"], id="a hold that is just over"),
        pytest.param(MINUTE - 1, [], id="a hold with a nanosecond left"),
    ],
)
def test_what_is_released_after_how_long(duration: int, gone: list[str]) -> None:
    assert deleted(decided(one_of_each(duration), now=NOW)) == gone


def test_a_release_is_unbound_and_has_no_grace() -> None:
    """R17."""
    (action,) = decided(one_of_each(2 * MINUTE), now=NOW).actions
    assert (action.kind, action.cluster, action.grace_seconds, action.rule, action.need) == (
        ActionKind.DELETE,
        "",
        0,
        Rule.RELEASE,
        None,
    )


def test_without_holds_nothing_is_released() -> None:
    """R21."""
    options = replace(PHASES, release_holds={})
    assert decided(one_of_each(60_000 * MINUTE), now=NOW, options=options).actions == ()


def test_a_hold_of_zero_means_never() -> None:
    options = replace(PHASES, release_holds={CapacityType.SPOT: 0.0})
    assert decided(one_of_each(60_000 * MINUTE), now=NOW, options=options).actions == ()


def test_no_hold_can_release_owned_capacity() -> None:
    options = replace(PHASES, release_holds=dict.fromkeys(CapacityType, 1.0))
    assert deleted(decided(one_of_each(MINUTE), now=NOW, options=options)) == ["OnDemand", "Spot"]


def test_excess_is_reclaimed_while_an_old_spot_machine_is_released() -> None:
    """R22."""
    decision = decided([*bound_many(2, "c"), idle_for(2 * MINUTE, CapacityType.SPOT)], now=NOW)
    assert (len(reclaimed(decision)), deleted(decision)) == (2, ["Spot"])


def test_release_does_not_wait_for_a_first_report() -> None:
    options = replace(PHASES, clusters_ready=frozenset())
    machines = [*bound_many(2, "c"), idle_for(2 * MINUTE, CapacityType.SPOT)]
    decision = decided(machines, now=NOW, options=options)
    assert [a.kind for a in decision.actions] == [ActionKind.DELETE]


def test_a_machine_claimed_this_cycle_is_not_released() -> None:
    decision = decided([idle_for(2 * MINUTE, CapacityType.SPOT)], [plain("c", 0, 1)], now=NOW)
    assert actions_of(decision, ActionKind.DELETE) == []


@pytest.mark.parametrize(
    "marks",
    [
        pytest.param(Marks(), id="idle since an unknown instant"),
        pytest.param(Marks(NOW - 60 * MINUTE, Held(HeldBy.UNSEEN)), id="it is held back"),
    ],
)
def test_a_machine_is_kept_where(marks: Marks) -> None:
    spot = gpus.host("m", capacity_type=CapacityType.SPOT, marks=marks)
    assert decided([spot], now=NOW).actions == ()


def test_without_a_clock_nothing_is_released() -> None:
    assert decided(one_of_each(60_000 * MINUTE)).actions == ()
