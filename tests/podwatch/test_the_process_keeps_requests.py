"""A running pod controller: pods come, change and go, and their requests with them."""

from pathlib import Path

import pytest

from bigfleet.kube.kinds import CAPACITY_REQUESTS, PODS
from bigfleet.kube.names import OWNED_BY_POD
from bigfleet.podwatch.driving.process import PodwatchProcess
from bigfleet.podwatch.driving.workers import WORKERS
from bigfleet.podwatch.metrics import RECONCILES
from bigfleet.podwatch.pod_reconciler import request_of_pod
from tests.kube_api import FakeApiServer
from tests.podwatch.pods import Json, affinity, expression, pod_json, watched
from tests.podwatch.rig import Lines, fast, requests, running
from tests.shard_system.waiting import until


def reconciled(process: PodwatchProcess, outcome: str) -> float:
    return process.counts.of(RECONCILES, outcome=outcome)


async def test_a_pod_has_one_request_from_its_first_moment_to_its_end() -> None:
    async with FakeApiServer() as server, running(server) as process:
        server.put(PODS, pod_json("web-1"))
        await server.until(lambda: requests(server, "uid-web-1"))
        (request,) = requests(server)
        assert request["spec"]["resources"] == {"cpu": "500m", "memory": "1Gi"}
        node = {"spec": {"nodeName": "n-1"}, "status": {"phase": "Running"}}
        server.change(PODS, "web-1", node, "shop")
        server.put(PODS, pod_json("web-2"))
        await server.until(lambda: requests(server, "uid-web-2"))
        assert len(requests(server)) == 2
        server.change(PODS, "web-1", {"status": {"phase": "Succeeded"}}, "shop")
        await server.until(lambda: not requests(server, "uid-web-1"))
        assert [each.call.verb for each in server.writes("capacityrequests")] == [
            "create",
            "create",
            "delete",
        ]
        (withdrawn,) = server.calls("delete", "capacityrequests")
        assert withdrawn.body["preconditions"] == {"uid": request["metadata"]["uid"]}
        await until(lambda: reconciled(process, "pod_terminal"))
        assert reconciled(process, "cr_created") == 2


async def test_a_pod_that_is_deleted_takes_its_request_with_it() -> None:
    async with FakeApiServer() as server, running(server) as process:
        server.put(PODS, pod_json("web-1"))
        await server.until(lambda: requests(server))
        server.remove(PODS, "web-1", "shop")
        await server.until(lambda: not requests(server))
        await until(lambda: reconciled(process, "pod_gone"))


async def test_many_pods_cost_one_write_each_and_a_restart_costs_none() -> None:
    async with FakeApiServer() as server:
        for number in range(60):
            server.put(PODS, pod_json(f"web-{number}"))
        async with running(server):
            await server.until(lambda: len(requests(server)) == 60)
        assert len(server.writes("capacityrequests")) == 60
        async with running(server, identity="b") as second:
            await until(lambda: reconciled(second, "cr_exists") >= 60)
        assert len(server.writes("capacityrequests")) == 60


async def test_two_that_both_believe_they_lead_make_one_request_per_pod() -> None:
    pods = WORKERS - 1
    async with FakeApiServer() as server:
        held = server.hold("create", "capacityrequests")
        for number in range(pods):
            server.put(PODS, pod_json(f"web-{number}"))
        async with running(server, lease_in="one"), running(server, identity="b", lease_in="two"):
            await until(lambda: len(held.waiting) == 2 * pods)
            held.release()
            await server.until(lambda: len(server.calls("create", "capacityrequests")) == 2 * pods)
        assert len(requests(server)) == pods


async def test_a_creation_whose_answer_is_lost_is_not_made_twice() -> None:
    async with FakeApiServer() as server, running(server, clock=fast()) as process:
        server.fail("create", "capacityrequests", status=0, done_anyway=True)
        server.put(PODS, pod_json("web-1"))
        await until(lambda: reconciled(process, "error"))
        await until(lambda: reconciled(process, "cr_exists"))
        assert len(requests(server)) == 1


async def test_a_foreign_request_of_our_name_is_not_taken_for_ours() -> None:
    async with FakeApiServer() as server:
        name = request_of_pod(watched("web-1"), b"{}").key.name
        meta = {"name": name, "namespace": "shop"}
        server.put(CAPACITY_REQUESTS, {"metadata": meta, "spec": {"resources": {}, "priority": 0}})
        server.put(PODS, pod_json("web-1"))
        async with running(server):
            await server.until(lambda: requests(server, "uid-web-1"))
        (request,) = requests(server, "uid-web-1")
        assert request["metadata"]["name"] != name
        assert request["metadata"]["generateName"] == "cr-pod-web-1-"


async def test_patches_that_are_undone_are_made_again() -> None:
    async with FakeApiServer() as server, running(server, clock=fast(10)):
        server.put(PODS, pod_json("web-1"))
        await server.until(lambda: requests(server))
        name = requests(server)[0]["metadata"]["name"]
        for number in range(1, 4):
            server.change(CAPACITY_REQUESTS, name, {"spec": {"priority": number}}, "shop")
            await server.until(lambda: requests(server)[0]["spec"]["priority"] == 0)
        assert len(server.calls("patch", "capacityrequests")) == 3


async def test_refused_calls_are_tried_again_with_patience() -> None:
    async with FakeApiServer() as server, running(server, clock=fast()) as process:
        server.fail("create", "capacityrequests", status=500, times=2)
        server.put(PODS, pod_json("web-1"))
        await server.until(lambda: requests(server))
        assert reconciled(process, "error") == 2
        assert len(server.calls("create", "capacityrequests")) == 3


async def test_of_two_requests_for_one_pod_the_younger_goes() -> None:
    async with FakeApiServer() as server:
        server.put(PODS, pod_json("web-1"))
        async with running(server):
            await server.until(lambda: requests(server))
        (first,) = requests(server)
        meta = first["metadata"] | {
            "name": "cr-pod-web-1-zzzzz",
            "uid": "uid-younger",
            "creationTimestamp": "2099-01-01T00:00:00Z",
        }
        server.put(CAPACITY_REQUESTS, first | {"metadata": meta})
        async with running(server, identity="b"):
            await server.until(lambda: len(requests(server)) == 1)
        assert requests(server)[0]["metadata"]["uid"] == first["metadata"]["uid"]


async def test_a_request_that_is_deleted_or_changed_by_hand_is_made_right_again() -> None:
    async with FakeApiServer() as server, running(server):
        server.put(PODS, pod_json("web-1"))
        await server.until(lambda: requests(server))
        (request,) = requests(server)
        name = request["metadata"]["name"]
        server.remove(CAPACITY_REQUESTS, name, "shop")
        await server.until(lambda: requests(server))
        server.change(CAPACITY_REQUESTS, name, {"spec": {"priority": 99}}, "shop")
        await server.until(lambda: requests(server)[0]["spec"]["priority"] == 0)


async def test_a_request_that_lost_its_label_is_found_by_its_owner_and_labelled_again() -> None:
    async with FakeApiServer() as server, running(server, clock=fast()):
        server.put(PODS, pod_json("web-1"))
        await server.until(lambda: requests(server))
        name = requests(server)[0]["metadata"]["name"]
        nothing = {"metadata": {"labels": {OWNED_BY_POD: None}}, "spec": {"priority": 99}}
        server.change(CAPACITY_REQUESTS, name, nothing, "shop")
        assert not requests(server, "uid-web-1")
        await server.until(lambda: requests(server, "uid-web-1"))
        await server.until(lambda: requests(server)[0]["spec"]["priority"] == 0)
        assert len(requests(server)) == 1


async def test_a_resize_changes_the_request_in_place() -> None:
    async with FakeApiServer() as server, running(server):
        server.put(PODS, pod_json("web-1", cpu="500m"))
        await server.until(lambda: requests(server))
        before = requests(server)[0]["metadata"]["uid"]
        server.put(PODS, pod_json("web-1", cpu="2"))
        await server.until(lambda: requests(server)[0]["spec"]["resources"]["cpu"] == "2")
        assert requests(server)[0]["metadata"]["uid"] == before


async def test_pods_that_came_and_went_while_the_watch_was_broken_are_made_good() -> None:
    async with FakeApiServer() as server, running(server, clock=fast()):
        server.put(PODS, pod_json("web-1"))
        await server.until(lambda: requests(server))
        server.drop_watches("pods")
        server.remove(PODS, "web-1", "shop")
        server.put(PODS, pod_json("web-2"))
        server.compact()
        await server.until(lambda: requests(server, "uid-web-2"))
        await server.until(lambda: not requests(server, "uid-web-1"))


async def test_a_request_that_a_list_does_not_show_is_looked_for_once_more() -> None:
    """Made while nothing was heard of requests, and deleted before they were listed again."""
    async with FakeApiServer() as server, running(server) as process:
        await server.until(lambda: server.watches("capacityrequests"))
        blind = server.fail("watch", "capacityrequests", status=500, times=10**6)
        server.drop_watches("capacityrequests")
        server.put(PODS, pod_json("web-1"))
        await server.until(lambda: requests(server))
        server.remove(CAPACITY_REQUESTS, requests(server)[0]["metadata"]["name"], "shop")
        await until(lambda: not len(process.pods.working))
        server.compact()
        blind.times = 0
        await until(lambda: len(process.pods.working) == 1)


# -- what garbage collection leaves --------------------------------------------------------------


def left_over(server: FakeApiServer, owner: str, pod: str) -> None:
    reference = {"apiVersion": "v1", "kind": "Pod", "name": pod, "uid": owner, "controller": True}
    meta = {
        "name": f"cr-pod-{pod}-x",
        "namespace": "shop",
        "labels": {"bigfleet.lucy.sh/owned-by-pod": owner},
        "ownerReferences": [reference],
    }
    spec = {"resources": {"cpu": "1"}, "priority": 0}
    server.put(CAPACITY_REQUESTS, {"metadata": meta, "spec": spec})


async def test_a_request_whose_pod_is_gone_is_deleted_if_it_is_not_collected() -> None:
    async with FakeApiServer() as server:
        left_over(server, "uid-gone", "gone")
        async with running(server, clock=fast()):
            await server.until(lambda: not requests(server))
        assert [call.name for call in server.calls("get", "pods")] == ["gone"]


async def test_a_request_is_kept_while_the_cache_of_pods_may_be_late() -> None:
    async with FakeApiServer() as server, running(server, clock=fast(40)) as process:
        await server.until(lambda: server.watches("pods") and server.watches("capacityrequests"))
        await until(lambda: not process.why_not_ready())
        blind = server.fail("watch", "pods", status=500, times=10**6)
        server.drop_watches("pods")
        server.put(PODS, pod_json("web-1"))
        left_over(server, "uid-web-1", "web-1")
        asked = len(server.calls("watch", "pods"))
        await server.until(lambda: len(server.calls("watch", "pods")) >= asked + 6)
        blind.times = 0
        seen = len(server.writes("capacityrequests"))
        assert seen == 0
        await server.until(lambda: server.writes("capacityrequests"))
        assert [each.call.verb for each in server.writes("capacityrequests")] == ["patch"]


async def test_a_pod_of_the_same_name_does_not_keep_the_request_of_the_one_before() -> None:
    async with FakeApiServer() as server:
        left_over(server, "uid-before", "web-1")
        server.put(PODS, pod_json("web-1"))
        async with running(server, clock=fast()):
            await server.until(lambda: not requests(server, "uid-before"))
            await server.until(lambda: requests(server, "uid-web-1"))


async def test_a_request_that_names_no_owner_goes_once_its_pod_is_not_there() -> None:
    async with FakeApiServer() as server:
        left_over(server, "uid-gone", "gone")
        no_owners: Json = {"metadata": {"ownerReferences": []}}
        server.change(CAPACITY_REQUESTS, "cr-pod-gone-x", no_owners, "shop")
        async with running(server, clock=fast()):
            await server.until(lambda: not requests(server))


async def test_garbage_collection_has_the_first_turn_at_a_request_whose_pod_is_gone() -> None:
    async with FakeApiServer() as server, running(server) as process:
        server.put(PODS, pod_json("web-1"))
        await server.until(lambda: requests(server))
        server.put(PODS, pod_json("web-1", uid="uid-next"))
        await server.until(lambda: requests(server, "uid-next"))
        await until(lambda: len(process.pods.working) == 1)
        server.collect_garbage()
        await until(lambda: not len(process.pods.working))
        assert not server.calls("delete", "capacityrequests")
        assert not requests(server, "uid-web-1")


async def test_nothing_is_made_for_pods_of_which_nothing_is_heard() -> None:
    async with FakeApiServer() as server, running(server, clock=fast(40)):
        server.put(PODS, pod_json("web-1"))
        await server.until(lambda: requests(server))
        blind = server.fail("watch", "pods", status=500, times=10**6)
        server.drop_watches("pods")
        asked = len(server.calls("watch", "pods"))
        await server.until(lambda: len(server.calls("watch", "pods")) > asked)
        server.remove(CAPACITY_REQUESTS, requests(server)[0]["metadata"]["name"], "shop")
        await server.until(lambda: len(server.calls("watch", "pods")) > asked + 6)
        assert not requests(server)
        blind.times = 0
        await server.until(lambda: requests(server))


async def test_requests_of_a_namespace_that_became_excluded_are_withdrawn() -> None:
    async with FakeApiServer() as server:
        server.put(PODS, pod_json("web-1", namespace="shop"))
        async with running(server):
            await server.until(lambda: requests(server))
        async with running(server, identity="b", clock=fast(), exclude_namespaces=("shop",)):
            await server.until(lambda: not requests(server))


# -- what people are told ------------------------------------------------------------------------


async def test_what_cannot_be_asked_for_is_told_on_the_pod_once() -> None:
    term = {"matchExpressions": [expression("cores", "Gt", "8")]}
    async with FakeApiServer() as server:
        server.put(PODS, pod_json("web-1", affinity=affinity(term)))
        async with running(server):
            await server.until(lambda: server.calls("create", "events"))
        async with running(server, identity="b") as second:
            await until(lambda: reconciled(second, "cr_exists"))
            server.put(PODS, pod_json("web-2"))
            await server.until(lambda: requests(server, "uid-web-2"))
        (event,) = server.objects("events").values()
        assert event["reason"] == "UnsupportedOperator"
        assert event["involvedObject"]["uid"] == "uid-web-1"


@pytest.fixture
def defaults(tmp_path: Path) -> Path:
    file = tmp_path / "defaults.yaml"
    file.write_text("critical: {interruptionPenalty: 5}\n")
    return file


async def test_a_changed_file_of_defaults_reaches_pods_that_are_there(defaults: Path) -> None:
    lines = Lines()
    async with (
        FakeApiServer() as server,
        running(server, clock=fast(), lines=lines, priority_class_defaults=str(defaults)),
    ):
        server.put(PODS, pod_json("web-1", priorityClassName="critical"))
        await server.until(lambda: requests(server))
        assert requests(server)[0]["spec"]["interruptionPenalty"] == "5"
        defaults.write_text("critical:\n  interruptionPenalty: lots\n")
        await until(lambda: lines.of("defaults.refused"))
        assert f"{defaults}:2" in lines.of("defaults.refused")[0]
        assert requests(server)[0]["spec"]["interruptionPenalty"] == "5"
        defaults.write_text("critical: {reclamationPenalty: 7}\n")
        await server.until(lambda: "reclamationPenalty" in requests(server)[0]["spec"])
        assert "interruptionPenalty" not in requests(server)[0]["spec"]
