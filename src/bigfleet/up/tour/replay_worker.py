"""The process that decides a piece of a journal again for the tour, so that no cycle waits for it.

Arguments: the directory of the journal, and the instant from which on cycles are decided again.
It prints one JSON object.
"""

import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import orjson

from bigfleet.compiling import compile_kernels
from bigfleet.journal.history import History, RecordedCycle
from bigfleet.journal.replay import replayed
from bigfleet.journal.segments import Segment, records_in_order, segments_of
from bigfleet.model.machines import Instant

NICENESS = 10


def main() -> None:
    directory, since = sys.argv[1:]
    compile_kernels()
    os.nice(NICENESS)
    sys.stdout.buffer.write(orjson.dumps(decided_again(Path(directory), int(since))))


def decided_again(directory: Path, since: Instant) -> dict[str, object]:
    """Of the cycles from `since` on; epochs of a shard that came back included."""
    segments = segments_of(directory)
    first = _first_cycle(segments, since)
    history, names, identical = History(), [], 0
    if first is not None:
        for each in replayed(history.cycles(records_in_order(segments, first)), first=first):
            names.append(f"{each.recorded.epoch}:{each.recorded.given.cycle}")
            identical += each.identical
    missing = sum(int(gap.attributes.get("cycles", "0")) for gap in history.gaps)
    return {
        "cycles": len(names),
        "identical": identical,
        "missing": missing,
        "first": names[0] if names else "",
        "last": names[-1] if names else "",
    }


def _first_cycle(segments: list[Segment], since: Instant) -> tuple[int, int] | None:
    """Segments are looked through from the newest back, as far as it takes."""
    found: tuple[int, int] | None = None
    for place in reversed(range(len(segments))):
        names = list(_since(History().cycles(records_in_order(segments[place : place + 1])), since))
        if not names:
            break
        found = min(name for name, _ in names)
        if not all(whole for _, whole in names):
            break
    return found


def _since(
    cycles: Iterable[RecordedCycle], since: Instant
) -> Iterator[tuple[tuple[int, int], bool]]:
    """The names of those from `since` on, and whether all cycles before were too."""
    whole = True
    for cycle in cycles:
        if (cycle.given.now or 0) < since:
            whole = False
        else:
            yield (cycle.epoch, cycle.given.cycle), whole


if __name__ == "__main__":
    main()
