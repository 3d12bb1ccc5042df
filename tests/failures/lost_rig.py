"""A whole shard whose cluster reports on its Nodes, and a provider that is slow to drain."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from bigfleet.model.cluster_reports import ClusterReport, LostCause, LostMachine
from bigfleet.model.machines import CapacityType, Host, Machine, MachineState
from bigfleet.model.options import SECOND
from bigfleet.model.provider_calls import Ack, DrainCall, MachineRecord
from bigfleet.model.session_frames import (
    PROTOCOL,
    RECLAIM_DONE,
    Hello,
    ReclaimAck,
    ReclaimInstruction,
)
from bigfleet.shard.events import CallAnswered, ReclaimAcked, SessionClosed
from bigfleet.shard.instructions import CallProvider, GetCall, Instruction, Persist
from bigfleet.shard.settings import ShardSettings
from tests.shard_cases.rig import CLOUD, SHOP, Rig, machine

S = MachineState
GONE, NEVER, SICK = LostCause.NODE_GONE, LostCause.NEVER_JOINED, LostCause.UNHEALTHY
SESSION = 1


class LostRig(Rig):
    hello = Hello(SHOP, f"{PROTOCOL}+{RECLAIM_DONE}")

    def __init__(
        self,
        machines: int,
        settings: ShardSettings | None = None,
        stored: Mapping[str, Mapping[str, bytes]] | None = None,
    ) -> None:
        """`machines` of them serve cluster shop, which asks for all of them."""
        self.drains: list[CallProvider] = []
        self.instructions: list[ReclaimInstruction] = []
        self.stored: dict[str, dict[str, bytes]] = {
            table: dict(rows) for table, rows in (stored or {}).items()
        }
        super().__init__(settings or ShardSettings(), (), stored)
        for number in range(machines):
            self.insert(configured(number))
        self.report(8 * machines)

    # -- the cluster -----------------------------------------------------------------------------

    def tell(self, **lost: LostCause) -> None:
        """The cluster reports these machines lost (m_1 for m-1), and a second passes."""
        self.told = lost
        self._report(0)
        self.pass_time(1)

    def tell_unhealthy(self, nodes_not_ready: int, **lost: LostCause) -> None:
        self.told = lost
        self._report(nodes_not_ready)
        self.pass_time(1)

    def disconnect(self) -> None:
        self.obey(self.state.handle(SessionClosed(SESSION, self.at)))

    def acknowledge(self) -> None:
        """The operator answers the newest instruction once more."""
        ack = ReclaimAck(self.instructions[-1].instruction_id, 1)
        self.obey(self.state.handle(ReclaimAcked(SESSION, ack, self.at)))

    def _report(self, nodes_not_ready: int) -> None:
        lost = tuple(
            LostMachine(name.replace("_", "-"), cause) for name, cause in self.told.items()
        )
        report = ClusterReport(SHOP, self.at, nodes_not_ready=nodes_not_ready, lost=lost)
        self.state.parts.cluster_reports.take(report, self.at)
        self.obey(self.state.taken())

    # -- the provider ----------------------------------------------------------------------------

    def drained(self, *names: str) -> None:
        """The provider is done with these drains; of all of them without a name."""
        meant = [c for c in self.drains if not names or c.call.machine_id in names]
        for call in meant:
            self.drains.remove(call)
            name = call.call.machine_id
            idle = MachineRecord(
                name,
                S.IDLE,
                Host(CLOUD, f"host-of-{name}"),
                capacity_type=CapacityType.ON_DEMAND,
                price_per_hour=1.0,
                resources={"cpu": "8"},
            )
            self.obey(self.state.handle(CallAnswered(call, Ack("op", idle), self.at)))

    def draining(self) -> dict[str, int]:
        """Machines the provider drains, with the grace it was given."""
        found = {}
        for each in self.drains:
            assert isinstance(each.call, DrainCall)
            found[each.call.machine_id] = each.call.grace_period_seconds
        return found

    # -- time and views --------------------------------------------------------------------------

    def pass_time(self, seconds: int, *, reporting: bool = False) -> None:
        """Ticks without cycles; `reporting`: the cluster goes on to say what it said last."""
        for second in range(seconds):
            self.at += SECOND
            if reporting and second % 10 == 0:
                self._report(0)
            self.obey(self.state.tick(self.at))

    def lost(self) -> list[str]:
        cause_of = self.state.parts.lost.cause_of
        return [name for name in sorted(self.state.parts.machines.ids()) if cause_of(name)]

    def overdue(self) -> list[str]:
        marks_of = self.state.parts.machines.inventory.marks_of
        return [name for name in sorted(self.states()) if marks_of(name).overdue]

    def story(self, name: str) -> str:
        return "\n".join(event.text for event in self.state.effects.stories.of(name))

    def restarted(self, machines: int) -> "LostRig":
        """The next life: what was stored, and the machines as the provider has them."""
        return LostRig(machines, self.state.settings, self.stored)

    def obey(self, instructions: Iterable[Instruction]) -> None:
        kept = list(instructions)
        for each in kept:
            if isinstance(each, Persist):
                rows = self.stored.setdefault(each.table, {})
                if each.value is None:
                    rows.pop(each.key, None)
                else:
                    rows[each.key] = each.value
        super().obey(kept)

    def _answer(self, call: CallProvider) -> None:
        if isinstance(call.call, DrainCall):
            self.drains.append(call)
        elif not isinstance(call.call, GetCall):
            super()._answer(call)

    def _read(self, session: int) -> None:
        for frame in self.state.take_frames(session, 1000):
            if isinstance(frame, ReclaimInstruction):
                self.instructions.append(frame)
        self.state.parts.sessions.sent(session)


def configured(number: int) -> Machine:
    return replace(machine(f"m-{number}", S.CONFIGURED, SHOP), instance_type="std", zone="a")
