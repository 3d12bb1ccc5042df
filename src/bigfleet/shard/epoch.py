"""Before a shard may speak: that nobody else uses its data dir, and in which life it speaks.

Each start has a higher epoch than every start before it; providers refuse what comes from a lower
one. So the epoch is on disk, synced, before anything is sent with it.
"""

import fcntl
import os
from pathlib import Path

LOCK_FILE = "lock"
EPOCH_FILE = "epoch"
_HIGHEST = 2**62


class StartRefused(Exception):
    """The shard must not start; the text says what happened, why, and what to do."""


class DirLock:
    """Held for the life of the process; the kernel drops it with the process."""

    def __init__(self, data_dir: Path) -> None:
        """Makes the folder where there is none; raises StartRefused."""
        self._path = data_dir / LOCK_FILE
        try:
            data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._handle = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as problem:
            raise StartRefused(
                f"data dir {data_dir} cannot be used: {problem.strerror}; "
                "name another with --data-dir, or let this user write there"
            ) from problem
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            holder = os.pread(self._handle, 32, 0).decode(errors="replace").strip()
            os.close(self._handle)
            raise StartRefused(
                f"data dir {data_dir} is in use by process {holder or 'unknown'}; "
                "stop that one, or give each shard a --data-dir of its own"
            ) from None
        os.ftruncate(self._handle, 0)
        os.pwrite(self._handle, f"{os.getpid()}\n".encode(), 0)

    def release(self) -> None:
        os.close(self._handle)


def next_epoch(data_dir: Path) -> int:
    """One more than the last start had, durable when this returns; raises StartRefused."""
    path = data_dir / EPOCH_FILE
    epoch = _last_epoch(path) + 1
    try:
        _write_durably(path, f"{epoch}\n".encode())
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


def _write_durably(path: Path, content: bytes) -> None:
    """Whole or not at all, also through a loss of power."""
    fresh = path.with_name(path.name + ".new")
    handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(handle)
    os.replace(fresh, path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
