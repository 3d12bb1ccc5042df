"""The check: every mutant in a copy of its own, as many at a time as there are cores."""

import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from tests.mutants.catalogue import CATALOGUE
from tests.mutants.mutant import PACKAGE, Mutant, Seen, copy_package
from tests.mutants.warm_process import answer_killing_test, warm_context

#: How far a killing test goes before it lets a mutant live: some ten seconds on a quiet core.
FLEETS, LOOPS = 4_000, 100
TIMEOUT_SECONDS = 300


class MutantResult(StrEnum):
    KILLED = "killed"
    SURVIVED = "SURVIVED"
    #: The text to be flipped is not in the source exactly once.
    UNFIT = "UNFIT"
    #: The killing test did not run to its end: an import error, a hang.
    BROKEN = "BROKEN"


@dataclass(frozen=True, slots=True)
class Verdict:
    mutant: Mutant
    fate: MutantResult
    #: What killed it, such as `fleet 17`, or what went wrong.
    by: str
    seconds: float


def judge(mutant: Mutant, base: Path) -> Verdict:
    """`base` is a copy of the package that does not change while mutants are made of it."""
    started = time.perf_counter()

    def verdict(fate: MutantResult, by: str) -> Verdict:
        return Verdict(mutant, fate, by, time.perf_counter() - started)

    found = mutant.occurrences(base)
    if found != 1:
        return verdict(MutantResult.UNFIT, f"{mutant.file}: its text occurs {found} times")
    with tempfile.TemporaryDirectory(prefix="bigfleet-mutant-") as folder:
        package = copy_package(base, Path(folder))
        mutant.write(package)
        return verdict(*killing_test(package, mutant.seen_in))


def killing_test(
    package: Path, first: Seen, fleets: int = FLEETS, loops: int = LOOPS
) -> tuple[MutantResult, str]:
    """Runs it on this copy, in a process that ends with it."""
    context = warm_context()
    here, there = context.Pipe(duplex=False)
    arguments = (there, package, first, fleets, loops)
    process = context.Process(target=answer_killing_test, args=arguments, daemon=True)
    process.start()
    there.close()
    try:
        answer = here.recv() if here.poll(TIMEOUT_SECONDS) else TimeoutError("it did not end")
    except EOFError:
        answer = RuntimeError("it ended without a word")
    process.kill()
    process.join()
    if isinstance(answer, Exception):
        return MutantResult.BROKEN, str(answer)
    return (
        (MutantResult.SURVIVED, "")
        if answer is None
        else (MutantResult.KILLED, answer.partition("\n")[0])
    )


def verdicts_on(mutants: Sequence[Mutant]) -> Iterator[Verdict]:
    """As they fall; the source is copied once, so that no edit reaches a running check."""
    with tempfile.TemporaryDirectory(prefix="bigfleet-mutants-") as folder:
        base = copy_package(PACKAGE, Path(folder))
        warm_context()
        with ThreadPoolExecutor(os.cpu_count()) as workers:
            for done in as_completed([workers.submit(judge, m, base) for m in mutants]):
                yield done.result()


def main(words: Sequence[str]) -> int:
    console = Console(width=None if sys.stdout.isatty() else 140)
    mutants = [m for m in CATALOGUE if all(word in f"{m.file} {m.breaks}" for word in words)]
    started = time.perf_counter()
    found = followed(verdicts_on(mutants), len(mutants), console)
    order = {mutant.breaks: number for number, mutant in enumerate(mutants)}
    found.sort(key=lambda verdict: order[verdict.mutant.breaks])
    console.print(report_of(found))
    count = Counter(verdict.fate for verdict in found)
    tally = ", ".join(f"{count[fate]} {fate.value.lower()}" for fate in MutantResult)
    console.print(f"{len(found)} mutants: {tally}; {time.perf_counter() - started:.0f} s")
    return 0 if found and count[MutantResult.KILLED] == len(found) else 1


def followed(verdicts: Iterator[Verdict], total: int, console: Console) -> list[Verdict]:
    """Collects them behind a bar, if there is a terminal to draw it on."""
    found: list[Verdict] = []
    columns = (
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.description}"),
    )
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task("", total=total)
        for verdict in verdicts:
            found.append(verdict)
            alive = sum(v.fate is not MutantResult.KILLED for v in found)
            bar.update(task, advance=1, description=f"{alive} not killed" if alive else "")
    return found


def report_of(found: Sequence[Verdict]) -> Table:
    table = Table(box=None, header_style="", pad_edge=False)
    table.add_column("mutant", overflow="fold")
    for name in ("fate", "by"):
        table.add_column(name, overflow="fold")
    table.add_column("s", justify="right")
    for verdict in found:
        style = "" if verdict.fate is MutantResult.KILLED else "bold red"
        row = (verdict.mutant.breaks, verdict.fate.value, verdict.by, f"{verdict.seconds:.1f}")
        table.add_row(*row, style=style)
    return table
