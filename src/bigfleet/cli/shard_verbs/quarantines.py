"""`bigfleet quarantines`: roll-ups and Lists that lost too much to be believed, and what to do."""

from typing import TYPE_CHECKING

import click

from bigfleet.cli.connections import Clients, Connection, Question, audit_of, audited, shard_verb
from bigfleet.cli.default_verbs import DefaultVerb
from bigfleet.cli.output import shows
from bigfleet.cli.whole_fleet import SoughtObject, Unknown, ask_fleet, ask_owner

if TYPE_CHECKING:
    from bigfleet.cli.listings import Column
    from bigfleet.model.machines import Instant
    from bigfleet.model.shard_admin import ReleasedQuarantine
    from bigfleet.model.shard_views import Quarantine, QuarantineKind


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
@shows(lambda: [column.name for column in _columns(0)])
def list_quarantines(connection: Connection) -> None:
    """What is held now, by all shards or by those that --shard names.

    HOLDS counts those in a row, of how many are believed.
    """
    from bigfleet.cli.listings import Listing, write_listing
    from bigfleet.wire.shard_views import QUARANTINE

    answers = ask_fleet(connection, lambda shard: shard.admin.quarantines())
    held = [(shard, each) for shard, some in answers.said.items() for each in some]
    listing: Listing[tuple[str, Quarantine]] = Listing(
        columns=_columns(connection.now),
        rows=held,
        document=lambda row: {**QUARANTINE.document(row[1]), "shardId": row[0]},
        name=lambda row: f"{kind_word(row[1].kind)}/{row[1].subject}",
        head=answers.document(),
        empty="Nothing is held.",
    )
    write_listing(connection, listing)
    answers.leave_partial(connection)


def _columns(now: "Instant") -> "list[Column[tuple[str, Quarantine]]]":
    from bigfleet.cli.listings import Column
    from bigfleet.cli.tables import since_text

    return [
        Column("KIND", lambda row: kind_word(row[1].kind)),
        Column("SUBJECT", lambda row: row[1].subject),
        Column("BASELINE", lambda row: f"{row[1].baseline:,}", number=True),
        Column("OBSERVED", lambda row: f"{row[1].observed:,}", number=True, style=_red),
        Column("HOLDS", lambda row: f"{row[1].consecutive}/{row[1].required}", number=True),
        Column("SINCE", lambda row: since_text(row[1].since, now)),
        Column("SHARD", lambda row: row[0]),
        Column("WHAT", lambda row: row[1].what, sentence=True),
    ]


def _red(_row: object) -> str:
    return "red"


@quarantines.command(short_help="Decide about what is held.")
@shard_verb
@click.argument("kind", type=click.Choice(["rollup", "list"]))
@click.argument("subject")
@click.option(
    "--accept/--discard",
    "accept",
    default=None,
    help="Apply what is held, or drop it and wait for the next one.",
)
@audited
def release(
    connection: Connection,
    kind: str,
    subject: str,
    accept: bool | None,
    owner: str | None,
    reason: str,
) -> None:
    """Decide about what is held: a cluster's roll-up, or a provider's List."""
    from bigfleet.cli.tables import write_json
    from bigfleet.model.shard_views import QuarantineKind
    from bigfleet.wire.shard_views import QUARANTINE

    if accept is None:
        raise click.UsageError("believe it or not? give --accept or --discard")
    chosen = QuarantineKind.ROLLUP if kind == "rollup" else QuarantineKind.PROVIDER_LIST
    name = subject.removeprefix("cluster/") if kind == "rollup" else subject

    async def act(shard: Clients) -> "ReleasedQuarantine":
        return await shard.admin.release(audit_of(owner, reason), chosen, name, accept)

    hint = "bigfleet quarantines shows what is held"
    released = ask_owner(
        connection, _holds(chosen, name), act, SoughtObject(f"held {kind} of", name, hint)
    )
    if connection.json:
        held = {"quarantine": QUARANTINE.document(released.quarantine)}
        write_json({**held, "text": released.text}, connection.now)
        return
    click.echo(released.text)


def _holds(kind: "QuarantineKind", subject: str) -> "Question[Quarantine | Unknown]":
    """Whether a shard holds it."""

    async def look(shard: Clients) -> "Quarantine | Unknown":
        held = await shard.admin.quarantines()
        found = [each for each in held if (each.kind, each.subject) == (kind, subject)]
        return found[0] if found else Unknown(tuple(each.subject for each in held))

    return look


def kind_word(kind: "QuarantineKind") -> str:
    return "rollup" if kind.name == "ROLLUP" else "list"
