"""What the clusters are asked to run: the script's wish times a factor, or what a guide asks for.

A factor belongs to a class of work in a cluster. It makes deployments and jobs larger or smaller; a
gang keeps its size, and a class of gangs has more or fewer of them. While a guide has the demand,
script and factors are remembered and count again when the guide gives it back.
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from bigfleet.sim.workloads import CLASSES, Workload

LARGEST_FACTOR = 3.0
#: (cluster, name of the workload) -> the workload and how many pods it has.
_Asked = dict[tuple[str, str], tuple[Workload, int]]


@dataclass(frozen=True, slots=True)
class Asked:
    """So many pods of a workload in a cluster."""

    cluster: str
    workload: Workload
    pods: int


class Demand:
    def __init__(self, classes: Mapping[tuple[str, int], str] = CLASSES) -> None:
        """`classes`: of work, by cluster and priority."""
        self.classes = classes
        self._script: _Asked = {}
        #: (cluster, class) -> factor; absent: 1.
        self._factors: dict[tuple[str, str], float] = {}
        #: None: the script has the demand.
        self._guided: _Asked | None = None
        self._applied: _Asked = {}

    @property
    def is_guided(self) -> bool:
        return self._guided is not None

    @property
    def factors(self) -> Mapping[tuple[str, str], float]:
        """By cluster and class, of all there are."""
        return {key: self._factors.get(key, 1.0) for key in self._named()}

    def on_script(self, cluster: str, workload: Workload, pods: int) -> None:
        _put(self._script, Asked(cluster, workload, pods))

    def set_factor(self, cluster: str, name: str, factor: float) -> None:
        """Raises ValueError, with a sentence, for what cannot be meant."""
        if (cluster, name) not in self._named():
            known = ", ".join("/".join(key) for key in self._named())
            raise ValueError(f"{cluster}/{name} is not a class of work; there are {known}")
        if not 0.0 <= factor <= LARGEST_FACTOR:  # NaN fails every comparison
            raise ValueError(f"factor {factor:g}: write a number from 0 to {LARGEST_FACTOR:g}")
        self._factors[cluster, name] = factor

    def guide(self, asked: Iterable[Asked]) -> None:
        """This, and nothing else, is asked for from now on."""
        self._guided = {}
        for each in asked:
            _put(self._guided, each)

    def give_back(self) -> None:
        self._guided = None

    def changes(self) -> list[Asked]:
        """What is to be scaled since the last time this was asked; what goes comes first."""
        wanted = self._guided if self._guided is not None else dict(self._scaled())
        gone = [
            Asked(cluster, workload, 0)
            for (cluster, name), (workload, _) in self._applied.items()
            if (cluster, name) not in wanted
        ]
        changed = [
            Asked(cluster, workload, pods)
            for (cluster, name), (workload, pods) in wanted.items()
            if self._applied.get((cluster, name)) != (workload, pods)
        ]
        self._applied = dict(wanted)
        return gone + changed

    def _named(self) -> list[tuple[str, str]]:
        return [(cluster, name) for (cluster, _), name in self.classes.items()]

    def _factor_of(self, cluster: str, workload: Workload) -> float:
        name = self.classes.get((cluster, workload.profile.priority), "")
        return self._factors.get((cluster, name), 1.0)

    def _scaled(self) -> Iterator[tuple[tuple[str, str], tuple[Workload, int]]]:
        gangs = 0
        for (cluster, name), (workload, pods) in self._script.items():
            factor = self._factor_of(cluster, workload)
            if not workload.is_gang:
                if scaled := round(pods * factor):
                    yield (cluster, name), (workload, scaled)
                continue
            copies = math.floor((gangs + 1) * factor) - math.floor(gangs * factor)
            gangs += 1
            for number in range(copies):
                copy = _copied(workload, number)
                yield (cluster, copy.name), (copy, pods)


def _copied(gang: Workload, number: int) -> Workload:
    """The first is the gang itself."""
    if not number:
        return gang
    return replace(gang, name=f"{gang.name}-x{number}", group=f"{gang.group}x{number},;")


def _put(table: _Asked, asked: Asked) -> None:
    key = (asked.cluster, asked.workload.name)
    if asked.pods:
        table[key] = (asked.workload, asked.pods)
    else:
        table.pop(key, None)
