"""What a cycle would cost: seconds of the engine, estimated from counts.

The engine's work grows with the rows, with the distinct profiles, with profiles times kinds of
machines, and with (profile, unit) keys times kinds times resource names. The seconds of single
steps were measured once (ADR-0011); how fast this machine is, the cycles tell.

An estimate, never a promise: it must tell 200,000 profiles from 2,000, not 2.0 s from 2.2 s.
"""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from bigfleet.model.profiles import Profile
from bigfleet.model.requirements import HOSTNAME_KEY

#: Seconds of one CPU: measured on the machines of uber-5k and uber-50k with 1,000 to 50,000
#: profiles, and rounded up.
_ROW, _PROFILE, _MATCH, _FIT = 10e-6, 20e-6, 10e-9, 2e-9
#: Below this a cycle says nothing of the machine's speed: what it costs is not in the counts.
_LEAST_TELLING_SECONDS = 0.1
#: Cycles that are looked at. The fastest of them counts: a cycle may be slow because something else
#: used the CPU, none is fast by accident.
_CYCLES = 16
_SLOWEST, _FASTEST = 4.0, 0.5


class DemandSize(NamedTuple):
    """What of some demand costs the engine time."""

    rows: int = 0
    profiles: int = 0
    #: Distinct pairs of a profile and a unit.
    keys: int = 0
    #: Node names that requirements name: each may make a machine a kind of its own.
    hosts: int = 0


@dataclass(frozen=True, slots=True)
class SupplySize:
    """Against what demand is matched; before the first cycle, a fleet of middling variety."""

    #: Machines the last cycle could tell apart.
    kinds: int = 1_000
    machines: int = 1_000_000
    resource_names: int = 8


def named_hosts(profiles: Iterable[Profile]) -> int:
    """How many Node names their requirements name."""
    return len(
        {
            value
            for profile in profiles
            for requirement in profile.requirements
            if requirement.key == HOSTNAME_KEY
            for value in requirement.values
        }
    )


def seconds_of(demand: DemandSize, supply: SupplySize) -> float:
    """Of a cycle over this demand, on a machine of ordinary speed."""
    rows, profiles, keys, hosts = demand
    kinds = min(supply.machines, supply.kinds + hosts)
    a_profile, a_key = _PROFILE + _MATCH * kinds, _FIT * kinds * supply.resource_names
    return _ROW * rows + a_profile * profiles + a_key * keys


class CycleCost:
    """Knows what the last cycle worked on, and how fast this machine is."""

    def __init__(self) -> None:
        #: `kinds` has what named hosts made of it.
        self.supply = SupplySize()
        #: Of the last cycle, and of what was accepted since it began; since the running one did.
        self._keys = self._since = self._since_begun = 0
        #: What cycles took, as multiples of their estimate.
        self._multiples: deque[float] = deque(maxlen=_CYCLES)
        #: 1: as fast as the machine on which the steps were measured.
        self.slowness = 1.0

    @property
    def keys(self) -> int:
        return self._keys + self._since

    def seconds(self, demand: DemandSize) -> float:
        return self.slowness * seconds_of(demand, self.supply)

    def on_accepted(self, more_keys: int) -> None:
        self._since += more_keys
        self._since_begun += more_keys

    def on_cycle_begun(self) -> None:
        self._since_begun = 0

    def on_cycle_ended(self, demand: DemandSize, supply: SupplySize, seconds: float) -> None:
        expected = seconds_of(demand, supply)
        if expected >= _LEAST_TELLING_SECONDS:
            self._multiples.append(seconds / expected)
            self.slowness = max(_FASTEST, min(_SLOWEST, min(self._multiples)))
        self.supply = supply
        self._keys, self._since, self._since_begun = demand.keys, self._since_begun, 0
