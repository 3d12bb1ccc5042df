"""Files of a process: a lock, so that a data dir has one tenant at a time; and files that are there
whole or not at all, even after a crash while they are written.
"""

import fcntl
import os
from pathlib import Path

from bigfleet.model.errors import StartRefused

LOCK_FILE = "lock"


class DirLock:
    """Held for the life of the process; the kernel drops it with the process."""

    def __init__(self, data_dir: Path, tenant: str) -> None:
        """Makes the folder where there is none; raises StartRefused. `tenant`: a shard, say."""
        self._path = data_dir / LOCK_FILE
        try:
            data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._handle = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as problem:
            raise _unusable(data_dir, problem) from problem
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            holder = os.pread(self._handle, 32, 0).decode(errors="replace").strip()
            os.close(self._handle)
            raise StartRefused(
                f"data dir {data_dir} is in use by process {holder or 'unknown'}; "
                f"stop that one, or give each {tenant} a --data-dir of its own"
            ) from None
        try:
            os.ftruncate(self._handle, 0)
            os.pwrite(self._handle, f"{os.getpid()}\n".encode(), 0)
        except OSError as problem:
            os.close(self._handle)
            raise _unusable(data_dir, problem) from problem

    def release(self) -> None:
        os.close(self._handle)


def _unusable(data_dir: Path, problem: OSError) -> StartRefused:
    return StartRefused(
        f"data dir {data_dir} cannot be used: {problem.strerror}; "
        "name another with --data-dir, or let this user write there"
    )


def write_whole(
    path: Path, content: bytes, unfinished: Path | None = None, mode: int = 0o600
) -> None:
    """Under its name when all of it is on disk, and not before; raises OSError.

    `unfinished` is where it lies until then, for writers of the same file beside each other.
    """
    unfinished = unfinished or path.with_name(f".{path.name}.new")
    try:
        handle = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
        with os.fdopen(handle, "wb") as file:
            # What an earlier write left there may be readable for others.
            os.fchmod(handle, os.fstat(handle).st_mode & mode)
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
    except OSError:
        unfinished.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """What was named, renamed or linked there stays so."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
