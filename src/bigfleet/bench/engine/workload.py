"""Workload: one shape, built: machines as batches, Needs by cluster, and the time of the cycle."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from bigfleet.model.batches import NEVER, MachineBatch, Offering
from bigfleet.model.machines import Assigned, Host, Instant, Machine, MachineState
from bigfleet.model.needs import Need
from bigfleet.model.options import SECOND

#: Every shape's cycle runs at this instant; Idle machines became Idle an hour before it.
NOW: Instant = 1_800_000_000 * SECOND
IDLE_SINCE: Instant = NOW - 3600 * SECOND

Shared = TypeVar("Shared", bound=Hashable)


@dataclass(frozen=True, slots=True)
class EngineWorkload:
    batches: tuple[MachineBatch, ...]
    needs: Mapping[str, Sequence[Need]]

    @property
    def machine_count(self) -> int:
        return sum(len(batch.ids) for batch in self.batches)

    @property
    def need_count(self) -> int:
        return sum(len(needs) for needs in self.needs.values())


class Measure(StrEnum):
    #: inventory snapshot, needs snapshot and decide
    CYCLE = "cycle"
    INVENTORY_SNAPSHOT = "inventory-snapshot"
    NEEDS_SNAPSHOT = "needs-snapshot"


@dataclass(frozen=True, slots=True)
class Shape:
    name: str
    summary: str
    #: From a scale (1 is the size the shape is defined with) to the workload.
    build: Callable[[float], EngineWorkload]
    measure: Measure = Measure.CYCLE


def scaled(count: int, scale: float) -> int:
    """`count` times `scale`, at least one."""
    return max(1, round(count * scale))


def tier_of(
    ids: Sequence[str],
    state: MachineState,
    offerings: Sequence[Offering],
    offering_of_machine: NDArray[np.int32] | None = None,
    *,
    clusters: Sequence[str] = (),
    cluster_of_machine: NDArray[np.int32] | None = None,
    stamps: Sequence[Assigned] = (),
    stamp_of_machine: NDArray[np.int32] | None = None,
) -> MachineBatch:
    """Machines of one state; without an index, offerings (and stamps) are dealt in turn."""
    count = len(ids)
    if offering_of_machine is None:
        offering_of_machine = dealt(count, len(offerings))
    if stamp_of_machine is None:
        stamp_of_machine = dealt(count, len(stamps))
    if cluster_of_machine is None:
        cluster_of_machine = np.full(count, -1, np.int32)
    since = IDLE_SINCE if state is MachineState.IDLE else NEVER
    return MachineBatch(
        ids,
        offerings,
        clusters,
        stamps,
        offering_of_machine,
        np.full(count, state, np.int8),
        cluster_of_machine,
        stamp_of_machine,
        np.full(count, since, np.int64),
    )


def dealt(count: int, hands: int) -> NDArray[np.int32]:
    """0, 1, ... hands-1, 0, 1, ...; all -1 where there is nothing to deal."""
    if hands == 0:
        return np.full(count, -1, np.int32)
    return np.arange(count, dtype=np.int32) % np.int32(hands)


def interned(things: Iterable[Shared]) -> tuple[list[Shared], NDArray[np.int32]]:
    """The distinct things in the order they come, and for each thing its place among them."""
    places: dict[Shared, int] = {}
    index = [places.setdefault(thing, len(places)) for thing in things]
    return list(places), np.array(index, np.int32)


def arrival_of(cluster: int) -> Instant:
    """When the rows of a cluster arrived: together, clusters one second apart, all before NOW."""
    return NOW - 1_000_000 * SECOND + cluster * SECOND


def machine_at(batch: MachineBatch, row: int) -> Machine:
    """The record of one machine of a batch."""
    offering = batch.offerings[int(batch.offering_of_machine[row])]
    cluster, stamp = int(batch.cluster_of_machine[row]), int(batch.stamp_of_machine[row])
    state = MachineState(int(batch.state_of_machine[row]))
    hostless = state in (MachineState.SPECULATIVE, MachineState.CREATING)
    return Machine(
        id=batch.ids[row],
        state=state,
        capacity_type=offering.capacity_type,
        host=Host() if hostless else Host(batch.provider, batch.ids[row]),
        cluster=batch.clusters[cluster] if cluster >= 0 else "",
        instance_type=offering.instance_type,
        zone=offering.zone,
        labels=dict(offering.labels),
        resources=offering.resources,
        allocatable=offering.allocatable,
        price_per_hour=offering.price_per_hour,
        interruption_probability=offering.interruption_probability,
        assigned=batch.stamps[stamp] if stamp >= 0 else Assigned(),
    )
