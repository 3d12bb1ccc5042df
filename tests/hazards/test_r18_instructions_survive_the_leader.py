"""R18: no instruction is lost with the leader that queued it, nor by an answer that is no."""

import pytest

from bigfleet.coordinator.membership import domains
from bigfleet.coordinator.membership.instructions import pending
from bigfleet.coordinator.tables import DomainRow, TransferRow
from bigfleet.model.coordination import Transfer, TransferState, TransferTier
from bigfleet.model.coordinator_calls import (
    AckOutcome,
    CoordinatorInstruction,
    InstructionAck,
    InstructionKind,
    ReportReply,
)
from tests.coordination_model import ModelFleet, ModelShard

Z1 = ("zone", "z1")


def hand_over() -> tuple[ModelFleet, ModelShard]:
    """`a`, the default owner, is to give a zone up for `b`."""
    fleet = ModelFleet()
    a = fleet.joined("a", "p:1")
    fleet.joined("b", "p:1")
    fleet.do(domains.assign, *Z1, "b")
    return fleet, a


def answer(fleet: ModelFleet, shard: ModelShard, outcome: AckOutcome) -> ReportReply:
    """To the first instruction that waits."""
    name = pending(fleet.book, shard.id)[0].instruction.id
    shard.acks = {name: InstructionAck(name, outcome, "because")}
    reply = fleet.report(shard, answered=False)
    shard.acks = {}
    return reply


def test_r18_a_leader_that_dies_between_queue_and_ack_takes_nothing_with_it() -> None:
    fleet, a = hand_over()
    (queued,) = fleet.report(a, answered=False).instructions
    fleet.coordinator.fail_over()
    (again,) = fleet.report(a).instructions
    assert (again.id, again.sequence) == (queued.id, queued.sequence)
    assert (queued.term, again.term) == (1, 2)
    fleet.rounds(4)
    assert fleet.book.tables.domains.get(*Z1) == DomainRow(*Z1, "b")


def test_r18_every_step_of_a_hand_over_may_have_another_leader() -> None:
    fleet, _ = hand_over()
    for _ in range(6):
        fleet.coordinator.fail_over()
        fleet.rounds(1)
    assert fleet.book.tables.domains.get(*Z1) == DomainRow(*Z1, "b")
    assert pending(fleet.book, "") == []


def test_r18_what_a_shard_found_stale_is_stamped_with_the_term_of_now() -> None:
    fleet, a = hand_over()
    fleet.coordinator.fail_over()
    (again,) = answer(fleet, a, AckOutcome.REJECTED_STALE).instructions
    assert again.term == 2
    (waiting,) = pending(fleet.book, "a")
    assert (waiting.attempts, waiting.last_outcome) == (0, AckOutcome.REJECTED_STALE)


def seconds_until_told(fleet: ModelFleet, shard: ModelShard) -> float:
    for halves in range(100):
        if fleet.report(shard, answered=False).instructions:
            return halves / 2
        fleet.wait(0.5)
    raise AssertionError("it is never told again")


def test_r18_what_failed_is_tried_again_later_and_later() -> None:
    fleet, a = hand_over()
    waits = []
    for _ in range(3):
        assert answer(fleet, a, AckOutcome.FAILED).instructions == ()
        waits.append(seconds_until_told(fleet, a))
    assert waits == [1, 2, 4]


def test_r18_the_same_failure_told_twice_counts_once() -> None:
    fleet, a = hand_over()
    answer(fleet, a, AckOutcome.FAILED)
    fleet.wait(10)
    answer(fleet, a, AckOutcome.FAILED)
    assert pending(fleet.book, "a")[0].attempts == 1
    answer(fleet, a, AckOutcome.FAILED)
    assert pending(fleet.book, "a")[0].attempts == 2


def fails_for_good(fleet: ModelFleet, shard: ModelShard) -> None:
    for _ in range(5):
        answer(fleet, shard, AckOutcome.FAILED)
        fleet.wait(100)
        fleet.report(shard, answered=False)


def test_r18_a_domain_that_no_shard_would_give_up_says_so_and_may_be_asked_for_again() -> None:
    fleet, a = hand_over()
    fails_for_good(fleet, a)
    assert pending(fleet.book, "a") == []
    assert fleet.book.tables.domains.get(*Z1) == DomainRow(*Z1, "b", ("a",))
    (dropped,) = [e.text for e in fleet.book.events if e.kind == "instruction_dropped"]
    assert "a failed 5 times, lastly because because" in dropped
    assert "ask for it again when the cause is gone, or remove a" in dropped
    count = fleet.book.counts.of
    assert count("instruction_failures_total", kind="unassign_domain", outcome="failed") == 5
    fleet.do(domains.assign, *Z1, "b")
    fleet.rounds(5)
    assert fleet.book.tables.domains.get(*Z1) == DomainRow(*Z1, "b")


def releasing() -> tuple[ModelFleet, ModelShard]:
    fleet = ModelFleet()
    a = fleet.joined("a", "p:1")
    fleet.joined("b", "p:1")
    moved = Transfer("7", TransferTier.IDLE, "a", "b", TransferState.RELEASING, ("m",))
    release = CoordinatorInstruction(
        "tx-7/release", InstructionKind.TRANSFER_OWNERSHIP, machine_ids=("m",)
    )
    fleet.do(lambda book, draft: draft.transfers.put(TransferRow(moved, "p:1")))
    fleet.do(lambda book, draft: draft.instruct("a", release))
    return fleet, a


def state(fleet: ModelFleet) -> TransferState:
    row = fleet.book.tables.transfers.get("7")
    assert row is not None
    return row.transfer.state


def test_r18_a_release_that_fails_five_times_cancels_its_transfer() -> None:
    fleet, a = releasing()
    for _ in range(4):
        fleet.sync(a)
        answer(fleet, a, AckOutcome.FAILED)
        fleet.wait(20)
        fleet.report(a, answered=False)
    assert state(fleet) is TransferState.RELEASING
    answer(fleet, a, AckOutcome.FAILED)
    assert state(fleet) is TransferState.CANCELLED
    assert pending(fleet.book, "") == []


@pytest.mark.parametrize("leaders", [0, 1], ids=["one leader", "another leader"])
def test_r18_what_a_shard_does_not_understand_is_dropped_and_its_transfer_cancelled(
    leaders: int,
) -> None:
    fleet, a = releasing()
    for _ in range(leaders):
        fleet.coordinator.fail_over()
    answer(fleet, a, AckOutcome.REJECTED_INVALID)
    assert pending(fleet.book, "") == []
    assert state(fleet) is TransferState.CANCELLED
    failures = fleet.book.counts.of(
        "instruction_failures_total", kind="transfer_ownership", outcome="rejected_invalid"
    )
    assert failures == 1


def test_r18_a_release_that_was_acknowledged_to_the_next_leader_grants() -> None:
    fleet, a = releasing()
    fleet.round()
    fleet.coordinator.fail_over()
    fleet.round(fleet.shards["b"])
    answer(fleet, a, AckOutcome.ACCEPTED)
    assert state(fleet) is TransferState.GRANTED
