"""What the cluster is told of capacity it could have: one AvailableCapacity per profile.

An object that no update refreshed for ten minutes of an open session speaks of demand that is gone,
and goes too. While no session is open nothing is known to be stale, so nothing ages.
"""

import math
from collections.abc import Iterable
from decimal import Decimal

from bigfleet.edge.clock import SECOND
from bigfleet.kube.kinds import AVAILABLE_CAPACITIES
from bigfleet.kube.names import available_capacity_name
from bigfleet.kube.objects import AvailableCapacity
from bigfleet.model.machines import Instant
from bigfleet.model.requirements import Operator, Requirement
from bigfleet.model.session_frames import AvailableCapacityUpdate, Confidence
from bigfleet.operator.writes import Create, Delete, LatestSeen, PatchSpec, Write, map_patch

STALE_AFTER = 600 * SECOND

_AVAILABILITIES = {
    Confidence.LOW: "Low",
    Confidence.MEDIUM: "Medium",
    Confidence.HIGH: "High",
}
_WORDS = {
    Operator.IN: "In",
    Operator.NOT_IN: "NotIn",
    Operator.EXISTS: "Exists",
    Operator.DOES_NOT_EXIST: "DoesNotExist",
}


def cost_text(cost_per_hour: float) -> str:
    """Decimal digits, never an exponent; "0" where no price is known."""
    if not math.isfinite(cost_per_hour) or cost_per_hour <= 0:
        return "0"
    return f"{Decimal(repr(cost_per_hour)):f}".removesuffix(".0")


class AvailableCapacities:
    kind = AVAILABLE_CAPACITIES

    def __init__(self) -> None:
        self.seen: LatestSeen[AvailableCapacity] = LatestSeen()
        self._newest: dict[str, AvailableCapacityUpdate] = {}
        self._refreshed_at: dict[str, Instant] = {}
        self._connected_at: Instant | None = None

    def on_connected(self, at: Instant) -> None:
        self._connected_at = at

    def on_disconnected(self) -> None:
        self._connected_at = None

    def on_update(self, update: AvailableCapacityUpdate, at: Instant) -> str:
        """The name of the object to look at."""
        name = available_capacity_name(update.supersedes_key)
        self._newest[name] = update
        self._refreshed_at[name] = at
        return name

    def on_gone(self, name: str) -> None:
        self.seen.on_gone(name)

    def tick(self, at: Instant) -> list[str]:
        """Objects that may have to go; only this call looks at them again."""
        stale = [name for name in self.seen.names() if self._is_stale(name, at)]
        for name in self._newest.keys() - set(stale):
            if self._is_stale(name, at):
                self._forget(name)
        return stale

    def next_write(self, name: str, at: Instant) -> Write | None:
        if self._connected_at is None:
            return None
        have = self.seen.of(name)
        if self._is_stale(name, at):
            self._forget(name)
            if have is None or have.metadata.deletion_timestamp:
                return None
            return Delete(name, have.metadata.uid)
        update = self._newest.get(name)
        if update is None:
            return None
        want = _spec_of(update)
        if have is None:
            return Create(name, {"metadata": {"name": name}, "spec": want})
        patch = _patch(have, want)
        return PatchSpec(name, {"spec": patch}) if patch else None

    def settled(self, name: str, at: Instant) -> tuple[str, float] | None:
        return None

    def _forget(self, name: str) -> None:
        self._newest.pop(name, None)
        self._refreshed_at.pop(name, None)

    def _is_stale(self, name: str, at: Instant) -> bool:
        if self._connected_at is None:
            return False
        since = max(self._connected_at, self._refreshed_at.get(name, 0))
        return at - since >= STALE_AFTER


def requirement_words(requirements: Iterable[Requirement]) -> list[dict[str, object]]:
    """As the API has them. Same is unknown there; what it asks of one machine is not."""
    words = []
    for each in requirements:
        operator = each.operator
        if operator is Operator.SAME:
            operator = Operator.IN if each.values else Operator.EXISTS
        word = _WORDS.get(operator)
        if word is None:
            continue
        entry: dict[str, object] = {"key": each.key, "operator": word}
        if each.values:
            entry["values"] = list(each.values)
        words.append(entry)
    return words


def _spec_of(update: AvailableCapacityUpdate) -> dict[str, object]:
    spec: dict[str, object] = {
        "availability": _AVAILABILITIES.get(update.confidence, "None"),
        "availableCount": update.available_count,
        "cost": cost_text(update.cost_per_hour),
        "resources": update.resources.texts(),
    }
    if words := requirement_words(update.requirements):
        spec["requirements"] = words
    return spec


def _patch(have: AvailableCapacity, want: dict[str, object]) -> dict[str, object]:
    """Empty: nothing to change."""
    spec = have.spec
    now: dict[str, object] = {
        "availability": spec.availability,
        "availableCount": spec.available_count,
        "cost": str(spec.cost),
        "resources": {name: str(amount) for name, amount in spec.resources.items()},
    }
    if spec.requirements:
        now["requirements"] = [
            {"key": each.key, "operator": each.operator}
            | ({"values": list(each.values)} if each.values else {})
            for each in spec.requirements
        ]
    patch = map_patch(now, want)
    resources = patch.get("resources")
    if isinstance(resources, dict):
        had = {name: str(amount) for name, amount in spec.resources.items()}
        patch["resources"] = map_patch(had, resources)
    return patch
