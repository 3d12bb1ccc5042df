"""Before a shard may speak: in which life it speaks.

Each start has a higher epoch than every start before it; providers refuse what comes from a lower
one. So the epoch is on disk, synced, before anything is sent with it.
"""

from pathlib import Path

from bigfleet.edge.files import write_whole
from bigfleet.model.errors import StartRefused

EPOCH_FILE = "epoch"
_HIGHEST = 2**62


def next_epoch(data_dir: Path) -> int:
    """One more than the last start had, durable when this returns; raises StartRefused."""
    path = data_dir / EPOCH_FILE
    epoch = _last_epoch(path) + 1
    try:
        write_whole(path, f"{epoch}\n".encode())
    except OSError as problem:
        raise StartRefused(
            f"{path} cannot be written: {problem.strerror}; without a new epoch this shard could "
            "be taken for its former self, so free the disk or mend the rights and start again"
        ) from problem
    return epoch


def _last_epoch(path: Path) -> int:
    try:
        text = path.read_text()
    except FileNotFoundError:
        return 0
    except (OSError, UnicodeDecodeError) as problem:
        raise _unreadable(path, str(problem)) from problem
    digits = text.strip()
    if not (digits.isascii() and digits.isdecimal() and 0 < int(digits) < _HIGHEST):
        raise _unreadable(path, f"it holds {text[:40]!r}, not a number above 0")
    return int(digits)


def _unreadable(path: Path, problem: str) -> StartRefused:
    return StartRefused(
        f"{path} cannot be read: {problem}. It holds the number of this shard's last start; with a "
        "lower one every provider refuses it. Write a number into it that is surely higher than "
        "the last (the metric bigfleet_shard_epoch and every provider's log have it), then start "
        "again"
    )
