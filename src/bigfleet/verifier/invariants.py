"""The invariants that depend on nothing but the batch: V1 to V5 and V9 to V12.

Each goes over its actions by kinds of cases, not one by one: cases are tuples of small numbers, a
set of them is made at the speed of the interpreter's own loops, and only where a case is wrong are
its actions looked for. So a sound batch of 100,000 actions costs a few hundred checks.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import index, itemgetter
from typing import Any, TypeVar

from bigfleet.model.actions import ActionKind
from bigfleet.model.machines import CapacityType, MachineState
from bigfleet.model.memory import Reservation, ReservationKind
from bigfleet.model.needs import NeedKey
from bigfleet.model.profiles import WhenUnsatisfiable
from bigfleet.model.resources import Resources
from bigfleet.verifier.facts import NONE, AskingNeed, Batch, MachineShape
from bigfleet.verifier.matching import covers, why_no_match

Case = TypeVar("Case")
#: Position of an action, and what is wrong with it.
Finding = tuple[int, str]

BOOTSTRAP, PROVISION = int(ActionKind.BOOTSTRAP), int(ActionKind.PROVISION)
RECLAIM, PREEMPT, DELETE = int(ActionKind.RECLAIM), int(ActionKind.PREEMPT), int(ActionKind.DELETE)
_STATE_WANTED = {
    BOOTSTRAP: MachineState.IDLE,
    PROVISION: MachineState.SPECULATIVE,
    RECLAIM: MachineState.CONFIGURED,
    PREEMPT: MachineState.CONFIGURED,
    DELETE: MachineState.IDLE,
}
_DELETABLE = (CapacityType.ON_DEMAND, CapacityType.SPOT)
#: How a fingerprint begins: priority, interruption bucket, reclamation bucket.
_PRECEDENCE = re.compile(r"p=(-?\d{1,10})\|ipb=(\d{1,2})\|rpb=(\d{1,2})\|")


@dataclass(frozen=True, slots=True)
class Columns:
    """What of the actions themselves is looked at, read once."""

    kind: Sequence[int]
    machine: Sequence[str]
    cluster: Sequence[str]
    #: Positions by kind, ascending.
    positions: Mapping[int, list[int]]

    def of_kinds(self, *kinds: int) -> list[int]:
        """Ascending."""
        found = [self.positions.get(kind, []) for kind in kinds]
        return found[0] if len(found) == 1 else sorted(chain(*found))


def columns_of(batch: Batch) -> Columns:
    # For a member of an enum, each set and each comparison below would ask Python code.
    kind = [index(action.kind) for action in batch.actions]
    positions: dict[int, list[int]] = defaultdict(list)
    for position, each in enumerate(kind):
        positions[each].append(position)
    return Columns(
        kind,
        [action.machine for action in batch.actions],
        [action.cluster for action in batch.actions],
        positions,
    )


def taken(column: Sequence[Case], positions: Sequence[int]) -> Sequence[Case]:
    """The values at these positions."""
    if len(positions) < 2:
        return [column[position] for position in positions]
    values: tuple[Case, ...] = itemgetter(*positions)(column)
    return values


def _wrong(
    positions: Sequence[int], columns: Sequence[Sequence[Any]], why: Callable[..., str]
) -> Iterator[Finding]:
    """Those of the positions whose case is wrong. A case is a value of each column, which has one
    for every position."""
    problems = {case: said for case in set(zip(*columns, strict=True)) if (said := why(*case))}
    if problems:
        cases = zip(*columns, strict=True)
        for position, case in zip(positions, cases, strict=True):
            if case in problems:
                yield position, problems[case]


# -- V1, V2: the machine ---------------------------------------------------------------------------


def machine_is_free_for_it(batch: Batch, columns: Columns) -> Iterator[Finding]:
    """V1."""
    if len(set(columns.machine)) < len(columns.machine):
        acted: set[str] = set()
        for position, machine in enumerate(columns.machine):
            if machine in acted:
                yield position, f"{machine} has another action in the same batch"
            acted.add(machine)

    def why(kind: int, state: int, owned: bool) -> str:
        wanted = _STATE_WANTED[kind]
        if not state:
            return "there is no such machine"
        if state != wanted:
            return f"it is {MachineState(state).label}, and must be {wanted.label}"
        return "" if owned else "it is not this shard's"

    looked_at = (columns.kind, batch.state, batch.owned)
    for position, problem in _wrong(range(len(batch)), looked_at, why):
        yield position, f"{columns.machine[position]}: {problem}"
    yield from _of_another_cluster(batch, columns)


def _of_another_cluster(batch: Batch, columns: Columns) -> Iterator[Finding]:
    """Only the cluster that has a machine can lose it."""
    leaving = columns.of_kinds(RECLAIM, PREEMPT)
    if [*taken(columns.cluster, leaving)] == [*taken(batch.bound_to, leaving)]:
        return
    for position in leaving:
        if columns.cluster[position] != batch.bound_to[position]:
            bound = batch.bound_to[position] or "no cluster"
            machine, cluster = columns.machine[position], columns.cluster[position]
            yield position, f"{machine} is bound to {bound}, and would be taken from {cluster}"


def nothing_owned_is_deleted(batch: Batch, columns: Columns) -> Iterator[Finding]:
    """V2."""
    deletes = columns.of_kinds(DELETE)

    def why(shape: int) -> str:
        kind = batch.shapes[shape].capacity_type if shape != NONE else CapacityType.UNSPECIFIED
        return "" if kind in _DELETABLE else f"{kind.label} capacity is never deleted"

    yield from _wrong(deletes, (taken(batch.shape, deletes),), why)


# -- V3: the cluster that loses a machine ----------------------------------------------------------


def cluster_has_reported(batch: Batch, columns: Columns) -> Iterator[Finding]:
    """V3."""
    reclaims = columns.of_kinds(RECLAIM)

    def why(cluster: str) -> str:
        standing = batch.clusters.get(cluster)
        if standing is None or not standing.reported:
            return f"cluster {cluster} has sent no roll-up since the shard started"
        return f"the latest roll-up of cluster {cluster} is held" if standing.held else ""

    yield from _wrong(reclaims, (taken(columns.cluster, reclaims),), why)


# -- V4: the victim --------------------------------------------------------------------------------


def victim_is_lower(batch: Batch, columns: Columns) -> Iterator[Finding]:
    """V4: by the accepted demand and the stamp, not by what the action says of itself."""
    preempts = columns.of_kinds(PREEMPT)

    def why(
        preemptor: int, claimant: int, stamped: int, shape: int, cluster: str, said: int
    ) -> str:
        if preemptor == NONE:
            return "no Need of the accepted demand preempts it"
        higher = batch.needs[preemptor].row.profile.priority
        if higher != said:
            return f"the action says priority {said}, its Need has {higher}"
        lower = stamped
        if claimant != NONE:
            claims = batch.needs[claimant]
            if claims.row.cluster != cluster or _why_unfit(batch, shape, claims):
                return f"{_named(claims)} is said to claim it, and cannot"
            lower = claims.row.profile.priority
        if lower >= higher:
            return f"its priority is {lower}, that of {_named(batch.needs[preemptor])} {higher}"
        return ""

    columns_of_victims = (
        *(taken(column, preempts) for column in (batch.need, batch.claimant)),
        *(taken(column, preempts) for column in (batch.stamped_priority, batch.shape)),
        taken(batch.bound_to, preempts),
        [batch.actions[position].preemptor_priority for position in preempts],
    )
    yield from _wrong(preempts, columns_of_victims, why)


def _named(need: AskingNeed) -> str:
    return f"need/{need.key.cluster}/{need.key.need_id}"


def _why_unfit(batch: Batch, shape: int, need: AskingNeed) -> str:
    return "its shape is unknown" if shape == NONE else why_no_match(batch.shapes[shape], need.row)


# -- V5, V11: the Need that gets a machine ---------------------------------------------------------


def machine_matches_a_need(batch: Batch, columns: Columns) -> Iterator[Finding]:
    """V5."""
    acquired = columns.of_kinds(BOOTSTRAP, PROVISION)

    def why(need: int, shape: int, cluster: str) -> str:
        if need == NONE:
            return f"no Need of the accepted demand of {cluster} asks for it"
        asking = batch.needs[need]
        if asking.row.cluster != cluster:
            return f"it goes to {cluster}, and its Need is one of {asking.row.cluster}"
        problem = _why_unfit(batch, shape, asking)
        return f"{_named(asking)} does not match it: {problem}" if problem else ""

    looked_at = (batch.need, batch.shape, columns.cluster)
    yield from _wrong(acquired, [taken(column, acquired) for column in looked_at], why)


def need_stops_when_covered(batch: Batch, columns: Columns) -> Iterator[Finding]:
    """V11. A strict Spread goes from zone to zone: any of its machines may be the last it took."""
    acquired = columns.of_kinds(BOOTSTRAP, PROVISION)
    needs, shapes = taken(batch.need, acquired), taken(batch.shape, acquired)
    shapes_of: dict[int, dict[int, int]] = defaultdict(dict)
    for (need, shape), count in Counter(zip(needs, shapes, strict=True)).items():
        if NONE not in (need, shape):
            shapes_of[need][shape] = count
    known = ((need, shape) for need, shape in zip(needs, shapes, strict=True) if shape != NONE)
    last = dict(known)
    beyond = {
        need
        for need, counts in shapes_of.items()
        if not _needs_its_last(batch, batch.needs[need], counts, last[need])
    }
    if not beyond:
        return
    newest = dict(zip(needs, acquired, strict=True))
    for need in beyond:
        text = f"{_named(batch.needs[need])} is covered without {columns.machine[newest[need]]}"
        yield newest[need], text


def _needs_its_last(batch: Batch, need: AskingNeed, counts: Mapping[int, int], last: int) -> bool:
    total: dict[str, int] = {}
    for shape, count in (*need.credited, *counts.items()):
        for name, amount in batch.shapes[shape].capacity.amounts:
            total[name] = total.get(name, 0) + amount * count
    strict = any(
        each.when_unsatisfiable is WhenUnsatisfiable.DO_NOT_SCHEDULE
        for each in need.row.profile.spread
    )
    candidates = counts if strict else (last,)
    return any(not _covers_without(total, batch.shapes[each], need.wanted) for each in candidates)


def _covers_without(total: Mapping[str, int], shape: MachineShape, wanted: Resources) -> bool:
    left = dict(total)
    for name, amount in shape.capacity.amounts:
        left[name] = left.get(name, 0) - amount
    return covers(left, wanted)


# -- V9, V10: nothing has changed meanwhile --------------------------------------------------------


def why_fenced(batch: Batch) -> tuple[str, bool]:
    """V9: what is wrong with the whole batch, and whether it may never happen; empty: nothing.

    A coordinator may be elected while a cycle runs: then the next cycle decides under its term.
    """
    decided, now = batch.decided_under, batch.current
    if decided.epoch != now.epoch:
        return f"decided in epoch {decided.epoch}, and this is epoch {now.epoch}", True
    if decided.term > now.term:
        return f"decided under term {decided.term}, and the newest is {now.term}", True
    if decided.term < now.term:
        text = f"a coordinator of term {now.term} was elected since it was decided"
        return f"{text} under term {decided.term}", False
    return "", False


def machine_is_as_seen(batch: Batch, columns: Columns) -> Iterator[Finding]:
    """V10."""
    if batch.seen != batch.now:
        for position, (seen, now) in enumerate(zip(batch.seen, batch.now, strict=True)):
            if seen != now:
                yield position, f"{columns.machine[position]} has changed since it was decided"


# -- V12: reserved machines ------------------------------------------------------------------------


def reservation_is_kept(batch: Batch, columns: Columns) -> Iterator[Finding]:
    """V12."""
    if not batch.reserved:
        return
    for position in columns.of_kinds(BOOTSTRAP, PROVISION):
        reserved = batch.reserved.get(columns.machine[position])
        if reserved is None or not reserved.stands or batch.need[position] == NONE:
            continue
        taker = batch.needs[batch.need[position]]
        if not _may_take(taker, reserved.reservation):
            held = reserved.reservation
            said = f"{held.machine} is reserved ({held.kind.value})"
            yield position, f"{said} for {_holder_text(held.holder)}, not for {_named(taker)}"


def _may_take(taker: AskingNeed, held: Reservation) -> bool:
    if held.kind is ReservationKind.OFFER:
        return False
    if held.kind is ReservationKind.TRANSFER_IN:
        if taker.key.fingerprint == held.holder.fingerprint:
            return True
    elif taker.key == held.holder:
        return True
    written = _PRECEDENCE.match(held.holder.fingerprint)
    if written is None:
        return False
    profile = taker.row.profile
    own = (profile.priority, int(profile.interruption_bucket), int(profile.reclamation_bucket))
    return own > tuple(map(int, written.groups()))


def _holder_text(holder: NeedKey) -> str:
    return f"need/{holder.cluster}/{holder.need_id}" if holder.fingerprint else "another shard"
