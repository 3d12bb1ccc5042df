"""What all requests of a cluster may weigh together, so that a shard takes the roll-up.

A shard refuses a roll-up that is too heavy as a whole. Without a budget here one user with many odd
requests would block the new requests of all users of the cluster. So only what is beyond the budget
is left out: requests that a shard has taken before come first, then the others as they came.
"""

from collections import Counter
from dataclasses import dataclass

from bigfleet.model.needs import NeedKey
from bigfleet.model.resources import Resources
from bigfleet.model.rollups import RollupLimits

_OF_SHARD = RollupLimits()
#: Names that every pod may ask for: they are not what a budget is used up by.
USUAL = frozenset({"cpu", "memory", "ephemeral-storage", "pods"})


@dataclass(frozen=True, slots=True)
class BudgetLimits:
    """Below those of a shard: margins and overhead come on top."""

    #: Beside the usual ones.
    names: int = _OF_SHARD.max_resource_names - len(USUAL)
    profiles: int = _OF_SHARD.max_profiles * 19 // 20
    bytes: int = _OF_SHARD.max_bytes * 7 // 8


@dataclass(frozen=True, slots=True)
class Weight:
    """Of one request, however many others are like it."""

    key: NeedKey
    #: Of resources, the usual ones left out.
    names: tuple[str, ...]
    #: Bytes of a row of its own.
    size: int


def weight_of(key: NeedKey, unit: Resources, size: int) -> Weight:
    return Weight(key, tuple(name for name, _ in unit.amounts if name not in USUAL), size)


class DemandBudget:
    """What some requests weigh together: what they share counts once."""

    def __init__(self, limits: BudgetLimits) -> None:
        self._limits = limits
        self._names: Counter[str] = Counter()
        self._profiles: Counter[str] = Counter()
        #: Of each row how many requests it has, and its bytes.
        self._rows: dict[NeedKey, tuple[int, int]] = {}
        self._bytes = 0

    @property
    def is_over(self) -> bool:
        limits = self._limits
        return (
            len(self._names) > limits.names
            or len(self._profiles) > limits.profiles
            or self._bytes > limits.bytes
        )

    def add(self, weight: Weight) -> None:
        count, size = self._rows.get(weight.key, (0, weight.size))
        self._rows[weight.key] = count + 1, size
        self._bytes += 0 if count else size
        self._profiles[weight.key.fingerprint] += 1
        self._names.update(weight.names)

    def remove(self, weight: Weight) -> None:
        count, size = self._rows.pop(weight.key)
        if count > 1:
            self._rows[weight.key] = count - 1, size
        else:
            self._bytes -= size
        _less(self._profiles, weight.key.fingerprint)
        for name in weight.names:
            _less(self._names, name)

    def why_not(self, weight: Weight) -> str:
        """Why no request like this one fits beside the others; empty: it does."""
        limits = self._limits
        names = sum(name not in self._names for name in weight.names)
        if names and len(self._names) + names > limits.names:
            return f"with it the cluster asks for more than {limits.names} unusual resources"
        new = weight.key.fingerprint not in self._profiles
        if new and len(self._profiles) >= limits.profiles:
            return f"with it the cluster has more than {limits.profiles} kinds of requests"
        if weight.key not in self._rows and self._bytes + weight.size > limits.bytes:
            return f"with it the cluster's demand has more than {limits.bytes} bytes"
        return ""


def _less(counted: Counter[str], name: str) -> None:
    counted[name] -= 1
    if not counted[name]:
        del counted[name]
