"""Instructions: done once, in order, under the newest term, and answered until it is heard."""

import pytest

from bigfleet.model.coordinator_calls import (
    AckOutcome,
    CoordinatorInstruction,
    Done,
    NotYet,
    Obeyed,
    Refused,
)
from bigfleet.model.options import SECOND
from bigfleet.shard.coordinator_client import instruction_handler
from bigfleet.shard.coordinator_client.instruction_handler import DONE, TERM
from bigfleet.v1alpha1 import coordinator_pb2 as pb
from tests.coordclient.coordinators import assign, coordinators, shard

DUPLICATE = "duplicate-redelivery"


class Handlers:
    """Carries out everything, and remembers the order."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.answer: Obeyed = Done()

    def __call__(self, instruction: CoordinatorInstruction) -> Obeyed:
        if isinstance(self.answer, Done):
            self.done.append(instruction.id)
        return self.answer


async def test_what_was_refused_is_answered_as_failed() -> None:
    async with coordinators(1) as [leader], shard(leader.address) as reporter:
        leader.asks(assign("i-1", 1))
        await reporter.client.report()
        leader.asks()
        await reporter.client.report()
        [(name, outcome, reason)] = leader.acks
        assert (name, outcome) == ("i-1", AckOutcome.FAILED)
        assert "assign_domain" in reason
        assert reporter.counts["instructions assign_domain failed"] == 1


async def test_an_instruction_of_a_later_version_is_answered_as_invalid() -> None:
    async with coordinators(1) as [leader], shard(leader.address) as reporter:
        leader.asks(pb.CoordinatorInstruction(instruction_id="i-1", coordinator_term=1))
        await reporter.client.report()
        await reporter.client.report()
        assert leader.acks[0][:2] == ("i-1", AckOutcome.REJECTED_INVALID)


async def test_instructions_are_done_in_order_of_their_sequence_and_once() -> None:
    handlers = Handlers()
    async with (
        coordinators(1) as [leader],
        shard(leader.address, obey=handlers) as reporter,
    ):
        leader.asks(assign("second", 2), assign("first", 1), assign("", 0))
        await reporter.client.report()
        assert handlers.done == ["first", "second"]
        await reporter.client.report()
        assert leader.acks == [
            ("first", AckOutcome.ACCEPTED, ""),
            ("second", AckOutcome.ACCEPTED, ""),
        ]
        await reporter.client.report()
        assert handlers.done == ["first", "second"]
        assert {reason for _, _, reason in leader.acks} == {DUPLICATE}


async def test_what_was_done_is_told_at_once_and_what_was_done_before_in_time() -> None:
    async with coordinators(1) as [leader], shard(leader.address, obey=Handlers()) as reporter:
        leader.asks(assign("i-1", 1))
        await reporter.client.report()
        assert reporter.client.due - reporter.clock.now() < SECOND // 10
        await reporter.client.report()
        assert leader.acks == [("i-1", AckOutcome.ACCEPTED, "")]
        # The coordinator asks for it once more: answered, but not in a hurry.
        assert reporter.client.due - reporter.clock.now() > SECOND


async def test_a_restarted_shard_does_not_do_it_again() -> None:
    handlers = Handlers()
    async with coordinators(1) as [leader]:
        leader.asks(assign("i-1", 1))
        async with shard(leader.address, obey=handlers) as before:
            await before.client.report()
        async with shard(leader.address, obey=handlers, kept=before.kept) as after:
            await after.client.report()
            await after.client.report()
    assert handlers.done == ["i-1"]
    assert leader.acks == [("i-1", AckOutcome.ACCEPTED, DUPLICATE)]


async def test_acks_are_sent_again_when_their_report_failed() -> None:
    async with coordinators(1) as [leader], shard(leader.address) as reporter:
        leader.asks(assign("i-1", 1))
        await reporter.client.report()
        leader.asks()
        leader.broken = True
        await reporter.client.report()
        first = leader.acks
        leader.broken = False
        await reporter.client.report()
        assert leader.acks == first
        assert first[0][0] == "i-1"
        await reporter.client.report()
        assert leader.acks == []


async def test_an_answer_of_an_older_term_is_ignored_whole() -> None:
    handlers = Handlers()
    async with (
        coordinators(1) as [leader],
        shard(leader.address, obey=handlers) as reporter,
    ):
        leader.asks(term=5)
        await reporter.client.report()
        leader.asks(assign("i-1", 1, term=4), term=4)
        await reporter.client.report()
        assert handlers.done == []
        assert reporter.counts["coordinator_reports stale_term"] == 1
        assert reporter.client.link().term == 5
        leader.asks(assign("i-1", 1, term=5), term=5)
        await reporter.client.report()
        assert handlers.done == ["i-1"]


async def test_an_old_leader_is_still_ignored_after_a_restart() -> None:
    handlers = Handlers()
    async with coordinators(1) as [leader]:
        leader.asks(term=5)
        async with shard(leader.address) as before:
            await before.client.report()
        leader.asks(assign("i-1", 1, term=4), term=4)
        async with shard(leader.address, obey=handlers, kept=before.kept) as after:
            await after.client.report()
    assert handlers.done == []


async def test_an_instruction_of_an_older_term_is_told_so() -> None:
    async with coordinators(1) as [leader], shard(leader.address) as reporter:
        leader.asks(assign("i-1", 1, term=4), term=5)
        await reporter.client.report()
        await reporter.client.report()
        assert leader.acks[0][:2] == ("i-1", AckOutcome.REJECTED_STALE)


async def test_nothing_is_acted_on_before_its_term_is_on_disk() -> None:
    handlers = Handlers()
    async with (
        coordinators(1) as [leader],
        shard(leader.address, obey=handlers) as reporter,
    ):
        leader.asks(assign("i-1", 1, term=5), term=5)
        reporter.disk_trouble = OSError("no space left")
        await reporter.client.report()
        assert handlers.done == []
        await reporter.client.report()
        assert handlers.done == []
        assert "no space left" in reporter.client.link().last_error
        reporter.disk_trouble = None
        await reporter.client.report()
        assert handlers.done == ["i-1"]
        assert reporter.kept[TERM] == b"5"


async def test_nothing_is_acknowledged_before_it_is_remembered_on_disk() -> None:
    handlers = Handlers()
    async with (
        coordinators(1) as [leader],
        shard(leader.address, obey=handlers) as reporter,
    ):
        await reporter.client.report()
        leader.asks(assign("i-1", 1))
        reporter.disk_trouble = OSError("no space left")
        await reporter.client.report()
        await reporter.client.report()
        assert leader.acks == []
        reporter.disk_trouble = None
        await reporter.client.report()
        await reporter.client.report()
        assert handlers.done == ["i-1"]
        assert leader.acks == [("i-1", AckOutcome.ACCEPTED, DUPLICATE)]
        assert reporter.kept[DONE] == b'["i-1"]'


async def test_one_that_was_refused_may_be_done_later() -> None:
    handlers = Handlers()
    handlers.answer = Refused("machines are bound there")
    async with (
        coordinators(1) as [leader],
        shard(leader.address, obey=handlers) as reporter,
    ):
        leader.asks(assign("i-1", 1))
        await reporter.client.report()
        handlers.answer = Done()
        await reporter.client.report()
        assert leader.acks == [("i-1", AckOutcome.FAILED, "machines are bound there")]
        await reporter.client.report()
        assert leader.acks == [("i-1", AckOutcome.ACCEPTED, "")]


async def test_what_is_not_done_yet_is_not_answered_and_tried_again() -> None:
    handlers = Handlers()
    handlers.answer = NotYet("machines are bound there")
    async with coordinators(1) as [leader], shard(leader.address, obey=handlers) as reporter:
        leader.asks(assign("i-1", 1))
        await reporter.client.report()
        await reporter.client.report()
        assert leader.acks == []
        assert reporter.counts["instructions assign_domain waiting"] == 2
        assert DONE not in reporter.kept
        handlers.answer = Done("2 of 2 machines came")
        await reporter.client.report()
        await reporter.client.report()
        assert handlers.done == ["i-1"]
        assert leader.acks == [("i-1", AckOutcome.ACCEPTED, "2 of 2 machines came")]


async def test_acks_that_a_deposed_leader_heard_are_sent_again() -> None:
    handlers = Handlers()
    async with coordinators(1) as [leader], shard(leader.address, obey=handlers) as reporter:
        leader.asks(assign("i-1", 1, term=5), term=5)
        await reporter.client.report()
        leader.asks(term=4)
        await reporter.client.report()
        leader.asks(term=5)
        await reporter.client.report()
        assert leader.acks == [("i-1", AckOutcome.ACCEPTED, "")]
        await reporter.client.report()
        assert leader.acks == []


async def test_a_report_without_a_new_cycle_is_not_a_fault() -> None:
    async with coordinators(1) as [leader], shard(leader.address) as reporter:
        await reporter.client.report()
        leader.reply = pb.ReportAck(coordinator_term=1, acknowledged=False)
        reporter.pace_of_cycles = 0
        await reporter.client.report()
        assert reporter.client.link().last_error == ""


async def test_only_the_last_ones_done_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(instruction_handler, "MOST_DONE", 2)
    handlers = Handlers()
    async with (
        coordinators(1) as [leader],
        shard(leader.address, obey=handlers) as reporter,
    ):
        leader.asks(assign("a", 1), assign("b", 2), assign("c", 3))
        await reporter.client.report()
        assert reporter.kept[DONE] == b'["b","c"]'


async def test_a_report_that_another_process_has_overtaken_is_complained_about() -> None:
    async with coordinators(1) as [leader], shard(leader.address) as reporter:
        leader.reply = pb.ReportAck(coordinator_term=1, acknowledged=False)
        await reporter.client.report()
        link = reporter.client.link()
        assert link.connected is True
        assert "second process with the same id" in link.last_error
