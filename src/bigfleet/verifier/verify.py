"""Verify a batch: which of its actions must not be carried out, and why."""

from collections.abc import Iterable, Mapping, Sequence

from bigfleet.model.actions import Action, ActionKind
from bigfleet.verifier import invariants, limits
from bigfleet.verifier.facts import INCIDENTS, Batch, Invariant, Veto
from bigfleet.verifier.invariants import DELETE, PROVISION, RECLAIM, Finding, columns_of
from bigfleet.verifier.limits import RecentReclaims
from bigfleet.verifier.policy import Policy

#: What cannot be undone: vetoed where the verifier itself fails.
DESTRUCTIVE = (ActionKind.RECLAIM, ActionKind.PREEMPT, ActionKind.DELETE)

_OF_BATCH = (
    (Invariant.V1, invariants.machine_is_free_for_it),
    (Invariant.V2, invariants.nothing_owned_is_deleted),
    (Invariant.V3, invariants.cluster_has_reported),
    (Invariant.V4, invariants.victim_is_lower),
    (Invariant.V5, invariants.machine_matches_a_need),
    (Invariant.V10, invariants.machine_is_as_seen),
    (Invariant.V11, invariants.need_stops_when_covered),
    (Invariant.V12, invariants.reservation_is_kept),
)


def verify(batch: Batch, policy: Policy, recent: RecentReclaims) -> Mapping[int, Veto]:
    """By position in the batch; an action that several invariants are against has the first of
    them. Changes nothing: `recent` is told what was really started."""
    if not len(batch):
        return {}
    fenced, is_incident = invariants.why_fenced(batch)
    if fenced:
        return dict.fromkeys(range(len(batch)), Veto(Invariant.V9, fenced, is_incident))
    columns = columns_of(batch)
    found: dict[int, Veto] = {}
    for invariant, check in _OF_BATCH:
        _add(found, invariant, check(batch, columns))
    leaving = _left(columns.of_kinds(RECLAIM, DELETE), found)
    _add(found, Invariant.V7, limits.frozen(batch, columns, leaving, policy))
    reclaims = _left(columns.of_kinds(RECLAIM), found)
    over = limits.over_reclaim_caps(batch, columns, reclaims, policy, recent)
    _add(found, Invariant.V6, over)
    buys = _left(columns.of_kinds(PROVISION), found)
    _add(found, Invariant.V8, limits.over_spend_ceiling(batch, columns, buys, policy))
    return found


def vetoes_without_verifier(actions: Sequence[Action], problem: str) -> Mapping[int, str]:
    """Where the verifier itself fails: nothing that cannot be undone is done."""
    text = f"the verifier failed ({problem}); nothing is taken or deleted until it works"
    return {place: text for place, each in enumerate(actions) if each.kind in DESTRUCTIVE}


def reclaimed_places(batch: Batch, started: Iterable[str]) -> list[tuple[str, str]]:
    """Cluster and zone of the Reclaims of the batch whose machines are among those started."""
    columns, names = columns_of(batch), set(started)
    return [
        limits.place_of(batch, columns, position)
        for position in columns.of_kinds(RECLAIM)
        if columns.machine[position] in names
    ]


def _add(found: dict[int, Veto], invariant: Invariant, findings: Iterable[Finding]) -> None:
    for position, what in list(findings):
        found.setdefault(position, Veto(invariant, what, invariant in INCIDENTS))


def _left(positions: Sequence[int], found: Mapping[int, Veto]) -> Sequence[int]:
    return [position for position in positions if position not in found] if found else positions
