"""A shard in virtual time that does what a scripted coordinator says, and may be started anew."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from bigfleet.model.coordination import (
    OfferReply,
    OfferRequest,
    QuotaGrant,
    SyncReply,
    SyncRequest,
    Transfer,
    TransferState,
    TransferTier,
    adopt_id,
    drain_id,
    release_id,
)
from bigfleet.model.coordinator_calls import CoordinatorInstruction, InstructionKind, Obeyed
from bigfleet.model.machines import CapacityType, Host, Instant, MachineState
from bigfleet.model.memory import Reservation
from bigfleet.model.needs import Need
from bigfleet.model.options import SECOND
from bigfleet.model.ownership import MachineOverride, OwnershipView
from bigfleet.model.pauses import Pause
from bigfleet.model.penalties import bucket_of_dollars
from bigfleet.model.profiles import Profile
from bigfleet.model.provider_calls import MachineRecord
from bigfleet.model.resources import Resources
from bigfleet.model.shard_views import StorySource
from bigfleet.shard.coordination.owned_machines import KEY, ownership_of
from bigfleet.shard.cycle import CycleInput, deliberate
from bigfleet.shard.effects import COORDINATION, Stored
from bigfleet.shard.instructions import Instruction, Persist
from bigfleet.shard.settings import ShardSettings
from tests.hazards.virtual_fleet import CLOUD, START, VirtualFleet

ADDRESS = "cloud:9000"
UNIT = Resources.parse({"cpu": "8"})
S = MachineState


def machine(
    name: str,
    state: MachineState = S.IDLE,
    *,
    cluster: str = "",
    price: float = 1.0,
    capacity_type: CapacityType = CapacityType.BARE_METAL,
    cpu: str = "8",
    labels: Mapping[str, str] | None = None,
) -> MachineRecord:
    return MachineRecord(
        name,
        state,
        Host() if state is S.SPECULATIVE else Host(CLOUD, f"host-of-{name}"),
        capacity_type=capacity_type,
        resources={"cpu": cpu},
        labels=dict(labels or {}),
        price_per_hour=price,
        cluster=cluster,
    )


def idle(count: int, prefix: str = "m") -> list[MachineRecord]:
    return [machine(f"{prefix}-{number:02d}") for number in range(count)]


def profile(priority: int) -> Profile:
    return Profile.of([], priority=priority)


def need(cluster: str, machines: int, priority: int) -> Need:
    return Need(cluster, profile(priority), UNIT.times(machines), UNIT)


def offer(
    machines: int = 1,
    *,
    transfer: str = "1-1",
    tier: TransferTier = TransferTier.IDLE,
    priority: int = 1000,
    most: int = 64,
    address: str = ADDRESS,
) -> OfferRequest:
    """Asks for so many machines."""
    return OfferRequest(
        transfer, tier, (), UNIT, UNIT.times(machines), priority, most, address, 60.0
    )


def moving(
    state: TransferState,
    *machines: str,
    transfer: str = "1-1",
    tier: TransferTier = TransferTier.IDLE,
    source: str = "shard-a",
    target: str = "shard-b",
    priority: int = 1000,
) -> Transfer:
    return Transfer(
        transfer,
        tier,
        source,
        target,
        state,
        machines,
        profile(priority).fingerprint if tier is not TransferTier.RETURN else "",
        priority,
        reason="shard-b is short",
    )


def release(*machines: str, transfer: str = "1-1", slots: bool = False) -> CoordinatorInstruction:
    return _step(release_id(transfer), machines, slots)


def adopt(*machines: str, transfer: str = "1-1", slots: bool = False) -> CoordinatorInstruction:
    return _step(adopt_id(transfer), machines, slots)


def drain(*machines: str, transfer: str = "1-1", priority: int = 1000) -> CoordinatorInstruction:
    return CoordinatorInstruction(
        drain_id(transfer),
        InstructionKind.CROSS_SHARD_DRAIN,
        machine_ids=machines,
        preemptor_priority=priority,
    )


def _step(name: str, machines: tuple[str, ...], slots: bool) -> CoordinatorInstruction:
    kind = InstructionKind.REASSIGN_SPECULATIVE if slots else InstructionKind.TRANSFER_OWNERSHIP
    ends = ("", "") if slots else ("shard-a", "shard-b")
    return CoordinatorInstruction(
        name, kind, machine_ids=machines, from_shard=ends[0], to_shard=ends[1]
    )


class Shard(VirtualFleet):
    """shard-a owns the provider unless `owner` says otherwise."""

    def __init__(
        self,
        records: Iterable[MachineRecord],
        *,
        name: str = "shard-a",
        owner: str = "shard-a",
        drain_seconds: Mapping[str, int] | None = None,
        settings: ShardSettings | None = None,
        disk: Mapping[str, Mapping[str, bytes]] | None = None,
        at: Instant = START,
    ) -> None:
        self.name = name
        self.owner = owner
        self._slow = drain_seconds or {}
        self._own_settings = replace(settings or ShardSettings(), id=name)
        #: What reached it, by table and key.
        self.disk: dict[str, dict[str, bytes]] = {t: dict(r) for t, r in (disk or {}).items()}
        self.revision = 0
        #: In force at the coordinator.
        self.pauses: tuple[Pause, ...] = ()
        self.grants: tuple[QuotaGrant, ...] = ()
        #: Whether operators do what they are asked.
        self.polite = True
        #: Dollars an interruption costs the shortfall that offers are asked for.
        self.penalty_dollars = 0.0
        #: Rows of machines that were moved, by machine.
        self.overrides: dict[str, MachineOverride] = {}
        stored: Stored = {table: dict(rows) for table, rows in self.disk.items()}
        owned, _ = ownership_of(name, stored.get(COORDINATION, {}).get(KEY))
        super().__init__(
            records, self._slow, self._own_settings, ownership=owned, stored=stored, at=at
        )
        self._obey(self.state.taken())
        if owned.view is None:
            self.view()
            self.run(1)

    def restarted(self) -> "Shard":
        """Another life of the same shard, before any call."""
        again = Shard(
            self.shelf.values(),
            name=self.name,
            owner=self.owner,
            drain_seconds=self._slow,
            settings=self._own_settings,
            disk=self.disk,
            at=self.at,
        )
        again.revision, again.overrides = self.revision, self.overrides
        again.grants = self.grants
        again._due = dict(self._due)
        return again

    # -- the coordinator -------------------------------------------------------------------------

    def sync(self, *, transfers: Iterable[Transfer] = (), **said: Any) -> SyncRequest:
        """One sync: what the shard said, and what it was answered."""
        coordination = self.state.coordination
        request = coordination.request(self.at, False, self.state.parts.shortfalls.details(100))
        told = SyncReply(1, None, self.grants, self.pauses, transfers=tuple(transfers))
        reply = replace(told, **said)
        for table, key, row in coordination.rows_of(reply, request):
            self.disk.setdefault(table, {})[key] = row
        self._obey(self.state.take_sync(reply, request, self.at))
        return request

    def view(self, *rows: MachineOverride, transfers: Iterable[Transfer] = ()) -> None:
        """A newer view, with these rows beside those of before."""
        self.revision += 1
        self.overrides |= {row.machine: row for row in rows}
        seen = OwnershipView.of(
            self.revision,
            overrides=self.overrides.values(),
            default_owners={ADDRESS: self.owner},
        )
        self.sync(transfers=transfers, ownership=seen)

    def told(self, instruction: CoordinatorInstruction) -> Obeyed:
        became, asked = self.state.obey(instruction, self.at)
        self._obey(asked)
        return became

    def asked_for(self, request: OfferRequest, *machines: str) -> OfferReply:
        """The answer to an offer, as the next sync carries it."""
        self.sync(offers=(request,), transfers=[self._offered(request, machines)])
        return self.answer(request, *machines)

    def answer(self, request: OfferRequest, *machines: str) -> OfferReply:
        """The same again."""
        said = self.sync(offers=(request,), transfers=[self._offered(request, machines)])
        return next(each for each in said.offer_replies if each.transfer == request.transfer)

    def wait(self, seconds: int) -> None:
        """Much time passes in which nothing happens."""
        self.at += (seconds - 1) * SECOND
        self.run(1)

    def finish(self, given: CycleInput) -> None:
        """The end of a cycle that was begun."""
        thought = deliberate(given, map, lambda: 0.0)
        self._obey(self.state.end_cycle(thought, self.at, 0.0))

    def fails(self, machine_id: str, why: str) -> None:
        """Its provider says so."""
        self._due.pop(machine_id, None)
        record = self.shelf[machine_id]
        self.shelf[machine_id] = replace(record, state=S.FAILED, last_error=why)

    # -- looking ---------------------------------------------------------------------------------

    @property
    def reservations(self) -> Mapping[str, Reservation]:
        return self.state.decision_loop.memory.reservations

    def has(self, machine_id: str) -> bool:
        return machine_id in self.state.parts.machines

    def story(self, machine_id: str) -> list[str]:
        """What the coordinator did to it."""
        events = self.state.effects.stories.of(machine_id)
        return [event.text for event in events if event.source is StorySource.COORDINATOR]

    def _read(self, session: int) -> None:
        if self.polite:
            super()._read(session)

    def _list(self) -> None:
        """Taken over whole, as a driver does it."""
        super()._list()
        while self.state.continue_list(CLOUD):
            self._obey(self.state.taken())

    def _end_due(self) -> None:
        super()._end_due()
        for name, record in self.shelf.items():
            if record.state is S.IDLE and record.host == Host():
                self.shelf[name] = replace(record, host=Host(CLOUD, f"host-of-{name}"))

    def _offered(self, request: OfferRequest, machines: tuple[str, ...]) -> Transfer:
        wanted = moving(
            TransferState.OFFERED,
            *machines,
            transfer=request.transfer,
            tier=request.tier,
            priority=request.priority,
        )
        bucket = bucket_of_dollars(self.penalty_dollars)
        costly = Profile.of([], priority=request.priority, interruption_bucket=bucket)
        return replace(wanted, fingerprint=costly.fingerprint)

    def _obey(self, instructions: Iterable[Instruction]) -> None:
        asked = list(instructions)
        for each in asked:
            if isinstance(each, Persist):
                rows = self.disk.setdefault(each.table, {})
                rows.pop(each.key, None)
                if each.value is not None:
                    rows[each.key] = each.value
        super()._obey(asked)
