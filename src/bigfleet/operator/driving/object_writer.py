"""Objects are brought to what they should say: each by one worker at a time, so many at once.

Who touches an object only says that it may have to change; what is written is decided when its turn
comes, so a thousand touches cost one write. A problem is tried again after a pause that grows, by
object; an object that needs nothing costs nothing.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, Protocol

from bigfleet.edge.clock import Clock, Timer
from bigfleet.edge.counts import Counts
from bigfleet.edge.logs import Log
from bigfleet.kube.answers import ApiProblem, Conflict, NotFound, Refused
from bigfleet.kube.calls import Calls
from bigfleet.kube.kinds import Kind
from bigfleet.model.backoffs import Backoff
from bigfleet.model.machines import Instant
from bigfleet.operator.writes import Create, Delete, LatestSeen, PatchSpec, PatchStatus, Write

#: The first pause and the longest, in seconds.
PASSING = Backoff(0.5, 30.0)
#: Asking again will hardly help until a person grants a right or installs a definition. The first
#: retries come soon all the same: a server that has just started knows neither yet.
REFUSED = Backoff(5.0, 300.0)
#: Create, spec, status and delete, each once again after a conflict: more means another writer.
MOST_STEPS = 8


class Objects(Protocol):
    """One kind of object of ours and what each of them should be."""

    @property
    def kind(self) -> Kind[Any]: ...

    @property
    def seen(self) -> LatestSeen[Any]: ...

    def next_write(self, name: str, at: Instant) -> Write | None: ...

    def on_gone(self, name: str) -> None: ...

    def settled(self, name: str, at: Instant) -> tuple[str, float] | None: ...


class _Key(NamedTuple):
    plural: str
    name: str


class Writer:
    def __init__(
        self,
        calls: Calls,
        clock: Clock,
        draw: Callable[[], float],
        log: Log,
        counts: Counts,
        *,
        dispatch: int = 32,
    ) -> None:
        self._calls = calls
        self._clock = clock
        self._draw = draw
        self._log = log
        self._counts = counts
        self._dispatch = dispatch
        self._objects: dict[str, Objects] = {}
        #: Wait for a worker, the longest waiting first.
        self._queued: OrderedDict[_Key, None] = OrderedDict()
        #: In work; those touched meanwhile are looked at once more.
        self._busy: set[_Key] = set()
        self._again: set[_Key] = set()
        self._under_way: set[asyncio.Task[None]] = set()
        #: Pause after a problem; touching one of these changes nothing.
        self._resting: dict[_Key, Timer] = {}
        self._failures: dict[_Key, int] = {}
        #: Said since the last write that went well; a thousand objects fail of one cause.
        self._complained: set[tuple[str, int]] = set()
        self._wake = asyncio.Event()

    def touch(self, objects: Objects, name: str) -> None:
        """Has the object looked at soon. Never blocks."""
        key = _Key(objects.kind.plural, name)
        self._objects[key.plural] = objects
        if key in self._busy:
            self._again.add(key)
        elif key not in self._resting:
            self._queued[key] = None
            self._wake.set()

    def sizes(self) -> dict[str, int]:
        """Of everything that could grow."""
        return {
            "writesQueued": len(self._queued),
            "writesUnderWay": len(self._under_way),
            "writesResting": len(self._resting),
            "writesFailing": len(self._failures),
        }

    def cut_off(self) -> None:
        """Ends what is under way, also what waits to be asked again: its time has passed."""
        for task in self._under_way:
            task.cancel()

    @property
    def is_idle(self) -> bool:
        """Nothing waits and nothing is in work; pauses after problems do not count."""
        return not self._queued and not self._busy

    async def run(self) -> None:
        """For ever."""
        try:
            async with asyncio.TaskGroup() as workers:
                while True:
                    await self._wake.wait()
                    self._wake.clear()
                    while self._queued and len(self._busy) < self._dispatch:
                        key, _ = self._queued.popitem(last=False)
                        self._busy.add(key)
                        self._counts.set("dispatch_inflight", len(self._busy))
                        task = workers.create_task(self._bring(key))
                        self._under_way.add(task)
                        task.add_done_callback(partial(self._ended, key))
        finally:
            for timer in self._resting.values():
                timer.cancel()
            self._resting.clear()

    def _ended(self, key: _Key, task: asyncio.Task[None]) -> None:
        """Also of a worker that was cut off before it began."""
        self._under_way.discard(task)
        self._busy.discard(key)
        self._counts.set("dispatch_inflight", len(self._busy))
        if key in self._again:
            self._again.discard(key)
            self.touch(self._objects[key.plural], key.name)
        self._wake.set()

    async def _bring(self, key: _Key) -> None:
        objects, last = self._objects[key.plural], None
        crossed: tuple[Write, Conflict] | None = None
        for _ in range(MOST_STEPS):
            write = objects.next_write(key.name, self._clock.now())
            if write is None:
                self._failures.pop(key, None)
                self._settle(objects, key.name)
                return
            if write == last:
                break
            try:
                conflict = await self._perform(objects, write)
            except ApiProblem as problem:
                self._rest(key, write, problem)
                return
            # Not taken because the object was changed meanwhile: the same may still be right.
            last, crossed = (write, None) if conflict is None else (None, (write, conflict))
        if crossed is not None:
            self._rest(key, *crossed)
            return
        self._log.warning(
            "write_back.not_taken",
            msg=f"{key.plural} {key.name} does not keep what is written to it: another client "
            f"changes it, or its definition is older than this operator",
            kind=key.plural,
            name=key.name,
        )

    def _settle(self, objects: Objects, name: str) -> None:
        settled = objects.settled(name, self._clock.now())
        if settled is not None:
            phase, seconds = settled
            self._counts.observe("node_state_update_duration_seconds", seconds, phase=phase)

    async def _perform(self, objects: Objects, write: Write) -> Conflict | None:
        """Raises an ApiProblem only where another look at the object would not help."""
        try:
            await self._call(objects, write)
        except ApiProblem as problem:
            is_gone = isinstance(problem, NotFound) and not isinstance(write, Create)
            if is_gone and isinstance(write, Delete):
                self._count(objects, write, "success")
            elif is_gone or isinstance(problem, Conflict):
                self._count(objects, write, "conflict")
            else:
                self._count(objects, write, "error")
                raise
            if is_gone:
                objects.on_gone(write.name)
            else:
                await self._look_past_the_cache(objects, write.name)
            return problem if isinstance(problem, Conflict) else None
        self._count(objects, write, "success")
        self._complained.clear()
        return None

    async def _call(self, objects: Objects, write: Write) -> None:
        kind, name = objects.kind, write.name
        match write:
            case Create():
                objects.seen.on_answer(name, await self._calls.create(kind, write.body))
            case PatchSpec():
                answer = await self._calls.merge_patch(kind, name, write.patch)
                objects.seen.on_answer(name, answer)
            case PatchStatus():
                answer = await self._calls.merge_patch(
                    kind, name, write.patch, subresource="status"
                )
                objects.seen.on_answer(name, answer)
            case Delete():
                await self._calls.delete(kind, name, uid=write.uid)
                objects.on_gone(name)

    async def _look_past_the_cache(self, objects: Objects, name: str) -> None:
        try:
            objects.seen.on_answer(name, await self._calls.get(objects.kind, name))
        except NotFound:
            objects.on_gone(name)

    def _count(self, objects: Objects, write: Write, outcome: str) -> None:
        if objects.kind.kind == "UpcomingNode":
            self._counts.add("upcoming_node_writes_total", op=write.op, outcome=outcome)

    def _rest(self, key: _Key, write: Write, problem: ApiProblem) -> None:
        failures = self._failures[key] = self._failures.get(key, 0) + 1
        rests = REFUSED if isinstance(problem, Refused | NotFound) else PASSING
        pause = max(rests.seconds(failures), problem.retry_after_seconds or 0.0)
        pause *= 0.5 + self._draw() / 2
        self._again.discard(key)
        self._resting[key] = self._clock.call_later(pause, lambda: self._rested(key))
        complaint = (key.plural, problem.status)
        if complaint not in self._complained:
            self._complained.add(complaint)
            self._log.warning(
                "write_back.failed",
                msg=f"{write.op} of {key.plural} {key.name} failed and is tried again: "
                f"{problem.text}",
                kind=key.plural,
                name=key.name,
                status=problem.status,
                retry_seconds=round(pause, 1),
            )

    def _rested(self, key: _Key) -> None:
        del self._resting[key]
        self.touch(self._objects[key.plural], key.name)
