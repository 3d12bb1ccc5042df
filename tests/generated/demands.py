"""Generated Needs: gangs, spreads and plain Needs that want the same few machines."""

from random import Random

from bigfleet.model.fleet import FleetNeed
from bigfleet.model.needs import Need, NeedKey
from bigfleet.model.profiles import Profile, Spread
from bigfleet.model.resources import Resources
from tests.generated.parts import (
    BUCKETS,
    CLUSTERS,
    GROUPS,
    MIN_UNITS,
    shape,
)
from tests.generated.themes import Theme, one_in

_TINY = Resources.of({"cpu": 1})
_HUGE = Resources.of({"cpu": 2**52, "memory": 2**52})
_ODD_AGGREGATES = (Resources(), Resources.of({"cpu": 0}), _TINY, _HUGE, shape(cpu=3, gpu=1))


def profile_of(chance: Random, theme: Theme) -> Profile:
    kind = chance.choice(theme.kinds)
    requirements = theme.among(chance, theme.requirements)
    spread: tuple[Spread, ...] = ()
    if kind == "gang":
        requirements += theme.among(chance, theme.sames)
    if kind == "spread" or one_in(chance, 10):
        spread = chance.choice(theme.spreads)
    return Profile.of(
        requirements,
        spread,
        chance.choice(theme.need_priorities),
        theme.among(chance, BUCKETS),
        theme.among(chance, BUCKETS),
    )


def need_of(chance: Random, theme: Theme, profiles: list[Profile]) -> Need:
    unit = theme.among(chance, theme.gang_units)
    total = unit.times(chance.randint(1, theme.units))
    return Need(
        cluster=chance.choice(CLUSTERS[: theme.clusters]),
        profile=chance.choice(profiles),
        aggregate=chance.choice(_ODD_AGGREGATES) if one_in(chance, 15) else total,
        min_unit=chance.choice(MIN_UNITS) if one_in(chance, 4) else unit,
        arrival_unix_nanos=chance.choice((0, 7, 7, 9)),
        group=chance.choice(GROUPS),
        parked=one_in(chance, 20),
    )


def demand_of(chance: Random, theme: Theme) -> tuple[FleetNeed, ...]:
    """Needs of different identity, in file order."""
    profiles = [profile_of(chance, theme) for _ in range(chance.randint(1, theme.profiles))]
    needs: dict[NeedKey, Need] = {}
    for _ in range(chance.randint(0, theme.needs)):
        need = need_of(chance, theme, profiles)
        needs.setdefault(need.key, need)
    return tuple(FleetNeed(need) for need in needs.values())
