"""One writer: what waits while a transaction runs goes into the next one together."""

import asyncio
import threading
from pathlib import Path

from bigfleet.model.provider_calls import CreateCall, Peer, Token
from bigfleet.provider import SQLiteStore
from bigfleet.provider.stores.store import Batch
from bigfleet.provider.testing import slots
from tests.provider.rig import running


class Counting(SQLiteStore):
    """Counts transactions and the threads they run in; the first one waits for `gate`."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, "inc")
        self.sizes: list[int] = []
        self.threads: set[int] = set()
        self.gate = threading.Event()
        self.gate.set()

    def commit(self, batch: Batch) -> None:
        self.gate.wait(10)
        self.sizes.append(len(batch.machines))
        self.threads.add(threading.get_ident())
        super().commit(batch)


async def test_mutations_of_many_callers_share_a_transaction(tmp_path: Path) -> None:
    store = Counting(tmp_path / "state.db")
    async with running(slots(100), store=store) as rig:
        store.sizes.clear()
        store.gate.clear()
        answers = rig.server.parts.answers
        calls = [answers.create(CreateCall(f"m-{n}", Token("a", 1, n)), Peer()) for n in range(100)]
        waiting = asyncio.gather(*calls)
        await rig.clock.advance(0)
        store.gate.set()
        await waiting
        assert store.sizes[0] == 100
        assert len(store.threads) == 1


async def test_revisions_follow_the_order_of_commits_and_leave_no_gap(tmp_path: Path) -> None:
    store = Counting(tmp_path / "state.db")
    async with running(slots(20), store=store) as rig:
        answers = rig.server.parts.answers
        calls = [answers.create(CreateCall(f"m-{n}"), Peer()) for n in range(20)]
        await asyncio.gather(*calls)
        while rig.server.parts.operations:
            await asyncio.gather(
                *(r.task for r in rig.server.parts.operations._running.values() if r.task)
            )
        published = rig.server.parts.committer.published
        revisions = sorted(entry.revision for entry in published.entries())
        assert published.head == 20 + 2 * 20
        assert revisions[-1] == published.head
        assert len(set(revisions)) == 20
