"""A running pod controller: Nodes, UpcomingNodes and volumes decide what pods ask for."""

from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest

from bigfleet.kube.kinds import AVAILABLE_CAPACITIES, NODES, PODS, UPCOMING_NODES
from bigfleet.kube.volumes import STORAGE_CLASSES, VOLUME_CLAIMS, VOLUMES
from bigfleet.model.errors import StartRefused
from bigfleet.podwatch.driving.process import PodwatchProcess
from bigfleet.podwatch.metrics import RECONCILES
from tests.kube_api import FakeApiServer
from tests.podwatch.pods import Json, affinity, expression, pod_json
from tests.podwatch.rig import Lines, acknowledge, fast, requests, running
from tests.shard_system.rig import page
from tests.shard_system.waiting import until

ZONE = "topology.kubernetes.io/zone"
TERM = "bigfleet.lucy.sh/affinity-term"
#: Long enough that no test meets its end.
LONG = 3600.0


def minutes_as_seconds(
    server: FakeApiServer, **words: Any
) -> AbstractAsyncContextManager[PodwatchProcess]:
    """On a busy machine reading the cluster may take long by such a clock."""
    return running(server, clock=fast(60), sync_timeout=36_000.0, **words)


def reconciled(process: PodwatchProcess, outcome: str) -> float:
    return process.counts.of(RECONCILES, outcome=outcome)


def put_node(server: FakeApiServer, name: str, **labels: str) -> None:
    meta = {"name": name, "uid": f"uid-{name}", "labels": labels}
    server.put(NODES, {"metadata": meta, "spec": {"providerID": f"sim:///{name}"}})


def put_machine(server: FakeApiServer, node: str) -> None:
    status = {"phase": "Ready", "nodeRef": {"name": node, "uid": f"uid-{node}"}}
    body = {"metadata": {"name": f"un-{node}"}, "spec": {"resources": {}}, "status": status}
    server.put(UPCOMING_NODES, body)


def bind(server: FakeApiServer, pod: str, node: str) -> None:
    conditions = [{"type": "PodScheduled", "status": "True"}]
    placed = {"spec": {"nodeName": node}, "status": {"phase": "Running", "conditions": conditions}}
    server.change(PODS, pod, placed, "shop")


async def test_pods_on_machines_ask_and_pods_on_nodes_of_the_cluster_itself_do_not() -> None:
    async with FakeApiServer() as server:
        put_node(server, "own")
        put_node(server, "machine")
        put_machine(server, "machine")
        server.put(PODS, pod_json("web-1", nodeName="own", phase="Running"))
        server.put(PODS, pod_json("web-2", nodeName="machine", phase="Running"))
        async with running(server) as process:
            await server.until(lambda: requests(server, "uid-web-2"))
            await until(lambda: reconciled(process, "pod_not_demand"))
        assert not requests(server, "uid-web-1")


async def test_a_pod_that_fits_on_what_is_there_never_asks() -> None:
    async with FakeApiServer() as server, running(server, unjudged_grace=LONG) as process:
        put_node(server, "own")
        server.put(PODS, pod_json("web-1", judged=False))
        await until(lambda: reconciled(process, "pod_not_yet_known"))
        bind(server, "web-1", "own")
        await until(lambda: reconciled(process, "pod_not_demand"))
        assert not server.writes("capacityrequests")
        assert not server.calls("create", "events")


async def test_a_pod_no_scheduler_judges_asks_after_its_grace() -> None:
    async with FakeApiServer() as server, running(server, clock=fast()) as process:
        server.put(PODS, pod_json("web-1", judged=False))
        await server.until(lambda: requests(server))
        assert reconciled(process, "pod_not_yet_known")


async def test_a_pod_that_comes_to_run_on_its_machine_costs_one_write() -> None:
    async with FakeApiServer() as server, running(server) as process:
        server.put(PODS, pod_json("web-1"))
        await server.until(lambda: requests(server))
        put_node(server, "machine")
        put_machine(server, "machine")
        before = reconciled(process, "cr_exists")
        bind(server, "web-1", "machine")
        await until(lambda: reconciled(process, "cr_exists") > before)
        assert [each.call.verb for each in server.writes("capacityrequests")] == ["create"]


async def test_a_request_goes_when_its_pod_found_room_on_a_node_of_the_cluster_itself() -> None:
    async with FakeApiServer() as server, minutes_as_seconds(server) as process:
        put_node(server, "own")
        server.put(PODS, pod_json("web-1"))
        await server.until(lambda: requests(server))
        bind(server, "web-1", "own")
        await server.until(lambda: not requests(server))
        await until(lambda: reconciled(process, "pod_not_demand"))
        put_machine(server, "own")
        await server.until(lambda: requests(server))


@pytest.mark.parametrize("plural", ["nodes", "upcomingnodes", "persistentvolumes"])
async def test_nothing_is_withdrawn_while_what_stands_around_pods_is_not_heard(plural: str) -> None:
    async with FakeApiServer() as server, minutes_as_seconds(server):
        put_node(server, "own")
        server.put(PODS, pod_json("web-1"))
        await server.until(lambda: requests(server))
        await server.until(lambda: server.watches(plural))
        blind = server.fail("watch", plural, status=500, times=10**6)
        server.drop_watches(plural)
        asked = len(server.calls("watch", plural))
        await server.until(lambda: len(server.calls("watch", plural)) > asked)
        bind(server, "web-1", "own")
        # Each wait before the next attempt is longer, up to half a minute: some minutes in all.
        await server.until(lambda: len(server.calls("watch", plural)) > asked + 12)
        assert requests(server)
        blind.times = 0
        await server.until(lambda: not requests(server))


async def test_without_upcoming_nodes_every_pod_counts_and_that_is_said_once() -> None:
    lines = Lines()
    async with FakeApiServer() as server:
        server.undefine(UPCOMING_NODES)
        put_node(server, "own")
        server.put(PODS, pod_json("web-1", nodeName="own", phase="Running"))
        async with minutes_as_seconds(server, lines=lines) as process:
            await server.until(lambda: requests(server))
            asked = len(server.calls("get", "upcomingnodes"))
            await until(lambda: not process.why_not_ready())
            assert len(lines.of("upcoming_nodes.absent")) == 1
            assert asked == 0
            server.define(UPCOMING_NODES)
            await server.until(lambda: not requests(server))
            assert len(lines.of("upcoming_nodes.watched")) == 1


async def test_it_waits_for_everything_that_stands_around_pods() -> None:
    async with FakeApiServer() as server:
        held = server.hold("list", "upcomingnodes")
        async with running(server) as process:
            await held.reached()
            await until(lambda: process.election.holding)
            await until(lambda: process.why_not_ready() == "not read yet: upcomingnodes")
            server.put(PODS, pod_json("web-1"))
            held.release()
            await server.until(lambda: requests(server))


# -- volumes -------------------------------------------------------------------------------------


def put_claim(server: FakeApiServer, **spec: str) -> None:
    meta = {"name": "data", "namespace": "shop"}
    server.put(VOLUME_CLAIMS, {"metadata": meta, "spec": spec})


def put_volume(server: FakeApiServer, zone: str) -> None:
    term = {"matchExpressions": [expression(ZONE, "In", zone)]}
    spec: Json = {
        "nodeAffinity": {"required": {"nodeSelectorTerms": [term]}},
        "claimRef": {"namespace": "shop", "name": "data"},
    }
    server.put(VOLUMES, {"metadata": {"name": "pv-1"}, "spec": spec})


def claiming(name: str = "web-1", **words: Any) -> Json:
    volume = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}
    return pod_json(name, volumes=[volume], **words)


def asked(server: FakeApiServer) -> list[Json]:
    found = requests(server)
    required: list[Json] = found[0]["spec"]["requirements"] if found else []
    return required


async def test_a_pod_follows_its_claim_from_class_to_volume() -> None:
    async with FakeApiServer() as server, running(server, clock=fast()):
        term = {"matchLabelExpressions": [{"key": ZONE, "values": ["a", "b"]}]}
        body = {
            "metadata": {"name": "fast"},
            "volumeBindingMode": "WaitForFirstConsumer",
            "allowedTopologies": [term],
        }
        server.put(STORAGE_CLASSES, body)
        put_claim(server, storageClassName="fast")
        server.put(PODS, claiming())
        await server.until(lambda: asked(server) == [expression(ZONE, "In", "a", "b")])
        put_volume(server, "b")
        put_claim(server, storageClassName="fast", volumeName="pv-1")
        await server.until(lambda: asked(server) == [expression(ZONE, "In", "b")])
        put_volume(server, "a")
        await server.until(lambda: asked(server) == [expression(ZONE, "In", "a")])


async def test_a_pod_that_cannot_reach_its_volume_asks_for_nothing_and_is_told_once() -> None:
    async with FakeApiServer() as server, running(server) as process:
        put_volume(server, "a")
        put_claim(server, volumeName="pv-1")
        server.put(PODS, claiming(nodeSelector={ZONE: "b"}))
        await server.until(lambda: server.calls("create", "events"))
        await until(lambda: reconciled(process, "pod_not_demand"))
        (event,) = server.objects("events").values()
        assert event["reason"] == "VolumeTopologyConflict"
        assert not requests(server)


# -- alternatives --------------------------------------------------------------------------------

TERMS = [{"matchExpressions": [expression("zone", "In", each)]} for each in ("a", "b")]


async def test_a_pod_that_stays_without_a_node_asks_for_its_next_alternative() -> None:
    async with FakeApiServer() as server, minutes_as_seconds(server):
        server.put(PODS, pod_json("web-1", affinity=affinity(*TERMS)))
        await server.until(lambda: asked(server) == [expression("zone", "In", "a")])
        (request,) = requests(server)
        assert request["metadata"]["annotations"] == {TERM: "1/2"}
        acknowledge(server, request)
        await server.until(lambda: asked(server) == [expression("zone", "In", "b")])
        assert requests(server)[0]["metadata"]["annotations"] == {TERM: "2/2"}
        assert requests(server)[0]["metadata"]["uid"] == request["metadata"]["uid"]


async def test_the_alternative_with_supply_is_asked_for_first() -> None:
    async with FakeApiServer() as server:
        spec = {
            "availability": "High",
            "availableCount": 3,
            "cost": "0",
            "resources": {},
            "requirements": [expression("zone", "In", "b")],
        }
        server.put(AVAILABLE_CAPACITIES, {"metadata": {"name": "ac-1"}, "spec": spec})
        async with running(server):
            await server.until(lambda: server.watches("availablecapacities"))
            server.put(PODS, pod_json("web-1", affinity=affinity(*TERMS)))
            await server.until(lambda: asked(server) == [expression("zone", "In", "b")])


# -- what people see -----------------------------------------------------------------------------


async def test_what_is_not_translated_is_counted_by_kind() -> None:
    async with FakeApiServer() as server, running(server) as process:
        server.put(PODS, pod_json("web-1", resourceClaims=[{"name": "gpu"}]))
        await server.until(lambda: requests(server))
        _, text = await page(process.metrics_port, "/metrics")
        assert 'bigfleet_podwatch_untranslated{kind="resource_claims"} 1.0' in text
        assert 'bigfleet_podwatch_untranslated{kind="preferred"} 0.0' in text


async def test_taints_that_cannot_be_turned_round_keep_it_from_starting() -> None:
    taint = {"key": "gpu", "effect": "NoSchedule", "where": {"matchLabels": {"a": "1", "b": "2"}}}
    async with FakeApiServer() as server:
        with pytest.raises(StartRefused, match=r"taints\[0\].where: selects by 2 labels"):
            async with running(server, taints=(taint,)):
                pass
