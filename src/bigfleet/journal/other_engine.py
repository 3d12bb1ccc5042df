"""An engine of another version: another interpreter that reads the journal and answers in lines.

`python -m bigfleet.journal.other_engine JOURNAL FIRST LAST [NAME=VALUE...]` is what it runs; FIRST
and LAST are `<epoch>:<cycle>`. Beside options of the engine, `mode=closed` makes it live with what
it decides, with latencies as `latency.create.Spot=31s`; an older engine says that it knows no such
option. What it writes to standard error is the reason if it ends early.
"""

import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from bigfleet.journal.answers import Answer, answer_of_line, line_of
from bigfleet.journal.closed_diffs import ClosedEngine
from bigfleet.journal.diffs import Candidate, this_engine
from bigfleet.journal.history import History, RecordedCycle
from bigfleet.journal.segments import records_in_order, segments_of
from bigfleet.model.latencies import Latencies, latencies_of

_MODULE = "bigfleet.journal.other_engine"
_CLOSED = ("mode", "closed")
_LATENCY = "latency."
_MOST_OF_AN_ERROR = 2000


def closed_settings(settings: Mapping[str, str], latencies: Latencies) -> dict[str, str]:
    """What the other engine is told so that it lives with what it decides."""
    named = {f"{_LATENCY}{name}": text for name, text in latencies.texts.items()}
    return {**settings, **dict([_CLOSED]), **named}


class BrokenEngine(Exception):
    """A sentence that names the interpreter."""


@contextmanager
def other_engine(
    python: str,
    journal: Path,
    span: tuple[tuple[int, int], tuple[int, int]],
    settings: Mapping[str, str],
) -> Iterator[Candidate]:
    """Raises BrokenEngine, also from the candidate."""
    names = [f"{epoch}:{cycle}" for epoch, cycle in span]
    texts = [f"{name}={value}" for name, value in settings.items()]
    command = [python, "-m", _MODULE, str(journal.absolute()), *names, *texts]
    try:
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    except OSError as problem:
        raise BrokenEngine(f"{python} cannot be run: {problem.strerror}") from None
    assert child.stdout is not None
    assert child.stderr is not None
    lines, errors = child.stdout, child.stderr

    def answer(cycle: RecordedCycle) -> Answer:
        return _answer(python, lines, errors, cycle)

    try:
        yield answer
    finally:
        child.kill()
        child.wait()
        lines.close()
        errors.close()


def _answer(python: str, lines: IO[bytes], errors: IO[bytes], cycle: RecordedCycle) -> Answer:
    name = f"{cycle.epoch}:{cycle.given.cycle}"
    text = lines.readline()
    if not text:
        why = errors.read().decode(errors="replace").strip().splitlines()[-1:]
        told = why[0][:_MOST_OF_AN_ERROR] if why else "it said nothing"
        raise BrokenEngine(f"{python} ended before cycle {name}: {told}")
    try:
        found = answer_of_line(text)
    except ValueError as problem:
        raise BrokenEngine(f"{python}, cycle {name}: {problem}") from None
    if found.name != name:
        raise BrokenEngine(f"{python} answered for cycle {found.name}, asked for {name}")
    return found


def until(cycles: Iterable[RecordedCycle], last: tuple[int, int]) -> Iterator[RecordedCycle]:
    for cycle in cycles:
        if (cycle.epoch, cycle.given.cycle) > last:
            return
        yield cycle


def answer_all(arguments: list[str], out: IO[bytes]) -> None:
    journal, first, last = Path(arguments[0]), _cycle(arguments[1]), _cycle(arguments[2])
    answer = _engine_of(dict(text.split("=", 1) for text in arguments[3:]))
    records = records_in_order(segments_of(journal), first)
    for cycle in until(History(first).cycles(records), last):
        out.write(line_of(answer(cycle)))
        out.flush()


def _engine_of(texts: Mapping[str, str]) -> Candidate:
    said = {
        name.removeprefix(_LATENCY): text
        for name, text in texts.items()
        if name.startswith(_LATENCY)
    }
    own = (_CLOSED[0], *(f"{_LATENCY}{name}" for name in said))
    settings = {name: text for name, text in texts.items() if name not in own}
    if _CLOSED not in texts.items():
        return this_engine(texts)
    engine = ClosedEngine(settings, latencies_of(said))
    return lambda cycle: engine.answer(cycle, "")


def _cycle(text: str) -> tuple[int, int]:
    epoch, cycle = text.split(":")
    return int(epoch), int(cycle)


if __name__ == "__main__":
    answer_all(sys.argv[1:], sys.stdout.buffer)
