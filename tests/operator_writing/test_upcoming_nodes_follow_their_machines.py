"""One UpcomingNode per machine says what the newest update, the Node and the drain say."""

import pytest

from bigfleet.edge.clock import SECOND
from bigfleet.model.machines import MachineState
from bigfleet.model.resources import Resources
from bigfleet.model.taints import Taint
from bigfleet.operator.drain_steps import DrainPhase, DrainStanding
from bigfleet.operator.upcoming_nodes import phase_of
from tests.operator_writing.machines import START, Cluster, node, told

S = MachineState


@pytest.mark.parametrize(
    ("state", "phase"),
    [
        (S.UNSPECIFIED, "Provisioning"),
        (S.SPECULATIVE, "Provisioning"),
        (S.CREATING, "Provisioning"),
        (S.DELETING, "Provisioning"),
        (S.IDLE, "Launched"),
        (S.CONFIGURING, "Launched"),
        (S.CONFIGURED, "Launched"),
        (S.DRAINING, "Draining"),
        (S.FAILED, "Failed"),
    ],
)
def test_a_state_is_shown_as_its_phase(state: MachineState, phase: str) -> None:
    cluster = Cluster()
    cluster.say(told(state))
    assert phase_of(state) == phase == cluster.phase()


def test_a_new_machine_is_one_create_and_one_status_patch() -> None:
    cluster = Cluster()
    assert cluster.say(told(S.CREATING)) == ["create", "status_update"]
    assert cluster.objects["un-m-1"] == {
        "metadata": {
            "name": "un-m-1",
            "uid": "u-1",
            "annotations": {"bigfleet.lucy.sh/machine-id": "m-1"},
            "resourceVersion": "2",
        },
        "spec": {
            "labels": {"topology.kubernetes.io/zone": "eu-1a"},
            "resources": {"cpu": "8", "memory": "32Gi"},
        },
        "status": {"phase": "Provisioning", "provisioningStartTime": "2023-11-14T22:13:20Z"},
    }


def test_a_whole_life_takes_eight_writes() -> None:
    cluster = Cluster()
    for state in (S.CREATING, S.IDLE, S.CONFIGURING, S.CONFIGURED):
        cluster.say(told(state))
    for joined in (node(ready=False), node()):
        cluster.nodes["m-1"] = joined
        cluster.look()
    for state in (S.DRAINING, S.IDLE):
        cluster.say(told(state))
    assert [write.op for write in cluster.written] == [
        "create",
        *["status_update"] * 6,
        "delete",
    ]
    assert cluster.objects == {}


def test_an_update_that_says_nothing_new_writes_nothing() -> None:
    cluster = Cluster()
    cluster.say(told(S.CONFIGURED))
    assert cluster.say(told(S.CONFIGURED), START + 60 * SECOND) == []


def test_a_restarted_operator_writes_nothing_that_is_already_there() -> None:
    cluster = Cluster()
    cluster.nodes["m-1"] = node()
    cluster.say(told(S.CONFIGURED, provider_id="i-7", last_error="slow"))
    cluster.restart()
    cluster.plans.on_connected(START + 900 * SECOND)
    assert cluster.say(told(S.CONFIGURED, provider_id="i-7", last_error="slow")) == []
    assert cluster.plans.on_replay_ended() == []


def test_the_start_of_provisioning_is_kept_from_first_sight() -> None:
    cluster = Cluster()
    cluster.say(told(S.CREATING))
    cluster.restart()
    cluster.plans.on_connected(START + 900 * SECOND)
    cluster.say(told(S.CONFIGURED), START + 900 * SECOND)
    assert cluster.status()["provisioningStartTime"] == "2023-11-14T22:13:20Z"


def test_the_node_is_referred_to_once_it_appears() -> None:
    cluster = Cluster()
    cluster.say(told(S.CONFIGURING, provider_id="i-7"))
    assert "nodeRef" not in cluster.status()
    cluster.nodes["m-1"] = node("node-1", "uid-1")
    assert cluster.look() == ["status_update"]
    reference = {"apiVersion": "v1", "kind": "Node", "name": "node-1", "uid": "uid-1"}
    assert cluster.status()["nodeRef"] == reference
    assert cluster.look() == []


def test_a_node_that_came_back_as_another_one_is_referred_to_anew() -> None:
    cluster = Cluster()
    cluster.nodes["m-1"] = node("node-1", "uid-1")
    cluster.say(told(S.CONFIGURED))
    cluster.nodes["m-1"] = node("node-1", "uid-2")
    cluster.look()
    assert cluster.status()["nodeRef"]["uid"] == "uid-2"


def test_a_ready_machine_whose_node_goes_loses_the_reference() -> None:
    cluster = Cluster()
    cluster.nodes["m-1"] = node()
    cluster.say(told(S.CONFIGURED))
    del cluster.nodes["m-1"]
    assert cluster.look() == ["status_update"]
    assert "nodeRef" not in cluster.status()


def test_a_draining_machine_whose_node_goes_is_not_written_again() -> None:
    cluster = Cluster()
    cluster.nodes["m-1"] = node()
    cluster.say(told(S.DRAINING))
    del cluster.nodes["m-1"]
    assert cluster.look() == []


def test_a_node_found_before_the_machine_ran_anything_is_not_its_node() -> None:
    cluster = Cluster()
    cluster.nodes["m-1"] = node()
    cluster.say(told(S.IDLE))
    assert "nodeRef" not in cluster.status()


def test_a_changed_shape_is_one_patch_of_what_changed() -> None:
    cluster = Cluster()
    cluster.say(told(S.IDLE, labels={"a": "1", "b": "2"}))
    shape = Resources.parse({"cpu": "7500m"})
    taint = Taint("dedicated", "NoSchedule", "gpu")
    ops = cluster.say(told(S.IDLE, labels={"b": "3"}, resources=shape, taints=(taint,)))
    assert ops == ["spec_update"]
    assert cluster.objects["un-m-1"]["spec"] == {
        "labels": {"b": "3"},
        "resources": {"cpu": "7500m"},
        "taints": [{"key": "dedicated", "effect": "NoSchedule", "value": "gpu"}],
    }


def test_an_error_comes_and_goes_with_the_updates() -> None:
    cluster = Cluster()
    cluster.say(told(S.FAILED, last_error="no capacity in eu-1a"))
    assert cluster.status()["lastError"] == "no capacity in eu-1a"
    cluster.say(told(S.CONFIGURING))
    assert "lastError" not in cluster.status()


def test_a_machine_of_unknown_shape_has_empty_resources() -> None:
    cluster = Cluster()
    cluster.say(told(S.CREATING, resources=Resources()))
    assert cluster.objects["un-m-1"]["spec"]["resources"] == {}


def test_an_eviction_under_way_shows_as_draining_and_its_end_as_drained() -> None:
    cluster = Cluster()
    cluster.say(told(S.CONFIGURED))
    cluster.standings["m-1"] = DrainStanding("bf1-a", DrainPhase.DRAINING)
    cluster.look()
    assert cluster.phase() == "Draining"
    cluster.standings["m-1"] = DrainStanding("bf1-a", DrainPhase.DRAINED)
    cluster.look()
    assert cluster.phase() == "Drained"
    assert cluster.say(told(S.DRAINING)) == []


def test_an_eviction_called_off_leaves_the_phase_to_the_node_and_says_why() -> None:
    cluster = Cluster()
    cluster.nodes["m-1"] = node()
    cluster.say(told(S.CONFIGURED))
    cluster.standings["m-1"] = DrainStanding(
        "bf1-a", DrainPhase.KEPT, "budget shop/web holds web-0"
    )
    cluster.look()
    assert cluster.phase() == "Ready"
    assert cluster.status()["lastError"] == "budget shop/web holds web-0"


def test_an_idle_machine_that_was_never_drained_is_launched_and_stays() -> None:
    cluster = Cluster()
    cluster.say(told(S.CONFIGURING))
    cluster.say(told(S.IDLE))
    assert cluster.phase() == "Launched"


def test_a_drained_machine_is_shown_as_drained_and_then_gone() -> None:
    cluster = Cluster()
    cluster.say(told(S.DRAINING))
    assert cluster.say(told(S.IDLE)) == ["status_update", "delete"]
    assert cluster.objects == {}
    assert cluster.look() == []


def test_a_draining_phase_that_was_never_written_still_counts() -> None:
    cluster = Cluster()
    cluster.say(told(S.CONFIGURED))
    cluster.plans.on_update(told(S.DRAINING), START)
    assert cluster.say(told(S.IDLE)) == ["status_update", "delete"]


def test_a_drained_machine_told_of_twice_is_still_drained() -> None:
    cluster = Cluster()
    cluster.say(told(S.CONFIGURED))
    cluster.plans.on_update(told(S.DRAINING), START)
    cluster.plans.on_update(told(S.IDLE), START)
    assert cluster.say(told(S.IDLE)) == ["status_update", "delete"]


def test_a_drain_without_an_object_needs_no_write() -> None:
    cluster = Cluster()
    cluster.plans.on_update(told(S.DRAINING), START)
    assert cluster.say(told(S.IDLE)) == []


def test_a_machine_that_comes_back_after_its_drain_gets_an_object_again() -> None:
    cluster = Cluster()
    cluster.say(told(S.DRAINING))
    cluster.say(told(S.IDLE))
    assert cluster.say(told(S.CONFIGURING)) == ["create", "status_update"]


def test_an_object_a_user_deleted_comes_back_with_the_next_update() -> None:
    cluster = Cluster()
    cluster.say(told(S.CONFIGURING))
    del cluster.objects["un-m-1"]
    cluster.plans.seen.on_cached("un-m-1", None)
    cluster.nodes["m-1"] = node()
    assert cluster.say(told(S.CONFIGURED)) == ["create", "status_update"]
    assert cluster.phase() == "Ready"


def test_a_configured_machine_is_shown_as_its_node_is() -> None:
    cluster = Cluster()
    cluster.say(told(S.CONFIGURED))
    seen = [cluster.phase()]
    for joined in (node(ready=False), node(), node(ready=False), node()):
        cluster.nodes["m-1"] = joined
        cluster.look()
        seen.append(cluster.phase())
    del cluster.nodes["m-1"]
    cluster.look()
    assert [*seen, cluster.phase()] == [
        "Launched",
        "Registered",
        "Ready",
        "Registered",
        "Ready",
        "Launched",
    ]


def test_a_node_that_joined_before_its_machine_is_configured_is_not_ready_yet() -> None:
    cluster = Cluster()
    cluster.nodes["m-1"] = node()
    cluster.say(told(S.CONFIGURING))
    assert cluster.phase() == "Launched"


def test_an_object_that_lost_its_annotation_gets_it_back() -> None:
    cluster = Cluster()
    cluster.say(told(S.CONFIGURED))
    del cluster.objects["un-m-1"]["metadata"]["annotations"]
    cluster.restart()
    cluster.plans.on_connected(START)
    assert cluster.say(told(S.CONFIGURED)) == ["spec_update"]
    meta = cluster.objects["un-m-1"]["metadata"]
    assert meta["annotations"] == {"bigfleet.lucy.sh/machine-id": "m-1"}


def test_no_write_carries_a_resource_version() -> None:
    cluster = Cluster()
    for state in (S.CREATING, S.CONFIGURED, S.DRAINING, S.IDLE):
        cluster.say(told(state))
    assert "resourceVersion" not in repr(cluster.written)
