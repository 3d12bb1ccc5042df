"""The fleet of the load test: half of it serves its clusters, the rest is free.

Every Need has exactly the machines it asks for, so a shard at rest has nothing to do. A roll-up
differs from the one before it in one amount, by less than a machine; a probe asks for one machine
more, and there is an idle one for it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from bigfleet.model.machines import Assigned, CapacityType, Host, MachineState
from bigfleet.model.metadata import encode
from bigfleet.model.needs import Need
from bigfleet.model.profiles import Profile
from bigfleet.model.provider_calls import MachineRecord
from bigfleet.model.requirements import INSTANCE_TYPE_KEY, Operator, Requirement
from bigfleet.model.resources import Resources
from bigfleet.wire.rollups import rollup_bytes

TYPES = ("c6i.4xlarge", "m6i.4xlarge", "n2-standard-16", "r6i.4xlarge", "c7g.4xlarge")
ZONES = ("a", "b", "c")
_NO_TYPE = "none-such.metal"
_CPU, _MEMORY = 16_000, 64 * 2**30
_SHAPE = {"cpu": "16", "memory": "64Gi"}
_UNIT = Resources.of({"cpu": 4_000, "memory": 16 * 2**30})
#: Amounts a row may show that all need the same machines.
_VARIANTS = 50
_PRIORITY = 1_000


@dataclass(frozen=True, slots=True)
class ShardScale:
    machines: int
    sessions: int
    #: Needs of each cluster.
    rows: int
    rollups_per_second: float
    #: How long each phase is watched.
    seconds: float
    #: Needs of each cluster beside those, for machines that there are none of.
    short: int = 0

    @property
    def bound(self) -> int:
        """Machines of each cluster: as many of every row."""
        return max(1, self.machines // 2 // self.sessions // self.rows) * self.rows

    @property
    def idle(self) -> int:
        return self.machines // 5

    @property
    def probes(self) -> int:
        """Clusters that ask for a machine in a phase: rarer than cycles, so that none waits for
        the end of another's."""
        return max(1, min(self.sessions, round(self.seconds * 3)))


def cluster_name(cluster: int) -> str:
    return f"c{cluster:05d}"


def records(scale: ShardScale) -> Iterator[MachineRecord]:
    for cluster in range(scale.sessions):
        for place in range(scale.bound):
            row = place % scale.rows
            profile = _profile(_type(cluster, row), row)
            yield _record(
                cluster * scale.bound + place,
                MachineState.CONFIGURED,
                _type(cluster, row),
                cluster_name(cluster),
                encode(Assigned(_PRIORITY + row, 0.0, 0.0, profile.fingerprint)),
            )
    taken = scale.sessions * scale.bound
    for number in range(taken, max(scale.machines, taken + scale.idle)):
        idle = number < taken + scale.idle
        state = MachineState.IDLE if idle else MachineState.SPECULATIVE
        yield _record(number, state, TYPES[number % len(TYPES)])


def rollup(scale: ShardScale, cluster: int, variant: int, more: int, at: int) -> bytes:
    """The cluster's whole demand: `variant` moves one amount a little, `more` adds machines."""
    machines = scale.bound // scale.rows
    pieces = [rollup_bytes(cluster_name(cluster), at, ())]
    moved = variant % scale.rows if variant else -1
    for row in range(scale.rows):
        shown = 1 + variant // scale.rows % _VARIANTS if row == moved else 0
        wanted = machines + (more if row == 0 else 0)
        pieces.append(_row_bytes(_type(cluster, row), row, wanted, shown))
    for row in range(scale.short):
        # Of all priorities: a page of the first Needs has some of both.
        pieces.append(_row_bytes(_NO_TYPE, row * scale.rows // scale.short, 1, 0))
    return b"".join(pieces)


def _type(cluster: int, row: int) -> str:
    return TYPES[(cluster + row) % len(TYPES)]


def _record(
    number: int,
    state: MachineState,
    instance_type: str,
    cluster: str = "",
    metadata: dict[str, str] | None = None,
) -> MachineRecord:
    return MachineRecord(
        f"m-{number:07d}",
        state,
        Host("bench", f"h-{number:07d}") if state is not MachineState.SPECULATIVE else None,
        instance_type,
        ZONES[number % len(ZONES)],
        CapacityType.BARE_METAL,
        resources=_SHAPE,
        allocatable=_SHAPE,
        cluster=cluster,
        shard_metadata=metadata or {},
    )


@lru_cache(None)
def _profile(instance_type: str, row: int) -> Profile:
    wanted = Requirement.of(INSTANCE_TYPE_KEY, Operator.IN, [instance_type])
    return Profile.of([wanted], priority=_PRIORITY + row)


@lru_cache(None)
def _row_bytes(instance_type: str, row: int, machines: int, variant: int) -> bytes:
    """A roll-up of one row and no head: pieces of a roll-up lie behind each other."""
    amounts = {"cpu": machines * _CPU - variant, "memory": machines * _MEMORY}
    profile = _profile(instance_type, row)
    return rollup_bytes("", 0, [Need("", profile, Resources.of(amounts), _UNIT)])
