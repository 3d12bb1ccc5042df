"""The rows in an etcd cluster: several replicas, of which one leads and writes.

The leader is the replica that created the key `election`, bound to a lease it keeps alive. Every
commit compares that key's creation, so a replica that has lost the key cannot change anything.

A commit that was given up may still reach etcd later, after its writer has read everything and gone
on. So a commit also compares when the key was last written, and `load` writes it anew: what was
sent before that has no effect afterwards. Until then nothing else is committed.
"""

import asyncio
from collections.abc import Iterable, Sequence
from contextlib import aclosing
from dataclasses import replace
from math import ceil

from bigfleet.coordinator.stores.contract import (
    Deposed,
    LatestHeard,
    Leader,
    Leadership,
    LoadedRows,
    RowChange,
    StoreDown,
    StoreRefused,
    StoreUnclear,
)
from bigfleet.coordinator.stores.etcd_keys import Keys, leader_bytes, leader_of
from bigfleet.coordinator.stores.etcd_leadership import EtcdLeadership, LeaseTimes
from bigfleet.coordinator.stores.rows import latest, term_bytes, term_of
from bigfleet.edge.clock import Clock
from bigfleet.wire.etcd.client import EtcdClient
from bigfleet.wire.etcd.records import (
    Created,
    Delete,
    EtcdDown,
    EtcdRefused,
    EtcdUnclear,
    KeyValue,
    Operation,
    Put,
    RangePage,
    Read,
    Transaction,
    Written,
)

#: What etcd takes in a transaction unless it is told otherwise; its guards are counted apart.
MOST_CHANGES = 128
#: Rows asked for at once: a megabyte or two. etcd counts all that are left for every page, so that
#: more of them take longer; no call is waiting while everything is read.
PAGE_ROWS = 10_000
OLDEST_VERSION = (3, 4)
#: Between a watch that broke and the next look.
_PAUSE_SECONDS = 0.1
_RESIGN_SECONDS = 1.0


class EtcdStore:
    backend = "etcd"
    most_changes: int | None = MOST_CHANGES

    def __init__(
        self,
        client: EtcdClient,
        prefix: str,
        me: Leader,
        clock: Clock,
        ttl_seconds: float = 5.0,
        page_rows: int = PAGE_ROWS,
    ) -> None:
        """Closes the client when it is closed itself. A lease lasts whole seconds, at least one."""
        self._client = client
        self._keys = Keys(prefix)
        self._me = me
        self._clock = clock
        self._ttl_seconds = max(1, ceil(ttl_seconds))
        self._page_rows = page_rows
        self._seat: EtcdLeadership | None = None
        self._leader: Leader | None = None
        self._heard = LatestHeard()
        #: Held while a transaction of the reign is out: one after the other.
        self._writing = asyncio.Lock()
        #: Why etcd does not answer, and why it takes no rows; empty: it does.
        self._unreached, self._unwritten = "", ""

    async def open(self) -> None:
        try:
            version = await self._client.version()
        except EtcdDown as problem:
            raise self._down(problem) from problem
        except EtcdRefused as problem:
            raise StoreRefused(f"these endpoints serve no etcd: {problem}") from problem
        self._reached("")
        if not _is_known(version):
            oldest = ".".join(map(str, OLDEST_VERSION))
            raise StoreRefused(f"etcd {version} is too old: run {oldest} or later")

    # -- leading ---------------------------------------------------------------------------------

    async def campaign(self) -> Leadership:
        await self._leave("this replica asked to lead anew")
        while True:
            try:
                page = await self._client.read(Read(self._keys.election))
                self._reached("")
                if page.rows:
                    # Its term is written just after its key, so this may be the one before.
                    term = _term(await self._client.read(Read(self._keys.term)))
                    self._heard = LatestHeard(term, page.revision)
                    await self._until_vacant(page.rows[0], page.revision)
                elif (reign := await self._take_seat()) is not None:
                    return reign
            except (EtcdDown, EtcdRefused, EtcdUnclear) as problem:
                raise self._down(problem) from problem

    async def _until_vacant(self, holder: KeyValue, revision: int) -> None:
        """May return early: then the key is read again, which also finds out a silent link."""
        self._leader = leader_of(holder.value)
        if self._seat is not None and holder.lease == self._seat.lease:
            # Our own lease of before, which no task keeps alive.
            await self._client.revoke(holder.lease)
            return
        watch = self._client.watch(self._keys.election, revision + 1, self._ttl_seconds)
        try:
            async with aclosing(watch) as changes:
                async for change in changes:
                    if change.now is None:
                        self._leader = None
                        return
                    self._leader = leader_of(change.now.value)
        except EtcdDown as problem:
            self._reached(str(problem))
        await self._clock.sleep(_PAUSE_SECONDS)

    async def _take_seat(self) -> Leadership | None:
        """None: another replica was faster."""
        self._leader = None
        asked_at = self._clock.now()
        lease = await self._client.grant(self._ttl_seconds)
        try:
            tenure = LeaseTimes(asked_at, lease.ttl_seconds)
            return await self._won(lease.id, tenure)
        except BaseException:
            await self._leave("it could not begin", lease.id)
            raise

    async def _won(self, lease: int, tenure: LeaseTimes) -> Leadership | None:
        keys = self._keys
        outcome = await self._client.commit(
            Transaction(
                (Created(keys.election, 0), Created(keys.restoring, 0)),
                (Put(keys.election, leader_bytes(self._me), lease), Read(keys.term)),
                (Read(keys.restoring),),
            )
        )
        if not outcome.held:
            await self._client.revoke(lease)
            if outcome.pages[0].rows:
                raise StoreRefused(_half_restored(keys))
            return None
        term = _term(outcome.pages[0]) + 1
        seat = self._seat = EtcdLeadership(
            self._client, self._clock, keys.election, lease, outcome.revision, tenure, self._reached
        )
        begun = await self._client.commit(
            Transaction(
                (Created(keys.election, seat.created),), (Put(keys.term, term_bytes(term)),)
            )
        )
        if not begun.held:
            seat.end("its key in etcd was gone before its term was written")
        if seat.why_lost():
            await self._leave("it could not begin", lease)
            return None
        self._leader = self._me
        self._heard = LatestHeard(term, begun.revision)
        self._unwritten = ""
        return Leadership(term)

    def still_leads(self) -> bool:
        return self._seat is not None and self._seat.is_held()

    async def until_deposed(self) -> str:
        if self._seat is None:
            return "this replica does not lead"
        return await asyncio.shield(self._seat.over)

    async def resign(self) -> None:
        await self._leave("this replica resigned")

    async def _leave(self, why: str, lease: int | None = None) -> None:
        """Gives a valid lease back, so that the next leader need not wait for its end."""
        seat = self._seat
        if seat is not None and seat.why_lost() is None:
            lease = seat.lease
            seat.end(why)
        if self._leader == self._me:
            self._leader = None
        if lease is not None:
            try:
                await self._client.revoke(lease, _RESIGN_SECONDS)
            except (EtcdDown, EtcdRefused) as problem:
                self._reached(str(problem))

    def leader(self) -> Leader | None:
        if self._leader == self._me and not self.still_leads():
            return None
        return self._leader

    # -- rows ------------------------------------------------------------------------------------

    async def load(self) -> LoadedRows:
        keys = self._keys
        while True:
            revision = await self._fenced()
            rows: dict[str, bytes] = {}
            every = Read(keys.first, keys.end, self._page_rows, revision)
            try:
                async with aclosing(self._client.pages(every)) as pages:
                    async for page in pages:
                        rows.update(keys.rows_of(page.rows))
            except EtcdDown as problem:
                raise self._down(problem) from problem
            except EtcdRefused as problem:
                if problem.compacted:
                    continue
                raise self._down(problem) from problem
            return LoadedRows(rows, revision)

    async def _fenced(self) -> int:
        """Writes the key anew; the revision of that."""
        keys = self._keys
        async with self._writing:
            seat = self._held_seat()
            before, seat.fence = seat.fence, None
            transaction = Transaction(
                (Created(keys.election, seat.created),),
                (Put(keys.election, leader_bytes(self._me), seat.lease),),
                (Read(keys.election),),
            )
            try:
                outcome = await self._client.commit(transaction)
            except EtcdUnclear as problem:
                raise self._down(problem) from problem
            except (EtcdDown, EtcdRefused) as problem:
                seat.fence = before
                raise self._down(problem) from problem
            self._reached("")
            if not outcome.held:
                raise self._deposed(seat, outcome.pages[0])
            seat.fence = outcome.revision
            self._heard = replace(self._heard, revision=outcome.revision)
            return outcome.revision

    async def commit(self, changes: Sequence[RowChange]) -> int:
        operations = tuple(self._operations(latest(changes)))
        if len(operations) > MOST_CHANGES:
            raise ValueError(f"{len(operations)} rows in a commit; etcd takes {MOST_CHANGES}")
        async with self._writing:
            seat = self._held_seat()
            if seat.fence is None:
                raise StoreUnclear("an earlier commit may have happened: load everything first")
            fence, seat.fence = seat.fence, None
            election = self._keys.election
            guards = (Created(election, seat.created), Written(election, fence))
            try:
                outcome = await self._client.commit(
                    Transaction(guards, operations, (Read(election),))
                )
            except EtcdUnclear as problem:
                self._reached(str(problem))
                raise StoreUnclear(f"etcd may have taken it, or may yet: {problem}") from problem
            except (EtcdDown, EtcdRefused) as problem:
                seat.fence = fence
                raise self._down(problem) from problem
            self._reached("")
            self._unwritten = ""
            if not outcome.held:
                raise self._deposed(seat, outcome.pages[0])
            seat.fence = fence
            self._heard = replace(self._heard, revision=outcome.revision)
            return outcome.revision

    def _operations(self, changes: Iterable[RowChange]) -> Iterable[Operation]:
        for change in changes:
            key = self._keys.of(change.key)
            yield Delete(key) if change.value is None else Put(key, change.value)

    def _held_seat(self) -> EtcdLeadership:
        seat = self._seat
        if seat is None:
            raise Deposed("this replica has never led")
        if why := seat.why_lost():
            raise Deposed(f"this replica leads no more: {why}")
        return seat

    def _deposed(self, seat: EtcdLeadership, election: RangePage) -> Deposed | StoreUnclear:
        holder = election.rows[0] if election.rows else None
        if holder is not None and holder.created == seat.created:
            # A load of ours of which we know nothing has written it.
            return StoreUnclear("the election key was written meanwhile: load everything first")
        leader = self._leader = leader_of(holder.value) if holder else None
        who = f"{leader.replica_id} at {leader.address}" if leader else "no replica"
        seat.end(f"its key in etcd is gone: {who} leads")
        return Deposed(f"this replica leads no more: {who} does")

    # -- ending and telling ----------------------------------------------------------------------

    def heard(self) -> LatestHeard:
        return self._heard

    def trouble(self) -> str:
        return self._unreached or self._unwritten

    async def close(self) -> None:
        await self._leave("this replica is closing")
        if self._seat is not None:
            await self._seat.ended()
        await self._client.close()

    def _reached(self, why_not: str) -> None:
        self._unreached = f"etcd does not answer: {why_not}; {_ADVICE}" if why_not else ""

    def _down(self, problem: EtcdDown | EtcdRefused | EtcdUnclear) -> StoreDown:
        if isinstance(problem, EtcdRefused):
            self._unwritten = f"etcd refuses: {problem}; {_why_refused(problem)}"
            return StoreDown(self._unwritten)
        self._reached(str(problem))
        return StoreDown(self._unreached)


_ADVICE = (
    "see that a majority of its members run and can be reached from here, and that endpoints and "
    "certificates are the right ones"
)


def _why_refused(problem: EtcdRefused) -> str:
    if "space exceeded" in str(problem):
        return "compact and defragment it, then run `etcdctl alarm disarm`"
    return "see its log, and what this replica's certificate may do there"


def _is_known(version: str) -> bool:
    """Of numbers that cannot be read nothing is said against."""
    parts = version.split(".")
    if len(parts) < 2 or not (parts[0].isdecimal() and parts[1].isdecimal()):
        return True
    return (int(parts[0]), int(parts[1])) >= OLDEST_VERSION


def _term(page: RangePage) -> int:
    try:
        return term_of(page.rows[0].value if page.rows else None)
    except ValueError as problem:
        raise StoreRefused(
            f"the term in etcd cannot be read: {problem}. Without it shards may hear an older term "
            "than they know: restore a snapshot into an empty prefix"
        ) from problem


def _half_restored(keys: Keys) -> str:
    return (
        f"below {keys} lies a restore that was not finished; delete everything there with "
        f"`etcdctl del --prefix {keys}` and restore the snapshot again"
    )
