"""What waits for a shard, in which order it is told, and who may be told what."""

import pytest

from bigfleet.coordinator.book import Book
from bigfleet.coordinator.draft import Draft
from bigfleet.coordinator.membership import domains
from bigfleet.coordinator.membership.instructions import MOST, pending
from bigfleet.model.coordinator_calls import (
    AckOutcome,
    CoordinatorInstruction,
    InstructionAck,
    InstructionKind,
)
from tests.coordination_model import ModelFleet, ModelShard

MOVING = (
    InstructionKind.REASSIGN_SPECULATIVE,
    InstructionKind.CROSS_SHARD_DRAIN,
    InstructionKind.TRANSFER_OWNERSHIP,
)


def fleet_with(domains_of_a: int) -> tuple[ModelFleet, ModelShard]:
    fleet = ModelFleet()
    a = fleet.joined("a", "p:1")
    for number in range(domains_of_a):
        fleet.do(domains.assign, "rack", f"r{number:03}", "a")
    return fleet, a


def told(fleet: ModelFleet, shard: ModelShard, *acks: InstructionAck) -> list[str]:
    """What a report brings; the shard does nothing of it."""
    shard.acks = {ack.instruction_id: ack for ack in acks}
    reply = fleet.report(shard, answered=False)
    return [each.topology_value for each in reply.instructions]


def test_instructions_come_in_the_order_of_their_numbers_stamped_with_the_term() -> None:
    fleet, a = fleet_with(3)
    fleet.coordinator.fail_over()
    reply = fleet.report(a, answered=False)
    assert [each.topology_value for each in reply.instructions] == ["r000", "r001", "r002"]
    numbers = [each.sequence for each in reply.instructions]
    assert numbers == sorted(numbers)
    assert [each.id for each in reply.instructions] == [f"dom-{n}/assign" for n in numbers]
    assert {each.term for each in reply.instructions} == {2}


def test_they_come_again_with_every_report_until_they_are_acknowledged() -> None:
    fleet, a = fleet_with(2)
    assert told(fleet, a) == ["r000", "r001"]
    assert told(fleet, a) == ["r000", "r001"]
    first = pending(fleet.book, "a")[0].instruction.id
    assert told(fleet, a, InstructionAck(first, AckOutcome.ACCEPTED)) == ["r001"]


def test_where_more_wait_than_fit_every_report_brings_others() -> None:
    fleet, a = fleet_with(150)
    seen = [told(fleet, a) for _ in range(4)]
    assert {len(names) for names in seen} == {MOST}
    assert seen[0][0] == "r000"
    assert seen[1][0] == f"r{MOST:03}"
    assert {name for names in seen for name in names} == {f"r{i:03}" for i in range(150)}


def test_a_report_that_is_not_news_brings_and_takes_instructions_all_the_same() -> None:
    fleet, a = fleet_with(2)
    first = pending(fleet.book, "a")[0].instruction.id
    a.cycle -= 1
    assert told(fleet, a, InstructionAck(first, AckOutcome.ACCEPTED)) == ["r001"]
    assert fleet.book.counts.of("reports_total", result="out_of_order") == 1


def test_an_acknowledgement_that_comes_twice_or_of_nothing_changes_nothing() -> None:
    fleet, a = fleet_with(1)
    ack = InstructionAck(pending(fleet.book, "a")[0].instruction.id, AckOutcome.ACCEPTED)
    told(fleet, a, ack)
    before = dict(fleet.coordinator.rows)
    nothing = [InstructionAck(name, AckOutcome.ACCEPTED) for name in ("", "dom-x/assign", "tx-9")]
    assert told(fleet, a, ack, *nothing) == []
    assert fleet.coordinator.rows == before


def test_a_shard_cannot_acknowledge_for_another() -> None:
    fleet, _ = fleet_with(1)
    b = fleet.joined("b", "q:1")
    name = pending(fleet.book, "a")[0].instruction.id
    told(fleet, b, InstructionAck(name, AckOutcome.ACCEPTED))
    assert [each.instruction.id for each in pending(fleet.book, "a")] == [name]


@pytest.mark.parametrize("kind", MOVING, ids=[kind.value for kind in MOVING])
def test_only_a_shard_that_syncs_is_told_to_move_machines(kind: InstructionKind) -> None:
    fleet = ModelFleet()
    a = fleet.join("a", "p:1")
    fleet.report(a)

    def move(book: Book, draft: Draft) -> None:
        draft.instruct("a", CoordinatorInstruction("tx-1/release", kind, machine_ids=("m",)))

    fleet.do(move)
    assert fleet.report(a, answered=False).instructions == ()
    fleet.sync(a)
    assert [each.kind for each in fleet.report(a, answered=False).instructions] == [kind]
    fleet.wait(31)
    assert fleet.report(a, answered=False).instructions == ()


def test_what_waits_is_listed_by_shard_with_what_was_answered() -> None:
    fleet, a = fleet_with(1)
    fleet.joined("b", "p:1")
    fleet.do(domains.assign, "rack", "later", "b")
    name = pending(fleet.book, "a")[0].instruction.id
    told(fleet, a, InstructionAck(name, AckOutcome.FAILED, "the disk is full"))
    first, second = pending(fleet.book, "")
    assert (first.shard, first.attempts, first.last_reason) == ("a", 1, "the disk is full")
    assert (second.shard, second.attempts) == ("a", 0)
    assert pending(fleet.book, "b") == []
