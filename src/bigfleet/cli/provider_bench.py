"""`bigfleet bench provider` and `bigfleet provider bench`: one command by two names."""

import click

from bigfleet.cli.measures import print_measures, prints_measures, run_load_test


@click.command(short_help="Measure a provider on the SDK against its budget.")
@click.option("--machines", type=click.IntRange(10_000), default=100_000, show_default=True)
@click.option(
    "--store",
    type=click.Choice(["memory", "sqlite", "both"]),
    default="both",
    show_default=True,
    help="Stores to measure mutations with; the other rows need one only.",
)
@prints_measures
def bench(machines: int, store: str) -> None:
    """Measure Lists, Gets, mutations, start, reconcile and memory of a provider.

    It runs on a fake substrate that does everything at once, so what is measured is the SDK. Every
    row of the provider's performance budget is there, with its verdict; the exit code is 0 either
    way, because a busy machine is not a defect.
    """
    from bigfleet.bench.provider.load import STATED_FOR, measured

    measures = run_load_test(measured(machines, store))
    print_measures(measures, STATED_FOR, machines=machines, store=store)
