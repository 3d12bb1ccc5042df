"""One lock per machine, made when someone needs it and gone when nobody does."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class MachineLocks:
    def __init__(self) -> None:
        #: All and only the machines someone holds or waits for, with how many do.
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
