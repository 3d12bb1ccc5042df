"""Field shape and cost: what every record of the inventory must look like, in every state."""

import math
import re
from collections.abc import Iterable

from bigfleet.conformance.claims import Skipped, has_host, must, must_equal
from bigfleet.conformance.rows import Area
from bigfleet.conformance.trial import Trial
from bigfleet.model.machines import CapacityType
from bigfleet.model.machines import MachineState as S
from bigfleet.model.provider_calls import MachineRecord

FIELDS = Area("Field shape and cost")
FORBIDDEN_LABELS = frozenset(
    "instance-type instance_type instanceType zone availability-zone availability_zone "
    "capacity-type capacity_type capacityType".split()
)
QUANTITY = re.compile(
    r"(?P<sign>[+-]?)(?P<digits>[0-9]+(?:\.[0-9]*)?|\.[0-9]+)"
    r"(?:[KMGTPE]i|[numkMGTPE]|[eE][+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+))?"
)


async def everywhere(trial: Trial) -> list[MachineRecord]:
    """The whole inventory, and one machine seen as Idle and as Configured."""
    records = list((await trial.listing()).records)
    machine = await trial.lease_idle()
    records.append(await trial.get(machine))
    records.append(await trial.bind(machine, f"{trial.row.id.lower()}-walk", {"k": "v"}))
    return records


@FIELDS.row(
    "B801",
    "Id, state and instance type are set, and labels do not repeat fields",
    mutant="type in labels",
    machines=1,
)
async def identity_and_labels(trial: Trial) -> None:
    for record in await everywhere(trial):
        must(bool(record.id), "a machine has no id")
        must(record.state is not S.UNSPECIFIED, f"{record.id} has no state")
        must(bool(record.instance_type), f"{record.id} has no instance_type")
        wrong = FORBIDDEN_LABELS.intersection(record.labels)
        must(not wrong, f"{record.id} repeats fields as labels: {sorted(wrong)}")


@FIELDS.row(
    "B802",
    "Prices are finite, probabilities lie in [0,1] and above 0 for SPOT",
    mutant="spot at 0",
    machines=1,
    also=("spot",),
)
async def costs(trial: Trial) -> None:
    records = await everywhere(trial)
    must_have_sane_costs(records)
    if not any(record.capacity_type is CapacityType.SPOT for record in records):
        trial.notes["spot"] = "no SPOT machine"


def must_have_sane_costs(records: Iterable[MachineRecord]) -> None:
    for record in records:
        price, chance = record.price_per_hour, record.interruption_probability
        must(math.isfinite(price) and price >= 0, f"{record.id} costs {price}")
        must(0 <= chance <= 1, f"{record.id} has interruption probability {chance}")
        if record.capacity_type is CapacityType.SPOT:
            must(chance > 0, f"{record.id} is SPOT and has interruption probability 0")


@FIELDS.row(
    "B803",
    "Host and cluster fit the state",
    mutant="I without host",
    machines=1,
)
async def host_and_cluster(trial: Trial) -> None:
    expected = {S.SPECULATIVE: (False, False), S.IDLE: (True, False), S.CONFIGURED: (True, True)}
    for record in await everywhere(trial):
        if record.state in expected:
            must_equal(
                (has_host(record), bool(record.cluster)),
                expected[record.state],
                f"(host, cluster) of {record.id} in {record.state.name}",
            )


@FIELDS.row(
    "B804",
    "Resources and allocatable are Kubernetes quantities of the right sign",
    mutant='resources "0"',
    machines=1,
)
async def quantities(trial: Trial) -> None:
    shared = 0
    for record in await everywhere(trial):
        for name in record.resources.keys() & record.allocatable.keys():
            shared += 1
            asked = sign_of(record, name, record.resources[name])
            offered = sign_of(record, name, record.allocatable[name])
            must(asked > 0, f"{record.id}: resources {name} = {record.resources[name]!r}")
            must(offered >= 0, f"{record.id}: allocatable {name} = {record.allocatable[name]!r}")
    if not shared:
        raise Skipped("no machine names a dimension in both resources and allocatable")


def sign_of(record: MachineRecord, dimension: str, text: str) -> int:
    match = QUANTITY.fullmatch(text)
    if match is None:
        must(False, f"{record.id}: {dimension} = {text!r} is not a Kubernetes quantity")
        return 0
    if not match["digits"].strip("0."):
        return 0
    return -1 if match["sign"] == "-" else 1


@FIELDS.row(
    "B805",
    "The host's provider is one constant",
    mutant="provider renamed at C",
    machines=1,
)
async def the_host_provider(trial: Trial) -> None:
    machine = await trial.lease_idle()
    seen = await host_providers(trial, machine)
    await trial.bind(machine, "b805")
    seen |= await host_providers(trial, machine)
    await trial.release(machine)
    seen |= await host_providers(trial, machine)
    must(len(seen) == 1 and seen != {""}, f"host.provider must be one constant; seen {seen}")


async def host_providers(trial: Trial, machine: str) -> set[str]:
    records = (await trial.get(machine), (await trial.listing()).find(machine))
    return {record.host.provider if record.host else "" for record in records}


@FIELDS.row(
    "B806",
    "A stable machine with a host has a zone and a capacity type",
    mutant="zone lost at Create",
    machines=1,
)
async def zone_and_capacity_type(trial: Trial) -> None:
    for record in await everywhere(trial):
        if record.state.stable and has_host(record):
            must(bool(record.zone), f"{record.id} has a host and no zone")
            must(
                record.capacity_type is not CapacityType.UNSPECIFIED,
                f"{record.id} has a host and no capacity type",
            )


@FIELDS.row(
    "B807",
    "A deleted machine has neither host nor cluster nor metadata",
    mutant="delete keeps host",
    creates=1,
    gates=("delete",),
    also=("cloud",),
)
async def deleted_machines_are_bare(trial: Trial) -> None:
    machine = await trial.lease_configured("b807", {"k": "v"})
    await trial.release(machine)
    (await trial.delete(machine)).must_be_ok()
    record = await trial.settles(machine, S.SPECULATIVE)
    must(not has_host(record), f"{machine} is SPECULATIVE and has host {record.host}")
    must_equal((record.cluster, dict(record.shard_metadata)), ("", {}), "binding after Delete")
