"""Coordinators over one store: the leader commits, and a former leader only talks.

The store is rows of bytes, as a real one has them. A commit may fail, and it may be unknown whether
it did; then the leader reads everything again, as a real one does. A leader that was deposed goes
on answering what needs no commit, with the rows and the term it had.
"""

from collections.abc import Callable, Mapping
from enum import Enum, auto
from typing import TypeVar

from bigfleet.coordinator.book import Book
from bigfleet.coordinator.draft import Draft
from bigfleet.coordinator.keys import tables_of, value_bytes
from bigfleet.coordinator.membership import expiries, removal, reports, shard_sync
from bigfleet.coordinator.partition_keys import set_partition_keys
from bigfleet.coordinator.rebalancing import quotas, sweeps
from bigfleet.coordinator.settings import CoordinatorSettings, RebalanceSettings
from bigfleet.coordinator.snapshots import export, imported
from bigfleet.coordinator.tables import Tables, TermRow
from bigfleet.edge.clock import Clock
from bigfleet.model.coordination import SyncReply, SyncRequest
from bigfleet.model.coordinator_calls import NotLeader, ReportReply, ShardReport
from bigfleet.model.provider_calls import Code, Rejected
from bigfleet.model.settings import Seconds
from tests.coordination_laws.network import Request

T = TypeVar("T")
ADDRESSES = ("c1", "c2")
#: As by default, but that everything that takes minutes takes seconds.
SETTINGS = CoordinatorSettings(
    stale_after=Seconds(6.0),
    rebalance=RebalanceSettings(
        age_cycles=1,
        drain_age_cycles=2,
        cooldown=Seconds(2.0),
        cooldown_cycles=1,
        min_stay=Seconds(4.0),
        direction_lock=Seconds(3.0),
        donor_margin_machines=0,
        offer_ttl=Seconds(8.0),
        max_per_transfer=2,
        donor_rate=1.0,
        return_after=Seconds(3.0),
        decline_rest=Seconds(2.0),
        stall_rest=Seconds(5.0),
    ),
)


class Commit(Enum):
    """What becomes of the next one."""

    TAKEN = auto()
    #: The store does not answer, and has nothing of it.
    REFUSED = auto()
    #: The store has it, and no replica knows.
    TAKEN_UNSEEN = auto()
    #: The store does not have it, and no replica knows.
    LOST_UNSEEN = auto()


#: Hears of every transaction before it is in the store.
OnCommit = Callable[[Book, Draft], None]


class Coordinators:
    def __init__(
        self, clock: Clock, on_commit: OnCommit, keys: tuple[str, ...], rows: Mapping[str, bytes]
    ) -> None:
        self._clock = clock
        self._on_commit = on_commit
        self.settings = SETTINGS
        self.rows = dict(rows)
        self.place = 0
        #: Of the next commits, in order; when there is none, it is taken.
        self.rulings: list[Commit] = []
        #: The store is out of the leader's reach.
        self.is_cut = False
        #: Who led before, at the other address.
        self.stale: Book | None = None
        self.keys = keys
        self.book = self._elected()

    # -- leading ---------------------------------------------------------------------------------

    @property
    def address(self) -> str:
        return ADDRESSES[self.place]

    def fail_over(self) -> None:
        """Another replica leads; the former leader does not know it."""
        self.stale = self.book
        self.place = 1 - self.place
        self.is_cut = False
        self.rulings = []
        self.book = self._elected()

    def snapshot(self) -> Mapping[str, bytes]:
        return dict(self.rows)

    def restore(self, rows: Mapping[str, bytes]) -> None:
        """Every replica was stopped for it."""
        saved = export(tables_of(rows), 1, "sqlite", self._clock.now())
        self.rows = dict(imported(saved))
        self.fail_over()
        self.stale = None

    def _elected(self) -> Book:
        last = tables_of(self.rows).term.get()
        term = last.term + 1 if last is not None else 1
        self.rows["term"] = value_bytes(TermRow(term))
        self.book = Book(self._loaded(), self.settings, term)
        self.do(set_partition_keys, self.keys)
        return self.book

    def _loaded(self) -> Tables:
        return tables_of(dict(sorted(self.rows.items())))

    # -- changing --------------------------------------------------------------------------------

    def do(self, operation: Callable[..., T], *args: object) -> T:
        """Committed; raises Rejected."""
        return self.transact(lambda book, draft: operation(book, draft, *args))

    def transact(
        self,
        operation: Callable[[Book, Draft], T],
        finish: Callable[[Book, T], T] = lambda book, result: result,
    ) -> T:
        book = self.book
        draft = Draft(book.tables, self._clock.now())
        result = operation(book, draft)
        if draft.changes():
            self._commit(book, draft)
        book.committed(draft)
        return finish(book, result)

    def _commit(self, book: Book, draft: Draft) -> None:
        ruling = self.rulings.pop(0) if self.rulings else Commit.TAKEN
        if self.is_cut or ruling is Commit.REFUSED:
            raise Rejected(Code.UNAVAILABLE, "the store does not answer")
        if ruling is not Commit.LOST_UNSEEN:
            self._on_commit(book, draft)
            for change in draft.changes():
                self.rows.pop(change.key, None)
                if change.value is not None:
                    self.rows[change.key] = change.value
        if ruling is not Commit.TAKEN:
            self.book = book.reread(self._loaded())
            raise Rejected(Code.UNAVAILABLE, "this may or may not have happened")

    # -- answering -------------------------------------------------------------------------------

    def serve(self, address: str, request: Request) -> ReportReply | SyncReply:
        if address == self.address:
            return self._answer(request)
        if self.stale is None:
            raise NotLeader("another replica leads", self.address)
        return self._answer_of_stale(self.stale, request)

    def _answer(self, request: Request) -> ReportReply | SyncReply:
        if isinstance(request, ShardReport):
            return self.transact(lambda book, draft: reports.on_report(book, draft, request))
        return self.transact(
            lambda book, draft: shard_sync.on_sync(book, draft, request),
            lambda book, reply: shard_sync.finish_sync(book, request, reply),
        )

    def _answer_of_stale(self, book: Book, request: Request) -> ReportReply | SyncReply:
        """What needs no commit; at the first that does the store deposes it."""
        draft = Draft(book.tables, self._clock.now())
        reply: ReportReply | SyncReply
        if isinstance(request, SyncRequest):
            reply = shard_sync.on_sync(book, draft, request)
        else:
            reply = reports.on_report(book, draft, request)
        if draft.changes():
            self.stale = None
            raise NotLeader("the store refused a write", self.address)
        book.committed(draft)
        if isinstance(request, SyncRequest) and isinstance(reply, SyncReply):
            return shard_sync.finish_sync(book, request, reply)
        return reply

    # -- unasked ---------------------------------------------------------------------------------

    def tick(self) -> None:
        self.do(expiries.tick)
        self.do(quotas.tick)

    def sweep(self) -> None:
        self.do(sweeps.sweep)

    def remove(self, shard: str) -> None:
        self.do(removal.remove_shard, shard, None)
