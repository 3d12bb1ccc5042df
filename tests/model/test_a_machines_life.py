"""Worked cases M1-M18: which state follows which, and where a machine may rest."""

import pytest

from bigfleet.model.machines import InvalidTransition, check_transition, is_allowed
from bigfleet.model.machines import MachineState as S

EDGES = [
    (S.SPECULATIVE, S.CREATING),
    (S.CREATING, S.IDLE),
    (S.CREATING, S.FAILED),
    (S.IDLE, S.CONFIGURING),
    (S.IDLE, S.DELETING),
    (S.CONFIGURING, S.CONFIGURED),
    (S.CONFIGURING, S.FAILED),
    (S.CONFIGURING, S.IDLE),
    (S.CONFIGURED, S.DRAINING),
    (S.DRAINING, S.IDLE),
    (S.DRAINING, S.FAILED),
    (S.DELETING, S.SPECULATIVE),
    (S.DELETING, S.FAILED),
]
RECOVERIES = [(S.FAILED, S.IDLE), (S.FAILED, S.SPECULATIVE)]


def edge_name(edge: object) -> str | None:
    return f"{edge[0].label}-{edge[1].label}" if isinstance(edge, tuple) else None


@pytest.mark.parametrize("edge", EDGES, ids=edge_name)
def test_every_edge_of_the_life_cycle_is_allowed(edge: tuple[S, S]) -> None:
    check_transition("m-1", *edge)
    assert is_allowed(*edge)


def test_no_other_change_of_state_is_allowed() -> None:
    allowed = {(a, b) for a in S for b in S if a is not b and is_allowed(a, b)}
    assert allowed == set(EDGES)


@pytest.mark.parametrize("state", S, ids=lambda s: s.label)
def test_staying_is_always_allowed(state: S) -> None:
    assert is_allowed(state, state)


@pytest.mark.parametrize("edge", RECOVERIES, ids=edge_name)
def test_a_failed_machine_leaves_only_through_recovery(edge: tuple[S, S]) -> None:
    assert is_allowed(*edge, recovery=True)
    assert not is_allowed(*edge)


def test_recovery_opens_no_other_door() -> None:
    recovered = {(a, b) for a in S for b in S if a is not b and is_allowed(a, b, recovery=True)}
    assert recovered == set(EDGES) | set(RECOVERIES)


def test_a_forbidden_change_names_the_machine_and_the_ways_that_are_open() -> None:
    with pytest.raises(InvalidTransition) as raised:
        check_transition("m-7", S.CONFIGURED, S.CONFIGURING)
    assert str(raised.value) == (
        "machine m-7 cannot go from Configured to Configuring; from Configured it goes to: Draining"
    )


def test_a_failed_machine_is_told_that_only_recovery_helps() -> None:
    with pytest.raises(InvalidTransition, match="from Failed it goes to: recovery only"):
        check_transition("m-7", S.FAILED, S.IDLE)


def test_a_machine_rests_only_where_nothing_is_under_way_and_nothing_is_wrong() -> None:
    assert {state for state in S if state.stable} == {S.SPECULATIVE, S.IDLE, S.CONFIGURED}
