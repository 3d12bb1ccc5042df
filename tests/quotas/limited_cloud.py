"""Two whole shards and a whole coordinator over one provider whose regions are limited.

Everything that decides is real; lines and time are the test's. After every step no region has more
hosts than its quota says.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from bigfleet.coordinator.membership import expiries, reports, shard_sync
from bigfleet.coordinator.rebalancing import quotas, sweeps, transfers
from bigfleet.coordinator.settings import CoordinatorSettings, QuotaSettings, RebalanceSettings
from bigfleet.coordinator.tables import TransferRow
from bigfleet.model.coordination import SyncReply, SyncRequest, Transfer
from bigfleet.model.coordinator_calls import (
    AckOutcome,
    Done,
    InstructionAck,
    Refused,
    ReportReply,
    ShardReport,
)
from bigfleet.model.machines import Instant
from bigfleet.model.options import SECOND
from bigfleet.model.ownership import MachineOverride
from bigfleet.model.provider_calls import MachineRecord
from bigfleet.model.requirements import REGION_KEY
from bigfleet.model.settings import Seconds
from bigfleet.shard.ledgers.summaries import summary_of
from tests.coordination_model import ModelCoordinator
from tests.hazards.virtual_fleet import CLOUD, START
from tests.transfers.shards import ADDRESS, S, Shard, machine, need

T = TypeVar("T")
#: What takes minutes takes seconds.
SETTINGS = CoordinatorSettings(
    rebalance=RebalanceSettings(
        age_cycles=1,
        drain_age_cycles=2,
        cooldown=Seconds(1.0),
        cooldown_cycles=1,
        min_stay=Seconds(3.0),
        direction_lock=Seconds(1.0),
        donor_margin_machines=0,
        donor_margin_fraction=0.0,
        offer_ttl=Seconds(8.0),
        max_per_transfer=3,
        donor_rate=1.0,
        return_after=Seconds(3.0),
        decline_rest=Seconds(1.0),
        stall_rest=Seconds(2.0),
    ),
    quota=QuotaSettings(slack_machines=0, slack_fraction=0.0, takeback_after=Seconds(3.0)),
)


def hosts_and_slots(region: str, hosts: int, slots: int) -> list[MachineRecord]:
    """Hosts of it stand idle, slots may be bought."""
    label = {REGION_KEY: region}
    return [
        *(machine(f"{region}-host-{n}", labels=label) for n in range(hosts)),
        *(machine(f"{region}-slot-{n}", S.SPECULATIVE, labels=label) for n in range(slots)),
    ]


class JoinedShard(Shard):
    """A shard that is told what it owns by a real coordinator."""

    def __init__(self, name: str, shelf: dict[str, MachineRecord], at: Instant) -> None:
        self.done: set[str] = set()
        self.acks: dict[str, InstructionAck] = {}
        self.merging = False
        super().__init__(shelf.values(), name=name, at=at)
        self.shelf = shelf

    def view(self, *rows: MachineOverride, transfers: Iterable[Transfer] = ()) -> None:
        """There is none before the first sync."""

    # -- what it says and is told ----------------------------------------------------------------

    def told_report(self) -> ShardReport:
        cycle = self.state.decision_loop.number
        summary = summary_of(self.state.parts.machines.inventory.snapshot(), ADDRESS)
        acks = tuple(self.acks.values())
        return ShardReport(self.name, cycle, self.at, 1, f"{self.name}:7780", summary, (), acks)

    def take_report(self, reply: ReportReply, sent: ShardReport) -> None:
        for ack in sent.acks:
            self.acks.pop(ack.instruction_id, None)
        for each in reply.instructions:
            became = Done() if each.id in self.done else self.told(each)
            if isinstance(became, Done):
                self.done.add(each.id)
                self.acks[each.id] = InstructionAck(each.id, AckOutcome.ACCEPTED)
            elif isinstance(became, Refused):
                self.acks[each.id] = InstructionAck(each.id, AckOutcome.FAILED, became.why)

    def told_sync(self) -> SyncRequest:
        shortfalls = self.state.parts.shortfalls.details(100)
        return self.state.coordination.request(self.at, self.merging, shortfalls)

    def take_answer(self, reply: SyncReply, sent: SyncRequest) -> None:
        self.merging = reply.merging
        for table, key, row in self.state.coordination.rows_of(reply, sent):
            self.disk.setdefault(table, {})[key] = row
        self._obey(self.state.take_sync(reply, sent, self.at))


class LimitedCloud:
    def __init__(self, totals: Mapping[str, int], records: list[MachineRecord]) -> None:
        """shard-a is the first, so everything is its own."""
        self.totals = totals
        self.at = START
        self.shelf = {record.id: record for record in records}
        self.coordinator = ModelCoordinator(SETTINGS)
        for region, total in totals.items():
            self.do(quotas.set_quota, CLOUD, region, total)
        self.shards: dict[str, JoinedShard] = {}
        for name in ("shard-a", "shard-b"):
            self.shards[name] = shard = JoinedShard(name, self.shelf, self.at)
            # One provider: what one of them began there ends for both.
            shard._due = self.shards["shard-a"]._due
            self.round(name)
        self.second()

    # -- time and demand -------------------------------------------------------------------------

    def second(self) -> None:
        """A cycle of every shard, and what a leader does once a second."""
        self.at += SECOND
        for shard in self.shards.values():
            shard.run(1)
            self.check()
        for duty in (expiries.tick, quotas.tick, sweeps.settle):
            self.do(duty)

    def sweep(self) -> None:
        self.do(sweeps.sweep)

    def wants(self, name: str, machines: int, priority: int = 100) -> None:
        cluster = f"of-{name}"
        self.shards[name].report(cluster, need(cluster, machines, priority))

    # -- lines -----------------------------------------------------------------------------------

    def round(self, name: str) -> None:
        self.report(name)
        self.sync(name)

    def report(self, name: str, *, answered: bool = True) -> None:
        shard = self.shards[name]
        sent = shard.told_report()
        reply = self.do(reports.on_report, sent)
        if answered:
            shard.take_report(reply, sent)

    def sync(self, name: str, *, answered: bool = True) -> None:
        shard = self.shards[name]
        sent = shard.told_sync()
        reply = self.do(shard_sync.on_sync, sent)
        reply = shard_sync.finish_sync(self.coordinator.book, sent, reply)
        if answered:
            shard.take_answer(reply, sent)

    def do(self, operation: Callable[..., T], *args: object) -> T:
        return self.coordinator.transact(self.at, lambda book, draft: operation(book, draft, *args))

    # -- looking ---------------------------------------------------------------------------------

    def open_transfers(self) -> list[Transfer]:
        return transfers.transfers(self.coordinator.book, False, 0)

    def moved(self) -> int:
        """Transfers that were granted."""
        return sum(1 for row in self.rows() if row.granted_at is not None)

    def rows(self) -> list[TransferRow]:
        return list(self.coordinator.book.tables.transfers.rows.values())

    def hosts(self) -> Counter[str]:
        return Counter(
            record.labels[REGION_KEY]
            for record in self.shelf.values()
            if record.state is not S.SPECULATIVE
        )

    def check(self) -> None:
        for region, count in self.hosts().items():
            assert count <= self.totals[region], f"{region}: {count} hosts"
