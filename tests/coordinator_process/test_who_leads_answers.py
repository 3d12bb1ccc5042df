"""Only the leader answers: not one that was deposed, not one that cannot be sure."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from bigfleet.coordinator.book import Book
from bigfleet.coordinator.draft import Draft
from bigfleet.coordinator.driving.leading_replica import LeadingReplica
from bigfleet.coordinator.settings import CoordinatorSettings
from bigfleet.coordinator.stores.contract import Leader
from bigfleet.coordinator.tables import DomainRow, ProviderRow
from bigfleet.edge.clock import ManualClock
from bigfleet.model.coordinator_calls import NotLeader
from bigfleet.model.provider_calls import Code, Rejected
from tests.coordinator_process.memory_store import Fault, MemoryStore, SharedRows, in_seconds
from tests.shard_system.rig import Lines
from tests.shard_system.waiting import until

SETTINGS = CoordinatorSettings(id="node-1")


@dataclass(slots=True)
class Replica:
    leading: LeadingReplica
    store: MemoryStore
    clock: ManualClock
    log: Lines

    async def named(self, name: str) -> str:
        """Registers a provider; returns what the operation did."""
        return await self.leading.transact(naming(name))

    def names(self) -> list[str]:
        return [row.name for row in self.leading.book().tables.providers.rows.values()]


def naming(name: str) -> Callable[[Book, Draft], str]:
    def operation(book: Book, draft: Draft) -> str:
        draft.providers.put(ProviderRow(name, "127.0.0.1:9000"))
        draft.note("provider", name, f"{name} is known")
        return name

    return operation


class NoDuties:
    def begun(self) -> tuple[Coroutine[Any, Any, None], ...]:
        return ()


@asynccontextmanager
async def replicated(
    shared: SharedRows, settings: CoordinatorSettings = SETTINGS, *, leads: bool = True
) -> AsyncIterator[Replica]:
    clock, log = ManualClock(), Lines()
    leading = LeadingReplica(settings, clock, lambda: 0.0, log)
    store = MemoryStore(shared, Leader(settings.id, f"{settings.id}:7790"), clock)
    await leading.open(store, f"{settings.id}:7790")
    running = asyncio.create_task(leading.run(NoDuties()))
    try:
        if leads:
            await until(lambda: leading.leads)
        yield Replica(leading, store, clock, log)
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await leading.close()


async def test_what_is_answered_is_durable() -> None:
    shared = SharedRows()
    async with replicated(shared) as one:
        assert await one.named("aws") == "aws"
        assert "providers/aws" in shared.rows
        assert one.names() == ["aws"]
    async with replicated(shared) as two:
        assert (two.names(), two.leading.heard().term) == (["aws"], 2)


async def test_an_operation_that_rejects_changes_nothing() -> None:
    def refusing(book: Book, draft: Draft) -> None:
        draft.providers.put(ProviderRow("half", "nowhere"))
        raise Rejected(Code.NOT_FOUND, "no such shard")

    async with replicated(SharedRows()) as one:
        with pytest.raises(Rejected, match="no such shard"):
            await one.leading.transact(refusing)
        assert (one.names(), one.store.commits) == ([], 0)


async def test_what_changes_nothing_asks_the_store_nothing() -> None:
    async with replicated(SharedRows()) as one:
        await one.named("aws")
        await one.named("aws")
        assert one.store.commits == 1


async def test_a_follower_names_the_leader() -> None:
    shared = SharedRows()
    async with (
        replicated(shared),
        replicated(shared, CoordinatorSettings(id="node-2"), leads=False) as two,
    ):
        with pytest.raises(NotLeader, match="node-1:7790 does") as told:
            await two.named("aws")
        assert told.value.leader == "node-1:7790"
        with pytest.raises(NotLeader):
            two.leading.book()
        assert two.leading.why_not_ready() == ""


async def test_a_deposed_leader_learns_it_from_the_store_and_follows() -> None:
    shared = SharedRows()
    async with replicated(shared) as one:
        shared.depose()
        async with replicated(shared, CoordinatorSettings(id="node-2")):
            with pytest.raises(NotLeader, match="node-2:7790 does"):
                await one.named("aws")
            assert not one.leading.leads
            assert "providers/aws" not in shared.rows
            assert one.leading.counts.of("apply_total", outcome="fenced") == 1
        await until(lambda: one.leading.leads)
        assert one.leading.heard().term == 3


async def test_a_stale_leader_answers_nothing_after_its_deadline() -> None:
    async with replicated(SharedRows()) as one:
        await one.named("aws")
        one.store.lease_ends = in_seconds(one.clock, 3)
        assert one.names() == ["aws"]
        await one.clock.advance(3)
        with pytest.raises(NotLeader):
            one.names()
        with pytest.raises(NotLeader):
            await one.named("aws")
        assert one.leading.leader_address() == ""


async def test_a_commit_that_outlasts_the_lease_is_not_answered() -> None:
    async with replicated(SharedRows()) as one:
        one.store.free.clear()
        asked = asyncio.create_task(one.named("aws"))
        await until(lambda: one.store.commits)
        one.store.lease_ends = in_seconds(one.clock, 0)
        one.store.free.set()
        with pytest.raises(NotLeader):
            await asked


async def test_one_operation_at_a_time() -> None:
    async with replicated(SharedRows()) as one:
        one.store.free.clear()
        asked = [asyncio.create_task(one.named(name)) for name in ("aws", "gcp")]
        await until(lambda: one.store.commits)
        assert (one.names(), one.store.commits) == ([], 1)
        one.store.free.set()
        await asyncio.gather(*asked)
        assert one.names() == ["aws", "gcp"]


async def test_a_store_that_is_down_is_told_and_forgiven() -> None:
    async with replicated(SharedRows()) as one:
        one.store.fault = Fault.DOWN
        with pytest.raises(Rejected, match="nothing was changed") as told:
            await one.named("aws")
        assert told.value.code is Code.UNAVAILABLE
        assert one.names() == []
        assert "does not answer" in one.leading.why_not_ready()
        one.store.fault = None
        await one.named("aws")
        assert one.names() == ["aws"]
        assert one.leading.counts.of("store_errors_total") == 1


@pytest.mark.parametrize(
    ("fault", "taken"),
    [(Fault.UNCLEAR_TAKEN, True), (Fault.UNCLEAR_LOST, False)],
    ids=["it was taken", "it was lost"],
)
async def test_after_an_unclear_commit_everything_is_read_again(fault: Fault, taken: bool) -> None:
    async with replicated(SharedRows()) as one:
        loads = one.store.loads
        one.store.fault = fault
        with pytest.raises(Rejected, match="may or may not") as told:
            await one.named("aws")
        assert told.value.code is Code.UNAVAILABLE
        with pytest.raises(Rejected, match="read again"):
            one.names()
        one.store.fault = None
        await until(lambda: one.store.loads > loads)
        await until(lambda: one.log.events("coordinator.reread"))
        assert one.names() == (["aws"] if taken else [])
        await one.named("gcp")
        assert one.leading.leads


async def test_a_caller_that_goes_in_the_middle_of_a_commit_leaves_no_doubt_behind() -> None:
    async with replicated(SharedRows()) as one:
        one.store.free.clear()
        asked = asyncio.create_task(one.named("aws"))
        await until(lambda: one.store.commits)
        asked.cancel()
        await asyncio.gather(asked, return_exceptions=True)
        await until(lambda: one.log.events("coordinator.reread"))
        assert one.names() == []


async def test_doubt_lasts_while_the_store_is_away() -> None:
    async with replicated(SharedRows()) as one:
        one.store.fault = Fault.UNCLEAR_TAKEN
        with pytest.raises(Rejected):
            await one.named("aws")
        one.store.fault = Fault.DOWN
        await one.clock.advance(5)
        with pytest.raises(Rejected, match="read again"):
            one.names()
        one.store.fault = None
        await one.clock.advance(1)
        await until(lambda: one.log.events("coordinator.reread"))
        assert one.names() == ["aws"]


async def test_a_replica_that_cannot_read_a_row_does_not_lead() -> None:
    shared = SharedRows({"domains/zone/a": b'{"schema":2}'})
    async with replicated(shared, leads=False) as one:
        await until(lambda: one.log.events("coordinator.unreadable"))
        assert not one.leading.leads
        said = one.leading.why_not_ready()
        assert "domains/zone/a has schema 2" in said
        assert "run the version that wrote it" in said
        assert one.leading.trouble() == said
        del shared.rows["domains/zone/a"]
        await one.clock.advance(6)
        await until(lambda: one.leading.leads)
        assert one.leading.why_not_ready() == ""


async def test_rows_beyond_what_a_store_takes_at_once_are_refused() -> None:
    def many(book: Book, draft: Draft) -> None:
        for number in range(4):
            draft.providers.put(ProviderRow(f"p{number}", "nowhere"))

    async with replicated(SharedRows()) as one:
        one.store.most_changes = 3
        with pytest.raises(Rejected, match="4 rows would change at once") as told:
            await one.leading.transact(many)
        assert told.value.code is Code.RESOURCE_EXHAUSTED
        assert one.names() == []


# -- keys of domains -------------------------------------------------------------------------------


async def test_partition_keys_of_the_settings_are_written_once() -> None:
    shared = SharedRows()
    settings = CoordinatorSettings(id="node-1", partition_keys=("rack", "zone"))
    async with replicated(shared, settings) as one:
        await until(lambda: one.log.events("coordinator.leads"))
        assert one.leading.book().partition_keys == ("rack", "zone")
    async with replicated(shared, settings) as again:
        await until(lambda: again.log.events("coordinator.leads"))
        assert again.store.commits == 0


async def test_the_order_of_keys_that_have_domains_stays() -> None:
    shared = SharedRows()

    def assigning(book: Book, draft: Draft) -> None:
        draft.domains.put(DomainRow("rack", "r1", "shard-0"))
        draft.domains.put(DomainRow("zone", "a", "shard-1"))

    first = CoordinatorSettings(id="node-1", partition_keys=("zone", "rack"))
    async with replicated(shared, first) as one:
        await one.leading.transact(assigning)
    async with replicated(shared, CoordinatorSettings(partition_keys=("rack",))) as two:
        await until(lambda: two.log.events("coordinator.partition_keys"))
        (said,) = two.log.events("coordinator.partition_keys")
        assert "stay zone, rack and do not become rack" in said["msg"]
        assert two.leading.book().partition_keys == ("zone", "rack")
    more = CoordinatorSettings(partition_keys=("zone", "row", "rack"))
    async with replicated(shared, more) as three:
        await until(lambda: three.log.events("coordinator.leads"))
        assert three.leading.book().partition_keys == ("zone", "row", "rack")
