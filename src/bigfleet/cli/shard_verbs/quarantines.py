"""`bigfleet quarantines`: roll-ups and Lists that lost too much to be believed, and what to do."""

from typing import TYPE_CHECKING

import click

from bigfleet.cli.connections import Clients, Line, audit_of, audited, shard_verb
from bigfleet.cli.default_verbs import DefaultVerb

if TYPE_CHECKING:
    from bigfleet.model.shard_admin import ReleasedQuarantine
    from bigfleet.model.shard_views import QuarantineKind


@click.group(cls=DefaultVerb)
def quarantines() -> None:
    """What is held because it lost too much at once: roll-ups of clusters, Lists of providers.

    A hold ends by itself when a normal one comes, or when enough in a row say the same.

    \b
    Examples:
      bigfleet quarantines
      bigfleet quarantines release rollup shop --accept --reason "shop was emptied on purpose"
      bigfleet quarantines release list aws --discard --reason "their API is broken"
    """


@quarantines.command("list", short_help="What is held now.")
@shard_verb
def list_quarantines(line: Line) -> None:
    """What is held now; HOLDS counts those in a row, of how many are believed."""
    from bigfleet.cli.tables import Page, cell, since_text, table_of, write_items
    from bigfleet.wire.shard_documents import document_of

    held = line.ask(lambda shard: shard.admin.quarantines())
    if line.json:
        write_items(map(document_of, held), line.now)
        return
    page = Page.on_stdout(line.color)
    numbers = ("BASELINE", "OBSERVED", "HOLDS")
    table = table_of("KIND", "SUBJECT", *numbers, "SINCE", sentence="WHAT", numbers=numbers)
    for each in held:
        table.add_row(
            cell(kind_word(each.kind)),
            cell(each.subject),
            cell(f"{each.baseline:,}"),
            cell(f"{each.observed:,}", "red"),
            cell(f"{each.consecutive}/{each.required}"),
            cell(since_text(each.since, line.now)),
            cell(each.what),
        )
    if held:
        page.show(table)
    else:
        page.say("Nothing is held.")
    page.write()


@quarantines.command(short_help="Decide about what is held.")
@shard_verb
@click.argument("kind", type=click.Choice(["rollup", "list"]))
@click.argument("subject")
@click.option(
    "--accept/--discard",
    "accept",
    default=None,
    help="Believe what is held, or keep what was there and wait for the next.",
)
@audited
def release(
    line: Line, kind: str, subject: str, accept: bool | None, owner: str | None, reason: str
) -> None:
    """Decide about what is held: a cluster's roll-up, or a provider's List."""
    from bigfleet.cli.tables import write_json
    from bigfleet.model.shard_views import QuarantineKind
    from bigfleet.wire.shard_documents import document_of

    if accept is None:
        raise click.UsageError("believe it or not? give --accept or --discard")
    chosen = QuarantineKind.ROLLUP if kind == "rollup" else QuarantineKind.PROVIDER_LIST
    name = subject.removeprefix("cluster/") if kind == "rollup" else subject

    async def act(shard: Clients) -> "ReleasedQuarantine":
        return await shard.admin.release(chosen, name, accept, audit_of(owner, reason))

    released = line.ask(act)
    if line.json:
        held = {"quarantine": document_of(released.quarantine)}
        write_json({**held, "text": released.text}, line.now)
        return
    click.echo(released.text)


def kind_word(kind: "QuarantineKind") -> str:
    return "rollup" if kind.name == "ROLLUP" else "list"
