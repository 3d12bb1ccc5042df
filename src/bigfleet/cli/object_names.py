"""Objects as people name them: `machine/od-0117`, or only `od-0117` where a machine is meant."""

from typing import TypeVar

import click

from bigfleet.cli.connections import Clients, Line, Question

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
            near = await nearest_machine(shard, machine_id)
            hint = f"; did you mean {near}?" if near else ""
            raise Rejected(rejected.code, f"{rejected.text}{hint}") from None

    return line.ask(asked)


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
