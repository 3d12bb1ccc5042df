"""A substrate held in the hand: calls and time go in, what it says comes out."""

from bigfleet.model.machines import CapacityType
from bigfleet.provider.sim.world.distributions import nanos_of
from bigfleet.provider.sim.world.economy import new_substrate
from bigfleet.provider.sim.world.events import (
    AdmissionAsked,
    CommandGiven,
    Event,
    Finish,
    Instruction,
    LoggedEvent,
    Refuse,
    Reply,
    ScriptGiven,
    Step,
    StepAsked,
    TimePassed,
)
from bigfleet.provider.sim.world.offerings import SimOffering, offering
from bigfleet.provider.sim.world.state import EventLog, Rules, Substrate
from bigfleet.provider.sim.world.step import step
from bigfleet.provider.sim.world.supply import Slot
from bigfleet.provider.sim.world.verbs import command_of_words, script_of

ON_DEMAND = offering("std-2", CapacityType.ON_DEMAND, "sim-1a", 4, id_prefix="od")
SPOT = offering("std-2", CapacityType.SPOT, "sim-1a", 4, id_prefix="sp")
METAL = offering("std-8", CapacityType.BARE_METAL, "sim-1a", 2, id_prefix="bm")


class SimHandle:
    """Every call happens at the time the last `wait` reached."""

    def __init__(self, substrate: Substrate) -> None:
        self.substrate = substrate
        self.log: list[LoggedEvent] = []
        self._operations = 0

    def tell(self, event: Event) -> list[Instruction]:
        said = step(self.substrate, event)
        self.log += self.substrate.take_notes()
        return said

    def ask(
        self, kind: Step, machine: str, cluster: str = "", grace: int = 60, operation: str = ""
    ) -> str:
        """Begins a step and gives its operation id."""
        if not operation:
            self._operations += 1
            operation = f"op-{self._operations}"
        self.tell(StepAsked(kind, machine, operation, self.substrate.now, cluster, grace))
        return operation

    def wait(self, length: str) -> list[Instruction]:
        return self.tell(TimePassed(self.substrate.now + nanos_of(length)))

    def done(self, kind: Step, machine: str, cluster: str = "") -> str:
        """Runs a step to its end, which must be a success; gives the host's ref."""
        self.ask(kind, machine, cluster)
        said = self.wait("1h")
        ends = [i for i in said if isinstance(i, Finish | Refuse) and i.machine == machine]
        assert len(ends) == 1
        assert isinstance(ends[0], Finish), ends
        return ends[0].host_ref

    def admission(self, kind: Step, machine: str) -> Refuse | None:
        said = self.tell(AdmissionAsked(kind, machine, self.substrate.now))
        return next((i for i in said if isinstance(i, Refuse)), None)

    def do(self, *words: str) -> dict[str, object]:
        reply = self.reply(*words)
        assert not reply.problem, reply.problem
        return dict(reply.facts)

    def problem(self, *words: str) -> str:
        return self.reply(*words).problem

    def reply(self, *words: str) -> Reply:
        said = self.tell(CommandGiven(command_of_words(words), self.substrate.now))
        return next(i for i in said if isinstance(i, Reply))

    def script(self, *entries: dict[str, object]) -> None:
        self.tell(ScriptGiven(script_of(list(entries)), self.substrate.now))

    def slot(self, machine: str) -> Slot:
        return self.substrate.supply.slots[machine]

    def state(self, machine: str) -> str:
        return self.substrate.state_of(self.slot(machine))

    def events(self, name: str) -> list[LoggedEvent]:
        return [note for note in self.log if note.event == name]

    def log_text(self) -> str:
        lines: list[str] = []
        log = EventLog(sink=lines.append)
        log.add(self.log)
        log.seal(self.substrate.now + 1)
        return "\n".join(lines)


def hand(*offerings: SimOffering, rules: Rules | None = None) -> SimHandle:
    return SimHandle(new_substrate(rules or Rules(), offerings or (ON_DEMAND, SPOT, METAL)))
