"""Standing: one Need of the normalised demand and all that this cycle has done for it so far."""

from dataclasses import dataclass, field

from bigfleet.model.fleet import FleetMachine
from bigfleet.model.needs import Need, NeedKey
from bigfleet.model.profiles import Spread
from bigfleet.model.resources import Resources


@dataclass(slots=True, eq=False)
class OracleNeed:
    position: int
    need: Need
    #: Indices into the fleet's needs, in demand order.
    members: tuple[int, ...]
    folded: bool
    parked: bool = False
    credited: list[FleetMachine] = field(default_factory=list)
    bootstrapped: list[FleetMachine] = field(default_factory=list)
    provisioned: list[FleetMachine] = field(default_factory=list)
    #: Same: the recorded domain, whether its stock covers the Need, and ruling U10.
    domain: str | None = None
    same_satisfiable: bool = False
    saw_free_stock: bool = False
    #: Strict Spread: the domains of ruling E14, and whether a candidate was left when it stopped.
    spread_domains: frozenset[str] = frozenset()
    left_candidates: bool = False
    #: Phase 2: victims still draining that count for it, victims picked now, what is left.
    draining: list[FleetMachine] = field(default_factory=list)
    victims: list[FleetMachine] = field(default_factory=list)
    unresolved: Resources = Resources()
    #: It had no domain and takes one whole (U26).
    takes_a_whole_domain: bool = False

    @property
    def key(self) -> NeedKey:
        return self.need.key

    @property
    def is_gang(self) -> bool:
        return self.need.profile.same is not None

    @property
    def strict_spread(self) -> Spread | None:
        return self.need.profile.strict_spread

    @property
    def claimed(self) -> list[FleetMachine]:
        return self.credited + self.bootstrapped + self.provisioned

    @property
    def acquired(self) -> int:
        return len(self.bootstrapped) + len(self.provisioned)

    @property
    def deficit(self) -> Resources:
        return less_all(self.need.aggregate, self.claimed)

    @property
    def satisfied(self) -> bool:
        return self.deficit.is_zero()


def less_all(wanted: Resources, machines: list[FleetMachine]) -> Resources:
    """What is left of `wanted` after the whole capacity of these machines."""
    for each in machines:
        wanted = wanted.less(each.machine.effective_allocatable)
    return wanted
