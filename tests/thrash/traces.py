"""Actions of a made-up shard, told to a detector one after another."""

from dataclasses import dataclass, field
from itertools import count

from bigfleet.model.actions import ActionKind
from bigfleet.model.needs import NeedKey
from bigfleet.model.options import SECOND
from bigfleet.model.resources import Resources
from bigfleet.model.thrash import ThrashKind, TraceAction
from bigfleet.thrash.detector import Detector, Sighting

START = 1_000_000 * SECOND
MACHINE = Resources.of({"cpu": 8000})
OFFERING = "cloud/m5.large/a/OnDemand"
HOLD = 600.0


def need(cluster: str, fingerprint: str = "web", group: str = "") -> NeedKey:
    return NeedKey(cluster, fingerprint, group)


@dataclass
class Told:
    """One cycle for each action; time passes only where the test says so."""

    detector: Detector = field(default_factory=Detector)
    now: int = START
    found: list[Sighting] = field(default_factory=list)
    #: Everything begun, with the time it was complete.
    trace: list[TraceAction] = field(default_factory=list)
    _cycle: "count[int]" = field(default_factory=lambda: count(1))

    @property
    def kinds(self) -> list[ThrashKind]:
        return [each.kind for each in self.found]

    def wait(self, seconds: float) -> None:
        self.now += round(seconds * SECOND)

    def bind(
        self,
        machine: str,
        to: NeedKey,
        priority: int = 100,
        kind: ActionKind = ActionKind.BOOTSTRAP,
        offering: str = OFFERING,
    ) -> None:
        self._begin(kind, machine, to, priority=priority, offering=offering)

    def buy(self, machine: str, to: NeedKey, offering: str = OFFERING) -> None:
        self.bind(machine, to, kind=ActionKind.PROVISION, offering=offering)

    def reclaim(self, machine: str, of: NeedKey) -> None:
        """To its end."""
        self._begin(ActionKind.RECLAIM, machine, of)
        self.detector.complete(machine, self.now)

    def release(self, machine: str, offering: str = OFFERING, hold: float = HOLD) -> None:
        """To its end."""
        self._begin(ActionKind.DELETE, machine, need("", ""), offering=offering, hold_seconds=hold)
        self.detector.complete(machine, self.now)

    def preempt(
        self,
        machine: str,
        of: NeedKey,
        by: NeedKey,
        lacking: int = 1,
        priority: int = 1000,
        cycle: int | None = None,
        domain: str = "",
    ) -> None:
        """`lacking`: machines of the size that the victim has."""
        self._begin(
            ActionKind.PREEMPT,
            machine,
            of,
            priority=priority,
            preemptor=by,
            frees=MACHINE,
            deficit=MACHINE.times(lacking),
            cycle=cycle,
            domain=domain,
        )

    def preempt_all(self, machines: list[str], of: NeedKey, by: NeedKey, lacking: int) -> None:
        """In one cycle."""
        cycle = next(self._cycle)
        for machine in machines:
            self.preempt(machine, of, by, lacking, cycle=cycle)

    def drained(self, machine: str) -> None:
        self.detector.complete(machine, self.now)

    def _begin(
        self,
        kind: ActionKind,
        machine: str,
        holder: NeedKey,
        cycle: int | None = None,
        **rest: object,
    ) -> None:
        cycle = next(self._cycle) if cycle is None else cycle
        index = sum(each.cycle == cycle for each in self.trace)
        action = TraceAction(cycle, index, kind, machine, self.now, *holder, **rest)  # type: ignore[arg-type]
        self.trace.append(action)
        self.found += self.detector.begin(action)
