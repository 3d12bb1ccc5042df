"""A whole shard with its engine, and a cloud whose types run out."""

from collections.abc import Iterable
from itertools import count

from bigfleet.model.machines import CapacityType, Host, Machine, MachineState
from bigfleet.model.needs import Need
from bigfleet.model.options import SECOND
from bigfleet.model.profiles import Profile
from bigfleet.model.provider_calls import (
    Ack,
    Code,
    ConfigureCall,
    CreateCall,
    MachineRecord,
    Rejected,
)
from bigfleet.model.rollups import Rollup
from bigfleet.model.session_frames import Hello
from bigfleet.shard.events import CallAnswered, RollupArrived, SessionOpened
from bigfleet.shard.instructions import CallProvider
from bigfleet.shard.settings import ShardSettings
from tests.shard_cases.rig import CLOUD, Rig, cores

S = MachineState
WEB = Profile.of(priority=5)
#: Of one machine.
CORES = 8


def slots(
    kind: str,
    number: int,
    price: float,
    capacity_type: CapacityType = CapacityType.ON_DEMAND,
    zone: str = "a",
) -> list[Machine]:
    return [
        Machine(
            f"{kind}-{zone}-{place:03d}",
            S.SPECULATIVE,
            capacity_type,
            instance_type=kind,
            zone=zone,
            resources=cores(CORES),
            price_per_hour=price,
        )
        for place in range(number)
    ]


class Market(Rig):
    def __init__(self, machines: Iterable[Machine], settings: ShardSettings | None = None) -> None:
        #: Types that are out of stock.
        self.exhausted: set[str] = set()
        #: Machines whose Create was called, in order.
        self.creates: list[str] = []
        self._sessions: dict[str, int] = {}
        self._numbers = count(10)
        super().__init__(settings or ShardSettings(), machines)

    def wants(self, cluster: str, machines: int) -> None:
        """From now on, of machines of any type."""
        if cluster not in self._sessions:
            self._sessions[cluster] = number = next(self._numbers)
            opened = SessionOpened(number, Hello(cluster), "test", self.at)
            self.obey(self.state.handle(opened))
        needs = (Need(cluster, WEB, cores(CORES * machines), min_unit=cores(CORES)),)
        rollup = Rollup(cluster, self.at, needs, repr(needs).encode())
        self.obey(self.state.handle(RollupArrived(self._sessions[cluster], rollup, self.at)))

    def pass_time(self, seconds: int) -> None:
        """To be noticed once; operators read what they are sent."""
        for session in self._sessions.values():
            self._read(session)
        self.at += seconds * SECOND
        self.obey(self.state.tick(self.at))

    def bound(self, kind: str = "") -> list[str]:
        states = self.states().items()
        return [name for name, state in states if state is S.CONFIGURED and name.startswith(kind)]

    def creates_of(self, kind: str) -> int:
        return sum(name.startswith(kind) for name in self.creates)

    def _answer(self, call: CallProvider) -> None:
        asked = call.call
        assert isinstance(asked, CreateCall | ConfigureCall), asked
        known = self.state.parts.machines.truth(asked.machine_id)
        answer: Ack | Rejected
        if isinstance(asked, CreateCall):
            self.creates.append(asked.machine_id)
            if known.instance_type in self.exhausted:
                answer = Rejected(Code.RESOURCE_EXHAUSTED, "none left")
            else:
                answer = Ack("op", _record(known, S.IDLE))
        else:
            record = _record(known, S.CONFIGURED, asked)
            answer = Ack("op", record)
        self.obey(self.state.handle(CallAnswered(call, answer, self.at)))


def _record(
    known: Machine, state: MachineState, configured: ConfigureCall | None = None
) -> MachineRecord:
    return MachineRecord(
        known.id,
        state,
        Host(CLOUD, f"host-of-{known.id}"),
        known.instance_type,
        known.zone,
        known.capacity_type,
        known.price_per_hour,
        resources={"cpu": str(CORES)},
        cluster=configured.cluster_id if configured else "",
        shard_metadata=configured.shard_metadata if configured else {},
    )
