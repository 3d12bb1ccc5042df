"""`bigfleet reports thrash`: what went back and forth lately, and the trace that shows it."""

from typing import TYPE_CHECKING, Any

import click

from bigfleet.cli.connections import Connection, shard_verb
from bigfleet.cli.output import shows
from bigfleet.cli.request_options import EXIT_UNREACHABLE
from bigfleet.cli.whole_fleet import ask_fleet

if TYPE_CHECKING:
    from bigfleet.cli.listings import Column
    from bigfleet.model.machines import Instant
    from bigfleet.model.thrash import ThrashFinding


@click.command("thrash", short_help="Machines that went back and forth.")
@shard_verb
@shows(lambda: [column.name for column in _columns(0)])
@click.option(
    "--witness",
    type=click.IntRange(1),
    metavar="N",
    help="Print the shortest trace that shows finding N, as YAML.",
)
def thrash(connection: Connection, witness: int | None) -> None:
    """What went back and forth in the last half hour, of all shards or of those --shard names.

    \b
    return     a machine left a (cluster, profile) and came back within the dwell time
    ping-pong  a machine went from one cluster to another and back
    chain      more than four preemptions caused each other
    rebuy      an offering was released and bought again within the time it is kept idle
    repeated   a Need preempted again although its earlier victims cover what it lacks

    A return or a re-buy holds Reclaims and Deletes of its (cluster, profile) for ten minutes.

    \b
    Examples:
      bigfleet reports thrash
      bigfleet reports thrash --witness 3 --shard shard-1 > witness.yaml
    """
    from bigfleet.cli.listings import Listing, write_listing
    from bigfleet.wire.thrash_findings import THRASH_FINDING

    answers = ask_fleet(connection, lambda shard: shard.admin.thrash())
    rows = [(shard, each) for shard, some in answers.said.items() for each in some]
    if witness is not None:
        _write_witness([row for row in rows if row[1].number == witness], witness)
        answers.leave_partial(connection)
        return
    listing = Listing(
        columns=_columns(connection.now),
        rows=rows,
        document=lambda row: {**THRASH_FINDING.document(row[1]), "shardId": row[0]},
        name=lambda row: row[1].subject,
        head=answers.document(),
        empty="Calm: nothing went back and forth.",
    )
    write_listing(connection, listing)
    answers.leave_partial(connection)


def _write_witness(found: "list[tuple[str, ThrashFinding]]", number: int) -> None:
    from bigfleet.cli.output import Output, current_output
    from bigfleet.cli.tables import document_bytes
    from bigfleet.cli.terminal import write_out

    if len(found) > 1:
        shards = ", ".join(shard for shard, _ in found)
        raise click.UsageError(f"{shards} have a finding {number} each: name one with --shard")
    if not found:
        text = f"no shard has a finding {number}; bigfleet reports thrash shows those there are"
        click.echo(text, err=True)
        raise click.exceptions.Exit(EXIT_UNREACHABLE)
    output = current_output()
    if output.format == "table":
        output = Output("yaml")
    write_out(document_bytes(_witness_document(*found[0]), output))


def _witness_document(shard: str, finding: "ThrashFinding") -> dict[str, Any]:
    from bigfleet.model.instants import instant_text
    from bigfleet.wire.thrash_findings import TRACE_ACTION

    def action_of(place: int) -> dict[str, Any]:
        action = finding.witness[place]
        return {
            "action": action.name,
            "time": instant_text(action.at),
            **TRACE_ACTION.document(action),
        }

    return {
        "version": 1,
        "kind": "Witness",
        "shard": shard,
        "finding": finding.number,
        "thrash": finding.kind.label,
        "text": finding.text,
        "actions": [action_of(place) for place in range(len(finding.witness))],
    }


def _columns(now: "Instant") -> "list[Column[tuple[str, ThrashFinding]]]":
    from bigfleet.cli.listings import Column
    from bigfleet.cli.tables import since_text

    def held(row: "tuple[str, ThrashFinding]") -> str:
        until = row[1].held_until
        return f"for {since_text(now, until)}" if until is not None and until > now else "-"

    return [
        Column("FINDING", lambda row: row[1].number, number=True),
        Column("KIND", lambda row: row[1].kind.label, style=lambda _row: "yellow"),
        Column("CLUSTER", lambda row: row[1].cluster),
        Column("TIMES", lambda row: row[1].times, number=True),
        Column("LAST", lambda row: since_text(row[1].last_at, now)),
        Column("HELD", held, sort=lambda row: row[1].held_until or 0),
        Column("SHARD", lambda row: row[0]),
        Column("WHAT", lambda row: row[1].text, sentence=True),
    ]
