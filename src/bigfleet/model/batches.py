"""A batch of machines as columns: what a big List or a generated fleet fills, and only the
inventory reads.

| column | dtype | index space |
|---|---|---|
| ids | list of str | machine of the batch |
| offering_of_machine | int32 | -> offerings |
| state_of_machine | int8 | MachineState |
| cluster_of_machine | int32 | -> clusters, -1 unbound |
| stamp_of_machine | int32 | -> stamps, -1 none |
| idle_since_of_machine | int64 | nanoseconds, NEVER unknown |
| hosts.provider_of_machine | int32 | -> hosts.providers, -1 no host |
| hosts.refs, node_names | Texts | machine of the batch |
| errors | sparse | machine of the batch -> last error |

Without `hosts`, hosts are `provider/<id>` where the state requires one. A node name stands apart
from the labels of its offering, since no two machines share it. A batch carries no marks.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from bigfleet.model.machines import Assigned, CapacityType, Machine, MachineState
from bigfleet.model.quantities import LARGEST_OF_MACHINE
from bigfleet.model.resources import Resources

NEVER = np.iinfo(np.int64).min

_HOSTLESS = (MachineState.SPECULATIVE, MachineState.CREATING)
_BOUND = (MachineState.CONFIGURED, MachineState.DRAINING)
_HOSTED = (MachineState.IDLE, MachineState.CONFIGURING, MachineState.DELETING, *_BOUND)


@dataclass(frozen=True, slots=True)
class Offering:
    """What many machines share: everything about a machine that is not its life."""

    capacity_type: CapacityType
    instance_type: str = ""
    zone: str = ""
    labels: tuple[tuple[str, str], ...] = ()
    resources: Resources = Resources()
    allocatable: Resources = Resources()
    price_per_hour: float = 0.0
    interruption_probability: float = 0.0

    @property
    def sound(self) -> bool:
        """Price and probability are such (NaN fails every comparison), and the shape countable."""
        if not 0.0 <= self.price_per_hour < np.inf:
            return False
        if not 0.0 <= self.interruption_probability <= 1.0:
            return False
        amounts = (*self.resources.amounts, *self.allocatable.amounts)
        return all(amount <= LARGEST_OF_MACHINE for _, amount in amounts)


def offering_of(machine: Machine) -> Offering:
    return Offering(
        machine.capacity_type,
        machine.instance_type,
        machine.zone,
        tuple(sorted(machine.labels.items())),
        machine.resources,
        machine.allocatable,
        machine.price_per_hour,
        machine.interruption_probability,
    )


@dataclass(frozen=True, slots=True)
class Texts:
    """One text per machine, as places in bytes they all lie in; empty where there is none."""

    content: NDArray[np.uint8]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]

    @classmethod
    def of(cls, texts: Sequence[str]) -> "Texts":
        whole = "".join(texts)
        # Where every character is one byte, no text needs to be encoded by itself.
        each = texts if whole.isascii() else [text.encode() for text in texts]
        lengths = np.fromiter(map(len, each), np.int64, len(each))
        ends = np.cumsum(lengths)
        return cls(np.frombuffer(whole.encode(), np.uint8), ends - lengths, ends)

    def __len__(self) -> int:
        return len(self.starts)

    def taken(self, rows: NDArray[np.int64] | NDArray[np.bool_]) -> "Texts":
        return Texts(self.content, self.starts[rows], self.ends[rows])

    def read(self) -> list[str]:
        """Raises ValueError where bytes are no text."""
        content = self.content.data
        places = zip(self.starts.tolist(), self.ends.tolist(), strict=True)
        return [str(content[a:b], "utf-8") for a, b in places]


@dataclass(frozen=True, slots=True)
class Hosts:
    providers: Sequence[str]
    provider_of_machine: NDArray[np.int32]
    refs: Texts


@dataclass(frozen=True, slots=True)
class MachineBatch:
    ids: Sequence[str]
    offerings: Sequence[Offering]
    clusters: Sequence[str]
    stamps: Sequence[Assigned]
    offering_of_machine: NDArray[np.int32]
    state_of_machine: NDArray[np.int8]
    cluster_of_machine: NDArray[np.int32]
    stamp_of_machine: NDArray[np.int32]
    idle_since_of_machine: NDArray[np.int64]
    provider: str = "sim"
    hosts: Hosts | None = None
    node_names: Texts | None = None
    errors: Mapping[int, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def has_host(self) -> NDArray[np.bool_]:
        if self.hosts is None:
            return np.isin(self.state_of_machine, _HOSTED)
        return self.hosts.provider_of_machine >= 0

    def sound(self) -> NDArray[np.bool_]:
        """Machines that break none of the invariants of `broken_invariants`."""
        state, hosted, bound = self.state_of_machine, self.has_host, self.cluster_of_machine >= 0
        excused = np.zeros(len(self), np.bool_)
        excused[list(self.errors)] = True
        offering = np.array([offering.sound for offering in self.offerings], np.bool_)
        fine = (state > MachineState.UNSPECIFIED) & (state <= MachineState.FAILED)
        fine &= ~np.isin(state, _HOSTLESS) | ~(hosted | bound)
        fine &= ~np.isin(state, _HOSTED) | hosted
        fine &= ~np.isin(state, _BOUND) | bound
        fine &= (state != MachineState.FAILED) | excused
        if len(self):
            fine &= offering[self.offering_of_machine]
        return fine

    def taken(self, chosen: NDArray[np.bool_]) -> "MachineBatch":
        """The chosen machines; what they share stays as it is."""
        if chosen.all():
            return self
        rows = np.flatnonzero(chosen)
        place = {int(row): at for at, row in enumerate(rows)} if self.errors else {}
        hosts, names = self.hosts, self.node_names
        return replace(
            self,
            ids=[self.ids[row] for row in rows.tolist()],
            offering_of_machine=self.offering_of_machine[rows],
            state_of_machine=self.state_of_machine[rows],
            cluster_of_machine=self.cluster_of_machine[rows],
            stamp_of_machine=self.stamp_of_machine[rows],
            idle_since_of_machine=self.idle_since_of_machine[rows],
            hosts=hosts
            and Hosts(hosts.providers, hosts.provider_of_machine[rows], hosts.refs.taken(rows)),
            node_names=names and names.taken(rows),
            errors={place[row]: text for row, text in self.errors.items() if row in place},
        )
