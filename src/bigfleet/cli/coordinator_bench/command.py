"""`bigfleet bench coordinator`: a coordinator under load, its fail-over, and a rebalance.

Three parts that have nothing to do with each other. Everything in them is a real process, but for
the shards of the first part; everything ends with the command.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, replace
from typing import Any

import click

from bigfleet.cli.coordinator_bench import failover, load, rebalance
from bigfleet.cli.coordinator_bench.etcd_members import HOW_TO_GET_ETCD, etcd_program
from bigfleet.cli.coordinator_bench.progress import Say, progress
from bigfleet.cli.durations import DURATION
from bigfleet.cli.measures import Measure, print_measures, prints_measures
from bigfleet.cli.output import current_output, set_output
from bigfleet.cli.request_options import EXIT_UNREACHABLE

PARTS = ("load", "failover", "rebalance")
STATED_FOR = "Budgets are stated for two idle cores with a machine-speed unit of about 65 ms."
#: What a part is measured with, and the measuring.
Part = tuple[Any, Callable[[Any, Say], Awaitable[list[Measure]]]]


@click.command(short_help="Load a coordinator, kill its leader, rebalance shards.")
@click.argument("parts", nargs=-1, type=click.Choice(PARTS), metavar="[load|failover|rebalance]...")
@click.option(
    "--interval",
    type=DURATION,
    default="10s",
    show_default=True,
    help="load: pause between two reports of a shard.",
)
@click.option(
    "--full",
    is_flag=True,
    help=f"The long run: load with {load.FULL.seconds:g} s a phase, {failover.FULL.rounds} losses "
    "of the leader of each kind.",
)
@prints_measures
def bench(parts: tuple[str, ...], interval: float, full: bool) -> None:
    """Measure a coordinator: all three parts, or those that are named.

    \b
    load       one coordinator on SQLite, 200 simulated shards, 100,000 domains
    failover   three coordinators over three etcd members; the leader is lost
    rebalance  three shards; one of them needs what the others have idle

    The exit code is 0 whatever the verdicts, because a busy machine is no defect.
    """
    chosen = [part for part in PARTS if part in (parts or PARTS)]
    if "failover" in chosen and etcd_program() is None:
        click.echo(HOW_TO_GET_ETCD, err=True)
        raise click.exceptions.Exit(EXIT_UNREACHABLE)
    what: dict[str, Part] = {
        "load": (replace(load.FULL if full else load.QUICK, interval=interval), load.measured),
        "failover": (failover.FULL if full else failover.QUICK, failover.measured),
        "rebalance": (rebalance.M6, rebalance.measured),
    }
    for part in chosen:
        with progress(part) as say:
            measures = measured(what[part], say)
        _show(part, measures, asdict(what[part][0]))


def measured(part: Part, say: Say) -> list[Measure]:
    """With what the machine was at meanwhile."""
    from bigfleet.bench.speed_unit import unit_ms

    given, measure = part
    before = os.getloadavg()[0]
    unit = unit_ms()
    found = asyncio.run(_awaited(measure(given, say)))
    return [
        Measure("load of the machine before", before, ""),
        Measure("load of the machine after", os.getloadavg()[0], ""),
        Measure("machine-speed unit", unit, "ms"),
        *found,
    ]


async def _awaited(measuring: Awaitable[list[Measure]]) -> list[Measure]:
    return await measuring


def _show(part: str, measures: Sequence[Measure], given: dict[str, Any]) -> None:
    words = ", ".join(f"{name.replace('_', ' ')} {value:g}" for name, value in given.items())
    print_measures(measures, f"Settings: {words}.\n{STATED_FOR}\n", part, **given)
    # The rows of the next part go on below the same headings.
    set_output(replace(current_output(), headers=current_output().format != "csv"))
