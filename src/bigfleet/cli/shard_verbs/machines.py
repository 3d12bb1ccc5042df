"""`bigfleet machines`: the inventory, one machine's story, reservations, ways out of Failed."""

from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple

import click

from bigfleet.cli.connections import Clients, Connection, audit_of, audited, shard_verb
from bigfleet.cli.default_verbs import DefaultVerb
from bigfleet.cli.object_names import (
    CLUSTER,
    MACHINE,
    about_machine,
    known_machines,
    machine_thing,
    nearest_machines,
    one_machine,
)
from bigfleet.cli.output import shows
from bigfleet.cli.request_options import EXIT_UNREACHABLE
from bigfleet.cli.selectors import SYNTAX, Term, selector_of
from bigfleet.cli.shard_verbs.recorded_lists import is_recorded, recorded_machines
from bigfleet.cli.sources import Source, takes_source
from bigfleet.cli.terminal import plain, refuse
from bigfleet.cli.whole_fleet import (
    FleetAnswers,
    ask_fleet,
    ask_owner,
    known_in,
    not_found_text,
    shards_text,
)

if TYPE_CHECKING:
    from bigfleet.model.shard_admin import ClearedMachine, MachineStory
    from bigfleet.model.shard_views import MachinePage, MachineQuery

#: Unknown machines for which names like theirs are looked up.
_MOST_LOOKED_FOR = 5
_limit = click.option(
    "--limit",
    type=click.IntRange(0),
    default=2000,
    show_default=True,
    help="Rows at most; 0 shows all.",
)


def _tables() -> ModuleType:
    """What declares the columns; imported when they are shown or completed."""
    from bigfleet.cli.shard_verbs import machine_tables

    return machine_tables


@click.group(cls=DefaultVerb)
def machines() -> None:
    """The machines of a fleet; without a verb: the list of them.

    Of all shards, or of those that --shard names.

    \b
    Examples:
      bigfleet machines                            all, by id
      bigfleet machines state=idle zone=a          idle ones in a zone
      bigfleet machines --cluster shop             those that serve a cluster
      bigfleet machines cluster=shop capacity=spot,on-demand
      bigfleet machines --failed                   what is broken, why, and what happens next
      bigfleet machines story od-0117              everything that touched one
      bigfleet machines reservations
      bigfleet machines state=idle --journal data/journal --at 3:18231
      bigfleet machines clear od-0117 --mode recheck --reason "host replaced"
    """


machines.help = f"{machines.help}\n{SYNTAX}"


@machines.command("list", short_help="List machines by id.")
@shard_verb
@shows(lambda: _tables().machine_columns())
@takes_source
@click.argument("selector", type=Term(), nargs=-1)
@click.option("--cluster", type=CLUSTER, default="", help="Only machines of it; as cluster=NAME.")
@click.option("--failed", is_flag=True, help="Only Failed machines, with cause and next look.")
@_limit
def list_machines(
    connection: Connection,
    source: Source,
    selector: tuple[tuple[str, tuple[str, ...]], ...],
    cluster: str,
    failed: bool,
    limit: int,
) -> None:
    """List machines by id.

    A machine that is named and that no shard knows is told on standard error, and the exit code is
    3. One shard tells those of a past cycle (--at) as its journal has it; a journal (--journal)
    those of a cycle or time --at, a fleet file (--fleet) its own.
    """
    from bigfleet.cli.listings import write_listing
    from bigfleet.cli.shard_verbs.machine_tables import machine_listing, machines_in
    from bigfleet.model.shard_views import MachineQuery

    narrowed = (("state", "failed" if failed else ""), ("cluster", cluster))
    terms = (*selector, *((key, (value,)) for key, value in narrowed if value))
    query = MachineQuery(selector_of(terms), limit=limit)
    if is_recorded(source):
        _print_recorded(connection, source, query, failed=failed)
        return
    named = query.selector.ids

    async def look(shard: Clients) -> "MachinesFound":
        page = await shard.admin.machines(query)
        seen = await known_machines(shard, named) if page.total < len(named) else named
        providers = (await shard.admin.status()).providers if failed else ()
        addresses = {each.name: each.address for each in providers}
        return MachinesFound(page, seen, await _nearest(shard, named - seen), addresses)

    answers = ask_fleet(connection, look)
    unknown = named.difference(*(found.known for found in answers.said.values()))
    if len(unknown) < len(named) or not named:
        pages = {shard: found.page for shard, found in answers.said.items()}
        addresses = {shard: found.addresses for shard, found in answers.said.items() if failed}
        shown = machines_in(pages, limit, addresses)
        write_listing(connection, machine_listing(shown, failed=failed, missing=answers.document()))
    for each in sorted(unknown):
        near = [name for found in answers.said.values() for name in found.near.get(each, ())]
        click.echo(
            plain(not_found_text(machine_thing(each), near, shards_text(len(answers.said)))),
            err=True,
        )
    answers.leave_partial(connection)
    if unknown:
        raise click.exceptions.Exit(EXIT_UNREACHABLE)


def _print_recorded(
    connection: Connection, source: Source, query: "MachineQuery", *, failed: bool
) -> None:
    from bigfleet.cli.listings import write_listing
    from bigfleet.cli.live_cycles import asked_cycle_of
    from bigfleet.cli.shard_verbs.machine_tables import machine_listing, machines_in

    pages, unknown = recorded_machines(asked_cycle_of(connection, source), query)
    if not query.selector.ids or len(unknown) < len(query.selector.ids):
        write_listing(connection, machine_listing(machines_in(pages), failed=failed, missing={}))
    for text in unknown:
        click.echo(plain(text), err=True)
    if unknown:
        raise click.exceptions.Exit(EXIT_UNREACHABLE)


class MachinesFound(NamedTuple):
    """What one shard has of the machines that are asked for."""

    page: "MachinePage"
    #: Of those that are named, the ones it has, also those that other filters leave out.
    known: frozenset[str]
    #: Ids like those it does not have.
    near: dict[str, tuple[str, ...]]
    #: Of its providers by name, where Failed machines are asked for.
    addresses: dict[str, str]


async def _nearest(shard: Clients, unknown: frozenset[str]) -> dict[str, tuple[str, ...]]:
    some = sorted(unknown)[:_MOST_LOOKED_FOR]
    return {each: await nearest_machines(shard, each) for each in some}


list_machines.help = f"{list_machines.help}\n{SYNTAX}"


@machines.command()
@shard_verb
@shows(lambda: _tables().STORY_COLUMNS)
@takes_source
@click.argument("machine_id", metavar="ID", type=MACHINE)
@click.option("--limit", type=click.IntRange(0), default=0, help="How many of the newest; 0: all.")
def story(connection: Connection, source: Source, machine_id: str, limit: int) -> None:
    """What touched a machine, oldest first.

    Decisions, calls to the provider, changes of state, people. A machine that is gone keeps its
    story for a while; a journal (--journal) keeps it as long as its files, and tells it up to the
    cycle or time --at.

    \b
    Examples:
      bigfleet machines story od-0117
      bigfleet machines story od-0117 --journal data/journal --at 2026-03-14T03:00:10Z
    """
    if source.fleet is not None:
        raise refuse(["--fleet: a fleet file has no stories; ask a shard, or --journal DIR"])
    if source.journal is not None:
        from bigfleet.cli.shard_verbs.recorded_stories import print_recorded

        print_recorded(connection, source, machine_id, limit)
        return
    if source.at is not None:
        raise refuse(["--at: a live shard tells the whole story; add --journal DIR"])
    from bigfleet.cli.shard_verbs.machine_tables import present_text, show_stories, story_document
    from bigfleet.cli.tables import Page, write_json

    answers = _stories_of(connection, machine_id, limit)
    told = answers.said
    machine = next((story.machine for story in told.values() if story.machine), None)
    if connection.json:
        rest = {"shards": sorted(told), **answers.document()}
        write_json({**story_document(told, machine), **rest}, connection.now)
    else:
        page = Page.on_stdout(connection.color)
        page.say(present_text(machine_id, machine, connection.now), "bold")
        show_stories(page, told)
        page.write()
    answers.leave_partial(connection)


def _stories_of(
    connection: Connection, machine_id: str, limit: int
) -> "FleetAnswers[MachineStory]":
    """Of every shard that knows or knew it; leaves with 3 where none does."""
    from bigfleet.model.shard_admin import StoryCall

    async def look(shard: Clients) -> "MachineStory":
        return await shard.admin.story(StoryCall(machine_id, limit=limit))

    asked = ask_fleet(connection, about_machine(machine_id, look))
    return known_in(connection, asked, machine_thing(machine_id))


@machines.command()
@shard_verb
@shows(lambda: _tables().reservation_columns())
@takes_source
def reservations(connection: Connection, source: Source) -> None:
    """Machines that are reserved.

    The victim of a preemption waits for the Need that asked for it.
    """
    from bigfleet.cli.listings import write_listing
    from bigfleet.cli.shard_verbs.machine_tables import machines_in, reservation_listing
    from bigfleet.model.shard_views import MachineQuery

    if is_recorded(source):
        from bigfleet.cli.live_cycles import asked_cycle_of

        recorded, _ = recorded_machines(asked_cycle_of(connection, source), MachineQuery())
        write_listing(connection, reservation_listing(machines_in(recorded), {}))
        return
    query = MachineQuery(only_reserved=True)
    answers = ask_fleet(connection, lambda shard: shard.admin.machines(query))
    found = machines_in(answers.said)
    write_listing(connection, reservation_listing(found, answers.document()))
    answers.leave_partial(connection)


@machines.command()
@shard_verb
@click.argument("machine_id", metavar="ID", type=MACHINE)
@click.option(
    "--mode",
    type=click.Choice(["recheck", "retry", "forget"]),
    required=True,
    help="recheck: look now. retry: as if it had never failed, then look. forget: drop the record.",
)
@audited
def clear(
    connection: Connection, machine_id: str, mode: str, owner: str | None, reason: str
) -> None:
    """Help a Failed machine out.

    \b
    recheck  asks the provider now, and takes over a stable state it reports
    retry    forgets attempts and back-off first
    forget   drops the record until the provider reports another state

    \b
    Example:
      bigfleet machines clear od-0117 --mode retry --reason "the zone is back"
    """
    from bigfleet.cli.tables import write_json
    from bigfleet.model.shard_views import ClearMode
    from bigfleet.wire.machine_views import MACHINE_VIEW

    async def act(shard: Clients) -> "ClearedMachine":
        audit = audit_of(owner, reason)
        return await shard.admin.clear(audit, machine_id, ClearMode[mode.upper()])

    cleared = ask_owner(
        connection,
        about_machine(machine_id, lambda shard: one_machine(shard, machine_id)),
        about_machine(machine_id, act),
        machine_thing(machine_id),
    )
    if connection.json:
        now = {"machine": MACHINE_VIEW.document(cleared.machine)} if cleared.machine else {}
        write_json({**now, "text": cleared.text}, connection.now)
        return
    click.echo(f"machine/{machine_id}: {cleared.text}")
