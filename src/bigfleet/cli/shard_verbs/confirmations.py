"""Who confirmed a pause or its end: one row each, and the exit code where one is missing."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from bigfleet.cli.connections import Connection
from bigfleet.cli.request_options import EXIT_CHECK_FAILED, exit_code_of
from bigfleet.cli.terminal import plain
from bigfleet.cli.whole_fleet import failure_document, told_apart

if TYPE_CHECKING:
    from bigfleet.cli.shard_verbs.pause_calls import PauseAnswers
    from bigfleet.model.provider_calls import Rejected

T = TypeVar("T")
_COORDINATOR = "coordinator"


def confirm(
    connection: Connection,
    answers: "PauseAnswers[T]",
    columns: tuple[str, ...],
    cells: Callable[[T], list[str]],
    document: Callable[[T], dict[str, Any]],
) -> None:
    """The coordinator first; leaves with what went wrong, or 1 where only some confirm."""
    from bigfleet.cli.tables import Page, cell, table_of, write_items

    asked = {} if answers.coordinator is None else {_COORDINATOR: answers.coordinator}
    led, unled = told_apart(asked)
    done, failed = told_apart(answers.shards)
    if connection.json:
        where = ",".join(connection.coordinator.addresses)
        items = [{_COORDINATOR: where, **document(said)} for said in led.values()]
        items += [{"shard": name, **document(said)} for name, said in done.items()]
        items += [{_COORDINATOR: where, "error": failure_document(e)} for e in unled.values()]
        items += [{"shard": name, "error": failure_document(e)} for name, e in failed.items()]
        write_items(items, connection.now)
    elif led or done:
        page = Page.on_stdout(connection.color)
        table = table_of("SHARD", *columns)
        for name, said in (*led.items(), *done.items()):
            table.add_row(cell(name), *map(cell, cells(said)))
        page.show(table)
        page.write()
    said_of = [f"coordinator: {connection.coordinator.told(each)}" for each in unled.values()]
    alone = len(answers.shards) == 1 and not asked
    said_of += [
        _failure_text(connection, answers, name, each, alone) for name, each in failed.items()
    ]
    for sentence in said_of:
        click.echo(plain(sentence), err=True)
    _leave([*unled.values(), *failed.values()], some=bool(led or done))


def _failure_text(
    connection: Connection, answers: "PauseAnswers[T]", name: str, rejected: "Rejected", alone: bool
) -> str:
    said = connection.explained("shard", answers.addresses.get(name, name), rejected)
    return said if alone else f"{name}: {said}"


def _leave(failures: "list[Rejected]", *, some: bool) -> None:
    if not failures:
        return
    codes = {exit_code_of(each) for each in failures}
    raise click.exceptions.Exit(EXIT_CHECK_FAILED if some or len(codes) > 1 else codes.pop())
