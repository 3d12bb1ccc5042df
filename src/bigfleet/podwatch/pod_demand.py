"""Whether a pod is demand: yes, no and why, or not yet.

What is not certain changes nothing: a request that is there stays until its pod is known to run on
a Node of the cluster's own for a minute, and a pod that the scheduler has not judged yet gets none
for a moment, as it may fit on what is there.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from bigfleet.model.machines import Instant
from bigfleet.model.options import SECOND
from bigfleet.podwatch.fleet_nodes import FleetNodes, Membership

#: How long a Node must be foreign before requests of pods on it go: longer than an operator needs
#: to write an UpcomingNode anew after it was deleted by hand.
FOREIGN_SECONDS = 60.0
_FOREIGN_FOR = round(FOREIGN_SECONDS * SECOND)


class PodWait(Enum):
    """Where a pod without a Node stands."""

    UNJUDGED = "the scheduler has not spoken of it"
    UNSCHEDULABLE = "the scheduler found no Node for it"
    GATED = "it has scheduling gates"


@dataclass(frozen=True, slots=True)
class IsDemand:
    pass


@dataclass(frozen=True, slots=True)
class NotDemand:
    why: str


@dataclass(frozen=True, slots=True)
class NotYetKnown:
    """A request that is there stays; none is made."""

    #: When time alone will tell; None: a change will.
    until: Instant | None = None


Standing = IsDemand | NotDemand | NotYetKnown
IS_DEMAND = IsDemand()


def standing_on(node: str, nodes: FleetNodes, *, has_request: bool, at: Instant) -> Standing:
    """Of a pod that is bound to that Node."""
    if not nodes.are_told_apart:
        return IS_DEMAND
    match nodes.membership(node):
        case Membership.MACHINE:
            return IS_DEMAND
        case Membership.UNKNOWN:
            return NotYetKnown()
        case Membership.FOREIGN:
            foreign = NotDemand(f"it runs on {node}, which is not a machine of the fleet")
            since = nodes.foreign_since(node)
            if not has_request or since is None:
                return foreign
            return foreign if at >= since + _FOREIGN_FOR else NotYetKnown(since + _FOREIGN_FOR)


def standing_of_hosts(
    hosts: Iterable[str], nodes: FleetNodes, *, has_request: bool, at: Instant
) -> Standing:
    """Of a pod that waits and whose volumes are on these hosts alone.

    Where all of them are Nodes of the cluster's own, no machine of the fleet can help.
    """
    found = [standing_on(host, nodes, has_request=has_request, at=at) for host in hosts]
    if found and all(isinstance(each, NotDemand) for each in found):
        return NotDemand("its volumes are on Nodes that are not machines of the fleet")
    waits = [each.until for each in found if isinstance(each, NotYetKnown) and each.until]
    sure = [each for each in found if isinstance(each, NotDemand)]
    return NotYetKnown(max(waits)) if waits and len(waits) + len(sure) == len(found) else IS_DEMAND


def standing_without_node(
    wait: PodWait, *, has_request: bool, judged_by: Instant, at: Instant
) -> Standing:
    """`judged_by`: until when an unjudged pod is left alone."""
    match wait:
        case PodWait.GATED:
            return NotDemand("it has scheduling gates, so no machine would run it")
        case PodWait.UNSCHEDULABLE:
            return IS_DEMAND
        case PodWait.UNJUDGED:
            return IS_DEMAND if has_request or at >= judged_by else NotYetKnown(judged_by)
