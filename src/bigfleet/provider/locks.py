"""One lock per machine, made when it is needed and dropped when it is not."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class MachineLocks:
    def __init__(self) -> None:
        #: All and only the machines whose lock is held or waited for, with by how many.
        self._held: dict[str, tuple[asyncio.Lock, int]] = {}

    def __len__(self) -> int:
        return len(self._held)

    @asynccontextmanager
    async def hold(self, machine_id: str) -> AsyncIterator[None]:
        lock, users = self._held.get(machine_id) or (asyncio.Lock(), 0)
        self._held[machine_id] = (lock, users + 1)
        try:
            async with lock:
                yield
        finally:
            lock, users = self._held[machine_id]
            if users == 1:
                del self._held[machine_id]
            else:
                self._held[machine_id] = (lock, users - 1)
