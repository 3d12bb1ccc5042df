"""A data dir has one tenant at a time: a lock beside what lies in it."""

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
