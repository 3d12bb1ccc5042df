"""`bigfleet simulate`: a scenario in virtual time, for one seed or many, and whether it held."""

import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bigfleet.cli.output import current_output, prints_document
from bigfleet.cli.terminal import escaped, refuse
from bigfleet.model.errors import BadInput

if TYPE_CHECKING:
    from bigfleet.simulation.scenario import Scenario
    from bigfleet.simulation.simulator import Outcome

_MOST_SEEDS = 1_000_000
#: Violations and failed assertions of one seed that are shown in a table.
_MOST_SHOWN = 5


class Seeds(click.ParamType["tuple[int, ...]"]):
    """`7`, `1..100`, `3,8,12`."""

    name = "seeds"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, ...]:
        first, dots, last = str(value).partition("..")
        words = [first, last] if dots else str(value).split(",")
        if not all(word.isdecimal() and len(word) < 10 for word in words):
            self.fail(f"{value!r} are not seeds; write 7, 1..100 or 3,8,12", param, ctx)
        numbers = [int(word) for word in words]
        if not dots:
            return tuple(numbers)
        if not 0 <= numbers[1] - numbers[0] < _MOST_SEEDS:
            self.fail(f"{value!r}: the second seed is below the first, or too far", param, ctx)
        return tuple(range(numbers[0], numbers[1] + 1))


@click.command(no_args_is_help=True)
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--seeds",
    type=Seeds(),
    metavar="1..N",
    help="One run for each: 7, 1..100 or 3,8,12; without, the seed of the file.",
)
@click.option(
    "--journal",
    type=click.Path(file_okay=False, path_type=Path),
    help="Write the shard's journal there, for replay, why and the page; of one run.",
)
@click.option(
    "--trace",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write a line for everything that happens to this file; of one run.",
)
@prints_document("Tables for people; one document for programs.")
def simulate(
    files: tuple[Path, ...],
    seeds: tuple[int, ...] | None,
    journal: Path | None,
    trace: Path | None,
) -> None:
    """Run the scenarios in FILES in virtual time, and say whether what they assert holds.

    A scenario describes a fleet, clusters and their demand, what happens to them, and what must
    hold. The shard, the operators and the provider's rules are the real ones; machines, pods,
    networks and clocks are simulated. The same seed gives the same run on every machine. Laws that
    hold in every fleet are checked all the time: no machine bound twice, owned metal never deleted,
    nothing reclaimed before a cluster has reported, and more.

    \b
    Exit codes: 0 everything held, 1 an assertion failed or a law was broken, 2 a file is bad.

    \b
    Examples:
      bigfleet simulate scenarios/quiet-day.yaml
      bigfleet simulate scenarios/*.yaml
      bigfleet simulate scenarios/mixed-faults.yaml --seeds 1..100
      bigfleet simulate scenarios/quiet-day.yaml --journal run    then: bigfleet replay run
      bigfleet simulate scenarios/quiet-day.yaml -o json | jq .runs[0].assertions
    """
    scenarios = [(path, _loaded(path)) for path in files]
    wanted = [
        (path, scenario, seed)
        for path, scenario in scenarios
        for seed in (seeds or (scenario.seed,))
    ]
    if len(wanted) > 1 and (journal or trace):
        raise click.UsageError("--journal and --trace are of one run: give one file and one seed")
    if journal is not None and journal.exists() and any(journal.iterdir()):
        raise refuse([f"--journal: {journal} is not empty; name another directory"])
    from bigfleet.cli.progress import compile_all

    compile_all()
    outcomes: list[tuple[Path, Outcome]] = []
    with _bar(sum(scenario.duration for _, scenario, _ in wanted)) as advance:
        for path, scenario, seed in wanted:
            outcomes.append((path, _run(scenario, seed, journal, trace, advance)))
    if current_output().is_document:
        from bigfleet.cli.tables import write_document
        from bigfleet.simulation.report import outcome_document

        write_document({"runs": [outcome_document(outcome) for _, outcome in outcomes]})
    else:
        _print_tables(outcomes)
    if not all(outcome.ok for _, outcome in outcomes):
        raise click.exceptions.Exit(1)


def _loaded(path: Path) -> "Scenario":
    from bigfleet.simulation.scenario_file import load_scenario

    try:
        return load_scenario(path.read_bytes(), path.parent)
    except OSError as problem:
        raise refuse([f"{path}: {problem.strerror}"]) from None
    except BadInput as problem:
        lines = [f"{path}: {each}" for each in problem.problems]
        more = [f"and {problem.left_out:,} more"] if problem.left_out else []
        raise refuse([*lines, *more]) from None


def _run(
    scenario: "Scenario",
    seed: int,
    journal: Path | None,
    trace: Path | None,
    advance: Callable[[float], None],
) -> "Outcome":
    from bigfleet.simulation.simulator import Simulator

    with ExitStack() as stack:
        if journal is None and scenario.replays:
            journal = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        tell = None
        if trace is not None:
            file = stack.enter_context(trace.open("w"))
            tell = lambda line: print(line, file=file)  # noqa: E731
        try:
            return Simulator(scenario, seed, journal, tell).run(advance)
        except BadInput as problem:
            raise refuse([str(each) for each in problem.problems]) from None


@contextmanager
def _bar(seconds: float) -> Iterator[Callable[[float], None]]:
    """Simulated time on standard error, for a person at a terminal."""
    if not sys.stderr.isatty():
        yield lambda second: None
        return
    with click.progressbar(length=round(seconds), label="simulated", file=sys.stderr) as bar:
        yield lambda second: bar.update(1)


def _print_tables(outcomes: "list[tuple[Path, Outcome]]") -> None:
    from bigfleet.cli.table_text import Head
    from bigfleet.cli.tables import Page, Table
    from bigfleet.simulation.report import outcome_document, repeat_command

    page = Page.on_stdout("auto")
    heads = ("SCENARIO", "SEED", "HELD", "SIMULATED", "CYCLES", "ACTIONS", "COST", "COVER P95")
    table = Table([Head(name) for name in heads])
    for _, outcome in outcomes:
        document = outcome_document(outcome)
        table.add_row(
            outcome.scenario,
            str(outcome.seed),
            "yes" if outcome.ok else "no",
            f"{outcome.seconds:g} s",
            f"{outcome.cycles:,}",
            f"{sum(document['actions'].values()):,}",
            f"${document['costDollars']:.2f}",
            f"{document['timeToCoverSeconds']['p95']:.0f} s",
        )
    page.show(table)
    for path, outcome in outcomes:
        _tell_failures(page.say, outcome)
        if not outcome.ok:
            page.say(f"again: {repeat_command(str(path), outcome.seed)}")
    page.write()


def _tell_failures(say: Callable[[str], None], outcome: "Outcome") -> None:
    who = f"{outcome.scenario}, seed {outcome.seed}"
    for result in [each for each in outcome.results if not each.holds][:_MOST_SHOWN]:
        values = ", ".join(f"{name} = {value:g}" for name, value in result.values.items())
        say("")
        say(escaped(f"{who}: {result.name}: {result.why} at {result.seconds:g} s ({values})"))
        say(escaped(f"  {result.text}"))
        for line in result.decisions:
            say(escaped(f"  {line}"))
    for broken in outcome.violations[:_MOST_SHOWN]:
        say("")
        say(escaped(f"{who}: law {broken.law} broken at {broken.seconds:g} s: {broken.text}"))
        for line in broken.decisions:
            say(escaped(f"  {line}"))
    more = len(outcome.violations) - _MOST_SHOWN
    if more > 0:
        say(f"and {more} more violations; -o json has all")
