"""Lists read as columns say what the slow reader says; what did not change is not read again."""

import random
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bigfleet.model.batches import Offering
from bigfleet.model.machines import (
    Assigned,
    CapacityType,
    Host,
    Machine,
    MachineState,
    broken_invariants,
)
from bigfleet.model.metadata import decode, encode
from bigfleet.model.provider_calls import MachineRecord
from bigfleet.model.requirements import HOSTNAME_KEY as HOSTNAME
from bigfleet.model.resources import Resources
from bigfleet.v1alpha1 import provider_pb2
from bigfleet.wire.machine_batches import KnownMachines, ReadRows, batch_of, listed
from bigfleet.wire.machines import list_bytes, list_entry, list_of, machine_bytes, message_of

IDLE = MachineRecord(
    id="m-1",
    state=MachineState.IDLE,
    host=Host("acme", "i-1"),
    instance_type="std-8",
    zone="eu-1a",
    capacity_type=CapacityType.ON_DEMAND,
    price_per_hour=0.38,
    interruption_probability=0.05,
    resources={"cpu": "8", "memory": "32Gi"},
    labels={"region": "eu-1", "rack": "r1", HOSTNAME: "ip-1"},
    allocatable={"cpu": "7500m"},
)
CONFIGURED = replace(
    IDLE,
    id="m-2",
    state=MachineState.CONFIGURED,
    host=Host("acme", "m-2"),
    cluster="shop",
    labels={"region": "eu-1", "rack": "r1", HOSTNAME: "ip-2"},
    shard_metadata=encode(Assigned(7, 0.5, 2.0, need_fingerprint="p=7", group="rack\x00app")),
)
SLOT = replace(IDLE, id="m-3", state=MachineState.SPECULATIVE, host=None, labels={"region": "eu-1"})


def answer_of(records: Iterable[MachineRecord], revision: bytes = b"r-1") -> bytes:
    return list_bytes([list_entry(machine_bytes(record)) for record in records], revision)


def read(records: Sequence[MachineRecord]) -> ReadRows:
    now = listed(answer_of(records))
    return batch_of(now, now.rows())


def seen_in(read: ReadRows) -> set[tuple[object, ...]]:
    """Every machine of the batch as plain values."""
    batch = read.batch
    assert batch.hosts is not None
    assert batch.node_names is not None
    providers, refs = [*batch.hosts.providers, ""], batch.hosts.refs.read()
    nodes = batch.node_names.read()
    return {
        (
            name,
            int(batch.state_of_machine[row]),
            batch.offerings[batch.offering_of_machine[row]],
            "" if (c := batch.cluster_of_machine[row]) < 0 else batch.clusters[c],
            Assigned() if (s := batch.stamp_of_machine[row]) < 0 else batch.stamps[s],
            (providers[batch.hosts.provider_of_machine[row]], refs[row]),
            nodes[row],
            batch.errors.get(row, ""),
        )
        for row, name in enumerate(batch.ids)
    }


def meant_by(record: MachineRecord) -> tuple[object, ...]:
    """The same values, from the record the slow way."""
    name = record.labels.get(HOSTNAME, "")
    labels = {k: v for k, v in record.labels.items() if not (name and k == HOSTNAME)}
    return (
        record.id,
        int(record.state),
        Offering(
            record.capacity_type,
            record.instance_type,
            record.zone,
            tuple(sorted(labels.items())),
            Resources.parse_leniently(record.resources),
            Resources.parse_leniently(record.allocatable),
            record.price_per_hour,
            record.interruption_probability,
        ),
        record.cluster,
        decode(record.shard_metadata, Assigned())[0],
        (record.host.provider, record.host.ref) if record.host else ("", ""),
        name,
        record.last_error,
    )


names = st.text("ab\x00é", max_size=3)
quantities = st.dictionaries(st.sampled_from(["cpu", "memory"]), st.sampled_from(["1", "2Gi"]))
bound = st.sampled_from([MachineState.CONFIGURED, MachineState.DRAINING])
hostless = st.sampled_from([MachineState.SPECULATIVE, MachineState.CREATING])
hosts = st.builds(Host, st.sampled_from(["acme", "bolt"]), names)


def machines(**fields: st.SearchStrategy[object]) -> st.SearchStrategy[MachineRecord]:
    return st.builds(
        MachineRecord,
        id=names,
        instance_type=names,
        zone=names,
        capacity_type=st.sampled_from(CapacityType),
        price_per_hour=st.sampled_from([0.0, 0.38]),
        interruption_probability=st.sampled_from([0.0, 1.0]),
        resources=quantities,
        allocatable=quantities,
        labels=st.dictionaries(st.sampled_from(["rack", "", HOSTNAME]), names),
        shard_metadata=st.dictionaries(
            st.sampled_from(["bigfleet.lucy.sh/assigned-priority", "other"]),
            st.sampled_from(["5", "", "x"]),
        ),
        **fields,
    )


sound = st.one_of(
    machines(state=hostless, host=st.none()),
    machines(state=st.just(MachineState.IDLE), host=hosts),
    machines(state=bound, host=hosts, cluster=names.filter(bool)),
    machines(state=st.just(MachineState.FAILED), host=hosts, last_error=names.filter(bool)),
)


@given(st.lists(sound, max_size=6, unique_by=lambda record: record.id))
@settings(deadline=None)
def test_the_batch_says_what_the_records_say(records: list[MachineRecord]) -> None:
    result = read(records)
    assert seen_in(result) == {meant_by(record) for record in records}
    assert result.apart == ()


def test_machines_of_one_offering_share_it_in_spite_of_their_node_names() -> None:
    batch = read([IDLE, CONFIGURED]).batch
    assert len(batch.offerings) == 1


def test_what_breaks_an_invariant_comes_apart() -> None:
    odd = [
        replace(IDLE, id="silent", state=MachineState.FAILED),
        replace(IDLE, id="stateless", state=MachineState.UNSPECIFIED),
        replace(IDLE, id="hostless", host=None),
        replace(IDLE, id="empty-host", host=Host()),
        replace(SLOT, id="hosted slot", host=Host("acme", "i-9")),
        replace(SLOT, id="bound slot", cluster="shop"),
        replace(CONFIGURED, id="unbound", cluster=""),
        replace(IDLE, id="dear", price_per_hour=float("inf")),
        replace(IDLE, id="owing", price_per_hour=-1.0),
        replace(IDLE, id="certain", interruption_probability=1.5),
        replace(IDLE, id="priceless", price_per_hour=float("nan")),
    ]
    result = read([IDLE, *odd, SLOT])
    assert result.batch.ids == ["m-1", "m-3"]
    *others, priceless = result.apart
    assert others == odd[:-1]
    assert priceless.id == "priceless"  # NaN equals nothing, so the record does not


def machine_of(record: MachineRecord) -> Machine:
    return Machine(
        record.id,
        record.state,
        record.capacity_type,
        record.host or Host(),
        record.cluster,
        price_per_hour=record.price_per_hour,
        interruption_probability=record.interruption_probability,
        last_error=record.last_error,
    )


any_record = st.builds(
    MachineRecord,
    id=st.just("m"),
    state=st.sampled_from(MachineState),
    host=st.one_of(st.none(), st.builds(Host, names, names)),
    cluster=names,
    last_error=names,
    price_per_hour=st.sampled_from([0.0, -1.0, float("inf"), float("nan")]),
    interruption_probability=st.sampled_from([0.0, 1.0, 1.5, float("nan")]),
)


@given(any_record)
@settings(deadline=None)
def test_a_record_comes_apart_exactly_if_it_breaks_an_invariant(record: MachineRecord) -> None:
    assert bool(read([record]).apart) == bool(broken_invariants(machine_of(record)))


def test_a_row_that_was_not_taken_over_is_new_again() -> None:
    now = listed(answer_of([IDLE, SLOT]))
    known = KnownMachines.none().after(now, whole=True, unread=np.array([0]))
    assert now.ids_of(known.rows_unlike(now)) == ["m-1"]


def test_a_reference_that_is_not_a_text_is_refused() -> None:
    whole = answer_of([IDLE, replace(IDLE, id="m-9", host=Host("acme", "i-9"))])
    now = listed(whole.replace(b"i-9", b"\xff\xfe9"))
    with pytest.raises(ValueError, match="utf-8"):
        batch_of(now, now.rows())


def test_a_stamp_that_cannot_be_read_is_told() -> None:
    metadata = {"bigfleet.lucy.sh/assigned-priority": "high"}
    assert (
        "not a 32-bit decimal" in read([replace(CONFIGURED, shard_metadata=metadata)]).problems[0]
    )


def test_the_first_answer_is_all_new_and_the_same_answer_is_not() -> None:
    now = listed(answer_of([IDLE, CONFIGURED, SLOT]))
    nothing = KnownMachines.none()
    assert now.ids_of(nothing.rows_unlike(now)) == ["m-1", "m-2", "m-3"]
    known = nothing.after(now, whole=True)
    again = listed(answer_of([SLOT, IDLE, CONFIGURED], b"r-2"))
    assert again.ids_of(known.rows_unlike(again)) == []
    assert (again.revision, known.ids_gone_from(again)) == (b"r-2", [])


CHANGES = {
    "id": replace(IDLE, id="m-9"),
    "state": replace(IDLE, state=MachineState.DELETING),
    "host": replace(IDLE, host=Host("acme", "i-2")),
    "provider": replace(IDLE, host=Host("acme2", "i-1")),
    "no host": replace(IDLE, host=None),
    "type": replace(IDLE, instance_type="std-16"),
    "zone": replace(IDLE, zone="eu-1b"),
    "capacity type": replace(IDLE, capacity_type=CapacityType.SPOT),
    "price": replace(IDLE, price_per_hour=0.39),
    "probability": replace(IDLE, interruption_probability=0.06),
    "resources": replace(IDLE, resources={"cpu": "8", "memory": "33Gi"}),
    "resources swapped": replace(IDLE, resources={"cpu": "32Gi", "memory": "8"}),
    "label value": replace(IDLE, labels={**IDLE.labels, "rack": "r2"}),
    "label gone": replace(IDLE, labels={"region": "eu-1", HOSTNAME: "ip-1"}),
    "node name": replace(IDLE, labels={**IDLE.labels, HOSTNAME: "ip-2"}),
    "error": replace(IDLE, last_error="late"),
    "allocatable": replace(IDLE, allocatable={"cpu": "7400m"}),
    "the two shapes swapped": replace(IDLE, resources=IDLE.allocatable, allocatable=IDLE.resources),
    "cluster": replace(IDLE, cluster="shop"),
    "metadata": replace(IDLE, shard_metadata={"": ""}),
}


@pytest.mark.parametrize("changed", CHANGES.values(), ids=CHANGES)
def test_a_change_of_any_field_is_noticed(changed: MachineRecord) -> None:
    known = KnownMachines.none().after(listed(answer_of([IDLE, SLOT])), whole=True)
    now = listed(answer_of([SLOT, changed]))
    assert [now.record(int(row)) for row in known.rows_unlike(now)] == [changed]


def test_maps_written_in_another_order_are_no_change() -> None:
    """Providers in Go write maps in a new order each time."""
    once = list_bytes([list_entry(shuffled_bytes(CONFIGURED, seed)) for seed in (1, 1)], b"")
    known = KnownMachines.none().after(listed(once), whole=True)
    orders = {shuffled_bytes(CONFIGURED, seed) for seed in range(20)}
    assert len(orders) > 1
    for order in orders:
        assert len(known.rows_unlike(listed(list_entry(order)))) == 0


def shuffled_bytes(record: MachineRecord, seed: int) -> bytes:
    """The record with the fields of its message in order but map entries in any."""
    chance = random.Random(seed)
    bare = message_of(replace(record, labels={}, shard_metadata={}, resources={}))
    parts = [bare.SerializeToString(deterministic=True)]
    entries = [
        provider_pb2.Machine(labels={key: value}).SerializeToString()
        for key, value in record.labels.items()
    ] + [
        provider_pb2.Machine(shard_metadata={key: value}).SerializeToString()
        for key, value in record.shard_metadata.items()
    ]
    chance.shuffle(entries)
    amounts = [
        provider_pb2.Resources(resources={key: value}).SerializeToString()
        for key, value in record.resources.items()
    ]
    chance.shuffle(amounts)
    shape = b"".join(amounts)
    return b"".join([*parts, b"\x4a", bytes([len(shape)]), shape, *entries])


def test_a_whole_answer_takes_away_and_a_delta_does_not() -> None:
    known = KnownMachines.none().after(listed(answer_of([IDLE, CONFIGURED, SLOT])), whole=True)
    delta = listed(answer_of([replace(IDLE, zone="eu-1b")]))
    after_delta = known.after(delta, whole=False)
    assert sorted(after_delta.ids) == ["m-1", "m-2", "m-3"]
    rest = listed(answer_of([IDLE, SLOT]))
    assert after_delta.ids_gone_from(rest) == ["m-2"]
    assert rest.ids_of(after_delta.rows_unlike(rest)) == ["m-1"]
    assert sorted(after_delta.after(rest, whole=True).ids) == ["m-1", "m-3"]


def test_an_id_that_came_twice_counts_once_and_is_told() -> None:
    now = listed(answer_of([IDLE, SLOT, replace(IDLE, zone="eu-1b")]))
    assert now.ids_of(now.rows()) == ["m-1", "m-3"]
    assert now.repeated_rows().tolist() == [2]
    known = KnownMachines.none().after(now, whole=True)
    assert len(known.rows_unlike(now)) == 0


def test_an_empty_answer_is_an_answer() -> None:
    now = listed(b"")
    assert (len(now), now.revision) == (0, b"")
    result = batch_of(now, now.rows())
    assert (list(result.batch.ids), result.apart) == ([], ())


WHOLE = answer_of([IDLE, CONFIGURED, SLOT])


@given(st.integers(0, len(WHOLE)))
@settings(deadline=None, max_examples=200)
def test_an_answer_cut_anywhere_is_refused_or_holds_only_whole_machines(length: int) -> None:
    agrees_with_the_slow_reader(WHOLE[:length])


@given(st.integers(0, len(WHOLE) - 1), st.integers(0, 255))
@settings(deadline=None, max_examples=300)
def test_a_damaged_answer_is_refused_or_read_alike(place: int, byte: int) -> None:
    agrees_with_the_slow_reader(WHOLE[:place] + bytes([byte]) + WHOLE[place + 1 :])


@given(st.binary(max_size=40))
@settings(deadline=None, max_examples=300)
def test_any_bytes_are_refused_or_read_alike(content: bytes) -> None:
    agrees_with_the_slow_reader(content)


def agrees_with_the_slow_reader(content: bytes) -> None:
    try:
        now = listed(content)
    except ValueError:
        return
    try:
        records, revision = list_of(content)
    except ValueError:  # broken texts: found here only when they are read
        return
    assert now.revision == revision
    # As text, since a damaged price may be NaN, which equals nothing.
    assert [repr(now.record(row)) for row in range(len(now))] == list(map(repr, records))
    assert now.ids_of(np.arange(len(now))) == [record.id for record in records]
