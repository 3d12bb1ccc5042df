"""`bigfleet machines`: the inventory, one machine's story, reservations, ways out of Failed."""

from typing import TYPE_CHECKING

import click

from bigfleet.cli.connections import Clients, Line, audit_of, audited, shard_verb
from bigfleet.cli.default_verbs import DefaultVerb
from bigfleet.cli.manner import EXIT_UNREACHABLE
from bigfleet.cli.object_names import MACHINE, ask_about, unknown_machines
from bigfleet.cli.selectors import SYNTAX, Term, selector_of
from bigfleet.cli.terminal import plain

if TYPE_CHECKING:
    from bigfleet.model.provider_calls import Rejected
    from bigfleet.model.shard_admin import ClearedMachine, MachineStory
    from bigfleet.model.shard_views import MachinePage

_limit = click.option(
    "--limit",
    type=click.IntRange(0),
    default=2000,
    show_default=True,
    help="Rows at most; 0 shows all.",
)


@click.group(cls=DefaultVerb)
def machines() -> None:
    """The machines of a shard; without a verb: the list of them.

    \b
    Examples:
      bigfleet machines                            all, by id
      bigfleet machines state=idle zone=a          idle ones in a zone
      bigfleet machines cluster=shop capacity=spot,on-demand
      bigfleet machines --failed                   what is broken, why, and what happens next
      bigfleet machines story od-0117              everything that touched one
      bigfleet machines reservations
      bigfleet machines clear od-0117 --mode recheck --reason "host replaced"
    """


machines.help = f"{machines.help}\n{SYNTAX}"


@machines.command("list", short_help="List machines by id.")
@shard_verb
@click.argument("selector", type=Term(), nargs=-1)
@click.option("--failed", is_flag=True, help="Only Failed machines, with cause and next look.")
@_limit
def list_machines(
    line: Line, selector: tuple[tuple[str, tuple[str, ...]], ...], failed: bool, limit: int
) -> None:
    """List machines by id.

    A machine that is named and that the shard does not know is told on standard error, and the exit
    code is 3.
    """
    from bigfleet.model.shard_views import MachineQuery

    terms = (*selector, ("state", ("failed",))) if failed else selector
    query = MachineQuery(selector_of(terms), limit=limit)
    named = query.selector.ids

    async def look(shard: Clients) -> "tuple[MachinePage, list[Rejected], dict[str, str]]":
        page = await shard.admin.machines(query, shard.timeout)
        unknown = await unknown_machines(shard, named) if page.total < len(named) else []
        providers = (await shard.admin.status()).providers if failed else ()
        return page, unknown, {each.name: each.address for each in providers}

    found, unknown, addresses = line.ask(look)
    if len(unknown) < len(named) or not named:
        _show_list(line, found, failed, addresses)
    for each in unknown:
        click.echo(plain(each.text), err=True)
    if unknown:
        raise click.exceptions.Exit(EXIT_UNREACHABLE)


def _show_list(line: Line, found: "MachinePage", failed: bool, addresses: dict[str, str]) -> None:
    """`addresses`: of providers, by name, where Failed machines are asked for."""
    from bigfleet.cli.shard_verbs.failed_remedies import remedy_of
    from bigfleet.cli.shard_verbs.machine_tables import show_machines, show_remedies
    from bigfleet.cli.tables import Page, write_items
    from bigfleet.wire.shard_documents import document_of

    if line.json:
        head = {"cycle": found.cycle, "computedAtUnixNanos": found.computed_at}
        items = [
            {**document_of(view), **({"remedy": remedy_of(view, addresses)} if failed else {})}
            for view in found.machines
        ]
        write_items(items, line.now, **head, total=found.total)
        return
    page = Page.on_stdout(line.color)
    show_machines(page, found, failed=failed)
    if failed:
        show_remedies(page, found, addresses)
    rest = "; --limit 0 shows all" if len(found.machines) < found.total else ""
    page.say("")
    page.say(f"{len(found.machines):,} of {found.total:,} shown, as of cycle {found.cycle}{rest}")
    page.write()


list_machines.help = f"{list_machines.help}\n{SYNTAX}"


@machines.command()
@shard_verb
@click.argument("machine_id", metavar="ID", type=MACHINE)
@click.option("--limit", type=click.IntRange(0), default=0, help="The newest so many; 0: all.")
def story(line: Line, machine_id: str, limit: int) -> None:
    """What touched a machine, oldest first.

    Decisions, calls to the provider, changes of state, people. A machine that is gone keeps its
    story for a while.
    """
    from bigfleet.cli.shard_verbs.machine_tables import present_text, show_story
    from bigfleet.cli.tables import Page, write_json
    from bigfleet.model.shard_admin import StoryCall
    from bigfleet.wire.shard_documents import document_of

    async def look(shard: Clients) -> "MachineStory":
        return await shard.admin.story(StoryCall(machine_id, limit=limit))

    told = ask_about(line, machine_id, look)
    if line.json:
        now = {"machine": document_of(told.machine)} if told.machine else {}
        events = [document_of(event) for event in told.events]
        write_json({**now, "events": events, "truncated": told.truncated}, line.now)
        return
    page = Page.on_stdout(line.color)
    page.say(present_text(machine_id, told.machine, line.now), "bold")
    show_story(page, told)
    page.write()


@machines.command()
@shard_verb
def reservations(line: Line) -> None:
    """Machines that are kept for somebody.

    The victim of a preemption waits for the Need that asked for it.
    """
    from bigfleet.cli.shard_verbs.machine_tables import show_reservations
    from bigfleet.cli.tables import Page, write_items
    from bigfleet.wire.shard_documents import document_of

    async def look(shard: Clients) -> "MachinePage":
        return await shard.admin.machines(deadline=shard.timeout)

    found = line.ask(look)
    held = [view for view in found.machines if view.reservation]
    if line.json:
        items = [document_of(view)["reservation"] for view in held]
        write_items(items, line.now, cycle=found.cycle, computedAtUnixNanos=found.computed_at)
        return
    page = Page.on_stdout(line.color)
    show_reservations(page, held)
    page.write()


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
def clear(line: Line, machine_id: str, mode: str, owner: str | None, reason: str) -> None:
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
    from bigfleet.wire.shard_documents import document_of

    async def act(shard: Clients) -> "ClearedMachine":
        audit = audit_of(owner, reason)
        return await shard.admin.clear(machine_id, ClearMode[mode.upper()], audit)

    cleared = ask_about(line, machine_id, act)
    if line.json:
        now = {"machine": document_of(cleared.machine)} if cleared.machine else {}
        write_json({**now, "text": cleared.text}, line.now)
        return
    click.echo(f"machine/{machine_id}: {cleared.text}")
