"""`bigfleet reports thrash`: what went back and forth lately, and the trace that shows it."""

from typing import TYPE_CHECKING, Any, NamedTuple

import click

from bigfleet.cli.connections import Connection, shard_verb
from bigfleet.cli.output import shows
from bigfleet.cli.sources import EXIT_NOT_FOUND, Source, named_cycle, not_recorded, takes_source
from bigfleet.cli.terminal import refuse
from bigfleet.cli.whole_fleet import ask_fleet

if TYPE_CHECKING:
    from bigfleet.cli.listings import Column
    from bigfleet.journal.thrash import ThrashUntil
    from bigfleet.model.machines import Instant
    from bigfleet.model.thrash import ThrashFinding

    Row = tuple[str, ThrashFinding]

EXIT_PARTIAL = 5
_MOST_WITNESS_BYTES = 1_000_000


@click.command("thrash", short_help="Machines that went back and forth.")
@shard_verb
@shows(lambda: [column.name for column in _columns(0)])
@takes_source
@click.option(
    "--witness",
    type=click.IntRange(1),
    metavar="N",
    help="Print the shortest trace that shows finding N, as YAML.",
)
def thrash(connection: Connection, source: Source, witness: int | None) -> None:
    """What went back and forth in the last half hour, of all shards or of those --shard names.

    \b
    return     a machine left a (cluster, profile) and came back within the dwell time
    ping-pong  a machine went from one cluster to another and back
    chain      more than four preemptions caused each other
    rebuy      an offering was released and bought again within the time it is kept idle
    repeated   a Need preempted again although its earlier victims cover what it lacks

    A return or a re-buy holds Reclaims and Deletes of its (cluster, profile) for ten minutes. A
    journal (--journal) tells the half hour before its last cycle, or before the cycle --at. A
    witness that was saved is replayed alone when it is named as the journal.

    \b
    Examples:
      bigfleet reports thrash
      bigfleet reports thrash --witness 3 --shard shard-1 > witness.yaml
      bigfleet reports thrash --journal witness.yaml
      bigfleet reports thrash --journal data/journal --at 3:18231
    """
    if source.fleet is not None:
        raise refuse(["--fleet: a fleet file is one cycle, and going back and forth takes several"])
    if source.is_live:
        if source.at is not None:
            raise refuse(["--at: a live shard tells the last half hour; name a --journal as well"])
        answers = ask_fleet(connection, lambda shard: shard.admin.thrash())
        rows = [(shard, each) for shard, some in answers.said.items() for each in some]
        _write(connection, Told(rows, connection.now, answers.document()), witness)
        answers.leave_partial(connection)
        return
    told, gaps = _recorded(source) if not _is_witness(source) else (_replayed(source), "")
    _write(connection, told, witness)
    if gaps:
        click.echo(f"cycles are missing in the journal: {gaps}", err=True)
        raise click.exceptions.Exit(EXIT_PARTIAL)


class Told(NamedTuple):
    rows: "list[Row]"
    now: "Instant"
    head: dict[str, Any]
    headline: str = ""


def _write(connection: Connection, told: Told, witness: int | None) -> None:
    from bigfleet.cli.listings import Listing, write_listing
    from bigfleet.wire.thrash_findings import THRASH_FINDING

    if witness is not None:
        _write_witness([row for row in told.rows if row[1].number == witness], witness)
        return
    listing = Listing(
        columns=_columns(told.now),
        rows=told.rows,
        document=lambda row: {**THRASH_FINDING.document(row[1]), "shardId": row[0]},
        name=lambda row: row[1].subject,
        head=told.head,
        empty="Calm: nothing went back and forth.",
        headline=told.headline,
    )
    write_listing(connection, listing)


def _recorded(source: Source) -> tuple[Told, str]:
    """From a journal; and which cycles are missing there."""
    from bigfleet.cli.progress import compile_all
    from bigfleet.journal.history import LATEST, BrokenJournal, History
    from bigfleet.journal.segments import UnreadableJournal, records_in_order, segments_of
    from bigfleet.journal.thrash import first_needed, thrash_until

    assert source.journal is not None, "the other sources were refused"
    compile_all()
    try:
        segments = segments_of(source.journal)
        wanted = named_cycle(source.at, segments, LATEST)
        history = History()
        records = records_in_order(segments, first_needed(segments, wanted))
        found = thrash_until(history.cycles(records), wanted)
    except (UnreadableJournal, BrokenJournal) as problem:
        raise refuse([str(problem)]) from None
    if found is None:
        raise not_recorded(wanted, segments)
    return _told(history.header.shard_id, found), "; ".join(gap.text for gap in history.gaps)


def _is_witness(source: Source) -> bool:
    named = source.journal
    return named is not None and named.is_file() and named.suffix in (".yaml", ".yml", ".json")


def _replayed(source: Source) -> Told:
    """What a saved witness shows alone."""
    import yaml

    from bigfleet.fleetfile.yaml_dialect import decode_yaml
    from bigfleet.thrash.findings import Findings, findings_of
    from bigfleet.wire.thrash_findings import trace_action_of

    assert source.journal is not None, "a witness is a file"
    file = source.journal
    if source.at is not None:
        raise refuse(["--at: a witness is replayed as a whole; leave --at out"])
    if file.stat().st_size > _MOST_WITNESS_BYTES:
        raise refuse([f"{file}: no witness is larger than {_MOST_WITNESS_BYTES // 1000} kB"])
    try:
        document: Any = decode_yaml(file.read_text("utf-8"))
    except (OSError, yaml.YAMLError, RecursionError, ValueError) as problem:
        raise refuse([f"{file}: cannot be read: {_short(problem)}"]) from None
    actions = document.get("actions") if isinstance(document, dict) else None
    if not isinstance(actions, list) or document.get("kind") != "Witness":
        text = "is not a witness: it has no kind: Witness and no list of actions"
        raise refuse([f"{file}: {text}; bigfleet reports thrash --witness N prints one"])
    trace = []
    for place, each in enumerate(actions):
        try:
            trace.append(trace_action_of(each if isinstance(each, dict) else {"": each}))
        except ValueError as problem:
            raise refuse([f"{file}: actions[{place}]: {_short(problem)}"]) from None
    findings = Findings()
    for seen in findings_of(trace):
        findings.add(seen)
    shard = str(document.get("shard") or "-")
    now = trace[-1].at if trace else 0
    rows = [(shard, finding) for finding in findings.all()]
    return Told(rows, now, {"witness": str(file)}, f"What {file} shows alone.")


def _short(problem: Exception) -> str:
    return " ".join(str(problem).split())[:300]


def _told(shard: str, found: "ThrashUntil") -> Told:
    rows = [(shard, each) for each in found.findings]
    headline = f"The half hour before cycle {found.name} of {shard}."
    return Told(rows, found.at, {"cycle": found.name}, headline)


def _write_witness(found: "list[Row]", number: int) -> None:
    from bigfleet.cli.output import Output, current_output
    from bigfleet.cli.tables import document_bytes
    from bigfleet.cli.terminal import write_out

    if len(found) > 1:
        shards = ", ".join(shard for shard, _ in found)
        raise click.UsageError(f"{shards} have a finding {number} each: name one with --shard")
    if not found:
        text = f"no shard has a finding {number}; bigfleet reports thrash shows those there are"
        click.echo(text, err=True)
        raise click.exceptions.Exit(EXIT_NOT_FOUND)
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


def _columns(now: "Instant") -> "list[Column[Row]]":
    from bigfleet.cli.listings import Column
    from bigfleet.cli.tables import since_text

    def held(row: "Row") -> str:
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
