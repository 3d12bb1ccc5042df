"""Recorded cycles of small fleets, for costs over time."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from bigfleet.costs.isolated import isolated_report
from bigfleet.costs.isolated_reading import Reading
from bigfleet.engine.engine_input import EngineInput
from bigfleet.engine.inventory import Inventory
from bigfleet.engine.needs_table import NeedsTable
from bigfleet.journal.history import History, RecordedCycle
from bigfleet.journal.journal_file import JournalFile, JournalLimits
from bigfleet.journal.recorder import FinishedCycle
from bigfleet.model.fleet import Marks
from bigfleet.model.isolated import IsolatedCall, IsolatedReport
from bigfleet.model.machines import CapacityType, Host, Machine, MachineState
from bigfleet.model.memory import EngineMemory
from bigfleet.model.needs import Need
from bigfleet.model.options import SECOND, EngineOptions
from bigfleet.model.profiles import Profile
from bigfleet.model.resources import Resources

PEAK = IsolatedCall()
#: The first second of an hour.
START = 1_773_457_200 * SECOND
MINUTE = 60
SIZE = Resources.parse({"cpu": "8"})


def metal(name: str, cluster: str = "", rack: str = "", zone: str = "a") -> Machine:
    """Owned, and free unless a cluster has it."""
    return Machine(
        name,
        MachineState.CONFIGURED if cluster else MachineState.IDLE,
        CapacityType.BARE_METAL,
        Host("dc", name),
        cluster=cluster,
        zone=zone,
        labels={"rack": rack} if rack else {},
        resources=SIZE,
    )


def slot(name: str, price: float = 6.0) -> Machine:
    """On-demand capacity that can be bought; $6 an hour are ten cents a minute."""
    return Machine(
        name,
        MachineState.SPECULATIVE,
        CapacityType.ON_DEMAND,
        resources=SIZE,
        price_per_hour=price,
    )


def wants(cluster: str, machines: int, priority: int = 100) -> list[Need]:
    """One Need for so many whole machines."""
    if not machines:
        return []
    return [Need(cluster, Profile.of(priority=priority), SIZE.times(machines), SIZE)]


#: From a second on, how many machines each cluster asks for.
Demand = Mapping[int, Mapping[str, int]]


class Recording:
    def __init__(self, machines: Iterable[Machine]) -> None:
        self.inventory, self.needs = Inventory(), NeedsTable()
        for each in machines:
            self.inventory.insert(each, Marks())
        self.cycle = 0

    def at(self, second: int, epoch: int = 1) -> RecordedCycle:
        """A cycle of what there is then."""
        self.cycle += 1
        given = EngineInput(
            self.cycle,
            START + second * SECOND,
            self.inventory.snapshot(),
            self.needs.freeze(),
            EngineMemory(),
            EngineOptions(),
        )
        return RecordedCycle(given, None, keyframe=self.cycle == 1, epoch=epoch)

    def cycles(self, seconds: Iterable[int], demand: Demand) -> list[RecordedCycle]:
        found = []
        for second in seconds:
            for cluster, machines in demand.get(second, {}).items():
                self.needs.replace(cluster, wants(cluster, machines))
            found.append(self.at(second))
        return found


def reading(cycles: Sequence[RecordedCycle]) -> Reading:
    return lambda: (History(), iter(cycles))


def compared(
    cycles: Sequence[RecordedCycle],
    asked: IsolatedCall = PEAK,
    is_time_up: Callable[[], bool] = lambda: False,
) -> IsolatedReport:
    return isolated_report(reading(cycles), asked, is_time_up)


def minutes(count: int) -> range:
    return range(0, count * MINUTE, MINUTE)


def taking_turns(minutes_long: int = 40) -> list[RecordedCycle]:
    """Two machines of its own serve `day` from 0:00 to 0:10, then `night` from 0:12 to 0:22."""
    fleet = Recording([metal("m-1"), metal("m-2"), slot("o-1"), slot("o-2")])
    demand = {
        0: {"day": 2},
        10 * MINUTE: {"day": 0},
        12 * MINUTE: {"night": 2},
        22 * MINUTE: {"night": 0},
    }
    return fleet.cycles(minutes(minutes_long), demand)


def journal_of(cycles: Iterable[RecordedCycle], directory: Path) -> Path:
    """As a shard writes it."""
    file = JournalFile(directory, "shard-0", 1, "0.3.0", JournalLimits())
    file.prepare()
    for cycle in cycles:
        given = cycle.given
        file.record(FinishedCycle(given, given.decide()), given.at)
    file.close()
    return directory
