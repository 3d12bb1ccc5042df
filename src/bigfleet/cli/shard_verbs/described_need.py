"""`bigfleet describe need`: by its id, or by the first characters of it."""

from dataclasses import dataclass

import click

from bigfleet.cli.connections import Clients, Connection
from bigfleet.cli.request_options import named_text
from bigfleet.cli.shard_verbs.described import (
    Description,
    lifting,
    machine_table,
    machines_title,
    pauses_of,
)
from bigfleet.cli.shard_verbs.needs import listed_needs, profile_text, row_document
from bigfleet.cli.tables import counted, since_text
from bigfleet.cli.whole_fleet import FleetAnswers, SoughtObject, Unknown, ask_fleet, known_in
from bigfleet.model.need_states import NeedState
from bigfleet.model.reasons import resources_text
from bigfleet.model.shard_views import (
    MachinePage,
    MachineQuery,
    MachineSelector,
    NeedListing,
    NeedQuery,
    NeedRow,
    ShardStatus,
)

#: Needs among which names like one that is wrong are looked for.
_LOOKED_AT = 1000


@dataclass(frozen=True, slots=True)
class DescribedNeed:
    row: NeedRow
    machines: MachinePage
    status: ShardStatus


def describe_need(connection: Connection, name: str) -> Description:
    cluster, _, prefix = name.rpartition("/")
    rows = named_need(connection, cluster, prefix)
    (shard_id,) = rows.said
    (row,) = rows.said[shard_id]
    need = row.view.need

    async def look(shard: Clients) -> DescribedNeed:
        query = MachineQuery(MachineSelector(cluster=need.cluster))
        machines = await shard.admin.machines(query)
        return DescribedNeed(row, machines, await shard.admin.status())

    answers = ask_fleet(connection.only(rows.addresses[shard_id]), look)
    told = next(iter(answers.said.values()))
    return _description(
        connection, told, FleetAnswers({shard_id: told}, rows.failed, rows.addresses)
    )


def named_need(
    connection: Connection, cluster: str, prefix: str
) -> "FleetAnswers[tuple[NeedRow, ...]]":
    """The one Need that is meant, under its shard; leaves with 2 where there are several."""

    async def look(shard: Clients) -> "tuple[NeedRow, ...] | Unknown":
        query = NeedQuery(cluster, 0, (), prefix)
        found = await shard.admin.needs(query)
        # An older shard does not know the prefix.
        rows = tuple(r for r in found.rows if r.view.need.key.need_id.startswith(prefix))
        return rows or Unknown(await known_ids(shard))

    said = f"{cluster}/{prefix}" if cluster else prefix
    asked = ask_fleet(connection, look)
    found = known_in(
        connection, asked, SoughtObject("need", said, "bigfleet needs shows those there are")
    )
    keys = {row.view.need.key for rows in found.said.values() for row in rows}
    if len(keys) > 1:
        names = named_text(sorted(f"{key.cluster}/{key.need_id}" for key in keys))
        raise click.UsageError(f"{len(keys)} needs begin with {prefix}: {names}; write more of it")
    # Of a cluster that has just moved, two shards may know the Need: the one that has it last.
    shard_id = max(found.said, key=lambda shard: found.said[shard][0].since)
    return FleetAnswers({shard_id: found.said[shard_id][:1]}, found.failed, found.addresses)


async def known_ids(shard: Clients) -> tuple[str, ...]:
    """Of the first Needs of a shard."""
    listed = await listed_needs(shard, limit=_LOOKED_AT)
    rows = listed.rows if isinstance(listed, NeedListing) else ()
    return tuple(row.view.need.key.need_id for row in rows)


def _description(
    connection: Connection, told: DescribedNeed, answers: "FleetAnswers[DescribedNeed]"
) -> Description:
    row, need = told.row, told.row.view.need
    held = pauses_of((told.status,), need.cluster)
    serving = [view for view in told.machines.machines if view.claimed_by == need.key]
    name = f"need/{need.cluster}/{need.key.need_id}"
    met = row.state is NeedState.MET
    reasons = [] if met else [reason.text for reason in (row.reason, *row.further)]
    table = machine_table(serving, told.machines.computed_at)
    title = machines_title(serving, f"of cluster {need.cluster} serve it")
    return Description(
        name,
        f"{name} is {row.state_label}, for {since_text(row.since, connection.now)}; "
        f"priority {need.profile.priority}, {resources_text(need.aggregate.texts())}",
        _facts(told, next(iter(answers.said))),
        {**row_document(row), "machineIds": [view.machine.id for view in serving]},
        answers,
        [(title, table)] if serving else [],
        reasons=reasons,
        pauses=[] if met else held,
        commands=[*_remedies(row), *lifting(() if met else held), *_others(need.cluster)],
    )


def _facts(told: DescribedNeed, shard: str) -> list[tuple[str, str]]:
    row, view = told.row, told.row.view
    need, supply = view.need, view.supply
    short = "" if view.satisfied else resources_text(view.deficit.positive().texts())
    matching = ""
    if supply is not None:
        more = " or more" if supply.capped else ""
        counts = f"{supply.idle} idle, {supply.configured} configured"
        matching = f"{counts}, {supply.speculative} to be bought{more}"
    return [
        ("shard", shard),
        ("cluster", need.cluster),
        ("priority", str(need.profile.priority)),
        ("wants", resources_text(need.aggregate.texts())),
        ("one unit", resources_text(need.min_unit.texts()) if need.min_unit.amounts else ""),
        ("of machines with", profile_text(need.profile)),
        ("group", need.group),
        ("has", counted(view.claimed, "machine")),
        ("on their way", counted(row.arriving, "machine") if row.arriving else ""),
        ("short of", short),
        ("machines that fit", matching),
        ("domain", view.same_domain),
        ("stuck pods", str(row.stuck_pods or "")),
        ("cycle", str(told.status.cycle)),
    ]


def _remedies(row: NeedRow) -> list[tuple[str, str]]:
    if not row.remedy:
        return []
    is_command = row.remedy.startswith("bigfleet ")
    return [(row.remedy, "lifts what holds it" if is_command else "")]


def _others(cluster: str) -> list[tuple[str, str]]:
    return [
        (f"bigfleet needs --cluster {cluster}", "all that its cluster asks for"),
        ("bigfleet snapshot fleet - | bigfleet plan -", "what the next cycle would do"),
    ]
