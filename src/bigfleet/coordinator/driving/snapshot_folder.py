"""A folder of snapshots: whole files only, a link to the latest, and not too many of them."""

from pathlib import Path

from bigfleet.coordinator.snapshots import file_bytes
from bigfleet.edge.files import sync_folder, write_whole
from bigfleet.wire.coordinator_handlers import Snapshot

LATEST = "latest"
ENDING = ".snapshot"
#: An hour of them at the default interval.
KEPT = 12


class SnapshotFolder:
    def __init__(self, folder: Path, replica: str) -> None:
        """Replicas may share a folder; each writes under a name of its own first."""
        self._folder = folder
        self._unfinished = f".{replica}.new"

    def write(self, snapshot: Snapshot) -> Path:
        """Durable when it returns; raises OSError, and then `latest` is what it was."""
        self._folder.mkdir(parents=True, exist_ok=True)
        meta = snapshot.meta
        # The names sort by time.
        path = self._folder / f"{meta.created_unix_nanos:020d}-{meta.term}-{meta.index}{ENDING}"
        write_whole(path, file_bytes(snapshot), self._folder / self._unfinished)
        link = self._folder / f"{self._unfinished}.link"
        link.unlink(missing_ok=True)
        link.symlink_to(path.name)
        link.replace(self._folder / LATEST)
        sync_folder(self._folder)
        self._forget_old(path)
        return path

    def _forget_old(self, newest: Path) -> None:
        files = sorted(self._folder.glob(f"*{ENDING}"))
        for path in files[:-KEPT]:
            if path != newest:
                path.unlink(missing_ok=True)
