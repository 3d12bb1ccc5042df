"""A fleet in a closed loop whose machines take log-normal times, with a stream of Needs.

Virtual time; one decision per cycle. Machines of a Need that was met go back to the catalogue, so
that the loop may run for as long as a measurement takes.
"""

import math
from dataclasses import dataclass, field, replace
from random import Random

from bigfleet.engine.decision import Decision
from bigfleet.engine.engine_input import EngineInput
from bigfleet.engine.need_progress import progress_of
from bigfleet.explain.need_states import Holds, NeedStates, judged
from bigfleet.forecast.book import ForecastBook
from bigfleet.model.actions import Action, ActionKind
from bigfleet.model.fleet import Fleet, FleetMachine, FleetNeed, Held, HeldBy, Marks
from bigfleet.model.machines import Assigned, CapacityType, Host, Machine, MachineState
from bigfleet.model.memory import EngineMemory
from bigfleet.model.need_states import NeedState
from bigfleet.model.needs import Need, NeedKey
from bigfleet.model.options import SECOND, EngineOptions
from bigfleet.model.profiles import Profile
from bigfleet.model.requirements import Operator, Requirement
from bigfleet.model.resources import Resources
from bigfleet.plan.cycle import engine_input_of
from tests.worlds.fleets import NOW

S = MachineState
UNIT = Resources((("cpu", 8000),))
ZONE = "topology.kubernetes.io/zone"
#: Medians of Create and Configure, and the p95 over the median, by zone.
LATENCIES = {"a": (40.0, 15.0, 3.0), "b": (90.0, 20.0, 2.0), "c": (60.0, 30.0, 4.0)}
_P95 = 1.645


@dataclass(slots=True)
class LatencyWorld:
    seed: int
    #: Needs that wait at a time, and how many machines one asks for.
    waiting: int = 12
    #: Each Need is of the next one.
    clusters: int = 1
    sizes: tuple[int, ...] = (1, 1, 2, 3, 8)
    cycle_seconds: int = 5
    #: How often an offering runs out, per cycle, and for how long.
    stockout: float = 0.0
    stockout_seconds: float = 240.0
    machines: dict[str, FleetMachine] = field(default_factory=dict)
    needs: dict[NeedKey, Need] = field(default_factory=dict)
    memory: EngineMemory = field(default_factory=EngineMemory)
    done_at: dict[str, float] = field(default_factory=dict)
    bound_for: dict[str, tuple[Profile, str, str]] = field(default_factory=dict)
    #: Zones without stock until then, and when each is probed next.
    out_until: dict[str, float] = field(default_factory=dict)
    probe_at: dict[str, tuple[float, float]] = field(default_factory=dict)
    second: float = 0.0
    cycle: int = 0
    asked: int = 0
    states: NeedStates | None = None
    chance: Random = field(init=False)

    def __post_init__(self) -> None:
        self.chance = Random(self.seed)
        for place in range(150):
            zone = "abc"[place % 3]
            self._put(_slot(f"od-{place:03d}", zone))

    @property
    def at(self) -> int:
        return NOW + round(self.second * SECOND)

    def run(self, book: ForecastBook | None, cycles: int) -> None:
        for _ in range(cycles):
            self.run_cycle(book)

    def run_cycle(self, book: ForecastBook | None) -> Decision:
        self.cycle += 1
        self._finish()
        self._stock()
        while len(self.needs) < self.waiting:
            self._ask()
        given = self.input()
        decision = given.decide(workers=1)
        self.states = judged(decision, progress_of(decision), Holds(self.at), self.states)
        if book is not None:
            book.take(decision, self.states, self.cycle)
        self.memory = decision.memory
        for action in decision.actions:
            self._start(action)
        self._release(decision)
        self.second += self.cycle_seconds
        return decision

    def input(self) -> EngineInput:
        fleet = Fleet(
            machines=tuple(self.machines.values()),
            needs=tuple(FleetNeed(need) for need in self.needs.values()),
            now=self.at,
            options=EngineOptions(fold=False, clusters_ready=frozenset()),
            memory=self.memory,
        )
        return replace(engine_input_of(fleet), cycle=self.cycle)

    # -- within ----------------------------------------------------------------------------------

    def _ask(self) -> None:
        """One more Need; a third of them may go to any zone."""
        self.asked += 1
        size, zone = self.chance.choice(self.sizes), self.chance.choice("abc*")
        wanted = () if zone == "*" else (Requirement(ZONE, Operator.IN, (zone,)),)
        aggregate = Resources((("cpu", 8000 * size),))
        cluster = f"shop-{self.asked % self.clusters}"
        need = Need(
            cluster, Profile(wanted, priority=10), aggregate, UNIT, self.at, f"n-{self.asked}"
        )
        self.needs[need.key] = need

    def _start(self, action: Action) -> None:
        entry = self.machines[action.machine]
        match action.kind:
            case ActionKind.PROVISION if entry.machine.zone in self.out_until:
                self._rest(entry.machine.zone)
            case ActionKind.PROVISION:
                assert action.source_profile is not None
                self._begin(entry.machine, S.CREATING, action)
            case ActionKind.BOOTSTRAP:
                self._begin(entry.machine, S.CONFIGURING, action)
            case _:
                raise AssertionError(f"{action.kind.label} in a world without excess")

    def _begin(self, machine: Machine, state: MachineState, action: Action) -> None:
        assert action.source_profile is not None
        stamp = Assigned(
            cluster=action.cluster,
            need_fingerprint=action.source_profile.fingerprint,
            group=action.source_group,
        )
        cluster = action.cluster if state is S.CONFIGURING else ""
        self._put(replace(machine, state=state, assigned=stamp, cluster=cluster))
        create, configure, tail = LATENCIES[machine.zone]
        median = create if state is S.CREATING else configure
        took = self.chance.lognormvariate(math.log(median), math.log(tail) / _P95)
        self.done_at[machine.id] = self.second + took

    def _finish(self) -> None:
        for name in [each for each, when in self.done_at.items() if when <= self.second]:
            del self.done_at[name]
            machine = self.machines[name].machine
            if machine.state is S.CREATING:
                idle = replace(machine, state=S.IDLE, host=Host("sim", name), assigned=Assigned())
                self._put(idle)
            else:
                stamp = replace(machine.assigned, priority=10)
                self._put(replace(machine, state=S.CONFIGURED, assigned=stamp))

    def _release(self, decision: Decision) -> None:
        """Needs that are met end, and their machines can be bought again."""
        outcome, states = decision.outcome, self.states
        assert states is not None, "judged in this cycle"
        holder, ids = outcome.credit.holder.tolist(), outcome.scene.snapshot.ids
        met = {row for row in range(len(outcome)) if states.state[row] == NeedState.MET}
        for row, need in enumerate(holder):
            if need in met:
                self._put(_slot(ids[row], self.machines[ids[row]].machine.zone))
        for row in met:
            self.needs.pop(outcome.key(row))

    def _stock(self) -> None:
        for zone in [z for z, until in self.out_until.items() if until <= self.second]:
            del self.out_until[zone]
        for zone in LATENCIES:
            if (
                self.stockout
                and self.chance.random() < self.stockout
                and zone not in self.out_until
            ):
                lasts = self.chance.lognormvariate(math.log(self.stockout_seconds), 0.6)
                self.out_until[zone] = self.second + lasts
        for zone, (when, rest) in list(self.probe_at.items()):
            if when > self.second:
                continue
            if zone in self.out_until:
                self.probe_at[zone] = self.second + min(900.0, 2 * rest), min(900.0, 2 * rest)
            else:
                del self.probe_at[zone]
        for name, entry in self.machines.items():
            rests = entry.machine.zone in self.probe_at and entry.machine.state is S.SPECULATIVE
            held = Held(HeldBy.BACKOFF) if rests else None
            if entry.marks.held != held:
                self.machines[name] = replace(entry, marks=Marks(held=held))

    def _rest(self, zone: str) -> None:
        self.probe_at.setdefault(zone, (self.second + 30.0, 30.0))

    def _put(self, machine: Machine) -> None:
        self.machines[machine.id] = FleetMachine(machine, Marks())


def _slot(name: str, zone: str) -> Machine:
    return Machine(
        id=name,
        state=S.SPECULATIVE,
        capacity_type=CapacityType.ON_DEMAND,
        instance_type="std-8",
        zone=zone,
        resources=UNIT,
        price_per_hour=0.4,
    )
