"""A running pod controller and CapacityBuffers: chunks follow what buffers and scalables say."""

from typing import Any

from bigfleet.kube.buffers import BUFFER_KINDS
from bigfleet.kube.kinds import CAPACITY_REQUESTS, PODS, PRIORITY_CLASSES
from bigfleet.operator.settings import OperatorSettings
from bigfleet.podwatch.driving.buffers import REREAD_SECONDS
from tests.kube_api import FakeApiServer
from tests.podwatch.pods import Json, buffer_json, pod_json
from tests.podwatch.rig import Lines, acknowledge, fast, requests, running
from tests.shard_system.waiting import until

BETA, ALPHA = BUFFER_KINDS
UID = "uid-spare"


def template(cpu: str = "2", **spec: Any) -> Json:
    containers = [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]
    return {"spec": {"containers": containers, **spec}}


def put_template(server: FakeApiServer, cpu: str = "2", **spec: Any) -> None:
    meta = {"name": "chunk", "namespace": "shop"}
    server.put("podtemplates", {"metadata": meta, "template": template(cpu, **spec)})


def put_deployment(server: FakeApiServer, replicas: int) -> None:
    meta = {"name": "web", "namespace": "shop"}
    spec = {"replicas": replicas, "template": template()}
    server.put("deployments", {"metadata": meta, "spec": spec})


def put_buffer(server: FakeApiServer, **spec: Any) -> None:
    server.put(BETA, buffer_json(**({"podTemplateRef": {"name": "chunk"}} | spec)))


def chunks(server: FakeApiServer) -> int:
    return len(requests(server, UID))


def status(server: FakeApiServer) -> Json:
    found: Json = server.get(BETA, "spare", "shop").get("status", {})
    return found


def condition(server: FakeApiServer, name: str) -> str:
    found = [each for each in status(server).get("conditions", ()) if each["type"] == name]
    return f"{found[0]['status']} {found[0]['reason']}" if found else ""


async def test_a_buffer_is_as_many_requests_as_it_has_chunks_and_says_what_is_covered() -> None:
    async with FakeApiServer() as server:
        server.define(BETA)
        put_template(server)
        put_buffer(server, replicas=3)
        async with running(server):
            await server.until(lambda: chunks(server) == 3)
            await server.until(lambda: condition(server, "ReadyForProvisioning"))
            assert condition(server, "Provisioning") == "False WaitingForAcknowledgement"
            assert {each["spec"]["priority"] for each in requests(server)} == {-10}
            for body in requests(server, UID):
                acknowledge(server, body)
            await server.until(lambda: status(server)["replicas"] == 3)
            assert condition(server, "Provisioning") == "True ChunksAcknowledged"
            assert status(server)["podTemplateRef"] == {"name": "chunk"}


async def test_pods_and_buffers_are_asked_for_side_by_side() -> None:
    async with FakeApiServer() as server:
        server.define(BETA)
        put_template(server)
        put_buffer(server, replicas=2)
        async with running(server):
            server.put(PODS, pod_json("web-1"))
            await server.until(lambda: len(requests(server)) == 3)
            assert chunks(server) == 2


async def test_a_percentage_follows_its_scalable() -> None:
    ref = {"apiGroup": "apps", "kind": "Deployment", "name": "web"}
    async with FakeApiServer() as server:
        server.define(BETA)
        put_deployment(server, 10)
        put_buffer(server, podTemplateRef=None, scalableRef=ref, percentage=20)
        async with running(server, clock=fast()):
            await server.until(lambda: chunks(server) == 2)
            put_deployment(server, 21)
            await server.until(lambda: chunks(server) == 5)
            put_deployment(server, 0)
            await server.until(lambda: chunks(server) == 0)


def test_a_scalable_is_read_again_within_one_roll_up() -> None:
    assert OperatorSettings().rollup_interval >= 2 * REREAD_SECONDS


async def test_another_template_reaches_the_chunks_that_are_there() -> None:
    async with FakeApiServer() as server:
        server.define(BETA)
        put_template(server, cpu="2")
        put_buffer(server, replicas=2)
        async with running(server, clock=fast()):
            await server.until(lambda: chunks(server) == 2)
            put_template(server, cpu="3")
            wanted = [{"cpu": "3", "memory": "200Mi"}] * 2
            await server.until(lambda: [r["spec"]["resources"] for r in requests(server)] == wanted)


async def test_a_template_has_the_priority_of_its_class() -> None:
    async with FakeApiServer() as server:
        server.define(BETA)
        server.put(PRIORITY_CLASSES, {"metadata": {"name": "spare"}, "value": -5})
        put_template(server, priorityClassName="spare")
        put_buffer(server, replicas=1)
        async with running(server):
            await server.until(lambda: chunks(server) == 1)
            assert requests(server, UID)[0]["spec"]["priority"] == -5


async def test_a_strategy_that_is_not_ours_is_refused_in_the_status() -> None:
    async with FakeApiServer() as server:
        server.define(BETA)
        put_template(server)
        put_buffer(server, replicas=1, provisioningStrategy="buffer.x-k8s.io/other")
        async with running(server):
            await server.until(lambda: condition(server, "ReadyForProvisioning"))
            assert condition(server, "ReadyForProvisioning") == "False UnsupportedStrategy"
            assert chunks(server) == 0


async def test_a_template_that_is_missing_is_told_and_found_once_it_is_there() -> None:
    async with FakeApiServer() as server:
        server.define(BETA)
        put_buffer(server, replicas=1)
        async with running(server, clock=fast()):
            await server.until(lambda: condition(server, "ReadyForProvisioning"))
            assert condition(server, "ReadyForProvisioning") == "False TemplateNotFound"
            put_template(server)
            await server.until(lambda: chunks(server) == 1)


async def test_a_deleted_buffer_withdraws_its_demand() -> None:
    async with FakeApiServer() as server:
        server.define(BETA)
        put_template(server)
        put_buffer(server, replicas=2)
        async with running(server):
            await server.until(lambda: chunks(server) == 2)
            server.remove(BETA, "spare", "shop")
            await server.until(lambda: chunks(server) == 0)


async def test_a_buffer_that_is_deleted_while_its_chunks_are_made_gets_no_more_of_them() -> None:
    async with FakeApiServer() as server:
        server.define(BETA)
        put_template(server)
        put_buffer(server, replicas=50)
        held = server.hold("create", "capacityrequests")
        async with running(server, clock=fast()) as process:
            await held.reached()
            server.remove(BETA, "spare", "shop")
            await until(lambda: not len(process.buffers))
            held.release()
            await server.until(lambda: server.calls("delete", "capacityrequests"))
            assert len(server.calls("create", "capacityrequests")) == 1
            assert chunks(server) == 0


async def test_chunks_that_garbage_collection_left_are_withdrawn() -> None:
    async with FakeApiServer() as server:
        server.define(BETA)
        labels = {"bigfleet.lucy.sh/owned-by-buffer": "uid-gone"}
        meta = {"name": "cr-buffer-x", "namespace": "shop", "labels": labels}
        spec = {"resources": {}, "priority": 0}
        server.put(CAPACITY_REQUESTS, {"metadata": meta, "spec": spec})
        async with running(server, clock=fast()):
            await server.until(lambda: not requests(server))


async def test_buffers_are_noticed_when_their_kind_arrives_and_withdrawn_when_it_leaves() -> None:
    lines = Lines()
    async with (
        FakeApiServer() as server,
        running(server, clock=fast(60), lines=lines),
    ):
        await until(lambda: lines.of("buffers.absent"))
        server.define(ALPHA)
        put_template(server)
        server.put(ALPHA, buffer_json(podTemplateRef={"name": "chunk"}, replicas=2))
        await server.until(lambda: chunks(server) == 2)
        assert "v1alpha1" in lines.of("buffers.watched")[0]
        owner = requests(server, UID)[0]["metadata"]["ownerReferences"][0]
        assert owner["apiVersion"] == "autoscaling.x-k8s.io/v1alpha1"
        server.undefine(ALPHA)
        server.drop_watches("capacitybuffers")
        await server.until(lambda: chunks(server) == 0)


async def test_buffers_that_are_turned_off_ask_for_nothing_any_more() -> None:
    async with FakeApiServer() as server:
        server.define(BETA)
        put_template(server)
        put_buffer(server, replicas=2)
        async with running(server):
            await server.until(lambda: chunks(server) == 2)
        async with running(server, identity="b", clock=fast(), buffers="false"):
            await server.until(lambda: chunks(server) == 0)


async def test_buffers_of_an_excluded_namespace_ask_for_nothing_any_more() -> None:
    async with FakeApiServer() as server:
        server.define(BETA)
        put_template(server)
        put_buffer(server, replicas=2)
        async with running(server):
            await server.until(lambda: chunks(server) == 2)
        async with running(server, identity="b", clock=fast(), exclude_namespaces=("shop",)):
            await server.until(lambda: chunks(server) == 0)


async def test_a_restart_writes_nothing_new() -> None:
    async with FakeApiServer() as server:
        server.define(BETA)
        put_template(server)
        put_buffer(server, replicas=2)
        async with running(server):
            await server.until(lambda: condition(server, "Provisioning"))
        writes = len(server.writes("capacityrequests")) + len(server.writes("capacitybuffers"))
        async with running(server, identity="b"):
            read = len(server.calls("get", "podtemplates"))
            server.put(PODS, pod_json("web-1"))
            await server.until(lambda: requests(server, "uid-web-1"))
            await server.until(lambda: len(server.calls("get", "podtemplates")) > read)
        now = len(server.writes("capacityrequests")) + len(server.writes("capacitybuffers"))
        assert now == writes + 1
