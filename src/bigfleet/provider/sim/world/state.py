"""The substrate as one record: supply, work under way, faults, and the agenda of what comes next.

Only `step` changes it, and only in answer to an event that carries its time.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from bigfleet.model.machines import CapacityType, Instant
from bigfleet.provider.sim.world.agenda import Agenda
from bigfleet.provider.sim.world.answers import Answers
from bigfleet.provider.sim.world.distributions import Distribution, distribution_of
from bigfleet.provider.sim.world.draws import Draws
from bigfleet.provider.sim.world.durations import SECOND
from bigfleet.provider.sim.world.faults import Faults
from bigfleet.provider.sim.world.happenings import Command, Failure, Noted, Step
from bigfleet.provider.sim.world.supply import Slot, Supply

DEFAULT_LATENCY: Mapping[str, Distribution] = MappingProxyType(
    {
        step: distribution_of(text)
        for step, text in {
            "create": "lognormal:30s,90s",
            "configure": "lognormal:5s,20s",
            "ready": "uniform:15s,40s",
            "drain": "uniform:1s,20s",
            "delete": "lognormal:5s,20s",
            "describe": "fixed:50ms",
        }.items()
    }
)
#: Metal is imaged, not launched.
BARE_METAL_CONFIGURE = distribution_of("lognormal:120s,300s")

_STATE_WHILE = {
    Step.CREATE: "creating",
    Step.CONFIGURE: "configuring",
    Step.READY: "configuring",
    Step.DRAIN: "draining",
    Step.DELETE: "deleting",
}


@dataclass(frozen=True, slots=True)
class Rules:
    """How this substrate behaves; the parts a verb can change are copied into the substrate."""

    seed: int = 1
    provider: str = "sim"
    start: Instant = 0
    latency: Mapping[str, Distribution] = field(default_factory=dict)
    #: Divides every latency.
    speed: float = 1.0
    #: The spot price drives the risk.
    couple: bool = False
    walk: bool = True
    interruptions: bool = True
    notice_nanos: int = 120 * SECOND
    stockout_rest_seconds: float = 60.0
    fault_selectors: bool = False


@dataclass(slots=True)
class Work:
    """A step under way."""

    step: Step
    operation: str
    machine: str
    cluster: str = ""
    #: Decided when it began; None: it will succeed.
    failure: Failure | None = None
    text: str = ""
    after_seconds: float | None = None
    #: A create that counts against stock and quota before its host exists.
    reserves: bool = False
    #: Its time has come, but a hold keeps it.
    parked: bool = False


@dataclass(slots=True)
class Substrate:
    rules: Rules
    draws: Draws
    supply: Supply
    #: Never runs backwards.
    now: Instant
    agenda: Agenda = field(default_factory=Agenda)
    faults: Faults = field(default_factory=Faults)
    answers: Answers = field(default_factory=Answers)
    latency: dict[str, Distribution] = field(default_factory=dict)
    walking: bool = True
    #: (step, operation) -> what is under way; parked work too.
    work: dict[tuple[Step, str], Work] = field(default_factory=dict)
    #: Machine -> its work, the same records as above.
    work_of: dict[str, Work] = field(default_factory=dict)
    #: Admitted creates that have not begun, with the time of their admission.
    admitted: dict[str, Instant] = field(default_factory=dict)
    #: (purpose, subject) -> how often it was drawn.
    occurrences: dict[tuple[str, str], int] = field(default_factory=dict)
    #: Scripted verbs by their number on the agenda.
    script: dict[str, Command] = field(default_factory=dict)
    #: How the next describes are wrong: shares of the inventory they show.
    describe_shares: list[float] = field(default_factory=list)
    #: What happened since the driver last looked.
    notes: list[Noted] = field(default_factory=list)

    def age(self) -> int:
        return self.now - self.rules.start

    def note(self, subject: str, event: str, **facts: object) -> None:
        self.notes.append(Noted(self.now, subject, event, facts))

    def take_notes(self) -> list[Noted]:
        taken, self.notes = self.notes, []
        return taken

    def occurrence(self, purpose: str, subject: str) -> int:
        """How many times this was drawn before; counts this one."""
        number = self.occurrences.get((purpose, subject), 0)
        self.occurrences[purpose, subject] = number + 1
        return number

    def state_of(self, slot: Slot) -> str:
        """The state a server would show, as far as the substrate can know."""
        work = self.work_of.get(slot.id)
        if work is not None:
            return _STATE_WHILE[work.step]
        if slot.host is None:
            return "speculative"
        if slot.host.broken:
            return "failed"
        return "configured" if slot.host.cluster else "idle"

    def latency_nanos(self, slot: Slot, step: str, occurrence: int) -> int:
        offering = slot.pool.offering
        distribution = offering.latency.get(step) or self.latency[step]
        default = distribution is DEFAULT_LATENCY.get(step)
        if default and step == "configure" and offering.capacity_type is CapacityType.BARE_METAL:
            distribution = BARE_METAL_CONFIGURE
        drawn = distribution.nanos(self.draws, f"latency/{step}", slot.id, occurrence)
        return round(drawn / self.rules.speed)
