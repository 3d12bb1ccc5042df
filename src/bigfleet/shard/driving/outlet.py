"""Events in, instructions out: the one place where the state is stepped and obeyed.

Runs on the event loop and never waits; what takes time is handed to a task or a thread.
"""

import asyncio
from collections.abc import Iterable, Mapping
from concurrent.futures import Future
from typing import Any, Protocol, assert_never

from bigfleet.edge.clock import Clock
from bigfleet.edge.logs import Log as LogWriter
from bigfleet.journal.recorder import Note
from bigfleet.model.journal import JournalEvent
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
    WriteNote,
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


class NoteWriter(Protocol):
    """`journal/writer.py` `JournalWriter`, `shard/statement_keeper.py` `StatementKeeper`."""

    def note(self, note: Note, /) -> bool:
        """Never waits."""


class CallsProviders(Protocol):
    """`driving/providers.py` `ProviderLines`."""

    def call(self, asked: CallProvider, /) -> None: ...


class FlushesSessions(Protocol):
    def flush(self, session: int, /) -> None: ...


class RunsCycles(Protocol):
    def wake(self) -> None: ...


class ShardDriver(Protocol):
    """What of a process does what the state asks for: `driving/process.py` `ShardProcess`."""

    @property
    def providers(self) -> CallsProviders: ...

    @property
    def sessions(self) -> FlushesSessions: ...

    @property
    def cycles(self) -> RunsCycles: ...

    def end_session(self, session: int, code: Code, text: str) -> None: ...

    def attach_provider(self, name: str, address: str) -> None: ...


class Outlet:
    def __init__(
        self,
        clock: Clock,
        log: LogWriter,
        driver: ShardDriver,
        keeper: Keeper,
        audit: AuditWriter | None = None,
        journal: NoteWriter | None = None,
        statements: NoteWriter | None = None,
    ) -> None:
        """Without `audit` no lines of it are written; notes go to `journal` and `statements`."""
        self.clock = clock
        self._log = log
        self._driver = driver
        self._keeper = keeper
        self.audit = audit
        self._notes = [each for each in (journal, statements) if each is not None]

    def now(self) -> Instant:
        return self.clock.now()

    async def durably(self, rows: Changes) -> None:
        """Returns when the rows and everything obeyed before are on disk; raises OSError."""
        await asyncio.wrap_future(self._keeper.attempt(rows))

    def obey(self, instructions: Iterable[Instruction]) -> None:
        for instruction in instructions:
            match instruction:
                case CallProvider():
                    self._driver.providers.call(instruction)
                case FlushSession(session):
                    self._driver.sessions.flush(session)
                case EndSession(session, code, text):
                    self._driver.end_session(session, code, text)
                case AttachProvider(name, address):
                    self._driver.attach_provider(name, address)
                case WakeCycle():
                    self._driver.cycles.wake()
                case Persist(table, key, value):
                    self._keeper.write(table, key, value)
                case Log(level, event, text, facts):
                    getattr(self._log, level)(event, msg=text, **facts)
                case WriteAudit(_, line):
                    if self.audit is not None:
                        self.audit.write(line)
                case WriteNote(cycle, body):
                    at = self.now() if isinstance(body, JournalEvent) else body.at
                    for writer in self._notes:
                        writer.note(Note(cycle, at, body))
                case _:
                    assert_never(instruction)
