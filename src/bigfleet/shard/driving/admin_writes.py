"""Admin writes of a shard: each is on disk before it is done, or it is refused and not done.

The call itself is written first, as the last admin write, together with the rows that are known
beforehand. Where that succeeds it is done, and what it changed is on disk before it is answered.
One write at a time; a caller that hangs up does not stop one that has begun.
"""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

import orjson

from bigfleet.model.instants import instant_text
from bigfleet.model.provider_calls import STORE, Code, Peer, Rejected
from bigfleet.model.shard_admin import Audit
from bigfleet.shard.driving.outlet import Outlet
from bigfleet.shard.effects import ADMIN
from bigfleet.shard.instructions import WriteAudit
from bigfleet.shard.state import ShardState
from bigfleet.shard.store import Changes

T = TypeVar("T")
LAST = "last"


class AdminWrites:
    def __init__(self, state: ShardState, outlet: Outlet) -> None:
        self._state = state
        self._outlet = outlet
        self._one_at_a_time = asyncio.Lock()
        #: Writes whose caller may have hung up.
        self._running: set[asyncio.Task[Any]] = set()

    async def alone(self, write: Coroutine[Any, Any, T]) -> T:
        """Runs the write when no other one runs, to its end."""
        task = asyncio.create_task(self._locked(write))
        self._running.add(task)
        task.add_done_callback(self._ended)
        return await asyncio.shield(task)

    async def begin(
        self, what: str, audit: Audit, peer: Peer, rows: Changes | None = None, hint: str = ""
    ) -> None:
        """Writes the call and its rows to disk; raises Rejected where that fails."""
        line = orjson.dumps(self._line(what, audit, peer))
        try:
            await self._outlet.durably({(ADMIN, LAST): line, **(rows or {})})
        except OSError as problem:
            text = f"not done, since it cannot be kept: {problem}; make room on that disk"
            text = f"{text}, then ask again{hint}"
            self._state.effects.log("error", "admin_refused", f"{what}: {text}", what=what)
            self._outlet.obey(self._state.taken())
            raise Rejected(Code.RESOURCE_EXHAUSTED, text, STORE) from None

    async def finish(self) -> None:
        """Does what was asked for, and returns when it is on disk."""
        self._outlet.obey(self._state.taken())
        try:
            await self._outlet.durably({})
        except OSError as problem:
            text = f"done, but not on disk: {problem}; a restart of the shard may undo it"
            raise Rejected(Code.RESOURCE_EXHAUSTED, text, STORE) from None

    def audit(self, what: str, audit: Audit, peer: Peer) -> None:
        """A line of the audit file."""
        self._state.effects.ask(WriteAudit(self._outlet.now(), self._line(what, audit, peer)))

    async def _locked(self, write: Coroutine[Any, Any, T]) -> T:
        async with self._one_at_a_time:
            return await write

    def _line(self, what: str, audit: Audit, peer: Peer) -> dict[str, Any]:
        return {
            "time": instant_text(self._outlet.now()),
            "cycle": self._state.decision_loop.number,
            "kind": "admin",
            "what": what,
            "owner": audit.owner,
            "reason": audit.reason,
            "peer": peer.identity or "",
        }

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._running.discard(task)
        if not task.cancelled():
            # A refusal that no caller is left to hear is logged already.
            task.exception()
