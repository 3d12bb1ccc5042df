"""Changes the provider makes by itself: each under the machine's lock, on its current entry."""

import asyncio
from collections.abc import Callable, Iterable, Sequence

from bigfleet.edge.clock import Clock, next_turn
from bigfleet.model.machines import MachineState as S
from bigfleet.provider.committer import Committer, WriteSet
from bigfleet.provider.ledger.entries import Entry, completed, failed
from bigfleet.provider.ledger.transitions import Kind, Reason
from bigfleet.provider.operations.attempts import End, Failed, Succeeded
from bigfleet.provider.operations.limits import MachineLocks
from bigfleet.provider.operations.operations import Operations

#: Entries in one write set: a few milliseconds of the event loop.
AT_ONCE = 500
#: The same before the server answers calls: fewer transactions, and no loop to spare.
AT_ONCE_AT_THE_START = 20_000
#: What changes an entry; the same one back means that there is nothing to do.
Change = Callable[[Entry], Entry]


class Changes:
    def __init__(
        self,
        committer: Committer,
        operations: Operations,
        locks: MachineLocks,
        clock: Clock,
        provider: str,
    ) -> None:
        self._committer = committer
        self._operations = operations
        self._locks = locks
        self._clock = clock
        self._provider = provider

    async def add(self, entries: Sequence[Entry], at_once: int = AT_ONCE) -> None:
        """Shows ids never seen before."""
        for start in range(0, len(entries), at_once):
            await self._committer.commit(WriteSet(shown=entries[start : start + at_once]))
            await next_turn()

    async def change(self, machine_id: str, change: Change) -> bool:
        """Whether there was something to change."""
        async with self._locks.hold(machine_id):
            before = self._committer.published.entry(machine_id)
            if before is None:
                return False
            after = change(before)
            if after is before:
                return False
            if after.record == before.record:
                await self._committer.commit(WriteSet(kept=(after,)))
            else:
                await self._committer.commit(WriteSet(shown=(after,)))
            return True

    async def change_many(self, changes: Iterable[tuple[str, Change]]) -> None:
        """Side by side, so that they share transactions."""
        todo = list(changes)
        for start in range(0, len(todo), AT_ONCE):
            some = todo[start : start + AT_ONCE]
            await asyncio.gather(*(self.change(machine_id, change) for machine_id, change in some))

    async def retire(self, machine_id: str, state: S, successor: Entry | None = None) -> bool:
        """Takes the id out of the List if it is still in `state`; a successor may follow it."""
        async with self._locks.hold(machine_id):
            entry = self._committer.published.entry(machine_id)
            if entry is None or entry.state is not state:
                return False
            shown = (successor,) if successor is not None else ()
            await self._committer.commit(WriteSet(shown=shown, retired=(machine_id,)))
            return True

    async def lose(self, machine_id: str, text: str) -> bool:
        """The host is gone: FAILED, or a Delete that has thereby succeeded."""
        async with self._locks.hold(machine_id):
            entry = self._committer.published.entry(machine_id)
            if entry is None or entry.state in (S.SPECULATIVE, S.FAILED):
                return False
            reason = Reason.SPOT if entry.standing.notice_at else Reason.VANISHED
            end: End = Failed(reason, text)
            if entry.running is Kind.DELETE:
                end = Succeeded()
                after = completed(entry, Kind.DELETE, self._provider)
            else:
                after = failed(entry, reason, text, self._clock.now())
            rows = self._operations.ended_elsewhere(entry.running_id, end)
            await self._committer.commit(WriteSet(shown=(after,), journal=rows))
            self._operations.cancel(entry.running_id, end)
            return True
