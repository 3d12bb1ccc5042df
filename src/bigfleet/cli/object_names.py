"""Objects as people name them: `machine/od-0117`, or only `od-0117` where a machine is meant.

A name that no shard knows is told as such, with the nearest names, and never as an empty list.
"""

from typing import TYPE_CHECKING, TypeVar

import click

from bigfleet.cli.connections import Clients, Question

if TYPE_CHECKING:
    from bigfleet.cli.whole_fleet import SoughtObject, Unknown
    from bigfleet.model.provider_calls import Rejected
    from bigfleet.model.shard_views import MachineView

KINDS = ("machine", "need", "action", "pod", "cr", "cluster", "shard", "offering", "pause")
#: Ids looked at for one that was meant.
_LOOKED_AT = 1000
T = TypeVar("T")


class ObjectName(click.ParamType[str]):
    """The bare id; the name of another kind of object is refused."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self.name = kind

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        said, slash, rest = value.partition("/")
        if not slash or said not in KINDS:
            return value
        if said != self._kind:
            self.fail(f"{value!r} names a {said}; a {self._kind} is meant here", param, ctx)
        return rest


MACHINE, CLUSTER, OFFERING = ObjectName("machine"), ObjectName("cluster"), ObjectName("offering")
SHARD, PAUSE = ObjectName("shard"), ObjectName("pause")


def machine_thing(machine_id: str) -> "SoughtObject":
    from bigfleet.cli.whole_fleet import SoughtObject

    return SoughtObject("machine", machine_id, "bigfleet machines shows those there are")


def cluster_thing(cluster: str) -> "SoughtObject":
    from bigfleet.cli.whole_fleet import SoughtObject

    return SoughtObject("cluster", cluster, "bigfleet clusters shows those there are")


def about_machine(machine_id: str, question: Question[T]) -> "Question[T | Unknown]":
    """A shard that does not know the machine answers with ids like it."""
    return or_unknown(question, lambda shard: nearest_machines(shard, machine_id))


def about_cluster(cluster: str, question: Question[T]) -> "Question[T | Unknown]":
    """A shard that does not know the cluster answers with those it serves."""
    return or_unknown(question, _clusters_served)


def or_unknown(question: Question[T], near: "Question[tuple[str, ...]]") -> "Question[T | Unknown]":
    from bigfleet.cli.whole_fleet import Unknown
    from bigfleet.model.provider_calls import Code, Rejected

    async def asked(shard: Clients) -> "T | Unknown":
        try:
            return await question(shard)
        except Rejected as rejected:
            if rejected.code is not Code.NOT_FOUND:
                raise
        return Unknown(await near(shard))

    return asked


async def _clusters_served(shard: Clients) -> tuple[str, ...]:
    return tuple(view.cluster for view in await shard.admin.sessions())


async def one_machine(shard: Clients, machine_id: str) -> "MachineView":
    """Raises Rejected where the shard does not know it."""
    from bigfleet.model.shard_views import MachineQuery, MachineSelector

    query = MachineQuery(MachineSelector(ids=frozenset({machine_id})))
    page = await shard.admin.machines(query)
    if not page.machines:
        raise _not_found(f"no machine {machine_id}")
    return page.machines[0]


async def known_machines(shard: Clients, wanted: frozenset[str]) -> frozenset[str]:
    """Those of these ids that the shard has."""
    from bigfleet.model.shard_views import MachineQuery, MachineSelector

    query = MachineQuery(MachineSelector(ids=wanted))
    page = await shard.admin.machines(query)
    return frozenset(view.machine.id for view in page.machines)


async def require_cluster(clients: Clients, wanted: str) -> None:
    """Raises Rejected where it is not connected, never was, and holds no machine."""
    from difflib import get_close_matches

    from bigfleet.model.shard_views import MachineQuery, MachineSelector

    known = {view.cluster for view in await clients.admin.sessions()}
    holding = MachineQuery(MachineSelector(cluster=wanted), limit=1)
    if wanted in known or (await clients.admin.machines(holding)).total:
        return
    near = get_close_matches(wanted, sorted(known), n=1)
    hint = f"did you mean {near[0]}?" if near else "bigfleet clusters shows those it serves"
    raise _not_found(f"no cluster {wanted} in this shard; {hint}")


def _not_found(text: str) -> "Rejected":
    from bigfleet.model.provider_calls import Code, Rejected

    return Rejected(Code.NOT_FOUND, text)


async def nearest_machines(clients: Clients, wanted: str) -> tuple[str, ...]:
    """Ids that are much like it, the nearest first.

    Ids that begin alike are looked at first, so that a large fleet is not read for one letter.
    """
    from difflib import get_close_matches

    from bigfleet.model.shard_views import MachineQuery, MachineSelector

    for prefix in dict.fromkeys((wanted[:-2], wanted[: len(wanted) // 2], "")):
        query = MachineQuery(MachineSelector(id_prefix=prefix), limit=_LOOKED_AT)
        page = await clients.admin.machines(query)
        ids = [view.machine.id for view in page.machines]
        if close := get_close_matches(wanted, ids, n=3):
            return tuple(close)
    return ()
