"""A replica that was stopped for longer than its lease wakes to many overdue timers at once."""

from pathlib import Path

from bigfleet.edge.clock import settle
from bigfleet.kube.kinds import LEASES, NODES, PODS
from bigfleet.model.machines import MachineState
from bigfleet.model.session_frames import NodeStateUpdate, ReclaimInstruction
from tests.kube_api import FakeApiServer
from tests.operator_system.rig import CLUSTER, JumpingClock, operating


async def test_a_replica_that_wakes_after_its_lease_sends_nothing(tmp_path: Path) -> None:
    clock = JumpingClock()
    async with FakeApiServer(clock) as server:
        server.put(NODES, {"metadata": {"name": "n-1"}})
        labels = {"app": "web"}
        spec = {"minAvailable": 1, "selector": {"matchLabels": labels}}
        meta = {"name": "web", "namespace": "team"}
        server.put("poddisruptionbudgets", {"metadata": meta, "spec": spec})
        pod = {"name": "web-0", "namespace": "team", "labels": labels}
        server.put(
            PODS, {"metadata": pod, "spec": {"nodeName": "n-1"}, "status": {"phase": "Running"}}
        )
        async with operating(tmp_path, server, clock) as rig:
            update = NodeStateUpdate("m-1", CLUSTER, MachineState.CONFIGURED, "n-1")
            rig.shard.say(update, ReclaimInstruction("bf1-one", ("n-1",), 3_600))
            await rig.until(lambda: len(server.calls("evict")) >= 2)
            (lease,) = server.objects(LEASES).values()
            before = len(rig.writes())
            server.change(
                LEASES,
                lease["metadata"]["name"],
                {"spec": {"holderIdentity": "two"}},
                lease["metadata"]["namespace"],
            )
            clock.jump(60)
            await settle(500)
            assert [done.call for done in rig.writes()[before:]] == []
            assert rig.log.count("lease.held") == rig.log.count("lease.lost") == 1
            assert not rig.operator.election.holding
