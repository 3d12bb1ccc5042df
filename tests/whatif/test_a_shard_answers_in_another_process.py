"""The what-ifs of a shard are answered by processes of their own, two at once."""

import asyncio
import sys
from asyncio.subprocess import PIPE
from pathlib import Path

import pytest

from bigfleet.edge.clock import next_turn
from bigfleet.engine.engine_input import EngineInput
from bigfleet.journal.recorder import FinishedCycle, Recorder
from bigfleet.model.latencies import latencies_of
from bigfleet.model.provider_calls import Code, Rejected
from bigfleet.model.shard_views import MachineSelector
from bigfleet.model.what_if import NeedSelector, RemoveMachines, ScaleDemand, WhatIfCall
from bigfleet.shard.driving import what_ifs
from bigfleet.shard.driving.what_ifs import MOST_RUNNING, WhatIfs
from bigfleet.shard.what_if_worker import answered
from bigfleet.whatif.comparing import once
from bigfleet.whatif.settled import settle
from bigfleet.wire.what_ifs import call_bytes, read_answer
from tests.journal.lives import LivingFleet

LOSS = RemoveMachines(MachineSelector(zones=frozenset({"a"})))


@pytest.fixture
def finished() -> FinishedCycle:
    return list(LivingFleet(7).cycles(4))[-1]


def test_a_worker_answers_as_the_engine_does_here(finished: FinishedCycle) -> None:
    records = Recorder("shard-0", 3, "0").record(finished)
    request = call_bytes(WhatIfCall(0, (LOSS,)))
    code, content = answered({"name": "3:4"}, [request, *records])
    assert code == ""
    assert read_answer(content) == once(finished.given, (LOSS,), "3:4")


def test_a_worker_settles_the_fleet_as_it_is_settled_here(finished: FinishedCycle) -> None:
    records = Recorder("shard-0", 3, "0").record(finished)
    latencies = latencies_of({"create": "7s"})
    call = WhatIfCall(0, (LOSS,), settle=True, latencies=latencies)
    code, content = answered({"name": "3:4"}, [call_bytes(call), *records])
    assert code == ""
    assert read_answer(content) == settle(finished.given, (LOSS,), "3:4", latencies)


def test_what_cannot_be_applied_is_an_invalid_argument(finished: FinishedCycle) -> None:
    records = Recorder("shard-0", 3, "0").record(finished)
    request = call_bytes(WhatIfCall(0, (ScaleDemand(NeedSelector("nowhere"), 2.0),)))
    code, content = answered({"name": "3:4"}, [request, *records])
    assert code == "INVALID_ARGUMENT"
    assert b"cluster nowhere asks for nothing in this cycle" in content


def test_a_cycle_that_is_not_kept_is_out_of_range(tmp_path: object) -> None:
    place = {"journal": str(tmp_path), "epoch": 3, "cycle": 9}
    code, _ = answered(place, [call_bytes(WhatIfCall(9))])
    assert code == "OUT_OF_RANGE"


async def test_without_a_journal_only_the_latest_cycle_is_answered(
    finished: FinishedCycle,
) -> None:
    with pytest.raises(Rejected) as rejected:
        await WhatIfs("shard-0", 3, None).answer(WhatIfCall(2), finished)
    assert rejected.value.code is Code.OUT_OF_RANGE


async def test_a_third_question_is_turned_away(
    finished: FinishedCycle, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that hang up make room for others."""
    begun = asyncio.Semaphore(0)

    async def never() -> None:
        begun.release()
        await asyncio.Event().wait()

    monkeypatch.setattr(what_ifs, "_started", never)
    running = WhatIfs("shard-0", 3, None)
    asking = [
        asyncio.create_task(running.answer(WhatIfCall(), finished)) for _ in range(MOST_RUNNING)
    ]
    for _ in asking:
        await begun.acquire()
    with pytest.raises(Rejected) as rejected:
        await running.answer(WhatIfCall(), finished)
    assert rejected.value.code is Code.RESOURCE_EXHAUSTED
    for task in asking:
        task.cancel()
    await asyncio.gather(*asking, return_exceptions=True)
    again = asyncio.create_task(running.answer(WhatIfCall(), finished))
    await begun.acquire()
    again.cancel()
    await asyncio.gather(again, return_exceptions=True)


async def test_a_process_is_asked_and_kept_for_the_next_question(finished: FinishedCycle) -> None:
    asked = WhatIfs("shard-0", 3, None)
    expected = once(finished.given, (LOSS,), f"3:{finished.given.cycle}")
    try:
        for _ in range(2):
            assert await asked.answer(WhatIfCall(0, (LOSS,)), finished) == expected
    finally:
        await asked.close()


class HeldWhatIfs(WhatIfs):
    """Tells its processes."""

    @property
    def workers(self) -> list[int]:
        return [worker.pid for worker in (*self._idle, *self._held)]


def state_of(pid: int) -> str:
    """`T`: it stands still; as proc(5) calls it. Empty: there is none."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""
    return stat.rpartition(")")[2].split()[0]


async def until(pid: int, *, is_still: bool) -> None:
    async with asyncio.timeout(60):
        while (state_of(pid) == "T") != is_still:
            await next_turn()


async def test_a_question_is_put_down_for_its_process_between_two_cycles(
    finished: FinishedCycle, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both want the interpreter: a cycle would wait for it."""
    recorded = asyncio.Event()
    loop, input_alone = asyncio.get_running_loop(), Recorder.input_alone

    def told(recorder: Recorder, given: EngineInput) -> list[bytes]:
        loop.call_soon_threadsafe(recorded.set)
        return input_alone(recorder, given)

    monkeypatch.setattr(Recorder, "input_alone", told)
    monkeypatch.setattr(what_ifs, "_LONGEST_WAIT_SECONDS", 60.0)
    asked = WhatIfs("shard-0", 3, None)
    try:
        asked.hold()
        asking = asyncio.create_task(asked.answer(WhatIfCall(0, (LOSS,)), finished))
        for _ in range(20):
            await next_turn()
        assert not recorded.is_set()
        asked.go_on()
        await asking
        assert recorded.is_set()
    finally:
        await asked.close()


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
async def test_a_process_that_answers_stands_still_while_a_cycle_runs(
    finished: FinishedCycle, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(what_ifs, "_LONGEST_WAIT_SECONDS", 0.0)
    asked, call = HeldWhatIfs("shard-0", 3, None), WhatIfCall(0, (LOSS,))
    try:
        expected = await asked.answer(call, finished)
        [pid] = asked.workers
        asked.hold()
        again = asyncio.create_task(asked.answer(call, finished))
        await until(pid, is_still=True)
        assert not again.done()
        asked.go_on()
        assert await again == expected
        assert asked.workers == [pid]
        await until(pid, is_still=False)
    finally:
        await asked.close()


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
async def test_a_process_that_measures_the_regret_stands_still_while_a_cycle_runs(
    finished: FinishedCycle, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(what_ifs, "_LONGEST_WAIT_SECONDS", 0.0)
    asked = HeldWhatIfs("shard-0", 3, None)
    asked.hold()
    measuring = asyncio.create_task(asked.regret(finished))
    async with asyncio.timeout(60):
        while not asked.workers:
            await next_turn()
    [pid] = asked.workers
    await until(pid, is_still=True)
    assert not measuring.done()
    asked.go_on()
    assert (await measuring).cycle == finished.given.cycle
    assert state_of(pid) in ("", "Z")
    assert asked.workers == []


#: Starts a worker, has it answer once, stops it, and dies without a word to it.
_DIES = """
import json, os, signal, subprocess, sys
from bigfleet.model.what_if import WhatIfCall
from bigfleet.wire.what_ifs import call_bytes

words = [sys.executable, "-m", "bigfleet.shard.what_if_worker"]
worker = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
head = json.dumps({"journal": os.devnull, "epoch": 1, "cycle": 9, "frames": 1}).encode()
for frame in (head, call_bytes(WhatIfCall(9))):
    worker.stdin.write(len(frame).to_bytes(8, "big") + frame)
worker.stdin.flush()
worker.stdout.read(8)
worker.send_signal(signal.SIGSTOP)
print(worker.pid, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="needs prctl(2)")
async def test_a_process_that_stands_still_ends_with_its_shard() -> None:
    shard = await asyncio.create_subprocess_exec(sys.executable, "-c", _DIES, stdout=PIPE)
    pid = int((await shard.communicate())[0])
    async with asyncio.timeout(60):
        while state_of(pid) not in ("", "Z"):
            await next_turn()
