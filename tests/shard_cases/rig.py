"""A whole shard without its driver: a provider that answers at once, operators too."""

from collections.abc import Iterable, Mapping

from bigfleet.model.machines import CapacityType, Host, Instant, Machine, MachineState
from bigfleet.model.needs import Need
from bigfleet.model.options import SECOND
from bigfleet.model.profiles import Profile
from bigfleet.model.provider_calls import Ack, ConfigureCall, MachineRecord
from bigfleet.model.resources import Resources
from bigfleet.model.rollups import Rollup
from bigfleet.model.session_frames import BootstrapRequest, BootstrapResponse, Hello
from bigfleet.shard.cycle import CycleInput, deliberate
from bigfleet.shard.events import BlobArrived, CallAnswered, RollupArrived, SessionOpened
from bigfleet.shard.instructions import CallProvider, FlushSession, Instruction, Log, WriteAudit
from bigfleet.shard.settings import ShardSettings
from bigfleet.shard.state import ShardState
from tests.shard_parts import start_of

START: Instant = 1_700_000_000 * SECOND
CLOUD, SHOP = "cloud", "shop"
CPU = 1000  # of a core, as the model counts it


def cores(number: int) -> Resources:
    return Resources.of({"cpu": number * CPU})


def machine(name: str, state: MachineState, cluster: str = "") -> Machine:
    return Machine(
        name,
        state,
        CapacityType.ON_DEMAND,
        Host(CLOUD, f"host-of-{name}"),
        cluster,
        resources=cores(8),
        price_per_hour=1.0,
    )


class Rig:
    hello = Hello(SHOP)

    def __init__(
        self,
        settings: ShardSettings,
        machines: Iterable[Machine],
        stored: Mapping[str, Mapping[str, bytes]] | None = None,
    ) -> None:
        self.at = START
        self.state = ShardState(
            start_of(settings, providers={CLOUD: "cloud:9000"}, at=START, stored=stored)
        )
        self.counts = self.state.effects.counts
        self.done: list[Instruction] = []
        for known in machines:
            self.insert(known)
        self.obey(self.state.handle(SessionOpened(1, self.hello, "test", START)))

    def report(self, *amounts: int) -> None:
        """A roll-up of cluster shop: one Need for each number of cores."""
        needs = tuple(
            Need(SHOP, Profile.of(priority=number), cores(amount))
            for number, amount in enumerate(amounts)
        )
        self.report_needs(*needs)

    def report_needs(self, *needs: Need) -> None:
        rollup = Rollup(SHOP, self.at, needs, repr(needs).encode())
        self.obey(self.state.handle(RollupArrived(1, rollup, self.at)))

    def insert(self, known: Machine) -> None:
        self.state.parts.machines.insert(known, CLOUD, self.at, "listed")

    def cycle(self) -> None:
        self.end_cycle(self.state.begin_cycle(self.at))

    def end_cycle(self, given: CycleInput) -> None:
        thought = deliberate(given, map, lambda: 0.0)
        self.obey(self.state.end_cycle(thought, self.at, 0.0))
        self.at += SECOND
        self.obey(self.state.tick(self.at))

    def states(self) -> dict[str, MachineState]:
        known = self.state.parts.machines
        return {name: known.truth(name).state for name in known.ids()}

    def audit(self) -> list[dict[str, object]]:
        return [dict(i.line) for i in self.done if isinstance(i, WriteAudit)]

    def logs(self, event: str) -> list[Log]:
        return [i for i in self.done if isinstance(i, Log) and i.event == event]

    def calls(self) -> list[CallProvider]:
        return [i for i in self.done if isinstance(i, CallProvider)]

    def obey(self, instructions: Iterable[Instruction]) -> None:
        for instruction in instructions:
            self.done.append(instruction)
            if isinstance(instruction, CallProvider):
                self._answer(instruction)
            elif isinstance(instruction, FlushSession):
                self._read(instruction.session)

    def _answer(self, call: CallProvider) -> None:
        asked = call.call
        assert isinstance(asked, ConfigureCall), "only clusters are served on this rig"
        configured = MachineRecord(
            asked.machine_id,
            MachineState.CONFIGURED,
            Host(CLOUD, f"host-of-{asked.machine_id}"),
            capacity_type=CapacityType.ON_DEMAND,
            price_per_hour=1.0,
            resources={"cpu": "8"},
            cluster=asked.cluster_id,
            shard_metadata=asked.shard_metadata,
        )
        self.obey(self.state.handle(CallAnswered(call, Ack("op-1", configured), self.at)))

    def _read(self, session: int) -> None:
        for frame in self.state.take_frames(session, 1000):
            if isinstance(frame, BootstrapRequest):
                blob = BootstrapResponse(frame.request_id, b"join")
                self.obey(self.state.handle(BlobArrived(session, blob, self.at)))
