"""After a restart: every operation without an outcome is taken up or ended, none is forgotten."""

from collections.abc import Sequence

from bigfleet.edge.clock import Clock
from bigfleet.provider.committer import Committer, WriteSet
from bigfleet.provider.ledger.entries import failed
from bigfleet.provider.ledger.failures import Reason
from bigfleet.provider.logs import Log
from bigfleet.provider.operations.operations import Operations
from bigfleet.provider.stores.store import JournalRow


async def resume(
    owed: Sequence[JournalRow],
    operations: Operations,
    committer: Committer,
    clock: Clock,
    log: Log,
) -> None:
    entries = {entry.running_id: entry for entry in committer.published.entries() if entry.running}
    for row in owed:
        if entries.pop(row.operation_id, None) is not None:
            log.info("operation.resumed", operation=row.operation_id, machine=row.machine_id)
            operations.resume(row)
        else:
            # The machine has moved on: nothing is left to do.
            done = row.finished("dropped", "", clock.now())
            await committer.commit(WriteSet(journal=(done,)))
    for entry in entries.values():
        text = "the provider restarted and knows nothing of the operation"
        lost = failed(entry, Reason.INTERRUPTED, text, clock.now())
        await committer.commit(WriteSet(shown=(lost,)))
