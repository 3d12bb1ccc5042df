"""Two replicas, one writer; readiness and the end of a process that cannot read its cluster."""

import asyncio

import pytest

from bigfleet.kube.kinds import LEASES, PODS
from bigfleet.podwatch.driving.process import PodwatchProcess
from bigfleet.podwatch.driving.workers import WORKERS
from bigfleet.process import CoreTaskDied
from tests.kube_api import FakeApiServer
from tests.podwatch.pods import pod_json
from tests.podwatch.rig import Lines, fast, requests, running
from tests.shard_system.rig import page
from tests.shard_system.waiting import until, until_told


async def answered(process: PodwatchProcess, path: str) -> tuple[int, str]:
    return await page(process.metrics_port, path)


async def test_a_standby_is_ready_writes_nothing_and_takes_over_at_once() -> None:
    async with FakeApiServer() as server:
        lines = Lines()
        async with running(server) as first:
            await until(lambda: first.election.holding)
            async with running(server, identity="b", lines=lines) as second:
                await until(lambda: not second.why_not_ready())
                await until(lambda: lines.of("podwatch.synced"))
                server.put(PODS, pod_json("web-1"))
                await server.until(lambda: requests(server))
                assert not second.election.holding
                assert len(server.calls("create", "capacityrequests")) == 1
                await first.stop()
                server.put(PODS, pod_json("web-2"))
                await server.until(lambda: requests(server, "uid-web-2"))
        assert len(server.calls("create", "capacityrequests")) == 2
        assert server.get(LEASES, "bigfleet-podwatch", "bigfleet")["spec"]["holderIdentity"] == ""


async def test_without_the_lease_nothing_is_written_and_with_it_everything_is_made_good() -> None:
    async with FakeApiServer() as server, running(server, clock=fast()) as process:
        await until(lambda: process.election.holding)
        server.fail("update", "leases", status=500, times=10**6)
        server.fail("get", "leases", status=500, times=10**6)
        await until(lambda: not process.election.holding)
        server.put(PODS, pod_json("web-1"))
        seen = len(server.calls("get", "leases"))
        await server.until(lambda: len(server.calls("get", "leases")) > seen + 3)
        assert not requests(server)
        server.heal()
        await server.until(lambda: requests(server))


async def test_a_write_that_waits_when_the_lease_goes_is_not_made() -> None:
    # Slow enough that a busy machine does not lose the lease before it is taken away.
    async with FakeApiServer() as server, running(server, clock=fast(4)) as process:
        await until(lambda: process.election.holding)
        held = server.hold("create", "capacityrequests")
        for number in range(100):
            server.put(PODS, pod_json(f"web-{number}"))
        # Every worker is within a write: no other is on its way when the lease goes.
        await server.until(lambda: len(held.waiting) >= WORKERS)
        server.fail("update", "leases", status=500, times=10**6)
        server.fail("get", "leases", status=500, times=10**6)
        await until(lambda: not process.election.holding)
        begun = len(held.waiting)
        assert begun < 100
        held.release()
        await until(lambda: not len(process.pods.working))
        assert len(server.calls("create", "capacityrequests")) == begun


async def test_it_is_ready_once_it_has_read_everything() -> None:
    async with FakeApiServer() as server:
        held = server.hold("list", "pods")
        async with running(server) as process:
            await held.reached()
            await until(lambda: process.election.holding)
            status, text = await answered(process, "/readyz")
            assert (status, text.strip()) == (503, "not read yet: pods")
            assert (await answered(process, "/healthz"))[0] == 200
            held.release()
            await until_told(lambda: _is_ready(process))


async def test_a_standby_is_ready_before_it_has_read_everything() -> None:
    async with FakeApiServer() as server, running(server) as first:
        await until(lambda: first.election.holding)
        held = server.hold("list", "pods")
        async with running(server, identity="b") as second:
            await held.reached()
            await until_told(lambda: _is_ready(second))
            assert not second.election.holding


async def _is_ready(process: PodwatchProcess) -> bool:
    return (await answered(process, "/readyz"))[0] == 200


async def test_nothing_is_written_before_everything_was_read() -> None:
    async with FakeApiServer() as server:
        server.put(PODS, pod_json("web-1"))
        held = server.hold("list", "capacityrequests")
        async with running(server) as process:
            await held.reached()
            await until(lambda: process.election.holding)
            await server.until(lambda: server.watches("pods"))
            assert not server.writes("capacityrequests")
            held.release()
            await server.until(lambda: requests(server))


async def test_a_cluster_that_cannot_be_read_ends_the_process_with_what_to_do() -> None:
    async with FakeApiServer() as server:
        server.fail("list", "pods", status=403, reason="Forbidden", times=10**6)
        # Slow enough that a busy machine reads everything else in time.
        async with running(server, sync_timeout=20.0, clock=fast(4)) as process:
            with pytest.raises(CoreTaskDied, match=r"pods could not be read .* within 20 s"):
                async with asyncio.timeout(60):
                    await process.until_dead()


async def test_the_metrics_have_the_names_that_dashboards_read() -> None:
    async with FakeApiServer() as server, running(server) as process:
        server.put(PODS, pod_json("web-1"))
        await server.until(lambda: requests(server))
        _, text = await answered(process, "/metrics")
        for outcome in ("cr_created", "cr_exists", "pod_gone", "pod_terminal", "error"):
            name = "bigfleet_unschedulable_pod_controller_reconciles_total"
            assert f'{name}{{outcome="{outcome}"}}' in text
        assert "bigfleet_podwatch_queue_depth " in text
        assert "bigfleet_podwatch_leader 1.0" in text
        assert 'bigfleet_build_info{version="1.2.3"}' in text
