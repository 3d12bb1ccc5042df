"""`bigfleet plan`: one cycle's decision on a fleet file, printed for people or programs."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import click

from bigfleet.cli.output import current_output, prints_list
from bigfleet.cli.sources import fleet_from
from bigfleet.cli.terminal import json_escaped, refuse, write_out

if TYPE_CHECKING:
    from bigfleet.model.fleet import Fleet
    from bigfleet.plan.cycles import PlannedCycle

#: Of the table of actions, which -o csv, -o name and --sort-by are about.
ACTION_COLUMNS = ("ACTION", "MACHINE", "CLUSTER", "TYPE", "ZONE", "CAPACITY", "$/H", "WHY")


@click.command(no_args_is_help=True)
@click.argument("file")
@click.option(
    "--explain", is_flag=True, help="Every reason with its facts, for each action and Need."
)
@click.option(
    "--demand",
    multiple=True,
    metavar="'[cluster=NAME] xF'",
    help="Plan with F times the demand of a cluster, or of all; may be repeated.",
)
@click.option("--verify", is_flag=True, help="Check the actions with the independent verifier.")
@click.option(
    "--workers",
    type=click.IntRange(1, 256),
    default=1,
    show_default=True,
    help="Threads of the engine; the outcome is the same for any number.",
)
@prints_list(
    lambda: ACTION_COLUMNS,
    "Tables for people; one document, or the actions as a list, for programs.",
)
@click.option(
    "--color",
    type=click.Choice(["auto", "always", "never"]),
    default="auto",
    show_default=True,
    help="auto: only on a terminal.",
)
@click.option(
    "--limit",
    type=click.IntRange(0),
    default=20,
    show_default=True,
    help="Rows per table; 0 shows all. JSON, YAML and CSV are never cut.",
)
def plan(
    file: str,
    explain: bool,
    demand: tuple[str, ...],
    verify: bool,
    workers: int,
    color: str,
    limit: int,
) -> None:
    """Print what one cycle would decide on FILE: nothing is changed anywhere.

    FILE is a fleet file: YAML, JSON, or .jsonl for large fleets, each also packed as .gz; "-" reads
    standard input. Every problem of a bad file is printed at once, with its path and the remedy.

    \b
    Examples:
      bigfleet plan fleet.yaml                     what changes, per cluster, in $/h, and why
      bigfleet plan fleet.yaml --explain           all reasons with their numbers
      bigfleet plan fleet.yaml -o json | jq .summary
      bigfleet plan fleet.yaml --verify            exit 1 if an action breaks an invariant
      zcat dump.jsonl.gz | bigfleet plan -
      bigfleet snapshot fleet - | bigfleet plan -  what the live fleet does next
      bigfleet snapshot fleet - | bigfleet plan - --demand 'cluster=shop x1.5'

    \b
    A small fleet file:
      version: 1
      kind: Fleet
      machines:
        - {id: "od-{00}", count: 4, state: Speculative, capacityType: OnDemand,
           pricePerHour: 0.38, resources: {cpu: 8, memory: 32Gi}}
      needs:
        - {cluster: shop, priority: 100, aggregateResources: {cpu: 12}, minUnit: {cpu: 2}}
    """
    fleet = _with_demand(fleet_from(file), demand)
    from bigfleet.cli.progress import compile_all
    from bigfleet.plan.cycles import planned_cycles

    compile_all()
    with ThreadPoolExecutor(workers) as threads:
        cycles = planned_cycles(
            fleet,
            workers=workers,
            clock=time.perf_counter,
            run_workers=threads.map,
            verify=verify,
        )
        planned = list(cycles) if verify else cycles
        if current_output().is_document:
            _print_document(iter(planned), explain=explain)
        else:
            _print_tables(list(planned), explain=explain, limit=limit, color=color)
    if verify and any(_broken(cycle) for cycle in planned):
        raise click.exceptions.Exit(1)


def _broken(cycle: "PlannedCycle") -> bool:
    """Whether an invariant is; what a policy holds back is no fault of the plan."""
    from bigfleet.verifier.facts import POLICIES

    return any(veto.invariant not in POLICIES for veto in (cycle.vetoes or {}).values())


def _with_demand(fleet: "Fleet", wanted: tuple[str, ...]) -> "Fleet":
    from bigfleet.plan.demand_scale import scale_of, scaled

    try:
        return scaled(fleet, [scale_of(text) for text in wanted])
    except ValueError as problem:
        raise refuse([f"--demand: {problem}"]) from None


def _print_document(cycles: Iterator["PlannedCycle"], *, explain: bool) -> None:
    import msgspec

    from bigfleet.cli.tables import write_document
    from bigfleet.plan.document import plan_document

    document = plan_document(cycles, explain=explain)
    if current_output().format == "yaml":
        write_document(msgspec.to_builtins(document))
        return
    content = msgspec.json.format(msgspec.json.encode(document), indent=2)
    write_out(json_escaped(content) + b"\n")


def _print_tables(cycles: "list[PlannedCycle]", *, explain: bool, limit: int, color: str) -> None:
    from bigfleet.cli.plan_table import fill
    from bigfleet.cli.tables import Page

    page = Page.on_stdout(color)
    shown = 0 if current_output().format in ("csv", "name") else limit
    fill(page, cycles, explain=explain, limit=shown)
    page.write()
