"""`bigfleet pause` and `bigfleet resume`: the kill switch, on every shard that is named.

A pause has the same id on all of them, so that one `resume ID` lifts it everywhere. Where some
shards confirm and some do not, the answer is exit 1: the fleet is in two minds.
"""

import math
import secrets
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from bigfleet.cli.connections import (
    EXIT_CHECK_FAILED,
    EXIT_UNREACHABLE,
    Line,
    audit_of,
    audited,
    exit_code_of,
    shard_verb,
)
from bigfleet.cli.default_verbs import DefaultVerb
from bigfleet.cli.durations import DURATION
from bigfleet.cli.object_names import CLUSTER
from bigfleet.cli.terminal import plain

if TYPE_CHECKING:
    from bigfleet.model.pauses import Pause, PauseScope
    from bigfleet.model.provider_calls import Rejected
    from bigfleet.model.shard_admin import Paused, Resumed

T = TypeVar("T")
KINDS = ("bootstrap", "provision", "reclaim", "preempt", "delete")


class _PauseGroup(DefaultVerb):
    default = "set"


@click.group(cls=_PauseGroup)
def pause() -> None:
    """Stop a shard from starting actions: all of them, or those of a cluster or a kind.

    It goes on listing, deciding and answering; what is under way ends. On resume the next cycle
    decides afresh. Flags narrow the scope: several clusters or kinds are alternatives, clusters
    and kinds together must both fit.

    \b
    Examples:
      bigfleet pause --reason "strange reclaims, looking"        everything, for 4 h
      bigfleet pause --cluster shop --kind reclaim --kind preempt --ttl 30m --reason "release day"
      bigfleet pause --shard 10.0.0.7:7780 --shard 10.0.0.8:7780 --reason "region moves"
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
@click.option("--ttl", type=DURATION, default=None, help="Ends by itself then.  [default: 4h]")
@click.option("--no-expiry", is_flag=True, help="Until somebody resumes it.")
@audited
def set_pause(
    line: Line,
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
        from bigfleet.wire.shard_documents import document_of

        active = [document_of(each) for each in done.active]
        return {"pause": document_of(done.pause), "active": active}

    def cells(done: "Paused") -> list[str]:
        made = done.pause
        return [made.pause_id, scope_text(made.scope), until_text(made)]

    answers = line.ask_each(lambda shard: shard.admin.pause(call))
    _confirm(line, answers, ("PAUSE", "SCOPE", "EXPIRES"), cells, document)


@pause.command("list")
@shard_verb
@click.option("--expired", is_flag=True, help="Also the last that expired or were lifted.")
def list_pauses(line: Line, expired: bool) -> None:
    """Who paused what, why, until when."""
    from bigfleet.cli.tables import Page, cell, since_text, table_of, write_items
    from bigfleet.wire.shard_documents import document_of

    found = line.ask(lambda shard: shard.admin.pauses(expired))
    if line.json:
        write_items(map(document_of, found.pauses), line.now, dryRun=found.dry_run)
        return
    page = Page.on_stdout(line.color)
    if found.pauses:
        table = table_of("ID", "SCOPE", "SOURCE", "OWNER", "AGE", "EXPIRES", sentence="REASON")
        for each in found.pauses:
            table.add_row(
                cell(each.pause_id),
                cell(scope_text(each.scope)),
                cell(each.source.name.lower()),
                cell(each.owner),
                cell(since_text(each.created_at, line.now)),
                cell(until_text(each)),
                cell(each.reason),
            )
        page.show(table)
    else:
        page.say("Nothing is paused.")
    if found.dry_run:
        page.say("dry-run is on: decisions are logged, nothing is started")
    page.write()


@click.command()
@shard_verb
@click.argument("pause_id", metavar="[ID]", required=False, default="")
@click.option("--all", "everything", is_flag=True, help="Every pause set by `bigfleet pause`.")
@audited
def resume(line: Line, pause_id: str, everything: bool, owner: str | None, reason: str) -> None:
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
        from bigfleet.wire.shard_documents import document_of

        return {
            "removed": [document_of(each) for each in done.removed],
            "active": [document_of(each) for each in done.active],
        }

    def cells(done: "Resumed") -> list[str]:
        lifted = ", ".join(each.pause_id for each in done.removed)
        left = ", ".join(f"{each.pause_id} ({scope_text(each.scope)})" for each in done.active)
        return [lifted or "nothing", left or "nothing"]

    answers = line.ask_each(lambda shard: shard.admin.resume(call))
    _confirm(line, answers, ("LIFTED", "STILL_PAUSED"), cells, document)
    if pause_id and not any(getattr(answer, "removed", ()) for answer in answers.values()):
        said = f"no pause {pause_id} is in force: lifted, expired or misspelt"
        click.echo(plain(f"{said}; bigfleet pause list shows those that are"), err=True)
        raise click.exceptions.Exit(EXIT_UNREACHABLE)


def _confirm(
    line: Line,
    answers: "dict[str, T | Rejected]",
    columns: tuple[str, ...],
    cells: Callable[[T], list[str]],
    document: Callable[[T], dict[str, Any]],
) -> None:
    """One row a shard; leaves with what went wrong, or 1 where only some shards confirm."""
    from bigfleet.cli.tables import Page, cell, table_of, write_items
    from bigfleet.model.provider_calls import Rejected

    failures = {at: said for at, said in answers.items() if isinstance(said, Rejected)}
    done = {at: said for at, said in answers.items() if not isinstance(said, Rejected)}
    if line.json:
        items = [{"shard": at, **document(said)} for at, said in done.items()]
        items += [
            {"shard": at, "error": {"code": str(each.code), "text": each.text}}
            for at, each in failures.items()
        ]
        write_items(items, line.now)
    elif done:
        page = Page.on_stdout(line.color)
        table = table_of("SHARD", *columns)
        for at, said in done.items():
            table.add_row(cell(at), *map(cell, cells(said)))
        page.show(table)
        page.write()
    for at, rejected in failures.items():
        prefix = f"{at}: " if len(answers) > 1 else ""
        click.echo(plain(prefix + line.explained(at, rejected)), err=True)
    if failures:
        codes = {exit_code_of(each) for each in failures.values()}
        alone = not done and len(codes) == 1
        raise click.exceptions.Exit(codes.pop() if alone else EXIT_CHECK_FAILED)


def scope_text(scope: "PauseScope") -> str:
    from bigfleet.shard.rails.pauses import scope_text as text_of

    return text_of(scope)


def until_text(pause: "Pause") -> str:
    from bigfleet.model.instants import instant_text

    if pause.expires_at is None:
        return "until lifted"
    return f"until {instant_text(pause.expires_at // 1_000_000_000 * 1_000_000_000)}"
