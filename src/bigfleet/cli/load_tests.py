"""Load tests of `bigfleet bench`, by the name of what is loaded: their options and measures.

Everything a load test starts is a process of its own and ends with the command.
"""

from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from typing import Any

import click

from bigfleet.bench import journal as journal_bench
from bigfleet.bench import operator as rollup
from bigfleet.bench import up as up_bench
from bigfleet.bench.coordinator import failover, load, rebalance
from bigfleet.bench.coordinator.etcd_members import HOW_TO_GET_ETCD, etcd_program
from bigfleet.bench.engine.shapes import SHAPES
from bigfleet.bench.measures import Measure, Say, beside_the_machine
from bigfleet.bench.shard import load as shard_load
from bigfleet.bench.shard.fleet import ShardScale
from bigfleet.bench.shard.load import FULL
from bigfleet.cli.durations import DURATION
from bigfleet.cli.measures import print_measures, prints_measures, run_load_test
from bigfleet.cli.output import current_output, set_output
from bigfleet.cli.request_options import EXIT_UNREACHABLE
from bigfleet.up.sizes import SIZES

PARTS = ("load", "failover", "rebalance")
STATED_FOR = "Budgets are stated for two idle cores with a machine-speed unit of about 65 ms."
#: What a part is measured with, and the measuring.
Part = tuple[Any, Callable[[Any, Say], Coroutine[Any, Any, list[Measure]]]]


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
def coordinator(parts: tuple[str, ...], interval: float, full: bool) -> None:
    """Measure a coordinator: all three parts, or those that are named.

    \b
    load       one coordinator on SQLite, 200 simulated shards, 100,000 domains
    failover   three coordinators over three etcd members; the leader is lost
    rebalance  three shards; one of them needs what the others have idle

    The exit code is 0 with every verdict, because a busy machine is not a defect.
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
        _show_part(part, measures, asdict(what[part][0]))


def measured(part: Part, say: Say) -> list[Measure]:
    given, measure = part
    return run_load_test(beside_the_machine(measure(given, say)))


def _show_part(part: str, measures: Sequence[Measure], given: dict[str, Any]) -> None:
    words = ", ".join(f"{name.replace('_', ' ')} {value:g}" for name, value in given.items())
    print_measures(measures, f"Settings: {words}.\n{STATED_FOR}\n", part, **given)
    # The rows of the next part go on below the same headings.
    set_output(replace(current_output(), headers=current_output().format != "csv"))


@contextmanager
def progress(part: str) -> Iterator[Say]:
    """What a load test is doing, on a terminal only."""
    from rich.console import Console

    with Console(stderr=True).status(part) as status:
        yield lambda text: status.update(f"{part}: {text}")


@click.command(short_help="Load one shard with operators and a provider.")
@click.option(
    "--machines", type=click.IntRange(100), default=20_000, show_default=True, help="In the fleet."
)
@click.option(
    "--sessions", type=click.IntRange(1), default=1_000, show_default=True, help="Clusters."
)
@click.option(
    "--rollups-per-second",
    type=click.FloatRange(0, min_open=True),
    default=100.0,
    show_default=True,
    help="Over all clusters, each different from the cluster's last.",
)
@click.option(
    "--rows", type=click.IntRange(1), default=10, show_default=True, help="Needs of a cluster."
)
@click.option(
    "--seconds",
    type=click.FloatRange(0, min_open=True),
    default=10.0,
    show_default=True,
    help="How long each of the four phases is watched.",
)
@click.option(
    "--full",
    is_flag=True,
    help=f"The sizes of the budget: {FULL.machines:,} machines, {FULL.sessions:,} sessions, "
    f"{FULL.rollups_per_second:g} roll-ups a second, {FULL.seconds:g} s a phase.",
)
@prints_measures
def shard(
    machines: int,
    sessions: int,
    rollups_per_second: float,
    rows: int,
    seconds: float,
    full: bool,
) -> None:
    """Load one shard and measure cycles, stalls, memory and the way from roll-up to Configure.

    Four phases: at rest; with roll-ups; at rest with clusters that ask for a machine each; with
    both. Then cycles with the verifier on and off, and with the watch for thrash on and off. The
    exit code is 0 with every verdict, because a busy machine is not a defect.
    """
    scale = FULL if full else ShardScale(machines, sessions, rows, rollups_per_second, seconds)
    if scale.sessions * scale.bound + scale.idle > scale.machines:
        raise click.UsageError(
            f"{scale.sessions:,} sessions with {scale.rows} Needs each take "
            f"{scale.sessions * scale.bound + scale.idle:,} machines with the idle ones; "
            "give more --machines, or fewer --sessions or --rows"
        )
    measures = run_load_test(shard_load.measured(scale))
    print_measures(measures, shard_load.STATED_FOR, **asdict(scale))


@click.command(short_help="Measure the roll-up of a cluster against its budget.")
@click.option("--requests", type=click.IntRange(100), default=rollup.BUDGETED, show_default=True)
@prints_measures
def operator(requests: int) -> None:
    """Measure the roll-up of one cluster: from nothing, after a few changes, and its memory.

    Every row of the operator's performance budget is there, with its verdict; the exit code is 0
    either way, because a busy machine is not a defect.
    """
    print_measures(rollup.measured(requests), rollup.STATED_FOR, requests=requests)


@click.command(short_help="Measure what the journal costs and how soon cycles answer.")
@click.argument(
    "shape",
    type=click.Choice(list(SHAPES), case_sensitive=False),
    default=journal_bench.BUDGETED,
    metavar="[SHAPE]",
)
@click.option(
    "--scale",
    type=click.FloatRange(0, min_open=True),
    default=1.0,
    show_default=True,
    help="Multiply the size of the shape.",
)
@click.option(
    "--part",
    "parts",
    multiple=True,
    type=click.Choice(journal_bench.PARTS),
    help="Measure only this part; may be repeated.",
)
@click.option(
    "--cycles",
    type=click.IntRange(1),
    default=120,
    show_default=True,
    help="Measured, with the journal on, and as many with it off.",
)
@click.option(
    "--diff-cycles",
    type=click.IntRange(1),
    default=7_200,
    show_default=True,
    help="Cycles of a second in the journal that is compared.",
)
@prints_measures
def journal(
    shape: str, scale: float, parts: tuple[str, ...], cycles: int, diff_cycles: int
) -> None:
    """Measure the journal on a SHAPE of `bigfleet bench --list`, uber-50k by default.

    \b
    recording  bytes of a cycle and of a day
    questions  why, why-not and what-if, asked in this process
    living     a shard of the shape, a process of its own: its cycles with the journal on and off,
               with the ledger of costs on and off and beside two what-ifs, and why over its admin
               RPC
    diff       an upgrade diff of some hours at 4,586 machines, and what it makes of a day
    costs      a day of uber-5k in the ledger of costs, and how soon it is told

    The exit code is 0 with every verdict, because a busy machine is not a defect.
    """
    from bigfleet.cli.progress import compile_all

    compile_all()
    given = journal_bench.JournalScale(SHAPES[shape], scale, cycles, diff_cycles)
    with progress("journal") as say:
        measuring = journal_bench.measured(given, parts or journal_bench.PARTS, say)
        measures = run_load_test(beside_the_machine(measuring))
    print_measures(
        measures,
        journal_bench.STATED_FOR,
        shape=shape,
        scale=scale,
        cycles=cycles,
        diffCycles=diff_cycles,
    )


@click.command(short_help="Measure how soon `bigfleet up` is ready, its memory, and its end.")
@click.option(
    "--size",
    type=click.Choice(list(SIZES)),
    default="small",
    show_default=True,
    help="Of the fleet.",
)
@click.option(
    "--for",
    "seconds",
    type=DURATION,
    default="60s",
    show_default=True,
    help="How long it lives before it is ended.",
)
@prints_measures
def up(size: str, seconds: float) -> None:
    """Start `bigfleet up` as people do, once alone and twice side by side, and end it by Ctrl-C.

    Measured are the time until the page and the first cycle are there, the memory of the process
    and of those it starts, the time until it has ended, and what it leaves: processes, ports,
    files. The kernels are compiled before.

    The exit code is 0 with every verdict, because a busy machine is not a defect.

    \b
    Examples:
      bigfleet bench up
      bigfleet bench up --size large --for 5m
    """
    from bigfleet.cli.progress import compile_all

    compile_all()
    with progress("up") as say:
        measuring = up_bench.measured(up_bench.UpScale(size, seconds), say)
        measures = run_load_test(beside_the_machine(measuring))
    print_measures(measures, up_bench.STATED_FOR, size=size, seconds=seconds)
