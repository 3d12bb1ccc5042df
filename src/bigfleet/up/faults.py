"""The faults that people may try in `up`: what each does, for how long, and what it takes.

Those of a scenario file that make sense in one process. Most are verbs of the simulated provider;
the others stop a part, or come between a cluster and its shard. Each is undone at its end.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from bigfleet.model.provider_calls import Code, Rejected
from bigfleet.provider.sim.world.answers import METHODS
from bigfleet.sim.workloads import CLUSTERS

#: Simulated seconds.
LONGEST_SECONDS = 600.0
_USUAL_SECONDS = 30.0
_CODES = (Code.UNAVAILABLE, Code.INTERNAL, Code.RESOURCE_EXHAUSTED, Code.DEADLINE_EXCEEDED)
#: As long as a person may need for a selector; a verb reads the rest.
_LONGEST_TEXT = 200


@dataclass(frozen=True, slots=True)
class Argument:
    name: str
    about: str
    default: str
    #: Empty: anything, or a number where there are limits.
    choices: tuple[str, ...] = ()
    least: float | None = None
    most: float | None = None

    def checked(self, given: object) -> str:
        """As text; raises Rejected."""
        text = self.default if given is None else str(given)
        if self.choices and text not in self.choices:
            raise refused(f"{self.name} {text[:80]!r} is not one of {', '.join(self.choices)}")
        if self.least is not None and self.most is not None:
            number = _number(self.name, text)
            if not self.least <= number <= self.most:
                raise refused(f"{self.name} {text}: from {self.least:g} to {self.most:g}")
            return f"{number:g}"
        if len(text) > _LONGEST_TEXT or any(not letter.isprintable() for letter in text):
            raise refused(f"{self.name}: at most {_LONGEST_TEXT} printable characters")
        return text


@dataclass(frozen=True, slots=True)
class Fault:
    name: str
    title: str
    about: str
    arguments: tuple[Argument, ...] = ()
    #: Simulated seconds it lasts unless said otherwise; None: it happens once.
    seconds: float | None = _USUAL_SECONDS
    #: Whether it can be ended before its time.
    ends_early: bool = True

    def checked(self, given: Mapping[str, object]) -> dict[str, str]:
        """Every argument, as text; raises Rejected for what is not one of them."""
        known = {argument.name for argument in self.arguments}
        if strange := sorted(given.keys() - known):
            takes = ", ".join(sorted(known)) or "none"
            raise refused(f"{self.name} has no argument {strange[0][:80]!r}; it takes: {takes}")
        return {each.name: each.checked(given.get(each.name)) for each in self.arguments}

    def lasting(self, given: object) -> float | None:
        """Simulated seconds; raises Rejected."""
        if self.seconds is None or given is None:
            return self.seconds
        seconds = _number("seconds", given)
        if not 1 <= seconds <= LONGEST_SECONDS:
            raise refused(f"seconds {seconds:g}: from 1 to {LONGEST_SECONDS:g}")
        return seconds


def refused(text: str) -> Rejected:
    return Rejected(Code.INVALID_ARGUMENT, text)


def _number(name: str, given: object) -> float:
    try:
        number = float(str(given))
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise refused(f"{name} {str(given)[:80]!r} is not a number")
    return number


_CLUSTER = Argument("cluster", "whose operator", "shop", CLUSTERS)
_SELECT = Argument("select", "such as zone=a capacity=Spot", "capacity=Spot")

_FAULTS = (
    Fault("kill-shard", "Kill the shard", "Clusters run on; it comes back with what it had."),
    Fault("kill-coordinator", "Kill the coordinator", "Shards go on without it."),
    Fault("outage", "Provider outage", "Every call to the provider is refused."),
    Fault(
        "rpc-delay",
        "Slow provider",
        "Every call to the provider takes longer.",
        (Argument("delay", "seconds", "2", least=0.1, most=30),),
    ),
    Fault(
        "rpc-error",
        "Flaky provider",
        "Some calls of one kind fail.",
        (
            Argument("method", "which call", "Create", METHODS),
            Argument("code", "how it fails", _CODES[0].value, tuple(c.value for c in _CODES)),
            Argument("p", "how many of them", "0.5", least=0.01, most=1),
        ),
    ),
    Fault(
        "list-empty",
        "Empty Lists",
        "The provider claims to have no machine.",
        ends_early=False,
    ),
    Fault(
        "list-truncate",
        "Cut Lists",
        "The provider lists only a part of its machines.",
        (Argument("fraction", "the part that is listed", "0.5", least=0, most=0.99),),
        ends_early=False,
    ),
    Fault(
        "stock",
        "Stock-out",
        "None of these can be bought.",
        (_SELECT,),
        seconds=120.0,
    ),
    Fault(
        "hold",
        "Stuck operations",
        "Operations of one kind do not end.",
        (Argument("kind", "which", "create", ("create", "configure", "drain", "delete")),),
    ),
    Fault(
        "interrupt",
        "Spot wave",
        "The cloud calls spot machines back.",
        (
            _SELECT,
            Argument("fraction", "how many of them", "0.3", least=0.01, most=1),
            Argument("notice", "seconds before they end", "5", least=0, most=120),
        ),
        seconds=None,
    ),
    Fault("partition", "Operator cut off", "A cluster loses its shard.", (_CLUSTER,)),
    Fault(
        "rollup-empty",
        "Empty roll-up",
        "A cluster claims to want nothing.",
        (_CLUSTER,),
        seconds=None,
    ),
)
FAULTS: Mapping[str, Fault] = {fault.name: fault for fault in _FAULTS}
#: What a scenario file can do and one process cannot honestly, and why.
NOT_HERE: Mapping[str, str] = {
    "kill provider": "its world is in its memory and would be lost; use outage",
    "disk-full": "it would fill the disk of this machine",
    "delay, duplicate, reorder, drop": "frames go straight from one part to the other",
    "slow-consumer, zombie-shard, clock-skew": "all parts share one process and one clock",
}


def faults_of(clusters: Sequence[str]) -> Mapping[str, Fault]:
    """The same in a fleet of other clusters."""
    named = replace(_CLUSTER, default=clusters[0], choices=tuple(clusters))

    def here(fault: Fault) -> Fault:
        arguments = (named if each is _CLUSTER else each for each in fault.arguments)
        return replace(fault, arguments=tuple(arguments))

    return {name: here(fault) for name, fault in FAULTS.items()}


def fault_named(name: str, faults: Mapping[str, Fault] = FAULTS) -> Fault:
    """Raises Rejected."""
    found = faults.get(name)
    if found is None:
        raise refused(f"{name[:80]!r} cannot be done here; there are {', '.join(faults)}")
    return found
