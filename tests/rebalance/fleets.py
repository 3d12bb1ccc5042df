"""A coordinator's book with model shards around it, and a clock that is told to go on.

What is committed is kept as a store keeps it, so that another leader can take over at any moment.
After every step no machine is owned by two shards.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from bigfleet.coordinator.book import Book
from bigfleet.coordinator.draft import Draft
from bigfleet.coordinator.keys import key_text, tables_of, value_bytes
from bigfleet.coordinator.rebalancing import quotas, sweeps, transfers
from bigfleet.coordinator.rebalancing.shortages import judged
from bigfleet.coordinator.settings import CoordinatorSettings, RebalanceSettings
from bigfleet.coordinator.tables import DomainRow, SeqRow, ShardRow, Tables, TransferRow
from bigfleet.model.coordination import SyncReply, SyncRequest, Transfer, TransferState
from bigfleet.model.coordinator_calls import AckOutcome, CoordinatorInstruction, ShardReport
from bigfleet.model.machines import Instant
from bigfleet.model.options import SECOND
from bigfleet.model.pauses import Pause, PauseScope, PauseSource
from bigfleet.model.requirements import ZONE_KEY
from tests.rebalance.model_shards import PROVIDER, Demand, ModelShard, Slot

T = TypeVar("T")
#: What the smaller store takes in one transaction.
MOST_CHANGES = 128
START: Instant = 1_000_000 * SECOND


def rules_of(base: RebalanceSettings | None = None, **changes: Any) -> RebalanceSettings:
    return replace(base or RebalanceSettings(), **changes)


@dataclass(frozen=True, slots=True)
class Move:
    at: Instant
    machine: str
    from_shard: str
    to_shard: str


class Fleet:
    def __init__(self, settings: RebalanceSettings | None = None, **machines: int) -> None:
        """Machines by shard, Idle each; a shard owns the zone of its name."""
        self.settings = CoordinatorSettings(rebalance=settings or RebalanceSettings())
        self.at = START
        self.rows: dict[str, bytes] = {}
        self.machines: dict[str, Slot] = {}
        self.shards: dict[str, ModelShard] = {}
        self.moves: list[Move] = []
        self.notes: list[str] = []
        tables = Tables()
        tables.seq.apply((), SeqRow(revision=1))
        for name in machines:
            tables.shards.apply((name,), ShardRow(name, f"{name}:7780", 1, self.at, (PROVIDER,)))
            tables.domains.apply((ZONE_KEY, name), DomainRow(ZONE_KEY, name, name))
            self.shards[name] = ModelShard(name, self.machines)
        for table in tables:
            for key, row in table.rows.items():
                self.rows[key_text(table.name, key)] = value_bytes(row)
        self.book = Book(tables_of(self.rows), self.settings, term=1)
        for name, count in machines.items():
            self.add(name, count)

    # -- setting the scene -----------------------------------------------------------------------

    def add(self, zone: str, count: int, kind: str = "m", speculative: bool = False) -> list[str]:
        sort = "slot" if speculative else kind
        ids = [f"{zone}-{sort}-{n}" for n in range(count)]
        self.machines.update({id: Slot(id, zone, kind, speculative) for id in ids})
        return ids

    def demand(self, shard: str, units: int, fingerprint: str = "web", **facts: object) -> None:
        self.shards[shard].demand[fingerprint] = Demand(units, **facts)  # type: ignore[arg-type]

    def settle(self) -> None:
        """Every shard has its view and has synced twice."""
        for _ in range(2):
            for shard in self.shards.values():
                self.talk(shard)

    def pause(self, scope: PauseScope) -> None:
        pause = Pause("p", PauseSource.RPC, scope)
        self.transact(lambda book, draft: draft.pauses.put(pause))

    def cancel(self, transfer: str, why: str = "called off by ops") -> Transfer:
        return self.transact(lambda book, draft: transfers.cancel(book, draft, transfer, why))

    # -- time ------------------------------------------------------------------------------------

    def run(self, seconds: int, every: int = 10, rounds: int = 4) -> None:
        """Cycles every second; reports, syncs and sweeps every so many.

        A shard that something waits for talks again at once, so many rounds at most.
        """
        for _ in range(seconds):
            self.at += SECOND
            for shard in self.shards.values():
                shard.run_cycle(self.at)
            if (self.at // SECOND) % every == 0:
                for shard in self.shards.values():
                    self.talk(shard, rounds)
                self.sweep()
            self.check()

    def run_until(self, state: TransferState, seconds: int = 300) -> Transfer:
        """One message of each shard at a time, until the newest transfer is there."""
        for _ in range(seconds):
            newest = self.newest()
            if newest is not None and newest.state is state:
                return newest
            self.run(1, rounds=1)
        raise AssertionError(f"no transfer became {state.label}: {self.newest()}; {self.notes}")

    def second(self) -> None:
        """What a leader does about transfers between two sweeps."""
        self.transact(sweeps.settle)

    def sweep(self) -> None:
        self.transact(sweeps.sweep)

    # -- messages --------------------------------------------------------------------------------

    def talk(self, shard: ModelShard, rounds: int = 4, lost: str = "") -> None:
        """Reports and syncs; `lost`: the message that gets lost, if one does."""
        for _ in range(rounds):
            if not self.report(shard, lost) or not self.sync(shard, lost):
                return

    def report(self, shard: ModelShard, lost: str = "") -> bool:
        told = shard.report(self.at)
        if lost == "report":
            return False
        instructions = self.transact(lambda book, draft: on_report(book, draft, told))
        if lost == "report reply":
            return False
        shard.acks.clear()
        for instruction in instructions:
            shard.obey(instruction, self.at)
            self.check()
        return True

    def sync(self, shard: ModelShard, lost: str = "") -> bool:
        request = shard.sync(self.at)
        if lost == "sync":
            return False
        reply, again = self.transact(lambda book, draft: on_sync(book, draft, request))
        row = self.book.shard(shard.name)
        assert row is not None
        if request.ownership_revision < self.book.revision_for(row):
            reply = replace(reply, ownership=self.book.view_for(row))
        if lost == "sync reply":
            return False
        shard.take(reply, self.at)
        self.check()
        return again

    # -- the store -------------------------------------------------------------------------------

    def transact(self, operation: Callable[[Book, Draft], T]) -> T:
        draft = Draft(self.book.tables, self.at)
        result = operation(self.book, draft)
        changes = draft.changes()
        assert len(changes) <= MOST_CHANGES
        for (machine,), row in draft.overrides.changed.items():
            before = self.book.tables.overrides.get(machine)
            if row is not None and (before is None or before.shard != row.shard):
                home = before.shard if before is not None else row.home
                self.moves.append(Move(self.at, machine, home, row.shard))
        for change in changes:
            if change.value is None:
                self.rows.pop(change.key, None)
            else:
                self.rows[change.key] = change.value
        self.book.committed(draft)
        self.notes += [note.text for note in draft.notes]
        return result

    def fail_over(self) -> None:
        """Another leader: what was committed, and nothing else."""
        self.book = Book(tables_of(self.rows), self.settings, self.book.term + 1)

    def turn_off(self) -> None:
        """What is under way ends, and nothing is begun."""
        off = rules_of(self.settings.rebalance, enabled=False)
        self.settings = replace(self.settings, rebalance=off)
        self.fail_over()

    # -- looking ---------------------------------------------------------------------------------

    def newest(self) -> Transfer | None:
        return next(iter(transfers.transfers(self.book, True, 1)), None)

    def all(self) -> list[Transfer]:
        return transfers.transfers(self.book, True, 0)

    def row(self, transfer: str) -> TransferRow:
        row = self.book.tables.transfers.get(transfer)
        assert row is not None
        return row

    def blocked(self, layer: str) -> float:
        return self.book.counts.of("rebalance_blocked", layer=layer)

    def owners(self, machine: str) -> list[str]:
        return [shard.name for shard in self.shards.values() if shard.owns(machine)]

    def check(self) -> None:
        """The law of ownership; a machine that was never in a transfer follows its domain."""
        moving = {m for row in self.book.tables.transfers.rows.values() for m in _named(row)}
        moving.update(machine for (machine,) in self.book.tables.overrides.rows)
        for machine in moving:
            owners = self.owners(machine)
            assert len(owners) <= 1, f"{machine} is owned by {owners}: {self.notes}"


def _named(row: TransferRow) -> tuple[str, ...]:
    return row.transfer.machine_ids


# -- as the membership does it, without what is not about machines -------------------------------


def on_report(book: Book, draft: Draft, report: ShardReport) -> tuple[CoordinatorInstruction, ...]:
    memory = book.memory(report.shard_id)
    memory.report, memory.heard_at = report, draft.at
    for ack in report.acks:
        rows = draft.instructions.of_first(report.shard_id)
        row = next((each for each in rows if each.instruction.id == ack.instruction_id), None)
        if row is None:
            continue
        if ack.outcome is AckOutcome.ACCEPTED:
            draft.drop_instruction(row)
            transfers.on_step_done(book, draft, row)
        elif row.attempts >= 4:
            draft.drop_instruction(row)
            transfers.on_step_failed(book, draft, row, ack.reason)
        else:
            draft.instructions.put(replace(row, attempts=row.attempts + 1))
    rows = draft.instructions.of_first(report.shard_id)
    if not book.is_syncing(report.shard_id, draft.at):
        return ()
    return tuple(row.instruction for row in sorted(rows, key=lambda each: each.sequence))


def on_sync(book: Book, draft: Draft, request: SyncRequest) -> tuple[SyncReply, bool]:
    shard, memory = request.shard_id, book.memory(request.shard_id)
    memory.sync, memory.synced_at = request, draft.at
    short = {each.fingerprint for each in request.shortfalls}
    streaks = {name: memory.streaks[name] + 1 for name in short}
    memory.streaks.clear()
    memory.streaks.update(streaks)
    rules = book.settings.rebalance
    memory.is_short_of(judged(request.shortfalls, memory.streaks, rules))
    for reply in request.offer_replies:
        transfers.on_offer_reply(book, draft, shard, reply)
    answer = SyncReply(
        book.term,
        quotas=quotas.grants(book, draft, request),
        offers=transfers.offers_for(book, draft, shard),
        transfers=transfers.transfers_for(book, draft, shard, request.held_overrides),
    )
    return answer, transfers.wants_sync(book, draft, shard)
