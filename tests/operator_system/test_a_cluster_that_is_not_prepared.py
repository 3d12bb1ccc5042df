"""An operator that lacks something says what, goes on with the rest, and needs no restart."""

from pathlib import Path

from bigfleet.kube.kinds import CAPACITY_REQUESTS, UPCOMING_NODES
from bigfleet.model.machines import MachineState
from bigfleet.model.session_frames import NodeStateUpdate
from tests.kube_api import FakeApiServer
from tests.operator_system.rig import CLUSTER, JumpingClock, operating
from tests.shard_system.rig import page


def request(name: str, **spec: object) -> dict[str, object]:
    whole = {"priority": 0, "resources": {"cpu": "1"}, **spec}
    return {"metadata": {"name": name, "namespace": "team"}, "spec": whole}


async def test_a_definition_that_is_missing_is_named_with_the_command_that_prints_it(
    tmp_path: Path,
) -> None:
    clock = JumpingClock()
    async with FakeApiServer(clock) as server:
        server.undefine(CAPACITY_REQUESTS)
        async with operating(tmp_path, server, clock, synced=False) as rig:
            await rig.until(lambda: rig.operator.cluster_cache.requests.trouble)
            status, text = await page(rig.operator.metrics_port, "/readyz")
            assert status == 503
            assert "capacityrequests.bigfleet.lucy.sh" in text
            assert "bigfleet operator crds" in text
            assert rig.shard.rollups == []
            server.define(CAPACITY_REQUESTS)
            server.put(CAPACITY_REQUESTS, request("web-0"))
            await rig.until(lambda: rig.milli_cpus() == 1_000)
            status, _ = await page(rig.operator.metrics_port, "/readyz")
            assert status == 200


async def test_objects_that_could_not_be_written_come_with_their_definition(
    tmp_path: Path,
) -> None:
    clock = JumpingClock()
    async with FakeApiServer(clock) as server:
        server.undefine(UPCOMING_NODES)
        async with operating(tmp_path, server, clock, synced=False) as rig:
            rig.shard.say(NodeStateUpdate("m-1", CLUSTER, MachineState.CREATING))
            await rig.until(lambda: rig.log.count("write_back.failed"))
            server.define(UPCOMING_NODES)
            await rig.until(lambda: server.objects(UPCOMING_NODES))


async def test_a_right_that_is_missing_is_complained_of_once_and_not_for_every_request(
    tmp_path: Path,
) -> None:
    clock = JumpingClock()
    async with FakeApiServer(clock) as server:
        for number in range(200):
            server.put(CAPACITY_REQUESTS, request(f"web-{number}"))
        server.fail("patch", CAPACITY_REQUESTS.plural, status=403, times=100_000)
        async with operating(tmp_path, server, clock) as rig:
            await rig.until(lambda: len(server.calls("patch", CAPACITY_REQUESTS.plural)) >= 400)
            assert rig.log.count("acknowledge_failed") == 1
            server.heal()
            await rig.until(lambda: rig.operator.counts.of("acknowledged_total") == 200)


async def test_a_flood_of_odd_requests_is_not_told_again_line_by_line_with_every_session(
    tmp_path: Path,
) -> None:
    odd = {"key": "cores", "operator": "Gt", "values": ["8"]}
    clock = JumpingClock()
    async with FakeApiServer(clock) as server:
        for number in range(50):
            server.put(CAPACITY_REQUESTS, request(f"odd-{number}", requirements=[odd]))
        async with operating(tmp_path, server, clock) as rig:
            before = rig.log.count("request.untranslatable")
            await rig.shard_dies()
            await rig.shard_returns()
            assert rig.log.count("request.untranslatable") == before + 1
