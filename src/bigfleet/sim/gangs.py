"""How a gang is placed: whole, in the tightest domain of its topology key that holds it, or not.

kube-scheduler itself places pods one by one; clusters that train have a plug-in that does this.
"""

from collections.abc import Mapping, Sequence

from bigfleet.placement.occupancy import Occupancy
from bigfleet.placement.records import PodView
from bigfleet.sim.scheduler import open_nodes


def place_gang(occupancy: Occupancy, members: Sequence[PodView]) -> tuple[Mapping[str, str], str]:
    """A Node for every member by uid, or nothing and why; members are alike."""
    if not members:
        return {}, ""
    first = members[0]
    key = first.near[0].topology_key
    seats: dict[str, list[str]] = {}
    for name in open_nodes(occupancy):
        value = occupancy.nodes[name].labels.get(key)
        room = occupancy.rooms[name]
        if value is None or room.why_not(first) is not None:
            continue
        room = room.copy()
        domain = seats.setdefault(value, [])
        while len(domain) < len(members) * 2 and room.why_not(first) is None:
            domain.append(name)
            room.take(first)
    fitting = [value for value, names in seats.items() if len(names) >= len(members)]
    if not fitting:
        most = max(map(len, seats.values()), default=0)
        return {}, f"no {key} has room for the {len(members)} pods of the gang; one has {most}"
    tightest = min(fitting, key=lambda value: (len(seats[value]), value))
    return {pod.uid: name for pod, name in zip(members, seats[tightest], strict=False)}, ""
