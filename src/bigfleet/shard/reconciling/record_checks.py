"""Screening: which records of a provider are believed.

A record that breaks an invariant is rejected with the label it is counted under; the last good
record stays, and a rejected record never removes a machine. What is believed gets the label
defaults of its provider.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from bigfleet.model.batches import MachineBatch, Offering
from bigfleet.model.machines import (
    Assigned,
    CapacityType,
    Host,
    Machine,
    MachineState,
    broken_invariants,
)
from bigfleet.model.metadata import decode
from bigfleet.model.provider_calls import MachineRecord
from bigfleet.model.requirements import HOSTNAME_KEY
from bigfleet.model.resources import Resources
from bigfleet.model.syntax import printable
from bigfleet.shard.reconciling.machine_texts import told_id, why_bad_text

#: Labels of `machines_rejected_total`.
PRICE, PROBABILITY = "price", "interruption_probability"
STRUCTURAL, DUPLICATE_ID, SYNTAX = "structural", "duplicate_id", "syntax"

_LABEL_OF_FIELD = {"pricePerHour": PRICE, "interruptionProbability": PROBABILITY}
_UNBOUND = (MachineState.IDLE, MachineState.SPECULATIVE)
_NO_ROW = -1


@dataclass(frozen=True, slots=True)
class Rejection:
    """A record that is not believed."""

    #: Empty where not even that could be read.
    machine: str
    reason: str
    #: A sentence.
    text: str


def nameless() -> Rejection:
    return Rejection("", STRUCTURAL, "a machine needs an id")


def why_rejected(record: MachineRecord) -> Rejection | None:
    screened = screened_machine(record)
    return screened if isinstance(screened, Rejection) else None


def screened_machine(record: MachineRecord) -> Machine | Rejection:
    """The record as a machine; an Idle or Speculative one is bound to no cluster."""
    if not record.id:
        return nameless()
    machine = _machine_of(record)
    problems = broken_invariants(machine)
    if not problems:
        return rejection_of_texts(machine) or machine
    field, text = problems[0]
    reason = _LABEL_OF_FIELD.get(field, STRUCTURAL)
    return Rejection(told_id(record.id), reason, f"{field}: {text}")


def rejection_of_texts(machine: Machine) -> Rejection | None:
    found = why_bad_text(machine)
    if found is None:
        return None
    return Rejection(told_id(machine.id), SYNTAX, f"{found[0]}: {found[1]}")


def _machine_of(record: MachineRecord) -> Machine:
    free, failed = record.state in _UNBOUND, record.state is MachineState.FAILED
    assigned, _ = decode({} if free else record.shard_metadata, Assigned())
    # A slot that names a cluster is broken; an Idle host that still names one is merely free.
    bound = "" if record.state is MachineState.IDLE else record.cluster
    return Machine(
        id=record.id,
        state=record.state,
        capacity_type=record.capacity_type,
        host=record.host or Host(),
        cluster=bound,
        instance_type=record.instance_type,
        zone=record.zone,
        labels=record.labels,
        resources=Resources.parse_leniently(record.resources),
        allocatable=Resources.parse_leniently(record.allocatable),
        price_per_hour=record.price_per_hour,
        interruption_probability=record.interruption_probability,
        last_error=printable(record.last_error) if failed else "",
        assigned=assigned,
    )


def labelled_machine(machine: Machine, defaults: Mapping[str, str]) -> Machine:
    if all(key in machine.labels for key in defaults):
        return machine
    return replace(machine, labels={**defaults, **machine.labels})


def labelled_batch(batch: MachineBatch, defaults: Mapping[str, str]) -> MachineBatch:
    """Once per offering: what a List costs does not grow with its machines."""
    if not defaults or not batch.offerings:
        return batch
    return replace(batch, offerings=[_labelled(each, defaults) for each in batch.offerings])


def _labelled(offering: Offering, defaults: Mapping[str, str]) -> Offering:
    labels = dict(offering.labels)
    if all(key in labels for key in defaults):
        return offering
    return replace(offering, labels=tuple(sorted({**defaults, **labels}.items())))


def machine_at(batch: MachineBatch, row: int) -> Machine:
    """One machine of a batch as a record."""
    offering = batch.offerings[int(batch.offering_of_machine[row])]
    cluster, stamp = int(batch.cluster_of_machine[row]), int(batch.stamp_of_machine[row])
    labels = dict(offering.labels)
    if name := _text(batch, row):
        labels[HOSTNAME_KEY] = name
    return Machine(
        id=batch.ids[row],
        state=MachineState(int(batch.state_of_machine[row])),
        capacity_type=CapacityType(offering.capacity_type),
        host=_host(batch, row),
        cluster=batch.clusters[cluster] if cluster >= 0 else "",
        instance_type=offering.instance_type,
        zone=offering.zone,
        labels=labels,
        resources=offering.resources,
        allocatable=offering.allocatable,
        price_per_hour=offering.price_per_hour,
        interruption_probability=offering.interruption_probability,
        last_error=batch.errors.get(row, ""),
        assigned=batch.stamps[stamp] if stamp >= 0 else Assigned(),
    )


def _text(batch: MachineBatch, row: int) -> str:
    names = batch.node_names
    if names is None:
        return ""
    return str(names.content[int(names.starts[row]) : int(names.ends[row])].data, "utf-8")


def _host(batch: MachineBatch, row: int) -> Host:
    hosts = batch.hosts
    if hosts is None or (provider := int(hosts.provider_of_machine[row])) == _NO_ROW:
        return Host()
    refs = hosts.refs
    ref = str(refs.content[int(refs.starts[row]) : int(refs.ends[row])].data, "utf-8")
    return Host(hosts.providers[provider], ref)
