"""`bigfleet shards shortfalls`: what shards are short of, and why no other shard helps."""

from typing import TYPE_CHECKING

import click

from bigfleet.cli.connections import no_such_shard
from bigfleet.cli.coordinator_verbs.connection import CoordinatorConnection, coordinator_verb
from bigfleet.cli.object_names import SHARD
from bigfleet.cli.output import shows
from bigfleet.cli.request_options import EXIT_PARTIAL, named_text
from bigfleet.cli.terminal import plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bigfleet.cli.listings import Column
    from bigfleet.model.coordination import ShortfallList, ShortfallView
    from bigfleet.model.machines import Instant
    from bigfleet.wire.coordinator_admin import CoordinatorAdminClient


@click.command(short_help="What shards are short of, and why no other shard helps.")
@coordinator_verb
@shows(lambda: [column.name for column in _columns(0)])
@click.argument("shard_id", metavar="[ID]", type=SHARD, required=False, default="")
@click.option(
    "--limit",
    type=click.IntRange(0, 1000),
    default=100,
    show_default=True,
    help="Rows at most; 0: 1000.",
)
def shortfalls(connection: CoordinatorConnection, shard_id: str, limit: int) -> None:
    """What shards are short of, and why no other shard helps; with ID only that shard.

    The most urgent first, as shards last told the coordinator. Once every rebalance.interval it
    looks at each of them and opens a transfer, or leaves a REASON; SWEPT is how long ago that was.
    CODE has a paragraph on the page "Troubleshooting by reason code".

    \b
    Examples:
      bigfleet shards shortfalls
      bigfleet shards shortfalls shard-1
      bigfleet shards shortfalls -o json | jq '.items[] | {shardId, reason: .reason.text}'
    """
    from bigfleet.cli.listings import Listing, write_listing
    from bigfleet.wire.coordination import SHORTFALL_VIEW

    async def look(coordinator: "CoordinatorAdminClient") -> "ShortfallList":
        found = await coordinator.shortfalls(shard_id=shard_id, limit=limit)
        if shard_id and not (found.total or found.unknown_shards):
            known = {entry.shard_id: entry for entry in await coordinator.shards()}
            if shard_id not in known:
                raise no_such_shard(shard_id, known)
        return found

    found = connection.ask(look)
    write_listing(
        connection,
        Listing(
            columns=_columns(connection.now),
            rows=found.shortfalls,
            document=SHORTFALL_VIEW.document,
            name=lambda each: f"shortfall/{each.shard}/{each.fingerprint}",
            head={"total": found.total, "unknownShardIds": list(found.unknown_shards)},
            empty="" if found.unknown_shards else "No shard is short of anything.",
            notes=_notes(found),
        ),
    )
    if found.unknown_shards:
        said = f"{named_text(found.unknown_shards)} told this coordinator nothing since it leads"
        text = f"{said}; a shard that lives does so within 10 s: ask again"
        click.echo(plain(text), err=True)
        raise click.exceptions.Exit(EXIT_PARTIAL)


def _columns(now: "Instant") -> "list[Column[ShortfallView]]":
    from bigfleet.cli.listings import Column
    from bigfleet.cli.tables import since_text
    from bigfleet.model.reasons import resources_text

    return [
        Column("SHARD", lambda each: each.shard),
        Column("PRIORITY", lambda each: each.priority, number=True),
        Column("DEFICIT", lambda each: resources_text(each.deficit.texts())),
        Column("CYCLES", lambda each: each.age_cycles, number=True),
        Column("FINGERPRINT", lambda each: each.fingerprint, wide=True),
        Column("TRANSFER", lambda each: each.transfer, wide=True),
        Column(
            "SWEPT",
            lambda each: since_text(each.swept_at, now),
            sort=lambda each: now - (each.swept_at or 0),
        ),
        Column("CODE", lambda each: each.reason.code, style=_style),
        Column("REASON", lambda each: each.reason.text, sentence=True),
    ]


def _style(each: "ShortfallView") -> str:
    return "" if each.transfer else "yellow"


def _notes(found: "ShortfallList") -> list[str]:
    shown = len(found.shortfalls)
    cut = f"{shown:,} of {found.total:,} shown, the most urgent; name a shard to see its own"
    return [*([cut] if shown < found.total else []), *_todo(found.shortfalls)]


def _todo(shown: "Sequence[ShortfallView]") -> list[str]:
    """What a person can do, once for each code; where nothing has to be done, not at all."""
    from bigfleet.model.advice import advice_on

    codes = dict.fromkeys(each.reason.code for each in shown)
    advice = ((code, advice_on(code)) for code in codes)
    return [
        f"{code}: {each.todo}"
        for code, each in advice
        if each is not None and not each.todo.startswith("nothing")
    ]
