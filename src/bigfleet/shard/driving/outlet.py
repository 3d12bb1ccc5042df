"""Events in, instructions out: the one place where the state is stepped and obeyed.

Runs on the event loop and never waits; what takes time is handed to a task or a thread.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from typing import Any, Protocol, assert_never

from bigfleet.edge.clock import Clock
from bigfleet.edge.logs import Log as LogWriter
from bigfleet.model.machines import Instant
from bigfleet.model.provider_calls import Code
from bigfleet.shard.instructions import (
    AttachProvider,
    CallProvider,
    EndSession,
    FlushSession,
    Instruction,
    Log,
    Persist,
    WakeCycle,
    WriteAudit,
)
from bigfleet.shard.store import Changes


class Keeper(Protocol):
    """Durable rows."""

    def write(self, table: str, key: str, value: bytes | None) -> None:
        """Queued, never waited for."""

    def attempt(self, rows: Changes) -> "Future[None]":
        """Done when the rows and everything written before are on disk; OSError: they are not."""


class AuditWriter(Protocol):
    @property
    def trouble(self) -> str:
        """Why lines are lost; empty: none is."""

    def write(self, line: Mapping[str, Any]) -> None: ...


class Outlet:
    """Set up once by the process; each part of the driver is given it."""

    def __init__(self, clock: Clock, log: LogWriter) -> None:
        self.clock = clock
        self._log = log
        self.call: Callable[[CallProvider], None] = _not_connected
        self.flush: Callable[[int], None] = _not_connected
        self.end: Callable[[int, Code, str], None] = _not_connected
        self.wake: Callable[[], None] = _not_connected
        self.attach: Callable[[str, str], None] = _not_connected
        #: Told after every List that every provider has been listed by now.
        self.listed: Callable[[], None] = _not_connected
        self.keeper: Keeper | None = None
        self.audit: AuditWriter | None = None

    def now(self) -> Instant:
        return self.clock.now()

    async def durably(self, rows: Changes) -> None:
        """Returns when the rows and everything obeyed before are on disk; raises OSError."""
        if self.keeper is not None:
            await asyncio.wrap_future(self.keeper.attempt(rows))

    def obey(self, instructions: Iterable[Instruction]) -> None:
        for instruction in instructions:
            match instruction:
                case CallProvider():
                    self.call(instruction)
                case FlushSession(session):
                    self.flush(session)
                case EndSession(session, code, text):
                    self.end(session, code, text)
                case AttachProvider(name, address):
                    self.attach(name, address)
                case WakeCycle():
                    self.wake()
                case Persist(table, key, value):
                    if self.keeper is not None:
                        self.keeper.write(table, key, value)
                case Log(level, event, text, facts):
                    getattr(self._log, level)(event, msg=text, **facts)
                case WriteAudit(_, line):
                    if self.audit is not None:
                        self.audit.write(line)
                case _:
                    assert_never(instruction)


def _not_connected(*_arguments: object) -> None:
    """Stands in before the process has started."""
