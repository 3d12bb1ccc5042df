"""Instructions: done once, in order, under the newest term, and answered until it is heard."""

import pytest

from bigfleet.coordclient import obeying
from bigfleet.coordclient.obeying import DONE, TERM
from bigfleet.model.coordinator_calls import AckOutcome, CoordinatorInstruction, InstructionKind
from bigfleet.v1alpha1 import coordinator_pb2 as pb
from tests.coordclient.coordinators import assign, coordinators, shard

DUPLICATE = "duplicate-redelivery"


class Hands:
    """Carries out everything, and remembers the order."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.refusal = ""

    def __call__(self, instruction: CoordinatorInstruction) -> str:
        if not self.refusal:
            self.done.append(instruction.id)
        return self.refusal

    @property
    def handlers(self) -> dict[InstructionKind, "Hands"]:
        return {InstructionKind.ASSIGN_DOMAIN: self}


async def test_what_this_shard_cannot_do_yet_is_answered_as_failed() -> None:
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
    hands = Hands()
    async with (
        coordinators(1) as [leader],
        shard(leader.address, handlers=hands.handlers) as reporter,
    ):
        leader.asks(assign("second", 2), assign("first", 1), assign("", 0))
        await reporter.client.report()
        assert hands.done == ["first", "second"]
        await reporter.client.report()
        assert leader.acks == [
            ("first", AckOutcome.ACCEPTED, ""),
            ("second", AckOutcome.ACCEPTED, ""),
        ]
        await reporter.client.report()
        assert hands.done == ["first", "second"]
        assert {reason for _, _, reason in leader.acks} == {DUPLICATE}


async def test_a_restarted_shard_does_not_do_it_again() -> None:
    hands = Hands()
    async with coordinators(1) as [leader]:
        leader.asks(assign("i-1", 1))
        async with shard(leader.address, handlers=hands.handlers) as before:
            await before.client.report()
        async with shard(leader.address, handlers=hands.handlers, kept=before.kept) as after:
            await after.client.report()
            await after.client.report()
    assert hands.done == ["i-1"]
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
    hands = Hands()
    async with (
        coordinators(1) as [leader],
        shard(leader.address, handlers=hands.handlers) as reporter,
    ):
        leader.asks(term=5)
        await reporter.client.report()
        leader.asks(assign("i-1", 1, term=4), term=4)
        await reporter.client.report()
        assert hands.done == []
        assert reporter.counts["coordinator_reports stale_term"] == 1
        assert reporter.client.link().term == 5
        leader.asks(assign("i-1", 1, term=5), term=5)
        await reporter.client.report()
        assert hands.done == ["i-1"]


async def test_an_old_leader_is_still_ignored_after_a_restart() -> None:
    hands = Hands()
    async with coordinators(1) as [leader]:
        leader.asks(term=5)
        async with shard(leader.address) as before:
            await before.client.report()
        leader.asks(assign("i-1", 1, term=4), term=4)
        async with shard(leader.address, handlers=hands.handlers, kept=before.kept) as after:
            await after.client.report()
    assert hands.done == []


async def test_an_instruction_of_an_older_term_is_told_so() -> None:
    async with coordinators(1) as [leader], shard(leader.address) as reporter:
        leader.asks(assign("i-1", 1, term=4), term=5)
        await reporter.client.report()
        await reporter.client.report()
        assert leader.acks[0][:2] == ("i-1", AckOutcome.REJECTED_STALE)


async def test_nothing_is_acted_on_before_its_term_is_on_disk() -> None:
    hands = Hands()
    async with (
        coordinators(1) as [leader],
        shard(leader.address, handlers=hands.handlers) as reporter,
    ):
        leader.asks(assign("i-1", 1, term=5), term=5)
        reporter.disk_trouble = OSError("no space left")
        await reporter.client.report()
        assert hands.done == []
        await reporter.client.report()
        assert hands.done == []
        assert "no space left" in reporter.client.link().last_error
        reporter.disk_trouble = None
        await reporter.client.report()
        assert hands.done == ["i-1"]
        assert reporter.kept[TERM] == b"5"


async def test_nothing_is_acknowledged_before_it_is_remembered_on_disk() -> None:
    hands = Hands()
    async with (
        coordinators(1) as [leader],
        shard(leader.address, handlers=hands.handlers) as reporter,
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
        assert hands.done == ["i-1"]
        assert leader.acks == [("i-1", AckOutcome.ACCEPTED, DUPLICATE)]
        assert reporter.kept[DONE] == b'["i-1"]'


async def test_one_that_was_refused_may_be_done_later() -> None:
    hands = Hands()
    hands.refusal = "machines are bound there"
    async with (
        coordinators(1) as [leader],
        shard(leader.address, handlers=hands.handlers) as reporter,
    ):
        leader.asks(assign("i-1", 1))
        await reporter.client.report()
        hands.refusal = ""
        await reporter.client.report()
        assert leader.acks == [("i-1", AckOutcome.FAILED, "machines are bound there")]
        await reporter.client.report()
        assert leader.acks == [("i-1", AckOutcome.ACCEPTED, "")]


async def test_only_the_last_ones_done_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(obeying, "MOST_DONE", 2)
    hands = Hands()
    async with (
        coordinators(1) as [leader],
        shard(leader.address, handlers=hands.handlers) as reporter,
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
