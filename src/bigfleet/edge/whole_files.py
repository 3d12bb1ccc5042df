"""Files that are there whole or not at all, even after a crash while they are written."""

import os
from pathlib import Path


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
