"""Leads while the store says so: one writer, one lock, no answer before its rows are durable.

Laws: an operation sees committed rows only; nothing is answered by a replica that may have been
deposed, reads included; when it is unknown whether a commit happened, everything is read again
before anything else is answered. A replica that cannot read a row does not lead.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

from bigfleet.coordinator.book import Book
from bigfleet.coordinator.draft import Draft
from bigfleet.coordinator.keys import UnreadableRow, tables_of
from bigfleet.coordinator.partition_keys import set_partition_keys
from bigfleet.coordinator.settings import CoordinatorSettings
from bigfleet.coordinator.snapshots import copied
from bigfleet.coordinator.stores.contract import (
    Deposed,
    LatestHeard,
    Leadership,
    RowChange,
    Store,
    StoreDown,
    StoreRefused,
    StoreUnclear,
)
from bigfleet.coordinator.tables import Tables
from bigfleet.edge.clock import Clock
from bigfleet.edge.counts import Counts
from bigfleet.edge.logs import Log
from bigfleet.model.coordinator_calls import STORE_DOWN, UNCLEAR, NotLeader
from bigfleet.model.provider_calls import Code, Rejected

#: Pause before a store that does not answer is asked again.
RETRY_SECONDS = 0.5
#: Time a replica that cannot read a row leaves others to lead.
UNREADABLE_REST_SECONDS = 5.0
#: What a commit that is under way may take when this replica stops.
LAST_COMMIT_SECONDS = 0.5

T = TypeVar("T")
Operation = Callable[[Book, Draft], T]


_NO_LEADER = "no leader is known"


@dataclass(slots=True)
class _LeadershipTask:
    """The time this replica leads, from the first load on."""

    term: int
    #: Why it is over, once it is.
    over: "asyncio.Future[str]"
    #: Set while it is unknown what the store holds; nothing is answered then.
    in_doubt: asyncio.Event
    book: Book

    def end(self, why: str) -> None:
        if not self.over.done():
            self.over.set_result(why)


class LeaderDuties(Protocol):
    def begun(self) -> Sequence[Coroutine[Any, Any, None]]:
        """What runs while this replica leads, begun anew with every reign."""
        ...


class LeadingReplica:
    def __init__(
        self,
        settings: CoordinatorSettings,
        clock: Clock,
        stopwatch: Callable[[], float],
        log: Log,
    ) -> None:
        """Knows no leader until `open` gives it a store."""
        self._settings = settings
        self._clock = clock
        self._stopwatch = stopwatch
        self._log = log
        #: Over all reigns of this process.
        self.counts = Counts()
        #: Of the store, as of the last load or commit of this replica.
        self.revision = 0
        self._store: Store | None = None
        self._address = ""
        self._opened = False
        self._reigning: _LeadershipTask | None = None
        #: Why this replica cannot lead although the store would let it.
        self._unreadable = ""
        self._lock = asyncio.Lock()
        #: Set, and another put in its place, when events were added or a reign ended.
        self._news = asyncio.Event()

    # -- what is known ---------------------------------------------------------------------------

    @property
    def leads(self) -> bool:
        """Whether it may answer: it reigns, and its lease cannot have run out."""
        if self._store is None or self._reigning is None:
            return False
        return self._store.still_leads()

    @property
    def settings(self) -> CoordinatorSettings:
        return self._settings

    def apply_settings(self, settings: CoordinatorSettings) -> None:
        self._settings = settings
        if self._reigning is not None:
            self._reigning.book.settings = settings

    def heard(self) -> LatestHeard:
        """Of the store, also by one that does not lead."""
        return self._store.heard() if self._store is not None else LatestHeard()

    def trouble(self) -> str:
        """Why nothing can be written, as a sentence; empty: nothing is known against it."""
        return (self._store.trouble() if self._store else "") or self._unreadable

    def leader_address(self) -> str:
        """Of the leader; empty: no leader is known."""
        leader = self._store.leader() if self._store else None
        if leader is None or (leader.address == self._address and not self.leads):
            return ""
        return leader.address

    def why_not_ready(self) -> str:
        """Empty: it is."""
        if self._store is None:
            return "it is starting"
        if trouble := self._store.trouble():
            return trouble
        if self.leader_address():
            return ""
        return self._unreadable or _NO_LEADER

    def book(self) -> Book:
        """For reading; to be used at once, without waiting in between. Raises Rejected."""
        self.require_leader()
        assert self._reigning is not None, "a leader has a term"
        if self._reigning.in_doubt.is_set():
            raise Rejected(
                Code.UNAVAILABLE,
                "it is unknown whether the last write was made, so the store is being read again; "
                "ask again in a second",
                STORE_DOWN,
            )
        return self._reigning.book

    def book_or_none(self) -> Book | None:
        """The same for pages that only show it; never raises."""
        return self._reigning.book if self.leads and self._reigning else None

    async def beside(self, view: Callable[[Book], T]) -> T:
        """What may have a hundred thousand rows, made in a thread; raises Rejected."""
        book = self.book()
        copy = Book(copied(book.tables), book.settings, book.term)
        seen = await asyncio.to_thread(view, copy)
        self.require_leader()
        return seen

    def require_leader(self) -> None:
        if not self.leads:
            raise self._not_leader()

    def news(self) -> asyncio.Event:
        """Set once, at the next event or the end of the reign."""
        return self._news

    # -- changing --------------------------------------------------------------------------------

    async def transact(
        self, operation: Operation[T], finish: Callable[[Book, T], T] | None = None
    ) -> T:
        """What the operation returns, once what it changed is durable; raises Rejected.

        `finish` makes the answer from the book as it is after the commit.
        """
        self.book()
        async with self._lock:
            book = self.book()
            draft = Draft(book.tables, self._clock.now())
            result = operation(book, draft)
            if changes := draft.changes():
                await self._commit(changes)
            book.committed(draft)
            if draft.notes:
                self._tell()
            if finish is not None:
                result = finish(book, result)
            # The commit may have outlasted the lease.
            self.require_leader()
            return result

    async def _commit(self, changes: Sequence[RowChange]) -> None:
        store, reigning = self._store, self._reigning
        assert store is not None, "only a leader commits"
        assert reigning is not None, "only a leader commits"
        if (most := store.most_changes) is not None and len(changes) > most:
            text = f"{len(changes)} rows would change at once, and the store takes {most}"
            raise Rejected(Code.RESOURCE_EXHAUSTED, f"{text}; ask for less at a time")
        began, outcome = self._stopwatch(), "error"
        try:
            self.revision = await store.commit(changes)
            outcome = "success"
        except Deposed as problem:
            outcome = "fenced"
            reigning.end(f"the store refused a write: {problem}")
            self._reigning = None
            raise self._not_leader() from problem
        except StoreDown as problem:
            self._store_failed(problem)
            text = f"nothing was changed: {problem}"
            raise Rejected(Code.UNAVAILABLE, text, STORE_DOWN) from problem
        except StoreUnclear as problem:
            self._store_failed(problem)
            reigning.in_doubt.set()
            text = f"this may or may not have happened: {problem}; look, then ask again"
            raise Rejected(Code.UNAVAILABLE, text, UNCLEAR) from problem
        except BaseException:
            # The waiting call was cancelled; the commit may happen nevertheless.
            reigning.in_doubt.set()
            raise
        finally:
            self.counts.add("apply_total", outcome=outcome)
            self.counts.observe("store_write_seconds", self._stopwatch() - began)

    # -- leading ---------------------------------------------------------------------------------

    async def open(self, store: Store, address: str) -> None:
        """Once; raises StoreRefused. A store that is only out of reach is tried again by `run`.

        `address` is this replica's own.
        """
        try:
            await store.open()
            self._opened = True
        except StoreDown as problem:
            self._store_failed(problem)
        self._store, self._address = store, address

    async def run(self, duties: LeaderDuties) -> None:
        """Follows and leads by turns, for ever."""
        store = self._store
        assert store is not None, "it was opened"
        while True:
            try:
                if not self._opened:
                    await store.open()
                    self._opened = True
                why = await self._reigned(store, await store.campaign(), duties)
                self._log.warning("coordinator.deposed", msg=f"leads no more: {why}")
            except Deposed as problem:
                self._log.warning("coordinator.deposed", msg=f"did not come to lead: {problem}")
            except StoreDown as problem:
                self._store_failed(problem)
                await store.resign()
                await self._clock.sleep(RETRY_SECONDS)
            except (UnreadableRow, StoreRefused) as problem:
                self._unreadable = str(problem)
                self._log.error("coordinator.unreadable", msg=f"does not lead: {problem}")
                await store.resign()
                await self._clock.sleep(UNREADABLE_REST_SECONDS)

    async def close(self) -> None:
        """After `run` was cancelled: lets another replica lead at once. Never raises."""
        if self._store is None:
            return
        try:
            async with asyncio.timeout(LAST_COMMIT_SECONDS), self._lock:
                """The commit that was under way, if any, has ended."""
        except TimeoutError:
            self._log.warning("coordinator.commit", msg="a commit outlasts the stop")
        await self._store.resign()

    async def _reigned(self, store: Store, reign: Leadership, duties: LeaderDuties) -> str:
        """Why it is over."""
        async with self._lock:
            # A commit of an earlier reign has ended by now.
            tables = await self._loaded(store)
        book = Book(tables, self._settings, reign.term, self.counts)
        over: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._reigning = reigning = _LeadershipTask(reign.term, over, asyncio.Event(), book)
        self.counts.add("elections_total")
        work = (
            self._until_deposed(store, reigning),
            self._reread(store, reigning),
            *duties.begun(),
        )
        async with _running(work) as working:
            try:
                text = f"replica {self._settings.id} leads with term {reign.term}"
                await self._inaugurated(text)
                self._log.info("coordinator.leads", msg=text, term=reign.term)
                awaited: set[asyncio.Future[Any]] = {over, *working}
                await asyncio.wait(awaited, return_when=asyncio.FIRST_COMPLETED)
                for task in working:
                    if task.done():
                        task.result()
                return over.result()
            finally:
                # Before the tasks are waited for: from here on nothing is answered.
                self._reigning = None
                self._tell()

    async def _inaugurated(self, text: str) -> None:
        """It is told who leads, and what settings say about the fleet is written down."""
        settings = self._settings

        def begun(book: Book, draft: Draft) -> str:
            draft.note("election", settings.id, text)
            self._tell_restore(draft)
            return set_partition_keys(book, draft, settings.partition_keys)

        try:
            why_not = await self.transact(begun)
        except Rejected as problem:
            why_not = f"partition_keys are not written: {problem}"
        if why_not:
            self._log.error("coordinator.partition_keys", msg=why_not)

    def _tell_restore(self, draft: Draft) -> None:
        """Once, for a snapshot that was put into the store since the last reign."""
        if restored := draft.numbers.restored:
            draft.note("admin", "snapshot", restored)
            draft.seq.put(replace(draft.numbers, restored=""))
            self._log.warning("admin", msg=restored)

    async def _until_deposed(self, store: Store, reigning: _LeadershipTask) -> None:
        reigning.end(await store.until_deposed())
        await asyncio.Event().wait()

    async def _reread(self, store: Store, reigning: _LeadershipTask) -> None:
        """Whenever it is unknown what the store holds."""
        while True:
            await reigning.in_doubt.wait()
            try:
                tables = await self._loaded(store)
            except Deposed as problem:
                reigning.end(str(problem))
                await asyncio.Event().wait()
            except StoreDown as problem:
                self._store_failed(problem)
                await self._clock.sleep(RETRY_SECONDS)
            else:
                reigning.book = reigning.book.reread(tables)
                reigning.in_doubt.clear()
                self._tell()
                self._log.info("coordinator.reread", msg="the store was read again")

    async def _loaded(self, store: Store) -> Tables:
        loaded = await store.load()
        # In a thread: a hundred thousand rows take longer than a lease may be left alone.
        tables = await asyncio.to_thread(tables_of, loaded.rows)
        self.revision = loaded.revision
        self._unreadable = ""
        return tables

    # -- within ----------------------------------------------------------------------------------

    def _not_leader(self) -> NotLeader:
        address = self.leader_address()
        where = f"{address} does" if address else f"{_NO_LEADER}; ask again in a second"
        if not address and (trouble := self.trouble()) not in ("", _NO_LEADER):
            where = f"{_NO_LEADER}; {trouble}"
        return NotLeader(f"replica {self._settings.id} does not lead: {where}", address)

    def _store_failed(self, problem: Exception) -> None:
        self.counts.add("store_errors_total")
        self._log.error("coordinator.store", msg=str(problem))

    def _tell(self) -> None:
        news, self._news = self._news, asyncio.Event()
        news.set()


@asynccontextmanager
async def _running(
    work: Sequence[Coroutine[Any, Any, None]],
) -> AsyncIterator[list["asyncio.Task[None]"]]:
    """Tasks that are cancelled at the end of the block."""
    tasks = [asyncio.create_task(each) for each in work]
    try:
        yield tasks
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
