"""`bigfleet reports`: what shards have learnt: how much there is, what is short or sold out."""

from typing import TYPE_CHECKING

import click

from bigfleet.cli.connections import Clients, Line, audit_of, shard_verb
from bigfleet.cli.default_verbs import DefaultVerb
from bigfleet.cli.object_names import OFFERING
from bigfleet.cli.shard_verbs.shard_reports import show_reports

if TYPE_CHECKING:
    from bigfleet.cli.tables import Page
    from bigfleet.model.shard_views import OfferingView


class _ReportGroup(DefaultVerb):
    default = "shards"


@click.group(cls=_ReportGroup)
def reports() -> None:
    """What shards have learnt: how much there is, what is short, what is out of stock.

    \b
    Examples:
      bigfleet reports
      bigfleet reports shards --shard shard-1
      bigfleet reports offerings --shard shard-1
      bigfleet reports offerings --reset sim/std-8/a/Spot --reason "stock is back"
    """


@reports.command(short_help="Machines and shortfalls of every shard.")
@shard_verb
def shards(line: Line) -> None:
    """Machines and shortfalls of every shard, as each last reported them to the coordinator.

    FREE machines are idle, or can be bought. With --shard only of that one. Without a coordinator
    the shard itself is asked for the same.

    \b
    Examples:
      bigfleet reports shards
      bigfleet reports shards -o json | jq '.items[] | {shardId, free: .summary.freeMachines}'
    """
    show_reports(line)


@reports.command(short_help="Offerings that rest after failed Creates.")
@shard_verb
@click.option("--reset", type=OFFERING, default="", help="Let this one be bought again at once.")
@click.option("--owner", default=None, help="With --reset: who wants it.")
@click.option("--reason", default="", help="With --reset: why; it is logged.")
def offerings(line: Line, reset: str, owner: str | None, reason: str) -> None:
    """Offerings that rest after failed Creates: nothing is bought there until the next probe.

    An offering is PROVIDER/TYPE/ZONE/CAPACITY; an empty part stands for all of them.
    """
    from bigfleet.cli.tables import Page, write_items, write_json
    from bigfleet.wire.shard_documents import document_of

    if reset:
        if not reason:
            raise click.UsageError("--reset changes something: say why with --reason")

        async def act(shard: Clients) -> str:
            return await shard.admin.reset_offering(reset, audit_of(owner, reason))

        text = line.ask(act)
        if line.json:
            write_json({"text": text}, line.now)
        else:
            click.echo(text)
        return
    resting = line.ask(lambda shard: shard.admin.offerings())
    if line.json:
        write_items(map(document_of, resting), line.now)
        return
    page = Page.on_stdout(line.color)
    _show(page, resting, line)
    page.write()


def _show(page: "Page", resting: "tuple[OfferingView, ...]", line: Line) -> None:
    from bigfleet.cli.tables import cell, since_text, table_of

    if not resting:
        page.say("No offering rests.")
        return
    columns = ("OFFERING", "STATE", "KIND", "OPENINGS", "SINCE", "NEXT_PROBE")
    table = table_of(*columns, sentence="SAID", numbers=["OPENINGS"])
    for each in resting:
        due = each.next_probe_at > line.now
        table.add_row(
            cell(each.name),
            cell(each.state.name.lower().replace("_", "-"), "yellow"),
            cell(each.kind),
            cell(each.attempts),
            cell(since_text(each.opened_at, line.now)),
            cell(f"in {since_text(line.now, each.next_probe_at)}" if due else "now"),
            cell(each.text),
        )
    page.show(table)
