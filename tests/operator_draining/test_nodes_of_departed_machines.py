"""Which Nodes are deleted because their machine has left, and which never are."""

from dataclasses import replace

import pytest

from bigfleet.kube.objects import Condition, Node, NodeStatus, Reference
from bigfleet.model.machines import Instant, MachineState
from bigfleet.model.options import SECOND
from bigfleet.model.session_frames import NodeStateUpdate
from bigfleet.model.settings import CurrentSettings, Seconds
from bigfleet.operator.departed_nodes import DepartedNode, DepartedNodes
from bigfleet.operator.node_map import NodeMap
from bigfleet.operator.settings import OperatorSettings
from tests.operator_draining.rig import node_record

S = MachineState
LEFT = (S.IDLE, S.SPECULATIVE, S.DELETING)
SETTINGS = CurrentSettings(OperatorSettings(node_delete_after=Seconds(120.0)))
STAYS = (S.CONFIGURING, S.CONFIGURED, S.DRAINING, S.FAILED)


def node(name: str = "n-1", *, ready: bool = False, label: str = "", uid: str = "") -> Node:
    found = node_record(name, label=label, uid=uid)
    status = NodeStatus(conditions=(Condition(type="Ready", status="True" if ready else "False"),))
    return Node(metadata=found.metadata, spec=found.spec, status=status)


class Cluster:
    """Machine m-1 is Node n-1, which is not Ready; a session with its replay is open."""

    def __init__(self, found: Node | None = None, *told: NodeStateUpdate) -> None:
        self.at: Instant = 1_000 * SECOND
        self.nodes = NodeMap()
        self.nodes.put(found or node())
        self.departed = DepartedNodes(self.nodes, SETTINGS)
        self.connect(*(told or (NodeStateUpdate("m-1", "shop", S.CONFIGURED, "n-1"),)))

    def connect(self, *told: NodeStateUpdate) -> None:
        self.departed.on_connected()
        for update in told:
            self.tell(update)
        self.departed.on_replay_ended()

    def tell(self, update: NodeStateUpdate) -> None:
        self.departed.before_node_state(update, self.at)
        self.nodes.on_node_state(update)

    def tells(self, state: MachineState, machine: str = "m-1", name: str = "n-1") -> None:
        self.tell(NodeStateUpdate(machine, "shop", state, name))

    def after(self, seconds: float, *, fresh: bool = True) -> list[str]:
        return [each.name for each in self.found(seconds, fresh=fresh)]

    def found(self, seconds: float, *, fresh: bool = True) -> list[DepartedNode]:
        """Looked at every second, as a running operator does."""
        found: list[DepartedNode] = []
        for _ in range(round(seconds)):
            self.at += SECOND
            found = self.departed.to_delete(self.at, nodes_are_fresh=fresh)
        return found


@pytest.mark.parametrize("state", LEFT, ids=lambda state: state.label)
def test_the_node_of_a_machine_that_has_left_goes_after_two_minutes(state: MachineState) -> None:
    cluster = Cluster()
    cluster.tells(state)
    assert cluster.after(119) == []
    assert cluster.after(1) == ["n-1"]


@pytest.mark.parametrize("state", STAYS, ids=lambda state: state.label)
def test_the_node_of_a_machine_that_is_ours_never_goes(state: MachineState) -> None:
    cluster = Cluster()
    cluster.tells(state)
    assert cluster.after(3600) == []


def test_a_machine_that_comes_back_keeps_its_node() -> None:
    cluster = Cluster()
    cluster.tells(S.IDLE)
    cluster.after(60)
    cluster.tells(S.CONFIGURING)
    assert cluster.after(3600) == []


def test_a_ready_node_is_in_use_and_has_to_be_quiet_for_the_whole_time() -> None:
    cluster = Cluster(node(ready=True))
    cluster.tells(S.IDLE)
    assert cluster.after(3600) == []
    cluster.nodes.put(node())
    assert cluster.after(119) == []
    assert cluster.after(1) == ["n-1"]


def test_a_node_that_is_another_machine_by_now_stays() -> None:
    cluster = Cluster()
    cluster.tells(S.IDLE)
    cluster.tells(S.CONFIGURED, "m-2", "n-1")
    assert cluster.after(3600) == []


def test_another_node_of_the_same_name_stays() -> None:
    cluster = Cluster()
    cluster.tells(S.IDLE)
    cluster.nodes.put(node(uid="another"))
    assert cluster.after(3600) == []
    assert len(cluster.departed) == 0


def test_nothing_goes_while_disconnected_and_the_time_begins_anew_afterwards() -> None:
    cluster = Cluster()
    cluster.tells(S.IDLE)
    cluster.after(100)
    cluster.departed.on_disconnected()
    assert cluster.after(3600) == []
    cluster.nodes.refer("m-1", Reference(name="n-1", uid="uid-n-1"))
    cluster.connect(NodeStateUpdate("m-1", "shop", S.IDLE))
    assert cluster.after(119) == []
    assert cluster.after(1) == ["n-1"]


def test_nothing_goes_before_the_replay_is_over_or_by_a_cache_that_may_be_old() -> None:
    cluster = Cluster()
    cluster.tells(S.IDLE)
    assert cluster.after(3600, fresh=False) == []
    cluster.departed.on_connected()
    assert cluster.after(3600) == []


@pytest.mark.parametrize("label", ["m-1", ""], ids=["by its label", "by its UpcomingNode"])
def test_the_node_of_a_machine_the_shard_no_longer_names_goes(label: str) -> None:
    cluster = Cluster(node(label=label), NodeStateUpdate("m-2", "shop", S.CONFIGURED, "n-2"))
    if not label:
        cluster.nodes.refer("m-1", Reference(name="n-1", uid="uid-n-1"))
    assert cluster.after(119) == []
    assert cluster.after(2) == ["n-1"]


def test_a_node_of_the_clusters_own_is_never_touched() -> None:
    own = Cluster(node("own-1"), NodeStateUpdate("m-2", "shop", S.CONFIGURED, "n-2"))
    assert own.after(3600) == []


def test_a_node_that_is_merely_called_like_a_machine_is_not_that_machine() -> None:
    cluster = Cluster(node("m-1"), NodeStateUpdate("m-1", "shop", S.CONFIGURED))
    cluster.tells(S.IDLE, "m-1", "")
    assert cluster.after(3600) == []


def test_a_failed_deletion_is_tried_again_much_later() -> None:
    cluster = Cluster()
    cluster.tells(S.IDLE)
    (departed,) = cluster.found(120)
    cluster.departed.on_failed(departed, cluster.at)
    assert cluster.after(419) == []
    assert cluster.after(1) == ["n-1"]


def test_what_the_server_has_decides() -> None:
    cluster = Cluster()
    cluster.tells(S.IDLE)
    (departed,) = cluster.found(120)
    may = cluster.departed.may_delete
    assert may(departed, node())
    assert not may(departed, node(ready=True))
    assert not may(departed, node(uid="another"))
    assert not may(replace(departed, uid="another"), node(uid="another"))
    cluster.departed.on_disconnected()
    assert not may(departed, node())
