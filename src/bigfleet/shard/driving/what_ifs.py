"""What-ifs, counterfactuals and the regret of a shard, and its journal run with other pools:
answered in processes of their own, so that cycles do not wait for them.

At most MOST_RUNNING at once, of all but the regret together, and one of them may run a journal. A
process is started when it is needed and kept for the next question; one whose caller has gone, or
that takes too long, is killed.

While a cycle runs they stand still: on a machine of few cores they would slow it down, however low
their priority is.
"""

import asyncio
import json
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from bigfleet import __version__
from bigfleet.journal.recorder import FinishedCycle, Recorder
from bigfleet.model.counterfactuals import CounterfactualAnswer, CounterfactualCall
from bigfleet.model.isolated import IsolatedCall, IsolatedReport
from bigfleet.model.provider_calls import Code, Rejected
from bigfleet.model.regret import Regret
from bigfleet.model.what_if import WhatIfAnswer, WhatIfCall
from bigfleet.shard.what_if_worker import (
    COUNTERFACTUAL,
    ISOLATED,
    LENGTH_BYTES,
    READY,
    REGRET,
    WHAT_IF,
)
from bigfleet.wire import counterfactuals, isolated
from bigfleet.wire.regrets import read_regret
from bigfleet.wire.what_ifs import call_bytes, read_answer

MOST_RUNNING = 2
LONGEST_SECONDS = 60.0
#: Times the last recording.
_MARGIN = 1.5
#: For the end of a cycle, however long that takes.
_LONGEST_WAIT_SECONDS = 1.0
_MODULE = "bigfleet.shard.what_if_worker"


class WhatIfs:
    def __init__(self, shard_id: str, epoch: int, journal: Path | None) -> None:
        """`journal`: where past cycles are; None: they are not kept."""
        self._shard_id = shard_id
        self._epoch = epoch
        self._journal = journal
        self._running = 0
        self._is_isolating = False
        self._idle: list[Process] = []
        #: At a question that is not their first: these end with this process even while they stand
        #: still.
        self._held: set[Process] = set()
        self._is_cycle = False
        self._cycle_ended = asyncio.Event()
        #: When the last cycle began, how long after the one before, and what recording took last.
        self._began, self._gap, self._recording_seconds = 0.0, 0.0, 0.0
        #: The cycle whose input was asked for last, and its records.
        self._latest: tuple[FinishedCycle, list[bytes]] | None = None
        self._recording = asyncio.Lock()

    def hold(self) -> None:
        """A cycle begins."""
        self._is_cycle = True
        now = asyncio.get_running_loop().time()
        self._began, self._gap = now, now - self._began if self._began else 0.0
        for worker in self._held:
            _send(worker, signal.SIGSTOP)

    def go_on(self) -> None:
        """The cycle has ended."""
        self._is_cycle = False
        self._cycle_ended.set()
        for worker in self._held:
            _send(worker, signal.SIGCONT)

    async def answer(self, call: WhatIfCall, finished: FinishedCycle) -> WhatIfAnswer:
        """Raises Rejected as the contract says."""
        request = call_bytes(call)
        return read_answer(await self._answered(WHAT_IF, request, call.base_cycle, finished))

    async def counterfactual(
        self, call: CounterfactualCall, finished: FinishedCycle
    ) -> CounterfactualAnswer:
        """Raises Rejected as the contract says."""
        request = counterfactuals.call_bytes(call)
        content = await self._answered(COUNTERFACTUAL, request, call.cycle, finished)
        return counterfactuals.read_answer(content)

    async def regret(self, finished: FinishedCycle) -> Regret:
        """In a process that ends with the measurement: the next one is a minute away, and a fleet
        in memory is large. Raises Rejected."""
        recorder = Recorder(self._shard_id, self._epoch, __version__)
        records = await self._input_of(recorder, finished)
        if not self._running:
            self._latest = None
        name = f"{self._epoch}:{finished.given.cycle}"
        head = {"question": REGRET, "name": name, "frames": 1 + len(records)}
        worker = await _started()
        try:
            # Once it has answered it ends with this process, and may stand still during cycles.
            async with asyncio.timeout(LONGEST_SECONDS):
                await _exchanged(worker, {"question": READY, "frames": 0}, ())
            asked = self._asked_of(worker, head, (b"", *records), "the regret meter")
            return read_regret(await asked)
        except TimeoutError:
            raise _too_slow("the regret meter") from None
        except (OSError, asyncio.IncompleteReadError) as problem:
            text = f"the process of the regret meter has ended: {problem}"
            raise Rejected(Code.UNAVAILABLE, text) from None
        finally:
            if worker in self._idle:
                self._idle.remove(worker)
            await _ended(worker)

    async def isolated(self, call: IsolatedCall) -> IsolatedReport:
        """Raises Rejected as the contract says."""
        if self._journal is None:
            text = "this shard keeps no journal; start it with --journal-enabled true"
            raise Rejected(Code.UNAVAILABLE, text, "no-journal")
        if self._is_isolating:
            text = "this shard compares pools for another caller; ask again in a minute"
            raise Rejected(Code.RESOURCE_EXHAUSTED, text, "isolated")
        self._take_place()
        self._is_isolating = True
        try:
            head = {"question": ISOLATED, "journal": str(self._journal), "frames": 1}
            return isolated.read_report(await self._asked(head, [isolated.call_bytes(call)]))
        finally:
            self._is_isolating = False
            self._running -= 1

    def _take_place(self) -> None:
        if self._running >= MOST_RUNNING:
            text = f"{MOST_RUNNING} what-ifs are running in this shard; ask again in a moment"
            raise Rejected(Code.RESOURCE_EXHAUSTED, text, "what-if")
        self._running += 1

    async def _answered(
        self, question: str, request: bytes, cycle: int, finished: FinishedCycle
    ) -> bytes:
        self._take_place()
        try:
            head, frames = await self._question(question, request, cycle, finished)
            return await self._asked({"question": question, **head}, frames)
        finally:
            self._running -= 1
            if not self._running:
                self._latest = None

    async def close(self) -> None:
        """Workers without a question; those with one are ended by what asked."""
        idle, self._idle = self._idle, []
        for worker in idle:
            await _ended(worker)

    async def _question(
        self, question: str, request: bytes, cycle: int, finished: FinishedCycle
    ) -> tuple[dict[str, Any], Sequence[bytes]]:
        latest = finished.given.cycle
        if cycle in (0, latest):
            recorder = Recorder(self._shard_id, self._epoch, __version__)
            if question == COUNTERFACTUAL:
                # With what became of its actions: pauses and rails may be lifted.
                records = await asyncio.to_thread(recorder.record, finished)
            else:
                records = await self._input_of(recorder, finished)
            head = {"name": f"{self._epoch}:{latest}", "frames": 1 + len(records)}
            return head, [request, *records]
        if self._journal is None:
            text = f"cycle {cycle} is not kept: this shard has no journal"
            raise Rejected(Code.OUT_OF_RANGE, text)
        place = {"journal": str(self._journal), "epoch": self._epoch, "cycle": cycle}
        return {**place, "frames": 1}, [request]

    async def _input_of(self, recorder: Recorder, finished: FinishedCycle) -> list[bytes]:
        """Made once for all who ask about the cycle."""
        async with self._recording:
            if self._latest is None or self._latest[0] is not finished:
                await self._out_of_the_way()
                clock = asyncio.get_running_loop().time
                began = clock()
                records = await asyncio.to_thread(recorder.input_alone, finished.given)
                self._recording_seconds = clock() - began
                self._latest = finished, records
            return self._latest[1]

    async def _out_of_the_way(self) -> None:
        """Returns after the next cycle where a recording would meet it: both want the interpreter,
        and the cycle would wait."""
        left = self._began + self._gap - asyncio.get_running_loop().time()
        soon = 0 < left < _MARGIN * self._recording_seconds
        if not (soon or self._is_cycle):
            return
        self._cycle_ended.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(max(0.0, left) + _LONGEST_WAIT_SECONDS):
                await self._cycle_ended.wait()

    async def _asked(self, head: dict[str, Any], frames: Sequence[bytes]) -> bytes:
        if not self._idle:
            return await self._told(await _started(), head, frames)
        return await self._asked_of(self._idle.pop(), head, frames)

    async def _asked_of(
        self,
        worker: Process,
        head: dict[str, Any],
        frames: Sequence[bytes],
        what: str = "the what-if",
    ) -> bytes:
        """One that stands still while cycles run; `what` it does, for an error."""
        self._held.add(worker)
        if self._is_cycle:
            _send(worker, signal.SIGSTOP)
        try:
            return await self._told(worker, head, frames, what)
        finally:
            self._held.discard(worker)
            # Its answer may have been on the way when a cycle began.
            _send(worker, signal.SIGCONT)

    async def _told(
        self,
        worker: Process,
        head: dict[str, Any],
        frames: Sequence[bytes],
        what: str = "the what-if",
    ) -> bytes:
        try:
            async with asyncio.timeout(LONGEST_SECONDS):
                code, content = await _exchanged(worker, head, frames)
        except TimeoutError:
            await _ended(worker)
            raise _too_slow(what) from None
        except (OSError, asyncio.IncompleteReadError) as problem:
            await _ended(worker)
            text = f"the process of {what} has ended: {problem}"
            raise Rejected(Code.UNAVAILABLE, text) from None
        except BaseException:
            await _ended(worker)
            raise
        self._idle.append(worker)
        if code:
            raise Rejected(Code[code], content.decode())
        return content


def _too_slow(what: str) -> Rejected:
    text = f"{what} takes longer than {LONGEST_SECONDS:g} s"
    return Rejected(Code.RESOURCE_EXHAUSTED, text, "what-if")


async def _started() -> Process:
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", _MODULE, stdin=PIPE, stdout=PIPE
    )


async def _exchanged(
    worker: Process, head: dict[str, Any], frames: Sequence[bytes]
) -> tuple[str, bytes]:
    assert worker.stdin is not None
    assert worker.stdout is not None
    for frame in (json.dumps(head).encode(), *frames):
        worker.stdin.write(len(frame).to_bytes(LENGTH_BYTES, "big"))
        worker.stdin.write(frame)
        await worker.stdin.drain()
    told = json.loads(await _frame(worker.stdout))
    return told["code"], await _frame(worker.stdout)


async def _frame(stream: asyncio.StreamReader) -> bytes:
    length = int.from_bytes(await stream.readexactly(LENGTH_BYTES), "big")
    return await stream.readexactly(length)


def _send(worker: Process, number: signal.Signals) -> None:
    """To one that may have ended."""
    with suppress(ProcessLookupError):
        worker.send_signal(number)


async def _ended(worker: Process) -> None:
    with suppress(ProcessLookupError):
        worker.kill()
    await worker.wait()
