"""A shard runs its own journal with isolated pools: in another process, one question at a time."""

import asyncio
from pathlib import Path

import pytest

from bigfleet.costs.isolated_reading import latest_part
from bigfleet.journal.segments import segments_of
from bigfleet.model.isolated import IsolatedCall
from bigfleet.model.options import SECOND
from bigfleet.model.provider_calls import Code, Rejected
from bigfleet.shard import what_if_worker
from bigfleet.shard.driving import what_ifs
from bigfleet.shard.driving.what_ifs import WhatIfs
from bigfleet.shard.what_if_worker import ISOLATED, answered
from bigfleet.wire.isolated import call_bytes, read_report
from tests.costs.recordings import MINUTE, START, compared, journal_of, taking_turns


@pytest.fixture(scope="module")
def journal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return journal_of(taking_turns(), tmp_path_factory.mktemp("turns"))


def asked_of(journal: Path, call: IsolatedCall) -> tuple[str, bytes]:
    return answered({"question": ISOLATED, "journal": str(journal)}, [call_bytes(call)])


def test_a_worker_tells_what_the_journal_tells(journal: Path) -> None:
    code, content = asked_of(journal, IsolatedCall())
    assert code == ""
    assert read_report(content) == compared(taking_turns())


def test_a_question_may_be_about_a_part_of_the_time(journal: Path) -> None:
    call = IsolatedCall(since=START + 5 * MINUTE * SECOND, until=START + 9 * MINUTE * SECOND)
    report = read_report(asked_of(journal, call)[1])
    assert (report.first, report.last) == ("1:6", "1:10")
    early = IsolatedCall(until=START - SECOND)
    code, content = asked_of(journal, early)
    assert (code, content) == ("OUT_OF_RANGE", b"no cycle is recorded until then")


def test_of_a_large_journal_the_newest_files_are_compared_and_it_says_so(journal: Path) -> None:
    (segment,) = segments_of(journal)
    whole, nothing = latest_part([segment], IsolatedCall(), 0)
    assert nothing == ""
    assert len(list(whole()[1])) == 40
    _, left_out = latest_part([segment, segment], IsolatedCall(), segment.size)
    assert left_out.startswith(
        "the journal begins at cycle 1:1; compared is its newest part, from 1"
    )


def test_when_reading_alone_takes_too_long_the_answer_says_what_to_do(
    journal: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(what_if_worker, "SWEEP_SECONDS", -1.0)
    code, content = asked_of(journal, IsolatedCall())
    assert code == "RESOURCE_EXHAUSTED"
    assert b"ask for less of it with --from" in content


async def test_without_a_journal_there_is_nothing_to_run() -> None:
    with pytest.raises(Rejected) as rejected:
        await WhatIfs("shard-0", 3, None).isolated(IsolatedCall())
    assert rejected.value.code is Code.UNAVAILABLE
    assert "--journal-enabled" in rejected.value.text


async def test_a_second_question_is_turned_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = asyncio.Event()

    async def never() -> None:
        begun.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(what_ifs, "_started", never)
    running = WhatIfs("shard-0", 3, tmp_path)
    first = asyncio.create_task(running.isolated(IsolatedCall()))
    await begun.wait()
    with pytest.raises(Rejected) as rejected:
        await running.isolated(IsolatedCall())
    assert rejected.value.code is Code.RESOURCE_EXHAUSTED
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)
    begun.clear()
    again = asyncio.create_task(running.isolated(IsolatedCall()))
    await begun.wait()
    again.cancel()
    await asyncio.gather(again, return_exceptions=True)


async def test_a_process_of_its_own_answers(journal: Path) -> None:
    asked = WhatIfs("shard-0", 1, journal)
    try:
        assert await asked.isolated(IsolatedCall()) == compared(taking_turns())
    finally:
        await asked.close()
