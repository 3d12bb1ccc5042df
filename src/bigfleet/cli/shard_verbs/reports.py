"""`bigfleet reports`: what shards have learnt: how much there is, what is short or sold out."""

from shlex import quote
from typing import TYPE_CHECKING

import click

from bigfleet.cli.connections import Clients, Connection, Question, audit_of, shard_verb
from bigfleet.cli.default_verbs import DefaultVerb
from bigfleet.cli.object_names import OFFERING
from bigfleet.cli.output import shows
from bigfleet.cli.shard_verbs import verifier_report
from bigfleet.cli.shard_verbs.cost_report import cost
from bigfleet.cli.shard_verbs.eta_report import eta
from bigfleet.cli.shard_verbs.invoices_report import invoices
from bigfleet.cli.shard_verbs.isolated_report import isolated
from bigfleet.cli.shard_verbs.recorded_lists import (
    HeldOffering,
    held_offerings,
    is_recorded,
    recorded_report,
)
from bigfleet.cli.shard_verbs.regret_report import regret
from bigfleet.cli.shard_verbs.shard_reports import COLUMNS, show_recorded_report, show_reports
from bigfleet.cli.shard_verbs.thrash_report import thrash
from bigfleet.cli.sources import Source, takes_source
from bigfleet.cli.whole_fleet import FleetAnswers, SoughtObject, Unknown, ask_fleet, ask_owner

if TYPE_CHECKING:
    from bigfleet.cli.listings import Column, Listing
    from bigfleet.model.machines import Instant
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
      bigfleet reports verifier
      bigfleet reports offerings --reset sim/std-8/a/Spot --reason "stock is back"
      bigfleet reports thrash
      bigfleet reports invoices --month 2026-03
      bigfleet reports cost --by team
      bigfleet reports isolated --journal data/journal
      bigfleet reports regret
      bigfleet reports eta --fleet fleet.yaml
    """


reports.add_command(isolated)
reports.add_command(thrash)
reports.add_command(invoices)
reports.add_command(cost)
reports.add_command(regret)
reports.add_command(eta)


@reports.command(short_help="Machines and shortfalls of every shard.")
@shard_verb
@shows(lambda: COLUMNS)
@takes_source
def shards(connection: Connection, source: Source) -> None:
    """Machines and shortfalls of every shard, as each last reported them to the coordinator.

    FREE machines are idle, or can be bought. With --shard only of that one. Without a coordinator
    the shard itself is asked for the same. One shard also tells a past cycle (--at) as its journal
    has it; a journal (--journal) tells what its shard had at a cycle or time --at, a fleet file
    (--fleet) what is in it.

    \b
    Examples:
      bigfleet reports shards
      bigfleet reports shards -o json | jq '.items[] | {shardId, free: .summary.freeMachines}'
      bigfleet reports shards --journal data/journal --at 3:18231
    """
    if is_recorded(source):
        from bigfleet.cli.live_cycles import asked_cycle_of

        show_recorded_report(connection, recorded_report(asked_cycle_of(connection, source)))
    else:
        show_reports(connection)


@reports.command(short_help="Offerings that rest after failed Creates.")
@shard_verb
@shows(lambda: [column.name for column in _columns(0)])
@takes_source
@click.option("--reset", type=OFFERING, default="", help="Let this one be bought again at once.")
@click.option("--owner", default=None, help="With --reset: who asks for it.")
@click.option("--reason", default="", help="With --reset: why; it is logged.")
def offerings(
    connection: Connection, source: Source, reset: str, owner: str | None, reason: str
) -> None:
    """Offerings that rest after failed Creates: nothing is bought there until the next probe.

    An offering is PROVIDER/TYPE/ZONE/CAPACITY; an empty part stands for all of them. Of all shards,
    or of those that --shard names.

    A journal (--journal), a fleet file (--fleet) and one shard of a past cycle (--at) tell which
    slots were held back. What opened an offering, how often, and which provider has it, is not
    recorded.

    \b
    Examples:
      bigfleet reports offerings
      bigfleet reports offerings --reset sim/std-8/a/Spot --reason "stock is back"
      bigfleet reports offerings --journal data/journal --at 2026-03-14T03:05:00Z
    """
    from bigfleet.cli.listings import write_listing
    from bigfleet.cli.tables import write_json

    if is_recorded(source):
        if reset:
            text = "--reset changes a live shard; leave --journal, --fleet and --at out"
            raise click.UsageError(text)
        from bigfleet.cli.live_cycles import asked_cycle_of

        found = held_offerings(asked_cycle_of(connection, source))
        write_listing(connection, _recorded_listing(*found))
        return
    if reset:
        if not reason:
            raise click.UsageError("--reset changes something: say why with --reason")

        async def act(shard: Clients) -> str:
            return await shard.admin.reset_offering(audit_of(owner, reason), name=reset)

        hint = "bigfleet reports offerings shows those that rest"
        text = ask_owner(
            connection, _rests(reset), act, SoughtObject("resting offering", reset, hint)
        )
        if connection.json:
            write_json({"text": text}, connection.now)
        else:
            click.echo(text)
        return
    answers = ask_fleet(connection, lambda shard: shard.admin.offerings())
    write_listing(connection, _listing(connection, answers))
    answers.leave_partial(connection)


@reports.command(short_help="What the verifier allows, vetoed and found broken.")
@shard_verb
@shows(lambda: [column.name for column in verifier_report.columns()])
@click.option(
    "--freeze",
    multiple=True,
    metavar="WINDOW",
    help="Set the freeze windows, 'CRON for DURATION [cluster=A] [zone=A] [kind=Delete]'; none: "
    "without any. May be repeated.",
)
@click.option(
    "--spend-ceiling", type=float, help="Set the ceiling, in dollars per hour; 0: without one."
)
@click.option(
    "--zone-fraction",
    type=click.FloatRange(0, 1),
    help="Set the part of a cluster's zone that may be reclaimed within a minute; 0: any.",
)
@click.option("--from-settings", is_flag=True, help="Go back to the policy of the settings.")
@click.option("--owner", default=None, help="With a change: who asks for it.")
@click.option("--reason", default="", help="With a change: why; it is logged.")
def verifier(
    connection: Connection,
    freeze: tuple[str, ...],
    spend_ceiling: float | None,
    zone_fraction: float | None,
    from_settings: bool,
    owner: str | None,
    reason: str,
) -> None:
    """What the verifier of every shard allows, what it vetoed, and what it found broken.

    It checks every action before it is done, with none of the engine's code. An incident is a veto
    of what the engine must never ask for. What is set here stays through restarts, until
    --from-settings; what is not named stays as it is.

    \b
    Examples:
      bigfleet reports verifier
      bigfleet reports verifier --spend-ceiling 120 --reason "end of the quarter"
      bigfleet reports verifier --freeze '0 22 * * fri for 60h cluster=shop' --reason "sale"
      bigfleet reports verifier --freeze none --reason "the sale is over"
    """
    chosen = (spend_ceiling, zone_fraction)
    changes = bool(freeze or from_settings or any(each is not None for each in chosen))
    if not changes:
        verifier_report.show_verifiers(connection)
        return
    if not reason:
        raise click.UsageError("this changes something: say why with --reason")
    verifier_report.set_policy(connection, freeze, *chosen, from_settings, owner, reason)


def _rests(name: str) -> "Question[OfferingView | Unknown]":
    """Whether the offering rests in a shard."""

    async def look(shard: Clients) -> "OfferingView | Unknown":
        resting = {each.name: each for each in await shard.admin.offerings()}
        return resting.get(name) or Unknown(tuple(resting))

    return look


def _listing(
    connection: Connection, answers: "FleetAnswers[tuple[OfferingView, ...]]"
) -> "Listing[tuple[str, OfferingView]]":
    from bigfleet.cli.listings import Listing
    from bigfleet.wire.shard_views import OFFERING

    return Listing(
        columns=_columns(connection.now),
        rows=[(shard, each) for shard, some in answers.said.items() for each in some],
        document=lambda row: {**OFFERING.document(row[1]), "shardId": row[0]},
        name=lambda row: f"offering/{row[1].name}",
        head=answers.document(),
        empty="No offering rests.",
        notes=_notes([each for some in answers.said.values() for each in some]),
    )


def _recorded_listing(found: "list[HeldOffering]", there: str) -> "Listing[HeldOffering]":
    """In the columns of a live shard; what is not recorded is unknown."""
    from bigfleet.cli.listings import Column, Listing
    from bigfleet.cli.tables import counted
    from bigfleet.model.instants import instant_text

    def said(each: "HeldOffering") -> str:
        held = f"{counted(each.slots, 'slot')} held"
        return f"{held}; what opened it and its provider are not recorded"

    def unknown(_each: "HeldOffering") -> str:
        return "unknown"

    def next_probe(each: "HeldOffering") -> str:
        if each.until is None:
            return "unknown"
        return _due_text(each.at, each.until) if each.at else instant_text(each.until)

    return Listing(
        columns=[
            Column("OFFERING", lambda each: each.name),
            Column("STATE", lambda _each: "open", style=lambda _each: "yellow"),
            Column("KIND", unknown),
            Column("OPENINGS", unknown),
            Column("SINCE", unknown),
            Column("NEXT_PROBE", next_probe, sort=lambda each: each.until or 0),
            Column("SAVED", unknown),
            Column("SHARD", lambda each: each.shard or "unknown"),
            Column("SAID", said, sentence=True),
        ],
        rows=found,
        document=lambda each: {
            "name": each.name,
            "state": "OFFERING_STATE_OPEN",
            "heldSlots": each.slots,
            **({"nextProbeUnixNanos": each.until} if each.until is not None else {}),
            "shardId": each.shard,
            "text": said(each),
        },
        name=lambda each: f"offering/{each.name}",
        empty=f"No offering rests in {there}.",
    )


def _due_text(now: "Instant", due: "Instant") -> str:
    from bigfleet.cli.tables import since_text

    return f"in {since_text(now, due)}" if due > now else "now"


def _notes(resting: "list[OfferingView]") -> list[str]:
    if not resting:
        return []
    first = min(resting, key=lambda each: (each.next_probe_at, each.name))
    return [
        "When there is stock again, an offering need not wait for its probe:",
        f"  bigfleet reports offerings --reset {quote(first.name)} --reason WHY",
    ]


def _columns(now: "Instant") -> "list[Column[tuple[str, OfferingView]]]":
    from bigfleet.cli.listings import Column
    from bigfleet.cli.tables import since_text

    return [
        Column("OFFERING", lambda row: row[1].name),
        Column("STATE", _state_text, style=lambda _row: "yellow"),
        Column("KIND", lambda row: row[1].kind),
        Column("OPENINGS", lambda row: row[1].attempts, number=True),
        Column("SINCE", lambda row: since_text(row[1].opened_at, now)),
        Column(
            "NEXT_PROBE",
            lambda row: _due_text(now, row[1].next_probe_at),
            sort=lambda row: row[1].next_probe_at,
        ),
        Column("SAVED", lambda row: row[1].creates_saved, number=True),
        Column("SHARD", lambda row: row[0]),
        Column("SAID", lambda row: row[1].text, sentence=True),
    ]


def _state_text(row: "tuple[str, OfferingView]") -> str:
    return row[1].state.name.lower().replace("_", "-")
