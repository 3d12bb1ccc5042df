"""Two replicas over one etcd: the second goes on where the first ended, and only one answers."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from bigfleet.coordinator.settings import CoordinatorSettings
from bigfleet.model.coordinator_calls import NotLeader
from bigfleet.model.provider_calls import Code, Rejected
from bigfleet.model.settings import Seconds
from tests.coordinator_process.rig import ADA, QUICK, coordinated
from tests.etcd_cluster import EtcdCluster, etcd_cluster, needs_etcd
from tests.shard_system.waiting import until

pytestmark = needs_etcd


@pytest.fixture
def etcd(tmp_path: Path) -> Iterator[EtcdCluster]:
    with etcd_cluster(tmp_path) as cluster:
        yield cluster


def over(etcd: EtcdCluster, replica: str) -> CoordinatorSettings:
    return replace(QUICK, id=replica, store="etcd", etcd_endpoints=tuple(etcd.endpoints))


async def test_a_clean_stop_hands_over_and_nothing_is_lost(
    etcd: EtcdCluster, tmp_path: Path
) -> None:
    # A lease that lasts longer than the test: only a resignation ends it in time.
    slow = replace(over(etcd, "node-1"), lease_ttl=Seconds(600.0))
    async with (
        coordinated(tmp_path, slow) as one,
        coordinated(tmp_path, over(etcd, "node-2"), leads=False) as two,
    ):
        await until(lambda: two.process.leading.leader_address())
        await one.reported("shard-0")
        await one.synced("shard-0")
        await one.reported("shard-1")
        await one.client.assign_domain(
            ADA, topology_key="zone", topology_value="a", shard_id="shard-1"
        )
        pending = [each.instruction.id for each in await one.client.instructions()]
        assert pending
        with pytest.raises(NotLeader) as told:
            await two.reported()
        assert told.value.leader == one.address
        follower = await two.client.status(two.address)
        assert (follower.is_leader, follower.term) == (False, 1)
        await one.process.stop()
        await until(lambda: two.log.events("coordinator.leads"), lambda: two.log.said)
        kept = await two.client.instructions()
        assert [each.instruction.id for each in kept] == pending
        reply = await two.reported("shard-0", cycle=2)
        assert reply.term == 2
        assert [each.id for each in reply.instructions] == pending
        assert {each.term for each in reply.instructions} == {2}
        status = await two.client.status(two.address)
        assert (status.backend, status.term, status.shards) == ("etcd", 2, 2)


async def test_a_leader_without_etcd_answers_no_write_and_then_nothing(
    etcd: EtcdCluster, tmp_path: Path
) -> None:
    async with coordinated(tmp_path, over(etcd, "node-1")) as one:
        await one.reported()
        etcd.members[0].pause()
        try:
            with pytest.raises(Rejected) as told:
                await one.client.set_quota(ADA, provider="sim", region="eu", total=3)
            assert told.value.code in (Code.UNAVAILABLE, Code.FAILED_PRECONDITION)
            await until(lambda: not one.process.leading.leads, lambda: one.log.said)
            with pytest.raises(Rejected, match="no leader is known") as told:
                await one.reported(cycle=2)
            assert told.value.code is Code.FAILED_PRECONDITION
            assert (await one.page("/readyz"))[0] == 503
            assert (await one.page("/healthz"))[0] == 200
        finally:
            etcd.members[0].resume()
        await until(lambda: one.process.leading.leads, lambda: one.log.said)
        assert (await one.reported(cycle=3)).term >= 2


async def test_a_coordinator_comes_up_before_its_etcd(etcd: EtcdCluster, tmp_path: Path) -> None:
    etcd.kill()
    async with coordinated(tmp_path, over(etcd, "node-1"), leads=False) as one:
        status, said = await one.page("/readyz")
        assert (status, "etcd does not answer" in said) == (503, True)
        await asyncio.to_thread(etcd.start)
        await until(lambda: one.process.leading.leads, lambda: one.log.said)
        assert (await one.page("/readyz"))[0] == 200
