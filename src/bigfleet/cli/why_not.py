"""`bigfleet why-not`: the first check that fails behind what was expected."""

from typing import TYPE_CHECKING, Any, NamedTuple

import click

from bigfleet.cli.connections import Connection, shard_verb
from bigfleet.cli.object_names import KINDS
from bigfleet.cli.output import shows
from bigfleet.cli.sources import EXIT_NOT_FOUND, Source, takes_source
from bigfleet.cli.terminal import plain

if TYPE_CHECKING:
    from bigfleet.cli.sources import AskedCycle
    from bigfleet.explain.decided_cycle import DecidedCycle
    from bigfleet.model.machine_answers import WhyNot

CHECK_COLUMNS = ("CHECK", "RESULT", "EXPECTED", "ACTUAL")


class Asked(NamedTuple):
    """Names as they were written; an empty one was not."""

    machine: str = ""
    cluster: str = ""
    need: str = ""


@click.command("why-not", no_args_is_help=True)
@shard_verb
@shows(lambda: CHECK_COLUMNS)
@takes_source
@click.argument("name", metavar="OBJECT")
@click.option("--for", "wanting", metavar="need/CLUSTER/ID", default="", help="The Need meant.")
def why_not(connection: Connection, source: Source, name: str, wanting: str) -> None:
    """The first check that fails, with the values it compares, and what would change it.

    \b
    machine/ID --for need/CLUSTER/ID   why the Need does not have the machine
    machine/ID                         why it is not reclaimed, not released, not deleted
    need/CLUSTER/ID                    why the Need is not satisfied

    The first characters of a Need's id are enough. The answer is about the last cycle of a live
    shard, of a journal (--journal) or of a fleet file (--fleet), or about the cycle --at.

    \b
    Examples:
      bigfleet why-not machine/od-0117 --for need/ml/n3f9c
      bigfleet why-not machine/od-0117
      bigfleet why-not need/ml/n3f9c --journal data/journal --at 3:18231
      bigfleet why-not machine/c-1 --fleet fleet.yaml
    """
    asked = asked_for(name, wanting)
    if source.is_live:
        from bigfleet.cli.why_machine import live_why_not

        answer, cycle, missing = live_why_not(connection, source, asked)
        _write(connection, answer, cycle, missing.document())
        missing.leave_partial(connection)
        return
    from bigfleet.cli.tables import when_text

    decided = decided_from(source)
    when = when_text(decided.given.now, connection.now)
    _write(connection, answered(decided, asked), decided.name, {}, when)


def asked_for(name: str, wanting: str) -> Asked:
    """Refuses what is not one of the three questions, with what to write instead."""
    kind, _, rest = name.partition("/")
    for_kind, _, for_rest = wanting.partition("/")
    if wanting and for_kind != "need":
        raise click.UsageError(f"--for {wanting!r}: a Need is meant; write need/CLUSTER/ID")
    cluster, _, need = for_rest.rpartition("/")
    if kind == "machine" and rest:
        return Asked(rest, cluster, need)
    if kind == "need" and rest:
        if wanting:
            raise click.UsageError("--for goes with machine/ID: which machine is meant?")
        cluster, _, need = rest.rpartition("/")
        return Asked("", cluster, need)
    if kind in KINDS and rest:
        raise click.UsageError(f"{name!r}: why-not answers for machine/ID and need/CLUSTER/ID")
    raise click.UsageError(f"{name!r} names no object; write machine/ID or need/CLUSTER/ID")


def decided_from(source: Source) -> "DecidedCycle":
    """The cycle of a journal or a fleet file, decided again."""
    return decided_again(source.read())


def decided_again(asked: "AskedCycle") -> "DecidedCycle":
    from bigfleet.cli.progress import compile_all
    from bigfleet.explain.decided_cycle import DecidedCycle

    compile_all()
    return DecidedCycle(asked.given, asked.given.decide(), asked.name, asked.actions, asked.ended)


def answered(cycle: "DecidedCycle", asked: Asked) -> "WhyNot":
    """Leaves with 3 where a name is unknown, with 2 where it may mean several Needs."""
    from bigfleet.explain.decided_cycle import NoSuchObject, SeveralObjects
    from bigfleet.explain.why_not import why_not_assigned, why_not_removed, why_not_satisfied

    try:
        need = cycle.need_row(asked.cluster, asked.need) if asked.need else -1
        if not asked.machine:
            return why_not_satisfied(cycle, need)
        row = cycle.row_of(asked.machine)
    except NoSuchObject as problem:
        click.echo(plain(str(problem)), err=True)
        raise click.exceptions.Exit(EXIT_NOT_FOUND) from None
    except SeveralObjects as problem:
        raise click.UsageError(str(problem)) from None
    return why_not_assigned(cycle, row, need) if asked.need else why_not_removed(cycle, row)


# -- as it is printed ------------------------------------------------------------------------------


def _write(
    connection: Connection,
    answer: "WhyNot",
    cycle: str,
    missing: dict[str, Any],
    when: str = "",
) -> None:
    from bigfleet.cli.tables import Page, cell, table_of, write_json

    if connection.json:
        from bigfleet.wire.machine_answers import why_not_document

        write_json({**why_not_document(answer, cycle), **missing}, connection.now)
        return
    page = Page.on_stdout(connection.color)
    page.say(f"{answer.sentence}   (cycle {cycle}{when})", "bold")
    table = table_of(*CHECK_COLUMNS)
    for check in answer.checks:
        blocking = check == answer.blocking
        result = "ok" if check.passed else "BLOCKS" if blocking else "fails too"
        style = "" if check.passed else "red" if blocking else "yellow"
        table.add_row(
            cell(check.name), cell(result, style), cell(check.expected), cell(check.actual)
        )
    if table.row_count:
        page.show(table)
    for sentence in answer.would_change:
        page.say(f"would change it: {sentence}")
    page.write()
