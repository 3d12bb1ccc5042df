"""Three replicas as processes over one etcd: the leader is killed, and another one goes on."""

from contextlib import AsyncExitStack
from pathlib import Path

from bigfleet.model.provider_calls import Rejected
from bigfleet.wire.coordinator_admin import CoordinatorAdminClient
from tests.coordinator_process.rig import ADA, DEADLINE
from tests.etcd_cluster import EtcdCluster, etcd_cluster, needs_etcd
from tests.shard_processes.process import Running, serving
from tests.shard_system.waiting import until_told


def words(etcd: EtcdCluster, replica: str) -> list[str]:
    return [
        *("coordinator", "--id", replica, "--listen", "127.0.0.1:0"),
        *("--metrics-addr", "127.0.0.1:0", "--store", "etcd", "--lease-ttl", "2s"),
        *("--etcd-endpoints", ",".join(etcd.endpoints)),
    ]


class Fleet:
    """Replicas that live, and a client that writes to the leader."""

    def __init__(self, replicas: list[Running], client: CoordinatorAdminClient) -> None:
        self._replicas = replicas
        self._client = client
        self.term = 0

    async def write(self, name: str) -> None:
        """Until a replica leads and has it."""
        await until_told(lambda: self._written(name))

    async def written(self) -> list[str]:
        return [quota.region for quota in await self._client.quotas()]

    async def kill_leader(self) -> None:
        for replica in tuple(self._replicas):
            status = await self._client.status(replica.address)
            if status.is_leader:
                assert status.term > self.term
                self.term = status.term
                await replica.kill()
                self._replicas.remove(replica)
                return
        raise AssertionError("no replica leads")

    async def _written(self, name: str) -> bool:
        try:
            return (
                await self._client.set_quota(ADA, provider="sim", region=name, total=1)
            ).total == 1
        except Rejected:
            return False


@needs_etcd
async def test_a_killed_leader_is_replaced_and_every_row_is_there(tmp_path: Path) -> None:
    with etcd_cluster(tmp_path) as etcd:
        async with AsyncExitStack() as stack:
            replicas = [
                await stack.enter_async_context(serving(*words(etcd, f"node-{number}")))
                for number in (1, 2, 3)
            ]
            addresses = [replica.address for replica in replicas]
            client = CoordinatorAdminClient(addresses, deadline=DEADLINE)
            fleet = Fleet(replicas, await stack.enter_async_context(client))
            await fleet.write("a")
            await fleet.kill_leader()
            await fleet.write("b")
            await fleet.kill_leader()
            await fleet.write("c")
            assert await fleet.written() == ["a", "b", "c"]
