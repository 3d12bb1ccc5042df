"""`bigfleet why pod/...` and `why cr/...`, before an API server and a living shard."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from bigfleet.edge.driver import RealClock
from bigfleet.kube.kinds import LEASES, PODS
from bigfleet.model.cluster_reports import ClusterReport, RefusedReclaim
from bigfleet.model.instants import instant_text
from bigfleet.wire.cluster_report_client import ClusterReportClient
from tests.cli.shard_commands.rig import FIRST
from tests.podwatch.pods import affinity, expression
from tests.why_pod.cluster import SAID, SPEC, TYPE, PodsCluster, need_of, pods_cluster

POD = "pod/east/shop/web-1"
SECOND = FIRST.replace("--000", "--001")
#: No machine of the rig is one.
GPU = {**SPEC, "requirements": [{"key": TYPE, "operator": "In", "values": ["gpu-8"]}]}


@pytest.fixture
async def east(tmp_path: Path) -> AsyncIterator[PodsCluster]:
    async with pods_cluster(tmp_path) as cluster:
        yield cluster


# -- the way ---------------------------------------------------------------------------------------


async def test_a_pod_waits_because_the_fleet_is_short(east: PodsCluster) -> None:
    east.pod()
    east.request(spec=GPU)
    wanted = need_of(GPU, 1)
    async with east.shard.operator("east", wanted):
        ledger = east.shard.process.state.decision_loop
        await east.shard.until(lambda: ledger.ledger.counts("east").short == 1)
        lines = (await east.shown(POD)).splitlines()
        told = await east.document(POD)
    assert lines[0].startswith(f"SHORT  {POD}: ")
    assert "instance-type in [gpu-8]" in lines[0]
    assert f"then: bigfleet why need/east/{wanted.key.need_id}" in lines
    assert (told["verdict"], told["schedulerText"]) == ("SHORT", SAID)
    # The Need's own answer is the same that `why need/...` prints.
    assert told["need"]["sentence"] == told["sentence"]
    assert told["need"]["needId"] == wanted.key.need_id
    assert [each["name"] for each in told["steps"]] == [
        *("pod", "request", "operator", "need", "machines"),
    ]


async def test_a_pod_is_covered_and_not_placed(east: PodsCluster) -> None:
    east.pod()
    east.request()
    east.joined(FIRST, "node-a")
    async with east.shard.operator("east", need_of(SPEC, 1)):
        await east.shard.until_bound("east", 1)
        told = await east.document(POD)
        text = await east.shown(POD)
    assert told["verdict"] == "COVERED_NOT_PLACED"
    assert told["sentence"] == f"the scheduler says: {SAID}"
    assert text.startswith(f"COVERED, NOT PLACED  {POD}: the scheduler says: {SAID}\n")
    steps = {each["name"]: each for each in told["steps"]}
    assert steps["nodes"]["text"].endswith("is Ready, node node-a")
    assert steps["machines"]["refs"] == [f"machine/{FIRST}"]


async def test_a_bound_pod_names_its_node_its_machine_and_its_share(east: PodsCluster) -> None:
    east.pod(node="node-a")
    east.request()
    east.joined(FIRST, "node-a")
    async with east.shard.operator("east", need_of(SPEC, 2)):
        await east.shard.until_bound("east", 2)
        told = await east.document(POD)
        of_request = await east.document("cr/east/shop/cr-web-1")
    assert (told["verdict"], told["node"], told["machine"]) == ("BOUND", "node-a", FIRST)
    assert told["sentence"] == f"it runs on node node-a, which is machine/{FIRST}"
    assert told["dollarsPerHour"] == 0.0
    cost = next(each["text"] for each in told["steps"] if each["name"] == "cost")
    assert cost == "$0.00/h: 50.0% of cpu of the Need, whose 2 machines cost $0.00/h"
    alike = ("verdict", "sentence", "node", "machine", "capacityRequest")
    assert {key: of_request[key] for key in alike} == {key: told[key] for key in alike}


async def test_revised_demand_and_a_refused_reclaim_are_told(east: PodsCluster) -> None:
    east.pod(node="node-a")
    east.request()
    east.joined(FIRST, "node-a")
    east.event("uid-web-1", "MachinesAddedForStuckPods", "asked for one more machine")
    east.event("uid-web-1", "Scheduled", "assigned", by="default-scheduler")
    refused = RefusedReclaim(FIRST, "r-1", "not given back now: pod shop/web-1 finds no place")
    margin = need_of(SPEC, 1, group="margin")
    async with east.shard.operator("east", need_of(SPEC, 1), margin):
        await east.shard.until_bound("east", 2)
        async with ClusterReportClient(east.shard.address, None) as client:
            await client.report(ClusterReport("east", RealClock().now(), refused=(refused,)))
        told = await east.document(POD)
    texts = [each["text"] for each in told["steps"]]
    assert any(f"in need/east/{margin.key.need_id} (margin)" in text for text in texts)
    assert "MachinesAddedForStuckPods: asked for one more machine" in texts
    assert f"machine/{FIRST} is wanted back: {refused.text}" in texts
    assert not any("Scheduled" in text for text in texts)


async def test_a_pod_on_a_node_of_the_clusters_own_is_told_so(east: PodsCluster) -> None:
    east.server.put("nodes", {"metadata": {"name": "own-1"}, "status": {}})
    east.pod(node="own-1")
    text = await east.shown(POD)
    assert text.startswith(f"BOUND  {POD}: it runs on node own-1, which is not a machine")
    assert "no CapacityRequest: it runs on own-1, which is not a machine of the fleet" in text


# -- where it stops --------------------------------------------------------------------------------


async def test_an_operator_that_compares_numbers_is_told_on_the_pod(east: PodsCluster) -> None:
    term = {"matchExpressions": [expression("cores", "Gt", "8")]}
    east.pod(affinity=affinity(term))
    odd = {**SPEC, "requirements": [{"key": "cores", "operator": "Gt", "values": ["8"]}]}
    east.request(spec=odd, phase="Pending")
    told = await east.document(POD)
    assert told["verdict"] == "NOT_ASKED_FOR"
    assert "spec.requirements[0].operator: 'Gt' on 'cores' compares numbers" in told["sentence"]
    notes = [each["text"] for each in told["steps"] if each["status"] == "NOTE"]
    assert any(note.startswith("UnsupportedOperator: BigFleet cannot ask") for note in notes)


GATED: dict[str, Any] = {"schedulingGates": [{"name": "example.com/quota"}]}
DAEMON = [{"kind": "DaemonSet", "name": "agent", "uid": "d", "controller": True}]


@pytest.mark.parametrize(
    ("pod", "verdict", "said"),
    [
        (GATED, "NOT_ASKED_FOR", "it has scheduling gates"),
        ({"owners": DAEMON}, "NOT_ASKED_FOR", "it belongs to one node"),
        ({"cpu": "a lot"}, "NOT_ASKED_FOR", "no capacity is requested for this pod"),
        ({"phase": "Succeeded"}, "ENDED", "it has ended"),
        ({}, "NOT_ASKED_FOR", "no lease bigfleet-podwatch is in this cluster"),
    ],
    ids=["gated", "daemon set", "unreadable", "ended", "no controller"],
)
async def test_a_pod_without_a_request_says_why(
    east: PodsCluster, pod: dict[str, Any], verdict: str, said: str
) -> None:
    east.pod(**pod)
    told = await east.document(POD)
    assert told["verdict"] == verdict
    assert said in told["sentence"]
    assert told["need"] is None


async def test_a_controller_that_is_down_is_told_by_its_lease(east: PodsCluster) -> None:
    east.pod()
    old = instant_text(RealClock().now() - 300 * 10**9)
    spec = {"holderIdentity": "podwatch-a", "renewTime": old, "leaseDurationSeconds": 15}
    meta = {"name": "bigfleet-podwatch", "namespace": "bigfleet"}
    east.server.put(LEASES, {"metadata": meta, "spec": spec})
    assert "podwatch-a has not renewed its lease for 30" in await east.shown(POD)


async def test_claims_of_volumes_and_a_booking_are_read_from_the_pod(east: PodsCluster) -> None:
    claim = {"name": "data", "persistentVolumeClaim": {"claimName": "data-0"}}
    consumes = {"autoscaling.x-k8s.io/consume-provisioning-request": "batch-7"}
    east.pod(volumes=[claim], annotations=consumes)
    spec = {"holderIdentity": "podwatch-a", "renewTime": instant_text(RealClock().now())}
    meta = {"name": "bigfleet-podwatch", "namespace": "bigfleet"}
    east.server.put(LEASES, {"metadata": meta, "spec": spec})
    text = await east.shown(POD)
    assert "its volumes (data-0)" in text
    assert "ProvisioningRequest batch-7" in text


async def test_a_young_pod_that_is_not_judged_is_waited_for(east: PodsCluster) -> None:
    east.pod(judged=False)
    ahead = instant_text((RealClock().now() // 10**9 + 60) * 10**9)
    east.server.change(PODS, "web-1", {"metadata": {"creationTimestamp": ahead}}, "shop")
    told = await east.document(POD)
    assert (told["verdict"], "3 s to find room" in told["sentence"]) == ("NOT_YET_ASKED_FOR", True)


async def test_a_request_the_shard_has_not_acknowledged_says_where_the_line_stands(
    east: PodsCluster,
) -> None:
    east.pod()
    east.request(phase="Pending")
    async with east.shard.operator("east", need_of(GPU, 1)):
        ledger = east.shard.process.state.decision_loop
        await east.shard.until(lambda: ledger.ledger.counts("east").short == 1)
        told = await east.document(POD)
    assert told["verdict"] == "NOT_YET_ASKED_FOR"
    assert "the request is not acknowledged" in told["sentence"]


# -- what cannot be asked --------------------------------------------------------------------------


async def test_an_unknown_pod_is_told_with_the_nearest_names(east: PodsCluster) -> None:
    east.pod("web-1")
    east.pod("api-9")
    near = await east.why("pod/east/shop/web-2")
    assert (near.exit_code, near.stdout) == (3, "")
    said = "no pod web-2 in namespace shop; nearest are web-1, of cluster east\n"
    assert near.stderr == said
    begun = await east.why("pod/east/shop/api")
    assert "nearest are api-9" in begun.stderr
    elsewhere = await east.why("pod/east/default/api-9")
    assert "there is one in namespace shop" in elsewhere.stderr
    nowhere = await east.why("cr/east/default/x")
    assert "the namespace has no CapacityRequest at all" in nowhere.stderr
    assert nowhere.exit_code == elsewhere.exit_code == begun.exit_code == 3


async def test_an_unknown_cluster_tells_what_the_pod_says_and_leaves_with_3(
    east: PodsCluster,
) -> None:
    east.pod()
    east.request()
    async with east.shard.operator("west", need_of(GPU, 1, "west")):
        ledger = east.shard.process.state.decision_loop
        await east.shard.until(lambda: ledger.ledger.counts("west").short == 1)
        missed = await east.why("pod/wets/shop/web-1")
    assert missed.exit_code == 3
    assert "no cluster wets in this shard; did you mean west?" in missed.stderr
    assert "no shard has answered" in missed.stdout


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("pod/east/web-1",), 2, "write pod/CLUSTER/NAMESPACE/NAME"),
        (("pod/east/shop/web-1", "--at", "3"), 2, "leave --journal, --fleet and --at out"),
        (("pod/east/shop/web-1", "--kube-context", "test"), 2, "not among the contexts (fake)"),
        (("pod/east/shop/web 1",), 4, "is not a name or namespace"),
    ],
    ids=["no namespace", "a past cycle", "an unknown context", "no name"],
)
async def test_what_cannot_be_asked_says_what_to_write(
    east: PodsCluster, words: tuple[str, ...], code: int, said: str
) -> None:
    result = await east.why(*words)
    assert (result.exit_code, result.stdout) == (code, "")
    assert said in result.stderr


async def test_a_server_that_refuses_or_is_away_is_told_with_its_words(east: PodsCluster) -> None:
    east.pod()
    east.server.fail("get", "pods", status=403, reason="Forbidden", message="pods is forbidden")
    refused = await east.why(POD)
    assert (refused.exit_code, "pods is forbidden" in refused.stderr) == (4, True)
    away = east.kubeconfig.read_text().replace(east.server.url, "http://127.0.0.1:1")
    east.kubeconfig.write_text(away)
    silent = await east.why(POD, "--timeout", "2s")
    assert (silent.exit_code, "no answer to GET" in silent.stderr) == (3, True)


async def test_what_may_not_be_read_is_told_and_the_rest_goes_on(east: PodsCluster) -> None:
    east.pod()
    for plural in ("capacityrequests", "upcomingnodes", "events", "leases"):
        text = f"{plural} is forbidden"
        east.server.fail("list", plural, status=403, reason="Forbidden", message=text)
    text = await east.shown(POD)
    assert "whether there is one could not be read: capacityrequests is forbidden" in text


async def test_hostile_words_of_a_cluster_do_not_drive_the_terminal(east: PodsCluster) -> None:
    east.pod()
    said = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
    hostile = {"status": {"conditions": [{**said, "message": "no\x1b[31m\u202e room"}]}}
    east.server.change(PODS, "web-1", hostile, "shop")
    table, document = [await east.shown(POD, "-o", form) for form in ("table", "json")]
    for shown in (table, document):
        assert "\x1b" not in shown
        assert "\u202e" not in shown
    assert json.loads(document)["schedulerText"].startswith("no\x1b[31m")
