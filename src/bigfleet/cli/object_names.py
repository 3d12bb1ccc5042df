"""Objects as people name them: `machine/od-0117`, or only `od-0117` where a machine is meant.

Whoever names one thing means that thing: where nobody knows it, that is told as such, with what was
probably meant, and never as an empty list.
"""

from typing import TYPE_CHECKING, TypeVar

import click

from bigfleet.cli.connections import Clients, Line, Question

if TYPE_CHECKING:
    from bigfleet.model.provider_calls import Rejected

KINDS = ("machine", "need", "action", "pod", "cr", "cluster", "shard", "offering")
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
SHARD = ObjectName("shard")


def ask_about(line: Line, machine_id: str, question: Question[T]) -> T:
    """A machine the shard does not know is answered with the one that was probably meant."""
    from bigfleet.model.provider_calls import Code, Rejected

    async def asked(shard: Clients) -> T:
        try:
            return await question(shard)
        except Rejected as rejected:
            if rejected.code is not Code.NOT_FOUND:
                raise
            raise await no_such_machine(shard, machine_id) from None

    return line.ask(asked)


async def no_such_machine(clients: Clients, wanted: str) -> "Rejected":
    """The result is to be raised."""
    near = await nearest_machine(clients, wanted)
    hint = f"did you mean {near}?" if near else "bigfleet machines shows those it has"
    return _not_found(f"no machine {wanted} in this shard; {hint}")


async def unknown_machines(clients: Clients, wanted: frozenset[str]) -> "list[Rejected]":
    """One for each that the shard does not know, by id, whatever else was asked of them."""
    from bigfleet.model.shard_views import MachineQuery, MachineSelector

    query = MachineQuery(MachineSelector(ids=wanted))
    known = await clients.admin.machines(query, clients.timeout)
    missing = wanted - {view.machine.id for view in known.machines}
    return [await no_such_machine(clients, each) for each in sorted(missing)]


async def require_cluster(clients: Clients, wanted: str) -> None:
    """Raises Rejected where it is not connected, never was, and holds no machine."""
    from difflib import get_close_matches

    from bigfleet.model.shard_views import MachineQuery, MachineSelector

    known = {view.cluster for view in await clients.admin.sessions()}
    holding = MachineQuery(MachineSelector(cluster=wanted), limit=1)
    if wanted in known or (await clients.admin.machines(holding, clients.timeout)).total:
        return
    near = get_close_matches(wanted, sorted(known), n=1)
    hint = f"did you mean {near[0]}?" if near else "bigfleet clusters shows those it serves"
    raise _not_found(f"no cluster {wanted} in this shard; {hint}")


def _not_found(text: str) -> "Rejected":
    from bigfleet.model.provider_calls import Code, Rejected

    return Rejected(Code.NOT_FOUND, text)


async def nearest_machine(clients: Clients, wanted: str) -> str:
    """The id that was probably meant; empty: nothing like it.

    Ids that begin alike are looked at first, so that a large fleet is not read for one letter.
    """
    from difflib import get_close_matches

    from bigfleet.model.shard_views import MachineQuery, MachineSelector

    for prefix in dict.fromkeys((wanted[:-2], wanted[: len(wanted) // 2], "")):
        query = MachineQuery(MachineSelector(id_prefix=prefix), limit=_LOOKED_AT)
        page = await clients.admin.machines(query, clients.timeout)
        ids = [view.machine.id for view in page.machines]
        if close := get_close_matches(wanted, ids, n=1):
            return close[0]
    return ""
