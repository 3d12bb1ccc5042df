"""Work that many ask for at the same time is done once, and ends for all of them alike."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class SharedWork(Generic[T]):
    def __init__(self) -> None:
        self._under_way: dict[object, asyncio.Task[T]] = {}

    async def do(self, key: object, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """`key`: what it is; those who ask for it before it ends get what the first one gets."""
        task = self._under_way.get(key)
        if task is None:
            task = self._under_way[key] = asyncio.create_task(work())
            task.add_done_callback(lambda done: self._ended(key, done))
        # One that hangs up does not end it for the others.
        return await asyncio.shield(task)

    def _ended(self, key: object, task: asyncio.Task[T]) -> None:
        del self._under_way[key]
        if not task.cancelled():
            # Where all have hung up, its failure is told to none of them.
            task.exception()
