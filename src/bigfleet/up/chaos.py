"""Carries out the faults that people try: begins each, waits, and undoes it."""

import asyncio
import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from itertools import count

from bigfleet.edge.logs import Log
from bigfleet.model.errors import StartRefused
from bigfleet.model.machines import Instant
from bigfleet.model.options import SECOND
from bigfleet.model.provider_calls import Code, Rejected
from bigfleet.up.faults import Fault
from bigfleet.up.local_fleet import COORDINATOR, LocalFleet
from bigfleet.wire.sim_control import SimControlClient

MOST_RUNNING = 16
_Step = Callable[[], Awaitable[object]]
_Words = tuple[str, ...]


@dataclass(slots=True)
class RunningFault:
    number: int
    fault: Fault
    arguments: dict[str, str]
    #: Simulated.
    ends_at: Instant

    @property
    def text(self) -> str:
        said = ", ".join(f"{name} {value}" for name, value in self.arguments.items())
        return f"{self.fault.title}{f' ({said})' if said else ''}"


class Chaos:
    def __init__(self, fleet: LocalFleet, log: Log, changed: Callable[[], None]) -> None:
        """`changed` hears when a fault begins and ends."""
        self._fleet = fleet
        self._log = log
        self._changed = changed
        self._sim = SimControlClient(fleet.addresses["provider"]) if fleet.provider else None
        self._numbers = count(1)
        #: By number.
        self.running: dict[int, RunningFault] = {}
        self._tasks: dict[int, asyncio.Task[None]] = {}
        #: Set at their time, or by a person before it.
        self._ends: dict[int, asyncio.Event] = {}

    async def close(self) -> None:
        """Nothing is undone any more: the fleet ends."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        if self._sim is not None:
            await self._sim.close()

    async def begin(
        self, fault: Fault, arguments: dict[str, str], seconds: float | None
    ) -> RunningFault:
        """Returns once it has begun; raises Rejected."""
        same = any((r.fault, r.arguments) == (fault, arguments) for r in self.running.values())
        if same or len(self.running) >= MOST_RUNNING:
            text = f"{fault.name} runs already" if same else f"{MOST_RUNNING} faults run already"
            raise Rejected(Code.ALREADY_EXISTS, f"{text}; wait until it has ended")
        start, undo = self._steps(fault, arguments, seconds or 0.0)
        ends_at = self._fleet.clock.now() + round((seconds or 0.0) * SECOND)
        running = RunningFault(next(self._numbers), fault, arguments, ends_at)
        # Before it is awaited: the same one is not begun twice.
        self.running[running.number] = running
        try:
            await start()
        except BaseException:
            del self.running[running.number]
            raise
        if seconds is None:
            del self.running[running.number]
        else:
            self._ends[running.number] = asyncio.Event()
            task = asyncio.create_task(self._undone(running, undo, seconds))
            self._tasks[running.number] = task
        self._changed()
        return running

    def end(self, number: int) -> None:
        """Earlier than its time; raises Rejected where it has ended."""
        if number not in self._ends:
            raise Rejected(Code.NOT_FOUND, f"no fault {number} is running")
        if not self.running[number].fault.ends_early:
            text = f"{self.running[number].fault.name} ends with the Lists that were spoilt for it"
            raise Rejected(Code.FAILED_PRECONDITION, text)
        self._ends[number].set()

    async def _undone(self, running: RunningFault, undo: _Step, seconds: float) -> None:
        end = self._ends[running.number]
        timer = self._fleet.clock.call_later(seconds, end.set)
        try:
            await end.wait()
        finally:
            timer.cancel()
        try:
            await undo()
        except (Rejected, OSError, StartRefused) as problem:
            self._log.error("chaos.not_undone", msg=f"{running.text}: {problem}")
        for known in (self.running, self._tasks, self._ends):
            known.pop(running.number)
        self._changed()

    def _steps(self, fault: Fault, given: dict[str, str], seconds: float) -> tuple[_Step, _Step]:
        """What begins it and what undoes it."""
        fleet = self._fleet
        match fault.name:
            case "kill-shard":
                return self._killing(*fleet.shards)
            case "kill-coordinator":
                return self._killing(COORDINATOR)
            case "partition":
                line = fleet.clusters.lines[given["cluster"]]
                return _at_once(line.cut), _at_once(line.mend)
            case "rollup-empty":
                line = fleet.clusters.lines[given["cluster"]]
                return _at_once(line.send_empty_rollup), _nothing
            case name:
                begin, undo = verbs_of(name, given, math.ceil(seconds / fleet.plan.list_seconds))
                return self._verb(begin), self._verb(undo) if undo else _nothing

    def _killing(self, *names: str) -> tuple[_Step, _Step]:
        async def stop() -> None:
            for name in names:
                await self._fleet.stop_part(name)

        async def start() -> None:
            for name in names:
                await self._fleet.start_part(name)

        return stop, start

    def _verb(self, words: tuple[str, ...]) -> _Step:
        async def do() -> object:
            if self._sim is None:
                text = "that is a verb of the simulated provider, and this fleet has another one"
                raise Rejected(Code.FAILED_PRECONDITION, text)
            return await self._sim.do(words[0], words[1:])

        return do


def verbs_of(name: str, given: dict[str, str], lists: int) -> tuple[_Words, _Words]:
    """The verb that begins a fault and the one that undoes it, or nothing; `lists`: in its time."""
    match name:
        case "outage":
            return ("outage", "on"), ("outage", "off")
        case "rpc-delay":
            return ("rpc-delay", f"fixed:{given['delay']}s"), ("rpc-delay", "0")
        case "rpc-error":
            method = given["method"]
            begin = ("rpc-error", method, given["code"], given["p"])
            return begin, ("rpc-error", method, "OK", "0")
        case "list-empty":
            return ("list-empty", str(max(1, lists))), ()
        case "list-truncate":
            return ("list-truncate", given["fraction"], str(max(1, lists))), ()
        case "stock":
            return ("stock", given["select"], "0"), ("stock", given["select"], "inf")
        case "hold":
            return ("hold", given["kind"]), ("release", given["kind"])
        case "interrupt":
            notice = f"{given['notice']}s"
            return ("interrupt", given["select"], given["fraction"], notice), ()
        case _:
            raise AssertionError(f"no verb for {name}")


async def _nothing() -> None:
    """It ends by itself."""


def _at_once(act: Callable[[], None]) -> _Step:
    async def do() -> None:
        act()

    return do
