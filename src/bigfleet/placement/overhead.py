"""Overhead: what of a machine no pod of a Need gets, and the unit that makes up for it.

Overhead of a Node is what DaemonSet and mirror pods request there, plus what the machine was
declared to have and its Node does not offer. It is kept per kind of machine, as the most of any
Node of the kind; for kinds without a Node the cluster's most stands in.

A Need's unit is its largest pod, per dimension, plus overhead, so that every machine that can be
claimed takes any of its pods alone. Overhead rises at once and falls after ten minutes: a DaemonSet
that is rolled out leaves each Node for a moment, and units that follow it would change every time.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bigfleet.model.machines import Instant
from bigfleet.model.options import SECOND
from bigfleet.model.resources import Resources
from bigfleet.placement.occupancy import Occupancy
from bigfleet.placement.packing import share_of
from bigfleet.placement.records import NodeView

FALLS_AFTER = 600 * SECOND
#: Groups into which a Need is split where no kind of machine covers its joint unit.
LARGE_CPU = "large-cpu"
LARGE_MEMORY = "large-memory"
#: Pods that no kind of machine takes that is known of; they ask on their own.
NO_KNOWN_KIND = "no-known-kind"


@dataclass(frozen=True, slots=True)
class MachineKind:
    """A kind of machine: what the shard counts for one, and what of it pods do not get."""

    name: str
    declared: Resources
    overhead: Resources

    def takes(self, largest: Resources) -> bool:
        return all(
            amount <= 0 or self.declared[name] >= amount + self.overhead[name]
            for name, amount in largest.amounts
        )


@dataclass(slots=True)
class _Seen:
    declared: Resources
    overhead: Resources
    #: Since when Nodes show less; None: they do not.
    less_since: Instant | None = None


class Overheads:
    def __init__(self) -> None:
        self._seen: dict[str, _Seen] = {}
        #: By Node: what it was computed from, and its overhead.
        self._of_node: dict[str, tuple[NodeView, Resources, Resources]] = {}

    def look(self, occupancy: Occupancy, at: Instant) -> bool:
        """Reads all usable Nodes of the fleet; True: some overhead changed."""
        shown: dict[str, tuple[Resources, Resources]] = {}
        of_node: dict[str, tuple[NodeView, Resources, Resources]] = {}
        for name, node in occupancy.nodes.items():
            if node.machine and node.is_usable:
                entry = of_node[name] = self._entry(node, occupancy.followers_on(name))
                known = shown.get(node.kind)
                if known is None:
                    shown[node.kind] = (node.declared, entry[2])
                elif known[1] != entry[2]:
                    shown[node.kind] = (node.declared, entry[2].most(known[1]).positive())
        self._of_node = of_node
        changed = False
        for kind, (declared, overhead) in shown.items():
            changed |= self._see(kind, declared, overhead, at)
        return changed

    def _entry(self, node: NodeView, followers: Resources) -> tuple[NodeView, Resources, Resources]:
        known = self._of_node.get(node.name)
        if known is not None and known[0] is node and known[1] is followers:
            return known
        return node, followers, overhead_of(node, followers).positive()

    def kinds(self) -> list[MachineKind]:
        """Those of which a Node was seen, by name."""
        return [MachineKind(n, s.declared, s.overhead) for n, s in sorted(self._seen.items())]

    def of_kind(self, kind: str) -> Resources:
        seen = self._seen.get(kind)
        return self.of_cluster() if seen is None else seen.overhead

    def of_cluster(self) -> Resources:
        """The most of any kind: what a machine of an unknown kind is taken to lose."""
        most = Resources()
        for seen in self._seen.values():
            most = most.most(seen.overhead)
        return most

    def known(self, offered: Iterable[tuple[str, Resources]] = ()) -> list[MachineKind]:
        """Kinds seen, and kinds on offer with what is known or supposed of their overhead."""
        kinds = {kind.name: kind for kind in self.kinds()}
        for name, declared in offered:
            if name not in kinds:
                kinds[name] = MachineKind(name, declared, self.of_cluster())
        return [kinds[name] for name in sorted(kinds)]

    def _see(self, kind: str, declared: Resources, overhead: Resources, at: Instant) -> bool:
        seen = self._seen.get(kind)
        if seen is None:
            self._seen[kind] = _Seen(declared, overhead)
            return True
        seen.declared = declared
        most = overhead.most(seen.overhead).positive()
        if overhead == seen.overhead:
            seen.less_since = None
            return False
        if most != seen.overhead:
            seen.overhead, seen.less_since = most, None
            return True
        if seen.less_since is None:
            seen.less_since = at
        if at - seen.less_since < FALLS_AFTER:
            return False
        seen.overhead, seen.less_since = overhead, None
        return True


def overhead_of(node: NodeView, followers: Resources) -> Resources:
    """What of the declared machine no ordinary pod gets on this Node."""
    missing = {
        name: max(0, amount - node.allocatable[name]) for name, amount in node.declared.amounts
    }
    return followers.plus(Resources.of(missing))


def min_unit(largest: Resources, kinds: Sequence[MachineKind], otherwise: Resources) -> Resources:
    """The unit of a Need: kinds that take its largest pod cover the unit, others do not.

    Where no known kind takes the pod, `otherwise` is its overhead. Dimensions that are not asked
    for stay out of the unit: a machine without GPUs serves a Need without GPUs.
    """
    asked = {name for name, amount in largest.amounts if amount > 0}
    fitting = [kind for kind in kinds if kind.takes(largest)]
    if not fitting:
        return Resources.of({name: largest[name] + otherwise[name] for name in asked})
    unit: dict[str, int] = {}
    for name in sorted(asked):
        least = min(kind.declared[name] for kind in fitting)
        most = max(kind.overhead[name] for kind in fitting)
        unit[name] = min(largest[name] + most, least)
        for kind in kinds:
            short = largest[name] + kind.overhead[name] > kind.declared[name]
            if short and unit[name] <= kind.declared[name] < least:
                unit[name] = kind.declared[name] + 1
    return Resources.of(unit)


@dataclass(frozen=True, slots=True)
class ShapeSplit:
    """Groups of one Need's shapes, so that those some kind of machine takes are not held up."""

    groups: tuple[tuple[str, frozenset[Resources]], ...]

    def group_of(self, requests: Resources) -> str:
        """Empty: the Need's own group."""
        return next((name for name, shapes in self.groups if requests in shapes), "")


def split_of(shapes: Sequence[Resources], kinds: Sequence[MachineKind]) -> ShapeSplit | None:
    """How to split a Need whose joint unit no kind covers; None: it is covered, or no use.

    A unit is per dimension: a pod of much cpu and one of much memory ask together for a machine
    that has both, though each alone would run on a smaller one. A pod that no known kind takes
    asks for itself: otherwise all pods of its Need would wait for a machine that large.
    """
    if not kinds or _some_kind_takes(kinds, shapes):
        return None
    rest = [shape for shape in shapes if _some_kind_takes(kinds, [shape])]
    hopeless = [shape for shape in shapes if shape not in rest]
    groups = [(NO_KNOWN_KIND, hopeless)] if hopeless and rest else []
    if rest and not _some_kind_takes(kinds, rest):
        by_cpu, by_memory = _halves(rest)
        if all(_some_kind_takes(kinds, half) for half in (by_cpu, by_memory)):
            groups += [(LARGE_CPU, by_cpu), (LARGE_MEMORY, by_memory)]
    return ShapeSplit(tuple((name, frozenset(of)) for name, of in groups)) if groups else None


def _halves(shapes: Sequence[Resources]) -> tuple[list[Resources], list[Resources]]:
    """Shapes that are large rather in cpu, and rather in memory."""
    whole = _joint(shapes)
    by_cpu: list[Resources] = []
    by_memory: list[Resources] = []
    for shape in shapes:
        cpu = share_of(_only(shape, "cpu"), whole)
        memory = share_of(_only(shape, "memory"), whole)
        (by_cpu if cpu >= memory else by_memory).append(shape)
    return by_cpu, by_memory


def _some_kind_takes(kinds: Sequence[MachineKind], shapes: Sequence[Resources]) -> bool:
    return bool(shapes) and any(kind.takes(_joint(shapes)) for kind in kinds)


def _joint(shapes: Iterable[Resources]) -> Resources:
    most = Resources()
    for shape in shapes:
        most = most.most(shape)
    return most


def _only(shape: Resources, dimension: str) -> Resources:
    return Resources(((dimension, shape[dimension]),))
