"""Records of the journal as bytes and back.

Machines are written by hand from parts that many share: a key frame has hundreds of thousands.
Everything else is a few messages a cycle.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from google.protobuf.message import DecodeError

from bigfleet.admin.v1alpha1 import shard_admin_pb2 as pb
from bigfleet.model.batches import Offering
from bigfleet.model.fleet import FleetMachine, Held, HeldBy, Marks
from bigfleet.model.journal import (
    FORMAT_VERSION,
    CycleOutput,
    InputChange,
    JournalBody,
    JournalEvent,
    JournalHeader,
    JournalRecord,
    Keyframe,
    TickRun,
)
from bigfleet.model.machines import Assigned, CapacityType, Host, Instant, Machine, MachineState
from bigfleet.model.needs import Need, NeedKey
from bigfleet.model.options import EngineOptions, Parking, VictimWeights
from bigfleet.model.profiles import Profile, Spread, WhenUnsatisfiable
from bigfleet.model.requirements import HOSTNAME_KEY
from bigfleet.model.shard_views import ActionView, StoryEvent
from bigfleet.v1alpha1 import capacity_pb2, provider_pb2
from bigfleet.wire import machine_views, shard_views
from bigfleet.wire.machines import length_bytes, state_of
from bigfleet.wire.needs import need_of, requirements_of, resources_message, resources_of
from bigfleet.wire.rollups import rollup_bytes

#: What a Failed machine says of itself here: no decision reads its error.
FAILED_TEXT = "failed"
_HELD_BY = {str(by): by for by in HeldBy}
#: Tags of what is written by hand.
_MACHINE = b"\x0a"
_ID, _STATE, _HOST, _LABEL, _ERROR, _CLUSTER = b"\x0a", b"\x10", b"\x1a", b"\x52", b"\x62", b"\x72"
_MACHINES, _DEMAND, _ROLLUP = b"\x12", b"\x22", b"\x12"
_STATE_OF_KEYFRAME, _KEYFRAME, _INPUT = b"\x0a", b"\x2a", b"\x32"


def _field(tag: bytes, content: bytes) -> bytes:
    return b"".join((tag, length_bytes(len(content)), content))


# -- a machine from parts that are written once ---------------------------------------------------


def offering_part(offering: Offering) -> bytes:
    return provider_pb2.Machine(
        instance_type=offering.instance_type,
        zone=offering.zone,
        capacity_type=shard_views.number(offering.capacity_type),
        price_per_hour=offering.price_per_hour,
        interruption_probability=offering.interruption_probability,
        resources=resources_message(offering.resources),
        labels=dict(offering.labels),
        allocatable=resources_message(offering.allocatable),
    ).SerializeToString(deterministic=True)


def host_part(provider: str) -> bytes:
    return _field(_HOST, provider_pb2.HostRef(provider=provider).SerializeToString())


def cluster_part(cluster: str) -> bytes:
    return _field(_CLUSTER, cluster.encode())


def node_name_part(name: str) -> bytes:
    key, value = HOSTNAME_KEY.encode(), name.encode()
    return _field(_LABEL, _field(b"\x0a", key) + _field(b"\x12", value))


def failed_part() -> bytes:
    return _field(_ERROR, FAILED_TEXT.encode())


def stamp_part(assigned: Assigned) -> bytes:
    """Beside the machine, not within it."""
    return pb.MachineRecord(
        assigned_priority=assigned.priority,
        assigned_interruption_dollars=assigned.interruption_penalty,
        assigned_reclamation_dollars=assigned.reclamation_penalty,
        assigned_fingerprint=assigned.need_fingerprint,
        assigned_group=assigned.group,
        assigned_cluster=assigned.cluster,
    ).SerializeToString()


@lru_cache(4096)
def marks_part(
    idle_since: Instant | None, held: HeldBy | None, overdue: bool, empty: bool
) -> bytes:
    """Beside the machine too."""
    return pb.MachineRecord(
        idle_since_unix_nanos=idle_since or 0,
        idle_since_known=idle_since is not None,
        unseen=held is HeldBy.UNSEEN,
        withheld=held is HeldBy.QUOTA,
        held=held or "",
        overdue=overdue,
        empty=empty,
    ).SerializeToString()


def machine_record(machine_id: str, state: int, within: bytes, beside: bytes) -> bytes:
    """`within`: parts of the machine; `beside`: its stamp and marks."""
    name = machine_id.encode()
    machine = b"".join((_ID, length_bytes(len(name)), name, _STATE, bytes((state,)), within))
    return b"".join((_MACHINE, length_bytes(len(machine)), machine, beside))


# -- whole records --------------------------------------------------------------------------------


def cluster_demand(cluster: str, needs: Sequence[Need]) -> bytes:
    """All Needs of a cluster, as one entry of an input."""
    rest = pb.ClusterDemand(
        cluster_id=cluster,
        arrival_unix_nanos=[need.arrival_unix_nanos for need in needs],
        parked=[place for place, need in enumerate(needs) if need.parked],
    ).SerializeToString()
    return rest + _field(_ROLLUP, rollup_bytes("", 0, needs))


def input_bytes(
    change: InputChange, machines: Iterable[bytes], demand: Iterable[bytes], *, keyframe: bool
) -> bytes:
    """The body of a record; `machines` and `demand` stand for those of the change."""
    rest = pb.InputDelta(
        now_unix_nanos=change.now,
        removed_machine_ids=change.removed,
        reservations=[machine_views._reservation_message(each) for each in change.reservations],
        removed_reservation_ids=change.unreserved,
        parking=_age_messages(change.parking),
        shortfall_ages=_age_messages(change.shortfall_ages),
        reported_clusters=sorted(change.reported or ()),
        reported_changed=change.reported is not None,
        input_digest=change.digest,
    ).SerializeToString()
    parts = [rest]
    for tag, entries in ((_MACHINES, machines), (_DEMAND, demand)):
        for entry in entries:
            parts += (tag, length_bytes(len(entry)), entry)
    whole = b"".join(parts)
    if keyframe:
        return _field(_KEYFRAME, _field(_STATE_OF_KEYFRAME, whole))
    return _field(_INPUT, whole)


def body_bytes(body: JournalBody) -> bytes:
    """Of any body but an input, which is made from its parts."""
    match body:
        case JournalHeader():
            record = pb.JournalRecord(header=_header_message(body))
        case CycleOutput():
            record = pb.JournalRecord(output=_output_message(body))
        case TickRun():
            record = pb.JournalRecord(
                tick_run=pb.TickRun(
                    first_cycle=body.first_cycle,
                    last_cycle=body.last_cycle,
                    last_now_unix_nanos=body.last_now,
                    step_nanos=body.steps,
                )
            )
        case ActionView():
            record = pb.JournalRecord(outcome=machine_views._action_message(body))
        case StoryEvent():
            record = pb.JournalRecord(story=shard_views.event_message(body))
        case JournalEvent():
            record = pb.JournalRecord(
                event=pb.JournalEvent(
                    kind=body.kind,
                    subject=body.subject,
                    text=body.text,
                    attributes=body.attributes,
                    peer=body.peer,
                )
            )
        case _:
            raise TypeError(f"{type(body).__name__} is written from its parts")
    return record.SerializeToString(deterministic=True)


def record_bytes(seq: int, cycle: int, at: Instant, body: bytes) -> bytes:
    return pb.JournalRecord(seq=seq, cycle=cycle, at_unix_nanos=at).SerializeToString() + body


def record_of(content: bytes) -> JournalRecord:
    """Raises ValueError, in words, where the bytes are not a record this version can read."""
    message = pb.JournalRecord()
    try:
        message.ParseFromString(content)
    except DecodeError as problem:
        raise ValueError(f"it is not a record of a journal: {problem}") from None
    return JournalRecord(message.seq, message.cycle, message.at_unix_nanos, _body_of(message))


def _body_of(message: pb.JournalRecord) -> JournalBody:
    match message.WhichOneof("body"):
        case "header":
            return _header_of(message.header)
        case "keyframe":
            return Keyframe(_change_of(message.keyframe.state))
        case "input":
            return _change_of(message.input)
        case "output":
            return _output_of(message.output)
        case "tick_run":
            run = message.tick_run
            return TickRun(
                run.first_cycle, run.last_cycle, run.last_now_unix_nanos, tuple(run.step_nanos)
            )
        case "outcome":
            return machine_views._action_of(message.outcome)
        case "story":
            return shard_views.event_of(message.story)
        case "event":
            event = message.event
            attributes = dict(event.attributes)
            return JournalEvent(event.kind, event.subject, event.text, attributes, event.peer)
        case _:
            raise ValueError("it holds nothing this version knows; was it written by a later one?")


def _output_message(output: CycleOutput) -> pb.CycleOutput:
    return pb.CycleOutput(
        actions=[machine_views._action_message(action) for action in output.actions],
        claimed_digest=output.claimed_digest,
        output_digest=output.digest,
        phase_nanos=output.nanos_of_phase,
    )


def _output_of(message: pb.CycleOutput) -> CycleOutput:
    return CycleOutput(
        tuple(map(machine_views._action_of, message.actions)),
        message.output_digest,
        message.claimed_digest,
        dict(message.phase_nanos),
    )


def _change_of(message: pb.InputDelta) -> InputChange:
    return InputChange(
        now=message.now_unix_nanos,
        machines=tuple(map(_machine_of, message.machines)),
        removed=tuple(message.removed_machine_ids),
        demand={each.cluster_id: _needs_of(each) for each in message.demand},
        reservations=tuple(map(machine_views._reservation_of, message.reservations)),
        unreserved=tuple(message.removed_reservation_ids),
        parking=_ages_of(message.parking),
        shortfall_ages=_ages_of(message.shortfall_ages),
        reported=frozenset(message.reported_clusters) if message.reported_changed else None,
        digest=message.input_digest,
    )


def _machine_of(message: pb.MachineRecord) -> FleetMachine:
    machine = message.machine
    state = state_of(machine.state)
    if state is MachineState.UNSPECIFIED:
        raise ValueError(f"machine {machine.id} has no state this version knows")
    if message.held and message.held not in _HELD_BY:
        raise ValueError(f"machine {machine.id} is held by {message.held!r}, which is unknown")
    host = Host(machine.host.provider, machine.id) if machine.HasField("host") else Host()
    return FleetMachine(
        Machine(
            id=machine.id,
            state=state,
            capacity_type=CapacityType(machine.capacity_type),
            host=host,
            cluster=machine.cluster,
            instance_type=machine.instance_type,
            zone=machine.zone,
            labels=dict(machine.labels),
            resources=resources_of(machine.resources),
            allocatable=resources_of(machine.allocatable),
            price_per_hour=machine.price_per_hour,
            interruption_probability=machine.interruption_probability,
            last_error=machine.last_error,
            assigned=Assigned(
                message.assigned_priority,
                message.assigned_interruption_dollars,
                message.assigned_reclamation_dollars,
                message.assigned_cluster,
                message.assigned_fingerprint,
                message.assigned_group,
            ),
        ),
        Marks(
            message.idle_since_unix_nanos if message.idle_since_known else None,
            Held(_HELD_BY[message.held]) if message.held else None,
            message.overdue,
            message.empty,
        ),
    )


def _needs_of(message: pb.ClusterDemand) -> tuple[Need, ...]:
    rows, arrivals = message.rollup.needs, message.arrival_unix_nanos
    if len(rows) != len(arrivals):
        raise ValueError(f"{len(arrivals)} arrivals for {len(rows)} Needs of {message.cluster_id}")
    needs = [
        replace(need_of(row, message.cluster_id, arrival), profile=_profile_of(row))
        for row, arrival in zip(rows, arrivals, strict=True)
    ]
    for place in message.parked:
        needs[place] = replace(needs[place], parked=True)
    return tuple(needs)


def _profile_of(message: capacity_pb2.CapacityNeed) -> Profile:
    """Exactly what was decided on: nothing is mended here."""
    spread = [
        Spread(each.topology_key, each.max_skew, WhenUnsatisfiable(each.when_unsatisfiable))
        for each in message.spread
    ]
    return Profile.of(
        requirements_of(message.requirements),
        spread,
        message.priority,
        message.interruption_penalty_bucket,
        message.reclamation_penalty_bucket,
    )


def _age_messages(ages: Mapping[NeedKey, int]) -> list[pb.ParkingAge]:
    return [
        pb.ParkingAge(need=machine_views._need_message(key), age_cycles=age)
        for key, age in ages.items()
    ]


def _ages_of(messages: Iterable[pb.ParkingAge]) -> dict[NeedKey, int]:
    return {machine_views._need_of(each.need): each.age_cycles for each in messages}


def _header_message(header: JournalHeader) -> pb.JournalHeader:
    return pb.JournalHeader(
        format_version=header.format_version,
        shard_id=header.shard_id,
        shard_epoch=header.epoch,
        engine_version=header.engine_version,
        engine_options=option_texts(header.options),
        created_unix_nanos=header.created_at,
        first_cycle=header.first_cycle,
    )


def _header_of(message: pb.JournalHeader) -> JournalHeader:
    if not 1 <= message.format_version <= FORMAT_VERSION:
        text = f"it has format {message.format_version}; this version reads up to {FORMAT_VERSION}"
        raise ValueError(f"{text}: read it with the version that wrote it, or a later one")
    return JournalHeader(
        message.shard_id,
        message.shard_epoch,
        message.engine_version,
        options_of(message.engine_options),
        message.created_unix_nanos,
        message.first_cycle,
        message.format_version,
    )


# -- options of the engine as texts ---------------------------------------------------------------

_HOLD = "releaseHold."


def option_texts(options: EngineOptions) -> dict[str, str]:
    """What decides; how many threads work on it does not."""
    weights, parking = options.victim_weights, options.parking
    return {
        **{f"{_HOLD}{kind.label}": repr(held) for kind, held in options.release_holds.items()},
        "victimWeight.priority": repr(weights.priority),
        "victimWeight.drain": repr(weights.drain),
        "victimWeight.interruption": repr(weights.interruption),
        "victimWeight.reclamation": repr(weights.reclamation),
        "drainSeconds": repr(options.drain_seconds),
        "reservationMarginSeconds": repr(options.reservation_margin_seconds),
        "parking.after": str(parking.after),
        "parking.probe": str(parking.probe),
        "fold": "true" if options.fold else "false",
        "clustersReady": "all" if options.clusters_ready is None else "reported",
    }


def options_of(texts: Mapping[str, str]) -> EngineOptions:
    """Raises ValueError for an option that is missing, unknown or not a number."""
    left = dict(texts)

    def number(name: str) -> float:
        if name not in left:
            raise ValueError(f"the option {name} is missing")
        return float(left.pop(name))

    kinds = {kind.label: kind for kind in CapacityType}
    holds = {kinds[n.removeprefix(_HOLD)]: number(n) for n in texts if n.startswith(_HOLD)}
    terms = ("priority", "drain", "interruption", "reclamation")
    weights = [number(f"victimWeight.{term}") for term in terms]
    options = EngineOptions(
        clusters_ready=None if left.pop("clustersReady", "all") == "all" else frozenset(),
        release_holds=holds,
        victim_weights=VictimWeights(*weights),
        drain_seconds=number("drainSeconds"),
        reservation_margin_seconds=number("reservationMarginSeconds"),
        parking=Parking(int(number("parking.after")), int(number("parking.probe"))),
        fold=left.pop("fold", "true") == "true",
    )
    if left:
        raise ValueError(f"options this version does not know: {', '.join(sorted(left))}")
    return options
