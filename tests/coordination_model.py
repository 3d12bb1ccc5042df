"""A fleet of model shards and a real book, without wire, clock or disk.

Each shard keeps a model Ownership as it would on disk and obeys as a real one does; the coordinator
is the real one, committed row by row to a store of bytes, so that a fail-over reads it back. The
law is stated over what the shards have persisted: of every machine at most one may act.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import TypeVar

from bigfleet.coordinator.book import Book
from bigfleet.coordinator.draft import Draft
from bigfleet.coordinator.keys import tables_of, value_bytes
from bigfleet.coordinator.membership import expiries, handovers, removal, reports, shard_sync
from bigfleet.coordinator.settings import CoordinatorSettings
from bigfleet.coordinator.tables import SeqRow, Tables
from bigfleet.model.coordination import ProviderEntry, SyncReply, SyncRequest
from bigfleet.model.coordinator_calls import (
    AckOutcome,
    CoordinatorInstruction,
    Done,
    InstructionAck,
    InstructionKind,
    NotYet,
    Obeyed,
    Refused,
    ReportReply,
    ShardReport,
)
from bigfleet.model.machines import Instant
from bigfleet.model.options import SECOND
from bigfleet.model.ownership import PROVIDER_KEY, MachineOverride, Ownership, Pair, owner_of
from bigfleet.model.provider_calls import Rejected
from bigfleet.model.shard_views import ShardSummary

T = TypeVar("T")
START: Instant = 1_000 * SECOND


@dataclass(slots=True)
class ModelMachine:
    id: str
    provider: str
    labels: dict[str, str] = field(default_factory=dict)
    #: Bound or on its way somewhere: the shard that gave it up keeps it until it is free.
    occupied: bool = False

    def attribute(self, key: str) -> str | None:
        return self.labels.get(key)


class ModelCoordinator:
    """The book, and beneath it the rows as a store has them."""

    def __init__(self, settings: CoordinatorSettings | None = None) -> None:
        self.settings = settings or CoordinatorSettings()
        self.rows: dict[str, bytes] = {}
        self.book = Book(Tables(), self.settings, 1)
        #: The most rows one transaction has changed.
        self.largest = 0

    def transact(self, at: Instant, operation: Callable[[Book, Draft], T]) -> T:
        draft = Draft(self.book.tables, at)
        result = operation(self.book, draft)
        changes = draft.changes()
        self.largest = max(self.largest, len(changes))
        for change in changes:
            if change.value is None:
                self.rows.pop(change.key, None)
            else:
                self.rows[change.key] = change.value
        self.book.committed(draft)
        return result

    def fail_over(self) -> Book:
        """Another replica leads, from the rows alone; returns the book of the old leader."""
        old = self.book
        self.book = Book(tables_of(dict(sorted(self.rows.items()))), self.settings, old.term + 1)
        return old

    def restore(self, rows: dict[str, bytes]) -> None:
        """As from a snapshot: older rows, a later term."""
        numbers = tables_of(rows).seq.get() or SeqRow()
        restored = replace(numbers, merging=True, merge_from=0)
        self.rows = {**rows, "seq": value_bytes(restored)}
        tables = tables_of(dict(sorted(self.rows.items())))
        self.book = Book(tables, self.settings, self.book.term + 1000)


class ModelShard:
    def __init__(self, name: str, providers: Iterable[str], fleet: "ModelFleet") -> None:
        self.id = name
        self.fleet = fleet
        self.providers = tuple(providers)
        self.clusters: tuple[str, ...] = ()
        self.cycle = 0
        #: Nothing acts in its name any more.
        self.dead = False
        # On disk.
        self.epoch = 1
        self.term = 0
        self.done: set[str] = set()
        self.ownership = Ownership(name, everything=False)
        # Gone with the process.
        self.acks: dict[str, InstructionAck] = {}
        self.merging = False
        self.next_sync_millis = 0

    # -- lives -----------------------------------------------------------------------------------

    def crash(self) -> None:
        self.epoch += 1
        self.cycle = 0
        self.acks = {}
        self.merging = False

    def lose_state(self) -> None:
        """The file is gone; the epoch lies in another one."""
        self.crash()
        self.term = 0
        self.done = set()
        self.ownership = Ownership(self.id, everything=False)

    # -- what it may touch -----------------------------------------------------------------------

    def owns(self, machine: ModelMachine, *, occupied: bool) -> bool:
        return not self.dead and self.ownership.owns(
            machine.id, machine.attribute, machine.provider, occupied=occupied
        )

    def may_act(self, machine: ModelMachine) -> bool:
        """Independent of what it believes of the machine: a List may be late."""
        return self.owns(machine, occupied=False) or self.owns(machine, occupied=True)

    # -- reports ---------------------------------------------------------------------------------

    def report(self) -> ShardReport:
        self.cycle += 1
        provider = self.providers[0] if self.providers else ""
        summary = ShardSummary(0, 0, {}, {}, provider)
        acks = tuple(self.acks.values())
        at, address = self.fleet.now, f"{self.id}:7780"
        return ShardReport(self.id, self.cycle, at, self.epoch, address, summary, (), acks)

    def take_report(self, reply: ReportReply, sent: ShardReport) -> None:
        if not self._in_term(reply.term):
            return
        for ack in sent.acks:
            if self.acks.get(ack.instruction_id) == ack:
                del self.acks[ack.instruction_id]
        for each in sorted(reply.instructions, key=lambda one: one.sequence):
            answer = self._answer(each)
            if answer is not None:
                self.acks[each.id] = answer

    def _answer(self, each: CoordinatorInstruction) -> InstructionAck | None:
        if each.id in self.done:
            return InstructionAck(each.id, AckOutcome.ACCEPTED, "duplicate-redelivery")
        if each.term < self.term:
            return InstructionAck(each.id, AckOutcome.REJECTED_STALE, "an older term")
        match self.obey(each):
            case Done():
                self.done.add(each.id)
                return InstructionAck(each.id, AckOutcome.ACCEPTED)
            case Refused(why):
                return InstructionAck(each.id, AckOutcome.FAILED, why)
            case NotYet():
                return None

    def obey(self, each: CoordinatorInstruction) -> Obeyed:
        pair = (each.topology_key, each.topology_value)
        if each.kind is InstructionKind.UNASSIGN_DOMAIN:
            return self._give_up(pair)
        if each.kind is InstructionKind.ASSIGN_DOMAIN:
            view = self.ownership.view
            held = view is not None and view.held_by(pair) == self.id
            return Done() if held else NotYet("no view gives it to this shard yet")
        return Refused("a model shard moves no machines")

    def _give_up(self, pair: Pair) -> Obeyed:
        if self.ownership.view is None:
            return Done()
        self.ownership = self.ownership.giving_up(pair)
        assert self.ownership.view is not None
        if pair[0] not in (PROVIDER_KEY, *self.ownership.view.keys):
            return NotYet("the view that asks for the key is on its way")
        if any(pair in self._lingers_in(machine) for machine in self.fleet.machines):
            return NotYet("machines there are still occupied")
        self.ownership = self.ownership.without_lingering(pair)
        return Done()

    def _lingers_in(self, machine: ModelMachine) -> tuple[Pair, ...]:
        if not machine.occupied:
            return ()
        return self.ownership.lingers_in(machine.id, machine.attribute, machine.provider)

    # -- syncs -----------------------------------------------------------------------------------

    def sync_request(self) -> SyncRequest:
        return SyncRequest(
            self.id,
            self.epoch,
            self.cycle,
            self.ownership.revision,
            cluster_ids=self.clusters,
            providers=tuple(ProviderEntry(f"name-of-{a}", a) for a in self.providers),
            held_overrides=self._held_overrides(),
            held_pairs=self._held_pairs() if self.merging else (),
            tells_all=self.merging,
        )

    def take_sync(self, reply: SyncReply, sent: SyncRequest) -> None:
        if not self._in_term(reply.term):
            return
        self.merging = reply.merging
        self.next_sync_millis = reply.next_sync_millis
        if reply.ownership is not None:
            covered = [entry.address for entry in sent.providers]
            self.ownership = self.ownership.newer(reply.ownership, covered)

    def _held_pairs(self) -> tuple[Pair, ...]:
        view = self.ownership.view
        if view is None:
            return ()
        mine = {pair for pair, shard in view.domains.items() if shard == self.id}
        mine |= {(PROVIDER_KEY, a) for a, s in view.default_owners.items() if s == self.id}
        mine |= {
            pair for pair, given in self.ownership.lingering.items() if given.before == self.id
        }
        return tuple(sorted(mine))

    def _held_overrides(self) -> tuple[MachineOverride, ...]:
        view = self.ownership.view
        rows = view.overrides.values() if view is not None else ()
        marks = self.ownership.released.items()
        return (
            *(row for row in rows if row.shard == self.id),
            *(MachineOverride(m, "", self.id, transfer) for m, transfer in marks),
        )

    def _in_term(self, term: int) -> bool:
        if term < self.term:
            return False
        self.term = term
        return True


class ModelFleet:
    def __init__(
        self,
        machines: Iterable[ModelMachine] = (),
        settings: CoordinatorSettings | None = None,
    ) -> None:
        self.now: Instant = START
        self.coordinator = ModelCoordinator(settings)
        self.machines = list(machines)
        self.shards: dict[str, ModelShard] = {}

    @property
    def book(self) -> Book:
        return self.coordinator.book

    def wait(self, seconds: float) -> None:
        self.now += round(seconds * SECOND)

    def join(self, name: str, *providers: str) -> ModelShard:
        """A process with an empty disk; no coordinator has heard of it yet."""
        self.shards[name] = ModelShard(name, providers, self)
        return self.shards[name]

    def joined(self, name: str, *providers: str) -> ModelShard:
        """One that knows what it owns."""
        shard = self.join(name, *providers)
        self.round(shard)
        return shard

    def do(self, operation: Callable[..., T], *args: object) -> T:
        """An operation on the book, committed; raises Rejected with nothing changed."""
        return self.coordinator.transact(
            self.now, lambda book, draft: operation(book, draft, *args)
        )

    def tick(self) -> None:
        self.do(expiries.tick)

    # -- rounds ----------------------------------------------------------------------------------

    def report(self, shard: ModelShard, *, answered: bool = True) -> ReportReply:
        sent = shard.report()
        reply = self.do(reports.on_report, sent)
        if answered:
            shard.take_report(reply, sent)
        return reply

    def sync(self, shard: ModelShard, *, answered: bool = True) -> SyncReply:
        """Raises Rejected."""
        sent = shard.sync_request()
        reply = shard_sync.finish_sync(self.book, sent, self.do(shard_sync.on_sync, sent))
        if answered:
            shard.take_sync(reply, sent)
        return reply

    def round(self, *shards: ModelShard) -> None:
        """A report and a sync of each, as a client makes them."""
        for shard in shards or self.alive():
            self.report(shard)
            try:
                self.sync(shard)
            except Rejected:
                continue

    def rounds(self, number: int, seconds: float = 1.0) -> None:
        for _ in range(number):
            self.wait(seconds)
            self.tick()
            self.round()

    def alive(self) -> list[ModelShard]:
        return [shard for shard in self.shards.values() if not shard.dead]

    def kill(self, shard: ModelShard) -> None:
        """It is dead, and a person says so."""
        shard.dead = True
        if self.book.tables.shards.get(shard.id) is not None:
            self.do(removal.remove_shard, shard.id, None)

    # -- laws ------------------------------------------------------------------------------------

    def actors(self, machine: ModelMachine) -> list[str]:
        return [shard.id for shard in self.alive() if shard.may_act(machine)]

    def owner(self, machine: ModelMachine) -> str:
        """As the rows say, once everybody has heard of them."""
        for shard in self.alive():
            row = self.book.shard(shard.id)
            if row is not None and machine.provider in row.providers:
                view = self.book.view_for(row)
                return owner_of(machine.id, machine.attribute, machine.provider, view).shard
        return ""

    def assert_one_actor(self) -> None:
        for machine in self.machines:
            actors = self.actors(machine)
            assert len(actors) <= 1, f"{machine.id} of {machine.labels} is acted on by {actors}"

    def assert_rows_are_sound(self) -> None:
        tables = self.book.tables
        draft = Draft(tables, self.now)
        holdings: list[handovers.Holding] = [
            *tables.domains.rows.values(),
            *tables.defaults.rows.values(),
        ]
        for row in holdings:
            assert row.shard or row.holders, f"{row} says nothing"
            assert row.shard not in row.holders, f"{row} waits for its own target"
            removed = [h for h in row.holders if not handovers.is_member(draft, h)]
            assert not removed or self._is_sweeping(), f"{row} waits for {removed}"

    def _is_sweeping(self) -> bool:
        return any(row.removed for row in self.book.tables.shards.rows.values())

    def settle(self, rounds: int = 60) -> None:
        """Everybody keeps reporting and syncing, and nothing stays occupied."""
        for _ in range(rounds):
            for machine in self.machines:
                machine.occupied = False
            for shard in self.shards.values():
                if shard.dead and self.book.shard(shard.id) is not None:
                    self.kill(shard)
            self.rounds(1)

    def assert_settled(self) -> None:
        tables = self.book.tables
        assert not self.book.merging
        assert [row for row in tables.domains.rows.values() if row.holders] == []
        assert [row for row in tables.defaults.rows.values() if row.holders] == []
        assert list(tables.instructions.rows.values()) == []
        for shard in self.alive():
            row = self.book.shard(shard.id)
            assert row is not None
            assert shard.ownership.revision >= self.book.revision_for(row)
        for machine in self.machines:
            owner = self.shards.get(self.owner(machine))
            attached = owner is not None and machine.provider in owner.providers
            assert self.actors(machine) == ([owner.id] if attached and owner else [])
