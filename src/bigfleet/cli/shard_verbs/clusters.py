"""`bigfleet clusters`: the clusters of a shard, their sessions, and what they have and miss.

Which shard serves a cluster is decided by a coordinator; without one nothing is bound, and
BOUND_SINCE stays empty.
"""

from collections import Counter
from typing import TYPE_CHECKING

import click

from bigfleet.cli.connections import Clients, Line, shard_verb
from bigfleet.cli.default_verbs import DefaultVerb

if TYPE_CHECKING:
    from bigfleet.model.shard_views import SessionView

_COLUMNS = ("CLUSTER", "SHARD", "SESSION", "NEEDS", "UNMET", "MACHINES", "BOUND_SINCE")


@click.group(cls=DefaultVerb)
def clusters() -> None:
    """The clusters a shard serves.

    \b
    Examples:
      bigfleet clusters
      bigfleet clusters -o json | jq '.items[] | select(.connected | not) | .clusterId'
    """


@clusters.command("list")
@shard_verb
def list_clusters(line: Line) -> None:
    """Every cluster that is connected, has asked for something, or holds machines."""
    from bigfleet.cli.tables import Page, cell, since_text, table_of, write_items
    from bigfleet.wire.shard_documents import document_of

    shard_id, views, unmet, machines = line.ask(_look)
    names = sorted(views.keys() | machines.keys() | unmet.keys())
    if line.json:
        write_items(
            (
                {
                    **(document_of(views[name]) if name in views else {"clusterId": name}),
                    "shardId": shard_id,
                    "unmet": unmet[name],
                    "machines": machines[name],
                }
                for name in names
            ),
            line.now,
        )
        return
    page = Page.on_stdout(line.color)
    table = table_of(*_COLUMNS, numbers=["NEEDS", "UNMET", "MACHINES"])
    for name in names:
        view = views.get(name)
        up = view is not None and view.connected
        session = f"open {since_text(view.connected_at, line.now)}" if view and up else "closed"
        table.add_row(
            cell(name),
            cell(shard_id),
            cell(session, "" if up else "red"),
            cell(view.needs if view else ""),
            cell(unmet[name], "red" if unmet[name] else ""),
            cell(machines[name]),
            cell(""),
        )
    page.show(table)
    page.write()


async def _look(
    shard: Clients,
) -> "tuple[str, dict[str, SessionView], Counter[str], Counter[str]]":
    from bigfleet.model.machines import MachineState
    from bigfleet.model.shard_views import MachineQuery, MachineSelector

    status = await shard.admin.status()
    views = {view.cluster: view for view in await shard.admin.sessions()}
    asked = await shard.read.needs(deadline=shard.timeout)
    unmet = Counter(view.need.cluster for view in asked.needs if not view.satisfied)
    bound = {MachineState.CONFIGURING, MachineState.CONFIGURED, MachineState.DRAINING}
    query = MachineQuery(MachineSelector(states=frozenset(bound)))
    found = await shard.admin.machines(query, shard.timeout)
    machines = Counter(view.machine.cluster for view in found.machines)
    return status.shard_id, views, unmet, machines
