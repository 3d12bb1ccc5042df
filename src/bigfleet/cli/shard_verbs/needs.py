"""`bigfleet needs`: what clusters ask for, in which of the four states it is, why, and what lifts
it."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import click

from bigfleet.cli.connections import Clients, Connection, shard_verb
from bigfleet.cli.object_names import CLUSTER, about_cluster, cluster_thing, require_cluster
from bigfleet.cli.output import shows
from bigfleet.cli.sources import Source, takes_source
from bigfleet.cli.terminal import plain, refuse
from bigfleet.cli.whole_fleet import FleetAnswers, ask_fleet, known_in
from bigfleet.model.cluster_reports import DemandSource

if TYPE_CHECKING:
    from bigfleet.cli.tables import Page, Table
    from bigfleet.model.machines import Instant
    from bigfleet.model.need_states import NeedState
    from bigfleet.model.profiles import Profile
    from bigfleet.model.shard_views import NeedCounts, NeedListing, NeedPage, NeedRow, NeedView

COLUMNS = ("PRIORITY", "CLUSTER", "PROFILE", "DEMAND", "STATUS", "SHORT", "REASON", "AGE")
STYLES = {"arriving": "cyan", "blocked": "yellow", "short": "red"}
#: Reasons that are spelled out under the table; equal ones are told once.
_MOST_TOLD = 10
#: Of one Need, as many as `plan` tells.
_MOST_REASONS = 4
_OLDER = (
    "a shard is older than this command: it tells what was planned, not whether it has come;"
    " upgrade it to see states"
)


@click.command()
@shard_verb
@shows(lambda: (*COLUMNS, "SHARD"))
@takes_source
@click.option("--cluster", type=CLUSTER, default="", help="Only the Needs of this cluster.")
@click.option("--unmet", is_flag=True, help="Only what is not met: arriving, blocked, short.")
@click.option(
    "--source",
    "sources",
    type=click.Choice([str(each) for each in DemandSource]),
    multiple=True,
    help="Only what this asks for; may be repeated.",
)
@click.option(
    "--limit",
    type=click.IntRange(0),
    default=2000,
    show_default=True,
    help="Rows at most; 0 shows all.",
)
def needs(
    connection: Connection,
    source: Source,
    cluster: str,
    unmet: bool,
    sources: tuple[str, ...],
    limit: int,
) -> None:
    """What clusters ask for, and whether they have it, highest precedence first.

    PROFILE begins with the Need's id; (margin) is what is asked for beyond requests, for pods that
    found no place, and (buffer) or (provisioning-request) that CapacityBuffers or
    ProvisioningRequests ask for it, beside pods where it says so. STATUS is one of four: met (its
    machines are there and usable), arriving (on its way and moving), blocked (planned, but held
    back) and short (there is no supply for it). SHORT is what is missing, REASON why, AGE for how
    long. What holds Needs back, and the command that lifts it, is told below the table, and with
    --unmet when those that wait are expected to be met.

    Of all shards, or of those that --shard names; of one shard also in a past cycle (--at), of a
    journal (--journal) at a cycle or time --at, of a fleet file (--fleet): a Need that has its
    machines is "covered" there, as Nodes and pods are not recorded.

    \b
    Examples:
      bigfleet needs --unmet
      bigfleet needs --cluster shop
      bigfleet needs --source buffer --source provisioning-request
      bigfleet needs --unmet -o json | jq '.items[] | {needId, state, remedy}'
      bigfleet needs --unmet --journal data/journal --at 2026-03-14T03:00:10Z
    """
    from bigfleet.cli.listings import write_listing
    from bigfleet.cli.shard_verbs.need_listings import listing_of, needs_in

    if not source.is_live:
        _print_recorded(connection, source, cluster, limit, unmet=unmet, sources=sources)
        return
    at = source.at

    async def look(shard: Clients) -> "NeedListing | NeedPage":
        from bigfleet.cli.why_machine import asked_cycle

        cycle = (await asked_cycle(shard, at))[1] if at else 0
        found = await listed_needs(shard, cluster, limit, unmet=unmet, sources=sources, cycle=cycle)
        if cluster and not _total_of(found):
            await require_cluster(shard, cluster)
        return found

    answers: FleetAnswers[NeedListing | NeedPage]
    if cluster:
        asked = ask_fleet(connection, about_cluster(cluster, look))
        answers = known_in(connection, asked, cluster_thing(cluster))
    else:
        answers = ask_fleet(connection, look)
    now = connection.now
    if at is not None:
        from bigfleet.cli.live_cycles import refuse_several

        refuse_several(answers)
        (only,) = answers.said.values()
        now = only.computed_at
    found = needs_in(answers.said, unmet=unmet, limit=limit, sources=sources)
    if found.older:
        click.echo(plain(_OLDER), err=True)
    write_listing(connection, listing_of(found, now, unmet=unmet, missing=answers.document()))
    answers.leave_partial(connection)


def _print_recorded(
    connection: Connection,
    source: Source,
    cluster: str,
    limit: int,
    *,
    unmet: bool,
    sources: tuple[str, ...],
) -> None:
    from bigfleet.cli.listings import write_listing
    from bigfleet.cli.shard_verbs.need_listings import listing_of, needs_in
    from bigfleet.cli.shard_verbs.recorded_lists import recorded_needs
    from bigfleet.model.shard_views import NeedQuery

    if sources:
        text = "--source: what asks for a Need is not recorded; ask a shard, or leave it out"
        raise refuse([text])
    query = NeedQuery(cluster, limit, _states_of(unmet=unmet))
    told = recorded_needs(source, query, forecast=unmet)
    found = needs_in(told, unmet=unmet, limit=limit)
    (listing,) = told.values()
    write_listing(connection, listing_of(found, listing.computed_at, unmet=unmet, missing={}))


def _states_of(*, unmet: bool) -> "tuple[NeedState, ...]":
    from bigfleet.model.need_states import NeedState

    return tuple(state for state in NeedState if state is not NeedState.MET) if unmet else ()


async def listed_needs(
    shard: Clients,
    cluster: str = "",
    limit: int = 0,
    *,
    unmet: bool = False,
    sources: tuple[str, ...] = (),
    cycle: int = 0,
) -> "NeedListing | NeedPage":
    """A page without states where the shard is older. `cycle`: 0 is the last finished one."""
    from bigfleet.model.provider_calls import Code, Rejected
    from bigfleet.model.shard_views import NeedQuery

    query = NeedQuery(cluster, limit, _states_of(unmet=unmet), "", sources, cycle)
    try:
        return await shard.admin.needs(query)
    except Rejected as rejected:
        if rejected.code is not Code.UNIMPLEMENTED or cycle:
            raise
    # An older shard cuts the list before this verb could leave out what is met.
    return await shard.read.needs(cluster, 0 if unmet or sources else limit)


def _total_of(found: "NeedListing | NeedPage") -> int:
    from bigfleet.model.shard_views import NeedListing

    return found.counts.total if isinstance(found, NeedListing) else found.total


# -- rows ----------------------------------------------------------------------------------------


def row_document(row: "NeedRow") -> dict[str, Any]:
    """The NeedView as ever, and beside it what the state adds."""
    from bigfleet.wire.need_listings import need_row_document
    from bigfleet.wire.shard_read import need_view_document

    return {**need_view_document(row.view), **need_row_document(row)}


def rows_table(rows: "Sequence[NeedRow]", now: "Instant") -> "Table":
    from bigfleet.cli.tables import cell, since_text, table_of
    from bigfleet.model.need_states import NeedState
    from bigfleet.model.reasons import resources_text

    table = table_of(*COLUMNS, numbers=["PRIORITY", "AGE"])
    for row in rows:
        view, met = row.view, row.state is NeedState.MET
        short = row.state is NeedState.SHORT and view.unmet_reason is not None
        deficit = "" if view.satisfied else resources_text(view.deficit.positive().texts())
        table.add_row(
            *identity_cells(view),
            cell(row.state_label, STYLES.get(row.state_label, "")),
            cell(deficit),
            cell("" if met else view.unmet_reason if short else row.reason.code),
            cell("" if met else since_text(row.since, now)),
        )
    return table


def tell_reasons(page: "Page", rows: "Sequence[NeedRow]") -> None:
    for note in reason_notes(rows):
        page.say(note)


def reason_notes(rows: "Iterable[NeedRow]") -> list[str]:
    """What holds Needs back, each once, with the number of Needs and what lifts it."""
    from bigfleet.cli.tables import counted
    from bigfleet.model.need_states import NeedState

    told = Counter(
        (why_text(row), row.remedy)
        for row in rows
        if row.state in (NeedState.BLOCKED, NeedState.SHORT)
    )
    notes = []
    for (text, remedy), number in told.most_common(_MOST_TOLD):
        notes += ["", f"{counted(number, 'need')}: {text}"]
        notes += [f"  to lift it: {remedy}"] if remedy else []
    if len(told) > _MOST_TOLD:
        notes += ["", f"{len(told) - _MOST_TOLD} more reasons; -o json has all of them"]
    return notes


def eta_notes(rows: "Iterable[NeedRow]") -> list[str]:
    """When Needs are expected to be met: the first of them that have a time."""
    timed = [row for row in rows if row.forecast is not None and row.forecast.is_timed]
    notes = [""] if timed else []
    for row in timed[:_MOST_TOLD]:
        need, forecast = row.view.need.key, row.forecast
        assert forecast is not None, "chosen above"
        notes.append(f"ETA of need/{need.cluster}/{need.need_id}: {forecast.sentence}")
    if len(timed) > _MOST_TOLD:
        notes.append(f"{len(timed) - _MOST_TOLD} more ETAs; bigfleet reports eta has all of them")
    return notes


def why_text(row: "NeedRow") -> str:
    """In the words `plan` has for it."""
    reasons = (row.reason, *row.further)
    return "; ".join(reason.text for reason in reasons[:_MOST_REASONS])


def counts_text(counts: "NeedCounts") -> str:
    """`3 met, 1 blocked`."""
    from bigfleet.model.need_states import NeedState

    said = [f"{counts.count(s):,} {s.label}" for s in NeedState if counts.count(s)]
    return ", ".join(said) or "none"


def identity_cells(view: "NeedView") -> list[Any]:
    from bigfleet.cli.tables import cell
    from bigfleet.model.reasons import resources_text

    need = view.need
    return [
        cell(need.profile.priority),
        cell(need.cluster),
        cell(name_text(view)),
        cell(resources_text(need.aggregate.texts())),
    ]


def name_text(view: "NeedView") -> str:
    """The Need's id, and what it asks of machines."""
    from bigfleet.model.needs import is_margin

    need = view.need
    margin = "(margin)" if is_margin(need.group) else ""
    said = (need.key.need_id, profile_text(need.profile), margin)
    return " ".join(word for word in said if word)


def profile_text(profile: "Profile") -> str:
    """What a machine must be, in few words: `zone=a|b, same rack`."""
    from bigfleet.model.requirements import Operator

    words = []
    for wanted in profile.requirements:
        key, values = wanted.key.rpartition("/")[2], "|".join(wanted.values)
        match wanted.operator:
            case Operator.IN:
                words.append(f"{key}={values}")
            case Operator.NOT_IN:
                words.append(f"{key}!={values}")
            case Operator.EXISTS:
                words.append(key)
            case Operator.DOES_NOT_EXIST:
                words.append(f"!{key}")
            case Operator.SAME:
                words.append(f"same {key}")
            case _:
                words.append(f"{key}?")
    words += [f"spread {spread.topology_key.rpartition('/')[2]}" for spread in profile.spread]
    return ", ".join(words)
