"""Small shards of whole machines, each good for one unit of demand: as a donor and a receiver are.

They keep what a shard persists (its view, its marks, what it has done) and obey what it must obey;
everything else about a shard is left out. `owns` is the real function that real shards ask.
"""

from dataclasses import dataclass, field, replace

from bigfleet.model.coordination import (
    OfferReply,
    OfferRequest,
    ProviderEntry,
    QuotaGrant,
    QuotaUsage,
    ShortfallDetail,
    SyncReply,
    SyncRequest,
    Transfer,
    TransferState,
    TransferTier,
    transfer_of,
)
from bigfleet.model.coordinator_calls import (
    AckOutcome,
    CoordinatorInstruction,
    InstructionAck,
    InstructionKind,
    ShardReport,
)
from bigfleet.model.machines import Instant
from bigfleet.model.options import SECOND
from bigfleet.model.ownership import MachineOverride, Ownership, owner_of
from bigfleet.model.requirements import INSTANCE_TYPE_KEY, ZONE_KEY, Requirement
from bigfleet.model.resources import Resources
from bigfleet.model.shard_views import ShardSummary

PROVIDER = "sim:9000"
NAME, REGION = "sim", "north"
#: What one machine holds, and one unit of demand asks for.
UNIT = Resources.of({"cpu": 1000})


@dataclass(slots=True)
class Slot:
    """A machine of the provider, of any owner."""

    id: str
    zone: str
    instance_type: str = "m"
    #: A slot rather than a host.
    speculative: bool = False

    def attribute(self, key: str) -> str | None:
        return {ZONE_KEY: self.zone, INSTANCE_TYPE_KEY: self.instance_type}.get(key)

    def meets(self, requirements: tuple[Requirement, ...]) -> bool:
        return all(r.met_by(self.attribute(r.key)) for r in requirements)


@dataclass(slots=True)
class Demand:
    units: int
    priority: int = 100
    requirements: tuple[Requirement, ...] = ()
    same: bool = False


@dataclass(slots=True)
class ModelShard:
    name: str
    machines: dict[str, Slot]
    epoch: int = 1
    cycle: int = 0
    #: By fingerprint.
    demand: dict[str, Demand] = field(default_factory=dict)
    ages: dict[str, int] = field(default_factory=dict)
    #: Fingerprints by the machines that serve them.
    used: dict[str, str] = field(default_factory=dict)
    #: Machines kept for a transfer, and until when.
    reserved: dict[str, tuple[str, Instant]] = field(default_factory=dict)
    answers: dict[str, OfferReply] = field(default_factory=dict)
    #: Machines that drain for a transfer, and until when.
    draining: dict[str, tuple[tuple[str, ...], Instant]] = field(default_factory=dict)
    transfers: dict[str, Transfer] = field(default_factory=dict)
    done: set[str] = field(default_factory=set)
    acks: list[InstructionAck] = field(default_factory=list)
    quotas: dict[tuple[str, str], QuotaGrant] = field(default_factory=dict)
    wanted_slots: int = 0
    drain_seconds: float = 30.0
    #: Refuses every release, as a shard does whose machines are taken.
    stubborn: bool = False
    #: Keeps its reservation and says nothing.
    mute: bool = False
    idle_since: dict[str, Instant] = field(default_factory=dict)
    ownership: Ownership = field(init=False)
    _owned: tuple[Ownership | None, int, list[str]] = (None, 0, [])

    def __post_init__(self) -> None:
        self.ownership = Ownership(self.name, everything=False)

    # -- what it has -----------------------------------------------------------------------------

    def owns(self, machine: str) -> bool:
        return self.ownership.owns(machine, self.machines[machine].attribute, PROVIDER)

    def owned(self) -> list[str]:
        now, known = self.ownership, len(self.machines)
        if self._owned[0] is not now or self._owned[1] != known:
            self._owned = (now, known, [m for m in self.machines if self.owns(m)])
        return self._owned[2]

    def free(self) -> list[str]:
        return [m for m in self.owned() if m not in self.used and m not in self.reserved]

    def short(self, fingerprint: str) -> int:
        serving = sum(1 for each in self.used.values() if each == fingerprint)
        return max(0, self.demand[fingerprint].units - serving)

    # -- a second --------------------------------------------------------------------------------

    def run_cycle(self, at: Instant) -> None:
        self.cycle += 1
        owned = set(self.owned())
        self.used = {m: f for m, f in self.used.items() if m in owned and f in self.demand}
        self.reserved = {m: r for m, r in self.reserved.items() if r[1] > at and m in owned}
        self._drain(at)
        for fingerprint, demand in sorted(
            self.demand.items(), key=lambda pair: (-pair[1].priority, pair[0])
        ):
            self._serve(fingerprint, demand)
        self.ages = {f: self.ages.get(f, 0) + 1 for f in self.demand if self.short(f)}
        idle = [m for m in self.owned() if m not in self.used]
        self.idle_since = {m: self.idle_since.get(m, at) for m in idle}

    def _serve(self, fingerprint: str, demand: Demand) -> None:
        serving = [m for m, f in self.used.items() if f == fingerprint]
        for machine in serving[demand.units :]:
            del self.used[machine]
        fitting = [m for m in self.free() if self.machines[m].meets(demand.requirements)]
        for machine in fitting[: max(0, demand.units - len(serving))]:
            self.used[machine] = fingerprint
            self.machines[machine].speculative = False

    def _drain(self, at: Instant) -> None:
        for transfer, (machines, until) in list(self.draining.items()):
            if until <= at:
                del self.draining[transfer]
                for machine in machines:
                    self.used.pop(machine, None)
                    self.reserved[machine] = (transfer, at + 60 * SECOND)
                self.answers[transfer] = OfferReply(transfer, machines, drained=True)

    # -- what it says ----------------------------------------------------------------------------

    def report(self, at: Instant) -> ShardReport:
        owned = self.owned()
        types: dict[str, int] = {}
        zones: dict[str, int] = {}
        for machine in owned:
            slot = self.machines[machine]
            types[slot.instance_type] = types.get(slot.instance_type, 0) + 1
            zones[slot.zone] = zones.get(slot.zone, 0) + 1
        free = sum(1 for machine in owned if machine not in self.used)
        summary = ShardSummary(len(owned), free, types, zones, PROVIDER)
        return ShardReport(
            self.name,
            self.cycle,
            at,
            self.epoch,
            f"{self.name}:7780",
            summary,
            (),
            tuple(self.acks),
        )

    def sync(self, at: Instant) -> SyncRequest:
        view = self.ownership.view
        held = [
            row
            for row in (view.overrides.values() if view is not None else ())
            if row.shard == self.name and not self._changes_nothing(row)
        ]
        marks = self.ownership.released.items()
        guests = [row.machine for row in held if row.home != self.name]
        return SyncRequest(
            self.name,
            self.epoch,
            self.cycle,
            self.ownership.revision,
            providers=(ProviderEntry(NAME, PROVIDER),),
            shortfalls=tuple(self._shortfall(f) for f in sorted(self.ages)),
            quota_usage=self._usage(),
            offer_replies=() if self.mute else tuple(self.answers.values()),
            returnable=tuple(m for m in guests if m in self.idle_since and m not in self.reserved),
            held_overrides=(*held, *(MachineOverride(m, "", self.name, t) for m, t in marks)),
        )

    def _changes_nothing(self, row: MachineOverride) -> bool:
        assert self.ownership.view is not None
        if row.home != self.name:
            return False
        others = replace(self.ownership.view, overrides={})
        attribute = self.machines[row.machine].attribute
        return owner_of(row.machine, attribute, PROVIDER, others).shard == self.name

    def _shortfall(self, fingerprint: str) -> ShortfallDetail:
        demand = self.demand[fingerprint]
        return ShortfallDetail(
            fingerprint,
            demand.requirements,
            UNIT,
            UNIT.times(self.short(fingerprint)),
            demand.priority,
            self.ages[fingerprint],
            demand.same,
        )

    def _usage(self) -> tuple[QuotaUsage, ...]:
        grant = self.quotas.get((NAME, REGION))
        in_use = sum(1 for m in self.owned() if not self.machines[m].speculative)
        allocated = grant.allocated if grant is not None else 0
        return (QuotaUsage(NAME, REGION, allocated, in_use, self.wanted_slots, 100),)

    # -- what it is told -------------------------------------------------------------------------

    def take(self, reply: SyncReply, at: Instant) -> None:
        self.transfers = {each.id: each for each in reply.transfers}
        if reply.ownership is not None:
            self.ownership = self.ownership.newer(reply.ownership, {PROVIDER})
        marks = set(self.ownership.released.values())
        for transfer in reply.transfers:
            if transfer.state is TransferState.CANCELLED and transfer.id in marks:
                self.ownership = self.ownership.readopting(transfer.id)
        for name in self.answers.keys() - {each.transfer for each in reply.offers}:
            known = self.transfers.get(name)
            if known is None or known.state is not TransferState.DRAINING:
                del self.answers[name]
        self.quotas = {(each.provider, each.region): each for each in reply.quotas}
        for request in reply.offers:
            if request.transfer not in self.answers:
                self.answers[request.transfer] = self._answer(request, at)

    def _answer(self, request: OfferRequest, at: Instant) -> OfferReply:
        chosen = self._candidates(request)[: request.max_machines]
        if request.tier is not TransferTier.RETURN:
            chosen = chosen[: -(-request.deficit["cpu"] // UNIT["cpu"])]
        if not chosen:
            return OfferReply(request.transfer, declined_reason="nothing that fits is free")
        if request.tier is not TransferTier.DRAIN:
            until = at + round(request.reserve_seconds * SECOND)
            self.reserved.update(dict.fromkeys(chosen, (request.transfer, until)))
        regions = tuple(REGION for _ in chosen)
        return OfferReply(request.transfer, tuple(chosen), regions=regions)

    def _candidates(self, request: OfferRequest) -> list[str]:
        if request.tier is TransferTier.RETURN:
            named = self.transfers[request.transfer].machine_ids
            return [machine for machine in named if machine in self.free()]
        if request.tier is TransferTier.DRAIN:
            leaving = {m for machines, _ in self.draining.values() for m in machines}
            lower = [
                m
                for m, f in self.used.items()
                if self.demand[f].priority < request.priority and m not in leaving
            ]
            return [m for m in lower if self.machines[m].meets(request.requirements)]
        slots = request.tier is TransferTier.SPECULATIVE
        fitting = [
            m
            for m in self.free()
            if self.machines[m].speculative is slots
            and self.machines[m].meets(request.requirements)
        ]
        part = -(-len(fitting) * request.keep_per_mille // 1000)
        margin = max(request.keep_machines, part)
        return fitting[: max(0, len(fitting) - margin)]

    def obey(self, instruction: CoordinatorInstruction, at: Instant) -> None:
        """What it has done before it acknowledges again; what it cannot tell yet it lets wait."""
        if instruction.id in self.done:
            self.acks.append(InstructionAck(instruction.id, AckOutcome.ACCEPTED, "again"))
            return
        step = {"drain": self._obey_drain, "release": self._release, "adopt": self._adopt}
        outcome = step[transfer_of(instruction.id)[1]](instruction, at)
        if outcome is AckOutcome.ACCEPTED:
            self.done.add(instruction.id)
        if outcome is not None:
            self.acks.append(InstructionAck(instruction.id, outcome, "as told"))

    def _obey_drain(self, told: CoordinatorInstruction, at: Instant) -> AckOutcome | None:
        assert told.kind is InstructionKind.CROSS_SHARD_DRAIN
        transfer = transfer_of(told.id)[0]
        if any(machine not in self.used for machine in told.machine_ids):
            return AckOutcome.FAILED
        self.draining[transfer] = (told.machine_ids, at + round(self.drain_seconds * SECOND))
        self.answers.pop(transfer, None)
        return AckOutcome.ACCEPTED

    def _release(self, told: CoordinatorInstruction, at: Instant) -> AckOutcome | None:
        transfer = transfer_of(told.id)[0]
        known = self.transfers.get(transfer)
        if known is None or known.state is TransferState.OFFERED:
            return None
        if known.state is not TransferState.RELEASING or self.stubborn:
            return AckOutcome.FAILED
        if any(not self.owns(m) or m in self.used for m in told.machine_ids):
            return AckOutcome.FAILED
        if any(self.reserved.get(m, (transfer, 0))[0] != transfer for m in told.machine_ids):
            return AckOutcome.FAILED
        for machine in told.machine_ids:
            self.reserved.pop(machine, None)
        self.ownership = self.ownership.releasing(told.machine_ids, transfer)
        return AckOutcome.ACCEPTED

    def _adopt(self, told: CoordinatorInstruction, at: Instant) -> AckOutcome | None:
        return AckOutcome.ACCEPTED if all(map(self.owns, told.machine_ids)) else None
