"""What happens around a line ends a session at most, never the process."""

import asyncio
from pathlib import Path

import pytest

from bigfleet.model.provider_calls import Code, Rejected
from bigfleet.model.session_frames import Acknowledgement, ReclaimAck
from bigfleet.operator.outbox import OperatorAnswers
from bigfleet.wire.lines import TlsFiles
from bigfleet.wire.session_client import Session
from tests.operator_line.rig import Rig, rigged
from tests.operator_system.rig import LogRecorder


async def test_certificates_that_are_not_there_just_now_are_looked_for_again(
    tmp_path: Path,
) -> None:
    absent = TlsFiles(tmp_path / "tls.crt", tmp_path / "tls.key", tmp_path / "ca.crt")
    async with rigged(tls=absent) as rig:
        await rig.until(lambda: rig.counts.of("session_reconnects_total") == 1)
        await rig.clock.advance(1)
        await rig.until(lambda: rig.counts.of("session_reconnects_total") == 2)
        assert rig.ear.told == []


async def test_bytes_that_are_no_frame_end_the_session_and_nothing_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("bigfleet.wire.session_server.shard_bytes", lambda _frame: b"\xff\xff")
    async with rigged() as rig:
        await rig.until(lambda: rig.counts.of("session_reconnects_total") == 1)
        monkeypatch.undo()
        await rig.clock.advance(1)
        await rig.until(lambda: "connected" in rig.ear.told)


async def test_an_overflow_ends_the_session_also_while_the_line_takes_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with rigged(outbox=4) as rig:
        await rig.until(lambda: "sent" in rig.ear.told)
        monkeypatch.setattr(Session, "send", _never)
        rig.line.say(ReclaimAck("bf1-taken", 1))
        await rig.until(lambda: rig.line.waiting() == 0)
        for number in range(5):
            rig.line.say(ReclaimAck(f"bf1-{number}", 1))
        await rig.until(lambda: "disconnected" in rig.ear.told)


async def _never(_session: Session, _frame: object) -> None:
    await asyncio.Event().wait()


async def _replace(rig: Rig, session: int) -> None:
    """As another operator of the same cluster does: the newer session wins."""
    await rig.until(lambda: session in rig.shard.mail)
    rig.shard.put(session, Acknowledgement("hello"))
    await rig.until(lambda: rig.line.replayed)
    rig.endpoint.end(session, Rejected(Code.ABORTED, "another session of this cluster is newer"))
    await rig.until(lambda: rig.counts.of("session_reconnects_total") == session)


async def test_two_operators_of_one_name_do_not_chase_each_other_off_for_ever() -> None:
    async with rigged() as rig:
        pauses = []
        for session in (1, 2, 3, 4):
            await _replace(rig, session)
            due = rig.clock.next_due()
            assert due is not None
            pauses.append(due - rig.clock.now())
            await rig.clock.advance(pauses[-1] / 1e9)
        assert pauses == sorted(pauses)
        assert pauses[-1] == 8 * pauses[0]


async def test_a_session_that_lasted_is_dialled_again_at_once() -> None:
    async with rigged() as rig:
        for session in (1, 2, 3):
            await rig.until(lambda: rig.line.connected)
            rig.shard.put(session, Acknowledgement("hello"))
            await rig.until(lambda: rig.line.replayed)
            await rig.clock.advance(60)
            rig.endpoint.end(session, Rejected(Code.UNAVAILABLE, "stopping"))
            reconnects = session
            await rig.until(
                lambda: rig.counts.of("session_reconnects_total") == reconnects  # noqa: B023
            )
            await rig.until(lambda: rig.clock.next_due() is not None)
            due = rig.clock.next_due()
            assert due is not None
            assert due - rig.clock.now() <= 500_000_000
            await rig.clock.advance(1)


async def test_many_answers_at_once_all_reach_the_shard_through_a_small_outbox() -> None:
    async with rigged(outbox=4) as rig:
        answers = OperatorAnswers(rig.line)
        rig.ear.room = answers.on_room
        await rig.until(lambda: rig.line.connected)
        for number in range(50):
            answers.say(ReclaimAck(f"bf1-{number}", 1))
        await rig.until(lambda: len(_acks(rig)) == 50)
        assert _acks(rig) == [f"bf1-{number}" for number in range(50)]
        assert "disconnected" not in rig.ear.told


async def test_answers_that_waited_for_a_session_end_with_it() -> None:
    async with rigged(outbox=4) as rig:
        answers = OperatorAnswers(rig.line)
        await rig.until(lambda: rig.line.connected)
        for number in range(50):
            answers.say(ReclaimAck(f"bf1-{number}", 1))
        assert len(answers) > 0
        answers.on_disconnected()
        assert len(answers) == 0


def _acks(rig: Rig) -> list[str]:
    return [f.instruction_id for _, f in rig.shard.heard if isinstance(f, ReclaimAck)]


async def test_a_roll_up_above_the_ceiling_is_told_apart_from_other_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("bigfleet.wire.session_client.MESSAGE_CEILING", 64)
    log = LogRecorder()
    async with rigged(log=log) as rig:
        await rig.until(lambda: "sent" in rig.ear.told)
        assert log.count("session.message_too_large") == 0
        rig.known.version = 10**100
        await rig.until_in_time(lambda: rig.sent() == 2)
        await rig.until(lambda: rig.counts.of("session_reconnects_total") >= 1)
        before = log.count("session.ended")
        assert log.count("session.message_too_large") == before
        said = [facts["msg"] for _, event, facts in log.lines if event == "session.ended"]
        assert "RESOURCE_EXHAUSTED" in said[0]
        await rig.clock.advance(30)
        await rig.until(lambda: log.count("session.ended") > before)
