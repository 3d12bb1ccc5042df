"""`bigfleet bench web`: what the page costs its server, beside every budget a process can measure.

    map     a map of many machines, on its way to a browser; CPU time of this process
    rest    answers of a living shard's page, each the first of its cycle
    pages   what open pages cost a shard's cycles, and its cores
    files   what a browser loads, compressed

What a browser does with it, `make web-bench` measures.
"""

from collections.abc import Collection
from dataclasses import asdict

import click

from bigfleet.bench.measures import Measure, beside_the_machine
from bigfleet.cli.load_tests import progress
from bigfleet.cli.measures import print_measures, prints_measures, run_load_test
from bigfleet.cli.web_bench.files import file_rows
from bigfleet.cli.web_bench.living_page import FULL, WebScale, living_rows
from bigfleet.cli.web_bench.maps import map_rows

PARTS = ("map", "rest", "pages", "files")
STATED_FOR = (
    "Budgets are stated for --full on two idle cores. A row with a range is met where all of the "
    "range is, and open where the machine was too busy to tell."
)


@click.command(short_help="Measure the page: a large map, its answers, and many open pages.")
@click.option("--machines", type=click.IntRange(100), default=50_000, show_default=True,
              help="On the map.")  # fmt: skip
@click.option("--shard-machines", type=click.IntRange(200), default=5_000, show_default=True,
              help="Of the shard whose pages are open.")  # fmt: skip
@click.option("--needs", type=click.IntRange(10), default=2_000, show_default=True,
              help="Of that shard; a tenth of them asks for what there is none of.")  # fmt: skip
@click.option("--clients", type=click.IntRange(1, 256), default=FULL.clients,
              show_default=True, help="Open pages.")  # fmt: skip
@click.option("--seconds", type=click.FloatRange(0, min_open=True), default=10.0,
              show_default=True,
              help="How long each answer is asked for; a block with or without pages takes a "
                   "fifth of it.")  # fmt: skip
@click.option("--part", "parts", multiple=True, type=click.Choice(PARTS),
              help="Measure only this part; may be repeated.")  # fmt: skip
@click.option("--full", is_flag=True,
              help=f"The sizes of the budget: {FULL.machines:,} machines on the map, a shard of "
                   f"{FULL.shard_machines:,} with {FULL.needs:,} Needs, {FULL.clients} "
                   "pages.")  # fmt: skip
@prints_measures
def web(
    machines: int,
    shard_machines: int,
    needs: int,
    clients: int,
    seconds: float,
    parts: tuple[str, ...],
    full: bool,
) -> None:
    """Measure what the page costs its server: a large map, answers, and open pages.

    \b
    map     a map of many machines, on its way to a browser
    rest    answers of a page, each the first of its cycle
    pages   cycles with all pages open and with none, block by block
    files   what a browser loads

    The exit code is 0 with every verdict, because a busy machine is not a defect.
    """
    scale = FULL if full else WebScale(machines, shard_machines, needs, clients, seconds)
    with progress("web") as say:
        say("maps, answers and open pages")
        measures = run_load_test(beside_the_machine(measured(scale, parts or PARTS)))
    print_measures(measures, STATED_FOR, **asdict(scale))


async def measured(scale: WebScale, parts: Collection[str] = PARTS) -> list[Measure]:
    found: list[Measure] = []
    if "map" in parts:
        found += map_rows(scale.machines)
    if "rest" in parts or "pages" in parts:
        found += await living_rows(scale, parts)
    if "files" in parts:
        found += file_rows()
    return found
