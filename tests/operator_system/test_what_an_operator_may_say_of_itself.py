"""Roll-ups only of what is known, readiness only of what is seen, also when watches fail."""

import asyncio
from pathlib import Path
from typing import Any

from bigfleet.edge.clock import next_turn
from bigfleet.kube.kinds import CAPACITY_REQUESTS, LEASES
from bigfleet.operator.driving.process import OperatorProcess
from bigfleet.operator.settings import OperatorSettings
from bigfleet.process import ProcessContext
from tests.kube_api import FakeApiServer, kubeconfig_for
from tests.operator_system.rig import CLUSTER, JumpingClock, LogRecorder, operating
from tests.shard_system.waiting import PATIENCE


async def test_roll_ups_stop_a_minute_after_requests_could_last_be_watched(tmp_path: Path) -> None:
    clock = JumpingClock()
    spec: dict[str, Any] = {"priority": 0, "resources": {"cpu": "1"}}
    async with FakeApiServer(clock) as server:
        server.put(
            CAPACITY_REQUESTS, {"metadata": {"name": "web-0", "namespace": "team"}, "spec": spec}
        )
        async with operating(tmp_path, server, clock) as rig:
            await rig.until(lambda: rig.milli_cpus() == 1_000)
            server.fail("watch", CAPACITY_REQUESTS.plural, status=403, times=10**6)
            server.drop_watches(CAPACITY_REQUESTS.plural)
            rig.shard.rollups.clear()
            await rig.passes(50)
            # Every ten seconds; a busy machine sends some of them late.
            assert len(rig.shard.rollups) >= 2, "a minute is not over"
            await rig.passes(20)
            rig.shard.rollups.clear()
            server.put(
                CAPACITY_REQUESTS,
                {"metadata": {"name": "web-1", "namespace": "team"}, "spec": spec},
            )
            await rig.passes(120)
            assert rig.shard.rollups == []
            server.heal()
            await rig.until(lambda: rig.shard.rollups)
            assert rig.milli_cpus() == 2_000


async def test_a_replica_that_waits_is_ready_once_it_has_seen_the_lease(tmp_path: Path) -> None:
    clock = JumpingClock()
    async with FakeApiServer(clock) as server:
        lease = {"holderIdentity": "another", "leaseDurationSeconds": 15}
        # The name is a contract with replicas of other versions, and with the rights of the chart.
        meta = {"name": "bigfleet-operator", "namespace": "bigfleet"}
        server.put(LEASES, {"metadata": meta, "spec": lease})
        looking = server.hold("get", LEASES.plural)
        (tmp_path / "kubeconfig").write_text(kubeconfig_for(server))
        settings = OperatorSettings(
            cluster_id=CLUSTER,
            shard_addr="127.0.0.1:1",
            kubeconfig=str(tmp_path / "kubeconfig"),
            metrics_addr="0",
            namespace="bigfleet",
        )
        context = ProcessContext(
            clock, LogRecorder(), stopwatch=lambda: 0.0, draw=lambda: 0.5, identity="one"
        )
        operator = OperatorProcess(settings, context)
        await operator.start()
        try:
            await looking.reached()
            assert operator.why_not_ready() == "the lease has not been seen yet"
            looking.release()
            async with asyncio.timeout(PATIENCE):
                while operator.why_not_ready():
                    await next_turn()
            assert not operator.election.holding
        finally:
            await operator.stop()
        assert server.writes() == [], "it is another's"
