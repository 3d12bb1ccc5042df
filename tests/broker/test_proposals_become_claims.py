"""One proposal at a time: what is committed, what is a conflict, and who loses a machine."""

import pytest

from bigfleet.engine.decision import Mode
from bigfleet.engine.vocabulary import packed_precedence
from bigfleet.model.machines import MachineState
from tests.broker.broker import NO_NEED, Broker, Bucket, DisplacedNeed, Result, Status

M1, M2, M3 = 0, 1, 2
IDLE = Bucket(MachineState.IDLE, "p=100")
OTHER = Bucket(MachineState.IDLE, "p=200")
INCREMENTAL, ALL_OR_NOTHING = Mode.INCREMENTAL, Mode.ALL_OR_NOTHING
#: Needs of the tests below: by their precedence.
LOW, TWIN, MIDDLE, HIGH, DEARER = range(5)
PRECEDENCE = [(100, 1, 1), (100, 1, 1), (200, 1, 1), (300, 1, 1), (100, 5, 1)]


def broker_of(machines: int = 3, budget: int = 10) -> Broker:
    return Broker(machines, PRECEDENCE, [budget] * len(PRECEDENCE))


def test_free_machines_are_claimed_and_the_bucket_counts_the_commit() -> None:
    """B1."""
    broker = broker_of()
    result = broker.propose(LOW, [M1, M2], IDLE, 0, INCREMENTAL)
    assert result == Result(Status.COMMITTED, 1, (M1, M2))
    assert broker.holders() == (LOW, LOW, NO_NEED)


def test_a_proposal_that_saw_an_older_bucket_is_a_conflict() -> None:
    """B2."""
    broker = broker_of()
    broker.propose(LOW, [M1], IDLE, 0, INCREMENTAL)
    assert broker.propose(HIGH, [M2], IDLE, 0, INCREMENTAL) == Result(Status.CONFLICT, 1)
    assert broker.holders() == (LOW, NO_NEED, NO_NEED)


def test_an_incremental_proposal_leaves_out_what_it_cannot_have() -> None:
    """B3."""
    broker = broker_of()
    broker.propose(TWIN, [M2], OTHER, 0, INCREMENTAL)
    result = broker.propose(LOW, [M1, M2, M3], IDLE, 0, INCREMENTAL)
    assert result == Result(Status.COMMITTED, 1, (M1, M3))
    assert broker.holders() == (LOW, TWIN, LOW)


def test_all_or_nothing_takes_all_where_all_are_free() -> None:
    """B4."""
    result = broker_of().propose(LOW, [M1, M2, M3], IDLE, 0, ALL_OR_NOTHING)
    assert result == Result(Status.COMMITTED, 1, (M1, M2, M3))


def test_all_or_nothing_takes_nothing_where_one_is_held() -> None:
    """B5."""
    broker = broker_of()
    broker.propose(TWIN, [M2], OTHER, 0, INCREMENTAL)
    result = broker.propose(LOW, [M1, M2, M3], IDLE, 0, ALL_OR_NOTHING)
    assert result == Result(Status.CONFLICT, 0)
    assert broker.holders() == (NO_NEED, TWIN, NO_NEED)
    assert broker.seq(IDLE) == 0


@pytest.mark.parametrize(
    "mode", [pytest.param(INCREMENTAL, id="B6"), pytest.param(ALL_OR_NOTHING, id="B7")]
)
def test_where_everything_is_held_there_is_only_conflict(mode: Mode) -> None:
    broker = broker_of()
    broker.propose(TWIN, [M1, M2, M3], OTHER, 0, INCREMENTAL)
    assert broker.propose(LOW, [M1, M2, M3], IDLE, 0, mode) == Result(Status.CONFLICT, 0)
    assert broker.holders() == (TWIN, TWIN, TWIN)


def test_every_commit_counts() -> None:
    """B8."""
    broker = broker_of(machines=5)
    results = [broker.propose(LOW, [m], IDLE, m, INCREMENTAL).new_seq for m in range(5)]
    assert results == [1, 2, 3, 4, 5]


def test_an_empty_proposal_is_a_conflict() -> None:
    """B10."""
    broker = broker_of()
    assert broker.propose(LOW, [], IDLE, 0, INCREMENTAL) == Result(Status.CONFLICT, 0)


@pytest.mark.parametrize(
    ("one", "other", "lower"),
    [
        pytest.param((100, 1, 1), (200, 1, 1), True, id="B11: by priority"),
        pytest.param((200, 1, 1), (100, 27, 27), False, id="B12: penalties do not matter"),
        pytest.param((100, 1, 9), (100, 5, 1), True, id="B13: then by interruption"),
        pytest.param((100, 5, 1), (100, 5, 9), True, id="B14: then by reclamation"),
        pytest.param((100, 5, 9), (100, 5, 9), False, id="B15: equal is not lower"),
        pytest.param((-(2**31), 27, 27), (2**31 - 1, 0, 0), True, id="over the whole range"),
        pytest.param((-1, 27, 27), (0, 0, 0), True, id="below zero"),
    ],
)
def test_precedence(one: tuple[int, int, int], other: tuple[int, int, int], lower: bool) -> None:
    assert (packed_precedence(one) < packed_precedence(other)) is lower


def test_a_higher_need_displaces_a_lower_one_at_the_cost_of_a_retry() -> None:
    """B16."""
    broker = broker_of(budget=10)
    broker.propose(LOW, [M1], IDLE, 0, INCREMENTAL)
    result = broker.propose(MIDDLE, [M1], OTHER, 0, INCREMENTAL)
    assert result == Result(Status.COMMITTED, 1, (M1,), (DisplacedNeed(LOW, 9),))
    assert broker.holders()[M1] == MIDDLE


@pytest.mark.parametrize(
    ("holder", "proposer"),
    [
        pytest.param(LOW, TWIN, id="B17: an equal"),
        pytest.param(MIDDLE, LOW, id="B18: a lower one"),
    ],
)
def test_the_holder_keeps_its_machine_against(holder: int, proposer: int) -> None:
    broker = broker_of()
    broker.propose(holder, [M1], IDLE, 0, INCREMENTAL)
    assert broker.propose(proposer, [M1], OTHER, 0, INCREMENTAL) == Result(Status.CONFLICT, 0)
    assert broker.holders()[M1] == holder


def test_at_equal_priority_the_dearer_interruption_displaces() -> None:
    """B19."""
    broker = broker_of()
    broker.propose(LOW, [M1], IDLE, 0, INCREMENTAL)
    result = broker.propose(DEARER, [M1], OTHER, 0, INCREMENTAL)
    assert result.displaced == (DisplacedNeed(LOW, 9),)


def test_all_or_nothing_may_displace_and_names_the_loser_once() -> None:
    """B20."""
    broker = broker_of()
    broker.propose(LOW, [M1, M2], IDLE, 0, INCREMENTAL)
    result = broker.propose(MIDDLE, [M1, M2, M3], OTHER, 0, ALL_OR_NOTHING)
    assert result == Result(Status.COMMITTED, 1, (M1, M2, M3), (DisplacedNeed(LOW, 9),))


def test_what_a_higher_need_holds_is_left_to_it() -> None:
    """B22."""
    broker = broker_of()
    broker.propose(HIGH, [M1], IDLE, 0, INCREMENTAL)
    broker.propose(LOW, [M2], IDLE, 1, INCREMENTAL)
    result = broker.propose(MIDDLE, [M1, M2, M3], OTHER, 0, INCREMENTAL)
    assert result.committed == (M2, M3)
    assert broker.holders() == (HIGH, MIDDLE, MIDDLE)


def test_the_last_retry_leaves_a_budget_of_zero() -> None:
    """B23: the caller must not queue it again."""
    broker = broker_of(budget=1)
    broker.propose(LOW, [M1], IDLE, 0, INCREMENTAL)
    result = broker.propose(MIDDLE, [M1], OTHER, 0, INCREMENTAL)
    assert result.displaced == (DisplacedNeed(LOW, 0),)


def test_two_machines_of_one_need_are_one_loss() -> None:
    """B24."""
    broker = broker_of()
    broker.propose(LOW, [M1, M2], IDLE, 0, INCREMENTAL)
    result = broker.propose(MIDDLE, [M1, M2], OTHER, 0, INCREMENTAL)
    assert result.displaced == (DisplacedNeed(LOW, 9),)


def test_every_loser_is_named() -> None:
    broker = broker_of()
    broker.propose(LOW, [M1], IDLE, 0, INCREMENTAL)
    broker.propose(DEARER, [M2], IDLE, 1, INCREMENTAL)
    result = broker.propose(MIDDLE, [M1, M2], OTHER, 0, ALL_OR_NOTHING)
    assert result.displaced == (DisplacedNeed(LOW, 9), DisplacedNeed(DEARER, 9))


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(Bucket(MachineState.IDLE, "p=1", "rack", "b"), id="another value"),
        pytest.param(Bucket(MachineState.IDLE, "p=1", "zone", "a"), id="another key"),
        pytest.param(Bucket(MachineState.IDLE, "p=2", "rack", "a"), id="another fingerprint"),
        pytest.param(Bucket(MachineState.SPECULATIVE, "p=1", "rack", "a"), id="another state"),
    ],
)
def test_a_bucket_is_one_state_fingerprint_and_domain(other: Bucket) -> None:
    """K9: a commit in one domain makes no proposal for another stale."""
    broker = broker_of()
    broker.propose(LOW, [M1], Bucket(MachineState.IDLE, "p=1", "rack", "a"), 0, INCREMENTAL)
    assert broker.propose(LOW, [M2], other, 0, INCREMENTAL).status is Status.COMMITTED
