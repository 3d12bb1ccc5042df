"""What of a cluster must not move: everything but heartbeats, leases and what only counts them."""

from collections.abc import Sequence
from typing import Any

from tests.e2e.rig.api import Object
from tests.e2e.rig.cluster import Cluster

_OURS = "/apis/bigfleet.lucy.sh/v1alpha1"
#: What a session with nothing to do leaves alone.
LASTING = (
    "/api/v1/nodes",
    "/api/v1/pods",
    f"{_OURS}/capacityrequests",
    f"{_OURS}/upcomingnodes",
)
_EVENTS = "/api/v1/events"
#: And what it refreshes.
KINDS = (*LASTING, _EVENTS, f"{_OURS}/availablecapacities")
#: Of metadata: changes with every heartbeat, or tells who wrote rather than what.
_PASSING = ("resourceVersion", "managedFields")

#: Looks in a row that are alike: what was under way when its sender was cut off has come by then.
_LOOKS = 10

Sight = dict[tuple[str, str], Object]


async def sight_of(cluster: Cluster, kinds: Sequence[str] = KINDS) -> Sight:
    """Every object that may matter, by kind and uid.

    Namespaces of earlier tests are still on their way out; what is about a Node is in `default`.
    """
    places = ("", "default", cluster.namespace)
    return {
        (path, found["metadata"]["uid"]): _still(found)
        for path in kinds
        for found in await cluster.api.list(path)
        if found["metadata"].get("namespace", "") in places
    }


async def at_rest(cluster: Cluster, kinds: Sequence[str] = KINDS) -> Sight:
    """As it stands once nothing moves any more."""
    last, alike = await sight_of(cluster, kinds), 0

    async def rests() -> bool:
        nonlocal last, alike
        before, last = last, await sight_of(cluster, kinds)
        alike = 0 if moved(before, last) else alike + 1
        return alike >= _LOOKS

    await cluster.until(rests, lambda: "it does not come to rest")
    return last


def moved(before: Sight, now: Sight) -> list[str]:
    """What came, went or changed, in words; that an old Event is forgotten is not a change."""
    told = [f"{path}: {_name(now[path, uid])} came" for path, uid in now.keys() - before.keys()]
    gone = [key for key in before.keys() - now.keys() if key[0] != _EVENTS]
    told += [f"{key[0]}: {_name(before[key])} went" for key in gone]
    both = before.keys() & now.keys()
    told += [
        f"{key[0]}: {before[key]} became {now[key]}" for key in both if before[key] != now[key]
    ]
    return sorted(told)


def _still(found: Object) -> Object:
    meta = {key: value for key, value in found["metadata"].items() if key not in _PASSING}
    status: dict[str, Any] = dict(found.get("status", {}))
    if "conditions" in status:
        status["conditions"] = [(c["type"], c["status"]) for c in status["conditions"] or []]
    return {**found, "metadata": meta, "status": status}


def _name(found: Object) -> str:
    return str(found["metadata"]["name"])
