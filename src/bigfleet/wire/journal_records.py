"""Records of the journal as bytes and back.

The machines of a key frame are columns, as the engine has them: there may be half a million.
Everything else is a few messages a cycle.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from google.protobuf.message import DecodeError
from numpy.typing import NDArray

from bigfleet.admin.v1alpha1 import shard_admin_pb2 as pb
from bigfleet.model.batches import Offering, offering_of
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
    MachineTable,
    NeedTable,
    TickRun,
)
from bigfleet.model.machines import Assigned, CapacityType, Host, Machine, MachineState
from bigfleet.model.needs import Need, NeedKey
from bigfleet.model.options import EngineOptions, Parking, VictimWeights
from bigfleet.model.profiles import Profile, Spread, WhenUnsatisfiable
from bigfleet.model.resources import Resources
from bigfleet.model.shard_views import ActionView, StoryEvent
from bigfleet.v1alpha1 import capacity_pb2, provider_pb2
from bigfleet.wire.machine_views import ACTION, NEED_KEY, RESERVATION
from bigfleet.wire.machines import state_number, state_of
from bigfleet.wire.needs import (
    need_message,
    requirements_of,
    resources_of,
)
from bigfleet.wire.record_codecs import RecordCodec, Unused
from bigfleet.wire.shard_views import EVENT, PAUSE, number

_HELD_BY = {str(by): by for by in HeldBy}
#: The columns of tables, and how their numbers lie in them.
_MACHINE_COLUMNS = {
    "state": "<i1",
    "offering": "<i4",
    "cluster": "<i4",
    "stamp": "<i4",
    "provider": "<i4",
    "node_name": "<i4",
    "idle_since": "<i8",
    "held": "<i1",
    "overdue": "?",
    "empty": "?",
}
_NEED_COLUMNS = {
    "cluster": "<i4",
    "profile": "<i4",
    "aggregate": "<i4",
    "unit": "<i4",
    "group": "<i4",
    "arrival": "<i8",
    "parked": "?",
}


_TICK_RUN = RecordCodec(TickRun, pb.TickRun, steps="step_nanos")
_JOURNAL_EVENT = RecordCodec(JournalEvent, pb.JournalEvent, pause=PAUSE)
_OUTPUT = RecordCodec(
    CycleOutput,
    pb.CycleOutput,
    Unused("unmet"),
    Unused("shortfalls"),
    actions=ACTION,
    digest="output_digest",
    nanos_of_phase="phase_nanos",
)


#: What of a message is written, by name, in place of a message of its own: each of these has memory
#: of its own, and with every 10,000th piece of it that is freed protobuf returns all free memory of
#: the process to the system. A cycle in the journal had thousands of them, and the cycles that came
#: after it had to be given their memory anew.
Fields = dict[str, Any]

#: Kinds of records, by the number of their field.
HEADER, KEYFRAME, INPUT, OUTPUT, TICK_RUN, OUTCOME, STORY, EVENT_RECORD, NOTES = range(4, 13)
#: The field of its cycle, and how the field of its body begins: with a length.
_CYCLE, _BODY = 2, 2


def record_bytes(record: JournalRecord) -> bytes:
    """Equal records have equal bytes."""
    return record_message(record).SerializeToString(deterministic=True)


def record_message(record: JournalRecord) -> pb.JournalRecord:
    message = _message_of(record.body)
    message.seq, message.cycle, message.at_unix_nanos = record.seq, record.cycle, record.at
    return message


def notes_bytes(records: Sequence[JournalRecord]) -> bytes:
    """Of at least one, written together."""
    if len(records) == 1:
        return record_bytes(records[0])
    first, last = records[0], records[-1]
    message = pb.JournalRecord(seq=first.seq, cycle=last.cycle, at_unix_nanos=last.at)
    message.notes.notes.extend(_note_message(each, message) for each in records)
    return message.SerializeToString(deterministic=True)


def _note_message(record: JournalRecord, whole: pb.JournalRecord) -> pb.JournalNote:
    match record.body:
        case ActionView() as ended:
            message = pb.JournalNote(outcome=ACTION.message(ended))
        case StoryEvent() as story:
            message = pb.JournalNote(story=EVENT.message(story))
        case JournalEvent() as event:
            message = pb.JournalNote(event=_JOURNAL_EVENT.message(event))
        case _:
            raise ValueError("only outcomes, stories and events are written together")
    message.cycles_earlier = whole.cycle - record.cycle
    message.nanos_earlier = _own_time(record.body, whole) - record.at
    return message


def _record_of_note(message: pb.JournalNote, place: int, whole: pb.JournalRecord) -> JournalRecord:
    body: JournalBody
    match message.WhichOneof("body"):
        case "outcome":
            body = ACTION.record(message.outcome)
        case "story":
            body = EVENT.record(message.story)
        case "event":
            body = _JOURNAL_EVENT.record(message.event)
        case _:
            raise ValueError("a note of a kind this version does not know; is it of a later one?")
    at = _own_time(body, whole) - message.nanos_earlier
    return JournalRecord(whole.seq + place, whole.cycle - message.cycles_earlier, at, body)


def _own_time(body: JournalBody, whole: pb.JournalRecord) -> int:
    """What is not written of a note: nearly all are told at the time they have in them."""
    return body.at if isinstance(body, ActionView | StoryEvent) else whole.at_unix_nanos


def kind_of(start: bytes) -> int:
    """The kind of a record by its first bytes; 0: not known."""
    return kind_and_cycle(start)[0]


def kind_and_cycle(start: bytes) -> tuple[int, int]:
    """Of a record by its first bytes: three numbers come before its body, the cycle among them."""
    at, cycle = 0, 0
    while at < len(start):
        tag, at = start[at], at + 1
        if tag & 7 == _BODY:
            return tag >> 3, cycle
        value, shift = 0, 0
        while at < len(start):
            byte, at = start[at], at + 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
        if tag >> 3 == _CYCLE:
            cycle = value
    return 0, cycle


def _message_of(body: JournalBody) -> pb.JournalRecord:
    match body:
        case JournalHeader():
            return pb.JournalRecord(header=header_message(body))
        case Keyframe():
            state, machines = _change_fields(body.state), _table_fields(body.machines)
            return _record(keyframe={"state": state, "machines": machines})
        case InputChange():
            return _record(input=_change_fields(body))
        case CycleOutput():
            return pb.JournalRecord(output=_OUTPUT.message(body))
        case TickRun():
            return pb.JournalRecord(tick_run=_TICK_RUN.message(body))
        case ActionView():
            return pb.JournalRecord(outcome=ACTION.message(body))
        case StoryEvent():
            return pb.JournalRecord(story=EVENT.message(body))
        case JournalEvent():
            return pb.JournalRecord(event=_JOURNAL_EVENT.message(body))


def _record(**fields: Any) -> pb.JournalRecord:
    return pb.JournalRecord(**fields)


def record_of(content: bytes) -> JournalRecord:
    """Of one that is alone; raises ValueError as `records_from` does."""
    (record,) = records_from(content)
    return record


def records_from(content: bytes) -> list[JournalRecord]:
    """Raises ValueError, in words, where the bytes are not a record this version can read."""
    message = pb.JournalRecord()
    try:
        message.ParseFromString(content)
    except DecodeError as problem:
        raise ValueError(f"it is not a record of a journal: {problem}") from None
    if message.HasField("notes"):
        notes = enumerate(message.notes.notes)
        return [_record_of_note(note, place, message) for place, note in notes]
    return [record_from(message)]


def record_from(message: pb.JournalRecord) -> JournalRecord:
    """Raises ValueError."""
    return JournalRecord(message.seq, message.cycle, message.at_unix_nanos, _body_of(message))


def _body_of(message: pb.JournalRecord) -> JournalBody:
    match message.WhichOneof("body"):
        case "header":
            return header_of(message.header)
        case "keyframe":
            frame = message.keyframe
            return Keyframe(_change_of(frame.state), _table_of(frame.machines))
        case "input":
            return _change_of(message.input)
        case "output":
            return _OUTPUT.record(message.output)
        case "tick_run":
            return _TICK_RUN.record(message.tick_run)
        case "outcome":
            return ACTION.record(message.outcome)
        case "story":
            return EVENT.record(message.story)
        case "event":
            return _JOURNAL_EVENT.record(message.event)
        case _:
            raise ValueError("it holds nothing this version knows; was it written by a later one?")


def _change_fields(change: InputChange) -> Fields:
    return {
        "now_unix_nanos": change.now,
        "machines": list(map(_machine_fields, change.machines)),
        "removed_machine_ids": change.removed,
        "reservations": RESERVATION.messages(change.reservations),
        "removed_reservation_ids": change.unreserved,
        "parking": _age_messages(change.parking),
        "shortfall_ages": _age_messages(change.shortfall_ages),
        "reported_clusters": sorted(change.reported or ()),
        "reported_changed": change.reported is not None,
        "pauses": PAUSE.messages(change.pauses or ()),
        "pauses_changed": change.pauses is not None,
        "input_digest": change.digest,
        "needs": None if change.needs is None else _needs_fields(change.needs),
    }


def _change_of(message: pb.InputDelta) -> InputChange:
    return InputChange(
        now=message.now_unix_nanos,
        machines=tuple(map(_machine_of, message.machines)),
        removed=tuple(message.removed_machine_ids),
        reservations=RESERVATION.records(message.reservations),
        unreserved=tuple(message.removed_reservation_ids),
        parking=_ages_of(message.parking),
        shortfall_ages=_ages_of(message.shortfall_ages),
        reported=frozenset(message.reported_clusters) if message.reported_changed else None,
        pauses=PAUSE.records(message.pauses) if message.pauses_changed else None,
        digest=message.input_digest,
        needs=_needs_of(message.needs) if message.HasField("needs") else None,
    )


def _machine_fields(entry: FleetMachine) -> Fields:
    machine, marks = entry.machine, entry.marks
    since, held, host = marks.idle_since, marks.held, machine.host
    return {
        **_stamp_fields(machine.assigned),
        "machine": {
            **_offering_fields(offering_of(machine)),
            "id": machine.id,
            "cluster": machine.cluster,
            "state": state_number(machine.state),
            "last_error": machine.last_error,
            "host": None if host.empty else {"provider": host.provider, "ref": host.ref},
        },
        "idle_since_unix_nanos": since or 0,
        "idle_since_known": since is not None,
        "unseen": held is not None and held.by is HeldBy.UNSEEN,
        "withheld": held is not None and held.by is HeldBy.QUOTA,
        "held": "" if held is None else held.by,
        "overdue": marks.overdue,
        "empty": marks.empty,
    }


def _machine_of(message: pb.MachineRecord) -> FleetMachine:
    machine, offering = message.machine, _offering_of(message.machine)
    state = state_of(machine.state)
    if state is MachineState.UNSPECIFIED:
        raise ValueError(f"machine {machine.id} has no state this version knows")
    if message.held and message.held not in _HELD_BY:
        raise ValueError(f"machine {machine.id} is held by {message.held!r}, which is unknown")
    host = machine.host
    return FleetMachine(
        Machine(
            id=machine.id,
            state=state,
            capacity_type=offering.capacity_type,
            host=Host(host.provider, host.ref) if machine.HasField("host") else Host(),
            cluster=machine.cluster,
            instance_type=offering.instance_type,
            zone=offering.zone,
            labels=dict(offering.labels),
            resources=offering.resources,
            allocatable=offering.allocatable,
            price_per_hour=offering.price_per_hour,
            interruption_probability=offering.interruption_probability,
            last_error=machine.last_error,
            assigned=_stamp_of(message),
        ),
        Marks(
            message.idle_since_unix_nanos if message.idle_since_known else None,
            Held(_HELD_BY[message.held]) if message.held else None,
            message.overdue,
            message.empty,
        ),
    )


def _offering_fields(offering: Offering) -> Fields:
    return {
        "instance_type": offering.instance_type,
        "zone": offering.zone,
        "capacity_type": number(offering.capacity_type),
        "price_per_hour": offering.price_per_hour,
        "interruption_probability": offering.interruption_probability,
        "resources": _resources_fields(offering.resources),
        "labels": dict(offering.labels),
        "allocatable": _resources_fields(offering.allocatable),
    }


def _resources_fields(resources: Resources) -> Fields | None:
    """None where there is nothing to say: an absent message is the empty vector."""
    return {"resources": resources.texts()} if resources.amounts else None


def _offering_of(message: provider_pb2.Machine) -> Offering:
    return Offering(
        CapacityType(message.capacity_type),
        message.instance_type,
        message.zone,
        tuple(sorted(message.labels.items())),
        resources_of(message.resources),
        resources_of(message.allocatable),
        message.price_per_hour,
        message.interruption_probability,
    )


def _stamp_fields(assigned: Assigned) -> Fields:
    return {
        "assigned_priority": assigned.priority,
        "assigned_interruption_dollars": assigned.interruption_penalty,
        "assigned_reclamation_dollars": assigned.reclamation_penalty,
        "assigned_fingerprint": assigned.need_fingerprint,
        "assigned_group": assigned.group,
        "assigned_cluster": assigned.cluster,
    }


def _stamp_of(message: pb.MachineRecord) -> Assigned:
    return Assigned(
        message.assigned_priority,
        message.assigned_interruption_dollars,
        message.assigned_reclamation_dollars,
        message.assigned_cluster,
        message.assigned_fingerprint,
        message.assigned_group,
    )


def _table_fields(table: MachineTable) -> Fields:
    return {
        "ids": table.ids,
        "offerings": list(map(_offering_fields, table.offerings)),
        "stamps": list(map(_stamp_fields, table.stamps)),
        "clusters": table.clusters,
        "providers": table.providers,
        "node_names": table.node_names,
        **_column_bytes(table.columns, _MACHINE_COLUMNS),
    }


def _table_of(message: pb.MachineTable) -> MachineTable:
    columns = _columns_of(message, _MACHINE_COLUMNS)
    if len(columns["state"]) != len(message.ids):
        raise ValueError(f"{len(columns['state'])} states for {len(message.ids)} machines")
    for name, least, rows in (
        ("state", 1, len(MachineState)),
        ("offering", 0, len(message.offerings)),
        ("cluster", -1, len(message.clusters)),
        ("stamp", 0, len(message.stamps)),
        ("provider", -1, len(message.providers)),
        ("node_name", -1, len(message.node_names)),
        ("held", 0, len(HeldBy) + 1),
    ):
        _check_rows(name, columns[name], least, rows)
    return MachineTable(
        list(message.ids),
        list(map(_offering_of, message.offerings)),
        list(map(_stamp_of, message.stamps)),
        list(message.clusters),
        list(message.providers),
        list(message.node_names),
        columns,
    )


def _needs_fields(table: NeedTable) -> Fields:
    return {
        "clusters": table.clusters,
        "profiles": list(map(_profile_message, table.profiles)),
        "vectors": [{"resources": each.texts()} for each in table.vectors],
        "groups": table.groups,
        **_column_bytes(table.columns, _NEED_COLUMNS),
    }


def _needs_of(message: pb.NeedTable) -> NeedTable:
    columns = _columns_of(message, _NEED_COLUMNS)
    for name, rows in (
        ("cluster", message.clusters),
        ("profile", message.profiles),
        ("aggregate", message.vectors),
        ("unit", message.vectors),
        ("group", message.groups),
    ):
        _check_rows(name, columns[name], 0, len(rows))
    return NeedTable(
        list(message.clusters),
        list(map(_profile_of, message.profiles)),
        list(map(resources_of, message.vectors)),
        list(message.groups),
        columns,
    )


def _column_bytes(columns: Mapping[str, NDArray[Any]], kinds: Mapping[str, str]) -> Fields:
    return {name: np.ascontiguousarray(columns[name], kinds[name]).tobytes() for name in kinds}


def _columns_of(
    message: pb.MachineTable | pb.NeedTable, kinds: Mapping[str, str]
) -> dict[str, NDArray[Any]]:
    columns = {name: np.frombuffer(getattr(message, name), kind) for name, kind in kinds.items()}
    if len({len(column) for column in columns.values()}) > 1:
        raise ValueError("the columns of a table differ in length")
    return columns


def _check_rows(name: str, column: NDArray[Any], least: int, rows: int) -> None:
    if len(column) and not least <= column.min() <= column.max() < rows:
        raise ValueError(f"the column {name} names a row that its table does not have")


def _profile_message(profile: Profile) -> capacity_pb2.CapacityNeed:
    return need_message(Need("", profile, Resources()))


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
    return [pb.ParkingAge(need=NEED_KEY.message(key), age_cycles=age) for key, age in ages.items()]


def _ages_of(messages: Iterable[pb.ParkingAge]) -> dict[NeedKey, int]:
    return {NEED_KEY.record(each.need): each.age_cycles for each in messages}


def header_message(header: JournalHeader) -> pb.JournalHeader:
    return pb.JournalHeader(
        format_version=header.format_version,
        shard_id=header.shard_id,
        shard_epoch=header.epoch,
        engine_version=header.engine_version,
        engine_options=option_texts(header.options),
        created_unix_nanos=header.created_at,
        first_cycle=header.first_cycle,
    )


def header_of(message: pb.JournalHeader) -> JournalHeader:
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
