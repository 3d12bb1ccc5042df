"""The invariants that give out a budget: V6 (Reclaims), V7 (freeze windows) and V8 (spend).

Policies: the engine may well ask for more than they allow. Only actions that no other invariant is
against use anything up.
"""

from collections import Counter, deque
from collections.abc import Iterable, Sequence

from bigfleet.model.actions import ActionKind
from bigfleet.model.machines import Instant
from bigfleet.model.reasons import dollars_text
from bigfleet.verifier.facts import NONE, Batch, ClusterStanding
from bigfleet.verifier.freezes import FROZEN_KINDS
from bigfleet.verifier.invariants import DELETE, PROVISION, RECLAIM, Columns, Finding
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
    """V6, in order of emission. Where people turned the cap off, there is nothing to keep to."""
    if not policy.reclaim_cap_fraction:
        return
    lost: Counter[str] = Counter()
    lost_in_zone = Counter() if batch.at is None else recent.lost(batch.at)
    unknown = ClusterStanding()
    for position in left:
        if columns.kind[position] != RECLAIM:
            continue
        cluster, zone = place = place_of(batch, columns, position)
        standing = batch.clusters.get(cluster, unknown)
        cap = max(1, int(policy.reclaim_cap_fraction * standing.configured))
        if lost[cluster] >= cap:
            yield position, f"cluster {cluster} loses at most {cap} machines in a cycle"
            continue
        in_zone = standing.configured_of_zone.get(zone, 0)
        zone_cap = max(1, int(policy.reclaim_zone_fraction * in_zone))
        if policy.reclaim_zone_fraction and lost_in_zone[place] >= zone_cap:
            text = f"cluster {cluster} loses at most {zone_cap} of its {in_zone} machines"
            yield position, f"{text} in zone {zone or '(none)'} within {WINDOW_SECONDS} s"
            continue
        lost[cluster] += 1
        lost_in_zone[place] += 1


def frozen(
    batch: Batch, columns: Columns, left: Sequence[int], policy: Policy
) -> Iterable[Finding]:
    """V7."""
    at = batch.at
    if at is None or not policy.freeze_windows:
        return
    ends = ((window, window.ends(at)) for window in policy.freeze_windows)
    open_now = [(window, end) for window, end in ends if end is not None]
    if not open_now:
        return
    for position in left:
        if columns.kind[position] not in (RECLAIM, DELETE):
            continue
        kind = ActionKind(columns.kind[position])
        assert kind in FROZEN_KINDS, "only these are looked at"
        cluster, zone = place_of(batch, columns, position)
        for window, end in open_now:
            if window.covers(kind, cluster, zone):
                minutes = -(-(end - at) // 60_000_000_000)
                yield position, f"freeze window '{window.text}' is open for {minutes} min more"
                break


def over_spend_ceiling(
    batch: Batch, columns: Columns, left: Sequence[int], policy: Policy
) -> Iterable[Finding]:
    """V8: the lowest precedence goes first, and of one precedence what was emitted last."""
    ceiling = policy.spend_ceiling
    if not ceiling:
        return
    buys = [
        (_precedence(batch, position), -position, batch.shapes[batch.shape[position]])
        for position in left
        if columns.kind[position] == PROVISION and batch.shape[position] != NONE
    ]
    total = batch.spend_per_hour + sum(shape.price_per_hour for _, _, shape in buys)
    buys.sort(key=lambda each: each[:2])
    for _, negative, shape in buys:
        if total <= ceiling:
            return
        if shape.price_per_hour <= 0:
            continue
        total -= shape.price_per_hour
        yield (
            -negative,
            f"at {dollars_text(shape.price_per_hour)}/h it would take the fleet, at"
            f" {dollars_text(batch.spend_per_hour)}/h with what is ordered, over the ceiling of"
            f" {dollars_text(ceiling)}/h",
        )


def _precedence(batch: Batch, position: int) -> tuple[int, int, int]:
    need = batch.need[position]
    if need == NONE:
        return (-(2**31), 0, 0)
    profile = batch.needs[need].row.profile
    return (profile.priority, int(profile.interruption_bucket), int(profile.reclamation_bucket))
