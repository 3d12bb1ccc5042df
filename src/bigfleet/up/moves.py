"""Machines on their way between shards, as the coordinator shows them to any caller.

Its events say that something has happened, its list of transfers what. Each state of a transfer is
told once; a grant is never left out, even where it was over before the first look.
"""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Protocol

from bigfleet.edge.clock import Clock
from bigfleet.edge.logs import Log
from bigfleet.model.coordination import CoordinatorEvent, Transfer, TransferState
from bigfleet.model.provider_calls import Rejected

KIND = "transfer"
#: Newest transfers that are looked at; more than can change between two looks.
_LOOKED_AT = 100
_REST_SECONDS = 1.0

Heard = Callable[[Transfer], None]


class Teller(Protocol):
    """Of a coordinator, what is asked here."""

    async def transfers(
        self, include_finished: bool = False, limit: int = 0
    ) -> Sequence[Transfer]: ...

    def events(
        self, from_revision: int = 0, *, follow: bool = False
    ) -> AsyncGenerator[CoordinatorEvent, None]: ...


class Moves:
    def __init__(self, coordinator: Teller, clock: Clock, log: Log) -> None:
        self._coordinator = coordinator
        self._clock = clock
        self._log = log
        #: The state last told, by transfer; None: not looked at yet.
        self._told: dict[str, TransferState] | None = None

    async def follow(self, heard: Heard) -> None:
        """For ever; what was there before is known already."""
        while True:
            try:
                if self._told is None:
                    self._told = {each.id: each.state for each in await self._listed()}
                async with aclosing(self._coordinator.events(follow=True)) as events:
                    async for event in events:
                        if event.kind == KIND:
                            self._tell(await self._listed(), heard)
            except Rejected as problem:
                self._log.warning("moves.unheard", msg=f"transfers are not followed: {problem}")
            await self._clock.sleep(_REST_SECONDS)

    async def _listed(self) -> Sequence[Transfer]:
        """Newest first."""
        return await self._coordinator.transfers(include_finished=True, limit=_LOOKED_AT)

    def _tell(self, found: Sequence[Transfer], heard: Heard) -> None:
        before, self._told = self._told or {}, {each.id: each.state for each in found}
        for each in reversed(found):
            known = before.get(each.id)
            if known is each.state:
                continue
            if each.state is TransferState.DONE and known is not TransferState.GRANTED:
                heard(replace(each, state=TransferState.GRANTED))
            heard(each)
