"""A store that forgets with its process: for tests, and for `--state` left empty."""

from itertools import islice
from pathlib import Path

from bigfleet.provider.driver import fresh_incarnation
from bigfleet.provider.ledger.fences import KeptMark, MarkKey
from bigfleet.provider.stores.store import Batch, JournalRow, LoadedState, MachineRow

#: Memory is dearer than a disk, and old rows are of little use when all end with the process.
ROWS = 20_000


class MemoryStore:
    """Every load is a new incarnation, so that no cursor of an earlier life is taken for ours."""

    blocking = False

    def __init__(self, incarnation: str | None = None) -> None:
        self._incarnation = incarnation or fresh_incarnation()
        self._lives = 0
        self._revision = 0
        self._counter = 0
        self._machines: dict[int, MachineRow] = {}
        self._marks: dict[MarkKey, KeptMark] = {}
        self._journal: dict[str, JournalRow] = {}

    def load(self) -> LoadedState:
        self._lives += 1
        pending = tuple(row for row in self._journal.values() if not row.outcome)
        return LoadedState(
            f"{self._incarnation}{self._lives}",
            self._revision,
            self._counter,
            tuple(self._machines.values()),
            tuple(self._marks.values()),
            pending,
        )

    def commit(self, batch: Batch) -> None:
        self._revision, self._counter = batch.revision, batch.counter
        for slot in batch.freed_slots:
            self._machines.pop(slot, None)
        for machine in batch.machines:
            self._machines[machine.slot] = machine
        for key in batch.dropped_marks:
            self._marks.pop(key, None)
        for kept in batch.marks:
            self._marks[kept.key] = kept
        for row in batch.journal:
            self._journal[row.operation_id] = row
        if batch.forget_before:
            self._forget(batch.forget_before, min(batch.keep_rows or ROWS, ROWS))

    def _forget(self, before: int, keep: int) -> None:
        """Rows lie in the order of their acceptance, so the excess is at the front."""
        excess = len(self._journal) - keep
        old = [
            operation_id
            for number, (operation_id, row) in enumerate(self._journal.items())
            if row.outcome and (row.finished_at < before or number < excess)
        ]
        for operation_id in old:
            del self._journal[operation_id]

    def journal(
        self, limit: int = 1000, machine_id: str = "", *, running: bool = False
    ) -> list[JournalRow]:
        found = (
            row
            for row in reversed(self._journal.values())
            if machine_id in ("", row.machine_id) and not (running and row.outcome)
        )
        return list(islice(found, limit))

    def erase(self) -> None:
        """Nothing to do: what is replaced is gone."""

    def backup(self, target: Path) -> None:
        raise OSError(f"nothing to write to {target}: this provider keeps its state in memory")

    def close(self) -> None:
        return None
