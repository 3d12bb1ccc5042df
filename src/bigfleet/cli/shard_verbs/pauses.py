"""`bigfleet pause` and `bigfleet resume`: the kill switch, on a whole fleet or the shards named.

A pause has the same id everywhere, so that one `resume ID` lifts it everywhere. Where some confirm
and some do not, the answer is exit 1: the fleet is in two minds.
"""

import math
import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bigfleet.cli.connections import Connection, audit_of, audited, shard_verb
from bigfleet.cli.default_verbs import DefaultVerb
from bigfleet.cli.durations import DURATION
from bigfleet.cli.object_names import CLUSTER, PAUSE
from bigfleet.cli.output import shows
from bigfleet.cli.request_options import EXIT_UNREACHABLE
from bigfleet.cli.shard_verbs.confirmations import confirm
from bigfleet.cli.shard_verbs.pause_calls import paused, pauses_of_all, resumed
from bigfleet.cli.shard_verbs.pause_tables import (
    COLUMNS,
    show_fleet,
    show_pauses,
    show_recorded,
)
from bigfleet.cli.shard_verbs.pause_words import scope_text, until_text
from bigfleet.cli.sources import Source, named_cycle, not_recorded, takes_source
from bigfleet.cli.terminal import plain, refuse

if TYPE_CHECKING:
    from bigfleet.journal.notes import PausesThen
    from bigfleet.model.pauses import Pause
    from bigfleet.model.shard_admin import Paused, Resumed

KINDS = ("bootstrap", "provision", "reclaim", "preempt", "delete")


class _PauseGroup(DefaultVerb):
    default = "set"


@click.group(cls=_PauseGroup)
def pause() -> None:
    """Stop shards from starting actions: all of them, or those of a cluster or a kind.

    They go on listing, deciding and answering; what is under way ends. On resume the next cycle
    decides afresh. Flags narrow the scope: several clusters or kinds are alternatives, clusters
    and kinds together must both fit. It is sent to the coordinator and directly to every shard it
    knows, or to those that --shard names by id; without a coordinator, to the addresses of --shard.

    \b
    Examples:
      bigfleet pause --reason "strange reclaims, looking"        everything, for 4 h
      bigfleet pause --cluster shop --kind reclaim --kind preempt --ttl 30m --reason "release day"
      bigfleet pause --shard shard-1 --shard shard-2 --reason "region moves"
      bigfleet pause --rebalance --reason "no moves between shards today"
      bigfleet pause --shard 10.0.0.7:7780 --reason "the coordinator is down"
      bigfleet pause list
      bigfleet resume 1f0c77ab02 --reason "it was the deploy"
    """


@pause.command("set", hidden=True)
@shard_verb
@click.option("--cluster", "clusters", type=CLUSTER, multiple=True, help="Only for this cluster.")
@click.option(
    "--kind",
    "kinds",
    type=click.Choice(KINDS, case_sensitive=False),
    multiple=True,
    help="Only this kind of action.",
)
@click.option("--rebalance", is_flag=True, help="Only moves of machines between shards.")
@click.option("--ttl", type=DURATION, default=None, help="When it ends by itself.  [default: 4h]")
@click.option("--no-expiry", is_flag=True, help="Until it is resumed.")
@audited
def set_pause(
    connection: Connection,
    clusters: tuple[str, ...],
    kinds: tuple[str, ...],
    rebalance: bool,
    ttl: float | None,
    no_expiry: bool,
    owner: str | None,
    reason: str,
) -> None:
    """Stop actions from being started."""
    from bigfleet.model.actions import ActionKind
    from bigfleet.model.pauses import PauseScope
    from bigfleet.model.shard_admin import PauseCall

    if no_expiry and ttl is not None:
        raise click.UsageError("--ttl and --no-expiry are two answers to one question: give one")
    if ttl is not None and ttl <= 0:
        raise click.UsageError("--ttl 0 would pause nothing; give a time, or --no-expiry")
    wanted = tuple(ActionKind[kind.upper()] for kind in dict.fromkeys(kinds))
    scope = PauseScope((), tuple(dict.fromkeys(clusters)), wanted, rebalance)
    seconds = math.ceil(ttl) if ttl is not None else 0
    call = PauseCall(audit_of(owner, reason), scope, seconds, no_expiry, secrets.token_hex(5))

    def document(done: "Paused") -> dict[str, Any]:
        from bigfleet.wire.shard_views import PAUSE

        active = [PAUSE.document(each) for each in done.active]
        return {"pause": PAUSE.document(done.pause), "active": active}

    def cells(done: "Paused") -> list[str]:
        made = done.pause
        return [made.pause_id, scope_text(made.scope), until_text(made)]

    confirm(connection, paused(connection, call), ("PAUSE", "SCOPE", "EXPIRES"), cells, document)


@pause.command("list", short_help="Who paused what, why, until when.")
@shard_verb
@shows(lambda: COLUMNS)
@takes_source
@click.option("--expired", is_flag=True, help="Also the last that expired or were lifted.")
def list_pauses(connection: Connection, source: Source, expired: bool) -> None:
    """Who paused what, why, until when; with --expired also who lifted it, when and why.

    In a fleet also WHERE: at the coordinator, at which shards, or all of them. A shard's journal
    (--journal) tells what was paused in its last cycle, or in the cycle --at.

    \b
    Examples:
      bigfleet pause list
      bigfleet pause list --expired
      bigfleet pause list --journal data/journal --at 3:18231
      bigfleet pause list --journal data/journal --expired
    """
    if source.fleet is not None:
        raise refuse(["--fleet: a fleet file knows no pauses; ask a shard, or --journal DIR"])
    if source.journal is not None:
        show_recorded(connection, _recorded(source.journal, source.at), expired=expired)
    elif source.at is not None:
        raise refuse(["--at: past cycles are in the journal; add --journal DIR"])
    elif connection.is_led():
        show_fleet(connection, pauses_of_all(connection, expired))
    else:
        show_pauses(
            connection, connection.ask(lambda shard: shard.admin.pauses(include_expired=expired))
        )


def _recorded(journal: Path, at: tuple[int | None, int] | None) -> "PausesThen":
    """Leaves with 2 where the journal cannot be read, with 3 where it lacks the cycle."""
    from bigfleet.journal.history import LATEST, BrokenJournal
    from bigfleet.journal.notes import pauses_at
    from bigfleet.journal.segments import UnreadableJournal, segments_of

    try:
        segments = segments_of(journal)
        wanted = named_cycle(at, segments, LATEST)
        found = pauses_at(segments, wanted)
    except (UnreadableJournal, BrokenJournal) as problem:
        raise refuse([str(problem)]) from None
    if found is None:
        raise not_recorded(wanted, segments)
    return found


@click.command()
@shard_verb
@click.argument("pause_id", type=PAUSE, metavar="[ID]", required=False, default="")
@click.option("--all", "everything", is_flag=True, help="Every pause set by `bigfleet pause`.")
@audited
def resume(
    connection: Connection, pause_id: str, everything: bool, owner: str | None, reason: str
) -> None:
    """Lift a pause: the next cycle decides afresh.

    Pauses of the flag, the pause file and the coordinator are lifted where they were set.

    \b
    Examples:
      bigfleet pause list
      bigfleet resume 1f0c77ab02 --reason "it was the deploy"
      bigfleet resume --all --reason "drill is over"
    """
    from bigfleet.model.shard_admin import ResumeCall

    if bool(pause_id) == everything:
        raise click.UsageError("name one pause (bigfleet pause list shows them), or give --all")
    call = ResumeCall(audit_of(owner, reason), pause_id, everything)

    def document(done: "Resumed") -> dict[str, Any]:
        from bigfleet.wire.shard_views import PAUSE

        return {
            "removed": [PAUSE.document(each) for each in done.removed],
            "active": [PAUSE.document(each) for each in done.active],
        }

    answers = resumed(connection, call)
    lifted = {pause.pause_id for pause in getattr(answers.coordinator, "removed", ())}

    def cells(done: "Resumed") -> list[str]:
        removed = ", ".join(each.pause_id for each in done.removed)
        left = ", ".join(_left_text(each, lifted) for each in done.active)
        return [removed or "nothing", left or "nothing"]

    confirm(connection, answers, ("LIFTED", "STILL_PAUSED"), cells, document)
    said = [answers.coordinator, *answers.shards.values()]
    if pause_id and not any(getattr(each, "removed", ()) for each in said):
        text = f"no pause {pause_id} is in force: lifted, expired or misspelt"
        click.echo(plain(f"{text}; bigfleet pause list shows those that are"), err=True)
        raise click.exceptions.Exit(EXIT_UNREACHABLE)


def _left_text(pause: "Pause", lifted: set[str]) -> str:
    """What the coordinator has lifted ends where it was told with the next report."""
    from bigfleet.model.pauses import PauseSource

    ends = pause.source is PauseSource.COORDINATOR and pause.pause_id in lifted
    return f"{pause.pause_id} ({'until its next report' if ends else scope_text(pause.scope)})"
