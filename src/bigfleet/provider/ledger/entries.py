"""One machine as the provider remembers it, and every way it may change.

Each function takes an entry and returns the next one; nothing is changed in place, so that a write
that fails leaves no trace. The record is what callers see; the standing is what only we need.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from bigfleet.model.machines import Host as HostRef
from bigfleet.model.machines import Instant, MachineState
from bigfleet.model.provider_calls import ConfigureCall, MachineRecord, Mutation
from bigfleet.provider.backend import Created, Host, Instance, OfferingKey, Price
from bigfleet.provider.ledger.transitions import Kind, Reason, kind_passing, last_error_of

HOSTNAME = "kubernetes.io/hostname"
PROVIDER = "bigfleet.lucy.sh/provider"
REGION = "topology.kubernetes.io/region"

_NOTHING: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True)
class Standing:
    """What the provider remembers about a machine beside its record."""

    #: Kind -> id of the last accepted operation of that kind in this life of the host.
    operations: dict[str, str] = field(default_factory=dict)
    #: Who mutated the machine last.
    shard_id: str = ""
    node_name: str = ""
    #: A shape the host turned out to have; it wins over the slot's while the host lives.
    resources: dict[str, str] | None = None
    allocatable: dict[str, str] | None = None
    #: What the slot says instead, for when the host is gone.
    slot_resources: dict[str, str] | None = None
    slot_allocatable: dict[str, str] | None = None
    #: When the substrate will take the host back; 0: no notice.
    notice_at: Instant = 0
    #: The probability before the notice.
    usual_probability: float = 0.0
    failed_at: Instant = 0
    #: How often the healer has tried since `failed_at`.
    heals: int = 0
    #: What the substrate calls this machine where it got a new id; empty: the same.
    substrate_id: str = ""


FRESH = Standing()


@dataclass(frozen=True, slots=True)
class Entry:
    record: MachineRecord
    #: Place in the walk order; fixed for the life of the id.
    slot: int
    #: Of the last visible change; 0 until it is committed.
    revision: int = 0
    standing: Standing = FRESH

    @property
    def id(self) -> str:
        return self.record.id

    @property
    def substrate_id(self) -> str:
        return self.standing.substrate_id or self.record.id

    @property
    def substrate_record(self) -> MachineRecord:
        """A copy of the record for the Backend, under the id it knows: equal maps of many machines
        are one map, and an author who writes into one must not change them all.
        """
        record = self.record
        return replace(
            record,
            id=self.substrate_id,
            resources=dict(record.resources),
            labels=dict(record.labels),
            allocatable=dict(record.allocatable),
            shard_metadata=dict(record.shard_metadata),
        )

    @property
    def state(self) -> MachineState:
        return self.record.state

    @property
    def running(self) -> Kind | None:
        return kind_passing(self.record.state)

    @property
    def running_id(self) -> str:
        """The operation under way, empty where the machine rests."""
        kind = self.running
        return self.standing.operations.get(kind, "") if kind else ""

    @property
    def offering(self) -> OfferingKey:
        return offering_of(self.record)


def offering_of(record: MachineRecord) -> OfferingKey:
    return OfferingKey(record.instance_type, record.zone, record.capacity_type)


def seeded(instance: Instance, provider: str, slot: int) -> Entry:
    """The entry of an id never seen before: a slot, an Idle host, or a host found at work."""
    host = instance.host
    state = MachineState.SPECULATIVE if host is None else MachineState.IDLE
    if host is not None and instance.bound is not None:
        state = MachineState.CONFIGURED
    bound = instance.bound if state is MachineState.CONFIGURED else None
    standing = Standing(node_name=host.node_name) if host and host.node_name else FRESH
    record = MachineRecord(
        id=instance.id,
        state=state,
        host=HostRef(provider, host.ref) if host else None,
        instance_type=instance.instance_type,
        zone=instance.zone,
        capacity_type=instance.capacity_type,
        price_per_hour=float(instance.price_per_hour),
        interruption_probability=float(instance.interruption_probability),
        resources=instance.resources,
        labels=_labels(instance, provider, standing.node_name),
        allocatable=instance.allocatable,
        cluster=bound.cluster if bound else "",
        shard_metadata=bound.shard_metadata if bound else _NOTHING,
    )
    return Entry(record, slot, standing=standing)


def _labels(instance: Instance, provider: str, node_name: str) -> Mapping[str, str]:
    labels = {PROVIDER: provider, **instance.labels}
    if instance.region:
        labels.setdefault(REGION, instance.region)
    if node_name:
        labels[HOSTNAME] = node_name
    return labels


def refreshed(entry: Entry, instance: Instance, provider: str) -> Entry:
    """What a describe may change: cost, shape and labels, never state, binding or identity."""
    record, standing = entry.record, entry.standing
    labels = _labels(instance, provider, standing.node_name)
    resources = instance.resources if standing.resources is None else standing.resources
    allocatable = instance.allocatable if standing.allocatable is None else standing.allocatable
    probability = 1.0 if standing.notice_at else float(instance.interruption_probability)
    if (
        record.price_per_hour == instance.price_per_hour
        and record.interruption_probability == probability
        and record.resources == resources
        and record.allocatable == allocatable
        and record.labels == labels
    ):
        return entry
    return _with_record(
        entry,
        price_per_hour=float(instance.price_per_hour),
        interruption_probability=probability,
        resources=resources,
        allocatable=allocatable,
        labels=labels,
    )


def repriced(entry: Entry, price: Price) -> Entry:
    probability = price.interruption_probability
    if probability is None or entry.standing.notice_at:
        probability = entry.record.interruption_probability
    before = (entry.record.price_per_hour, entry.record.interruption_probability)
    if before == (price.price_per_hour, probability):
        return entry
    return _with_record(
        entry, price_per_hour=price.price_per_hour, interruption_probability=probability
    )


def accepted(entry: Entry, kind: Kind, call: Mutation, operation_id: str) -> Entry:
    """The machine enters the transitional state; a binding appears with its Configure."""
    operations = {**entry.standing.operations, kind.value: operation_id}
    shard_id = call.token.shard_id or entry.standing.shard_id
    standing = replace(entry.standing, operations=operations, shard_id=shard_id)
    if isinstance(call, ConfigureCall):
        record = replace(
            entry.record,
            state=kind.passing,
            cluster=call.cluster_id,
            shard_metadata=dict(call.shard_metadata),
        )
    else:
        record = replace(entry.record, state=kind.passing)
    return replace(entry, record=record, standing=standing)


def completed(entry: Entry, kind: Kind, provider: str, created: Created | None = None) -> Entry:
    """The work succeeded: the machine rests at the kind's target."""
    match kind:
        case Kind.CREATE:
            assert created is not None
            return _hosted(entry, created, provider)
        case Kind.CONFIGURE:
            return _with_record(entry, state=MachineState.CONFIGURED)
        case Kind.DRAIN:
            return _with_record(entry, state=MachineState.IDLE, cluster="", shard_metadata=_NOTHING)
        case Kind.DELETE:
            operations = entry.standing.operations
            kept = {k: v for k, v in operations.items() if k == Kind.DELETE}
            return _as_slot(entry, kept)


def _hosted(entry: Entry, created: Created, provider: str) -> Entry:
    host, record = created.host, entry.record
    labels = {**record.labels, HOSTNAME: host.node_name} if host.node_name else record.labels
    resources = None if created.resources is None else dict(created.resources)
    allocatable = None if created.allocatable is None else dict(created.allocatable)
    record = replace(
        record,
        state=MachineState.IDLE,
        host=HostRef(provider, host.ref),
        labels=labels,
        resources=record.resources if resources is None else resources,
        allocatable=record.allocatable if allocatable is None else allocatable,
    )
    standing = replace(
        entry.standing,
        node_name=host.node_name,
        resources=resources,
        allocatable=allocatable,
        slot_resources=None if resources is None else dict(entry.record.resources),
        slot_allocatable=None if allocatable is None else dict(entry.record.allocatable),
    )
    return replace(entry, record=record, standing=standing)


def failed(entry: Entry, reason: Reason, text: str, now: Instant) -> Entry:
    """FAILED with its reason; host and binding stay as they were."""
    record = replace(
        entry.record, state=MachineState.FAILED, last_error=last_error_of(reason, text)
    )
    return replace(entry, record=record, standing=replace(entry.standing, failed_at=now, heals=0))


def noticed(entry: Entry, at: Instant) -> Entry:
    """The substrate will take the host: nothing should count on it any more."""
    if entry.standing.notice_at:
        return entry
    usual = entry.record.interruption_probability
    standing = replace(entry.standing, notice_at=max(at, 1), usual_probability=usual)
    return replace(_with_record(entry, interruption_probability=1.0), standing=standing)


def heal_tried(entry: Entry) -> Entry:
    return replace(entry, standing=replace(entry.standing, heals=entry.standing.heals + 1))


def recovered_as_slot(entry: Entry) -> Entry:
    """Out of FAILED with the host gone: as if never created."""
    return _as_slot(entry, {})


def recovered_as_idle(entry: Entry, host: Host | None, provider: str) -> Entry:
    """Out of FAILED with a clean host; history and binding are forgotten."""
    record = entry.record
    node_name = host.node_name if host and host.node_name else entry.standing.node_name
    labels = {**record.labels, HOSTNAME: node_name} if node_name else record.labels
    record = replace(
        record,
        state=MachineState.IDLE,
        host=HostRef(provider, host.ref) if host else record.host,
        labels=labels,
        last_error="",
        cluster="",
        shard_metadata=_NOTHING,
    )
    standing = replace(entry.standing, operations={}, node_name=node_name, failed_at=0, heals=0)
    return replace(entry, record=record, standing=standing)


def renamed(entry: Entry, machine_id: str, slot: int) -> Entry:
    """The same substrate object under a new id, for callers that know no way out of FAILED."""
    standing = replace(entry.standing, substrate_id=entry.substrate_id, shard_id="")
    return Entry(replace(entry.record, id=machine_id), slot, standing=standing)


def next_generation(machine_id: str) -> str:
    """`m-1` becomes `m-1-g2`, that becomes `m-1-g3`."""
    base, separator, number = machine_id.rpartition("-g")
    if separator and number.isdecimal():
        return f"{base}-g{int(number) + 1}"
    return f"{machine_id}-g2"


def _as_slot(entry: Entry, operations: dict[str, str]) -> Entry:
    record, standing = entry.record, entry.standing
    labels = {k: v for k, v in record.labels.items() if k != HOSTNAME}
    resources, allocatable = standing.slot_resources, standing.slot_allocatable
    probability = record.interruption_probability
    record = replace(
        record,
        state=MachineState.SPECULATIVE,
        host=None,
        labels=labels,
        resources=record.resources if resources is None else resources,
        allocatable=record.allocatable if allocatable is None else allocatable,
        interruption_probability=(
            standing.usual_probability if standing.notice_at else probability
        ),
        last_error="",
        cluster="",
        shard_metadata=_NOTHING,
    )
    standing = replace(
        FRESH,
        operations=operations,
        shard_id=entry.standing.shard_id,
        substrate_id=entry.standing.substrate_id,
    )
    return replace(entry, record=record, standing=standing)


def _with_record(entry: Entry, **changes: object) -> Entry:
    return replace(entry, record=replace(entry.record, **changes))  # type: ignore[arg-type]
