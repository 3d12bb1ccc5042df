"""The invariants that give out a budget: V6 (Reclaims), V7 (freeze windows) and V8 (spend).

Policies: the engine may well ask for more than they allow. Only actions that no other invariant is
against use anything up.
"""

from collections import Counter, deque
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from bigfleet.model.actions import ActionKind
from bigfleet.model.machines import Instant
from bigfleet.model.reasons import dollars_text
from bigfleet.verifier.facts import NONE, Batch, ClusterStanding
from bigfleet.verifier.invariants import Columns, Finding, taken
from bigfleet.verifier.policy import Policy

WINDOW_SECONDS = 60
_WINDOW = WINDOW_SECONDS * 1_000_000_000
#: A cluster, and one of its zones.
Place = tuple[str, str]


class RecentReclaims:
    """Machines that clusters lost in each zone within the last minute."""

    def __init__(self) -> None:
        #: Oldest first; nothing older than the window, once it was looked at.
        self._past: deque[tuple[Instant, Counter[Place]]] = deque()

    def __len__(self) -> int:
        return len(self._past)

    def started(self, places: Iterable[Place], at: Instant) -> None:
        if lost := Counter(places):
            self._past.append((at, lost))

    def lost(self, at: Instant) -> Counter[Place]:
        while self._past and at - self._past[0][0] >= _WINDOW:
            self._past.popleft()
        total: Counter[Place] = Counter()
        for _, lost in self._past:
            total.update(lost)
        return total


def place_of(batch: Batch, columns: Columns, position: int) -> Place:
    shape = batch.shape[position]
    return columns.cluster[position], "" if shape == NONE else batch.shapes[shape].zone


def over_reclaim_caps(
    batch: Batch, columns: Columns, left: Sequence[int], policy: Policy, recent: RecentReclaims
) -> Iterable[Finding]:
    """V6 of the Reclaims that are left, in order of emission. Where people turned the cap off,
    there is nothing to keep to."""
    if not policy.reclaim_cap_fraction:
        return
    lost: Counter[str] = Counter()
    lost_in_zone = Counter() if batch.at is None else recent.lost(batch.at)
    caps: dict[Place, _Caps] = {}
    for position in left:
        cluster, zone = place = place_of(batch, columns, position)
        cap = caps.get(place)
        if cap is None:
            cap = caps[place] = _caps_of(batch, policy, place)
        if lost[cluster] >= cap.of_cycle:
            yield position, f"cluster {cluster} loses at most {cap.of_cycle} machines in a cycle"
        elif policy.reclaim_zone_fraction and lost_in_zone[place] >= cap.of_zone:
            text = f"cluster {cluster} loses at most {cap.of_zone} of its {cap.in_zone} machines"
            yield position, f"{text} in zone {zone or '(none)'} within {WINDOW_SECONDS} s"
        else:
            lost[cluster] += 1
            lost_in_zone[place] += 1


class _Caps(NamedTuple):
    of_cycle: int
    of_zone: int
    in_zone: int


def _caps_of(batch: Batch, policy: Policy, place: Place) -> _Caps:
    standing = batch.clusters.get(place[0], ClusterStanding())
    in_zone = standing.configured_of_zone.get(place[1], 0)
    return _Caps(
        max(1, int(policy.reclaim_cap_fraction * standing.configured)),
        max(1, int(policy.reclaim_zone_fraction * in_zone)),
        in_zone,
    )


def frozen(
    batch: Batch, columns: Columns, left: Sequence[int], policy: Policy
) -> Iterable[Finding]:
    """V7 of the Reclaims and Deletes that are left."""
    at = batch.at
    if at is None or not policy.freeze_windows:
        return
    ends = ((window, window.ends(at)) for window in policy.freeze_windows)
    open_now = [(window, end) for window, end in ends if end is not None]
    for position in left if open_now else ():
        cluster, zone = place_of(batch, columns, position)
        kind = ActionKind(columns.kind[position])
        for window, end in open_now:
            if window.covers(kind, cluster, zone):
                minutes = -(-(end - at) // 60_000_000_000)
                yield position, f"freeze window '{window.text}' is open for {minutes} min more"
                break


def over_spend_ceiling(
    batch: Batch, columns: Columns, left: Sequence[int], policy: Policy
) -> Iterable[Finding]:
    """V8 of the Provisions that are left: the lowest precedence goes first, and of one precedence
    what was emitted last."""
    ceiling = policy.spend_ceiling
    if not ceiling:
        return
    prices = [each.price_per_hour for each in batch.shapes]
    shapes = Counter(taken(batch.shape, left))
    bought = sum(prices[shape] * count for shape, count in shapes.items() if shape != NONE)
    total = batch.spend_per_hour + bought
    if total <= ceiling:
        return
    for position in sorted(left, key=lambda each: (_precedence(batch, each), -each)):
        shape = batch.shape[position]
        price = 0.0 if shape == NONE else prices[shape]
        if total <= ceiling:
            return
        if price <= 0:
            continue
        total -= price
        yield (
            position,
            f"at {dollars_text(price)}/h it would take the fleet, at"
            f" {dollars_text(batch.spend_per_hour)}/h with what is ordered, over the ceiling of"
            f" {dollars_text(ceiling)}/h",
        )


def _precedence(batch: Batch, position: int) -> tuple[int, int, int]:
    need = batch.need[position]
    if need == NONE:
        return (-(2**31), 0, 0)
    profile = batch.needs[need].row.profile
    return (profile.priority, int(profile.interruption_bucket), int(profile.reclamation_bucket))
