"""An acknowledgement is a promise of durability: what cannot be written is refused."""

import pytest

from bigfleet.model.machines import MachineState
from bigfleet.model.provider_calls import Code, Token
from bigfleet.provider import Kind, MemoryStore, Permanent
from bigfleet.provider.stores.store import Batch, StoreFailed
from bigfleet.wire.provider_admin import ProviderAdminClient, Verb
from tests.provider.rig import rejection, running

WHY = {"owner": "ada", "reason": "clean-up"}


class Failing(MemoryStore):
    broken = False
    tries = 0

    def commit(self, batch: Batch) -> None:
        self.tries += 1
        if self.broken:
            raise StoreFailed("disk full")
        super().commit(batch)


@pytest.fixture
def store() -> Failing:
    return Failing()


async def test_a_failed_write_changes_nothing_and_is_refused(store: Failing) -> None:
    async with running(store=store) as rig:
        _, before = await rig.ids()
        store.broken = True
        refused = await rejection(rig.create("m-0", Token("a", 5, 5)))
        assert (refused.code, refused.reason) == (Code.UNAVAILABLE, "store")
        assert await rig.state("m-0") is MachineState.SPECULATIVE
        assert (await rig.ids())[1] == before
        store.broken = False
        await rig.create("m-0", Token("a", 1, 1))


async def test_a_rejection_that_moved_a_mark_is_not_answered_before_it_is_written(
    store: Failing,
) -> None:
    async with running(store=store) as rig:
        store.broken = True
        refused = await rejection(rig.create("unknown", Token("a", 5, 5)))
        assert refused.code is Code.UNAVAILABLE


async def test_readiness_follows_the_store(store: Failing) -> None:
    async with running(store=store) as rig:
        assert await rig.client.health() == "SERVING"
        store.broken = True
        await rejection(rig.create("m-0"))
        await rig.clock.advance(1)
        assert await rig.client.health() == "NOT_SERVING"
        store.broken = False
        await rig.create("m-0")
        await rig.clock.advance(1)
        assert await rig.client.health() == "SERVING"


async def test_after_three_failures_only_a_probe_writes(store: Failing) -> None:
    async with running(store=store) as rig:
        store.broken = True
        for _ in range(3):
            await rejection(rig.create("m-0"))
        tries = store.tries
        assert (await rejection(rig.create("m-0"))).code is Code.UNAVAILABLE
        assert store.tries == tries
        store.broken = False
        assert (await rejection(rig.create("m-0"))).code is Code.UNAVAILABLE
        await rig.clock.advance(1)
        await rig.create("m-0")


async def test_finished_work_waits_for_the_store_and_is_not_lost(store: Failing) -> None:
    async with running(store=store) as rig:
        rig.substrate.hold(Kind.CREATE)
        await rig.create("m-0")
        store.broken = True
        rig.substrate.release()
        assert await rig.state("m-0") is MachineState.CREATING
        store.broken = False
        await rig.clock.advance(1)
        assert await rig.state("m-0") is MachineState.IDLE


@pytest.mark.parametrize(
    ("verb", "asked"),
    [
        (Verb.PRUNE_FENCES, {"shard_id": "a"}),
        (Verb.REPAIR, {"machine_id": "m-0"}),
        (Verb.ADOPT, {"machine_id": "m-0"}),
        (Verb.FORGET, {"machine_id": "m-0"}),
        (Verb.ACCEPT_DESCRIBE, {}),
        (Verb.IMPORT, {"content": b"{}"}),
    ],
    ids=lambda value: str(value) if isinstance(value, Verb) else "",
)
async def test_an_order_that_cannot_be_kept_is_refused_before_it_begins(
    store: Failing, verb: Verb, asked: dict[str, str]
) -> None:
    async with running(store=store) as rig:
        rig.substrate.fail_next(Kind.CREATE, Permanent("bad"))
        await rig.create("m-0", Token("a", 3, 4))
        await rig.get("m-0")
        store.broken = True
        async with ProviderAdminClient(f"127.0.0.1:{rig.server.port}") as admin:
            refused = await rejection(admin.do(verb, {**asked, **WHY}))
            assert (refused.code, refused.reason) == (Code.RESOURCE_EXHAUSTED, "store")
            assert "disk full" in refused.text
            marks = (await admin.do(Verb.FENCES)).answer["items"]
            assert marks == [{"shard": "a", "machine": "m-0", "epoch": 3, "sequence": 4}]
        assert await rig.state("m-0") is MachineState.FAILED
        assert rig.server.parts.committer.trouble == "disk full"
