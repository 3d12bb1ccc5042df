"""`bigfleet bench`: how long the engine takes on a benchmark shape, on this machine."""

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bigfleet.cli.output import current_output, prints_list, set_output

if TYPE_CHECKING:
    from bigfleet.bench.engine.agreement import Agreement
    from bigfleet.bench.engine.runner import OnProgress, Request, Result

DEFAULT_SHAPES = ("uber-5k", "uber-50k")
_WIDE_COLUMNS = ("RSS_MB", "BYTES_PER_MACHINE", "CYCLES", "WORKERS", "UNIT_MS")
COLUMNS = (
    *("SHAPE", "MACHINES", "NEEDS", "P50_MS", "P99_MS", "MAX_MS", "UNITS", "ACTIONS"),
    *_WIDE_COLUMNS,
)
NOT_INCLUDED = (
    "A cycle is both snapshots and the decision, actions as columns; "
    "reconcile and execution are not included."
)
CHECKED_ELSEWHERE = "The comparison with the slow reference is part of the test suite."


class WithLoadTests(click.Command):
    """`bench provider`, `shard`, `coordinator` and the like have options of their own."""

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        match args[:1]:
            case ["provider"]:
                from bigfleet.cli.provider_bench import bench as load_test
            case ["shard"]:
                from bigfleet.cli.load_tests import shard as load_test
            case ["coordinator"]:
                from bigfleet.cli.load_tests import coordinator as load_test
            case ["operator"]:
                from bigfleet.cli.load_tests import operator as load_test
            case ["web"]:
                from bigfleet.cli.web_bench import web as load_test
            case ["journal"]:
                from bigfleet.cli.load_tests import journal as load_test
            case ["up"]:
                from bigfleet.cli.load_tests import up as load_test
            case _:
                return super().make_context(info_name, args, parent, **extra)
        return load_test.make_context(f"{info_name} {args[0]}", args[1:], parent, **extra)


@click.command(cls=WithLoadTests, short_help="Time the engine on a benchmark shape.")
@click.argument("shapes", nargs=-1, metavar="[SHAPE...]")
@click.option(
    "--scale",
    type=click.FloatRange(0, min_open=True),
    default=1.0,
    show_default=True,
    help="Multiply the size of the shape.",
)
@click.option(
    "--cycles", type=click.IntRange(1), default=None, help="Measured cycles.  [default: 11]"
)
@click.option(
    "--workers",
    type=click.IntRange(1),
    default=None,
    help="Workers of Phase 1.  [default: the cores]",
)
@click.option(
    "--check",
    is_flag=True,
    help="Instead of timing, compare outcomes at a reduced size; exit 1 if they differ.",
)
@click.option(
    "--profile",
    type=click.Path(dir_okay=False, writable=True, path_type=Path),
    help="Write a pstats file of the measured cycles of one shape.",
)
@prints_list(lambda: COLUMNS, "json: one object per line.", one_line=True)
@click.option("--list", "list_shapes", is_flag=True, help="List the shapes.")
def bench(
    shapes: tuple[str, ...],
    scale: float,
    cycles: int | None,
    workers: int | None,
    check: bool,
    profile: Path | None,
    list_shapes: bool,
) -> None:
    """Time the engine's cycle on benchmark shapes: uber-5k and uber-50k, or the SHAPEs named.

    `all` names every shape. Several shapes run one after the other, each in a process of its own.

    `bigfleet bench shard` loads a shard with operators and a provider instead, `bigfleet bench
    coordinator` a coordinator with shards, `bigfleet bench provider` measures a provider on the
    SDK, `bigfleet bench operator` the roll-up of a cluster, `bigfleet bench web` the page,
    `bigfleet bench journal` what recording costs and how soon why and what-if answer, and
    `bigfleet bench up` how soon `bigfleet up` is ready and gone; their options are their own.
    """
    if list_shapes:
        _print_shapes()
        return
    names = _resolved(shapes or DEFAULT_SHAPES)
    if profile is not None and len(names) != 1:
        raise click.UsageError("--profile takes exactly one shape; name the one to profile.")
    if check:
        sys.exit(_check(names))
    from bigfleet.bench.engine.runner import DEFAULT_CYCLES, Request
    from bigfleet.edge.process_usage import cores

    requests = [
        Request(name, scale, cycles or DEFAULT_CYCLES, workers or cores(), profile)
        for name in names
    ]
    show = _print_documents if current_output().is_document else _print_table
    show(_results_of(requests))


def _resolved(names: Sequence[str]) -> list[str]:
    from bigfleet.bench.engine.shapes import SHAPES, shapes_named

    if [name.lower() for name in names] == ["all"]:
        return list(SHAPES)
    unknown = [name for name in names if not shapes_named(name)]
    if unknown:
        raise click.UsageError(
            f"unknown shape {', '.join(unknown)}; the shapes are: {', '.join(SHAPES)}"
        )
    return [shape for name in names for shape in shapes_named(name)]


def _print_shapes() -> None:
    from bigfleet.bench.engine.shapes import SHAPES
    from bigfleet.cli.tables import Page, cell, table_of, write_items

    output = current_output()
    if output.is_document:
        set_output(replace(output, one_line=False))
        items = [{"shape": shape.name, "summary": shape.summary} for shape in SHAPES.values()]
        write_items(items, time.time_ns())
        return
    if output.format == "table":
        # The list of names alone, as it reads best.
        set_output(replace(output, headers=False))
    table = table_of("SHAPE", sentence="SUMMARY", kind="shape")
    for shape in SHAPES.values():
        table.add_row(cell(shape.name), cell(shape.summary))
    page = Page.on_stdout("auto")
    page.show(table)
    page.write()


def _results_of(requests: "Sequence[Request]") -> "Iterator[Result]":
    """Each result as soon as it is there.

    One shape runs here; several run in a fresh process each, because a process that has already
    run a shape has memory to reuse, and would weigh the next one too light.
    """
    from bigfleet.bench.engine.runner import run

    if len(requests) == 1:
        with _progress(requests[0].shape) as on_progress:
            result = run(requests[0], on_progress)
        yield result
        return
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    with ProcessPoolExecutor(1, get_context("spawn"), max_tasks_per_child=1) as fresh:
        for request in requests:
            with _progress(request.shape):
                result = fresh.submit(run, request).result()
            yield result


@contextmanager
def _progress(shape: str) -> "Iterator[OnProgress]":
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(shape, total=None)

        def on_progress(step: str, done: int, total: int) -> None:
            measuring = step == "measure"
            bar.update(
                task,
                description=f"{shape}: {step}",
                completed=done,
                total=total if measuring else None,
                refresh=True,
            )

        yield on_progress


def _print_documents(results: "Iterator[Result]") -> None:
    import json

    from bigfleet.cli.tables import write_document

    for result in results:
        write_document(json.loads(result.json_line()))
    click.echo(NOT_INCLUDED, err=True)


def _print_table(results: "Iterator[Result]") -> None:
    from bigfleet.cli.tables import Page, cell, table_of

    table = table_of(*COLUMNS, numbers=COLUMNS[1:], wide=_WIDE_COLUMNS, kind="shape")
    done = []
    for result in results:
        done.append(result)
        table.add_row(cell(result.shape), *(cell(text) for text in _texts_of(result)))
    page = Page.on_stdout("auto")
    page.show(table)
    for line in (*(line for result in done for line in _details_of(result)), "", NOT_INCLUDED):
        page.say(line)
    page.write()


def _details_of(result: "Result") -> Iterator[str]:
    parts = ", ".join(f"{part} {ms:.2f}" for part, ms in result.phases.items())
    yield ""
    yield f"{result.shape}: p50 ms by part: {parts}"
    yield (
        f"  {result.machines_per_second:,.0f} machines/s, {result.needs_per_second:,.0f} Needs/s, "
        f"RSS {result.rss_mb:,.0f} MB, {result.bytes_per_machine:,.0f} bytes per machine"
    )
    yield (
        f"  {result.cycles} cycles after {result.warmup_s:.2f} s of warm-up, {result.workers} "
        f"workers, {result.cores} cores, conflict fraction {result.conflict_fraction:.2f}, "
        f"machine-speed unit {result.unit_ms:.1f} ms"
    )


def _texts_of(result: "Result") -> Iterator[str]:
    """In the order of COLUMNS, after the shape."""
    yield f"{result.machines:,}"
    yield f"{result.needs:,}"
    for milliseconds in (result.p50_ms, result.p99_ms, result.max_ms):
        yield f"{milliseconds:,.2f}"
    yield f"{result.p50_ms / result.unit_ms:,.3f}"
    yield f"{result.actions:,}"
    yield f"{result.rss_mb:,.0f}"
    yield f"{result.bytes_per_machine:,.0f}"
    yield str(result.cycles)
    yield str(result.workers)
    yield f"{result.unit_ms:.1f}"


def _check(names: Sequence[str]) -> int:
    from bigfleet.bench.engine.agreement import check
    from bigfleet.bench.engine.shapes import SHAPES

    found = [check(SHAPES[name]) for name in names]
    _print_agreements(found)
    click.echo(CHECKED_ELSEWHERE, err=True)
    return 1 if any(each.disagreeing for each in found) else 0


def _print_agreements(found: "Sequence[Agreement]") -> None:
    from bigfleet.cli.tables import Page, cell, table_of, write_document

    output = current_output()
    if output.is_document:
        for each in found:
            write_document({**asdict(each), "disagreeing": each.disagreeing})
        return
    if output.format == "table":
        for each in found:
            click.echo(_sentence_of(each))
        return
    table = table_of("SHAPE", "MACHINES", "NEEDS", "ACTIONS", "DIFFERS_WITH", kind="shape")
    for each in found:
        counts = (f"{count:,}" for count in (each.machines, each.needs, each.actions))
        table.add_row(cell(each.shape), *counts, cell(", ".join(each.disagreeing)))
    page = Page.on_stdout("auto")
    page.show(table)
    page.write()


def _sentence_of(agreement: "Agreement") -> str:
    size = f"{agreement.machines:,} machines, {agreement.needs:,} Needs"
    if agreement.disagreeing:
        return f"{agreement.shape} ({size}): actions differ with {', '.join(agreement.disagreeing)}"
    varied = ", ".join(agreement.digests)
    return f"{agreement.shape} ({size}): the same {agreement.actions:,} actions with {varied}"
