"""A night of a small fleet, recorded: `python -m tests.questions.recorded_night` does it again.

A whole shard in virtual time, a cycle every five seconds, with a provider that takes its time and
runs out of stock. What happens (times are UTC):

| time | what |
|---|---|
| 02:40 | `shop` runs its web pods on 6 machines of its own racks, `batch` a job on an arm machine |
| 02:42 | `ml` asks for a gang of 4 machines in one rack; no rack has 4 left |
| 02:56 | the job of `batch` ends; its machine is kept for ten minutes |
| 02:58 | the cloud runs out of `m5.2xlarge`, in both zones |
| 03:00 | `payments` asks for 4 machines: 2 are free, none can be bought, 2 are taken from `shop` |
| 03:04 | ada pauses preemption in `shop` for two hours |
| 03:05 | `batch` starts its job again: the machine goes back to where it came from |
| 03:06 | `payments` asks for 1 more; the pause holds its Preempt |
| 03:08 | the cloud has stock again: what `payments` and `shop` still lack is bought |
| 03:12 | the record ends; the pause is still in force |
"""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from bigfleet.journal.journal_file import JournalFile, JournalLimits
from bigfleet.journal.recorder import Note
from bigfleet.model.actions import ActionKind
from bigfleet.model.journal import JournalEvent
from bigfleet.model.machines import CapacityType, Host, Instant, MachineState
from bigfleet.model.needs import Need
from bigfleet.model.options import SECOND
from bigfleet.model.pauses import PauseScope
from bigfleet.model.penalties import bucket_of_dollars
from bigfleet.model.profiles import Profile
from bigfleet.model.provider_calls import (
    Ack,
    Code,
    ConfigureCall,
    CreateCall,
    DeleteCall,
    DrainCall,
    MachineRecord,
    Mutation,
    Rejected,
)
from bigfleet.model.requirements import RACK_KEY, Operator, Requirement
from bigfleet.model.resources import Resources
from bigfleet.shard.instructions import CallProvider, GetCall, Instruction, WriteNote
from bigfleet.shard.rails.pauses import PauseRequest
from bigfleet.shard.settings import ShardSettings
from tests.hazards.virtual_fleet import VirtualFleet

NIGHT = Path(__file__).parent / "night"
#: 2026-03-14T02:40:00Z.
BEGIN: Instant = 1_773_456_000 * SECOND
S = MachineState
_CLOUD = "cloud"
ARCH_KEY = "kubernetes.io/arch"
_SIZE = {"cpu": "8", "memory": "32Gi"}
_ALLOCATABLE = {"cpu": "7500m", "memory": "28Gi"}
_SECONDS = {S.CREATING: 40, S.CONFIGURING: 15, S.DRAINING: 20, S.DELETING: 10}
_AFTER = {
    S.CREATING: S.IDLE,
    S.CONFIGURING: S.CONFIGURED,
    S.DRAINING: S.IDLE,
    S.DELETING: S.SPECULATIVE,
}


def owned(name: str, zone: str) -> MachineRecord:
    """A machine in the rack of its zone, paid for anyway."""
    return MachineRecord(
        name,
        S.IDLE,
        Host(_CLOUD, f"host-of-{name}"),
        "metal.8",
        zone,
        CapacityType.BARE_METAL,
        resources=_SIZE,
        allocatable=_ALLOCATABLE,
        labels={RACK_KEY: f"{zone}-r1"},
    )


def offered(name: str, zone: str, instance_type: str, price: float, arch: str) -> MachineRecord:
    """A slot of the cloud."""
    return MachineRecord(
        name,
        S.SPECULATIVE,
        None,
        instance_type,
        zone,
        CapacityType.ON_DEMAND,
        price,
        0.05,
        resources=_SIZE,
        allocatable=_ALLOCATABLE,
        labels={ARCH_KEY: arch},
    )


FLEET = (
    *(owned(f"bm-0{number}", "a" if number <= 4 else "b") for number in range(1, 9)),
    *(offered(f"od-{z}-{n}", z, "m5.2xlarge", 0.38, "amd64") for z in "ab" for n in (1, 2)),
    *(offered(f"arm-a-{n}", "a", "c7g.2xlarge", 0.29, "arm64") for n in (1, 2)),
)


def web(pods: int) -> Need:
    return _need("shop", pods, {"cpu": "1500m", "memory": "4Gi"}, 1000, 4, "amd64")


def settlement(pods: int) -> Need:
    return _need("payments", pods, {"cpu": "7", "memory": "24Gi"}, 100_000, 16, "amd64")


def report(pods: int) -> Need:
    return _need("batch", pods, {"cpu": "6", "memory": "16Gi"}, 100, 0, "arm64")


def training(machines: int) -> Need:
    """A gang: all of it in one rack."""
    asked = _need("ml", machines, {"cpu": "7", "memory": "24Gi"}, 500, 64, "amd64")
    rack = Requirement.of(RACK_KEY, Operator.SAME)
    profile = Profile.of(
        (*asked.profile.requirements, rack),
        priority=500,
        interruption_bucket=asked.profile.interruption_bucket,
        reclamation_bucket=asked.profile.reclamation_bucket,
    )
    return replace(asked, profile=profile, group="train-7")


def _need(
    cluster: str, pods: int, pod: dict[str, str], priority: int, dollars: float, arch: str
) -> Need:
    profile = Profile.of(
        [Requirement.of(ARCH_KEY, Operator.IN, [arch])],
        priority=priority,
        interruption_bucket=bucket_of_dollars(dollars),
        reclamation_bucket=bucket_of_dollars(dollars / 4),
    )
    unit = Resources.parse(pod)
    return Need(cluster, profile, unit.times(pods), unit)


class RecordedShard(VirtualFleet):
    cycle_seconds = 5

    def __init__(
        self, file: JournalFile, fleet: Iterable[MachineRecord] = FLEET, at: Instant = BEGIN
    ) -> None:
        #: Before there is a shard: it speaks when it is made.
        self._notes: list[Note] = []
        self._file = file
        self.sold_out = ""
        settings = ShardSettings(provider_addr=(f"{_CLOUD}=cloud:9000",))
        super().__init__(fleet, {}, settings, at=at)

    def until(self, clock: str) -> None:
        """Until this time of the night."""
        hours, minutes = map(int, clock.split(":"))
        end = BEGIN + ((hours - 2) * 60 + minutes - 40) * 60 * SECOND
        while self.at < end:
            self.run_recorded(1)

    def run_recorded(self, cycles: int) -> None:
        for _ in range(cycles):
            self.run(1)
            finished = self.state.decision_loop.finished
            assert finished is not None
            self._file.record(finished, self.at)
            self._write_notes()

    def resume(self, pause_id: str) -> None:
        self.state.parts.pauses.resume(pause_id, False, self.at, "bob", "it is over")
        self._obey(self.state.taken())

    def pause(self, asked: PauseRequest) -> None:
        self.state.parts.pauses.pause(asked, self.at)
        self._obey(self.state.taken())

    def _obey(self, instructions: Iterable[Instruction]) -> None:
        told = list(instructions)
        for each in told:
            if isinstance(each, WriteNote):
                at = self.at if isinstance(each.body, JournalEvent) else each.body.at
                self._notes.append(Note(each.cycle, at, each.body))
        super()._obey(told)

    def _write_notes(self) -> None:
        notes, self._notes = self._notes, []
        assert self._file.note(notes) == 0

    # -- the provider ----------------------------------------------------------------------------

    def _answer(self, asked: CallProvider) -> Ack | MachineRecord | Rejected:
        call = asked.call
        if isinstance(call, GetCall):
            return self.shelf[call.machine_id]
        record = self.shelf[call.machine_id]
        if isinstance(call, CreateCall) and record.instance_type == self.sold_out:
            text = f"InsufficientInstanceCapacity: no {record.instance_type} in zone {record.zone}"
            return Rejected(Code.RESOURCE_EXHAUSTED, text)
        self._begin(call)
        return Ack(f"op-{call.machine_id}-{self.at // SECOND}", self.shelf[call.machine_id])

    def _begin(self, call: Mutation) -> None:
        record = self.shelf[call.machine_id]
        match call:
            case CreateCall():
                record = replace(record, state=S.CREATING)
            case ConfigureCall():
                record = replace(
                    record,
                    state=S.CONFIGURING,
                    cluster=call.cluster_id,
                    shard_metadata=call.shard_metadata,
                )
            case DrainCall():
                record = replace(record, state=S.DRAINING)
            case DeleteCall():
                record = replace(record, state=S.DELETING)
        self.shelf[record.id] = record
        self._due[record.id] = self.at + _SECONDS[record.state] * SECOND

    def _end_due(self) -> None:
        for name in [name for name, due in self._due.items() if due <= self.at]:
            del self._due[name]
            record = self.shelf[name]
            ended = replace(record, state=_AFTER[record.state])
            if record.state is S.CREATING:
                ended = replace(ended, host=Host(_CLOUD, f"i-{name}"))
            if record.state is S.DRAINING:
                ended = replace(ended, cluster="", shard_metadata={})
            if record.state is S.DELETING:
                ended = replace(ended, host=None)
            self.shelf[name] = ended


def record() -> None:
    NIGHT.mkdir(exist_ok=True)
    for path in NIGHT.iterdir():
        path.unlink()
    file = JournalFile(NIGHT, "shard-0", 1, "0.3.0", JournalLimits())
    file.prepare()
    live_through(RecordedShard(file))
    file.close()


def live_through(shard: RecordedShard) -> None:
    for cluster, needs in (
        ("shop", (web(30),)),
        ("batch", (report(1),)),
        ("ml", ()),
        ("payments", ()),
    ):
        shard.report(cluster, *needs)
    shard.until("2:42")
    shard.report("ml", training(4))
    shard.until("2:56")
    shard.report("batch")
    shard.until("2:58")
    shard.sold_out = "m5.2xlarge"
    shard.until("3:00")
    shard.report("payments", settlement(4))
    shard.until("3:04")
    scope = PauseScope(cluster_ids=("shop",), kinds=(ActionKind.PREEMPT,))
    shard.pause(PauseRequest("ada", "web loses machines to payments", scope, 7200, pause_id="p1"))
    shard.until("3:05")
    shard.report("batch", report(1))
    shard.until("3:06")
    shard.report("payments", settlement(5))
    shard.until("3:08")
    shard.sold_out = ""
    shard.until("3:12")


if __name__ == "__main__":
    record()
